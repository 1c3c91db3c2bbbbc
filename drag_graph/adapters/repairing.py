"""The single repairs that both engines do by statements of the same names (`drag_graph.repairing`)."""

from collections.abc import Sequence
from typing import Any, Protocol

from drag_graph.erasing import aggregation_of
from drag_graph.model import Aggregation
from drag_graph.ports import Vectors

RELINKING = (
    *("repair_links_entities", "repair_links_evidence"),
    *("repair_orphans_entities", "repair_orphans_evidence", "repair_orphans_calls"),
)
UNEMBEDDING = ("repair_vectors_evidence", "repair_vectors_concepts")
VECTORS_AT_ONCE = 32
"""Vectors of a transaction."""


class Statements(Protocol):
    """How an engine executes statements by name, of its namespace, which is among their parameters."""

    def rows(self, name: str, /, **parameters: Any) -> list[Sequence[Any]]:
        """Return the rows of a reading statement."""

    def write(self, names: Sequence[str], /, **parameters: Any) -> None:
        """Execute writing statements in one transaction, all with these parameters."""


class Repairing:
    """The `RepairStore` port on the statements of an engine; see there for what each method promises.

    `recounting` are the statements by which queries say anew what they have, under whatever lock the engine needs.
    """

    def __init__(self, statements: Statements, recounting: Sequence[str]) -> None:
        self._statements = statements
        self._recounting = recounting

    def relink(self, ids: Sequence[str]) -> None:
        self._statements.write(RELINKING, ids=list(ids))

    def remove_evidence(self, ids: Sequence[str]) -> None:
        self._statements.write(("repair_evidence",), ids=list(ids))

    def remove_triples(self, ids: Sequence[str]) -> None:
        self._statements.write(("repair_triples",), ids=list(ids))

    def remove_edges(self, ids: Sequence[str]) -> None:
        self._statements.write(("repair_edges",), ids=list(ids))

    def remove_answers(self, ids: Sequence[str]) -> None:
        self._statements.write(("erase_answers",), answer_ids=list(ids))

    def remove_vectors(self, ids: Sequence[str]) -> None:
        self._statements.write(UNEMBEDDING, ids=list(ids))

    def save_query_vectors(self, query_ids: Sequence[str], vectors: Vectors) -> None:
        rows = [{"id": id_, "vector": vector} for id_, vector in zip(query_ids, vectors.tolist(), strict=True)]
        for start in range(0, len(rows), VECTORS_AT_ONCE):
            self._statements.write(("repair_vectors",), rows=rows[start : start + VECTORS_AT_ONCE])

    def owners(self, entity_ids: Sequence[str]) -> list[str]:
        return [row[0] for row in self._statements.rows("repair_owners", ids=list(entity_ids))] if entity_ids else []

    def aggregation(self, query_id: str, statements: dict[str, str]) -> Aggregation | None:
        found = self._statements.rows("read_aggregation", query_id=query_id)
        return aggregation_of(found[0][0], statements) if found else None

    def expire(self, query_ids: Sequence[str], now: str) -> None:
        self._statements.write(("repair_expire",), ids=list(query_ids), now=now)

    def miscounted(self) -> list[str]:
        return [row[0] for row in self._statements.rows("verify_sizes")]

    def recount(self, query_ids: Sequence[str]) -> None:
        self._statements.write(self._recounting, query_ids=sorted(query_ids))
