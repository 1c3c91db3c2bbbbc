"""Validate replies entry by entry: unusable entries are discarded with a reason, and the others are used."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from drag_graph.ports.teacher_replies import Item, Reply

R = TypeVar("R", bound=Reply)
Entry = TypeVar("Entry", bound=Item)


def parse_reply(schema: type[R], document: Any) -> R:
    """Validate a JSON document; a bare list is accepted as the list of the shape. An empty list is a valid reply.

    Raises ValueError if the shape is wrong or no entry is usable; its message is for the model.
    """
    name = schema.schema_name
    entries = document.get(name) if isinstance(document, Mapping) else document
    if not isinstance(entries, list):
        raise ValueError(f'the reply must be a JSON object with a list "{name}"')  # noqa: TRY004
    usable, discarded = valid_entries(schema.item_type, name, entries)
    if discarded and not usable:
        raise ValueError(f"no usable entry; the first: {discarded[0]}")
    return schema.model_validate({name: list(usable.values()), "discarded": discarded})


def valid_entries(item_type: type[Entry], name: str, entries: Sequence[Any]) -> tuple[dict[int, Entry], list[str]]:
    """Return the valid entries of the list `name` by position, and a reason for each invalid one."""
    usable, discarded = dict[int, Entry](), []
    for position, entry in enumerate(entries):
        try:
            usable[position] = item_type.model_validate(entry)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            discarded.append(f"{name}[{position}]: {place and f'{place}: '}{first['msg']}")
    return usable, discarded
