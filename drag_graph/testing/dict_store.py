"""A graph store in memory: small, honest, and held to the same contract suite as the real ones (`drag_graph.testing.stores`).

For tests of what lies above a store. Nothing survives the process; `DictDatabase` is what several stores of different
namespaces share, as they would share a server.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from drag_graph.errors import ConfigurationError, StoreUnavailable, StoreUnfit
from drag_graph.graph.proof import own_refs, proof_of
from drag_graph.graph.subgraph_checks import COUNTED, added, check, check_answers, check_embedder, dropped, outcome_of, problem
from drag_graph.manage.erasing import counts_of
from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.ports.correction_store import Correction
from drag_graph.ports.graph_store import (
    ALL_SOURCES,
    Erased,
    LinkedEdge,
    Migration,
    Problem,
    QueryRows,
    Reduction,
    Replace,
    SaveOutcome,
    SourceFilter,
    StoredSource,
)
from drag_graph.ports.vectors import Vector
from drag_graph.stores.shared import migrations as migrate
from drag_graph.stores.shared.shared_rows import answer_records, subgraph_records
from drag_graph.testing.builders import expected, stored_source_of
from drag_graph.testing.dict_communities import DictCommunities, Members, linked_edge, things_of
from drag_graph.testing.dict_concepts import DictConcepts, Links, written
from drag_graph.testing.dict_corrections import DictCorrections, erase_corrections
from drag_graph.testing.dict_registry import DictRegistry, Sites
from drag_graph.testing.dict_search import DictSearch

KNOWN: list[migrate.Step] = [(Migration(1, "start", migrate.checksum("a dictionary")), ("a dictionary",))]


@dataclass
class Content:
    """What one namespace holds."""

    subgraphs: dict[str, Subgraph] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    aggregations: dict[str, Aggregation] = field(default_factory=dict)
    embedder: tuple[str, int] | None = None
    links: Links = field(default_factory=Links)
    sites: Sites = field(default_factory=Sites)
    members: Members = field(default_factory=Members)
    corrections: dict[str, Correction] = field(default_factory=dict)


@dataclass
class DictDatabase:
    """What outlives a store: the contents by namespace, and the migration history."""

    namespaces: dict[str, Content] = field(default_factory=dict)
    history: list[Migration] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)


class DictStore:
    """The `GraphStore` port over dictionaries; see there for what each method promises."""

    def __init__(self, database: DictDatabase | None = None, *, namespace: str = "default") -> None:
        self.database = database or DictDatabase()
        self._namespace = namespace
        self._open = True
        self._claimed: tuple[str, int] | None = None

    @property
    def location(self) -> str:
        return "memory"

    @property
    def namespace(self) -> str:
        return self._namespace

    @property
    def concepts(self) -> DictConcepts:
        return DictConcepts(self._namespace, self.content)

    @property
    def communities(self) -> DictCommunities:
        return DictCommunities(self._namespace, self.content)

    @property
    def corrections(self) -> DictCorrections:
        return DictCorrections(self._namespace, self.content)

    @property
    def search(self) -> DictSearch:
        return DictSearch(self._namespace, self.content)

    def prepare_search(self) -> None:
        pass

    def query(self, statement: str, *, limit: int, seconds: float) -> QueryRows:
        del statement, limit, seconds
        raise ConfigurationError("A store in memory does not execute statements.", hint="Use another store.")

    @property
    def registry(self) -> DictRegistry:
        return DictRegistry(self._namespace, self.content)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._open = False

    def migrations(self) -> list[Migration]:
        migrate.plan(KNOWN, self._history())
        times = {item.version: item.applied_at for item in self._history()}
        return [replace(item, applied_at=times.get(item.version, "")) for item, _ in KNOWN]

    def migrate(self) -> list[Migration]:
        with self.database.lock:
            pending = [
                replace(item, applied_at="2026-01-01T00:00:00+00:00") for item, _ in migrate.plan(KNOWN, self._history())
            ]
            self.database.history.extend(pending)
            return pending

    def embedder(self, claimed: tuple[str, int] | None = None) -> tuple[str, int] | None:
        with self.content() as content:
            if claimed is not None:
                self._claim(content, claimed)
                self._claimed = claimed
            return content.embedder

    def _claim(self, content: Content, wanted: tuple[str, int]) -> None:
        if content.embedder is not None and (content.subgraphs or any(content.sites.summaries.values())):
            check_embedder(content.embedder, wanted, f"namespace {self._namespace!r}")
        content.embedder = wanted

    def save(
        self,
        subgraphs: Sequence[Subgraph],
        aggregation: Aggregation,
        *,
        replace: Replace = False,
        vectors: Mapping[str, Vector] | None = None,
    ) -> list[SaveOutcome]:
        check(subgraphs, self._namespace)
        with self.content() as content:
            if self._claimed and subgraphs:
                self._claim(content, self._claimed)
                self._claimed = None
            outcomes = [self._save_one(content, subgraph, aggregation, replace=replace) for subgraph in subgraphs]
            saved = [one for one, outcome in zip(subgraphs, outcomes, strict=True) if outcome not in ("unchanged", "gone")]
            evidence = (item.id for subgraph in saved for item in subgraph.evidence)
            content.links.evidence |= {id_: tuple(vectors[id_]) for id_ in evidence if id_ in vectors} if vectors else {}
            return outcomes

    @staticmethod
    def _save_one(content: Content, subgraph: Subgraph, aggregation: Aggregation, *, replace: Replace) -> SaveOutcome:
        there = content.subgraphs.get(subgraph.source_id)
        outcome = outcome_of(there.settings_hash if there else None, subgraph, replace=replace)
        if there and outcome == "added":
            outcome, subgraph = added(there, subgraph)
        if outcome in ("created", "replaced", "added"):
            content.subgraphs[subgraph.source_id] = expected(subgraph, aggregation)
            content.links.linked.discard(subgraph.source_id)
            if there:
                content.members.open(there, content)
                removed_ids = {item.id for item in there.entities} | {item.id for item in there.evidence}
                content.links.forget(there, removed_ids, written(content), keeps_orphans=True)
            content.aggregations[subgraph.source_id] = aggregation
        return outcome

    def aggregate(self, source_ids: Sequence[str], aggregation: Aggregation) -> None:
        with self.content() as content:
            for id_ in source_ids:
                if id_ in content.subgraphs:
                    content.subgraphs[id_] = expected(content.subgraphs[id_], aggregation)
                    content.aggregations[id_] = aggregation

    def read(self, source_ids: Sequence[str]) -> list[Subgraph]:
        with self.content() as content:
            return [content.subgraphs[id_] for id_ in source_ids if id_ in content.subgraphs]

    def sources(self, wanted: SourceFilter = ALL_SOURCES, *, after: str = "", limit: int = 1000) -> list[StoredSource]:
        with self.content() as content:
            failed = set(_failed(content)) if wanted.has_failed else content.subgraphs.keys()
            ids = sorted(id_ for id_ in failed if id_ > after and _is_wanted(content.subgraphs[id_], wanted))[:limit]
            subgraphs = [content.subgraphs[id_] for id_ in ids]
        return [stored_source_of(one) for one in subgraphs]

    def creation_times(self) -> dict[str, str]:
        with self.content() as content:
            return {id_: graph.created_at for id_, graph in content.subgraphs.items()}

    def counts(self) -> dict[str, int]:
        counts = dict.fromkeys(COUNTED, 0)
        for record in self.records():
            counts[record.get("label") or record["type"]] += 1
        return counts

    def save_answers(self, answers: Sequence[Answer]) -> frozenset[str]:
        check_answers(answers, self._namespace)
        with self.content() as content:
            proven = [answer for answer in answers if answer.id in content.answers or _is_proven(answer, content)]
            for answer in proven:
                content.answers.setdefault(answer.id, answer)
            return dropped(answers, {answer.id for answer in proven})

    def answers(self, source_id: str = "", *, prefix: str = "", limit: int = 100, whole: bool = False) -> list[Answer]:
        with self.content() as content:
            matches = [item for item in content.answers.values() if not source_id or source_id in item.source_ids]
        matches = sorted((item for item in matches if item.id.startswith(prefix)), key=lambda item: item.id)
        if prefix:
            return matches[:limit]
        matches.sort(key=lambda item: item.created_at, reverse=True)
        return matches[:limit] if whole else [item.model_copy(update={"snapshot": {}}) for item in matches[:limit]]

    def erase(self, ids: Sequence[str], reductions: Sequence[Reduction] = ()) -> Erased:
        check([item.after for item in reductions], self._namespace)
        with self.content() as content:
            sites = [content.sites.known.pop(id_) for id_ in set(ids) & content.sites.known.keys()]
            for site in sites:
                del content.sites.summaries[site.id]
            going = content.subgraphs.keys() & set(ids)
            erased = Erased.sum_of(
                [
                    Erased({"Edge": len(sites)} if sites else {}),
                    self._erase_sources(ids, content),
                    *(self._reduce(item, content) for item in reductions),
                ]
            )
            erase_corrections(content, going, erased.answer_ids)
            return erased

    @staticmethod
    def _erase_sources(source_ids: Sequence[str], content: Content) -> Erased:
        counts: Counter[str] = Counter()
        before = len(content.links.concepts)
        going = [content.subgraphs.pop(id_) for id_ in dict.fromkeys(source_ids) if id_ in content.subgraphs]
        for graph in going:
            counts += counts_of(graph)
            parts = {item.id for part in (graph.entities, graph.evidence) for item in part}
            content.links.forget(graph, parts, written(content))
        ids = {graph.source_id for graph in going}
        answers = frozenset(item.id for item in content.answers.values() if ids & set(item.source_ids))
        for id_ in answers:
            del content.answers[id_]
        open_ids = {id_ for graph in going for id_ in content.members.open(graph, content)}
        return Erased({**counts, "Concept": before - len(content.links.concepts), "Community": len(open_ids)}, answers)

    @staticmethod
    def _reduce(item: Reduction, content: Content) -> Erased:
        before, after = item.before, item.after
        id_, concepts = before.source_id, len(content.links.concepts)
        if content.subgraphs.get(id_) != before:
            return Erased(stale=frozenset([id_]))
        content.subgraphs[id_] = expected(after, after.aggregation or Aggregation())
        content.links.linked.discard(id_)
        remaining_ids = {part.id for parts in (after.entities, after.evidence) for part in parts}
        lost = {part.id for parts in (before.entities, before.evidence) for part in parts} - remaining_ids
        content.links.forget(before, lost, written(content))
        open_ids = content.members.open(before, content)
        return Erased({"Concept": concepts - len(content.links.concepts), "Community": len(open_ids)})

    def linked_edges(self, community_id: str = "") -> Iterator[LinkedEdge]:
        with self.content() as content:
            edges = [edge for graph in content.subgraphs.values() for edge in graph.edges]
            thing, members = things_of(content), content.members.of
        for edge in sorted(edges, key=lambda edge: edge.id):
            if not community_id or {members.get(edge.subject_id), members.get(edge.object_id)} == {community_id}:
                yield linked_edge(edge, thing)

    def verify(self) -> list[Problem]:
        with self.content() as content:
            unproven = (id_ for subgraph in content.subgraphs.values() for id_ in _unproven(subgraph))
            problems = [problem("unproven_triples", id_) for id_ in sorted(unproven)]
            for subgraph in content.subgraphs.values():
                problems.extend(_orphans(subgraph))
                has_words = any(map(str.isalnum, subgraph.title))
                if has_words and subgraph.embedding and not any(subgraph.embedding):
                    problems.append(problem("verify_vectors", subgraph.source_id, "question"))
            loose = (answer for answer in content.answers.values() if set(answer.source_ids) - content.subgraphs.keys())
            problems.extend(problem("verify_answers", answer.id) for answer in loose)
        return problems

    def records(self, *, vectors: bool = True) -> Iterator[dict[str, Any]]:
        del vectors  # they are here already
        with self.content() as content:
            subgraphs, answers = list(content.subgraphs.values()), list(content.answers.values())
        for subgraph in subgraphs:
            yield from subgraph_records(subgraph)
        queries = {subgraph.source_id for subgraph in subgraphs}
        evidence = {item.id for subgraph in subgraphs for item in subgraph.evidence}
        for answer in answers:
            used = own_refs(answer, "evidence")
            answered = [id_ for id_ in answer.source_ids if id_ in queries]
            yield from answer_records(answer, answered, [id_ for id_ in used if id_ in evidence])
        yield from self.concepts.records()
        yield from self.communities.records()
        yield from self.corrections.records()

    def _history(self) -> list[Migration]:
        if not self._open:
            raise StoreUnavailable("the store is closed")
        return self.database.history

    def content(self) -> "_Locked":
        """Lend what the namespace holds to one thread at a time."""
        if migrate.plan(KNOWN, self._history()):
            raise StoreUnfit("the store is not migrated", hint="Run `drag-graph db migrate`.")
        return _Locked(self.database, self._namespace)


@dataclass
class _Locked:
    """The content of one namespace, for one thread at a time."""

    database: DictDatabase
    namespace: str

    def __enter__(self) -> Content:
        self.database.lock.acquire()
        return self.database.namespaces.setdefault(self.namespace, Content())

    def __exit__(self, *exc: object) -> None:
        self.database.lock.release()


def _is_proven(answer: Answer, content: Content) -> bool:
    """Return whether all that an answer rests on is stored."""
    if not content.subgraphs.keys() >= set(answer.source_ids):
        return False
    graphs, proof = [content.subgraphs[id_] for id_ in answer.source_ids], proof_of(answer)
    return (
        proof.evidence_ids <= {item.id for graph in graphs for item in graph.evidence}
        and proof.triple_ids <= {item.id for graph in graphs for item in graph.triples}
        and proof.call_ids <= {item.id for graph in graphs for item in graph.calls}
    )


def _failed(content: Content) -> Iterator[str]:
    for answer in content.answers.values():
        if answer.correct is False and answer.mode != "none":
            for id_ in answer.source_ids:
                graph = content.subgraphs.get(id_)
                if graph is not None and answer.created_at >= graph.created_at:
                    yield id_


def _unproven(subgraph: Subgraph) -> list[str]:
    evidence, calls = {item.id for item in subgraph.evidence}, {item.id for item in subgraph.calls}
    return [item.id for item in subgraph.triples if item.evidence_id not in evidence or not calls.issuperset(item.call_ids)]


def _orphans(subgraph: Subgraph) -> Iterator[Problem]:
    for entity in subgraph.entities:
        if entity.source_id != subgraph.source_id:
            yield problem("verify_orphans", entity.id, "Entity")


def _is_wanted(subgraph: Subgraph, wanted: SourceFilter) -> bool:
    input_id = "" if subgraph.document else subgraph.query.input_id
    return (
        (wanted.ids is None or subgraph.source_id in wanted.ids)
        and subgraph.source_id.startswith(wanted.prefix)
        and wanted.input_id in {"", input_id}
        and (not wanted.expired_before or "" < subgraph.expires_at < wanted.expired_before)
    )
