"""What `--engine ray` brings on one machine: one worker process against two, beside the local engine.

    python bench/ray_scaling.py [--workers 64 128] [--latency 2] [--rounds 2] [--burn 0.1] [--queries 32]

The latency-bound teacher is the project's scripted server in a process of its own, `--latency` seconds away; each worker gets
`--rounds` questions. The CPU-bound one answers at once, and its client computes for `--burn` seconds of processor time in the
process that asks, before each reply: as a model in that process would. Lean plan, lexical embedder, embedded store, tape and
budget. Prints one Markdown table a teacher.
"""

import argparse
import platform
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from distill import CALLS, Server, questions, settings_for

from drag_graph.compose.model_factories import make_teacher
from drag_graph.compose.store_opening import open_store
from drag_graph.concurrency.interruption import Interruption
from drag_graph.distill.query_distillation import Distillation
from drag_graph.jobs.distill_job import Distiller
from drag_graph.jobs.ray.ray_distillation import RayDistillation
from drag_graph.ledger import Ledger
from drag_graph.ledger.journal import start_run
from drag_graph.models.model_choice import make_embedder
from drag_graph.ports.run_journal import Run
from drag_graph.version import __version__

ROOT = Path(__file__).resolve().parents[1]
ENGINES = (("local", 0), ("ray", 1), ("ray", 2))


class Burning:
    """A teacher that computes before it answers: so many turns of a loop that holds the interpreter."""

    def __init__(self, teacher: Any, turns: int) -> None:
        self._teacher, self._turns = teacher, turns

    def __getattr__(self, name: str) -> Any:
        return getattr(self._teacher, name)

    def ask(self, request: Any) -> Any:
        burn(self._turns)
        return self._teacher.ask(request)


def burn(turns: int) -> None:
    for _ in range(turns):
        pass


def turns_of(seconds: float) -> int:
    """Return how many turns take so many seconds of processor time."""
    sample = 2_000_000
    began = time.thread_time()
    burn(sample)
    return int(sample * seconds / (time.thread_time() - began))


def measure(where: tuple[str, int], number: int, turns: int, settings: Any, file: Path) -> float:
    """Distill `number` questions after as many as there are workers, which are not counted; return the seconds."""
    engine, processes = where
    settings = settings.model_copy(update={"engine": engine, "ray_processes": processes or None})
    store, embedder, ledger = open_store(settings), make_embedder(settings), Ledger(settings.ledger_path)

    def new_run() -> Run:
        named = {"namespace": settings.namespace, "teacher": settings.teacher, "plan": settings.plan}
        return start_run(kind="bench", store="", source="", **named)

    run = new_run()
    if engine == "ray":
        from drag_graph.jobs.ray import ray_distillation as distillation
        from drag_graph.jobs.ray.ray_worker import Worker

        class BurningWorker(Worker):
            def _make(self) -> Distillation:
                made = super()._make()
                made._teacher = Burning(made._teacher, turns)  # noqa: SLF001 - a measurement
                return made

        distillation.Worker = BurningWorker
        distills: Any = RayDistillation(settings, embedder, run)
    else:
        distills = Distillation(settings, embedder, Burning(make_teacher(settings, run, Interruption(), ledger), turns))
    store.embedder((embedder.name, embedder.dimension))
    lines = questions(file, settings.workers + number, settings.namespace)
    parts: Sequence[list[Any]] = (lines[: settings.workers], lines[settings.workers :])
    for part in parts:
        began = time.perf_counter()
        report = Distiller(store, distills, ledger.journal, new_run(), workers=settings.workers).run(part)
        seconds = time.perf_counter() - began
        assert report.totals()["complete"] == len(part), report.stopped
    if engine == "ray":
        distills.close()
    ledger.close()
    store.close()
    return seconds


def table(name: str, rows: Sequence[dict[str, Any]]) -> None:
    print(f"\n{name}\n")
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + " --- |" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(str(value) for value in row.values()) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, default=ROOT / "examples" / "questions.jsonl")
    parser.add_argument("--workers", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--latency", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--burn", type=float, default=0.1)
    parser.add_argument("--queries", type=int, default=32)
    parser.set_defaults(store="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Server(options.latency) as server:

        def seconds_of(where: tuple[str, int], workers: int, number: int, turns: int) -> float:
            settings = settings_for(server.url, folder, options, workers=workers, embedder="lexical")
            return measure(where, number, turns, settings, options.questions)

        rows = []
        for workers in options.workers:
            number = workers * options.rounds
            found = [seconds_of(engine, workers, number, 0) for engine in ENGINES]
            ideal = options.rounds * CALLS * options.latency
            shares = {f"share, {name_of(*engine)}": f"{ideal / took:.3f}" for engine, took in zip(ENGINES, found, strict=True)}
            rows.append({"workers": workers, "questions": number, **shares, "two for one": f"{found[1] / found[2]:.2f}"})
        table(f"Latency-bound: {options.latency:g} s a call", rows)
        server.order(0.0)
        turns = turns_of(options.burn)
        found = [seconds_of(engine, 8, options.queries, turns) for engine in ENGINES]
        seconds = {f"s, {name_of(*engine)}": f"{took:.1f}" for engine, took in zip(ENGINES, found, strict=True)}
        row = {"workers": 8, "questions": options.queries, **seconds, "two for one": f"{found[1] / found[2]:.2f}"}
        table(f"CPU-bound: {options.burn:g} s of processor time a call", [row])
    print(f"\ndrag-graph {__version__}, Python {platform.python_version()}, {platform.machine()}")


def name_of(engine: str, processes: int) -> str:
    return f"{processes} by Ray" if processes else engine


if __name__ == "__main__":
    main()
