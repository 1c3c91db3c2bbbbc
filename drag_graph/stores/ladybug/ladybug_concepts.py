"""The concepts of a namespace of an embedded store (docs/decisions/0008-linking.md)."""

import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from drag_graph.errors import StoreLocked
from drag_graph.ports.vectors import Vectors
from drag_graph.stores.ladybug.ladybug_search import LadybugPart
from drag_graph.stores.ladybug.ladybug_transaction import LadybugTransaction
from drag_graph.stores.shared.shared_concepts import SharedConcepts
from drag_graph.stores.shared.transaction import Result, Run

_linked: dict[tuple[str, str], str] = {}
"""The threads that link, by file and namespace. The lock on the file excludes other processes."""
_linked_lock = threading.Lock()


class LadybugConcepts(LadybugPart, SharedConcepts):
    """The `ConceptStore` port on an embedded store."""

    # The engine processes the rows that a statement was planned with again in every later call.
    rows_at_once = 32
    vectors_at_once = 32

    def _writing(self, work: Callable[[Run], Result], changed_vectors: Collection[str]) -> Result:
        def write(session: LadybugTransaction) -> Result:
            session.changed_vectors, session.changed_links = changed_vectors, True
            return work(session.run)

        return self._access.in_writing(write)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        place = os.path.realpath(self._access.location), self._namespace
        with _linked_lock:
            if place in _linked:
                where, who = f"Namespace {self._namespace!r} of {self._access.location}", f"thread {_linked[place]}"
                raise StoreLocked(f"{where} is being linked by {who} of this process.", hint="Wait until it ends.")
            _linked[place] = threading.current_thread().name
        try:
            yield
        finally:
            del _linked[place]

    def nearest_concepts(self, vectors: Vectors, k: int, *, floor: float = -1.0) -> list[list[tuple[str, float]]]:
        return self._index("similar").nearest(vectors, k, floor=floor)
