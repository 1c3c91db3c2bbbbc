"""Finding the lines for a question: its own subgraph, else the best lines of all subgraphs together (docs/asking.md).

Beside its own, a question may be shown lines that others brought (`shared_lines`, docs/adr/0037).

The order of the steps, without I/O of its own: the store and the embedder come in by their ports.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from drag_graph.ask import retrieval as retrieve
from drag_graph.ask.ask_result import NearestLine
from drag_graph.ask.broad_questions import ENOUGH, broad_lines
from drag_graph.ask.context_lines import Candidate, candidate_lines, scored
from drag_graph.ask.line_weights import Weighed, by_weight, with_list, without_repetitions
from drag_graph.model import LineKind, Query, Subgraph
from drag_graph.ports.graph_search import Candidates
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder
from drag_graph.settings import Settings

How = Literal["by id", "same question", "same words", "nearest", "search", "no context", "nothing"]

LOOKED_AT = 128
"""Lines that are compared with the question one by one, the heaviest by what led to them."""
KINDS: tuple[LineKind, ...] = ("evidence", "edge")
SHOWN = 16
"""Lines of evidence, and edges, that are left to the token budget: about what one subgraph has."""


@dataclass(frozen=True, slots=True)
class Found:
    """The lines that may be shown, and how they were found. `weighed` has, by ref, what a searched line weighs and why.

    `subgraphs` hold at least what the audit of these lines needs. `dropped` are (text, reason) pairs.
    """

    how: How
    subgraphs: tuple[Subgraph, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    weighed: Mapping[str, Weighed] = field(default_factory=dict)
    dropped: tuple[tuple[str, str], ...] = ()
    nearest: NearestLine | None = None
    """The best match where nothing was relevant."""

    @classmethod
    def of_weighed(
        cls, how: How, subgraphs: Iterable[Subgraph], lines: Sequence[Weighed], dropped: Iterable[tuple[str, str]]
    ) -> "Found":
        """Return lines with their weights as scores."""
        weights = {line.candidate.ref: round(line.weight, 6) for line in lines}
        candidates = scored((line.candidate for line in lines), weights)
        return cls(how, tuple(subgraphs), tuple(candidates), {line.candidate.ref: line for line in lines}, tuple(dropped))

    def beside(self, others: "Found") -> "Found":
        """Return these lines, and after them those that other sources brought."""
        behind = 1 + max((item.rank for item in self.candidates), default=0)
        added = (replace(item, score=None, rank=behind + place) for place, item in enumerate(others.candidates))
        own = {graph.source_id for graph in self.subgraphs}
        return replace(
            self,
            subgraphs=(*self.subgraphs, *(graph for graph in others.subgraphs if graph.source_id not in own)),
            candidates=(*self.candidates, *added),
            weighed=others.weighed,
        )


class Finder:
    """Finds lines in one store. Not thread-safe; use one for each thread."""

    def __init__(self, settings: Settings, store: GraphStore, embedder: Embedder) -> None:
        self._settings = settings
        self._store = store
        self._embedder = embedder
        name, override = embedder.name, settings.relevance
        self._query_threshold = retrieve.relevance_threshold(name, override)
        self._line_threshold = retrieve.line_threshold(name, override)
        self._name_threshold = retrieve.name_threshold(name, override)
        self._summary_threshold = retrieve.summary_threshold(name, override)
        self._answer_threshold = retrieve.answer_threshold(name, override)

    def of_subgraphs(self, subgraphs: Sequence[Subgraph], how: How) -> Found:
        """Return what the mode allows of these subgraphs, in the order of the stored ranks."""
        lines = candidate_lines(subgraphs, self._settings.mode, self._settings.line_format)
        return Found(how, tuple(subgraphs), tuple(lines))

    def of_own(self, query: Query, subgraphs: Sequence[Subgraph], how: How) -> Found:
        """Return the lines of the question's own subgraphs; after them, with `shared_lines`, the best that others brought."""
        own = self.of_subgraphs(subgraphs, how)
        if not self._settings.shared_lines or self._settings.mode == "none":
            return own
        sources = {graph.source_id for graph in subgraphs}
        near = self._near(query, self._vector(query))
        return own.beside(self._searched(query, near, self._settings.shared_lines, without=sources))

    def find(self, query: Query) -> Found:
        """Return the lines for a question, in two statements of the store where it is Neo4j and these find enough."""
        if self._settings.mode == "none":
            return self._of_stored(query, [query.id], "same question") or Found("no context")
        return self.search(query)

    def search(self, query: Query, without: Collection[str] = ()) -> Found:
        """Return the lines for a question whose own subgraph is not at hand, from all subgraphs together.

        Sources `without` take no place among the lines, or among the nearest that lead to lines.
        """
        if self._settings.mode == "none":
            return Found("no context")
        vector = self._vector(query)
        near = self._near(query, vector, without)
        if near.own and (own := self._of_stored(query, [query.id], "same question")):
            return own
        same = retrieve.same_question(near.queries, query.text)
        if same and (found := self._of_stored(query, same, "same words")):
            return found
        found = self._searched(query, near, SHOWN, without)
        return found if len(found.candidates) >= ENOUGH else self._with_broad(found, vector, without)

    def _vector(self, query: Query) -> Sequence[float]:
        return [float(value) for value in self._embedder.embed([query.text])[0]]

    def _near(self, query: Query, vector: Sequence[float], without: Collection[str] = ()) -> Candidates:
        keys = retrieve.question_keys(query.text)
        near = self._store.search.candidates(vector, keys, retrieve.NEAREST, source_id=query.id)
        evidence = [hit for hit in near.evidence if hit.source_id not in without]
        return replace(
            near,
            own=near.own and query.id not in without,
            queries=tuple(hit for hit in near.queries if hit.id not in without),
            evidence=retrieve.closest_evidence(query.text, evidence),
        )

    def _with_broad(self, found: Found, vector: Sequence[float], without: Collection[str] = ()) -> Found:
        """Return what was found, and what the communities say whose summaries are near."""
        mode, line_format = self._settings.mode, self._settings.line_format
        lines, graphs = broad_lines(self._store, vector, self._summary_threshold, mode, line_format)
        whole = {graph.source_id: graph for graph in (*found.subgraphs, *graphs)}
        edges = {edge.id: edge for graph in whole.values() for edge in graph.usable_edges}
        lines = [line for line in lines if line.candidate.source_id not in without]
        others = [line for line in lines if line.candidate.ref not in found.weighed]
        kept, repeated = without_repetitions([*found.weighed.values(), *others], edges)
        shown = {line.candidate.text for line in kept}
        dropped = [item for item in found.dropped if item[0] not in shown]
        dropped += [(item.text, "duplicate") for item, _ in repeated]
        return Found.of_weighed("search" if found.how == "nothing" and kept else found.how, whole.values(), kept, dropped)

    def _of_stored(self, query: Query, source_ids: Sequence[str], how: How) -> Found | None:
        """Return the lines of stored queries, or None where they are stored no more."""
        subgraphs = self._store.read(source_ids)
        return self.of_own(query, subgraphs, how) if subgraphs else None

    def _searched(self, query: Query, near: Candidates, most: int, without: Collection[str]) -> Found:
        """Return the best lines of all subgraphs, at most so many of each kind, but for those of some sources."""
        seeds = retrieve.seeds_of(near, self._query_threshold, self._line_threshold, self._name_threshold)
        return self._expanded(query, seeds, most, without) if seeds.seeds else Found("nothing", nearest=self._nearest(near))

    def _nearest(self, near: Candidates) -> NearestLine | None:
        """Return the stored query or evidence that misses its threshold by least."""
        best = [NearestLine(hit.text, hit.score, self._query_threshold) for hit in near.queries[:1]]
        best += [NearestLine(hit.text, hit.score, self._line_threshold) for hit in near.evidence[:1]]
        return min(best, key=lambda line: line.threshold - line.score, default=None)

    def _expanded(self, query: Query, seeds: retrieve.Seeds, most: int, without: Collection[str]) -> Found:
        expansion = self._store.search.expand(seeds.seeds, retrieve.HOPS)
        lines = retrieve.weighed_lines(expansion, seeds, self._settings.mode, self._settings.line_format)
        every = by_weight(line for line in lines if line.candidate.source_id not in without)
        looked_at, rest = every[:LOOKED_AT], [line.candidate for line in every[LOOKED_AT:]]
        scores, answers = self._scores(query, [line.candidate for line in looked_at])
        relevant, others = retrieve.relevant_lines(
            looked_at, scores, self._line_threshold, answers=answers, answer_threshold=self._answer_threshold
        )
        if not relevant:
            closest = max(others, key=lambda item: scores.get(item.ref, 0.0), default=None)
            score = scores[closest.ref] if closest else 0.0
            return Found("nothing", nearest=NearestLine(closest.plain, score, self._line_threshold) if closest else None)
        ranking = retrieve.by_score((line.candidate for line in relevant), scores)
        edges = {edge.id: edge for graph in expansion.subgraphs for edge in graph.usable_edges}
        kept, repeated = without_repetitions(with_list(relevant, "line", ranking), edges)
        chosen = [line for kind in KINDS for line in [one for one in kept if one.candidate.kind == kind][:most]]
        shown = {line.candidate.ref for line in chosen}
        dropped = [(item.text, "not relevant") for item in others]
        dropped += [(item.text, "duplicate") for item, _ in repeated]
        dropped += [(line.candidate.text, "less relevant") for line in kept if line.candidate.ref not in shown]
        dropped += [(item.text, "less relevant") for item in rest]
        return Found.of_weighed("nearest" if seeds.only_queries else "search", expansion.subgraphs, chosen, dropped)

    def _scores(self, query: Query, candidates: Sequence[Candidate]) -> tuple[dict[str, float], dict[str, float] | None]:
        """Return how close the lines are to the question, and their largest cosine with question and option, if it has some."""
        answers = [f"{query.text} {option}" for option in query.options]
        texts = [item.plain for item in candidates]
        vectors = self._embedder.embed([query.text, *answers, *texts])
        lines = vectors[1 + len(answers) :]

        def by_ref(values: Iterable[float]) -> dict[str, float]:
            return {item.ref: round(float(value), 6) for item, value in zip(candidates, values, strict=True)}

        largest = (lines @ vectors[1 : 1 + len(answers)].T).max(axis=1) if answers else None
        close = retrieve.closeness(query.text, texts, (float(value) for value in lines @ vectors[0]))
        return by_ref(close), None if largest is None else by_ref(largest)
