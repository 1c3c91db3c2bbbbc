"""The field's measures beside accuracy: F1 of an open answer's words, and macro-F1 of verdicts (pure).

An answer's words are compared as SQuAD's evaluation does (`ask/answer.py`, `plain_answer`); exact match is an answer's
`correct`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from drag_graph.ask.answers import plain_answer


def token_f1(text: str, golds: Iterable[str]) -> float:
    """Return the F1 of an answer's words for the right text that fits best, in [0, 1]."""
    return max((words_f1(plain_answer(text), plain_answer(gold)) for gold in golds), default=0.0)


def words_f1(one: str, other: str) -> float:
    """Return the harmonic mean of precision and recall of the words of two texts, compared as they are, in [0, 1]."""
    said, gold = Counter(one.split()), Counter(other.split())
    shared = (said & gold).total()
    return 2 * shared / (said.total() + gold.total()) if shared else float(said == gold)


def macro_f1(golds: Sequence[str], answers: Sequence[str]) -> float:
    """Return the mean of the F1 of each class that is right or chosen somewhere, in [0, 1]; an answer "" is of no class."""
    classes = sorted({*golds, *answers} - {""})
    scores = []
    for one in classes:
        right = sum(gold == answer == one for gold, answer in zip(golds, answers, strict=True))
        scores.append(2 * right / (golds.count(one) + answers.count(one)))
    return sum(scores) / len(scores) if scores else 0.0
