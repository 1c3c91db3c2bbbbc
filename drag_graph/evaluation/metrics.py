"""F1 of the words of an open answer, and macro-F1 of verdicts.

Words are normalised as in SQuAD's evaluation (`drag_graph.ask.answers.plain_answer`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from drag_graph.ask.answers import plain_answer


def token_f1(text: str, golds: Iterable[str]) -> float:
    """Return the F1 of an answer's words against the best matching gold answer, in [0, 1]."""
    return max((words_f1(plain_answer(text), plain_answer(gold)) for gold in golds), default=0.0)


def words_f1(one: str, other: str) -> float:
    """Return the F1 of the words of two texts, without normalisation, in [0, 1]."""
    words, gold = Counter(one.split()), Counter(other.split())
    shared = (words & gold).total()
    return 2 * shared / (words.total() + gold.total()) if shared else float(words == gold)


def macro_f1(golds: Sequence[str], answers: Sequence[str]) -> float:
    """Return the mean F1 of all classes that are gold or chosen somewhere, in [0, 1]; "" is no class."""
    classes = sorted({*golds, *answers} - {""})
    scores = []
    for one in classes:
        right = sum(gold == answer == one for gold, answer in zip(golds, answers, strict=True))
        scores.append(2 * right / (golds.count(one) + answers.count(one)))
    return sum(scores) / len(scores) if scores else 0.0
