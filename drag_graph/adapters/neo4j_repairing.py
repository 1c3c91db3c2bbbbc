"""The single repairs in Neo4j (`drag_graph.repairing`)."""

from collections.abc import Sequence
from typing import Any

from drag_graph.adapters.neo4j_access import Neo4jAccess
from drag_graph.adapters.neo4j_connection import Work
from drag_graph.adapters.repairing import Repairing


class Neo4jRepairing(Repairing):
    """The `RepairStore` port on a namespace of Neo4j; see there for what each method promises."""

    def __init__(self, access: Neo4jAccess) -> None:
        # What is counted must not be changed by another writer before it is written down.
        super().__init__(_Statements(access), ("lock_queries", "repair_sizes"))


class _Statements:
    def __init__(self, access: Neo4jAccess) -> None:
        self._access = access

    def rows(self, name: str, /, **parameters: Any) -> list[Sequence[Any]]:
        return list(self._access.reading(lambda work: work.rows(name, namespace=self._access.namespace, **parameters)))

    def write(self, names: Sequence[str], /, **parameters: Any) -> None:
        def run(work: Work) -> None:
            for name in names:
                work.run(name, namespace=self._access.namespace, **parameters)

        self._access.writing(run)
