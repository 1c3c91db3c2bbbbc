"""What a question is searched by, and when something stored is relevant to it (docs/explanation/search.md).

Pure functions.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from drag_graph.ask.context_lines import content_words
from drag_graph.graph.search_terms import search_terms
from drag_graph.identity import canonical_text
from drag_graph.ports.graph_search import Hit

NEIGHBOURS = 5
"""Maximum number of similar stored queries whose lines are considered."""
NEAREST = 200
"""Hits requested per list."""
MOST_TERMS = 200
"""Maximum number of terms searched per question."""

_FUNCTION_WORDS = frozenset(
    """a all also an and any are as at be been between but by can could did do does during each for from get give had has
    have her here his how i if in into is it its just know like made main make many may me might more most much must
    my name no not of on one only or other our out over own same shall she should so some such take tell than that the
    their them then there these they this those through to too two under up us use used using very was we were what
    when where which while who whom whose why will with without would you your""".split()  # noqa: SIM905 - a word list reads better as words
)
"""Words by which nothing is searched."""


@dataclass(frozen=True, slots=True)
class SearchThresholds:
    """Minimum similarities for something to be relevant. They depend on the embedder.

    `query` and `summary` are the minimum cosine of a stored query and of a community's summary; `line` is the
    minimum `closeness` of a line. `answer` is the minimum cosine of a line with the question plus one option: a
    line below it for every option cannot decide between them.
    """

    query: float
    line: float
    summary: float
    answer: float


LEXICAL = SearchThresholds(query=0.4, line=0.5, summary=0.25, answer=0.0)
OTHERS = SearchThresholds(query=0.5, line=0.6, summary=0.35, answer=0.6)
"""Measured by `bench/relevance.py`, `bench/broad.py` and `bench/found_lines.py`; see docs/explanation/search.md."""


def thresholds(embedder: str, override: float | None = None) -> SearchThresholds:
    """Return the thresholds for an embedder's name, or `override` for all of them."""
    if override is not None:
        return SearchThresholds(override, override, override, override)
    return LEXICAL if embedder.startswith("lexical") else OTHERS


def question_terms(text: str) -> list[str]:
    """Return the terms that a question is searched by, without function words unless it has no others."""
    terms = list(dict.fromkeys(search_terms(text)))
    return ([term for term in terms if term not in _FUNCTION_WORDS] or terms)[:MOST_TERMS]


def same_question(hits: Iterable[Hit], question: str) -> list[str]:
    """Return the ids of the queries with the same words as the question, whatever their options."""
    wanted = canonical_text(question)
    return [hit.id for hit in hits if canonical_text(hit.text) == wanted]


def closeness(question: str, texts: Sequence[str], cosines: Iterable[float]) -> list[float]:
    """Return each text's cosine with the question plus its `word_shares`."""
    return [round(cosine + share, 6) for cosine, share in zip(cosines, word_shares(question, texts), strict=True)]


def word_shares(question: str, texts: Sequence[str]) -> list[float]:
    """Return the weighted fraction of the question's words that each text contains.

    The rarer a word is in these texts, the more it counts, as in BM25.
    """
    wanted, words = content_words(question), [content_words(text) for text in texts]
    having = {word: sum(word in one for one in words) for word in wanted}
    weights = {word: math.log(1 + (len(texts) - number + 0.5) / (number + 0.5)) for word, number in having.items()}
    whole = sum(weights.values()) or 1.0
    return [sum(weights[word] for word in sorted(wanted & one)) / whole for one in words]
