"""Rows of a file as model objects, all checked at once."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from drag_graph.model import Value

Item = TypeVar("Item", bound=Value)
OWNER = "source_id"


class CheckedRows(Generic[Item]):
    """Makes objects of `model` of rows that hold the fields `names` in this order, all but the id of their source."""

    def __init__(self, model: type[Item], names: Sequence[str]) -> None:
        if sorted((*names, OWNER)) != sorted(model.model_fields):
            raise TypeError(f"{model.__name__}: a row must hold every field once, and {OWNER} is not among them")
        self._names = tuple(names)
        self._check = TypeAdapter(list[model]).validate_python  # type: ignore[valid-type]

    def of(self, rows: Sequence[Sequence[Any]], source_id: str) -> list[Item]:
        """Return the objects. Raises ValueError (pydantic's ValidationError) where a row is not what the model allows."""
        return self._check([{**dict(zip(self._names, row, strict=True)), OWNER: source_id} for row in rows])
