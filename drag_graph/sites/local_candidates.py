"""Answering at the edge: several answers of the student to one question, the best of them, and whether it is sure.

No I/O of its own: the asking and the embedder come in.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from drag_graph.ask.ask_result import AskResult
from drag_graph.ask.asker import Asker
from drag_graph.errors import ReplyError, Withheld
from drag_graph.model import Query
from drag_graph.ports.model_roles import Embedder
from drag_graph.sites.agreement import LACKING, LocalAnswer, Verdict, judge
from drag_graph.sites.calibration import Judged


def verdict_on(answers: Sequence[AskResult], embedder: Embedder, threshold: float) -> Verdict:
    """Return whether these answers of `Asker.several` are sure; one that rests on nothing stored lacks information."""
    said = [
        LocalAnswer("" if one.is_unaided or not one.is_answered else one.answer.text, one.answer.label, one.probabilities)
        for one in answers
    ]
    if all(one.label or one.probabilities for one in said):  # their words are not compared
        return judge(said, np.zeros((len(said), 1), np.float32), threshold)
    return judge(said, embedder.embed([one.text or "-" for one in said]), threshold)


def judged(
    asker: Asker, queries: Iterable[Query], embedder: Embedder, number: int, on_answer: Callable[[float], None]
) -> list[Judged]:
    """Ask each question `number` times, and compare the best answer with the right one; nothing is kept.

    A question that the student fails on, or that may not be asked, is one that the cloud would be asked.
    """
    found = []
    for query in queries:
        try:
            answers = asker.several(query, number)
            verdict = verdict_on(answers, embedder, 0.0)
            correct = bool(answers[verdict.best].answer.correct)
            found.append(Judged(verdict.agreement, verdict.lacking >= LACKING, correct))
        except (ReplyError, Withheld):
            found.append(Judged(0.0, lacks=True, is_correct=False))
        on_answer(0.0)
    return found
