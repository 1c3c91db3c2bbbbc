"""Ranking: which evidence is kept, and in which order (design, section 5; the paper's step 2; seeds: "dual ranking").

`weighted`: score = alpha * llm / 10 + (1 - alpha) * cosine, with a cosine below 0 counted as 0, so that it lies in [0, 1]. An
evidence without a teacher's score is scored by the cosine alone (its weight becomes 1).

`rank-sum`: the paper's s = sim + rank_LLM (equation 4) adds a similarity to a rank, which have neither one direction nor one
scale. We read it as a sum of two ranks, by cosine descending and by the teacher's score descending, and the lowest sum wins;
equal values share a rank, and evidence without a score comes after all that have one. `score` is then 1 minus the sum over its
largest value, so that higher is better in both strategies. (The reference code sorts the cosine ascending and so favours the
least similar.)
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from drag_graph.model import Domain, Evidence, Query
from drag_graph.ports import TeacherReply, TeacherRequest, Vectors
from drag_graph.steps.messages import Plan, chat, numbered, question
from drag_graph.wire import ScoresReply

Strategy = Literal["weighted", "rank-sum"]

PROMPT_VERSIONS: dict[Plan, str] = {"lean": "scores-lean/1", "paper": "scores-paper/1"}
ALPHA: dict[Domain, float] = {"general": 0.6, "medical": 0.7, "technical": 0.65, "privacy": 0.5}
K: dict[Domain, tuple[int, int, int]] = {
    "general": (10, 13, 15),
    "medical": (13, 16, 20),
    "technical": (13, 16, 18),
    "privacy": (10, 13, 15),
}
"""How many are kept at a complexity below 0.5, from 0.5 to 0.8, and above 0.8. Privacy has no row of its own: as general."""
FLOOR = 3
"""The best three always stay."""
MIDDLE, HIGH = 0.5, 0.8
_DIGITS = 6
_TOP_SCORE = 10.0

_LEAN_SYSTEM = (
    "Rate how much each statement helps to answer the question, 1 (not) to 10 (decisive). "
    'Reply in JSON: {"scores": [{"index": integer, "score": number}]}.'
)
_PAPER_SYSTEM = (
    "Your task is to rank evidence statements by how much they help to answer the question. Order all "
    "statements from the most to the least relevant, and give each a relevance score from 1 (irrelevant) to 10 (decisive) that "
    "agrees with that order.\n"
    'Reply with a JSON object {"scores": [{"index": integer, "score": number}]}, the most relevant statement first, with every '
    'statement exactly once; "index" is the number in front of the statement.'
)
_USER = "{question}\n\n{statements}"
_SIMPLER_SYSTEM = 'Reply with JSON only: {"scores": [{"index": 0, "score": 5}]}. Every score is a number from 1 to 10.'


def choose_k(domain: Domain, complexity: float, override: int | None = None) -> int:
    """Return how many evidence (and edges) are kept, at least 1; `override` wins over the table."""
    if override is not None:
        return max(1, override)
    low, middle, high = K[domain]
    if complexity < MIDDLE:
        return low
    return high if complexity > HIGH else middle


def choose_alpha(domain: Domain, override: float | None = None) -> float:
    """Return the weight of the teacher's score in [0, 1]."""
    return ALPHA[domain] if override is None else override


def candidates(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the evidence that takes part in ranking, in order of position: the indices of a scores request refer to it."""
    return tuple(sorted((item for item in evidence if item.kept), key=lambda item: item.position))


def scores_request(query: Query, evidence: Sequence[Evidence], plan: Plan = "lean", *, blind: bool = False) -> TeacherRequest:
    """Return the one request for the relevance of all candidates; the paper plan asks for their order too."""
    texts = tuple(item.text for item in candidates(evidence))
    user = _USER.format(question=question(query, blind=blind), statements=numbered(texts))
    return TeacherRequest(
        query=query,
        stage="scores",
        schema=ScoresReply,
        messages=chat(_LEAN_SYSTEM if plan == "lean" else _PAPER_SYSTEM, user),
        prompt_version=PROMPT_VERSIONS[plan],
        simpler=chat(_SIMPLER_SYSTEM, user),
        parameters={"temperature": 0.0},
        count=len(texts),
        texts=texts,
    )


def read_scores(reply: TeacherReply, evidence: Sequence[Evidence]) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the scores by evidence id, and a sentence for each that was discarded (no such evidence, or a second score)."""
    assert isinstance(reply.payload, ScoresReply)
    scored = candidates(evidence)
    scores: dict[str, float] = {}
    discarded = list(reply.payload.discarded)
    for item in reply.payload.scores:
        if item.index >= len(scored):
            discarded.append(f"score of evidence {item.index}: there are only {len(scored)}")
        elif scored[item.index].id in scores:
            discarded.append(f"score of evidence {item.index}: it has one already")
        else:
            scores[scored[item.index].id] = item.score
    return scores, tuple(discarded)


def cosines(query_vector: Vectors, vectors: Vectors) -> list[float]:
    """Return the cosines of unit rows with a unit vector, in [-1, 1], rounded to six digits."""
    return [round(min(1.0, max(-1.0, float(value))), _DIGITS) for value in np.asarray(vectors) @ np.asarray(query_vector)]


def rank(
    evidence: Sequence[Evidence],
    similarity: Sequence[float],
    scores: Mapping[str, float] | None = None,
    *,
    k: int,
    alpha: float,
    strategy: Strategy = "weighted",
) -> tuple[Evidence, ...]:
    """Return the evidence best first, with cosine, llm score, score, rank, kept and reason filled in.

    `similarity` is the cosine of each evidence with the query, in the given order; `scores` are the teacher's, by id. The best
    `k`, and in any case the best three, are kept. What was not kept before (repeats) stays so, behind all others. Equal scores
    are ordered by cosine, then by position, so the given order does not matter.
    """
    given = dict(scores or {})
    filled = [
        item.model_copy(update={"cosine": cosine, "llm_score": given.get(item.id, item.llm_score)})
        for item, cosine in zip(evidence, similarity, strict=True)
    ]
    active = [item for item in filled if item.kept]
    dropped = sorted((item for item in filled if not item.kept), key=lambda item: item.position)
    scored = _weighted(active, alpha) if strategy == "weighted" else _rank_sum(active)
    scored.sort(key=lambda item: (-item.score, -item.cosine, item.position))
    limit = max(k, FLOOR)
    result = []
    for place, item in enumerate((*scored, *dropped)):
        update: dict[str, object] = {"rank": place}
        if item.kept and place >= limit:
            update |= {"kept": False, "reason": f"rank {place + 1} is beyond the best {limit}"}
        result.append(item.model_copy(update=update))
    return tuple(result)


def weighted_score(cosine: float, llm_score: float | None, alpha: float) -> float:
    """Return the weighted score in [0, 1], rounded to six digits (module docstring)."""
    similarity = max(0.0, cosine)
    if llm_score is None:
        return round(similarity, _DIGITS)
    return round(alpha * llm_score / _TOP_SCORE + (1.0 - alpha) * similarity, _DIGITS)


def _weighted(evidence: Sequence[Evidence], alpha: float) -> list[Evidence]:
    return [item.model_copy(update={"score": weighted_score(item.cosine, item.llm_score, alpha)}) for item in evidence]


def _rank_sum(evidence: Sequence[Evidence]) -> list[Evidence]:
    by_cosine = _ranks([item.cosine for item in evidence])
    by_llm = _ranks([0.0 if item.llm_score is None else item.llm_score for item in evidence])
    largest = max(1, 2 * (len(evidence) - 1))
    return [
        item.model_copy(update={"score": round(1.0 - (one + two) / largest, _DIGITS)})
        for item, one, two in zip(evidence, by_cosine, by_llm, strict=True)
    ]


def _ranks(values: Sequence[float]) -> list[int]:
    """Return for each value how many are larger: 0 for the largest, and equal values share a rank."""
    return [sum(other > value for other in values) for value in values]
