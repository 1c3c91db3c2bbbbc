"""Predicted triples against gold triples: precision, recall and F1, micro and macro; coverage.

Three ways to call a predicted triple right, from hard to lenient:

- `strict`: subject, predicate and object are the same after `normalise`.
- `pair`: subject and object are the same; the predicate is not looked at.
- `soft`: the words of the subjects, and those of the objects, overlap with F1 >= SOFT_THRESHOLD.

`pair` and `soft` also come undirected, where subject and object may have changed places.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from drag_graph.evaluation.metrics import words_f1

Triple = tuple[str, str, str]
Matching = Literal["strict", "pair", "pair_undirected", "soft", "soft_undirected"]
MATCHINGS: tuple[Matching, ...] = ("strict", "pair", "pair_undirected", "soft", "soft_undirected")
SOFT_THRESHOLD = 0.5

_ARTICLES = ("a ", "an ", "the ")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
# Words that carry no content of their own; coverage does not ask for them.
_EMPTY = frozenset(
    """
    a an the this that these those and or but nor so then if is are was were be been being am do does did has have had
    of in on at by for to from with as it its they them their he she his her we us our you your i my which who whom
    whose there also than into such
    """.split()  # noqa: SIM905 - a word list reads better as words
)


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1, each in [0, 1]."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Report:
    """One matching over all rows.

    Attributes:
        micro: all triples in one pot.
        macro: the mean over the rows; a row without predictions has precision and recall 0.
        matched: how many predictions found a gold triple of their own.
        predicted: how many different triples were predicted.
        gold: how many different gold triples there are.
    """

    micro: Score
    macro: Score
    matched: int
    predicted: int
    gold: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """What reading sentences keeps of them.

    Attributes:
        sentences: how many were read.
        read: share that gave at least one triple, in [0, 1].
        triples: mean number of triples a sentence.
        kept: mean share of a sentence's content words that its triples have, in [0, 1]; a
            sentence without a triple counts as 0.
        kept_where_read: the same over the sentences that gave a triple.
        length: mean ratio of the words of the joined triples to those of the sentence, over the
            sentences that gave a triple.
    """

    sentences: int
    read: float
    triples: float
    kept: float
    kept_where_read: float
    length: float


def normalise(text: str) -> str:
    """Lower case, no accents, marks or underscores, humps apart, leading article off.

    "Birth_Place", "birthPlace" and "the birth place" are the same afterwards.
    """
    apart = _HUMP.sub(" ", text.replace("\\_", "_").replace("_", " "))
    folded = unicodedata.normalize("NFKD", apart).casefold()
    plain = "".join(letter for letter in folded if not unicodedata.combining(letter))
    words = " ".join(_WORD.findall(plain))
    for article in _ARTICLES:
        if words.startswith(article):
            return words[len(article) :]
    return words


def _soft(one: Triple, other: Triple) -> float:
    subject, thing = words_f1(one[0], other[0]), words_f1(one[2], other[2])
    return subject + thing if min(subject, thing) >= SOFT_THRESHOLD else 0.0


def _turned(triple: Triple) -> Triple:
    return triple[2], triple[1], triple[0]


_LIKENESS: dict[Matching, Callable[[Triple, Triple], float]] = {
    "strict": lambda one, other: float(one == other),
    "pair": lambda one, other: float((one[0], one[2]) == (other[0], other[2])),
    "pair_undirected": lambda one, other: float({one[0], one[2]} == {other[0], other[2]}),
    "soft": _soft,
    "soft_undirected": lambda one, other: max(_soft(one, other), _soft(_turned(one), other)),
}


def clean(triples: Iterable[Triple]) -> list[Triple]:
    """Return the different triples in normal form; those with an empty end are left out."""
    normal = (tuple(normalise(part) for part in triple) for triple in triples)
    kept = dict.fromkeys((t[0], t[1], t[2]) for t in normal)
    return [triple for triple in kept if triple[0] and triple[2]]


def matches(predicted: Sequence[Triple], gold: Sequence[Triple], matching: Matching) -> list[tuple[int, int]]:
    """Pairs of places (predicted, gold) that match, best first, each place used at most once.

    Args:
        predicted: triples in normal form (`clean`).
        gold: triples in normal form.
        matching: which likeness to use.
    """
    likeness = _LIKENESS[matching]
    rated = [
        (-value, i, j) for i, one in enumerate(predicted) for j, other in enumerate(gold) if (value := likeness(one, other)) > 0
    ]
    used_left: set[int] = set()
    used_right: set[int] = set()
    found = []
    for _, i, j in sorted(rated):
        if i not in used_left and j not in used_right:
            used_left.add(i)
            used_right.add(j)
            found.append((i, j))
    return found


def _score(matched: int, predicted: int, gold: int) -> Score:
    if not predicted and not gold:
        return Score(1.0, 1.0, 1.0)
    precision = matched / predicted if predicted else 0.0
    recall = matched / gold if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if matched else 0.0
    return Score(precision, recall, f1)


def score(rows: Iterable[tuple[Iterable[Triple], Iterable[Triple]]], matching: Matching) -> Report:
    """Score rows of (predicted, gold) triples.

    Args:
        rows: one entry a text, triples as they were written.
        matching: how a predicted triple is called right.

    Raises:
        ValueError: there are no rows.
    """
    each: list[Score] = []
    totals = Counter[str]()
    for predicted_raw, gold_raw in rows:
        predicted, gold = clean(predicted_raw), clean(gold_raw)
        matched = len(matches(predicted, gold, matching))
        totals.update(matched=matched, predicted=len(predicted), gold=len(gold))
        each.append(_score(matched, len(predicted), len(gold)))
    if not each:
        raise ValueError("There is nothing to score: no rows were given.")
    macro = Score(
        sum(one.precision for one in each) / len(each),
        sum(one.recall for one in each) / len(each),
        sum(one.f1 for one in each) / len(each),
    )
    counts = totals["matched"], totals["predicted"], totals["gold"]
    return Report(_score(*counts), macro, *counts)


def content_words(text: str) -> set[str]:
    """Return the different words of a text, function words apart, in lower case."""
    return set(normalise(text).split()) - _EMPTY


def coverage(readings: Iterable[tuple[str, Sequence[Triple]]]) -> Coverage:
    """Return what the triples of each sentence keep of it.

    Args:
        readings: (sentence, its triples); sentences without a content word are passed over.

    Raises:
        ValueError: there is no sentence with a content word.
    """
    kept: list[float] = []
    kept_where_read: list[float] = []
    lengths: list[float] = []
    count = 0
    for sentence, triples in readings:
        wanted = content_words(sentence)
        if not wanted:
            continue
        count += len(triples)
        joined = " ".join(" ".join(triple) for triple in triples)
        share = len(wanted & content_words(joined)) / len(wanted)
        kept.append(share)
        if triples:
            kept_where_read.append(share)
            lengths.append(len(_WORD.findall(joined)) / len(_WORD.findall(sentence)))
    if not kept:
        raise ValueError("There is nothing to measure: no sentence has a content word.")
    return Coverage(
        sentences=len(kept),
        read=len(lengths) / len(kept),
        triples=count / len(kept),
        kept=sum(kept) / len(kept),
        kept_where_read=sum(kept_where_read) / len(lengths) if lengths else 0.0,
        length=sum(lengths) / len(lengths) if lengths else 0.0,
    )
