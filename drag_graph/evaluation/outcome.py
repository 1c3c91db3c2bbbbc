"""The outcome of an evaluation: a folder with every item, a summary and a table (docs/reference/json.md).

    about.json     what determines the answers
    items.jsonl    one item a line: question, context lines and answer in one mode
    summary.json   figures by mode
    table.md       the same figures to read

Items are written as they are answered, so that an interrupted evaluation can be resumed.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from drag_graph.ask.answer_checks import is_unsupported
from drag_graph.errors import InputError
from drag_graph.evaluation.intervals import mcnemar, paired_difference, wilson
from drag_graph.evaluation.metrics import macro_f1
from drag_graph.model import LABELS

ITEMS, SUMMARY, TABLE = "items.jsonl", "summary.json", "table.md"
ABOUT = "about.json"
HINT = "Name a folder that `drag-graph eval` has written."


@dataclass(frozen=True, slots=True)
class Record:
    """One item, asked in one mode. An item that failed has an `error` and is not correct."""

    id: str
    mode: str
    question: str
    options: tuple[str, ...]
    gold: str
    answer: str
    label: str | None
    correct: bool
    confidence: float
    probabilities: tuple[float, ...]
    lines: tuple[str, ...]
    leaking: int
    answer_id: str | None
    prompt_hash: str
    prompt_tokens: int
    context_tokens: int
    seconds: float
    f1: float | None = None
    """F1 of the words of an open answer; None for a question with options."""
    error: str = ""
    golds: tuple[str, ...] = ()
    """All accepted answers to an open question."""
    answerable: bool = True
    """Whether the question has an answer. If not, only an abstention is correct."""
    abstained: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Of an open answer: its sentences with their support, and whether it was cut off or refused (`AnswerChecker`)."""


_RECORD = TypeAdapter(Record)


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed between two answers to the same items: the accuracy of the first less that of the second."""

    n: int
    difference: float
    low: float
    high: float
    """Ends of the 95 % interval of the difference (paired bootstrap)."""
    p: float
    """McNemar's exact test."""
    accuracies: tuple[float, float]
    flipped: tuple[tuple[Record, Record], ...]
    """Items of which only one answer is correct."""

    def figures(self) -> dict[str, float]:
        """Return the figures without the items."""
        return {name: getattr(self, name) for name in ("n", "difference", "low", "high", "p")}

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of `eval compare`."""
        names = ("answer", "correct", "answer_id")
        flipped = [
            {
                **{name: getattr(first, name) for name in ("id", "question", "gold")},
                "first": {name: getattr(first, name) for name in names},
                "second": {name: getattr(second, name) for name in names},
            }
            for first, second in self.flipped
        ]
        return {**self.figures(), "flipped": flipped}


def read_records(folder: Path) -> list[Record]:
    """Return the items of an outcome, without a last line that a crash cut off. Raises InputError."""
    path = folder / ITEMS
    if not path.is_file():
        raise InputError(f"{folder} is not the outcome of an evaluation: it has no {ITEMS}.", hint=HINT)
    with path.open(encoding="utf-8") as file:
        return [_RECORD.validate_json(line) for line in file if line.endswith("\n")]


def read_mode(folder: Path, mode: str) -> list[Record]:
    """Return the items of an outcome in one mode. Raises InputError if it has none."""
    modes = by_mode(read_records(folder))
    if mode not in modes:
        raise InputError(f"{folder} has no mode {mode!r}.", hint=f"Choose from {', '.join(modes)}.")
    return modes[mode]


def read_about(folder: Path) -> dict[str, Any]:
    """Return what determines the answers of an outcome. Raises InputError."""
    try:
        return dict(json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} is not the outcome of an evaluation: {error}.", hint=HINT) from error


def read_location(folder: Path) -> str:
    """Return the store that has the answers of an outcome, or "" if the evaluation has not ended."""
    path = folder / SUMMARY
    return str(json.loads(path.read_text(encoding="utf-8")).get("location", "")) if path.is_file() else ""


def figures(records: Sequence[Record]) -> dict[str, Any]:
    """Return the figures of one mode: accuracy with its 95 % interval, tokens, lines and seconds."""
    n, correct = len(records), sum(record.correct for record in records)
    low, high = wilson(correct, n)
    return {
        "n": n,
        "correct": correct,
        "accuracy": correct / n if n else 0.0,
        "low": low,
        "high": high,
        "failed": sum(bool(record.error) for record in records),
        "prompt_tokens": _mean([record.prompt_tokens for record in records]),
        "context_tokens": _mean([record.context_tokens for record in records]),
        "lines": _mean([len(record.lines) for record in records]),
        "without_lines": sum(not record.lines for record in records),
        "seconds_per_item": _mean([record.seconds for record in records]),
        **_f1_figures(records),
        **_letters(records),
    }


def _letters(records: Sequence[Record]) -> dict[str, Any]:
    """Return `letters`: how often each was chosen and how often it was right. A bias shows as a difference."""
    chosen = Counter(record.label for record in records if record.label)
    right = Counter(record.gold for record in records if record.options and record.gold)
    return {"letters": {letter: [chosen[letter], right[letter]] for letter in sorted(right | chosen)}} if right else {}


def _f1_figures(records: Sequence[Record]) -> dict[str, Any]:
    """Return the figures of open answers, or `macro_f1` if all items have the same options, as verdicts do."""
    if records and all(record.f1 is not None for record in records):
        return _open_figures(records)
    if len({frozenset(record.options) for record in records}) == 1:
        golds = [record.options[LABELS.index(record.gold)] for record in records]
        chosen = [record.options[LABELS.index(record.label)] if record.label else "" for record in records]
        return {"macro_f1": macro_f1(golds, chosen)}
    return {}


def _open_figures(records: Sequence[Record]) -> dict[str, Any]:
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
    figures["unsupported"] = _proportion(is_unsupported(record.facts) for record in stated)
    figures["abstained"] = {
        name: _proportion(record.abstained for record in records if record.answerable == answerable)
        for name, answerable in (("right", False), ("wrong", True))
    }
    return figures


def _proportion(hits: Iterable[bool]) -> dict[str, float]:
    """Return the fraction of hits with its 95 % interval (Wilson)."""
    each = list(hits)
    low, high = wilson(sum(each), len(each))
    return {"n": len(each), "count": sum(each), "fraction": sum(each) / max(len(each), 1), "low": low, "high": high}


def leakage(records: Sequence[Record], unaided: Sequence[Record] = ()) -> dict[str, Any]:
    """Count the items that have a line which gives the answer away.

    `accuracy_without` is the accuracy of the other items, `gain_without` their gain over the same items `unaided`. Both are
    None if every item leaks.
    """
    clean = [record for record in records if not record.leaking]
    accuracy = _mean([record.correct for record in clean]) if clean else None
    gain = compare_records(clean, unaided).difference if clean and unaided else None
    return {"items": len(records) - len(clean), "accuracy_without": accuracy, "gain_without": gain}


def compare_records(first: Sequence[Record], second: Sequence[Record]) -> Difference:
    """Compare two lists of records on their common items. Raises InputError if there are none."""
    pairs = common_items(first, second)
    ones, twos = [one.correct for one, _ in pairs], [two.correct for _, two in pairs]
    low, mean, high = paired_difference(ones, twos)
    flipped = tuple((one, two) for one, two in pairs if one.correct != two.correct)
    return Difference(len(pairs), mean, low, high, mcnemar(ones, twos), (_mean(ones), _mean(twos)), flipped)


def common_items(first: Sequence[Record], second: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Return the records of the same items (same question and options), in pairs. Raises InputError if there are none."""
    others = {_item(record): record for record in second}
    pairs = [(record, others[_item(record)]) for record in first if _item(record) in others]
    if not pairs:
        raise InputError("The two outcomes have no item in common.", hint="Compare outcomes of the same task and split.")
    return pairs


def _item(record: Record) -> tuple[str, frozenset[str]]:
    # Not the id, which depends on the namespace.
    return record.question, frozenset(record.options)


def by_mode(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records by mode, in the order of their first record."""
    modes: dict[str, list[Record]] = {}
    for record in records:
        modes.setdefault(record.mode, []).append(record)
    return modes


def summary_rows(summary: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the column names and the rows of a summary, a row a mode. Columns without a value are left out."""
    modes, gains, leaks = summary["modes"], summary["gains"], summary["leakage"]
    is_open = any("f1" in one for one in modes.values())
    cells: dict[str, Callable[[str, dict[str, Any]], str]] = {
        "mode": lambda mode, _: mode,
        "n": lambda _, one: str(one["n"]),
        "exact match" if is_open else "accuracy": lambda _, one: _percent(one["accuracy"]),
        "95 %": lambda _, one: f"{_percent(one['low'])} to {_percent(one['high'])}",
        "gain over none": lambda mode, _: _interval(gains.get(mode), "difference"),
        "F1": lambda _, one: _percent(one.get("f1")),
        "macro-F1": lambda _, one: _percent(one.get("macro_f1")),
        "unsupported": lambda _, one: _interval(one.get("unsupported"), "fraction"),
        "abstained, no answer": lambda _, one: _interval(one.get("abstained", {}).get("right"), "fraction"),
        "abstained, answerable": lambda _, one: _interval(one.get("abstained", {}).get("wrong"), "fraction"),
        "leaking": lambda mode, _: str(leaks[mode]["items"]),
        "without leaks": lambda mode, _: _percent(leaks[mode]["accuracy_without"]),
        "tokens": lambda _, one: f"{one['prompt_tokens']:.0f}",
        "seconds": lambda _, one: f"{one['seconds_per_item']:.2f}",
    }
    columns = {name: [cell(mode, one) for mode, one in modes.items()] for name, cell in cells.items()}
    columns |= {name: [str(one.get(name) or "") for one in modes.values()] for name in ("truncated", "refused", "failed")}
    shown = {name: column for name, column in columns.items() if any(column) or name == "gain over none"}
    return list(shown), [list(row) for row in zip(*shown.values(), strict=True)]


def markdown_table(summary: dict[str, Any]) -> str:
    """Return the figures of a summary as a Markdown table."""
    columns, rows = summary_rows(summary)
    head, *rest = (f"| {' | '.join(row)} |\n" for row in [columns, *rows])
    return "".join([head, "|---" * len(columns), "|\n", *rest])


def _percent(fraction: float | None) -> str:
    return "" if fraction is None else f"{100 * fraction:.1f}"


def _interval(figure: Mapping[str, float] | None, name: str) -> str:
    """Return a figure with its interval; empty without items."""
    if not figure or not figure["n"]:
        return ""
    return f"{_percent(figure[name])} ({_percent(figure['low'])} to {_percent(figure['high'])})"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
