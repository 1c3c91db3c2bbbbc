"""Find context lines for a question: in its own subgraph, else in the whole graph (docs/explanation/search.md).

With `shared_lines`, lines of other sources follow those of the own subgraph. A question about what many things have in common
is not similar to any single passage: its lines are edges of communities with similar summaries (DGRAG, section 3.3). Pure
orchestration; the store and the embedder are ports.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from drag_graph.ask import retrieval as retrieve
from drag_graph.ask.ask_result import NearestLine
from drag_graph.ask.context_lines import Candidate, ListName, SpanPlace, Weighed, candidate_lines, without_repetitions
from drag_graph.ask.corrected_store import CorrectedStore
from drag_graph.ask.searching import Findings, Ranks, Search, Searcher
from drag_graph.ask.unit_values import Valued
from drag_graph.graph.edge_strength import strongest
from drag_graph.model import Line, LineKind, Query, Subgraph
from drag_graph.ports.graph_search import EVERYTHING, Restriction
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder
from drag_graph.settings import Settings

ENOUGH = 4
"""If a search finds at least this number of lines, communities are not consulted."""
NEAREST_COMMUNITIES = 2
EDGES_PER_COMMUNITY = 8
"""Strongest edges first."""


How = Literal["by id", "same question", "same words", "search", "no context", "nothing"]

COMPARED = 64
"""Number of passages, best first, whose closeness to the question is compared with the threshold."""
CHARACTERS_A_TOKEN = 5
"""More than a token has on average: enough lines are found for the student's budget."""
KINDS: tuple[LineKind, ...] = ("evidence", "edge")
EDGES = 32
"""Maximum number of edges that a search returns."""


@dataclass(frozen=True, slots=True)
class SourceHit:
    """A source that a search found, with the weight of its best passage, and the rank of that passage in each list."""

    id: str
    title: str
    date: str
    is_document: bool
    score: float
    ranks: tuple[tuple[ListName, int], ...]


@dataclass(frozen=True, slots=True)
class FoundLines:
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
    sources: tuple[SourceHit, ...] = ()
    """The sources that a search found, best first."""

    @classmethod
    def of_weighed(
        cls, how: How, subgraphs: Iterable[Subgraph], lines: Sequence[Weighed], dropped: Iterable[tuple[str, str]]
    ) -> "FoundLines":
        """Return `FoundLines` with the weights of the lines as scores."""
        candidates = tuple(replace(line.candidate, score=round(line.weight, 6)) for line in lines)
        return cls(how, tuple(subgraphs), candidates, {line.candidate.ref: line for line in lines}, tuple(dropped))

    def with_sources_in_order(self) -> "FoundLines":
        """Return this with the sources in the order of the candidates, such as after a reranker. Scores keep their places."""
        places = {id_: place for place, id_ in enumerate(dict.fromkeys(item.source_id for item in self.candidates))}
        ordered = sorted(self.sources, key=lambda source: places.get(source.id, len(places)))
        scores = [source.score for source in self.sources]
        return replace(self, sources=tuple(replace(one, score=score) for one, score in zip(ordered, scores, strict=True)))

    def subgraphs_of(self, lines: Sequence[Line]) -> Sequence[Subgraph]:
        """Return the sources of an answer: the searched subgraphs whose lines are shown, or the first if there are none."""
        if not self.weighed:
            return self.subgraphs
        shown = {line.source_id for line in lines}
        return [graph for graph in self.subgraphs if graph.source_id in shown] or self.subgraphs[:1]

    def beside(self, others: "FoundLines") -> "FoundLines":
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
    """Finds lines for one question in one store, without claims marked wrong. `only` restricts which sources are searched."""

    def __init__(self, settings: Settings, store: GraphStore, embedder: Embedder, only: Restriction = EVERYTHING) -> None:
        self._settings = settings
        self._store = CorrectedStore(store)
        self._searcher = Searcher(self._store, embedder, only)
        self._least = retrieve.thresholds(embedder.name, settings.relevance)
        self.is_restricted = bool(only)

    def of_subgraphs(self, subgraphs: Sequence[Subgraph], how: How) -> FoundLines:
        """Return the lines of these subgraphs that the mode allows, by stored rank."""
        graphs = self._store.corrected(subgraphs)
        lines = candidate_lines(graphs, self._settings.mode, self._settings.line_format)
        return FoundLines(how, tuple(graphs), tuple(lines))

    def of_own(self, query: Query, subgraphs: Sequence[Subgraph], how: How) -> FoundLines:
        """Return the lines of the question's own subgraphs; with `shared_lines`, followed by the best of other sources."""
        own = self.of_subgraphs(subgraphs, how)
        most = self._settings.shared_lines
        if not most or self._settings.mode == "none":
            return own
        others = self._searched(self._searcher.near(query), {graph.source_id for graph in subgraphs})
        limited = [item for kind in KINDS for item in [one for one in others.candidates if one.kind == kind][:most]]
        return own.beside(replace(others, candidates=tuple(limited)))

    def find(self, query: Query) -> FoundLines:
        """Return the lines for a question."""
        if self._settings.mode == "none" and not self.is_restricted:
            return self._of_stored(query, [query.id], "same question") or FoundLines("no context")
        return self.search(query)

    def search(self, query: Query, without: Collection[str] = ()) -> FoundLines:
        """Return the lines for a question from the whole graph, ignoring the sources `without`."""
        if self._settings.mode == "none":
            return FoundLines("no context")
        search = self._searcher.near(query)
        is_own = search.near.own and query.id not in without
        if is_own and (own := self._of_stored(query, [query.id], "same question")):
            return own
        same = [id_ for id_ in retrieve.same_question(search.near.queries, query.text) if id_ not in without]
        if same and (found := self._of_stored(query, same, "same words")):
            return found
        found = self._searched(search, without)
        if self.is_restricted or len(found.candidates) >= ENOUGH:  # a community may have edges of any source
            return found
        return self._with_broad(found, search.vectors[0].tolist(), without)

    def everything(self, query: Query) -> FoundLines:
        """Return what is stored for a question, best first, whether it is relevant or not."""
        return self._searched(self._searcher.near(query), (), even_irrelevant=True)

    def _with_broad(self, found: FoundLines, vector: Sequence[float], without: Collection[str] = ()) -> FoundLines:
        """Add edges of the communities whose summaries are similar to the question."""
        lines, graphs = self._community_lines(vector)
        graphs_by_id = {graph.source_id: graph for graph in (*found.subgraphs, *graphs)}
        edges = {edge.id: edge for graph in graphs_by_id.values() for edge in graph.usable_edges}
        lines = [line for line in lines if line.candidate.source_id not in without]
        others = [line for line in lines if line.candidate.ref not in found.weighed]
        distinct, repeated = without_repetitions([*found.weighed.values(), *others], edges)
        texts = {line.candidate.text for line in distinct}
        dropped = [item for item in found.dropped if item[0] not in texts]
        dropped += [(item.text, "duplicate") for item in repeated]
        how: How = "search" if found.how == "nothing" and distinct else found.how
        broad = FoundLines.of_weighed(how, graphs_by_id.values(), distinct, dropped)
        return replace(broad, nearest=found.nearest, sources=found.sources)

    def _community_lines(self, vector: Sequence[float]) -> tuple[list[Weighed], Sequence[Subgraph]]:
        """Return the strongest edges of the communities with summaries similar to `vector`, and the evidence of these edges.

        The second result has their whole subgraphs, for the audit.
        """
        near = self._store.communities.nearest(vector, NEAREST_COMMUNITIES)
        ranks: dict[str, int] = {}
        sources: set[str] = set()
        for rank, hit in enumerate((hit for hit in near if hit.score >= self._least.summary), start=1):
            for edge in strongest(list(self._store.linked_edges(hit.id)), EDGES_PER_COMMUNITY):
                ranks.setdefault(edge.id, rank)
                sources.add(edge.source_id)
        graphs = self._store.read(sorted(sources)) if sources else []
        confidences = {}
        for graph in graphs:
            for simple in graph.usable_edges:
                if simple.id in ranks:
                    confidences[simple.id] = simple.confidence
                    for evidence in simple.evidence_ids:
                        ranks.setdefault(evidence, ranks[simple.id])
        lines = list[Weighed]()
        for candidate in candidate_lines(graphs, self._settings.mode, self._settings.line_format):
            if rank := ranks.get(candidate.ref, 0):
                confidence = confidences.get(candidate.ref)
                weight = (1.0 if confidence is None else confidence) / rank
                lines.append(Weighed(candidate, weight, (("community", rank),), confidence))
        return lines, graphs

    def _of_stored(self, query: Query, source_ids: Sequence[str], how: How) -> FoundLines | None:
        """Return the lines of stored queries, or None if they are no longer stored."""
        subgraphs = self._store.read(source_ids)
        return self.of_own(query, subgraphs, how) if subgraphs else None

    def _searched(self, search: Search, without: Collection[str], *, even_irrelevant: bool = False) -> FoundLines:
        """Return the best lines of the whole graph."""
        similar = [hit for hit in search.near.queries if hit.id not in without][: retrieve.NEIGHBOURS]
        similar_ids = [hit.id for hit in similar if hit.score >= self._least.query]
        findings = self._searcher.findings(search, similar_ids, without)
        relevant, others, nearest = self._relevant(search, findings, similar_ids)
        if similar[:1]:
            nearest.append(NearestLine(similar[0].text, similar[0].score, self._least.query))
        if even_irrelevant:
            relevant, others = list(findings.passages), []
        if not relevant:
            return FoundLines("nothing", nearest=min(nearest, key=lambda line: line.threshold - line.score, default=None))
        wanted = self._fitting(relevant)
        weights = {item.passage.id: item.value for item in relevant}
        pairs = _pairs(findings, weights) if self._settings.mode in {"graph", "combined"} else {}
        subgraphs = self._store.search.subgraphs([item.passage.id for item in wanted], list(pairs))
        ranks = findings.ranks(search.near)
        lines = self._weighed(ranks, subgraphs, wanted, pairs)
        edges = {edge.id: edge for graph in subgraphs for edge in graph.usable_edges}
        distinct, repeated = without_repetitions(lines, edges)
        refs = {line.candidate.ref for line in lines}
        dropped = [(item.passage.text, "not relevant") for item in others]
        dropped += [(item.text, "duplicate") for item in repeated]
        if self._settings.mode != "graph":
            dropped += [(item.passage.text, "less relevant") for item in relevant if item.passage.id not in refs]
        return replace(FoundLines.of_weighed("search", subgraphs, distinct, dropped), sources=_sources(relevant, ranks))

    def _relevant(
        self, search: Search, findings: Findings, similar: Collection[str]
    ) -> tuple[list[Valued], list[Valued], list[NearestLine]]:
        """Return the relevant passages, the others, and the passage that is closest to the question.

        Evidence of a query is relevant if the query is similar to the question, or it is close to the question itself. If one
        passage of a document is close, all passages of documents are relevant, and the token budget decides. If the question
        has options, the largest cosine with one of them must reach a threshold as well, if the passage has a vector.
        """
        compared = findings.passages[:COMPARED]
        texts = [
            " ".join([item.unit.title, *item.unit.heading, item.passage.text]) if item.unit.is_document else item.passage.text
            for item in compared
        ]
        close = retrieve.closeness(search.query.text, texts, (item.passage.cosines[0] for item in compared))
        scores = {item.passage.id: score for item, score in zip(compared, close, strict=True)}
        has_close_document = any(scores[item.passage.id] >= self._least.line for item in compared if item.unit.is_document)
        relevant, others = list[Valued](), list[Valued]()
        for item in findings.passages:
            is_close = has_close_document if item.unit.is_document else scores.get(item.passage.id, 0.0) >= self._least.line
            # Without a vector nothing is known about the options. Such evidence is found by its words.
            unknown = not search.query.options or not any(item.passage.cosines)
            decides = unknown or max(item.passage.cosines[1:]) >= self._least.answer
            (relevant if decides and (is_close or item.unit.id in similar) else others).append(item)
        best = max(scores, key=lambda id_: scores[id_], default="")
        nearest = [
            NearestLine(item.passage.text, scores[best], self._least.line) for item in compared if item.passage.id == best
        ]
        return relevant, others, nearest

    def _fitting(self, relevant: Sequence[Valued]) -> list[Valued]:
        """Return the first passages that may fit into the token budget. One that alone exceeds it takes no room from others."""
        whole = room = CHARACTERS_A_TOKEN * self._settings.token_budget
        wanted = list[Valued]()
        for item in relevant:
            if room <= 0:
                break
            room -= len(item.passage.text) if len(item.passage.text) <= whole else 0
            wanted.append(item)
        return wanted

    def _weighed(
        self, ranks: Ranks, subgraphs: Sequence[Subgraph], wanted: Sequence[Valued], pairs: Mapping[tuple[str, str], float]
    ) -> list[Weighed]:
        """Return the lines that the mode allows, with their weights."""
        valued = {item.passage.id: item for item in wanted}
        edges = {edge.id: edge for graph in subgraphs for edge in graph.usable_edges}
        lines = list[Weighed]()
        for candidate in candidate_lines(subgraphs, self._settings.mode, self._settings.line_format):
            edge = edges.get(candidate.ref)
            if edge is not None:
                weight = pairs.get((edge.subject_id, edge.object_id), 0.0) * edge.confidence
                behind = [ranks[id_] for id_ in edge.evidence_ids if id_ in ranks]
                lines.append(Weighed(candidate, weight, behind[0] if behind else (), edge.confidence))
            elif candidate.ref in valued:
                item = valued[candidate.ref]
                line = replace(candidate, place=_place(item)) if item.unit.is_document else candidate
                lines.append(Weighed(line, item.value, ranks[candidate.ref]))
        return lines


def _pairs(findings: Findings, weights: Mapping[str, float]) -> dict[tuple[str, str], float]:
    """Return the pairs of entities of the best facts of relevant passages, with the score of the best fact of each."""
    pairs: dict[tuple[str, str], float] = {}
    for fact, score in findings.facts:
        if fact.evidence_id in weights and len(pairs) < EDGES:
            pairs.setdefault((fact.subject_id, fact.object_id), score)
    return pairs


def _sources(passages: Sequence[Valued], ranks: Ranks) -> tuple[SourceHit, ...]:
    hits = dict[str, SourceHit]()
    for item in passages:
        unit = item.unit
        facts = (unit.source_id, unit.title, unit.date, unit.is_document, round(item.value, 6), ranks[item.passage.id])
        hits.setdefault(unit.source_id, SourceHit(*facts))
    return tuple(hits.values())


def _place(item: Valued) -> SpanPlace:
    unit, passage = item.unit, item.passage
    return SpanPlace(unit.title, unit.date, unit.heading, unit.id, unit.start, unit.text, passage.start, passage.end)
