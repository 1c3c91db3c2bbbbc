"""Figures of open answers: F1, statements that the lines do not support, abstentions, refusals, cuts."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from drag_graph.ask.answer_checks import is_unsupported
from drag_graph.evaluation.intervals import wilson

if TYPE_CHECKING:
    from drag_graph.evaluation.outcome import Record


def open_figures(records: Sequence["Record"]) -> dict[str, Any]:
    """Return the figures of one mode of open questions.

    `unsupported` is the fraction of answers with an unsupported statement; abstentions, refusals and failures make none.
    `abstained` is the fraction of questions with an abstention: `right` of those without an answer, `wrong` of the others. A
    mode without context lines has neither.
    """
    figures: dict[str, Any] = {
        "f1": sum(record.f1 or 0.0 for record in records) / len(records),
        **{name: sum(bool(record.facts.get(name)) for record in records) for name in ("truncated", "refused")},
    }
    if not any(record.lines for record in records):
        return figures
    stated = [one for one in records if one.lines and not (one.abstained or one.error or one.facts.get("refused"))]
    figures["unsupported"] = _fraction(is_unsupported(record.facts) for record in stated)
    figures["abstained"] = {
        name: _fraction(record.abstained for record in records if record.answerable == answerable)
        for name, answerable in (("right", False), ("wrong", True))
    }
    return figures


def _fraction(hits: Iterable[bool]) -> dict[str, float]:
    """Return the fraction of hits with its 95 % interval (Wilson)."""
    each = list(hits)
    low, high = wilson(sum(each), len(each))
    return {"n": len(each), "count": sum(each), "fraction": sum(each) / max(len(each), 1), "low": low, "high": high}
