"""The single repairs that both engines do by statements of the same names (`drag_graph.repairing`)."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from drag_graph.model import Aggregation
from drag_graph.ports import Vectors
from drag_graph.repairing import Owner
from drag_graph.stores.shared.aggregation import aggregation_of

RELINKING = (
    *("repair_links_entities", "repair_links_evidence"),
    *("repair_orphans_entities", "repair_orphans_evidence", "repair_orphans_calls"),
)
UNEMBEDDING = {"evidence": "repair_vectors_evidence", "concept": "repair_vectors_concepts"}


class Statements(Protocol):
    """How an engine executes statements by name, of its namespace, which is among their parameters."""

    def rows(self, name: str, /, **parameters: Any) -> list[Sequence[Any]]:
        """Return the rows of a reading statement."""

    def write(self, names: Sequence[str], /, **parameters: Any) -> list[Sequence[Any]]:
        """Execute writing statements in one transaction, all with these parameters; return the rows of the last one."""


class Repairing:
    """The `RepairStore` port on the statements of an engine; see there for what each method promises.

    `recounting` are the statements by which queries say anew what they have, under whatever lock the engine needs;
    `vectors_at_once` is how many vectors one statement is to be given.
    """

    def __init__(self, statements: Statements, recounting: Sequence[str], vectors_at_once: int) -> None:
        self._statements = statements
        self._recounting = recounting
        self._vectors_at_once = vectors_at_once

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

    def dangling_edges(self) -> list[str]:
        return sorted({row[0] for row in self._statements.rows("verify_edges")})

    def lost_vectors(self) -> dict[Owner, list[str]]:
        lost: dict[Owner, list[str]] = {"question": [], "evidence": [], "concept": []}
        for id_, owner in self._statements.rows("verify_vectors"):
            lost[owner].append(id_)
        return {owner: sorted(ids) for owner, ids in lost.items()}

    def remove_vectors(self, owner: Literal["evidence", "concept"], ids: Sequence[str]) -> int:
        return len(self._statements.write((UNEMBEDDING[owner],), ids=list(ids)))

    def save_query_vectors(self, source_ids: Sequence[str], vectors: Vectors) -> int:
        rows = [{"id": id_, "vector": vector} for id_, vector in zip(source_ids, vectors.tolist(), strict=True)]
        parts = [rows[start : start + self._vectors_at_once] for start in range(0, len(rows), self._vectors_at_once)]
        return sum(len(self._statements.write(("repair_vectors",), rows=part)) for part in parts)

    def owners(self, entity_ids: Sequence[str]) -> list[str]:
        return [row[0] for row in self._statements.rows("repair_owners", ids=list(entity_ids))] if entity_ids else []

    def aggregation(self, source_id: str, statements: dict[str, str]) -> Aggregation | None:
        found = self._statements.rows("read_aggregation", source_id=source_id)
        made = aggregation_of(found[0][0]) if found else None
        return made and made.model_copy(update={"statements": statements})

    def expire(self, source_ids: Sequence[str], now: str) -> None:
        self._statements.write(("repair_expire",), ids=list(source_ids), now=now)

    def miscounted(self) -> list[str]:
        return [row[0] for row in self._statements.rows("verify_sizes")]

    def recount(self, source_ids: Sequence[str]) -> None:
        self._statements.write(self._recounting, source_ids=sorted(source_ids))
