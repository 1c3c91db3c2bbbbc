"""Find the sentence of the context lines that answers an open question best.

Words are compared without their endings. A word of the question counts the more, the fewer sentences have it. Pure functions.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from drag_graph.graph.edge_text import plain_words
from drag_graph.graph.inflection import noun, verb
from drag_graph.graph.name_forms import spelling
from drag_graph.graph.number_conflicts import conflicting
from drag_graph.graph.search_terms import folded, search_terms
from drag_graph.graph.specifics import NO_NAMES, Specifics
from drag_graph.graph.word_lists import word_list
from drag_graph.model import Line

Similarities = Callable[[Sequence[str]], NDArray[np.float64]]
"""Returns the cosine of the question and each text."""

COMPARED = 8
"""Number of sentences whose vectors are compared with the question: to embed all would take longer than the search."""
AROUND = 2, 1
"""Number of sentences before and after a sentence in the same line that belong to its passage."""
OWN_WORDS, PASSAGE_WORDS = 0.3, 0.5
"""Weights of the question's words in a sentence and in its passage; the cosine has 1."""
ASKS, RESTATES = 0.3, 0.1
"""What a sentence loses that is a question, and an edge, which restates a sentence."""
TIE = 0.05
"""If the scores of two contradicting sentences differ by less, the first sentence is quoted."""
_STEM = 8
"""Letters of a word that are compared."""
_SENTENCE = re.compile(
    r"(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\b(?:Mr|Ms|Dr|St|No|vs|Nr)\.)(?<!\b(?:Mrs|e\.g|i\.e|z\.B)\.)\s+|(?<=[。！？])"  # noqa: RUF001 - Chinese marks
)
_ROW = " | "
_CLOSED = re.compile(r"[.!?…:;。！？：；][\"'”’»)\]]*$")  # noqa: RUF001
_ASKING = re.compile(r"[?？][\"'”’»)\]]*$")  # noqa: RUF001
_FOCUS = re.compile(
    r"\b(?:what|which|how many|whose|welche\w?|wie viele)\b(?: (?:is|are|was|were) the)?((?: [\w'-]+){1,6})", re.IGNORECASE
)
_FOCUS_ENDS = re.compile(
    r"\b(?:did|does|do|is|are|was|were|will|would|can|could|should|has|have|had|that|who|and|with|in|at|on|for|to|after|before|by)"
    r"\b.*"
)
_QUESTION_WORDS = """
what which who whom whose when where why how much many often long type kind specific did do does is was were should could
"""
_EMPTY = NO_NAMES | word_list("articles") | frozenset(_QUESTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class LineSentence:
    """A sentence of a line with its words, and those of its heading and of the sentences next to it (`passage`)."""

    text: str
    words: frozenset[str]
    passage: frozenset[str]
    loss: float
    is_quotable: bool
    source: str


@dataclass(frozen=True, slots=True)
class Quotation:
    """The best sentence, and its `lead` over the best one that says something else.

    Of the question: its `cosine` with the sentence, the fraction of its words in the `passage`, and of those `absent` from all
    lines, and the fraction of the words after "what" or "which" in the passage (`focus`).
    """

    text: str
    lead: float
    cosine: float
    passage: float
    absent: float
    focus: float

    @property
    def features(self) -> NDArray[np.float64]:
        return np.array([1.0, self.cosine, self.passage, self.absent, self.focus])


def best_quotation(question: str, lines: Sequence[Line], similarities: Similarities) -> Quotation | None:
    """Return the sentence that answers a question best, or None if no sentence may be quoted."""
    every = sentences(question, lines)
    asked = words_of(question)
    weights = {word: math.log1p(len(every) / max(sum(word in one.words for one in every), 0.5)) for word in sorted(asked)}
    total = sum(weights.values()) or 1.0

    def share(words: frozenset[str]) -> float:
        return sum(weight for word, weight in weights.items() if word in words) / total

    fits = [
        (OWN_WORDS * share(one.words) + PASSAGE_WORDS * share(one.passage) - one.loss, one) for one in every if one.is_quotable
    ]
    compared = sorted(fits, key=lambda pair: -pair[0])[:COMPARED]
    if not compared:
        return None
    cosines = similarities([one.text for _, one in compared])
    scores = [float(cosine) + fit for cosine, (fit, _) in zip(cosines, compared, strict=True)]
    top = int(np.argmax(scores))
    near = [n for n, score in enumerate(scores) if score >= scores[top] - TIE]
    tied = [n for n in near if n == top or _contradict(compared[n][1], compared[top][1])]
    best = min(tied, key=lambda n: every.index(compared[n][1]))  # lines of newer documents come first
    chosen = compared[best][1]
    others = [score for score, (_, one) in zip(scores, compared, strict=True) if _says_else(one, chosen, asked)]
    focus = words_of(_focus(question))
    return Quotation(
        chosen.text,
        lead=scores[top] - max(others, default=-math.inf),
        cosine=float(cosines[best]),
        passage=share(chosen.passage),
        absent=1 - share(frozenset[str]().union(*(one.words for one in every))),
        focus=len(focus & chosen.passage) / len(focus) if focus else 1.0,
    )


def sentences(question: str, lines: Sequence[Line]) -> list[LineSentence]:
    """Return the sentences of all lines. A row of a table is one sentence; so is each line that is no span.

    Not to be quoted: headings and questions that add no word to the question asked, and sentences about another identifier.
    """
    asked, specifics, headings = words_of(question), Specifics(question), dict[str, str]()
    result = list[LineSentence]()
    for line in lines:
        heading = headings[line.source_id] = line.opening or headings.get(line.source_id, "")
        texts = texts_of(line)
        words, of_heading = [words_of(text) for text in texts], words_of(heading)
        for place, text in enumerate(texts):
            passage = of_heading.union(*words[max(0, place - AROUND[0]) : place + 1 + AROUND[1]])
            is_asking = _ASKING.search(text) is not None
            may_be_empty = is_asking or (line.kind == "span" and not _CLOSED.search(text))
            is_empty = may_be_empty and words[place] <= asked | of_heading
            before = texts[place - 1] if place else ""
            is_other = any(specifics.is_about_other(f"{heading} {near} {text}") for near in ("", before))
            loss = ASKS * is_asking + RESTATES * (line.kind == "edge")
            result.append(LineSentence(text, words[place], passage, loss, not (is_empty or is_other), line.source_id))
    return result


def texts_of(line: Line) -> list[str]:
    """Return the sentences of a span without what it opens with, or the words of another line."""
    if line.kind != "span":
        return [plain_words(line.text)]
    text = line.text.removeprefix(line.opening)
    parts = [text] if _ROW in text else _SENTENCE.split(text)
    return [part for part in parts if any(map(str.isalnum, part))] or [text]


def words_of(text: str) -> frozenset[str]:
    """Return the stems of the words with content."""
    return frozenset(_stem(term) for term in search_terms(text) if term not in _EMPTY)


@lru_cache(20_000)
def _stem(term: str) -> str:
    return verb(noun(spelling(term)))[:_STEM]


def _focus(question: str) -> str:
    """Return what a question asks for: "color of paint" of "What color of paint does she like?"."""
    match = _FOCUS.search(folded(question))
    return _FOCUS_ENDS.sub("", match[1]) if match else ""


def _contradict(one: LineSentence, other: LineSentence) -> bool:
    """Return whether sentences of two sources differ only in a number, a date or an amount."""
    return one.source != other.source and bool(conflicting(one.text, other.text))


def _says_else(one: LineSentence, other: LineSentence, asked: frozenset[str]) -> bool:
    """Whether half of what a sentence adds to the question, or more, is not in another one."""
    added = one.words - asked
    return 0 < len(added) <= 2 * len(added - other.words)
