"""The single repairs in the embedded store (`drag_graph.repairing`)."""

from collections.abc import Sequence
from typing import Any

from drag_graph.adapters.ladybug_access import LadybugAccess
from drag_graph.adapters.repairing import Repairing

VECTORS_AT_ONCE = 4


class LadybugRepairing(Repairing):
    """The `RepairStore` port on an embedded store; see there for what each method promises."""

    def __init__(self, access: LadybugAccess) -> None:
        super().__init__(_Statements(access), ("repair_sizes",), VECTORS_AT_ONCE)


class _Statements:
    def __init__(self, access: LadybugAccess) -> None:
        self._access = access

    def rows(self, name: str, /, **parameters: Any) -> list[Sequence[Any]]:
        with self._access.reading() as session:
            return [list(row.values()) for row in session.run(name, namespace=self._access.namespace, **parameters)]

    def write(self, names: Sequence[str], /, **parameters: Any) -> list[Sequence[Any]]:
        with self._access.writing() as session:
            (*_, rows) = [session.run(name, namespace=self._access.namespace, **parameters) for name in names]
        return [list(row.values()) for row in rows]
