r"""How a student by likelihood is best asked: the same items and lines in many layouts, scored in several ways.

    drag-graph eval qasc --data FOLDER --evidence evidence_llm --split development --embedder minilm \
      --modes none,evidence,graph --folder A
    python bench/layouts.py A --model gemma.gguf -o sums.jsonl

The lines are those of the outcome A, whoever its student was. What the model finds likely is kept in the file, a row an item
and layout, so that a run that was interrupted goes on; the table is of what is there.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from drag_graph.evaluation.outcome import Record, read_records
from drag_graph.model import LABELS
from drag_graph.ports.models import Prompt
from drag_graph.students.causal import Form, log_likelihoods
from drag_graph.students.gguf import GgufModel

Layout = Callable[[Record, Sequence[str]], str]


def facts(lines: Sequence[str]) -> str:
    """Return the lines as a list of facts, as the student's own layout has them."""
    return "Facts:\n" + "".join(f"- {line}\n" for line in lines) + "\n" if lines else ""


def listed(record: Record) -> str:
    """Return the options, a line each."""
    return "\n".join(f"{label}. {option}" for label, option in zip(LABELS, record.options, strict=False))


def question(record: Record) -> str:
    """Return the question as one line."""
    return f"Question: {' '.join(record.question.split())}"


def _sentences(lines: Sequence[str]) -> str:
    return " ".join(f"{line.rstrip('.')}." for line in lines)


LAYOUTS: dict[str, Layout] = {
    "facts-question": lambda r, lines: f"{facts(lines)}{question(r)}\nAnswer:",
    "question-facts": lambda r, lines: f"{question(r)}\n\n{facts(lines)}Answer:",
    "question-facts-question": lambda r, lines: f"{question(r)}\n\n{facts(lines)}{question(r)}\nAnswer:",
    "paragraph": lambda r, lines: f"{_sentences(lines)}\n\n{question(r)}\nAnswer:",
    "best-last": lambda r, lines: f"{facts(lines[::-1])}{question(r)}\nAnswer:",
    "best-only": lambda r, lines: f"{facts(lines[:1])}{question(r)}\nAnswer:",
    "best-three": lambda r, lines: f"{facts(lines[:3])}{question(r)}\nAnswer:",
    "options-after": lambda r, lines: f"{facts(lines)}{question(r)}\n{listed(r)}\nAnswer:",
    "options-before": lambda r, lines: f"Options:\n{listed(r)}\n\n{facts(lines)}{question(r)}\nAnswer:",
}
BARE = "Answer:"


def asked(records: Sequence[Record], layouts: Sequence[str]) -> Iterator[tuple[str, Record, str]]:
    """Yield (name, item, text) of all that is to be asked."""
    by_mode: dict[str, dict[str, Record]] = {}
    for record in records:
        by_mode.setdefault(record.mode, {})[record.id] = record
    first = next(iter(by_mode.values()))
    for record in first.values():
        yield "bare", record, BARE
    for record in first.values():
        yield "none", record, LAYOUTS["facts-question"](record, ())
    for name in layouts:
        for mode in ("evidence", "graph"):
            for record in by_mode.get(mode, {}).values():
                yield f"{mode}: {name}", record, LAYOUTS[name](record, record.lines)


def sums_of(model: GgufModel, record: Record, text: str, *, bare: bool) -> list[float]:
    """Return the log-probability of each option after a text, through the chat template where the model has one."""
    form: Form = "text"
    if model.follows_instructions and not bare:
        text, form = model.chat(Prompt(record.question, record.options, (), text, 0)), "chat"
    gap = "" if form == "chat" else " "
    return log_likelihoods(model, text, [f"{gap}{option.strip()}" for option in record.options], form)


def table(path: Path) -> str:
    """Return the accuracies by layout and scoring, and the gains over no lines on the same items."""
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found.setdefault(row["layout"], {})[row["id"]] = row
    bare = {id_: np.array(row["sums"]) for id_, row in found.get("bare", {}).items()}
    scorings = {
        "option-text": lambda row: np.array(row["sums"]),
        "option-text-norm": lambda row: np.array(row["sums"]) / row["lengths"],
        "option-text-mutual-info": lambda row: np.array(row["sums"]) - bare[row["id"]],
        "half of that": lambda row: np.array(row["sums"]) - bare[row["id"]] / 2,
    }
    rows = [f"| layout | n | {' | '.join(scorings)} |", "|---" * (len(scorings) + 2) + "|"]
    for layout, items in found.items():
        ids = [id_ for id_ in items if id_ in bare and id_ in found.get("none", {})]
        if layout == "bare" or not ids:
            continue
        cells = []
        for score in scorings.values():
            right, alone = (
                100 * np.mean([int(score(rows_of[id_]).argmax()) == rows_of[id_]["gold"] for id_ in ids])
                for rows_of in (items, found["none"])
            )
            cells.append(f"{right:.1f}" if layout == "none" else f"{right:.1f} ({right - alone:+.1f})")
        rows.append(f"| {layout} | {len(ids)} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    """Ask what is left to ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outcome", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument(
        "--layouts", default=",".join(LAYOUTS).replace(", ", ";"), help="names, by commas; ; stands for a comma"
    )
    parser.add_argument("--limit", type=int, default=None, help="items of each mode")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    layouts = given.layouts.split(",")
    records = read_records(given.outcome)
    ids = list(dict.fromkeys(record.id for record in records))[: given.limit]
    done = set()
    if given.output.exists():
        done = {(row["id"], row["layout"]) for row in map(json.loads, given.output.read_text(encoding="utf-8").splitlines())}
    model = GgufModel(given.model)
    with given.output.open("a", encoding="utf-8") as file:
        for name, record, text in asked([record for record in records if record.id in set(ids)], layouts):
            if (record.id, name) not in done:
                row = {"id": record.id, "layout": name, "sums": sums_of(model, record, text, bare=name == "bare")}
                row |= {"gold": LABELS.index(record.gold), "lengths": [len(option) for option in record.options]}
                file.write(json.dumps(row) + "\n")
                file.flush()
    print(table(given.output))


if __name__ == "__main__":
    main()
