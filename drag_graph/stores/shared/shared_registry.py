"""Sites and their summaries, with the statements that have the same names and rows in every dialect."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from drag_graph.graph.paging import pages
from drag_graph.ports.site_registry import RegisteredSite, SharedSummary, SummaryHit, summary_id
from drag_graph.stores.shared.transaction import Access, Row, Transaction


class SharedRegistry(ABC):
    """The part of the `SiteRegistry` port that all engines share; the port documents the methods."""

    rows_at_once = 100

    def __init__(self, access: Access) -> None:
        self._access = access
        self._namespace = access.namespace

    @abstractmethod
    def nearest(self, vector: Sequence[float], k: int, *, without: str = "") -> list[SummaryHit]:
        """See SiteRegistry."""

    @abstractmethod
    def _lock(self, session: Transaction, site_id: str) -> bool:
        """Lock a site for other writers until the transaction ends. Return False if there is none."""

    def sites(self, site_ids: Collection[str] | None = None) -> list[RegisteredSite]:
        rows = self._read("list_sites") if site_ids is None else self._read("read_sites", ids=sorted(set(site_ids)))
        return sorted((RegisteredSite(**row) for row in rows), key=lambda site: site.name)

    def register(self, site: RegisteredSite) -> bool:
        values = {"id": site.id, "name": site.name, "token_sha256": site.token_sha256, "created_at": site.created_at}

        def work(session: Transaction) -> bool:
            session.changed_vectors = ()
            (row,) = session.run("register_site", namespace=self._namespace, **values)
            return bool(row["token_sha256"] == site.token_sha256)

        return self._access.in_writing(work)

    def touch(self, site_id: str, seen_at: str, *, refused: int = 0) -> None:
        def work(session: Transaction) -> None:
            session.changed_vectors = ()
            session.run("touch_site", namespace=self._namespace, id=site_id, seen_at=seen_at, refused=refused)

        self._access.in_writing(work)

    def withdraw(self, site_id: str) -> bool:
        def work(session: Transaction) -> bool:
            session.changed_vectors = ()
            if not self._lock(session, site_id):
                return False
            rows = session.run("summary_hashes", namespace=self._namespace, site_id=site_id)
            self._erase(session, site_id, [row["key"] for row in rows])
            session.run("erase_site", namespace=self._namespace, id=site_id)
            return True

        return self._access.in_writing(work)

    def sync(self, site_id: str, hashes: Mapping[str, str]) -> tuple[list[str], int]:
        stored = {row["key"]: row["hash"] for row in self._read("summary_hashes", site_id=site_id)}
        surplus = sorted(stored.keys() - hashes.keys())

        def work(session: Transaction) -> None:
            session.changed_vectors = ()
            if self._lock(session, site_id):
                self._erase(session, site_id, surplus)

        if surplus:
            self._access.in_writing(work)
        return sorted(key for key, hash_ in hashes.items() if stored.get(key) != hash_), len(surplus)

    def upload(self, site_id: str, summaries: Sequence[SharedSummary]) -> bool:
        rows = [self._row(site_id, item) for item in {item.key: item for item in summaries}.values()]
        rows.sort(key=lambda row: str(row["id"]))

        def work(session: Transaction) -> bool:
            session.changed_vectors = [row["id"] for row in rows]
            if not self._lock(session, site_id):
                return False
            for page in pages(rows, self.rows_at_once):
                self._write(session, site_id, page)
            return True

        return self._access.in_writing(work)

    def _write(self, session: Transaction, site_id: str, rows: Sequence[Row]) -> None:
        # MERGE would scan all summaries on the embedded engine.
        ids = [row["id"] for row in rows]
        stored = {row["id"] for row in session.run("known_summaries", namespace=self._namespace, ids=ids)}
        new, old = [row for row in rows if row["id"] not in stored], [row for row in rows if row["id"] in stored]
        if new:
            session.run("save_summaries", namespace=self._namespace, site_id=site_id, rows=new)
        if old:
            session.run("replace_summaries", namespace=self._namespace, rows=old)

    def _row(self, site_id: str, item: SharedSummary) -> Row:
        return {
            "id": summary_id(self._namespace, site_id, item.key),
            "key": item.key,
            "hash": item.hash,
            "text": item.text,
            "embedding": self._access.sent_vector(item.embedding),
        }

    def _erase(self, session: Transaction, site_id: str, keys: Sequence[str]) -> None:
        ids = sorted(summary_id(self._namespace, site_id, key) for key in keys)
        session.changed_vectors = ids
        for page in pages(ids, self.rows_at_once):
            session.run("erase_summaries", namespace=self._namespace, ids=page)

    def _read(self, name: str, **values: Any) -> list[Row]:
        return self._access.in_reading(lambda session: session.run(name, namespace=self._namespace, **values))


def hit_of(row: Row, score: float) -> SummaryHit:
    """Return a row of a summary as a hit with this cosine."""
    return SummaryHit(row["site_id"], row["site"], row["key"], row["text"], max(-1.0, min(1.0, score)))
