"""Build the parts of a teacher's prompt, and match the entries of a reply with its numbered texts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeVar

from drag_graph.model import Query, labelled

Plan = Literal["lean", "paper"]
Item = TypeVar("Item")
Messages = tuple[Mapping[str, str], ...]


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
    return "\n".join(f"{position}. {' '.join(text.split())}" for position, text in enumerate(texts))


def by_place(items: Iterable[tuple[int, Item]], size: int, kind: str) -> tuple[dict[int, Item], list[str]]:
    """Return the items of a reply by position, and the reasons for discarded ones; the request had `size` texts."""
    placed: dict[int, Item] = {}
    discarded = []
    for place, item in items:
        if place >= size:
            discarded.append(f"{kind} {place}: there are only {size}")
        elif place in placed:
            discarded.append(f"{kind} {place}: it is given twice")
        else:
            placed[place] = item
    return placed, discarded
