"""The outcome of an evaluation: a folder with every item, a summary and a table (docs/design.md, section 12).

    items.jsonl    an item a line: what was asked, shown and said, in which mode
    summary.json   figures by mode, and what made them
    table.md       the same to read

Items are written as they are answered, so that an evaluation that was interrupted goes on.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from drag_graph.errors import InputError
from drag_graph.evaluation.intervals import mcnemar, paired_difference, wilson
from drag_graph.evaluation.metrics import macro_f1
from drag_graph.model import LABELS

_MEASURES = {"f1": "F1", "macro_f1": "macro-F1"}
ITEMS, SUMMARY, TABLE = "items.jsonl", "summary.json", "table.md"
ABOUT = "about.json"


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
    """Of an open answer's words; None where an option was chosen."""
    error: str = ""

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """Return the record of a line of `items.jsonl`."""
        lists = {key: tuple(document[key]) for key in ("options", "probabilities", "lines")}
        return cls(**{**document, **lists})

    def document(self) -> dict[str, Any]:
        """Return it as `items.jsonl` has it."""
        return asdict(self)


def read_records(folder: Path) -> list[Record]:
    """Return the items of an outcome; a last line that was cut off by a crash counts as not written."""
    path = folder / ITEMS
    if not path.is_file():
        raise InputError(f"{folder} is no outcome of `drag-graph eval`: it has no {ITEMS}", hint="Name such a folder.")
    with path.open(encoding="utf-8") as file:
        return [Record.of(json.loads(line)) for line in file if line.endswith("\n")]


def read_mode(folder: Path, mode: str) -> list[Record]:
    """Return the items of an outcome that were asked in a mode. Raises InputError where none was."""
    found = by_mode(read_records(folder))
    if mode not in found:
        raise InputError(f"{folder} has no mode {mode!r}", hint=f"It has {', '.join(found)}.")
    return found[mode]


def read_about(folder: Path) -> dict[str, Any]:
    """Return what determines the answers of an outcome. Raises InputError where the folder does not say."""
    try:
        return dict(json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} is no outcome of `drag-graph eval`: {error}", hint="Name such a folder.") from error


def figures(records: Sequence[Record]) -> dict[str, Any]:
    """Return the figures of one mode: accuracy with its 95 % interval, and what it took."""
    n, correct = len(records), sum(record.correct for record in records)
    low, high = wilson(correct, n)
    return {
        "n": n,
        "correct": correct,
        "accuracy": correct / n if n else 0.0,
        "low": low,
        "high": high,
        "failed": sum(bool(record.error) for record in records),
        "prompt_tokens": _mean(record.prompt_tokens for record in records),
        "context_tokens": _mean(record.context_tokens for record in records),
        "lines": _mean(len(record.lines) for record in records),
        "without_lines": sum(not record.lines for record in records),
        "seconds_per_item": _mean(record.seconds for record in records),
        **_of_the_field(records),
        **_letters(records),
    }


def _letters(records: Sequence[Record]) -> dict[str, Any]:
    """Return `letters`: by letter how often it was chosen, and how often it was right. A bias shows where these differ."""
    chosen, right = (
        Counter(filter(None, found)) for found in ((r.label for r in records), (r.gold for r in records if r.options))
    )
    return {"letters": {letter: [chosen[letter], right[letter]] for letter in sorted(right | chosen)}} if right else {}


def _of_the_field(records: Sequence[Record]) -> dict[str, float]:
    """Return `f1` of open answers, `macro_f1` where all items choose among the same options, as verdicts do."""
    if all(record.f1 is not None for record in records):
        return {"f1": _mean(record.f1 or 0.0 for record in records)}
    if len({frozenset(record.options) for record in records}) == 1:
        golds = [record.options[LABELS.index(record.gold)] for record in records]
        chosen = [record.options[LABELS.index(record.label)] if record.label else "" for record in records]
        return {"macro_f1": macro_f1(golds, chosen)}
    return {}


def leakage(records: Sequence[Record], unaided: Sequence[Record] = ()) -> dict[str, Any]:
    """Return how many items were shown a line that gives the answer away, and what is left without them (None: all were).

    `accuracy_without` is of the other items, `gain_without` theirs over the same items `unaided`.
    """
    clean = [record for record in records if not record.leaking]
    without = _mean(record.correct for record in clean) if clean else None
    gain = difference(clean, unaided)["difference"] if clean and unaided else None
    return {"items": len(records) - len(clean), "accuracy_without": without, "gain_without": gain}


def difference(ones: Sequence[Record], others: Sequence[Record]) -> dict[str, Any]:
    """Compare two lists of records on the items that both have. Raises InputError where they share none."""
    known = {_item(record): record for record in others}
    pairs = [(record, known[_item(record)]) for record in ones if _item(record) in known]
    if not pairs:
        raise InputError("the two have no item in common", hint="Compare outcomes of the same task and split.")
    first, second = [one.correct for one, _ in pairs], [other.correct for _, other in pairs]
    low, mean, high = paired_difference(first, second)
    flipped = [(one, other) for one, other in pairs if one.correct != other.correct]
    return {
        "n": len(pairs),
        "difference": mean,
        "low": low,
        "high": high,
        "p": mcnemar(first, second),
        "flipped": [
            {
                "id": one.id,
                "question": one.question,
                "gold": one.gold,
                "first": {"answer": one.answer, "correct": one.correct, "answer_id": one.answer_id},
                "second": {"answer": other.answer, "correct": other.correct, "answer_id": other.answer_id},
            }
            for one, other in flipped
        ],
    }


def _item(record: Record) -> tuple[str, frozenset[str]]:
    # Not its id: what is distilled otherwise is in another namespace, under other ids.
    return record.question, frozenset(record.options)


def by_mode(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records by mode, in the order in which the modes first come."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.mode, []).append(record)
    return found


def table(summary: dict[str, Any]) -> str:
    """Return the figures as a Markdown table."""
    every = list(summary["modes"].values())
    extra = {key: head for key, head in _MEASURES.items() if every and all(key in one for one in every)}
    heads = ["mode", "n", "accuracy", "95 %", "gain over none", *extra.values(), "leaking items", "accuracy without them"]
    fails = any(one["failed"] for one in every)
    heads += ["tokens a prompt", "seconds", *(["failed"] if fails else [])]
    rows = [heads]
    for mode, found in summary["modes"].items():
        gain, leak = summary["gains"].get(mode), summary["leakage"][mode]
        row = [mode, str(found["n"]), _points(found["accuracy"]), f"{_points(found['low'])} to {_points(found['high'])}"]
        row.append(f"{_points(gain['difference'])} ({_points(gain['low'])} to {_points(gain['high'])})" if gain else "")
        row += [_points(found[key]) for key in extra]
        without = leak["accuracy_without"]
        row += [str(leak["items"]), "" if without is None else _points(without)]
        row += [f"{found['prompt_tokens']:.0f}", f"{found['seconds_per_item']:.2f}"]
        rows.append([*row, str(found["failed"])] if fails else row)
    head, *rest = (f"| {' | '.join(row)} |\n" for row in rows)
    return "".join([head, "|---" * len(heads), "|\n", *rest])


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
