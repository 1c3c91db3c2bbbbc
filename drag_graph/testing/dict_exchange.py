"""What an export of subgraphs asks of the store in memory (`drag_graph.exchange`)."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from drag_graph.model import Aggregation

if TYPE_CHECKING:
    from drag_graph.testing.dict_store import DictStore


class DictExchange:
    """The `ExchangeStore` port over dictionaries; see there for what each method promises."""

    def __init__(self, store: "DictStore") -> None:
        self._store = store

    def source_ids(self) -> Iterator[str]:
        with self._store.content() as content:
            ids = sorted(content.subgraphs)
        yield from ids

    def aggregations(self, source_ids: Sequence[str]) -> dict[str, Aggregation | None]:
        with self._store.content() as content:
            known = {id_: content.aggregations.get(id_) for id_ in source_ids if id_ in content.subgraphs}
        return {id_: made and made.model_copy(update={"statements": {}}) for id_, made in known.items()}
