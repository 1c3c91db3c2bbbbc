"""Estimate the calls, tokens and price of a distillation, without a call (`distill --dry-run`).

Stored queries and recorded replies are free: each query is followed through its steps on recorded replies, up to the first
request that would be sent. Evidence prompts are counted exactly. Other prompts and replies have an assumed length, so the price
is a range.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol

from drag_graph.distill import evidence_step as evidence
from drag_graph.distill.plans import chosen, plan_settings
from drag_graph.distill.query_distillation import Distillation, Usage
from drag_graph.distill.teacher_messages import question
from drag_graph.errors import DragGraphError, ReplyError
from drag_graph.graph.paging import pages
from drag_graph.graph.unite import is_made_under
from drag_graph.inputs import InputLine
from drag_graph.model import Query
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder, TeacherReply, TeacherRequest
from drag_graph.ports.run_journal import Entry
from drag_graph.ports.setting_types import ANSWER_TOKENS
from drag_graph.settings import Settings

TOKENS_EVIDENCE = 30
"""Tokens of one statement of evidence in a prompt."""
TOKENS_EVIDENCE_JSON = 42
"""Tokens of one statement with its framing in a reply."""
TOKENS_SCORE = 14
TOKENS_TRIPLE = 48
TRIPLES_AN_EVIDENCE = 1.5
TOKENS_INSTRUCTION = {"lean": 90, "paper": 170}
"""Tokens of the instructions of a call after the first."""
LOW, HIGH = 0.6, 1.6
"""The range of the price, relative to the expected one."""
WINDOW = 64
MOST_REJECTED = 100
"""Maximum number of rejected lines in an estimate."""
_TOTALS = ("queries", "stored", "quarantined", "rejected", "calls", "recorded_calls", "tokens_in", "tokens_out")
_STAGES = ("evidence", "scores", "triples", "relations", "statements")
_FIGURES = ("calls", "tokens_in", "tokens_out")


@dataclass(frozen=True, slots=True)
class Pricing:
    """A teacher's tokenizer, and its price in US dollars, or None if the price is unknown."""

    count_tokens: Callable[[str, Sequence[Mapping[str, str]]], int]
    price_of: Callable[[str, int, int], float | None]


class Recorded(Protocol):
    """The replies on the tape."""

    def find(self, model: str, request: TeacherRequest) -> TeacherReply | None:
        """Return the recorded reply to the request, or None."""


@dataclass(frozen=True, slots=True)
class EstimateBasis:
    """The sources of an estimate.

    `stored` returns the settings hashes of the queries that are in the store, `quarantined` the ids of queries that a run would
    skip. `fingerprint` is the teacher's, if it is not its name.
    """

    embedder: Embedder
    stored: Callable[[Sequence[str]], Mapping[str, str]] = lambda _ids: {}
    store: GraphStore | None = None
    tape: Recorded | None = None
    fingerprint: str = ""
    quarantined: Callable[[Sequence[Entry]], Collection[str]] = lambda _entries: ()
    admit: Callable[[Iterable[InputLine]], Iterable[InputLine]] = lambda lines: lines
    """The privacy gate; `privacy` is its level and detectors."""
    privacy: str = "off"


class _Missing(DragGraphError):  # noqa: N818 - reads as what happened
    """The first request without a recorded reply."""

    def __init__(self, stage: str) -> None:
        super().__init__(stage)
        self.stage = stage


class Replay:
    """A teacher that returns recorded replies, and stops at the first request without one."""

    is_model = True

    def __init__(self, model: str, fingerprint: str, tape: Recorded | None) -> None:
        self.name = self.fingerprint = fingerprint or model
        self._tape = tape

    def ask(self, request: TeacherRequest) -> TeacherReply:
        reply = self._tape.find(self.name, request) if self._tape is not None else None
        if reply is None:
            raise _Missing(request.stage)
        return reply

    def close(self) -> None:
        """Nothing to release: the tape is its owner's."""


def estimate(settings: Settings, lines: Iterable[InputLine], pricing: Pricing | None, basis: EstimateBasis) -> dict[str, Any]:
    """Return queries, rejected lines, calls, tokens and the price in US dollars (expected, low, high) as a document.

    Each question counts once. `pricing` is None if the teacher is a file, which costs nothing. `calls` does not include
    `recorded_calls`, which the tape answers. If LiteLLM knows no price of the model, `price_known` is false and the price 0.
    `steps` has calls, tokens and price by step. `break_even` is how often each question must be asked until its distillation
    costs less than direct answers of the teacher; 0 if nothing is paid.
    """
    teacher = Replay(settings.teacher, basis.fingerprint, basis.tape)
    distillation = Distillation(settings, basis.embedder, teacher, basis.privacy)
    counting = _Counting(settings, pricing)
    totals = Counter(dict.fromkeys(_TOTALS, 0))
    counted_ids: set[str] = set()
    rejected: list[dict[str, Any]] = []
    for page in pages(basis.admit(lines), WINDOW):
        window = [line for line in page if not line.withheld]
        totals.update(queries=len(page) - len(window), quarantined=len(page) - len(window))
        bad = [line for line in window if line.query is None]
        totals["rejected"] += len(bad)
        rejected += [{"line": line.number, "reason": line.problem} for line in bad][: MOST_REJECTED - len(rejected)]
        fresh = {line.query.id: line for line in window if line.query is not None and line.query.id not in counted_ids}
        counted_ids |= fresh.keys()
        stored = basis.stored([id_ for id_, line in fresh.items() if not line.edition])
        entries = [Entry.of(line, line.query, distillation.settings_hash) for line in fresh.values() if line.query is not None]
        quarantined = basis.quarantined(entries)
        for entry in entries:
            counting.note(entry.query)
            totals["queries"] += 1
            if is_made_under(stored.get(entry.query.id, ""), entry.settings_hash):
                totals["stored"] += 1
            elif entry.query.id in quarantined:
                totals["quarantined"] += 1
            else:
                totals.update(counting.of(entry.query, *_followed(distillation, entry.query, entry.edition, basis.tape)))
    return {
        "teacher": settings.teacher,
        "privacy": basis.privacy,
        **counting.plan(),
        **totals,
        **counting.price(totals),
        "how": counting.how(),
        "rejected_lines": rejected,
    }


def _followed(distillation: Distillation, query: Query, edition: str, tape: Recorded | None) -> tuple[str, int]:
    """Return the stage of the first request that is not on the tape ("" if all are), and the number of requests before it."""
    if tape is None:
        return "evidence", 0
    usage = Usage()
    try:
        distillation.distill(query, usage, edition)
    except _Missing as missing:
        return missing.stage, usage.cached_calls
    except ReplyError:  # the recorded replies lead to quarantine
        pass
    return "", usage.cached_calls


class _Counting:
    """Counts the calls and tokens of queries."""

    def __init__(self, settings: Settings, pricing: Pricing | None) -> None:
        self._settings = settings
        self._pricing = pricing
        self._numbers: set[tuple[int, int]] = set()
        self._steps = {name: Counter[str]() for name in _STAGES}
        self._direct = 0
        """Prompt tokens of the questions alone."""
        self._paid_queries = 0

    def note(self, query: Query) -> None:
        """Record how much evidence a query requests and uses."""
        plan = plan_settings(self._settings, query)
        self._numbers.add((plan.number_of_evidence, plan.top_k))

    def plan(self) -> dict[str, Any]:
        """Return the plan of the queries; numbers that depend on the question are ranges."""
        n, k = (sorted(numbers) for numbers in zip(*self._numbers, strict=True)) if self._numbers else ([0], [0])
        named = {name: chosen(self._settings, name) for name in ("ranking", "rank_relations", "statements", "threshold")}
        return {"plan": self._settings.plan, "number_of_evidence": _range_of(n), "top_k": _range_of(k), **named}

    def of(self, query: Query, stage: str, recorded: int) -> dict[str, int]:
        """Return the calls and tokens of a query from `stage` on. A file as teacher has calls, but no tokens."""
        parts = self._parts(query)
        if not stage:
            return {"recorded_calls": recorded}
        remaining = {name: part for name, part in parts.items() if _STAGES.index(name) >= _STAGES.index(stage)}
        if stage == "triples":
            number, tokens_in, tokens_out = remaining["triples"]
            missing = max(number - max(recorded - 2, 0), 1)
            share = missing / max(number, 1)
            remaining["triples"] = (missing, round(tokens_in * share), round(tokens_out * share))
        calls = max(sum(part[0] for part in remaining.values()), 1)
        if self._pricing is None:
            return {"calls": calls}
        for name, part in remaining.items():
            self._steps[name].update(dict(zip(_FIGURES, part, strict=True)))
        self._direct += self._pricing.count_tokens(self._settings.teacher, [{"role": "user", "content": question(query)}])
        self._paid_queries += 1
        sums = {name: sum(part[place] for part in remaining.values()) for place, name in ((1, "tokens_in"), (2, "tokens_out"))}
        return {"calls": calls, "recorded_calls": recorded, **sums}

    def _parts(self, query: Query) -> dict[str, tuple[int, int, int]]:
        """Return (calls, tokens in, tokens out) of each stage of a query without recorded replies."""
        settings, plan = self._settings, plan_settings(self._settings, query)
        number, paper = plan.number_of_evidence, plan.plan == "paper"
        k = min(number, plan.top_k)
        batches = 0 if settings.extractor == "patterns" else (k if paper else 1)
        prompt = 0
        if self._pricing is not None:
            first = evidence.request(query, number=number, plan=plan.plan, blind=settings.blind)
            prompt = self._pricing.count_tokens(settings.teacher, first.messages)
        instruction = TOKENS_INSTRUCTION[plan.plan]
        triples = round(k * TRIPLES_AN_EVIDENCE)
        # In the paper plan, each triples prompt repeats the question.
        reading = batches * (instruction + paper * prompt // 2) + bool(batches) * k * TOKENS_EVIDENCE
        about_triples = instruction + triples * TOKENS_EVIDENCE // 2
        ordering, merging = plan.rank_relations and triples > 1, plan.statements == "teacher"
        scoring = plan.needs_scores
        return {
            "evidence": (1, prompt, number * TOKENS_EVIDENCE_JSON),
            "scores": (int(scoring), scoring * (instruction + number * TOKENS_EVIDENCE), scoring * number * TOKENS_SCORE),
            "triples": (batches, reading, bool(batches) * triples * TOKENS_TRIPLE),
            "relations": (int(ordering), ordering * about_triples, ordering * triples * TOKENS_SCORE),
            "statements": (int(merging), merging * about_triples, merging * triples * TOKENS_EVIDENCE // 4),
        }

    def price(self, totals: Mapping[str, int]) -> dict[str, Any]:
        """Return the price in US dollars, its range, and whether one is known."""
        paid = self._price_of(totals)
        factors = {"price_usd": 1.0, "price_usd_low": LOW, "price_usd_high": HIGH}
        prices = {name: round((paid or 0.0) * factor, 4) for name, factor in factors.items()}
        used = {name: step for name, step in self._steps.items() if step["calls"]}
        steps = {name: {**step, "price_usd": round(self._price_of(step) or 0.0, 4)} for name, step in used.items()}
        direct = self._price_of({"tokens_in": self._direct, "tokens_out": self._paid_queries * ANSWER_TOKENS})
        break_even = ceil((paid or 0.0) / direct) if direct else 0
        return {**prices, "price_known": paid is not None, "steps": steps, "break_even": break_even}

    def _price_of(self, tokens: Mapping[str, int]) -> float | None:
        if self._pricing is None:
            return 0.0
        return self._pricing.price_of(self._settings.teacher, tokens["tokens_in"], tokens["tokens_out"])

    def how(self) -> str:
        """Return a sentence about the origin of the numbers."""
        if self._pricing is None:
            return "The teacher is a file, which costs nothing."
        return f"First prompts are counted; other lengths are assumed, such as {ANSWER_TOKENS} tokens for a direct answer."


def _range_of(numbers: Sequence[int]) -> int | dict[str, int]:
    return {"from": numbers[0], "to": numbers[-1]} if numbers[0] != numbers[-1] else numbers[0]
