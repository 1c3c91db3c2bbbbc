"""What an export of subgraphs asks of an embedded store (`drag_graph.exchange`)."""

from collections.abc import Iterator, Sequence

from drag_graph.adapters.ladybug_access import LadybugAccess
from drag_graph.erasing import aggregation_of
from drag_graph.model import Aggregation


class LadybugExchange:
    """The `ExchangeStore` port on an embedded store; see there for what each method promises."""

    def __init__(self, access: LadybugAccess) -> None:
        self._access = access
        self._namespace = access.namespace

    def source_ids(self) -> Iterator[str]:
        for row in self._access.ready().stream("records_queries_ids", namespace=self._namespace):
            yield row["id"]

    def aggregations(self, source_ids: Sequence[str]) -> dict[str, Aggregation | None]:
        if not source_ids:
            return {}
        with self._access.reading() as session:
            found = session.run("exchange_aggregations", namespace=self._namespace, source_ids=sorted(set(source_ids)))
        return {row["id"]: aggregation_of(row["aggregation"], {}) for row in found}
