"""The communities of a namespace, over statements that have the same names and rows in every dialect."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from drag_graph.graph.paging import pages
from drag_graph.ports.community_store import Community, CommunityChanges, CommunityHit
from drag_graph.ports.linked_edges import LinkedEdge
from drag_graph.stores.shared.export_records import link, node
from drag_graph.stores.shared.shared_rows import linked_edge_of
from drag_graph.stores.shared.transaction import Access, Result, Row, Run, Transaction

IDS_AT_ONCE = 100
PAGE = 100
"""Communities that are read together; one may have thousands of members."""
_WRITTEN = ("id", "member_hash", "level", "things", "edges", "sources")
_TOLD = ("id", "member_hash", "name", "summary", "summariser")


class SharedCommunities(ABC):
    """The `CommunityStore` port, but for what is an engine's own; see there for what each method promises."""

    rows_at_once = 1000
    vectors_at_once = 100
    """Rows of one statement, and how many where each has a vector."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._namespace = access.namespace

    @abstractmethod
    def nearest(self, vector: Sequence[float], k: int) -> list[CommunityHit]:
        """See CommunityStore."""

    def read(self) -> Iterator[Community]:
        for row in self._pages(vectors=False):
            yield _community(row)

    def write(self, changes: CommunityChanges) -> None:
        communities = [{name: getattr(item, name) for name in _WRITTEN} for item in changes.communities]
        joined = [{"entity": entity, "community": community} for entity, community in sorted(changes.joined)]

        def work(run: Run) -> None:
            self._each(run, "save_communities", sorted(communities, key=lambda row: str(row["id"])))
            for some in pages(sorted(changes.left), IDS_AT_ONCE):
                run("leave_communities", namespace=self._namespace, ids=some)
            self._each(run, "join_communities", joined)
            remove_empty_communities(run, self._namespace, changes.gone)

        self._writing(work, {*(item.id for item in changes.communities), *changes.gone})

    def contents(self, community_id: str) -> tuple[Community, list[LinkedEdge]] | None:
        def work(run: Run) -> tuple[list[Row], list[Row]]:
            # The hash comes first: what changes after it was read takes it away, and then no summary is written.
            there = run("read_communities", namespace=self._namespace, ids=[community_id])
            return there, run("community_edges", namespace=self._namespace, id=community_id) if there else []

        there, edges = self._access.in_reading(lambda session: work(session.run))
        if not there:
            return None
        return _community(there[0]), sorted(map(linked_edge_of, edges), key=lambda edge: edge.id)

    def summarise(self, communities: Sequence[Community]) -> int:
        rows = [
            {**{name: getattr(item, name) for name in _TOLD}, "vector": self._access.sent_vector(item.vector or ())}
            for item in sorted(communities, key=lambda item: item.id)
        ]
        written = self._writing(
            lambda run: self._each(run, "summarise_communities", rows, self.vectors_at_once), {item.id for item in communities}
        )
        return len(written)

    def records(self, *, vectors: bool = True) -> Iterator[Row]:
        """Yield the communities and their members as records (`GraphStore.records`)."""
        for row in self._pages(vectors=vectors):
            entities = row.pop("entities")
            vector = self._access.kept_vector(row["embedding"])
            yield node("Community", row["id"], {**row, "namespace": self._namespace, "embedding": vector})
            yield from (link("IN_COMMUNITY", entity, row["id"], self._namespace) for entity in entities)

    def _pages(self, *, vectors: bool) -> Iterator[Row]:
        """Yield communities by id, page by page. Each is a transaction of its own, so that a slow reader holds none open."""
        values: dict[str, Any] = {"namespace": self._namespace, "limit": PAGE, "vectors": vectors}
        after = ""
        while page := self._rows("all_communities", after=after, **values):
            yield from page
            after = max(str(row["id"]) for row in page)

    def _rows(self, name: str, **values: Any) -> list[Row]:
        return self._access.in_reading(lambda session: list(session.run(name, **values)))

    def _writing(self, work: Callable[[Run], Result], changed_vectors: Collection[str]) -> Result:
        def write(session: Transaction) -> Result:
            session.changed_vectors = changed_vectors
            return work(session.run)

        return self._access.in_writing(write)

    def _each(self, run: Run, name: str, rows: Sequence[Row], at_once: int = 0) -> list[Row]:
        return [
            row for some in pages(rows, at_once or self.rows_at_once) for row in run(name, namespace=self._namespace, rows=some)
        ]


def open_communities(run: Run, namespace: str, source_ids: Sequence[str]) -> list[Row]:
    """Take from the communities of these sources' entities what rested on them; return rows of entity and community.

    To be called before the entities are erased or replaced, in the same transaction: `remove_empty_communities` or
    `rejoin_communities` comes after it.
    """
    found = pages(source_ids, IDS_AT_ONCE)
    return [row for some in found for row in run("open_communities", namespace=namespace, source_ids=some)]


def rejoin_communities(run: Run, namespace: str, members: Iterable[Row], at_once: int) -> None:
    """Let those of these entities that are there again be in the communities that they were in; an empty one goes."""
    found = list(members)
    for some in pages(found, at_once):
        run("join_communities", namespace=namespace, rows=some)
    remove_empty_communities(run, namespace, {row["community"] for row in found})


def remove_empty_communities(run: Run, namespace: str, ids: Collection[str]) -> None:
    """Remove those of these communities that have no member any more."""
    for some in pages(sorted(set(ids)), IDS_AT_ONCE):
        run("remove_empty_communities", namespace=namespace, ids=some)


def hits_of(rows: Iterable[Row], k: int) -> list[CommunityHit]:
    """Return the nearest communities of rows: id, score, name, summary."""
    hits = [CommunityHit(row["id"], max(-1.0, min(1.0, row["score"])), row["name"], row["summary"]) for row in rows]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))[: max(k, 0)]


def _community(row: Row) -> Community:
    names = ("id", "member_hash", "name", "summary", "summariser", "level", "things", "edges", "sources")
    return Community(**{name: row[name] for name in names}, entities=tuple(sorted(row.get("entities", ()))))
