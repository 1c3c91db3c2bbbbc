r"""Do lines that others' questions brought help a new question? For the threshold of options in drag_graph/ask/retrieve.py.

    python bench/found_lines.py --data FOLDER [--split development] [--embedder minilm] [--rows N] [--folds 5]

The questions are those of QASC with the statements of `evidence_llm`. Each fold in turn is asked, never distilled, of a store
in which the others are distilled and linked; the student is `nearest`. A question for which no line is left is answered without
lines. The table gives, by the least cosine of a line and the question together with an option, how many are right, and how many
become right (+) or wrong (-) against no lines at all.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from drag_graph.ask import retrieve
from drag_graph.bootstrap import open_session
from drag_graph.evaluation.statistics import paired_difference
from drag_graph.evaluation.tasks import TaskItem, read_task
from drag_graph.files import write_lines
from drag_graph.inputs import InputLine
from drag_graph.settings import load_settings
from drag_graph.teachers.curated import CuratedTeacher

THRESHOLDS = (0.0, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)


def fold(stored: Sequence[TaskItem], asked: Sequence[TaskItem], embedder: str) -> dict[float | None, list[tuple[bool, bool]]]:
    """Return by threshold (None: without lines) of each question whether it is right, and whether it was shown a line."""
    import json

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "evidence.jsonl"
        write_lines(path, (json.dumps(item.curated()) for item in stored))
        flags = {"store": str(Path(place) / "graph.lbug"), "embedder": embedder, "student": "nearest"}
        with open_session(load_settings(flags)) as session:
            lines = (InputLine(number, item.query) for number, item in enumerate(stored, start=1))
            report = session.distiller("found lines", teacher=CuratedTeacher(path)).run(lines)
            if report.stopped:
                raise report.stopped
            session.linker().run()
            questions = [InputLine(number, item.query) for number, item in enumerate(asked, start=1)]
            found = {}
            for threshold in (None, *THRESHOLDS):
                retrieve.ANSWER_RELEVANCE[session.embedder.name] = threshold or 0.0
                asker = session.asker(keep=False, mode="none" if threshold is None else "combined")
                answers = asker.ask_all(iter(questions)).answers
                found[threshold] = [(bool(one.answer.correct), bool(one.answer.lines)) for one in answers]
            return found


def main() -> None:
    """Ask all folds, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", default="development", choices=["all", "development", "test"])
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--folds", type=int, default=5)
    given = parser.parse_args()
    items = read_task(
        "qasc", namespace="default", data=given.data, evidence="evidence_llm", split=given.split, limit=given.rows
    )
    merged: dict[float | None, list[tuple[bool, bool]]] = {}
    for number in range(given.folds):
        asked = items[number :: given.folds]
        stored = [item for place, item in enumerate(items) if place % given.folds != number]
        for threshold, answers in fold(stored, asked, given.embedder).items():
            merged.setdefault(threshold, []).extend(answers)
        print(f"fold {number + 1} of {given.folds}", file=sys.stderr)
    alone = [right for right, _ in merged[None]]
    share = 100 * sum(alone) / len(alone)
    print(f"{len(alone)} questions, {len(items) - len(items) // given.folds} stored; without lines {share:.1f}\n")
    print("| at least | shown lines | right | + | - | gain (95 %) |\n|---|---|---|---|---|---|")
    for threshold in THRESHOLDS:
        right = [one for one, _ in merged[threshold]]
        low, mean, high = paired_difference(right, alone)
        better = sum(one and not other for one, other in zip(right, alone, strict=True))
        worse = sum(other and not one for one, other in zip(right, alone, strict=True))
        shown = sum(lines for _, lines in merged[threshold])
        gain = f"{100 * mean:.1f} ({100 * low:.1f} to {100 * high:.1f})"
        print(f"| {threshold:.2f} | {shown} | {100 * sum(right) / len(right):.1f} | {better} | {worse} | {gain} |")


if __name__ == "__main__":
    main()
