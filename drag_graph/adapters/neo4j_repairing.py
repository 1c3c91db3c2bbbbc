"""The single repairs in Neo4j (`drag_graph.repairing`)."""

from collections.abc import Sequence
from typing import Any

from drag_graph.adapters.neo4j_access import Neo4jAccess
from drag_graph.adapters.neo4j_connection import Work
from drag_graph.erasing import aggregation_of
from drag_graph.model import Aggregation

RELINKING = (
    *("repair_links_entities", "repair_links_evidence"),
    *("repair_orphans_entities", "repair_orphans_evidence", "repair_orphans_calls"),
)


class Neo4jRepairing:
    """The `RepairStore` port on a namespace of Neo4j; see there for what each method promises."""

    def __init__(self, access: Neo4jAccess) -> None:
        self._access = access

    def relink(self, ids: Sequence[str]) -> None:
        self._run(RELINKING, ids=list(ids))

    def remove_evidence(self, ids: Sequence[str]) -> None:
        self._run(("repair_evidence",), ids=list(ids))

    def remove_triples(self, ids: Sequence[str]) -> None:
        self._run(("repair_triples",), ids=list(ids))

    def remove_edges(self, ids: Sequence[str]) -> None:
        self._run(("repair_edges",), ids=list(ids))

    def remove_answers(self, ids: Sequence[str]) -> None:
        self._run(("erase_answers",), answer_ids=list(ids))

    def owners(self, entity_ids: Sequence[str]) -> list[str]:
        values = {"namespace": self._access.namespace, "ids": list(entity_ids)}
        return [row[0] for row in self._access.reading(lambda work: work.rows("repair_owners", **values))]

    def aggregation(self, query_id: str, statements: dict[str, str]) -> Aggregation | None:
        values = {"namespace": self._access.namespace, "query_id": query_id}
        found = self._access.reading(lambda work: work.rows("read_aggregation", **values))
        return aggregation_of(found[0][0], statements) if found else None

    def expire(self, query_ids: Sequence[str], now: str) -> None:
        self._run(("repair_expire",), ids=list(query_ids), now=now)

    def recount(self, query_ids: Sequence[str]) -> None:
        self._run(("repair_sizes",), ids=list(query_ids))

    def _run(self, names: Sequence[str], **parameters: Any) -> None:
        def run(work: Work) -> None:
            for name in names:
                work.run(name, namespace=self._access.namespace, **parameters)

        self._access.writing(run)
