r"""Do lines that others' questions brought help a new question? For the threshold of options in drag_graph/ask/retrieval.py.

    python bench/found_lines.py --data FOLDER [--split development] [--embedder minilm] [--rows N] [--folds 5]
    python bench/found_lines.py --data FOLDER --stored 50,100,200,400 [--asked 61] [--student gguf:FILE.gguf]

The questions are those of QASC with the statements of `evidence_llm`. Each fold in turn is asked, never distilled, of a store
in which the others are distilled and linked; the student is `nearest`. A question for which no line is left is answered without
lines. The table gives, by the least cosine of a line and the question together with an option, how many are right, and how many
become right (+) or wrong (-) against no lines at all.

With `--stored`, questions of the test half are asked of stores of so many others, at the product's own threshold: a row a
number. Each group of `--asked` is asked in turn, all others being there to be stored; `--rows` is how many are asked in all.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

from drag_graph.app.resources import Resources
from drag_graph.ask import retrieval as retrieve
from drag_graph.compose.session import Session
from drag_graph.evaluation.intervals import paired_difference
from drag_graph.evaluation.tasks import TaskItem, read_task
from drag_graph.files import write_lines
from drag_graph.inputs import InputLine
from drag_graph.model import Mode
from drag_graph.models.teachers.curated_teacher import CuratedTeacher
from drag_graph.settings import load_settings

THRESHOLDS = (0.0, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)


Outcome = list[tuple[bool, bool]]
"""Of each question whether it is right, and whether it was shown a line."""


@contextmanager
def linked(stored: Sequence[TaskItem], embedder: str, student: str = "nearest") -> Iterator[Session]:
    """Open a session on a store in which the items are distilled and linked."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "evidence.jsonl"
        write_lines(path, (json.dumps(item.curated()) for item in stored))
        flags = {"store": str(Path(place) / "graph.lbug"), "embedder": embedder, "student": student}
        with Resources(load_settings(flags)).writing() as session:
            lines = (InputLine(number, item.query) for number, item in enumerate(stored, start=1))
            report = session.distiller("found lines", teacher=CuratedTeacher(path)).run(lines)
            if report.stopped:
                raise report.stopped
            session.linker().run()
            yield session


def answers(session: Session, asked: Sequence[TaskItem], mode: Mode) -> Outcome:
    """Ask the items in one mode."""
    questions = [InputLine(number, item.query) for number, item in enumerate(asked, start=1)]
    found = session.asker(unkept="a measurement", mode=mode).ask_all(iter(questions)).answers
    return [(bool(one.answer.correct), bool(one.answer.lines)) for one in found]


def fold(stored: Sequence[TaskItem], asked: Sequence[TaskItem], embedder: str) -> dict[float | None, Outcome]:
    """Return by threshold (None: without lines) what became of the questions."""
    with linked(stored, embedder) as session:
        found: dict[float | None, Outcome] = {}
        usual = retrieve.thresholds(session.embedder.name)
        for threshold in (None, *THRESHOLDS):
            with mock.patch.object(retrieve, "thresholds", return_value=replace(usual, answer=threshold or 0.0)):
                found[threshold] = answers(session, asked, "none" if threshold is None else "combined")
        return found


def row(outcome: Outcome, alone: Sequence[bool]) -> str:
    """Return the cells of an outcome: shown lines, right, better, worse, gain."""
    right = [one for one, _ in outcome]
    low, mean, high = paired_difference(right, alone)
    better = sum(one and not other for one, other in zip(right, alone, strict=True))
    worse = sum(other and not one for one, other in zip(right, alone, strict=True))
    shown = sum(lines for _, lines in outcome)
    gain = f"{100 * mean:.1f} ({100 * low:.1f} to {100 * high:.1f})"
    return f"{shown} | {100 * sum(right) / len(right):.1f} | {better} | {worse} | {gain} |"


def by_number_stored(given: argparse.Namespace) -> None:
    """Print a row a number of stored questions; those asked are the same."""
    read = partial(read_task, "qasc", namespace="default", data=given.data, evidence="evidence_llm", limit=None)
    items = sorted(read(split="all").items, key=lambda item: item.query.id)
    test = {item.query.id for item in read(split="test").items}
    asked = [item for item in items if item.query.id in test][: given.rows]
    alone: list[bool] = []
    found: dict[int, Outcome] = {int(number): [] for number in given.stored.split(",")}
    for start in range(0, len(asked), given.asked):
        group = asked[start : start + given.asked]
        others = [item for item in items if item not in group]
        for number, outcome in found.items():
            with linked(others[:number], given.embedder, given.student) as session:
                if number == min(found):
                    alone.extend(right for right, _ in answers(session, group, "none"))
                outcome.extend(answers(session, group, "combined"))
        print(f"{len(alone)} of {len(asked)}", file=sys.stderr)
    share = 100 * sum(alone) / len(alone)
    print(f"{len(alone)} questions, {given.student}; without lines {share:.1f}\n")
    print("| stored | shown lines | right | + | - | gain (95 %) |\n|---|---|---|---|---|---|")
    for number, outcome in found.items():
        print(f"| {number} | {row(outcome, alone)}")


def main() -> None:
    """Ask all folds, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", default="development", choices=["all", "development", "test"])
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--stored", help="numbers of stored questions, by commas")
    parser.add_argument("--asked", type=int, default=61)
    parser.add_argument("--student", default="nearest")
    given = parser.parse_args()
    if given.stored:
        by_number_stored(given)
        return
    items = read_task(
        "qasc", namespace="default", data=given.data, evidence="evidence_llm", split=given.split, limit=given.rows
    ).items
    merged: dict[float | None, Outcome] = {}
    for number in range(given.folds):
        asked = items[number :: given.folds]
        stored = [item for place, item in enumerate(items) if place % given.folds != number]
        for threshold, outcome in fold(stored, asked, given.embedder).items():
            merged.setdefault(threshold, []).extend(outcome)
        print(f"fold {number + 1} of {given.folds}", file=sys.stderr)
    alone = [right for right, _ in merged[None]]
    share = 100 * sum(alone) / len(alone)
    print(f"{len(alone)} questions, {len(items) - len(items) // given.folds} stored; without lines {share:.1f}\n")
    print("| at least | shown lines | right | + | - | gain (95 %) |\n|---|---|---|---|---|---|")
    for threshold in THRESHOLDS:
        print(f"| {threshold:.2f} | {row(merged[threshold], alone)}")


if __name__ == "__main__":
    main()
