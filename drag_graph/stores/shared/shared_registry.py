"""The edges of a namespace and their summaries, over statements that have the same names and rows in every dialect."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from drag_graph.graph.paging import pages
from drag_graph.ports.site_registry import RegisteredEdge, SharedSummary, SummaryHit, summary_id
from drag_graph.stores.shared.transaction import Access, Row, Transaction


class SharedRegistry(ABC):
    """The `EdgeRegistry` port, but for what is an engine's own; see there for what each method promises."""

    rows_at_once = 100

    def __init__(self, access: Access) -> None:
        self._access = access
        self._namespace = access.namespace

    @abstractmethod
    def nearest(self, vector: Sequence[float], k: int, *, without: str = "") -> list[SummaryHit]:
        """See EdgeRegistry."""

    @abstractmethod
    def _lock(self, session: Transaction, edge_id: str) -> bool:
        """Let nobody else write to an edge until the transaction ends; False where there is none."""

    def edges(self, edge_ids: Collection[str] | None = None) -> list[RegisteredEdge]:
        found = self._read("list_edges") if edge_ids is None else self._read("read_edges", ids=sorted(set(edge_ids)))
        return sorted((RegisteredEdge(**row) for row in found), key=lambda edge: edge.name)

    def register(self, edge: RegisteredEdge) -> bool:
        values = {"id": edge.id, "name": edge.name, "token_sha256": edge.token_sha256, "created_at": edge.created_at}

        def work(session: Transaction) -> bool:
            session.changed_vectors = ()
            (row,) = session.run("register_edge", namespace=self._namespace, **values)
            return bool(row["token_sha256"] == edge.token_sha256)

        return self._access.in_writing(work)

    def touch(self, edge_id: str, seen_at: str, *, refused: int = 0) -> None:
        def work(session: Transaction) -> None:
            session.changed_vectors = ()
            session.run("touch_edge", namespace=self._namespace, id=edge_id, seen_at=seen_at, refused=refused)

        self._access.in_writing(work)

    def withdraw(self, edge_id: str) -> bool:
        def work(session: Transaction) -> bool:
            session.changed_vectors = ()
            if not self._lock(session, edge_id):
                return False
            self._erase(session, edge_id, [row["key"] for row in self._hashes(session, edge_id)])
            session.run("erase_edge", namespace=self._namespace, id=edge_id)
            return True

        return self._access.in_writing(work)

    def sync(self, edge_id: str, hashes: Mapping[str, str]) -> tuple[list[str], int]:
        there = {row["key"]: row["hash"] for row in self._read("summary_hashes", edge_id=edge_id)}
        gone = sorted(there.keys() - hashes.keys())

        def work(session: Transaction) -> None:
            session.changed_vectors = ()
            if self._lock(session, edge_id):
                self._erase(session, edge_id, gone)

        if gone:
            self._access.in_writing(work)
        return sorted(key for key, hash_ in hashes.items() if there.get(key) != hash_), len(gone)

    def upload(self, edge_id: str, summaries: Sequence[SharedSummary]) -> bool:
        rows = [self._row(edge_id, item) for item in {item.key: item for item in summaries}.values()]
        rows.sort(key=lambda row: str(row["id"]))

        def work(session: Transaction) -> bool:
            session.changed_vectors = [row["id"] for row in rows]
            if not self._lock(session, edge_id):
                return False
            for some in pages(rows, self.rows_at_once):
                self._write(session, edge_id, some)
            return True

        return self._access.in_writing(work)

    def _write(self, session: Transaction, edge_id: str, rows: Sequence[Row]) -> None:
        # A MERGE would look through all summaries of the embedded engine.
        ids = [row["id"] for row in rows]
        there = {row["id"] for row in session.run("known_summaries", namespace=self._namespace, ids=ids)}
        fresh, known = [row for row in rows if row["id"] not in there], [row for row in rows if row["id"] in there]
        if fresh:
            session.run("save_summaries", namespace=self._namespace, edge_id=edge_id, rows=fresh)
        if known:
            session.run("replace_summaries", namespace=self._namespace, rows=known)

    def _row(self, edge_id: str, item: SharedSummary) -> Row:
        return {
            "id": summary_id(self._namespace, edge_id, item.key),
            "key": item.key,
            "hash": item.hash,
            "text": item.text,
            "embedding": self._access.sent_vector(item.embedding),
        }

    def _hashes(self, session: Transaction, edge_id: str) -> list[Row]:
        return session.run("summary_hashes", namespace=self._namespace, edge_id=edge_id)

    def _erase(self, session: Transaction, edge_id: str, keys: Sequence[str]) -> None:
        ids = sorted(summary_id(self._namespace, edge_id, key) for key in keys)
        session.changed_vectors = ids
        for some in pages(ids, self.rows_at_once):
            session.run("erase_summaries", namespace=self._namespace, ids=some)

    def _read(self, name: str, **values: Any) -> list[Row]:
        return self._access.in_reading(lambda session: session.run(name, namespace=self._namespace, **values))


def hit_of(row: Row, score: float) -> SummaryHit:
    """Return a row of a summary as what was found."""
    return SummaryHit(row["edge_id"], row["edge"], row["key"], row["text"], max(-1.0, min(1.0, score)))
