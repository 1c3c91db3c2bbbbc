"""What the privacy gate costs in right answers: a student, asked what leaves the gate against what was given.

    python bench/privacy_accuracy.py --data FOLDER [--student gguf:FILE] [--set NAME ...] [--kind clean|injected]
        [--limit N] [--draws 1] [--minutes M] [--seed 7]

FOLDER holds the sets; of entailmentbank_arc the facts that people wrote are shown as lines. Clean questions, and
the same with private details put in by bench/inject.py, each as often as `--draws` says, with other details. The embedder is
MiniLM, the level `standard`. Differences are of pairs, in points, with 95 % intervals (bootstrap over questions: the draws of
one question count as one). The last row of a kind is that of all its sets together.
"""

import argparse
import json
import math
import random
import time
from pathlib import Path

from inject import injected

from drag_graph.ask.student_prompt import assemble
from drag_graph.evaluation.intervals import paired_difference
from drag_graph.model import Line
from drag_graph.models.embedders.local_embedder import MINILM, LocalEmbedder
from drag_graph.models.model_choice import make_student
from drag_graph.privacy.local_rewriter import local_rewriter
from drag_graph.settings import Settings

SETS = ("mmlu", "arc_challenge", "commonsense_qa", "medmcqa", "qasc", "openbookqa", "medqa_us", "entailmentbank_arc")
KINDS = ("clean", "injected")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--student", default="nearest")
    parser.add_argument("--set", action="append", choices=SETS)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf, help="for a set and kind; what is asked until then counts")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    student = make_student(Settings(student=given.student), LocalEmbedder(MINILM))
    rewriter, draw = local_rewriter("standard"), random.Random(given.seed)

    def is_right(question: str, options: list[str], row: dict[str, object]) -> bool:
        facts = row.get("evidence") if row["dataset"] == "entailmentbank_arc" else None
        texts = facts if isinstance(facts, list) else []
        lines = tuple(Line(n=n, kind="evidence", text=text, ref=str(n), source_id="q") for n, text in enumerate(texts, 1))
        window, count = student.context_window, student.count_tokens
        assembly = assemble(
            question, options, lines, count_tokens=count, context_window=window, layout=student.layout(is_open=not options)
        )
        said = student.answer(assembly.prompt).label
        return said is not None and ord(said) - ord("A") == row["answer"]

    def told(name: str, kind: str, changed: int, off: list[float], on: list[float]) -> None:
        draws = given.draws if kind == "injected" else 1
        low, mean, high = paired_difference(on, off)
        shares = [f"{100 * sum(some) / len(on):.1f}" for some in (off, on)]
        difference = f"{100 * mean:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
        print(f"| {name} | {kind} | {len(on)} | {draws} | {changed} | {shares[0]} | {shares[1]} | {difference} |", flush=True)

    print("| set | questions | n | draws | changed | off | on | on less off |\n|---|---|---|---|---|---|---|---|")
    kinds = given.kind or KINDS
    every: dict[str, tuple[list[float], list[float]]] = {kind: ([], []) for kind in kinds}
    changed_of = dict.fromkeys(kinds, 0)
    for name in given.set or SETS:
        rows = [json.loads(line) for line in (given.data / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        rows = [row for row in rows if isinstance(row["answer"], int)][: given.limit]
        for kind in kinds:
            off, on, changed = [], [], 0
            draws = given.draws if kind == "injected" else 1
            began = time.monotonic()
            for number, row in enumerate(rows):
                if time.monotonic() - began > 60 * given.minutes:
                    break
                options = list(map(str, row["options"]))
                right = []
                for _ in range(draws):
                    question = str(injected(row, number, draw)["question"] if kind == "injected" else row["question"])
                    found = rewriter.rewrite(question, options)
                    changed += bool(found.findings)
                    as_given = is_right(question, options, row)
                    right.append((as_given, is_right(found.question, list(found.options), row) if found.findings else as_given))
                off.append(sum(before for before, _ in right) / draws)
                on.append(sum(after for _, after in right) / draws)
            told(name, kind, changed, off, on)
            every[kind][0].extend(off)
            every[kind][1].extend(on)
            changed_of[kind] += changed
    for kind in kinds:
        told("all", kind, changed_of[kind], *every[kind])


if __name__ == "__main__":
    main()
