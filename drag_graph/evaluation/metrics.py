"""The field's measures beside accuracy: F1 of an open answer's words, and macro-F1 of verdicts (pure).

An answer's words are compared as SQuAD's evaluation does (`ask/answer.py`, `plain_answer`); exact match is an answer's
`correct`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from drag_graph.ask.answer import plain_answer


def token_f1(text: str, golds: Iterable[str]) -> float:
    """Return the harmonic mean of precision and recall of an answer's words, in [0, 1], for the right text that fits best."""
    said = Counter(plain_answer(text).split())
    return max((_overlap(said, Counter(plain_answer(gold).split())) for gold in golds), default=0.0)


def _overlap(said: Counter[str], gold: Counter[str]) -> float:
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
