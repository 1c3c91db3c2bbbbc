"""Order passages by the time that a question asks about, and of two that contradict each other put the newer first."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from drag_graph.ask.question_dates import date_wish, fits
from drag_graph.ask.unit_values import Valued, order_of
from drag_graph.graph.number_conflicts import conflicting
from drag_graph.graph.written_dates import dates_in

COMPARED = 40
"""Number of passages, best first, that are compared with each other."""
DATED = 300
"""Number of passages, best first, whose dates are read."""
LONGEST = 600
"""Characters of the longest passages that are compared with each other."""
MISFIT, FIT = 0.8, 1.2
"""Factors for a passage whose date does not fit at all, and for one that fits. An unknown date changes nothing."""


def by_date(passages: Sequence[Valued], question: str) -> list[Valued]:
    """Return the passages, best first, with the values that their dates give them."""
    newest = max((item.unit.date for item in passages), default="")
    wish = date_wish(question, newest)
    if wish is not None:
        dated = [item.times(MISFIT + (FIT - MISFIT) * fits(date_of(item), wish, newest)) for item in passages[:DATED]]
        passages = [*dated, *passages[DATED:]]
    values = {item.passage.id: item.value for item in passages}
    best = [item for item in sorted(passages, key=order_of)[:COMPARED] if len(item.passage.text) <= LONGEST]
    for (first, one), (second, two) in combinations([(item, when) for item in best if (when := _stated(item))], 2):
        if first.unit.source_id != second.unit.source_id and conflicting(first.passage.text, second.passage.text):
            newer, older = (first, second) if one >= two else (second, first)
            values[newer.passage.id] = max(values[newer.passage.id], values[older.passage.id] + 1e-6)
    return sorted((replace(item, value=values[item.passage.id]) for item in passages), key=order_of)


def _stated(item: Valued) -> str:
    """Return when a passage was written: the date of its document, else the first one that it names."""
    return item.unit.date or date_of(item)


def date_of(item: Valued) -> str:
    """Return the first date that a passage names, or that of its document."""
    return next(iter(dates_in(item.passage.text)), item.unit.date)
