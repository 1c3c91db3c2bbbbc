"""Sites and their summaries, with the statements that have the same names and rows in every dialect."""

from abc import abstractmethod
from collections.abc import Collection, Sequence

from drag_graph.graph.paging import pages
from drag_graph.ports.site_registry import RegisteredSite, SharedSummary, SiteChanges, SiteRegistry, SummaryHit, summary_id
from drag_graph.stores.shared.transaction import NamespacePart, Row, Transaction


class SharedRegistry(NamespacePart, SiteRegistry):
    """The part of the `SiteRegistry` port that all engines share; the port documents the methods."""

    rows_at_once = 100

    @abstractmethod
    def _lock(self, session: Transaction, site_id: str) -> bool:
        """Lock a site for other writers until the transaction ends. Return False if there is none."""

    def sites(self, site_ids: Collection[str] | None = None) -> list[RegisteredSite]:
        rows = self._rows("list_sites") if site_ids is None else self._rows("read_sites", ids=sorted(set(site_ids)))
        return sorted((RegisteredSite(**row) for row in rows), key=lambda site: site.name)

    def hashes(self, site_id: str) -> dict[str, str]:
        return {row["key"]: row["hash"] for row in self._rows("summary_hashes", site_id=site_id)}

    def write(self, changes: SiteChanges) -> bool:
        site_id = changes.site_id
        rows = [self._row(site_id, item) for item in {item.key: item for item in changes.summaries}.values()]
        rows.sort(key=lambda row: str(row["id"]))
        dropped_ids = sorted(summary_id(self._namespace, site_id, key) for key in changes.dropped)

        def work(session: Transaction) -> bool:
            session.changed_vectors = [*dropped_ids, *(row["id"] for row in rows)]
            if changes.registered and not self._register(session, changes.registered):
                return False
            if changes.seen_at:
                values = {"seen_at": changes.seen_at, "refused": changes.refused}
                session.run("touch_site", namespace=self._namespace, id=site_id, **values)
            if (dropped_ids or changes.summaries) and not self._lock(session, site_id):
                return False
            self._erase(session, dropped_ids)
            for page in pages(rows, self.rows_at_once):
                self._write(session, site_id, page)
            return True

        return self._access.in_writing(work)

    def _register(self, session: Transaction, site: RegisteredSite) -> bool:
        values = {"id": site.id, "name": site.name, "token_sha256": site.token_sha256, "created_at": site.created_at}
        (row,) = session.run("register_site", namespace=self._namespace, **values)
        return bool(row["token_sha256"] == site.token_sha256)

    def erase_sites(self, session: Transaction, ids: Sequence[str]) -> int:
        """Erase the sites among these ids with their summaries, in a transaction of the store. Return their number."""
        site_ids = [row["id"] for row in session.run("read_sites", namespace=self._namespace, ids=list(ids))] if ids else []
        for site_id in sorted(site_ids):
            self._lock(session, site_id)
            rows = session.run("summary_hashes", namespace=self._namespace, site_id=site_id)
            summaries = sorted(summary_id(self._namespace, site_id, row["key"]) for row in rows)
            self._erase(session, summaries)
            session.run("erase_site", namespace=self._namespace, id=site_id)
        return len(site_ids)

    def _write(self, session: Transaction, site_id: str, rows: Sequence[Row]) -> None:
        # MERGE would scan all summaries on the embedded engine.
        ids = [row["id"] for row in rows]
        stored_ids = {row["id"] for row in session.run("known_summaries", namespace=self._namespace, ids=ids)}
        new, old = [row for row in rows if row["id"] not in stored_ids], [row for row in rows if row["id"] in stored_ids]
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

    def _erase(self, session: Transaction, ids: Sequence[str]) -> None:
        for page in pages(ids, self.rows_at_once):
            session.run("erase_summaries", namespace=self._namespace, ids=page)


def hit_of(row: Row, score: float) -> SummaryHit:
    """Return a row of a summary as a hit with this cosine."""
    return SummaryHit(row["site_id"], row["site"], row["key"], row["text"], max(-1.0, min(1.0, score)))
