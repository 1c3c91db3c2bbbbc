r"""How a student by likelihood is best asked: the same items and lines in many layouts, scored in several ways.

    drag-graph eval qasc --data FOLDER --evidence evidence_llm --split development --embedder minilm \
      --modes none,evidence,graph --folder A
    python bench/layouts.py A --model gemma.gguf -o sums.jsonl
    python bench/layouts.py B --model gemma.gguf -o sums.jsonl --layouts sentences,arrows,json,cypher,turtle

The lines are those of the outcome A, whoever its student was. What the model finds likely is kept in the file, a row an item
and layout, so that a run that was interrupted goes on; the table is of what is there of this model. B is an outcome with
`--line-format json --modes none,graph`; its edges are asked in five formats.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from drag_graph.ask.student_prompt import render
from drag_graph.evaluation.intervals import paired_difference
from drag_graph.evaluation.outcome import Record, read_records
from drag_graph.graph.edge_text import arrow, one_line, parse_adjacency, plain_words
from drag_graph.model import LABELS, Line, labelled
from drag_graph.models.causal_model import Form, log_likelihoods
from drag_graph.models.gguf_runtime import GgufModel
from drag_graph.models.students.option_scoring import softmax
from drag_graph.ports.model_roles import PLAIN, Prompt

LINES = ("evidence", "graph")


def lines_of(texts: Sequence[str]) -> list[Line]:
    """Return texts as lines of a prompt."""
    return [Line(n=n, kind="evidence", text=text, ref=str(n), source_id="-") for n, text in enumerate(texts, start=1)]


def plain(record: Record, texts: Sequence[str], **changed: Any) -> str:
    """Return a prompt in the product's plain layout, or in that with something changed."""
    return render(record.question, record.options, lines_of(texts), replace(PLAIN, **changed))


def taken_apart(record: Record, texts: Sequence[str]) -> tuple[str, str]:
    """Return the facts and the question of a plain prompt, each ending as it does there, without the trigger."""
    whole, bare = plain(record, texts), plain(record, ())
    return whole.removesuffix(bare), bare.removesuffix(TRIGGER)


def question_first(record: Record, texts: Sequence[str], *, twice: bool = False) -> str:
    facts, question = taken_apart(record, texts)
    return f"{question}\n{facts}{question if twice else ''}{TRIGGER}"


def paragraph(record: Record, texts: Sequence[str]) -> str:
    return " ".join(f"{text.rstrip('.')}." for text in texts) + f"\n\n{plain(record, ())}"


def options_first(record: Record, texts: Sequence[str]) -> str:
    listed = "\n".join(labelled(record.options))
    return f"Options:\n{listed}\n\n{plain(record, texts)}"


def edges(record: Record, texts: Sequence[str], *, write: Callable[[str, str, str], str]) -> str:
    """Return a plain prompt in which `write` rewrites each JSON line, as one line per predicate."""
    parsed = [parts for text in texts if (parts := parse_adjacency(text))]
    return plain(record, [write(subject, name, object_) for subject, names, object_ in parsed for name in names])


def cypher(subject: str, predicate: str, object_: str) -> str:
    return f"({subject})-[:{'_'.join(predicate.upper().split())}]->({object_})"


def turtle(subject: str, predicate: str, object_: str) -> str:
    first, relation, last = (f":{'_'.join(one_line(part).split())}" for part in (subject, predicate, object_))
    return f"{first} {relation} {last} ."


TRIGGER = "Answer:"
LAYOUTS: dict[str, Callable[[Record, Sequence[str]], str]] = {
    "facts-question": plain,
    "question-facts": question_first,
    "question-facts-question": partial(question_first, twice=True),
    "paragraph": paragraph,
    "best-last": partial(plain, best_last=True),
    "best-only": lambda record, texts: plain(record, texts[:1]),
    "best-three": lambda record, texts: plain(record, texts[:3]),
    "options-after": partial(plain, lists_options=True),
    "options-before": options_first,
    "sentences": lambda record, texts: plain(record, [plain_words(text) for text in texts]),
    "arrows": partial(edges, write=arrow),
    "json": plain,
    "cypher": partial(edges, write=cypher),
    "turtle": partial(edges, write=turtle),
}
FORMATS = ("sentences", "arrows", "json", "cypher", "turtle")
"""Layouts for outcomes whose lines are JSON."""


def asked(records: Sequence[Record], layouts: Sequence[str]) -> Iterator[tuple[str, Record, str]]:
    """Yield (name, item, text) of all that is to be asked."""
    by_mode: dict[str, dict[str, Record]] = {}
    for record in records:
        by_mode.setdefault(record.mode, {})[record.id] = record
    first = next(iter(by_mode.values()))
    for record in first.values():
        yield "bare", record, TRIGGER
    for record in first.values():
        yield "none", record, plain(record, ())
    for name in layouts:
        for mode in LINES:
            for record in by_mode.get(mode, {}).values():
                yield f"{mode}: {name}", record, LAYOUTS[name](record, record.lines)


def sums_of(model: GgufModel, record: Record, text: str, *, bare: bool) -> list[float]:
    """Return the log-probability of each option after a text, through the chat template where the model has one.

    The bare trigger is never in the template, as in the product (docs/reference/glossary.md).
    """
    form: Form = "text"
    if model.follows_instructions and not bare:
        text, form = model.chat(Prompt(record.question, record.options, (), text, 0)), "chat"
    gap = "" if form == "chat" else " "
    return log_likelihoods(model, text, [f"{gap}{option.strip()}" for option in record.options], form)


Found = dict[str, dict[str, dict[str, Any]]]
"""Rows by layout and item."""
SCORINGS: dict[str, Callable[[Any, Any], Any]] = {
    "option-text": lambda row, _: np.array(row["sums"]),
    "option-text-norm": lambda row, _: np.array(row["sums"]) / row["lengths"],
    "option-text-mutual-info": lambda row, bare: np.array(row["sums"]) - bare["sums"],
    "half of that": lambda row, bare: np.array(row["sums"]) - np.array(bare["sums"]) / 2,
}


def read_rows(path: Path, model: str) -> Found:
    """Return the rows of a model in a file of sums, by layout and item."""
    found: Found = {}
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines() if path.exists() else ()):
        if row["model"] != model:
            continue
        found.setdefault(row["layout"], {})[row["id"]] = row
    return found


def right(found: Found, ids: Sequence[str], score: Callable[[str], Any]) -> list[bool]:
    """Return of each item whether the option that scores best is the right one."""
    return [int(np.argmax(score(id_))) == found["none"][id_]["gold"] for id_ in ids]


def table(found: Found) -> str:
    """Return the accuracies by layout and scoring, and the gains over no lines on the same items."""
    rows = [f"| layout | n | {' | '.join(SCORINGS)} |", "|---" * (len(SCORINGS) + 2) + "|"]
    for layout, items in found.items():
        ids = [id_ for id_ in items if id_ in found["bare"] and id_ in found["none"]]
        if layout == "bare" or not ids:
            continue
        cells = []
        for scoring in SCORINGS.values():
            told, alone = (100 * np.mean(right(found, ids, partial(_score, found, name, scoring))) for name in (layout, "none"))
            cells.append(f"{told:.1f}" if layout == "none" else f"{told:.1f} ({told - alone:+.1f})")
        rows.append(f"| {layout} | {len(ids)} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _score(found: Found, layout: str, scoring: Callable[[Any, Any], Any], id_: str) -> Any:
    return scoring(found[layout][id_], found["bare"][id_])


def combinations(found: Found) -> str:
    """Return what becomes of the items when several askings decide together, by `option-text-mutual-info`."""
    score = partial(_score, found)
    scoring = SCORINGS["option-text-mutual-info"]
    told, edges, first, twice = (
        f"{mode}: {layout}"
        for mode, layout in (
            ("evidence", "facts-question"),
            ("graph", "facts-question"),
            ("evidence", "question-facts"),
            ("evidence", "question-facts-question"),
        )
    )

    def sum_of(*layouts: str) -> Callable[[str], Any]:
        return lambda id_: np.sum([score(layout, scoring, id_) for layout in layouts], axis=0)

    def against_none(share: float) -> Callable[[str], Any]:
        return lambda id_: score(told, scoring, id_) - share * score("none", scoring, id_)

    def unless_unsure(margin: float) -> Callable[[str], Any]:
        def decide(id_: str) -> Any:
            values = softmax(score(told, scoring, id_))
            best, second = np.sort(values)[::-1][:2]
            return values if best - second >= margin else score("none", scoring, id_)

        return decide

    def surer(id_: str) -> Any:
        return max((softmax(score(name, scoring, id_)) for name in (told, "none")), key=np.max)

    ways: list[tuple[str, tuple[str, ...], Callable[[str], Any]]] = [
        ("evidence and graph, summed", (edges,), sum_of(told, edges)),
        ("evidence in three layouts, summed", (first, twice), sum_of(told, first, twice)),
        ("evidence and none, summed", (), sum_of(told, "none")),
        ("evidence, less half of none", (), against_none(0.5)),
        ("none where evidence is unsure (margin 0.1)", (), unless_unsure(0.1)),
        ("none where evidence is unsure (margin 0.4)", (), unless_unsure(0.4)),
        ("the surer of evidence and none", (), surer),
    ]
    rows = ["| decided by | n | right | less evidence alone (95 %) |", "|---|---|---|---|"]
    for name, others, way in ways:
        needed = [found.get(layout, {}) for layout in (told, "none", "bare", *others)]
        ids = [id_ for id_ in needed[0] if all(id_ in items for items in needed)]
        if ids:
            together = right(found, ids, way)
            low, mean, high = (100 * part for part in paired_difference(together, right(found, ids, sum_of(told))))
            rows.append(f"| {name} | {len(ids)} | {100 * np.mean(together):.1f} | {mean:+.1f} ({low:.1f} to {high:.1f}) |")
    return "\n".join(rows)


def formats(found: Found) -> str:
    """Return the accuracy of each format of edges minus that of sentences, by `option-text-mutual-info`."""

    def rights(name: str) -> list[bool]:
        return right(found, ids, partial(_score, found, f"graph: {name}", SCORINGS["option-text-mutual-info"]))

    ids = list(found.get("graph: sentences", {}))
    rows = []
    for name in FORMATS[1:]:
        if ids and all(id_ in found.get(f"graph: {name}", {}) for id_ in ids):
            low, mean, high = (100 * part for part in paired_difference(rights(name), rights("sentences")))
            rows.append(f"{name} minus sentences, {len(ids)} items: {mean:+.1f} ({low:.1f} to {high:.1f})")
    return "\n".join(rows)


def main() -> None:
    """Ask what is left to ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outcome", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument(
        "--layouts", default=",".join(name for name in LAYOUTS if name not in FORMATS), help="comma-separated names"
    )
    parser.add_argument("--limit", type=int, default=None, help="items of each mode")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    layouts = given.layouts.split(",")
    records = read_records(given.outcome)
    ids = list(dict.fromkeys(record.id for record in records))[: given.limit]
    model = GgufModel(given.model)
    done = read_rows(given.output, model.name)
    with given.output.open("a", encoding="utf-8") as file:
        for name, record, text in asked([record for record in records if record.id in set(ids)], layouts):
            if record.id not in done.get(name, {}):
                sums = sums_of(model, record, text, bare=name == "bare")
                gold, lengths = LABELS.index(record.gold), [len(option) for option in record.options]
                row = {"model": model.name, "id": record.id, "layout": name, "sums": sums, "gold": gold, "lengths": lengths}
                file.write(json.dumps(row) + "\n")
                file.flush()
    found = read_rows(given.output, model.name)
    print(f"{table(found)}\n\n{combinations(found)}\n\n{formats(found)}")


if __name__ == "__main__":
    main()
