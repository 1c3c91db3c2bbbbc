"""Find context lines for a question: in its own subgraph, else in the whole graph (docs/asking.md).

With `shared_lines`, lines of other sources follow those of the own subgraph (docs/adr/0037). Pure orchestration; the store and
the embedder are ports.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from drag_graph.ask import retrieval as retrieve
from drag_graph.ask.ask_result import NearestLine
from drag_graph.ask.broad_questions import ENOUGH, broad_lines
from drag_graph.ask.context_lines import Candidate, candidate_lines
from drag_graph.ask.line_weights import Weighed, by_weight, with_list, without_repetitions
from drag_graph.model import LineKind, Query, Subgraph
from drag_graph.ports.graph_search import Candidates
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder
from drag_graph.settings import Settings

How = Literal["by id", "same question", "same words", "nearest", "search", "no context", "nothing"]

COMPARED = 128
"""Number of lines, heaviest first, whose own similarity to the question is computed."""
KINDS: tuple[LineKind, ...] = ("evidence", "edge")
SHOWN = 16
"""Maximum number of evidence lines, and of edges, before the token budget applies. About the size of one subgraph."""


@dataclass(frozen=True, slots=True)
class Found:
    """Candidate lines, and how they were found.

    `weighed` has the weight of each searched line by ref. `subgraphs` contain at least what the audit of the lines needs.
    `dropped` are (text, reason) pairs.
    """

    how: How
    subgraphs: tuple[Subgraph, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    weighed: Mapping[str, Weighed] = field(default_factory=dict)
    dropped: tuple[tuple[str, str], ...] = ()
    nearest: NearestLine | None = None
    """The best match if nothing is relevant."""

    @classmethod
    def of_weighed(
        cls, how: How, subgraphs: Iterable[Subgraph], lines: Sequence[Weighed], dropped: Iterable[tuple[str, str]]
    ) -> "Found":
        """Return `Found` with the weights of the lines as scores."""
        candidates = tuple(replace(line.candidate, score=round(line.weight, 6)) for line in lines)
        return cls(how, tuple(subgraphs), candidates, {line.candidate.ref: line for line in lines}, tuple(dropped))

    def beside(self, others: "Found") -> "Found":
        """Return these lines followed by those of other sources."""
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
    """Finds lines in one store."""

    def __init__(self, settings: Settings, store: GraphStore, embedder: Embedder) -> None:
        self._settings = settings
        self._store = store
        self._embedder = embedder
        self._least = retrieve.thresholds(embedder.name, settings.relevance)

    def of_subgraphs(self, subgraphs: Sequence[Subgraph], how: How) -> Found:
        """Return the lines of these subgraphs that the mode allows, by stored rank."""
        lines = candidate_lines(subgraphs, self._settings.mode, self._settings.line_format)
        return Found(how, tuple(subgraphs), tuple(lines))

    def of_own(self, query: Query, subgraphs: Sequence[Subgraph], how: How) -> Found:
        """Return the lines of the question's own subgraphs; with `shared_lines`, followed by the best of other sources."""
        own = self.of_subgraphs(subgraphs, how)
        if not self._settings.shared_lines or self._settings.mode == "none":
            return own
        sources = {graph.source_id for graph in subgraphs}
        near = self._near(query, self._vector(query))
        return own.beside(self._searched(query, near, self._settings.shared_lines, without=sources))

    def find(self, query: Query) -> Found:
        """Return the lines for a question. On Neo4j this usually takes two statements."""
        if self._settings.mode == "none":
            return self._of_stored(query, [query.id], "same question") or Found("no context")
        return self.search(query)

    def search(self, query: Query, without: Collection[str] = ()) -> Found:
        """Return the lines for a question from the whole graph, ignoring the sources `without`."""
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
        """Add edges of the communities whose summaries are similar to the question."""
        mode, line_format = self._settings.mode, self._settings.line_format
        lines, graphs = broad_lines(self._store, vector, self._least.summary, mode, line_format)
        graphs_by_id = {graph.source_id: graph for graph in (*found.subgraphs, *graphs)}
        edges = {edge.id: edge for graph in graphs_by_id.values() for edge in graph.usable_edges}
        lines = [line for line in lines if line.candidate.source_id not in without]
        others = [line for line in lines if line.candidate.ref not in found.weighed]
        distinct, repeated = without_repetitions([*found.weighed.values(), *others], edges)
        texts = {line.candidate.text for line in distinct}
        dropped = [item for item in found.dropped if item[0] not in texts]
        dropped += [(item.text, "duplicate") for item in repeated]
        how: How = "search" if found.how == "nothing" and distinct else found.how
        return replace(Found.of_weighed(how, graphs_by_id.values(), distinct, dropped), nearest=found.nearest)

    def _of_stored(self, query: Query, source_ids: Sequence[str], how: How) -> Found | None:
        """Return the lines of stored queries, or None if they are no longer stored."""
        subgraphs = self._store.read(source_ids)
        return self.of_own(query, subgraphs, how) if subgraphs else None

    def _searched(self, query: Query, near: Candidates, most: int, without: Collection[str]) -> Found:
        """Return the best lines of the whole graph, at most `most` of each kind."""
        seeds = retrieve.seeds_of(near, self._least.query, self._least.line, self._least.name)
        return self._expanded(query, seeds, most, without) if seeds.seeds else Found("nothing", nearest=self._nearest(near))

    def _nearest(self, near: Candidates) -> NearestLine | None:
        """Return the stored query or evidence that misses its threshold by least."""
        best = [NearestLine(hit.text, hit.score, self._least.query) for hit in near.queries[:1]]
        best += [NearestLine(hit.text, hit.score, self._least.line) for hit in near.evidence[:1]]
        return min(best, key=lambda line: line.threshold - line.score, default=None)

    def _expanded(self, query: Query, seeds: retrieve.Seeds, most: int, without: Collection[str]) -> Found:
        expansion = self._store.search.expand(seeds.seeds, retrieve.HOPS)
        lines = retrieve.weighed_lines(expansion, seeds, self._settings.mode, self._settings.line_format)
        every = by_weight(line for line in lines if line.candidate.source_id not in without)
        compared, uncompared = every[:COMPARED], [line.candidate for line in every[COMPARED:]]
        scores, answers = self._scores(query, [line.candidate for line in compared])
        relevant, others = retrieve.relevant_lines(
            compared, scores, self._least.line, answers=answers, answer_threshold=self._least.answer
        )
        if not relevant:
            closest = max(others, key=lambda item: scores.get(item.ref, 0.0), default=None)
            score = scores[closest.ref] if closest else 0.0
            return Found("nothing", nearest=NearestLine(closest.plain, score, self._least.line) if closest else None)
        ranking = retrieve.by_score((line.candidate for line in relevant), scores)
        edges = {edge.id: edge for graph in expansion.subgraphs for edge in graph.usable_edges}
        distinct, repeated = without_repetitions(with_list(relevant, "line", ranking), edges)
        best = [line for kind in KINDS for line in [one for one in distinct if one.candidate.kind == kind][:most]]
        refs = {line.candidate.ref for line in best}
        dropped = [(item.text, "not relevant") for item in others]
        dropped += [(item.text, "duplicate") for item in repeated]
        dropped += [(line.candidate.text, "less relevant") for line in distinct if line.candidate.ref not in refs]
        dropped += [(item.text, "less relevant") for item in uncompared]
        return Found.of_weighed("nearest" if seeds.only_queries else "search", expansion.subgraphs, best, dropped)

    def _scores(self, query: Query, candidates: Sequence[Candidate]) -> tuple[dict[str, float], dict[str, float] | None]:
        """Return each line's closeness to the question, and its largest cosine with the question plus an option."""
        answers = [f"{query.text} {option}" for option in query.options]
        texts = [item.plain for item in candidates]
        vectors = self._embedder.embed([query.text, *answers, *texts])
        lines = vectors[1 + len(answers) :]

        def by_ref(values: Iterable[float]) -> dict[str, float]:
            return {item.ref: round(float(value), 6) for item, value in zip(candidates, values, strict=True)}

        largest = (lines @ vectors[1 : 1 + len(answers)].T).max(axis=1) if answers else None
        close = retrieve.closeness(query.text, texts, (float(value) for value in lines @ vectors[0]))
        return by_ref(close), None if largest is None else by_ref(largest)
