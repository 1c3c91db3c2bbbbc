"""The settings of a query, with the defaults of its plan (docs/explanation/papers.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal

from drag_graph.distill.complexity import complexity
from drag_graph.distill.teacher_messages import Plan
from drag_graph.model import Aggregation, Domain, Merge, Query, Strategy
from drag_graph.settings import Settings

Statements = Literal["joined", "teacher"]

ALPHA: Mapping[Domain, float] = {"general": 0.6, "medical": 0.7, "technical": 0.65, "privacy": 0.5}
K: Mapping[Domain, tuple[int, int, int]] = {
    "general": (10, 13, 15),
    "medical": (13, 16, 20),
    "technical": (13, 16, 18),
    "privacy": (10, 13, 15),
}
"""K by domain for a complexity below 0.5, from 0.5 to 0.8, and above 0.8. The paper has no row for privacy; it uses general."""
MIDDLE, HIGH = 0.5, 0.8
EVIDENCE_PER_KEPT = 1.25
"""Minimum ratio of N to K; with less, ranking would have nothing to discard."""


@dataclass(frozen=True, slots=True)
class PlanDefaults:
    """A plan's defaults for settings without a value; None depends on the question."""

    number_of_evidence: int
    ranking: str
    rank_relations: bool
    statements: Statements
    threshold: float
    strategy: Strategy = "pair"
    top_k: int | None = None
    alpha: float | None = None


PLANS: Mapping[Plan, PlanDefaults] = {
    "lean": PlanDefaults(15, "weighted", rank_relations=False, statements="joined", threshold=0.7),
    "paper": PlanDefaults(
        20, "rank-sum", rank_relations=True, statements="teacher", threshold=0.0, strategy="whole-pair", top_k=15, alpha=0.5
    ),
}


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """The settings of one query. A rank-sum does not use `alpha`."""

    plan: Plan
    complexity: float
    number_of_evidence: int
    top_k: int
    ranking: str
    alpha: float
    rank_relations: bool
    statements: Statements
    strategy: Strategy
    merge: Merge
    threshold: float

    @property
    def needs_scores(self) -> bool:
        """Whether the ranking uses the teacher's scores of the evidence."""
        return self.ranking != "weighted" or self.alpha > 0

    def aggregation(self) -> Aggregation:
        """Return how the store must merge the triples."""
        return Aggregation(strategy=self.strategy, merge=self.merge, threshold=self.threshold, top_k=self.top_k)


def chosen(settings: Settings, name: str) -> Any:
    """Return a setting's value, else the plan's default, else None, which depends on the question."""
    value = getattr(settings, name)
    return getattr(PLANS[settings.plan], name, None) if value is None else value


def plan_settings(settings: Settings, query: Query) -> PlanSettings:
    """Return the settings of `query`: what is set, else the plan's default, else what the question's complexity requires."""
    score = complexity(query.text, query.options)
    k = chosen(settings, "top_k") or choose_k(query.domain, score)
    alpha = chosen(settings, "alpha")
    number = chosen(settings, "number_of_evidence")
    return PlanSettings(
        plan=settings.plan,
        complexity=score,
        number_of_evidence=number if settings.number_of_evidence else max(number, ceil(EVIDENCE_PER_KEPT * k)),
        top_k=k,
        ranking=chosen(settings, "ranking"),
        alpha=ALPHA[query.domain] if alpha is None else alpha,
        rank_relations=chosen(settings, "rank_relations"),
        statements=chosen(settings, "statements"),
        strategy=chosen(settings, "strategy"),
        merge=settings.merge,
        threshold=chosen(settings, "threshold"),
    )


def choose_k(domain: Domain, complexity: float) -> int:
    """Return K, the number of evidence and edges to use for a question."""
    low, middle, high = K[domain]
    if complexity < MIDDLE:
        return low
    return high if complexity > HIGH else middle
