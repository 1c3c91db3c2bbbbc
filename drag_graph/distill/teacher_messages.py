"""Parts of every prompt to a teacher: chat messages, the question, numbered texts."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from drag_graph.model import Query, labelled

Plan = Literal["lean", "paper"]
Messages = tuple[Mapping[str, str], ...]

_SPACE = re.compile(r"\s+")


def chat(system: str, user: str) -> Messages:
    """Return a system and a user message."""
    return ({"role": "system", "content": system}, {"role": "user", "content": user})


def question(query: Query, *, blind: bool = False) -> str:
    """Return the question, with one option per line unless `blind`."""
    if blind or not query.options:
        return query.text
    return "\n".join((query.text, *labelled(query.options)))


def numbered(texts: Sequence[str]) -> str:
    """Return one line per text, numbered from 0; line breaks inside a text become spaces."""
    return "\n".join(f"{position}. {_SPACE.sub(' ', text).strip()}" for position, text in enumerate(texts))
