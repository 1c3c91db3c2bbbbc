"""The single repairs in the embedded store (`drag_graph.repairing`)."""

from collections.abc import Sequence
from typing import Any

from drag_graph.adapters.ladybug_access import LadybugAccess
from drag_graph.erasing import aggregation_of
from drag_graph.model import Aggregation

RELINKING = (
    *("repair_links_entities", "repair_links_evidence"),
    *("repair_orphans_entities", "repair_orphans_evidence", "repair_orphans_calls"),
)


class LadybugRepairing:
    """The `RepairStore` port on an embedded store; see there for what each method promises."""

    def __init__(self, access: LadybugAccess) -> None:
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
        if not entity_ids:
            return []
        with self._access.reading() as session:
            found = session.run("repair_owners", namespace=self._access.namespace, ids=list(entity_ids))
        return [row["id"] for row in found]

    def aggregation(self, query_id: str, statements: dict[str, str]) -> Aggregation | None:
        with self._access.reading() as session:
            found = session.run("read_aggregation", namespace=self._access.namespace, query_id=query_id)
        return aggregation_of(found[0]["aggregation"], statements) if found else None

    def expire(self, query_ids: Sequence[str], now: str) -> None:
        self._run(("repair_expire",), ids=list(query_ids), now=now)

    def recount(self, query_ids: Sequence[str]) -> None:
        """Nothing: this engine keeps no such numbers."""

    def _run(self, names: Sequence[str], **parameters: Any) -> None:
        with self._access.writing() as session:
            for name in names:
                session.run(name, namespace=self._access.namespace, **parameters)
