"""The communities of a namespace, over statements with the same names and rows in every dialect."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from drag_graph.graph.paging import pages
from drag_graph.ports.community_store import Community, CommunityChanges, CommunityHit, CommunityStore
from drag_graph.stores.shared.export_records import link, node
from drag_graph.stores.shared.transaction import IDS_AT_ONCE, NamespacePart, Row, Run, Transaction, run_by_ids

PAGE = 100
"""Communities read together; each may have thousands of members."""
_WRITTEN = ("id", "member_hash", "level", "things", "edges", "sources")
_SUMMARY = ("id", "member_hash", "name", "summary", "summariser", "vector")


class SharedCommunities(NamespacePart, CommunityStore):
    """The `CommunityStore` port, except `nearest`; the contract of each method is there."""

    def read(self, community_ids: Sequence[str] | None = None) -> Iterator[Community]:
        if community_ids is None:
            yield from map(_community, self._pages(vectors=False))
            return
        for ids in pages(sorted(set(community_ids)), IDS_AT_ONCE):
            yield from map(_community, self._rows("read_communities", ids=ids))

    def write(self, changes: CommunityChanges) -> int:
        ids = {item.id for item in (*changes.communities, *changes.summarised)}

        def work(session: Transaction) -> int:
            session.changed_vectors = ids.union(changes.gone)
            return self._write(session.run, changes)

        return self._access.in_writing(work)

    def _write(self, run: Run, changes: CommunityChanges) -> int:
        self._each(run, "save_communities", _rows_of(changes.communities, _WRITTEN))
        run_by_ids(run, "leave_communities", changes.left, namespace=self._namespace)
        self._each(run, "join_communities", [{"entity": one, "community": to} for one, to in sorted(changes.joined)])
        run_by_ids(run, "remove_empty_communities", changes.gone, namespace=self._namespace)
        summaries = _rows_of(changes.summarised, _SUMMARY)
        for row in summaries:
            row["vector"] = self._access.sent_vector(row["vector"] or ())
        summary_rows = self._each(run, "summarise_communities", summaries, self.vectors_at_once)
        return len(summary_rows)

    def records(self, *, vectors: bool = True) -> Iterator[Row]:
        """Yield the communities and their members as records (`GraphStore.records`)."""
        for row in self._pages(vectors=vectors):
            entities = row.pop("entities")
            vector = self._access.kept_vector(row["embedding"])
            yield node("Community", row["id"], {**row, "namespace": self._namespace, "embedding": vector})
            yield from (link("IN_COMMUNITY", entity, row["id"], self._namespace) for entity in entities)

    def _pages(self, *, vectors: bool) -> Iterator[Row]:
        """Yield communities by id, page by page. Each page is its own transaction, so that a slow reader keeps none open."""
        values: dict[str, Any] = {"limit": PAGE, "vectors": vectors}
        after = ""
        while page := self._rows("all_communities", after=after, **values):
            yield from page
            after = max(str(row["id"]) for row in page)


def open_communities(run: Run, namespace: str, source_ids: Sequence[str]) -> list[Row]:
    """Empty summary and hash of the communities with entities from these sources. Return rows of entity and community.

    Call it before the entities are erased or replaced, and `rejoin_communities` or the statement `remove_empty_communities`
    after that in the same transaction.
    """
    return run_by_ids(run, "open_communities", source_ids, "source_ids", namespace=namespace)


def rejoin_communities(run: Run, namespace: str, members: Sequence[Row], at_once: int) -> None:
    """Put entities that are stored again back into their communities, and remove communities that stay empty."""
    for page in pages(members, at_once):
        run("join_communities", namespace=namespace, rows=page)
    run_by_ids(run, "remove_empty_communities", (row["community"] for row in members), namespace=namespace)


def hits_of(rows: Iterable[Row], k: int) -> list[CommunityHit]:
    """Return the best communities from rows of id, score, name and summary."""
    hits = [CommunityHit(row["id"], max(-1.0, min(1.0, row["score"])), row["name"], row["summary"]) for row in rows]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))[: max(k, 0)]


def _community(row: Row) -> Community:
    names = ("id", "member_hash", "name", "summary", "summariser", "level", "things", "edges", "sources")
    return Community(**{name: row[name] for name in names}, entities=tuple(sorted(row.get("entities", ()))))


def _rows_of(communities: Sequence[Community], names: Sequence[str]) -> list[Row]:
    return [{name: getattr(item, name) for name in names} for item in sorted(communities, key=lambda item: item.id)]
