"""When `nearest` should abstain, and whether it quotes the right sentence.

    python bench/quoting.py --data FOLDER --folder KEPT [--embedder minilm|lexical]
    python bench/quoting.py --mixed [--student gguf:FILE.gguf --token-budget 400]

FOLDER holds LiHua-World (`lihua_world.docs.jsonl`, `lihua_world_qa.jsonl`): 271 questions that its documents answer and 36 that
they do not. The questions are halved by a hash of their id. One half fits the weights in `nearest_student.ANSWERS`, so that at
most `LIMIT` of its answerable questions are abstained; the other half reports what `DragGraph.ask` replies with the weights in
use, with 95 % intervals (Wilson). A question for which no line is found counts as abstained. KEPT has the store that was made.

Then, or with `--mixed` alone, the thirty questions on the mixed files are asked. An answer is right if it has every gold text.
"""

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from documents import MIXED, made
from edges_corpora import documents, is_for_fitting, rows

from drag_graph import DragGraph
from drag_graph.compose.model_factories import make_embedder
from drag_graph.models.locality import unchecked
from drag_graph.models.students.nearest_student import ANSWERS, NearestStudent
from drag_graph.models.students.quotation import Quotation
from drag_graph.settings import load_settings

LIMIT = {"minilm": 0.15, "lexical": 0.12}
"""Largest fraction of the answerable questions of the fitting half that are abstained, by embedder."""
RIDGE = 1.0
SETS = {
    "cosine alone": ("cosine",),
    "and the words in the passage": ("cosine", "passage"),
    "and those in no line": ("cosine", "passage", "absent"),
    "and what is asked for (`nearest`)": ("cosine", "passage", "absent", "focus"),
}


@dataclass(frozen=True)
class Asked:
    """A question, what fits it best (None without lines), and the reply of the product."""

    id: str
    is_answerable: bool
    best: Quotation | None
    is_abstained: bool
    seconds: float

    @property
    def fits(self) -> bool:
        """Whether the question is in the half that fits the weights."""
        return is_for_fitting(self.id)


def ask_all(graph: DragGraph, data: Path, embedder: str) -> list[Asked]:
    student, asked = NearestStudent(make_embedder(load_settings({"embedder": embedder}), unchecked)), list[Asked]()
    questions = rows(data / "lihua_world_qa.jsonl")
    graph.ask(questions[0]["question"], keep=False)
    for row in questions:
        started = time.perf_counter()
        answer = graph.ask(row["question"], keep=False)
        seconds = time.perf_counter() - started
        best = student.best_quotation(row["question"], answer.lines)
        asked.append(Asked(row["id"], row["qtype"] != "Null", best, answer.abstained or not answer.lines, seconds))
    return asked


def fitted(asked: Sequence[Asked], names: Sequence[str], limit: float) -> list[float]:
    """Return the intercept and the weights of a logistic regression in which both kinds of questions weigh the same."""
    used = [one for one in asked if one.fits and one.best]
    values = _values(used, names)
    center, scale = values.mean(axis=0), values.std(axis=0)
    inputs = np.c_[np.ones(len(used)), (values - center) / scale]
    target = np.array([one.is_answerable for one in used], float)
    shares = np.where(target > 0, 0.5 / target.mean(), 0.5 / (1 - target.mean()))
    ridge = RIDGE * np.diag([0.0, *np.ones(len(names))])
    weights = np.zeros(inputs.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (shares * (chance - target)) + ridge @ weights
        weights -= np.linalg.solve((inputs * (shares * chance * (1 - chance))[:, None]).T @ inputs + ridge, slope)
    raw = weights[1:] / scale
    answerable = sorted(
        _values([one], names)[0] @ raw if one.best else -math.inf for one in asked if one.fits and one.is_answerable
    )
    return [round(float(value), 2) for value in (-answerable[math.floor(limit * len(answerable))], *raw)]


def _values(asked: Sequence[Asked], names: Sequence[str]) -> np.ndarray:
    return np.array([[getattr(one.best, name) for name in names] for one in asked])


def abstains(one: Asked, names: Sequence[str], weights: Sequence[float]) -> bool:
    return one.best is None or float(_values([one], names)[0] @ np.array(weights[1:])) + weights[0] < 0


def cell(flags: Sequence[bool]) -> str:
    """Return a percentage with its 95 % interval."""
    number, share, z = len(flags), sum(flags) / len(flags), 1.96
    middle, spread = share + z * z / (2 * number), z * math.sqrt(share * (1 - share) / number + z * z / (4 * number**2))
    low, high = ((middle + side * spread) / (1 + z * z / number) for side in (-1, 1))
    return f"{sum(flags)} of {number}: {100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def report(asked: Sequence[Asked], embedder: str) -> None:
    print("| abstention by | half | unanswerable | answerable |\n|---|---|---|---|")
    for label, names in SETS.items():
        weights = fitted(asked, names, LIMIT[embedder])
        for half in ("fitting", "other"):
            chosen = [one for one in asked if one.fits == (half == "fitting")]
            cells = [
                cell([abstains(one, names, weights) for one in chosen if one.is_answerable == kind]) for kind in (False, True)
            ]
            print(f"| {label} | {half} | {' | '.join(cells)} |")
    others = [one for one in asked if not one.fits]
    cells = [cell([one.is_abstained for one in others if one.is_answerable == kind]) for kind in (False, True)]
    print(f"| **`DragGraph.ask`** | other | {' | '.join(cells)} |")
    print(f"\nFitted: {tuple(weights)}; in use: {ANSWERS[embedder]}")
    print(f"One question takes {1000 * statistics.median(one.seconds for one in asked):.0f} ms at the median.")


def mixed(embedder: str, student: str, token_budget: int | None) -> None:
    questions = rows(MIXED / "questions.jsonl")
    settings = {"embedder": embedder, "privacy": "off", "student": student, "token_budget": token_budget}
    with tempfile.TemporaryDirectory() as folder, DragGraph(f"{folder}/mixed.lbug", **settings) as graph:
        graph.ingest(MIXED / "files")
        answers = [graph.ask(row["question"], keep=False) for row in questions]
    right = [
        all(one.lower() in " ".join(answer.text.split()).lower() for one in row["gold"])
        for row, answer in zip(questions, answers, strict=True)
    ]
    print(f"\nMixed files: {cell(right)} are right, {sum(answer.abstained for answer in answers)} abstained. Not right:")
    for row, answer, is_right in zip(questions, answers, right, strict=True):
        if not is_right:
            print(f"- {row['question']} {json.dumps(answer.text, ensure_ascii=False)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--folder", type=Path, help="Where the store is kept.")
    parser.add_argument("--mixed", action="store_true", help="Only the mixed files.")
    parser.add_argument("--student", default="nearest", help="For the mixed files.")
    parser.add_argument("--token-budget", type=int, help="For the mixed files.")
    parser.add_argument("--embedder", choices=tuple(LIMIT), default="minilm")
    args = parser.parse_args()
    if not args.mixed:
        with made(args.folder, "lihua", documents(args.data, "lihua"), args.embedder, link=False) as graph:
            report(ask_all(graph, args.data, args.embedder), args.embedder)
    mixed(args.embedder, args.student, args.token_budget)


if __name__ == "__main__":
    main()
