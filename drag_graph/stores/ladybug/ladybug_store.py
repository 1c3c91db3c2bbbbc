"""The embedded graph store: Cypher in this process, on one file, by the `ladybug` package (docs/decisions/0001-stores.md)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from drag_graph.graph import subgraph_checks as checks
from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.stores.ladybug import subgraph_writing as write
from drag_graph.stores.ladybug.engine import READ_PATIENCE
from drag_graph.stores.ladybug.ladybug_access import LadybugAccess
from drag_graph.stores.ladybug.ladybug_communities import LadybugCommunities
from drag_graph.stores.ladybug.ladybug_concepts import LadybugConcepts
from drag_graph.stores.ladybug.ladybug_registry import LadybugRegistry
from drag_graph.stores.ladybug.ladybug_search import LadybugSearch
from drag_graph.stores.ladybug.ladybug_transaction import LadybugTransaction
from drag_graph.stores.ladybug.subgraph_reading import read_subgraphs
from drag_graph.stores.shared.shared_store import LAST, SharedStore
from drag_graph.stores.shared.transaction import Row

ALL = 2**62
"""More rows than there are."""


class LadybugStore(LadybugAccess, SharedStore[LadybugTransaction]):
    """The `GraphStore` port on a file; see there for what each method promises."""

    _search: LadybugSearch | None = None

    def _release(self) -> None:
        if self._search is not None:
            self._search.close()
        self._search = None
        super()._release()

    def compact(self, patience: float = READ_PATIENCE) -> None:
        """Put a new file with what is live in the place of this one (`Engine.compact`): what was erased is in no file then."""
        self.search.erase_index()  # first: a kill after the compaction must not leave it
        self.ready().compact(patience)
        self.search.erase_index()  # again: a reader that began before the erasure may have made it from what it saw

    @property
    def search(self) -> LadybugSearch:
        if self._search is None:
            self._search = LadybugSearch(self, read_only=self._read_only)
        return self._search

    def prepare_search(self) -> None:
        self.search.prepare()

    @property
    def concepts(self) -> LadybugConcepts:
        return LadybugConcepts(self, self.search.index)

    @property
    def registry(self) -> LadybugRegistry:
        return LadybugRegistry(self, self.search.index)

    @property
    def communities(self) -> LadybugCommunities:
        return LadybugCommunities(self, self.search.index)

    def aggregate(self, source_ids: Sequence[str], aggregation: Aggregation) -> None:
        if not source_ids:
            return
        with self.writing() as session:
            session.changed_vectors, session.changed_edges = (), True
            rows = session.run("read_sources", namespace=self._namespace, ids=_distinct(source_ids))
            for source in rows:
                session.run("aggregate_erase", namespace=self._namespace, source_id=source["id"])
            are_documents = {source["id"]: source["is_document"] for source in rows}
            write.write_edges(session, self._namespace, are_documents, aggregation)

    def read(self, source_ids: Sequence[str]) -> list[Subgraph]:
        if not source_ids:
            return []
        return self.in_reading(lambda session: self._read_in(session, source_ids))

    def save_answers(self, answers: Sequence[Answer]) -> frozenset[str]:
        if not answers:
            return frozenset()
        checks.check_answers(answers, self._namespace)
        with self.writing() as session:
            session.changed_vectors = ()
            source_ids = self._lock_sources(session, (id_ for answer in answers for id_ in answer.source_ids)).keys()
            stored_ids = write.write_answers(
                session, self._namespace, [item for item in answers if source_ids >= set(item.source_ids)]
            )
        return checks.dropped(answers, stored_ids)

    def _read_in(self, session: LadybugTransaction, source_ids: Sequence[str]) -> list[Subgraph]:
        return read_subgraphs(session, self._namespace, source_ids)

    def _lock_sources(self, session: LadybugTransaction, source_ids: Iterable[str]) -> dict[str, str]:
        rows = session.run("read_sources", namespace=self._namespace, ids=_distinct(source_ids))
        return {row["id"]: row["settings_hash"] for row in rows}

    def _erase_parts(self, session: LadybugTransaction, source_ids: Sequence[str]) -> Mapping[str, int]:
        session.changed_links = True  # of concepts that other sources share
        counts: Counter[str] = Counter()
        for row in write.erase_parts(session, self._namespace, source_ids):
            counts[row["label"]] += row["number"]
        return counts

    def _stream(self, name: str) -> Iterator[Row]:
        more = {"after": "", "until": LAST, "prefix": "", "limit": ALL} if name == "find_answers" else {}
        return self.ready().stream(name, namespace=self._namespace, **more)

    def _links(self) -> Iterator[Row]:
        yield from self._stream("records_links")
        yield from self._stream("records_links_concepts")

    def _write(
        self, session: LadybugTransaction, wanted: Mapping[str, Subgraph], replaced: Sequence[str], aggregation: Aggregation
    ) -> None:
        session.changed_links |= bool(replaced)
        write.write_subgraphs(session, self._namespace, wanted, replaced, aggregation)


def _distinct(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))
