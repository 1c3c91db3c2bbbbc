"""The concepts of a Neo4j namespace (docs/decisions/0008-linking.md)."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from drag_graph.errors import StoreError, StoreLocked
from drag_graph.ports.vectors import Vectors
from drag_graph.stores.neo4j.connection import Work
from drag_graph.stores.shared.shared_concepts import SharedConcepts
from drag_graph.stores.shared.transaction import Result, Run

LEASE_SECONDS = 60
"""How long a silent linker excludes others; each of its writes restarts this time."""
LEAST_CANDIDATES = 40
"""Minimum number of candidates from the vector index, which covers all namespaces and is inexact for few."""
_HINT = "Wait until that run has ended, then run the same command again."


class Neo4jConcepts(SharedConcepts):
    """The `ConceptStore` port on Neo4j.

    A linker holds a lease on a node of the namespace, with a number that grows with each linker. Every write checks that number
    in the same transaction, so that a linker writes nothing more after another one has taken over.
    """

    _token = 0

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        token, until = self._access.in_writing(lambda work: self._lease(work, 0))
        if not token:
            when = datetime.fromtimestamp(until / 1000, UTC).isoformat(timespec="seconds")
            raise StoreLocked(f"{self._place} is being linked by another process (lease until {when}).", hint=_HINT)
        self._token = token
        try:
            yield
        finally:
            self._token = 0
            # If the server is away, the lease expires.
            with suppress(StoreError):
                self._access.in_writing(lambda work: self._lease(work, token, seconds=0))

    def _lease(self, work: Work, token: int, seconds: int = LEASE_SECONDS) -> tuple[int, int]:
        """Take the lease (`token` 0) or renew it. Return the token (0 if another linker has it) and the end of the lease."""
        (row,) = work.run("link_lease", namespace=self._namespace, token=token, milliseconds=1000 * seconds)
        return row["token"], row["until"]

    @property
    def _place(self) -> str:
        return f"Namespace {self._namespace!r} of {self._access.location}"

    def _writing(self, work: Callable[[Run], Result], changed_vectors: Collection[str]) -> Result:
        del changed_vectors  # no vectors are kept in this process
        token = self._token

        def run(session: Work) -> Result:
            if token and not self._lease(session, token)[0]:
                raise StoreLocked(
                    f"{self._place} was taken over by another process, because this run did not renew its lease in time.",
                    hint=_HINT,
                )
            return work(session.run)

        return self._access.in_writing(run)

    def nearest_concepts(self, vectors: Vectors, k: int, *, floor: float = -1.0) -> list[list[tuple[str, float]]]:
        neighbours: list[list[tuple[str, float]]] = [[] for _ in vectors]
        # A zero vector matches nothing, and the index refuses it.
        positions = [position for position, vector in enumerate(vectors) if vector.any()] if k > 0 else []
        for start in range(0, len(positions), self.vectors_at_once):
            page = positions[start : start + self.vectors_at_once]
            for position, near in zip(page, self._nearest(vectors[page].tolist(), k, floor), strict=True):
                neighbours[position] = near
        return neighbours

    def _nearest(self, vectors: list[list[float]], k: int, floor: float) -> list[list[tuple[str, float]]]:
        candidates = max(LEAST_CANDIDATES, 4 * k)
        rows = self._rows("nearest_concepts", vectors=vectors, candidates=candidates)
        hits = {row["position"]: _ranked(row["found"], k, floor) for row in rows}
        # The index covers all namespaces. If others may have hidden matches of this one, all of its vectors are compared.
        full = {row["position"] for row in rows if row["seen"] == candidates and row["farthest"] >= floor}
        if hidden := sorted(position for position in full if len(hits[position]) < k):
            values = {"vectors": [vectors[position] for position in hidden], "k": k, "floor": floor}
            for row in self._rows("nearest_concepts_exact", **values):
                hits[hidden[row["position"]]] = _ranked(row["found"], k, floor)
        return [hits[position] for position in range(len(vectors))]


def _ranked(pairs: list[tuple[str, float]], k: int, floor: float) -> list[tuple[str, float]]:
    near = [(id_, max(-1.0, min(1.0, cosine))) for id_, cosine in pairs if id_ is not None and cosine >= floor]
    return sorted(near, key=lambda pair: (-pair[1], pair[0]))[:k]
