"""Measure how well phrases (`models/students/open_answers.py`), or a model, detect replies that lack information.

    python bench/abstentions.py [--student gguf:FILE] [--errors]

`bench/data/abstentions.jsonl` has replies that were written for this benchmark and labelled by hand. The phrases were fitted on
the half `tuning` (by a hash of the reply), so `test` is what counts. Intervals: 95 %.
"""

import argparse
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from drag_graph.ask.student_prompt import assemble
from drag_graph.evaluation.intervals import wilson
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.model_choice import make_student
from drag_graph.models.students.open_answers import is_abstention
from drag_graph.settings import load_settings

ANSWERED = (
    "Does the reply answer the question, or does it say that information is missing?\nQuestion: {question}\nReply: {text}"
)
OPTIONS = ("The reply answers the question.", "The reply says that information is missing.")
Row = dict[str, Any]


def asked(name: str) -> Callable[[Row], bool]:
    """Return a function that asks a model whether a reply lacks information."""
    student = make_student(load_settings({"student": name}), LexicalEmbedder())

    def abstains(row: Row) -> bool:
        sizes = {"count_tokens": student.count_tokens, "context_window": student.context_window}
        layout = student.layout(is_open=False)
        return student.answer(assemble(ANSWERED.format(**row), OPTIONS, (), layout=layout, **sizes).prompt).label == "B"

    return abstains


def share(part: int, of: int) -> str:
    low, high = wilson(part, of)
    return f"{part} of {of}, {100 * part / max(of, 1):.0f} ({100 * low:.0f} to {100 * high:.0f})"


def report(name: str, rows: list[Row], abstains: Callable[[Row], bool], *, errors: bool) -> None:
    found = [abstains(row) for row in rows]
    right = sum(one and row["abstains"] for one, row in zip(found, rows, strict=True))
    print(f"| {name} | {share(right, sum(found))} | {share(right, sum(row['abstains'] for row in rows))} |", flush=True)
    for one, row in zip(found, rows, strict=True):
        if errors and one != row["abstains"]:
            print("  missed:" if row["abstains"] else "  wrong:", row["text"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--student", help="Also measure this model.")
    parser.add_argument("--errors", action="store_true", help="Print misjudged replies of the tuning half.")
    args = parser.parse_args()
    halves: dict[bool, list[Row]] = {True: [], False: []}
    for line in Path(__file__).with_name("data").joinpath("abstentions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        halves[sha256(row["text"].encode()).digest()[0] % 2 == 0].append(row)
    print("| detected by | precision | recall |\n|---|---|---|")
    report("phrases, tuning", halves[True], lambda row: is_abstention(row["text"]), errors=args.errors)
    report("phrases, test", halves[False], lambda row: is_abstention(row["text"]), errors=False)
    if args.student:
        report(f"{Path(args.student).stem}, test", halves[False], asked(args.student), errors=False)


if __name__ == "__main__":
    main()
