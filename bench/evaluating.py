r"""What an evaluation takes beside embedding its texts: the student `nearest` on stored questions.

    python bench/evaluating.py --data FOLDER [--rows 1000] [--modes evidence,graph]

The questions are those of QASC, CommonsenseQA and MedMCQA with the statements that come with them, distilled before. The figure
is the processor time of asking all of them over that of embedding the same texts, question by question, in a fresh embedder.
Neither finds anything in the embedder's memory at first.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from drag_graph.app.resources import Resources
from drag_graph.compose.session import Session
from drag_graph.evaluation.evaluation_run import Evaluation, own_subgraphs
from drag_graph.evaluation.tasks import TaskItem, read_task
from drag_graph.files import write_lines
from drag_graph.inputs import InputLine
from drag_graph.model import Mode
from drag_graph.models.model_choice import make_embedder
from drag_graph.models.students.nearest_student import NearestStudent
from drag_graph.models.teachers.curated_teacher import CuratedTeacher
from drag_graph.ports.model_roles import Embedder
from drag_graph.ports.vectors import Vectors
from drag_graph.settings import load_settings

SETS = {"qasc": "evidence_llm", "commonsense_qa": "evidence_llm", "medmcqa": "evidence"}


class Recording:
    """An embedder that keeps the texts it was asked for, a list a call."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.calls: list[list[str]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._embedder, name)

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        return self._embedder.embed(texts)


def items_of(data: Path, rows: int) -> list[TaskItem]:
    """Return the first rows of the sets that have statements."""
    items: list[TaskItem] = []
    for name, key in SETS.items():
        if (data / f"{name}.jsonl").exists() and len(items) < rows:
            items += read_task(name, namespace="default", data=data, evidence=key).items
    return list({item.query.id: item for item in items}.values())[:rows]


def distill(session: Session, items: Sequence[TaskItem], folder: Path) -> None:
    """Store the items with their statements."""
    path = folder / "evidence.jsonl"
    write_lines(path, (json.dumps(item.curated()) for item in items))
    lines = [InputLine(number, item.query) for number, item in enumerate(items, start=1)]
    report = session.distiller("evaluating", teacher=CuratedTeacher(path)).run(iter(lines))
    if report.stopped:
        raise report.stopped


def processor_time(work: Callable[[], object]) -> float:
    """Return the processor time of some work in seconds."""
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--modes", default="evidence")
    given = parser.parse_args()
    items = items_of(given.data, given.rows)
    with tempfile.TemporaryDirectory() as place:
        settings = load_settings({"store": str(Path(place) / "graph.lbug"), "embedder": "minilm", "student": "nearest"})
        with Resources(settings).writing() as session:
            distill(session, items, Path(place))
            asking = Recording(make_embedder(settings))
            student = NearestStudent(cast("Embedder", asking))

            evaluation = Evaluation(
                folder=Path(place) / "outcome",
                items=items,
                modes=given.modes.split(","),
                asker=lambda mode: session.asker(student, mode=cast("Mode", mode)),
                own_lines=own_subgraphs(session.store.read),
                other_lines={},
                about={},
            )
            asked = processor_time(evaluation.run)
    fresh = make_embedder(settings)
    fresh.embed(["warm"])
    embedded = processor_time(lambda: [fresh.embed(texts) for texts in asking.calls])
    print(f"{len(items)} questions, {given.modes}: {asked:.1f} s, its texts {embedded:.1f} s, ratio {asked / embedded:.2f}")


if __name__ == "__main__":
    main()
