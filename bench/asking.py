"""Many threads ask one `DragGraph` while another thread ingests documents: throughput, and how long locks are held.

    python bench/asking.py [--asks 2000] [--threads 32] [--documents 200] [--store bolt://127.0.0.1:7687]

Without --store the store is embedded, in a temporary folder. For Neo4j, set NEO4J_USERNAME and NEO4J_PASSWORD. Every answer is
compared with the one given alone; the script ends with an error if any differs.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"
longest: dict[str, float] = defaultdict(float)
"""The longest time in seconds for which a lock was held, by the place where it was made."""


class TimedLock:
    """A lock of drag-graph that records how long it is held."""

    def __init__(self, lock: Any, place: str) -> None:
        self._lock, self._place, self._depth, self._since = lock, place, 0, 0.0

    def acquire(self, *args: Any) -> bool:
        if acquired := self._lock.acquire(*args):
            self._depth += 1
            if self._depth == 1:
                self._since = time.perf_counter()
        return acquired

    def release(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._record()
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *exc: object) -> None:
        self.release()

    def _record(self) -> None:
        longest[self._place] = max(longest[self._place], time.perf_counter() - self._since)


class TimedRLock(TimedLock):
    """A reentrant lock; its time counts from the first acquisition to the last release. A `Condition` lets go to wait."""

    def _is_owned(self) -> bool:
        return self._lock._is_owned()  # noqa: SLF001

    def _release_save(self) -> tuple[int, Any]:
        self._record()
        depth, self._depth = self._depth, 0
        return depth, self._lock._release_save()  # noqa: SLF001

    def _acquire_restore(self, state: tuple[int, Any]) -> None:
        self._lock._acquire_restore(state[1])  # noqa: SLF001
        self._depth, self._since = state[0], time.perf_counter()


def timed(make: Callable[[], Any], kind: type[TimedLock]) -> Callable[[], Any]:
    """Return a lock factory whose locks are timed if drag-graph makes them, directly or in a `Condition`."""

    def lock() -> Any:
        frame = sys._getframe(1)  # noqa: SLF001
        while frame.f_back and frame.f_code.co_filename.endswith(("threading.py", "<string>")):
            frame = frame.f_back
        name = frame.f_code.co_filename
        return kind(make(), f"{name.rpartition('drag_graph/')[2]}:{frame.f_lineno}") if "drag_graph/" in name else make()

    return lock


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--asks", type=int, default=2000)
    arguments.add_argument("--threads", type=int, default=32)
    arguments.add_argument("--documents", type=int, default=200)
    arguments.add_argument("--store", default="")
    given = arguments.parse_args()
    threading.Lock = timed(threading.Lock, TimedLock)
    threading.RLock = timed(threading.RLock, TimedRLock)
    from drag_graph import DragGraph

    with tempfile.TemporaryDirectory() as folder:
        store, ledger = given.store or f"{folder}/graph.lbug", f"{folder}/asking.ledger"
        teacher = f"curated:{EXAMPLES / 'curated.jsonl'}"
        names = {"namespace": f"bench-{uuid.uuid4().hex}", "ledger": ledger, "teacher": teacher, "embedder": "lexical"}
        with DragGraph(store, **names) as graph:
            graph.distill(EXAMPLES / "questions.jsonl")
            measure(graph, given, Path(folder))


def measure(graph: Any, given: argparse.Namespace, folder: Path) -> None:
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]
    alone = {question: shown(graph.ask(question)) for question in questions}
    for number in range(given.documents):
        text = (
            f"Machine {number} of hall {number % 7} needs {number + 3} litres of oil. Its motor drives the pump {number + 1}."
        )
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    longest.clear()
    other, seconds, wrong = graph.in_namespace(f"bench-{uuid.uuid4().hex}"), [], []

    def ask(number: int) -> None:
        question = questions[number % len(questions)]
        began = time.perf_counter()
        answer = graph.ask(question)
        seconds.append(time.perf_counter() - began)
        if shown(answer) != alone[question]:
            wrong.append(question)

    began = time.perf_counter()
    run = other.ingest(sorted(folder.glob("*.txt")), wait=False)
    with ThreadPoolExecutor(given.threads) as pool:
        list(pool.map(ask, range(given.asks)))
    asking = time.perf_counter() - began
    report = run.result().to_dict()
    ingesting = time.perf_counter() - began
    print(f"{given.asks} asks by {given.threads} threads: {asking:.1f} s, {given.asks / asking:.0f} a second")
    print(f"one ask: median {1000 * median(seconds):.0f} ms, longest {1000 * max(seconds):.0f} ms")
    print(f"ingest of {given.documents} documents meanwhile: {ingesting:.1f} s; {report['totals']}")
    print("longest time that a lock was held, by the place where it was made:")
    for place, held in sorted(longest.items(), key=lambda item: -item[1])[:8]:
        print(f"  {1000 * held:8.1f} ms  {place}")
    if wrong:
        sys.exit(f"{len(wrong)} answers differ from those given alone")


def shown(answer: Any) -> tuple[Any, ...]:
    return answer.text, answer.confidence, [(line.text, line.score) for line in answer.lines]


if __name__ == "__main__":
    main()
