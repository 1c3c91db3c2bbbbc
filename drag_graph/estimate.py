"""`distill --dry-run`: the calls, tokens and price of a distillation, without making one.

The evidence prompt of each query is counted as it would be sent. What depends on replies is taken from the constants below:
they are assumptions about the length of replies, not measurements, so the range is wide, from `LOW` to `HIGH` times the
expected value.
"""

from collections.abc import Iterable
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


def estimate(settings: Settings, lines: Iterable[InputLine]) -> dict[str, Any]:
    """Return queries, rejected lines, calls, tokens and the price in US dollars (expected, low, high) as a document.

    Each question counts once. Files as teachers cost nothing. `price_known` is false where the model has no price in LiteLLM's
    map; the price is then given as 0.
    """
    totals = {"queries": 0, "rejected": 0, "calls": 0, "tokens_in": 0, "tokens_out": 0}
    seen: set[str] = set()
    for line in lines:
        if line.query is None:
            totals["rejected"] += 1
        elif line.query.id not in seen:
            seen.add(line.query.id)
            totals["queries"] += 1
            for name, value in _of(settings, line.query).items():
                totals[name] += value
    price, known = _price(settings, totals["tokens_in"], totals["tokens_out"])
    return {
        "teacher": settings.teacher,
        "plan": settings.plan,
        **totals,
        "price_usd": round(price, 4),
        "price_usd_low": round(price * LOW, 4),
        "price_usd_high": round(price * HIGH, 4),
        "price_known": known,
        "how": "the first prompt of each query is counted, the length of replies is assumed (drag_graph/estimate.py)",
    }


def _of(settings: Settings, query: Query) -> dict[str, int]:
    """Return the calls and tokens of one query. A file is asked as often as a model, but has no tokens."""
    number = settings.number_of_evidence
    k = min(number, rank.choose_k(query.domain, complexity(query.text, query.options), settings.top_k))
    batches = (k if settings.plan == "paper" else 1) if settings.extractor != "patterns" else 0
    merging = settings.plan == "paper"
    calls = 2 + batches + merging
    if _is_file(settings):
        return {"calls": calls}
    first = evidence.request(query, number=number, plan=settings.plan, blind=settings.blind)
    instruction = TOKENS_INSTRUCTION[settings.plan]
    asked = _tokens(settings.teacher, first.messages)
    tokens_in = asked + (instruction + number * TOKENS_EVIDENCE) + batches * instruction + bool(batches) * k * TOKENS_EVIDENCE
    triples = round(k * TRIPLES_AN_EVIDENCE) * bool(batches)
    tokens_out = number * (TOKENS_EVIDENCE_JSON + TOKENS_SCORE) + triples * TOKENS_TRIPLE
    if merging:
        tokens_in += instruction + triples * TOKENS_EVIDENCE // 2
        tokens_out += triples * TOKENS_EVIDENCE // 4
    return {"calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out}


def _is_file(settings: Settings) -> bool:
    return settings.teacher.startswith(("curated:", "tape:"))


def _tokens(model: str, messages: Any) -> int:
    from drag_graph.adapters.litellm_client import count_tokens

    return count_tokens(model, [dict(message) for message in messages])


def _price(settings: Settings, tokens_in: int, tokens_out: int) -> tuple[float, bool]:
    if _is_file(settings):
        return 0.0, True
    from drag_graph.adapters.litellm_client import price_of

    price = price_of(settings.teacher, tokens_in, tokens_out)
    return (0.0, False) if price is None else (price, True)
