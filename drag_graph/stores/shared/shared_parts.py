"""Corrections, communities and sites of a namespace, over statements with the same names and rows in every dialect."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from drag_graph.graph.paging import pages
from drag_graph.ports.community_store import Community, CommunityChanges, CommunityHit, CommunityStore
from drag_graph.ports.correction_store import Correction, RejectedClaims, StoredClaim
from drag_graph.ports.site_registry import RegisteredSite, SiteChanges, SiteRegistry, SummaryHit, summary_id
from drag_graph.stores.shared.shared_rows import link, node
from drag_graph.stores.shared.transaction import IDS_AT_ONCE, Access, NamespacePart, Row, Run, Transaction, run_by_ids

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
        after = ""
        while page := self._rows("all_communities", after=after, limit=PAGE, vectors=vectors):
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


class SharedCorrections(NamespacePart):
    """The `CorrectionStore` port; see there for what each method promises. `stream` is that of the store."""

    def __init__(self, access: Access, stream: Callable[[str], Iterator[Row]]) -> None:
        super().__init__(access)
        self._stream = stream

    def read(self) -> list[Correction]:
        return by_change(Correction(**row) for row in self._rows("read_corrections"))

    def rejected(self) -> RejectedClaims:
        rows = self._rows("rejected_claims")
        sources = (id_ for row in rows for id_ in row["source_ids"])
        return RejectedClaims(frozenset(row["id"] for row in rows), frozenset(sources))

    def write(self, corrections: Sequence[Correction]) -> int:
        rows = [_row(self._namespace, item) for item in {item.target_id: item for item in corrections}.values()]

        def work(session: Transaction) -> int:
            session.changed_vectors = ()
            return len(self._each(session.run, "save_corrections", rows))

        return self._access.in_writing(work) if rows else 0

    def claims(self) -> Iterator[StoredClaim]:
        for row in self._stream("stored_claims"):
            # A row is a claim or all claims of a source, depending on the engine.
            yield from (StoredClaim(**claim) for claim in row.get("claims", [row]))

    def erase(self, run: Run, sources: Sequence[str], answer_ids: Collection[str]) -> None:
        """Erase the corrections of erased sources and answers."""
        if sources or answer_ids:
            run("erase_corrections", namespace=self._namespace, source_ids=list(sources), target_ids=list(answer_ids))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the corrections as `GraphStore.records` does."""
        yield from (correction_record(item, self._namespace) for item in self.read())


def correction_record(item: Correction, namespace: str) -> dict[str, Any]:
    """Return the record of a correction; that it was undone is content, when is a time."""
    undone = {"undone": bool(item.undone_at)}
    return node("Correction", item.id_in(namespace), {**item.to_dict(), "namespace": namespace, **undone})


def by_change(corrections: Iterator[Correction]) -> list[Correction]:
    """Return corrections, most recently changed first, ties by the id of their target."""
    return sorted(sorted(corrections, key=attrgetter("target_id")), key=attrgetter("changed_at"), reverse=True)


def _row(namespace: str, item: Correction) -> Row:
    return {**item.model_dump(mode="json"), "id": item.id_in(namespace), "source_id": item.source_ids[0]}


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
        summaries = {summary_id(self._namespace, site_id, item.key): item for item in changes.summaries}
        rows = [
            {**asdict(item), "id": id_, "embedding": self._access.sent_vector(item.embedding)}
            for id_, item in sorted(summaries.items())
        ]
        dropped_ids = sorted(summary_id(self._namespace, site_id, key) for key in changes.dropped)

        def work(session: Transaction) -> bool:
            session.changed_vectors = [*dropped_ids, *(row["id"] for row in rows)]
            if site := changes.registered:
                names = ("id", "name", "token_sha256", "created_at")
                values = {name: getattr(site, name) for name in names}
                (row,) = session.run("register_site", namespace=self._namespace, **values)
                if row["token_sha256"] != site.token_sha256:
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

    def _erase(self, session: Transaction, ids: Sequence[str]) -> None:
        for page in pages(ids, self.rows_at_once):
            session.run("erase_summaries", namespace=self._namespace, ids=page)


def hit_of(row: Row, score: float) -> SummaryHit:
    """Return a row of a summary as a hit with this cosine."""
    return SummaryHit(row["site_id"], row["site"], row["key"], row["text"], max(-1.0, min(1.0, score)))
