"""`distill --dry-run`: the calls, tokens and price of a distillation, without making one.

The evidence prompt of each query is counted as it would be sent. What depends on replies is taken from the constants below:
they are assumptions about the length of replies, not measurements, so the range is wide, from `LOW` to `HIGH` times the
expected value.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drag_graph.inputs import InputLine
from drag_graph.model import Query
from drag_graph.settings import Settings
from drag_graph.steps import evidence, rank
from drag_graph.steps.complexity import complexity

TOKENS_EVIDENCE = 30
"""Tokens of one statement of evidence, as a prompt repeats it."""
TOKENS_EVIDENCE_JSON = 42
"""Tokens of one statement with its framing in a reply."""
TOKENS_SCORE = 14
TOKENS_TRIPLE = 48
TRIPLES_AN_EVIDENCE = 1.5
TOKENS_INSTRUCTION = {"lean": 90, "paper": 170}
"""Tokens of the instructions of a call after the first."""
LOW, HIGH = 0.6, 1.6


@dataclass(frozen=True, slots=True)
class Pricing:
    """How a teacher's tokens are counted and paid: by its tokenizer, and in US dollars or None where no price is known."""

    count_tokens: Callable[[str, Sequence[Mapping[str, str]]], int]
    price_of: Callable[[str, int, int], float | None]


def estimate(settings: Settings, lines: Iterable[InputLine], pricing: Pricing | None) -> dict[str, Any]:
    """Return queries, rejected lines, calls, tokens and the price in US dollars (expected, low, high) as a document.

    Each question counts once. `pricing` is None for files as teachers: they cost nothing. `price_known` is false where the
    model has no price in LiteLLM's map; the price is then given as 0.
    """
    totals = {"queries": 0, "rejected": 0, "calls": 0, "tokens_in": 0, "tokens_out": 0}
    seen: set[str] = set()
    for line in lines:
        if line.query is None:
            totals["rejected"] += 1
        elif line.query.id not in seen:
            seen.add(line.query.id)
            totals["queries"] += 1
            for name, value in _of(settings, line.query, pricing).items():
                totals[name] += value
    paid = pricing.price_of(settings.teacher, totals["tokens_in"], totals["tokens_out"]) if pricing else 0.0
    price = paid or 0.0
    return {
        "teacher": settings.teacher,
        "plan": settings.plan,
        **totals,
        "price_usd": round(price, 4),
        "price_usd_low": round(price * LOW, 4),
        "price_usd_high": round(price * HIGH, 4),
        "price_known": paid is not None,
        "how": "the first prompt of each query is counted, the length of replies is assumed (drag_graph/estimate.py)",
    }


def _of(settings: Settings, query: Query, pricing: Pricing | None) -> dict[str, int]:
    """Return the calls and tokens of one query. A file is asked as often as a model, but has no tokens."""
    number = settings.number_of_evidence
    k = min(number, rank.choose_k(query.domain, complexity(query.text, query.options), settings.top_k))
    paper = settings.plan == "paper"
    batches = 0 if settings.extractor == "patterns" else (k if paper else 1)
    calls = 2 + batches + paper
    if pricing is None:
        return {"calls": calls}
    first = evidence.request(query, number=number, plan=settings.plan, blind=settings.blind)
    asked = pricing.count_tokens(settings.teacher, first.messages)
    instruction = TOKENS_INSTRUCTION[settings.plan]
    scoring = instruction + number * TOKENS_EVIDENCE
    # Each triples prompt of the paper plan repeats the question.
    reading = batches * (instruction + paper * asked // 2) + bool(batches) * k * TOKENS_EVIDENCE
    triples = round(k * TRIPLES_AN_EVIDENCE) * bool(batches)
    merging = paper * (instruction + triples * TOKENS_EVIDENCE // 2)
    replies = number * (TOKENS_EVIDENCE_JSON + TOKENS_SCORE) + triples * TOKENS_TRIPLE + paper * triples * TOKENS_EVIDENCE // 4
    return {"calls": calls, "tokens_in": asked + scoring + reading + merging, "tokens_out": replies}
