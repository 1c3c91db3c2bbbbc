"""The aggregation of a source as stores keep it: a short text at the source, without statements."""

from typing import cast

from pydantic import ValidationError

from drag_graph.model import Aggregation, Merge, Strategy


def aggregation_text(aggregation: Aggregation) -> str:
    """Return the stored text."""
    return f"{aggregation.strategy} {aggregation.merge} {aggregation.threshold} {aggregation.top_k}"


def aggregation_of(text: str | None) -> Aggregation | None:
    """Return the aggregation of a stored text; None if it is damaged."""
    try:
        strategy, merge, threshold, top_k = (text or "").split()
        return Aggregation(
            strategy=cast("Strategy", strategy), merge=cast("Merge", merge), threshold=float(threshold), top_k=int(top_k)
        )
    except (ValidationError, ValueError):
        return None
