"""Choose what answers a question (docs/design.md, section 5, "Asking something never distilled"; docs/adr/0017).

Pure functions: the keys of a search (`question_keys`), the relevant hits (`seeds_of`), and the weights of the lines that they
lead to (`weighed_lines`, `relevant_lines`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from drag_graph.ask.context_lines import Candidate, LineFormat, candidate_lines, content_words
from drag_graph.ask.line_weights import ListName, Way, Weighed, best_ways, fuse
from drag_graph.graph.name_forms import fold, tokens
from drag_graph.graph.names import concept_key
from drag_graph.identity import canonical_text
from drag_graph.model import Mode
from drag_graph.ports.graph_search import Candidates, Expansion, Hit, Seed

NEIGHBOURS = 5
"""Maximum number of stored queries among the seeds."""
NEAREST = 100
"""Hits requested per list. Evidence is then ranked again by its words, which a vector may have missed."""
PASSAGES = 10
"""Maximum number of evidence seeds."""
NAMED = 8
"""Maximum number of concept seeds: longest names first, then the rarest."""
HOPS = 2
LONGEST_NAME = 5
"""Maximum number of words in a concept's name."""
MOST_KEYS = 600
"""Maximum number of names looked up per question: enough for 60 words. Of a longer question, the beginning counts."""

_NO_NAMES = frozenset(
    """a all also an and any are as at be been between but by can could did do does during each for from get give had has
    have her here his how i if in into is it its just know like made main make many may me might more most much must
    my name no not of on one only or other our out over own same shall she should so some such take tell than that the
    their them then there these they this those through to too two under up us use used using very was we were what
    when where which while who whom whose why will with without would you your""".split()  # noqa: SIM905 - a word list reads better as words
)
"""Words that are not names, and with which no name begins or ends."""


@dataclass(frozen=True, slots=True)
class SearchThresholds:
    """Minimum similarities for something to be relevant. They depend on the embedder.

    `query`, `name` and `summary` are the minimum cosine of a stored query, of a concept's name and of a community's summary
    (docs/adr/0043); `line` is the minimum `closeness` of a line (docs/adr/0042). `answer` is the minimum cosine of a line with
    the question plus one option: a line below it for every option cannot decide between them.
    """

    query: float
    line: float
    name: float
    summary: float
    answer: float


LEXICAL = SearchThresholds(query=0.4, line=0.5, name=0.45, summary=0.25, answer=0.0)
OTHERS = SearchThresholds(query=0.5, line=0.6, name=0.5, summary=0.35, answer=0.6)
"""Measured by `bench/relevance.py`, `bench/broad.py` and `bench/found_lines.py`; see docs/asking.md."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """The starting points of an expansion, and the ranks of each seed by id, as (list, rank) pairs."""

    seeds: tuple[Seed, ...]
    ranks: Mapping[str, tuple[tuple[ListName, int], ...]]

    @property
    def only_queries(self) -> bool:
        """Whether all seeds are stored queries, as in a store without concepts."""
        return all(seed.kind == "query" for seed in self.seeds)


def thresholds(embedder: str, override: float | None = None) -> SearchThresholds:
    """Return the thresholds for an embedder's name, or `override` for all of them."""
    if override is not None:
        return SearchThresholds(override, override, override, override, override)
    return LEXICAL if embedder.startswith("lexical") else OTHERS


def question_keys(text: str) -> list[str]:
    """Return the normalised concept names that a question may contain, longest first, up to `LONGEST_NAME` words.

    Each is returned as written and in lower case, because a capitalised word keeps its ending in a name.
    """
    words = tokens(text)[:MOST_KEYS]
    names: list[str] = []
    for length in range(min(LONGEST_NAME, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            gram = words[start : start + length]
            if fold(gram[0]) in _NO_NAMES or fold(gram[-1]) in _NO_NAMES:
                continue
            written = " ".join(gram)
            names += [concept_key(written), concept_key(written.lower())]
    keys = list(dict.fromkeys(name for name in names if name))
    return keys if len(keys) <= MOST_KEYS else question_keys(" ".join(words[: len(words) * 3 // 4]))


def same_question(hits: Iterable[Hit], question: str) -> list[str]:
    """Return the ids of the queries with the same words as the question, whatever their options."""
    wanted = canonical_text(question)
    return [hit.id for hit in hits if canonical_text(hit.text) == wanted]


def closeness(question: str, texts: Sequence[str], cosines: Iterable[float]) -> list[float]:
    """Return each text's cosine with the question plus the weighted fraction of the question's words that it contains.

    The rarer a word is in these texts, the more it counts, as in BM25.
    """
    wanted, words = content_words(question), [content_words(text) for text in texts]
    having = {word: sum(word in one for one in words) for word in wanted}
    weights = {word: math.log(1 + (len(texts) - number + 0.5) / (number + 0.5)) for word, number in having.items()}
    whole = sum(weights.values()) or 1.0
    shares = (sum(weights[word] for word in sorted(wanted & one)) / whole for one in words)
    return [round(cosine + share, 6) for cosine, share in zip(cosines, shares, strict=True)]


def closest_evidence(question: str, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return evidence with its closeness to the question as its score, the closest first, ties by text."""
    scores = closeness(question, [hit.text for hit in hits], (hit.score for hit in hits))
    scored = (replace(hit, score=score) for hit, score in zip(hits, scores, strict=True))
    return tuple(sorted(scored, key=lambda hit: (-hit.score, hit.text, hit.id)))


def seeds_of(found: Candidates, query_threshold: float, line_threshold: float, name_threshold: float) -> Seeds:
    """Return the relevant hits and the concepts that the question names, as seeds.

    A concept proves nothing by itself, so the lines that it leads to are judged separately (`relevant_lines`). Longer names
    come first, then rarer ones.
    """
    queries = [hit for hit in found.queries if hit.score >= query_threshold][:NEIGHBOURS]
    evidence = [hit for hit in found.evidence if hit.score >= line_threshold][:PASSAGES]
    telling = sorted(found.named, key=lambda hit: (-len(tokens(hit.text)), hit.entities, hit.id))
    named = list(dict.fromkeys(hit.cluster for hit in telling))[:NAMED]
    similar = list(dict.fromkeys(hit.cluster for hit in found.similar if hit.score >= name_threshold))[:NAMED]
    lists: dict[ListName, list[str]] = {
        "query": [hit.id for hit in queries],
        "evidence": [hit.id for hit in evidence],
        "concept": named,
        "similar concept": similar,
    }
    scores = fuse(lists.values())
    ranks: dict[str, tuple[tuple[ListName, int], ...]] = {}
    for name, ids in lists.items():
        for rank, id_ in enumerate(ids, start=1):
            ranks[id_] = (*ranks.get(id_, ()), (name, rank))
    seeds = [Seed("query", hit.id, scores[hit.id], hit.id) for hit in queries]
    seeds += [Seed("evidence", hit.id, scores[hit.id], hit.source_id) for hit in evidence]
    seeds += [Seed("concept", id_, scores[id_]) for id_ in dict.fromkeys([*named, *similar])]
    return Seeds(tuple(seeds), ranks)


def weighed_lines(found: Expansion, seeds: Seeds, mode: Mode, line_format: LineFormat) -> list[Weighed]:
    """Return the lines that an expansion reached and `mode` allows, with their weights."""
    ways: dict[str, list[Way]] = {}
    for item in found.reached:
        ways.setdefault(item.ref, []).extend(Way(name, rank, item.hop) for name, rank in seeds.ranks.get(item.seed, ()))
    confidences = {edge.id: edge.confidence for graph in found.subgraphs for edge in graph.usable_edges}
    return [
        Weighed(candidate, best_ways(ways[candidate.ref]), confidences.get(candidate.ref))
        for candidate in candidate_lines(found.subgraphs, mode, line_format)
        if ways.get(candidate.ref)
    ]


def relevant_lines(
    lines: Iterable[Weighed],
    scores: Mapping[str, float],
    threshold: float,
    *,
    answers: Mapping[str, float] | None = None,
    answer_threshold: float = 0.0,
) -> tuple[list[Weighed], list[Candidate]]:
    """Return the relevant lines and the others.

    A line is relevant if its query or evidence is a seed, or if its own closeness in `scores` reaches the threshold. If the
    question has options, its largest cosine with an option in `answers` must reach `answer_threshold` as well.
    """
    relevant, others = list[Weighed](), list[Candidate]()
    for line in lines:
        ref = line.candidate.ref
        by_seed = any(way.hop == 0 and way.list in ("query", "evidence") for way in line.ways)
        bears = answers is None or answers.get(ref, -1.0) >= answer_threshold
        if bears and (by_seed or scores.get(ref, -1.0) >= threshold):
            relevant.append(line)
        else:
            others.append(line.candidate)
    return relevant, others


def by_score(candidates: Iterable[Candidate], scores: Mapping[str, float]) -> Sequence[str]:
    """Return the refs of lines, the highest score first, ties by text."""
    ordered = sorted(candidates, key=lambda item: (-scores[item.ref], item.text, item.ref))
    return [item.ref for item in ordered]
