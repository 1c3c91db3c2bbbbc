"""How long the recorded calls of a model were, for the estimate of a dry run."""

import json
from collections import defaultdict
from pathlib import Path

LOOKED_AT = 600
"""Lines of the tape that are looked at, from its end."""
_BLOCK = 8_000_000


def call_lengths(path: Path, model: str) -> dict[str, list[tuple[int, int]]]:
    """Return (tokens in, tokens out) of the model's last calls on the tape, by prompt version. No tape: nothing."""
    try:
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - _BLOCK, 0))
            lines = file.read().splitlines()
    except OSError:
        return {}
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for line in lines[-LOOKED_AT:]:
        try:
            document = json.loads(line)
            call = document["record"]["call"] if document["model"] == model else None
            if call is not None:
                found[call["prompt_version"]].append((int(call["tokens_in"]), int(call["tokens_out"])))
        except (ValueError, KeyError, TypeError):  # the tape's first line, and one of which only the end was read
            continue
    return dict(found)
