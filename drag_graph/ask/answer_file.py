"""Answers in a file of their own: what `ask --no-keep -o FILE` writes and `audit FILE` reads (docs/asking.md)."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from drag_graph.errors import ConfigurationError, InputError, NotStored
from drag_graph.model import Answer

FORMAT = "drag-graph answers"
VERSION = 1
LISTED = 20
"""Answers of a file that are named where one is to be chosen."""
_GZIP = b"\x1f\x8b"


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: str
    version: int
    answers: tuple[Answer, ...]


def answers_text(answers: Iterable[Answer]) -> str:
    """Return the text of a file of these answers, each with its snapshot."""
    items = [answer.model_dump(mode="json") for answer in answers]
    return json.dumps({"format": FORMAT, "version": VERSION, "answers": items}, ensure_ascii=True, indent=2)


def read_answer(path: Path, prefix: str = "") -> Answer:
    """Return the answer of a file whose id begins with `prefix`; without one, the only answer of the file.

    Raises InputError for a file that is none of ours; NotStored and ConfigurationError as `full_id` does.
    """
    hint = "Give a file that `drag-graph ask --no-keep -o FILE` wrote, or the id of a stored answer."
    try:
        content = path.read_bytes()
        document = _Document.model_validate_json(gzip.decompress(content) if content.startswith(_GZIP) else content)
    except (OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read: {error.args[-1]}", hint=hint) from error
    except ValidationError as error:
        raise InputError(f"{path} is not a file of answers", hint=hint) from error
    if document.format != FORMAT or document.version != VERSION:
        raise InputError(f"{path} is not a file of answers of this version", hint=hint)
    found = [answer for answer in document.answers if answer.id.startswith(prefix.strip().lower())]
    if not found:
        raise NotStored(f"{path} has no answer {prefix!r}", hint="`drag-graph ask` prints the ids of its answers.")
    if len(found) > 1:
        ids = [answer.id[:12] for answer in found[:LISTED]] + ["…"] * (len(found) > LISTED)
        raise ConfigurationError(f"{path} has {len(found)} answers", hint=f"Name one by --answer: {', '.join(ids)}.")
    return found[0]
