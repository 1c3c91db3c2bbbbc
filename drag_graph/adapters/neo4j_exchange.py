"""What an export of subgraphs asks of a Neo4j (`drag_graph.exchange`)."""

from collections.abc import Iterator, Sequence
from typing import Any

from drag_graph.adapters.neo4j_access import Neo4jAccess
from drag_graph.erasing import aggregation_of
from drag_graph.model import Aggregation

IDS_A_PAGE = 5000


class Neo4jExchange:
    """The `ExchangeStore` port on Neo4j; see there for what each method promises."""

    def __init__(self, access: Neo4jAccess) -> None:
        self._access = access
        self._namespace = access.namespace

    def source_ids(self) -> Iterator[str]:
        after = ""
        while page := self._page(after):
            yield from page
            after = page[-1]

    def _page(self, after: str) -> list[str]:
        """Return the next ids. Each page is a transaction of its own, so that a slow reader holds none open."""
        return [row[0] for row in self._rows("records_queries", after=after, limit=IDS_A_PAGE)]

    def aggregations(self, source_ids: Sequence[str]) -> dict[str, Aggregation | None]:
        found = self._rows("exchange_aggregations", source_ids=sorted(set(source_ids)))
        return {id_: aggregation_of(text, {}) for id_, text in found}

    def _rows(self, name: str, **values: Any) -> list[list[Any]]:
        return self._access.reading(lambda work: work.rows(name, namespace=self._namespace, **values))
