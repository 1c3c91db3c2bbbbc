"""How a source's simple edges were made, as the stores keep it: a short text at the source, without statements."""

from typing import cast

from pydantic import ValidationError

from drag_graph.model import Aggregation, Merge, Strategy


def aggregation_text(aggregation: Aggregation) -> str:
    """Return what the stores keep."""
    return f"{aggregation.strategy} {aggregation.merge} {aggregation.threshold} {aggregation.top_k}"


def aggregation_of(text: str | None) -> Aggregation | None:
    """Return the aggregation of such a text; None where somebody has damaged it."""
    try:
        strategy, merge, threshold, top_k = (text or "").split()
        return Aggregation(
            strategy=cast("Strategy", strategy), merge=cast("Merge", merge), threshold=float(threshold), top_k=int(top_k)
        )
    except (ValidationError, ValueError):
        return None
