"""The single repairs in Neo4j (`drag_graph.repairing`)."""

from collections.abc import Sequence
from typing import Any

from drag_graph.adapters.neo4j_access import Neo4jAccess
from drag_graph.adapters.neo4j_connection import Work
from drag_graph.adapters.repairing import Repairing

VECTORS_AT_ONCE = 100


class Neo4jRepairing(Repairing):
    """The `RepairStore` port on a namespace of Neo4j; see there for what each method promises."""

    def __init__(self, access: Neo4jAccess) -> None:
        # What is counted must not be changed by another writer before it is written down.
        super().__init__(_Statements(access), ("lock_queries", "repair_sizes"), VECTORS_AT_ONCE)


class _Statements:
    def __init__(self, access: Neo4jAccess) -> None:
        self._access = access

    def rows(self, name: str, /, **parameters: Any) -> list[Sequence[Any]]:
        return list(self._access.reading(lambda work: work.rows(name, namespace=self._access.namespace, **parameters)))

    def write(self, names: Sequence[str], /, **parameters: Any) -> list[Sequence[Any]]:
        def run(work: Work) -> list[Sequence[Any]]:
            (*_, rows) = [work.rows(name, namespace=self._access.namespace, **parameters) for name in names]
            return list(rows)

        return self._access.writing(run)
