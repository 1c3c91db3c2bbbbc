"""Which stored subgraphs answer a question (design, section 5, "Asking something never distilled")."""

from collections.abc import Sequence

from drag_graph.identity import canonical_text
from drag_graph.model import Subgraph

NEIGHBOURS = 5
"""How many stored queries are looked at for a new question."""
DEFAULT_RELEVANCE = 0.5
RELEVANCE = {"lexical": 0.4}
"""Cosine from which a stored query is relevant, by embedder family; measured by `bench/relevance.py`, see docs/asking.md."""


def relevance_threshold(embedder: str, override: float | None = None) -> float:
    """Return the cosine from which a stored query counts as relevant, in [0, 1], for an embedder's name."""
    if override is not None:
        return override
    return next((value for family, value in RELEVANCE.items() if embedder.startswith(family)), DEFAULT_RELEVANCE)


def relevant(neighbours: Sequence[tuple[str, float]], threshold: float) -> list[tuple[str, float]]:
    """Return the neighbours at or above the threshold, nearest first, ties by id."""
    return sorted((pair for pair in neighbours if pair[1] >= threshold), key=lambda pair: (-pair[1], pair[0]))


def same_question(subgraphs: Sequence[Subgraph], question: str) -> list[Subgraph]:
    """Return the subgraphs of exactly this question's words, whatever their options were."""
    wanted = canonical_text(question)
    return [subgraph for subgraph in subgraphs if canonical_text(subgraph.query.text) == wanted]
