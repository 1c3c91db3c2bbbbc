"""Choose the agreement threshold for a target rate of cloud calls or of wrong local answers (`drag-graph edge calibrate`)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from drag_graph.ask.asker import Asker
from drag_graph.errors import ReplyError, Withheld
from drag_graph.evaluation.intervals import wilson
from drag_graph.model import Query
from drag_graph.ports.model_roles import Embedder, Student
from drag_graph.sites.agreement import LACKING
from drag_graph.sites.site_asker import verdict_on

STEP = 1e-6


@dataclass(frozen=True, slots=True)
class Judged:
    """A question: how far its candidate answers agree, whether half of them lack information, and if the best is correct."""

    agreement: float
    lacks: bool
    is_correct: bool


@dataclass(frozen=True, slots=True)
class Point:
    """The effect of a threshold: the fraction of questions that ask the cloud, and the error rate of local answers.

    `low` and `high` are the 95 % interval of `wrong_rate` (Wilson), `local` is the number of questions answered locally.
    """

    threshold: float
    cloud_rate: float
    wrong_rate: float
    low: float
    high: float
    local: int


def judge_questions(
    asker: Asker,
    queries: Iterable[Query],
    embedder: Embedder,
    candidates: int,
    on_answer: Callable[[], None],
    *,
    judging: Student | None = None,
) -> list[Judged]:
    """Ask each question `candidates` times and compare the best answer with the gold answer. Nothing is stored.

    The answers are judged as in `verdict_on`.
    A question counts as one for the cloud if the student fails on it or the privacy gate withholds it.
    """
    questions = []
    for query in queries:
        try:
            answers = asker.several(query, candidates)
            verdict = verdict_on(answers, embedder, 0.0, judging)
            is_correct = bool(answers[verdict.best].answer.correct)
            questions.append(Judged(verdict.agreement, verdict.lacking >= LACKING, is_correct))
        except (ReplyError, Withheld):
            questions.append(Judged(0.0, lacks=True, is_correct=False))
        on_answer()
    return questions


def curve(questions: Sequence[Judged]) -> list[Point]:
    """Return a point for each threshold that makes a difference, in ascending order. With the last one all ask the cloud.

    At least one question is required.
    """
    values = sorted({question.agreement for question in questions if not question.lacks})
    return [_point(questions, threshold) for threshold in [*values, (values[-1] if values else 0.0) + STEP]]


def for_cloud_rate(points: Sequence[Point], rate: float) -> Point:
    """Return the highest threshold with a cloud rate of at most `rate`, or the lowest if there is none."""
    return next((point for point in reversed(points) if point.cloud_rate <= rate), points[0])


def for_wrong_rate(points: Sequence[Point], rate: float) -> Point:
    """Return the lowest threshold with an error rate of at most `rate`. The last point always qualifies."""
    return next(point for point in points if point.wrong_rate <= rate)


def _point(questions: Sequence[Judged], threshold: float) -> Point:
    local = [question for question in questions if not question.lacks and question.agreement >= threshold]
    wrong = sum(not question.is_correct for question in local)
    low, high = wilson(wrong, len(local))
    rate = wrong / len(local) if local else 0.0
    return Point(threshold, 1 - len(local) / len(questions), rate, low, high, len(local))
