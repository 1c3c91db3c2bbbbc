"""Turn subgraphs into context lines (docs/explanation/pipeline.md; paper, section "Simplified graph to text").

Two pure steps: `candidate_lines` collects what the mode allows, and `select_lines` orders the lines, removes repetitions and
applies the token budget. Every line keeps the id of its evidence or edge (promise 4), and every dropped line has a reason. A
search weighs its lines, and `without_repetitions` finds those that repeat others.

Line ends inside a text become spaces, so that a text can neither begin a section of the prompt nor pass for another line.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from drag_graph.graph.aggregate import joined_statement
from drag_graph.graph.edge_text import DISPUTED, adjacency, arrow, one_line
from drag_graph.graph.inflection import noun, verb
from drag_graph.graph.name_forms import entity_key, predicate_key
from drag_graph.graph.search_terms import words
from drag_graph.identity import canonical_text
from drag_graph.model import Line, LineKind, Mode, SimpleEdge, Subgraph
from drag_graph.ports.plugins import find_plugin

DropReason = Literal["duplicate", "too long", "line limit", "token budget", "context window"]
CountTokens = Callable[[str], int]

_LINKING_WORDS = frozenset(
    """
    a an and are as at be been by for from has have in into is it its of on or than that the their this to was were which with
    """.split()  # noqa: SIM905 - a word list reads better as words
)


@dataclass(frozen=True, slots=True)
class SpanPlace:
    """Where a passage stands: its document's title and date, and its chunk, which begins at `chunk_start`."""

    title: str
    date: str
    heading: tuple[str, ...]
    chunk_id: str
    chunk_start: int
    chunk_text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible context line. `plain` is its text without decoration; `score` orders it, `rank` breaks ties (0 is best).

    A passage that a search found in a document has a `place`.
    """

    kind: LineKind
    ref: str
    source_id: str
    text: str
    plain: str
    rank: int
    score: float | None = None
    place: SpanPlace | None = None

    def dropped(self, reason: DropReason) -> "DroppedLine":
        """Return this candidate as a dropped line."""
        return DroppedLine(self.kind, self.ref, self.text, reason)


@dataclass(frozen=True, slots=True)
class DroppedLine:
    """A line that is not shown, with the reason."""

    kind: LineKind
    ref: str
    text: str
    reason: DropReason


@dataclass(frozen=True, slots=True)
class Selection:
    """The context lines, numbered from 1 with evidence before edges, and the dropped lines."""

    lines: tuple[Line, ...]
    dropped: tuple[DroppedLine, ...]


def candidate_lines(subgraphs: Sequence[Subgraph], mode: Mode, line_format: str = "arrow") -> list[Candidate]:
    """Return the lines of subgraphs that `mode` allows: evidence before edges, each by stored rank.

    A subgraph without triples contributes its evidence even in mode `graph`. Equal ranks keep the order of the subgraphs.
    """
    evidence: list[Candidate] = []
    edges: list[Candidate] = []
    for graph in subgraphs:
        if mode in {"evidence", "combined"} or (mode == "graph" and graph.graph == "evidence_only"):
            texts = map(one_line, (item.text for item in graph.kept_evidence))
            evidence += [
                Candidate("evidence", item.id, item.source_id, text, text, rank)
                for rank, (item, text) in enumerate(zip(graph.kept_evidence, texts, strict=True))
            ]
        if mode in {"graph", "combined"}:
            edges += [_of_edge(edge, rank, line_format) for rank, edge in enumerate(graph.usable_edges)]
    return sorted(evidence, key=lambda item: item.rank) + sorted(edges, key=lambda item: item.rank)


def select_lines(
    candidates: Sequence[Candidate], *, count_tokens: CountTokens, token_budget: int, max_lines: int | None = None
) -> Selection:
    """Choose, order and number the lines so that `block(lines)` has at most `token_budget` tokens.

    Within each section, lines are ordered by score, then rank, then text; those without a score come last. Each section keeps
    its first `max_lines`, and of lines with the same words only the best. Over budget, the last evidence is dropped first, and
    edges only when no evidence is left. A line that alone exceeds the budget is never shown.
    """
    chosen: list[Candidate] = []
    dropped: list[DroppedLine] = []
    texts: set[tuple[LineKind, str]] = set()
    numbers: Counter[LineKind] = Counter()
    for item in sorted(candidates, key=order_of):
        text = (item.kind, canonical_text(item.text).rstrip(".!"))
        if text in texts:
            dropped.append(item.dropped("duplicate"))
        elif count_tokens(f"1. {item.text}") > token_budget:
            dropped.append(item.dropped("too long"))
        elif max_lines and numbers[item.kind] == max_lines:
            dropped.append(item.dropped("line limit"))
        else:
            chosen.append(item)
            numbers[item.kind] += 1
        texts.add(text)
    lines = numbered(sorted(chosen, key=lambda item: item.kind == "edge"))
    lines, over = fitted(lines, lambda left: count_tokens(block(left)), token_budget, "token budget")
    return Selection(lines, (*dropped, *over))


def fitted(
    lines: Sequence[Line], count_tokens: Callable[[Sequence[Line]], int], room: int, reason: DropReason
) -> tuple[tuple[Line, ...], list[DroppedLine]]:
    """Return the lines that fit into `room` tokens, numbered from 1, and the others.

    The last evidence is dropped first; edges are dropped only when no evidence is left.
    """
    fitting, dropped = list(lines), []
    while fitting and count_tokens(fitting) > room:
        victim = next((line for line in reversed(fitting) if line.kind != "edge"), fitting[-1])
        dropped.append(DroppedLine(victim.kind, victim.ref, victim.text, reason))
        fitting.remove(victim)
        fitting = [line.model_copy(update={"n": n}) for n, line in enumerate(fitting, start=1)]
    return tuple(fitting), dropped


def selections(candidates: Sequence[Candidate], number: int) -> list[tuple[Candidate, ...]]:
    """Return all candidates and `number - 1` subsets, each without a different part. Without candidates, one empty tuple."""
    parts = number - 1 if candidates else 0
    subsets = (tuple(one for place, one in enumerate(candidates) if place % parts != part) for part in range(parts))
    return [tuple(candidates), *subsets]


def numbered(candidates: Iterable[Candidate]) -> tuple[Line, ...]:
    """Return candidates as lines 1 to n; a missing score becomes 0."""
    return tuple(
        Line(n=n, kind=item.kind, text=item.text, ref=item.ref, source_id=item.source_id, score=item.score or 0.0)
        for n, item in enumerate(candidates, start=1)
    )


def block(lines: Iterable[Line]) -> str:
    """Return lines as a section of the prompt: one numbered line per row."""
    return "\n".join(f"{line.n}. {line.text}" for line in lines)


def content_words(text: str) -> frozenset[str]:
    """Return the content words of a text without endings; linking words (of, the, is ...) are left out."""
    return frozenset(verb(noun(word)) for word in words(text) if word not in _LINKING_WORDS)


def _of_edge(edge: SimpleEdge, rank: int, line_format: str) -> Candidate:
    """Return an edge as a line: the teacher's statement if it adds words, else one clause per claim."""
    clauses = joined_statement(edge.subject, edge.predicates, edge.object)
    statement = one_line(edge.statement) if content_words(edge.statement) - content_words(clauses) else ""
    plain = statement or one_line(clauses)
    match line_format:
        case "arrow":
            text = arrow(edge.subject, " / ".join(edge.predicates), edge.object, statement)
        case "json":
            text = adjacency(edge.subject, edge.predicates, edge.object)
        case _:
            write = None if line_format == "sentence" else find_plugin("line_formats", line_format)
            text = one_line(write(edge)) if write else plain
    return Candidate("edge", edge.id, edge.source_id, text + (DISPUTED if edge.contradicts else ""), plain, rank)


def order_of(item: Candidate) -> tuple[bool, float, int, str, str]:
    """Return what lines are sorted by: score, rank, text. Those without a score come last."""
    return (item.score is None, -(item.score or 0.0), item.rank, item.text, item.ref)


ListName = Literal["query", "vector", "words", "graph", "community"]
"""What finds a line: a similar question, its vector, its words, the walk over the graph, or the summary of a community."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A line with its weight, and its rank (1 is best) in each list that found it.

    `confidence` is that of an edge (None for evidence), `support` the number of other lines with the same content.
    """

    candidate: Candidate
    weight: float
    ranks: tuple[tuple[ListName, int], ...] = ()
    confidence: float | None = None
    support: int = 0


def by_weight(lines: Iterable[Weighed]) -> list[Weighed]:
    """Return the lines by weight, ties by rank and text. Refs depend on paths, so they decide only between equal texts."""
    return sorted(lines, key=lambda line: (-line.weight, line.candidate.rank, line.candidate.text, line.candidate.ref))


def without_repetitions(lines: Iterable[Weighed], edges: Mapping[str, SimpleEdge]) -> tuple[list[Weighed], list[Candidate]]:
    """Return the distinct lines, heaviest first, and the repetitions.

    Two lines of one kind are the same if their words are; two edges also if their normalised ends and predicates are. The
    heaviest remains, and its support counts the others.
    """
    distinct: list[Weighed] = []
    places: dict[tuple[str, ...], int] = {}
    repeated: list[Candidate] = []
    for line in by_weight(lines):
        keys = _content_keys(line.candidate, edges.get(line.candidate.ref))
        place = next((places[key] for key in keys if key in places), None)
        if place is None:
            place = len(distinct)
            distinct.append(line)
        else:
            distinct[place] = replace(distinct[place], support=distinct[place].support + 1 + line.support)
            repeated.append(line.candidate)
        for key in keys:
            places.setdefault(key, place)
    return distinct, repeated


def _content_keys(candidate: Candidate, edge: SimpleEdge | None) -> list[tuple[str, ...]]:
    keys: list[tuple[str, ...]] = [(candidate.kind, canonical_text(candidate.plain).rstrip(".!"))]
    if edge is not None:
        predicates = sorted({predicate_key(predicate) for predicate in edge.predicates})
        keys.append(("triple", entity_key(edge.subject), *predicates, entity_key(edge.object)))
    return keys
