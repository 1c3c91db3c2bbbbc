"""Answer files, which `ask --no-keep -o FILE` writes and `audit FILE` reads (docs/asking.md)."""

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from drag_graph.errors import ConfigurationError, InputError, NotStored
from drag_graph.files import opened
from drag_graph.model import Answer

FORMAT = "drag-graph answers"
VERSION = 1
LISTED = 20
"""Maximum number of ids that an error lists."""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: str
    version: int
    answers: tuple[Answer, ...]


def answers_text(answers: Iterable[Answer]) -> str:
    """Return the text of an answer file."""
    items = [answer.model_dump(mode="json") for answer in answers]
    return json.dumps({"format": FORMAT, "version": VERSION, "answers": items}, ensure_ascii=True, indent=2)


def read_answer(path: Path, prefix: str = "") -> Answer:
    """Return the answer of a file whose id begins with `prefix`; without a prefix, the only answer of the file.

    Raises InputError if it cannot be read or is another kind of file, NotStored if there is no such answer, ConfigurationError
    if there are several.
    """
    hint = "Pass a file that `drag-graph ask --no-keep -o FILE` wrote, or the id of a stored answer."
    try:
        with opened(path, hint) as file:
            document = _Document.model_validate_json(file.read())
    except ValidationError as error:
        raise InputError(f"{path} is not an answer file.", hint=hint) from error
    if document.format != FORMAT or document.version != VERSION:
        raise InputError(f"{path} is an answer file of another version.", hint=hint)
    matches = [answer for answer in document.answers if answer.id.startswith(prefix.strip().lower())]
    if not matches:
        raise NotStored(f"{path} has no answer {prefix!r}.", hint="`drag-graph ask` prints the ids of its answers.")
    if len(matches) > 1:
        ids = [answer.id[:12] for answer in matches[:LISTED]] + ["…"] * (len(matches) > LISTED)
        raise ConfigurationError(f"{path} has {len(matches)} answers.", hint=f"Choose one of them: {', '.join(ids)}.")
    return matches[0]
