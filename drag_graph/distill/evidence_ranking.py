"""Rank evidence and relations, and choose the evidence to use (the paper's step 2, and "similar" in step 3).

`weighted`: score = alpha * llm + (1 - alpha) * cosine; a negative cosine counts as 0. `llm` is the teacher's relevance divided
by ten. Without it, a relation uses its confidence, and evidence is scored by the cosine alone.

`rank-sum`: the paper's s = sim + rank_LLM (equation 4) adds a similarity to a rank, which differ in direction and scale. We use
the sum of two ranks instead: by descending cosine, and by the teacher's order. The lowest sum wins. If the plan's prompt asks
for an order, the teacher's order is that of its reply, else that of its scores or confidences. Equal values share a rank, and
omitted items come last. `score` is 1 minus the sum divided by its maximum, so a higher score is better in both strategies. (The
reference code sorts by ascending cosine, which favours the least similar.)
"""

from collections.abc import Mapping, Sequence

import numpy as np

from drag_graph.distill.plans import PlanSettings
from drag_graph.distill.teacher_messages import Plan, by_place, chat, numbered, question
from drag_graph.errors import ConfigurationError
from drag_graph.model import Evidence, Query, Stage, Triple, sentence_of
from drag_graph.ports.model_roles import TeacherReply, TeacherRequest
from drag_graph.ports.plugins import find_plugin
from drag_graph.ports.teacher_replies import ScoresReply
from drag_graph.ports.vectors import Vectors

PROMPT_VERSIONS: dict[Plan, str] = {"lean": "scores-lean/2", "paper": "scores-paper/2"}
RELATIONS_PROMPT_VERSIONS: dict[Plan, str] = {"lean": "relations-lean/1", "paper": "relations-paper/1"}
FLOOR = 3
"""Minimum number of evidence that is used."""
_DIGITS = 6
_TOP_SCORE = 10.0

_LEAN_SYSTEM = (
    "Rate how much each statement helps to answer the question, 1 (not) to 10 (decisive). "
    'Reply in JSON: {"scores": [{"index": integer, "score": number}]}.'
)
_PAPER_SYSTEM = (
    "Your task is to rank statements by how much they help to answer the question. Order all "
    "statements from the most to the least relevant, and give each a relevance score from 1 (irrelevant) to 10 (decisive) that "
    "agrees with that order.\n"
    'Reply with a JSON object {"scores": [{"index": integer, "score": number}]}, the most relevant statement first, with every '
    'statement exactly once; "index" is the number in front of the statement.'
)
_USER = "{question}\n\n{statements}"
_SIMPLER_SYSTEM = (
    'Reply with JSON only, the most relevant first: {"scores": [{"index": 0, "score": 5}]}. Every score is a number from 1 '
    "to 10."
)


def candidates(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the evidence to rank, in order of position."""
    return tuple(sorted((item for item in evidence if item.kept), key=lambda item: item.position))


def relations(triples: Sequence[Triple]) -> dict[str, list[str]]:
    """Return the ids of the triples by sentence; a relation stated by several evidence is ranked once."""
    by_sentence: dict[str, list[str]] = {}
    for triple in triples:
        by_sentence.setdefault(sentence_of(triple.subject, triple.predicate, triple.object), []).append(triple.id)
    return by_sentence


def request(query: Query, texts: Sequence[str], plan: Plan, stage: Stage = "scores", *, blind: bool = False) -> TeacherRequest:
    """Return the request for the relevance of evidence or relations. The paper plan also asks for their order."""
    user = _USER.format(question=question(query, blind=blind), statements=numbered(texts))
    versions = RELATIONS_PROMPT_VERSIONS if stage == "relations" else PROMPT_VERSIONS
    return TeacherRequest(
        source=query,
        stage=stage,
        schema=ScoresReply,
        messages=chat(_LEAN_SYSTEM if plan == "lean" else _PAPER_SYSTEM, user),
        prompt_version=versions[plan],
        simpler=chat(_SIMPLER_SYSTEM, user),
        parameters={"temperature": 0.0},
        count=len(texts),
        texts=tuple(texts),
    )


def read_scores(reply: TeacherReply, size: int) -> tuple[dict[int, float], tuple[str, ...]]:
    """Return the scores by position in the request, in the order of the reply, and the reasons for discarded ones."""
    assert isinstance(reply.payload, ScoresReply)
    scores, discarded = by_place(((item.index, item.score) for item in reply.payload.scores), size, "score of statement")
    return scores, (*reply.payload.discarded, *discarded)


def cosines(query_vector: Vectors, vectors: Vectors) -> list[float]:
    """Return the cosines of unit rows with a unit vector, -1 to 1, rounded to six digits."""
    return [round(min(1.0, max(-1.0, float(value))), _DIGITS) for value in np.asarray(vectors) @ np.asarray(query_vector)]


def rank(
    evidence: Sequence[Evidence], similarity: Sequence[float], scores: Mapping[str, float], settings: PlanSettings
) -> tuple[Evidence, ...]:
    """Return the evidence best first, with cosine, llm score, score, rank, kept and reason filled in.

    `similarity` has the cosine of each evidence with the query. `scores` are the teacher's, by id, in the order of its reply.
    The best `top_k` are kept, and at least three. Evidence that was dropped before (repetitions) comes last. Equal scores are
    ordered by cosine, then by position.
    """
    judged = [
        item.model_copy(update={"cosine": cosine, "llm_score": scores.get(item.id)})
        for item, cosine in zip(evidence, similarity, strict=True)
    ]
    active = candidates(judged)
    repetitions = sorted((item for item in judged if not item.kept), key=lambda item: item.position)
    tenths = [None if item.llm_score is None else item.llm_score / _TOP_SCORE for item in active]
    combined = combine([item.cosine for item in active], tenths, _places(active, scores, settings.plan), settings)
    scored = [item.model_copy(update={"score": score}) for item, score in zip(active, combined, strict=True)]
    scored.sort(key=lambda item: (-item.score, -item.cosine, item.position))
    limit = max(settings.top_k, FLOOR)
    result = []
    for place, item in enumerate((*scored, *repetitions)):
        update: dict[str, object] = {"rank": place}
        if item.kept and place >= limit:
            update |= {"kept": False, "reason": f"rank {place + 1} is beyond the best {limit}"}
        result.append(item.model_copy(update=update))
    return tuple(result)


def rank_triples(
    triples: Sequence[Triple], similarity: Mapping[str, float], scores: Mapping[str, float], settings: PlanSettings
) -> tuple[Triple, ...]:
    """Return the triples best first, with their rank; `similarity` and `scores` as in `rank`, both by id.

    Without scores, the confidence of a triple replaces the teacher's score.
    """
    near = [similarity[triple.id] for triple in triples]
    if scores:
        judged = [scores[triple.id] / _TOP_SCORE if triple.id in scores else None for triple in triples]
    else:
        judged = [triple.confidence for triple in triples]
    combined = combine(near, judged, _places(triples, scores, settings.plan), settings)
    ordered = sorted(zip(combined, triples, strict=True), key=lambda pair: (-pair[0], pair[1].id))
    return tuple(triple.model_copy(update={"rank": place}) for place, (_, triple) in enumerate(ordered))


def combine(
    near: Sequence[float], judged: Sequence[float | None], places: Sequence[int] | None, settings: PlanSettings
) -> list[float]:
    """Return the combined scores in [0, 1], rounded to six digits (module docstring).

    `near` are cosines, `judged` the teacher's judgements in [0, 1], `places` the teacher's own order where it gave one.
    """
    if settings.ranking == "weighted":
        alpha = settings.alpha
        pairs = zip((max(0.0, cosine) for cosine in near), judged, strict=True)
        return [round(one if llm is None else alpha * llm + (1.0 - alpha) * one, _DIGITS) for one, llm in pairs]
    if ranking := find_plugin("rankings", settings.ranking):
        scores = [round(float(score), _DIGITS) for score in ranking(near, judged)]
        if len(scores) != len(near) or not all(0 <= score <= 1 for score in scores):
            message = f"The ranking {settings.ranking!r} gave no score from 0 to 1 for each statement."
            raise ConfigurationError(message, hint="Update its package, or choose another ranking.")
        return scores
    by_llm = _ranks([-1.0 if llm is None else llm for llm in judged]) if places is None else places
    largest = max(1, 2 * (len(near) - 1))
    return [round(1.0 - (one + two) / largest, _DIGITS) for one, two in zip(_ranks(near), by_llm, strict=True)]


def _places(items: Sequence[Evidence | Triple], scores: Mapping[str, float], plan: Plan) -> list[int] | None:
    """Return the positions in the teacher's order, or None if the plan does not ask for one or the teacher gave none."""
    if plan != "paper" or not scores:
        return None
    places = {id_: place for place, id_ in enumerate(scores)}
    return [places.get(item.id, len(scores)) for item in items]


def _ranks(values: Sequence[float]) -> list[int]:
    """Return the number of larger values for each value: 0 for the largest; equal values share a rank."""
    return [sum(other > value for other in values) for value in values]
