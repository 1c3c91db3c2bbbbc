"""How fast `drag-graph import` is, beside `GraphStore.save` of the same subgraphs, and how much memory it takes.

    python bench/importing.py speed --queries 1000                     # an embedded store
    NEO4J_PASSWORD=… python bench/importing.py speed --store bolt://127.0.0.1:7790 --queries 2000
    python bench/importing.py memory --queries 500 2000 [--store …]

`speed`: ours reads lines of JSON, checks everything and stores it; the other side has the subgraphs as objects and saves them
in the same transactions. Both write into one store in one sitting, in turn; the
ratio is the median of the pairs' ratios; only ratios mean anything on a machine that does something else, too. `memory`: the
largest resident size of a process that imports files of several lengths and exports them again.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from graph_workload import AGGREGATION, DIMENSION, TRIPLES, subgraph

from drag_graph.compose.store_opening import open_store
from drag_graph.files import write_lines
from drag_graph.graph.paging import source_ids
from drag_graph.manage.subgraph_files import EmbedderSpec, Head, lines_of, read_lines
from drag_graph.manage.subgraph_import import BATCH, Importer
from drag_graph.model import Subgraph
from drag_graph.ports.graph_store import GraphStore
from drag_graph.settings import load_settings
from drag_graph.testing.builders import as_distilled
from drag_graph.testing.finding import stored_lines

EMBEDDER = EmbedderSpec(name="bench", dimension=DIMENSION)
MEGABYTE = 1024


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "memory", "child"])
    parser.add_argument("--store", default="", help="bolt://… of a Neo4j; an embedded store in a temporary folder without it")
    parser.add_argument("--queries", type=int, nargs="+", default=[1000])
    parser.add_argument("--rounds", type=int, default=5, help="pairs of measurements")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = options.store or str(Path(folder) / "graph.lbug")
        if options.what == "speed":
            speed(place, options.queries[0], options.rounds)
        elif options.what == "memory":
            memory(options.store, options.queries, Path(folder))
        else:
            child(place, options.file, Path(folder))


def store_of(place: str, namespace: str) -> GraphStore:
    """Open a store; Neo4j's password comes from the environment."""
    return open_store(load_settings({"store": place, "namespace": namespace}))


def subgraphs(numbers: Sequence[int], namespace: str) -> list[Subgraph]:
    """Return the workload's subgraphs with the ids that distilling gives, in the order of an export."""
    return sorted((as_distilled(subgraph(number, namespace)) for number in numbers), key=lambda item: item.query.id)


def lines(graphs: Sequence[Subgraph], namespace: str) -> list[bytes]:
    """Return the lines of a file."""
    stored = (graph.model_copy(update={"aggregation": AGGREGATION}) for graph in graphs)
    return [f"{line}\n".encode() for line in lines_of(Head(namespace=namespace, embedder=EMBEDDER), stored, ())]


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def load(store: GraphStore, found: Sequence[bytes]) -> None:
    """Import lines; every one must be new or known."""
    report = Importer(store).run(read_lines(iter(found), "bench"))
    if report.exit_code:
        raise SystemExit(f"the import failed: {report.to_dict()}")


def save(store: GraphStore, graphs: Sequence[Subgraph]) -> None:
    """Save subgraphs, as many a transaction as an import does."""
    for start in range(0, len(graphs), BATCH):
        store.save(graphs[start : start + BATCH], AGGREGATION)


def speed(place: str, queries: int, rounds: int) -> None:
    """Print the rates of both sides and their ratio; then of a second import and an export."""
    namespace = f"bench-{uuid.uuid4().hex[:6]}"
    found = lines(subgraphs(range(BATCH), namespace), namespace)
    each = sum(map(len, found)) / BATCH
    print(f"{queries} queries a measurement, {TRIPLES} triples a query, {each / 1000:.1f} kB a line; {_load()}")
    reading = seconds(lambda: list(read_lines(iter(found), "bench"))) / BATCH
    print(f"reading and checking alone: {reading * 1e6:.0f} us a query, {reading / TRIPLES * 1e6:.1f} us a triple")
    with store_of(place, namespace) as store:
        store.embedder((EMBEDDER.name, EMBEDDER.dimension))
        number, written = 0, list[list[bytes]]()
        pairs = []
        for turn in range(rounds + 1):
            mine = subgraphs(range(number, number + queries), namespace)
            theirs = subgraphs(range(number + queries, number + 2 * queries), namespace)
            number += 2 * queries
            written.append(lines(mine, namespace))
            sides = [
                (0, lambda: load(store, written[-1])),
                (1, lambda: save(store, theirs)),  # noqa: B023
            ]
            took = {side: seconds(work) for side, work in (sides if turn % 2 else reversed(sides))}
            if turn:  # the first ones compile the statements
                pairs.append((queries * TRIPLES / took[0], queries * TRIPLES / took[1]))
        _print("import, beside save", pairs, "triples/s")
        again = [seconds(lambda found=found: load(store, found)) for found in written[:rounds]]  # type: ignore[misc]
        print(f"second import: {queries / statistics.median(again):,.0f} queries/s, nothing changed")
        took = seconds(lambda: sum(1 for _ in stored_lines(store)))
        print(f"export of subgraphs: {number / took:,.0f} queries/s; {_load()}")
        for id_ in source_ids(store) if "://" in place else ():
            store.erase([id_])


def _print(what: str, pairs: Sequence[tuple[float, float]], unit: str) -> None:
    ours, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = [a / b for a, b in pairs]
    spread = f"{min(ratios):.2f}-{max(ratios):.2f}"
    print(f"{what}: {ours:,.0f} and {other:,.0f} {unit}, ratio {statistics.median(ratios):.2f} ({spread})", flush=True)


def memory(store: str, sizes: Sequence[int], folder: Path) -> None:
    """Print the largest resident size of a process for files of each length."""
    for size in sizes:
        path = folder / f"{size}.jsonl"
        graphs = (as_distilled(subgraph(number, "default")) for number in range(size))
        made = (graph.model_copy(update={"aggregation": AGGREGATION}) for graph in graphs)
        write_lines(path, lines_of(Head(namespace="default", embedder=EMBEDDER), made, ()))
        command = [sys.executable, __file__, "child", "--file", str(path), *(["--store", store] if store else [])]
        print(
            f"{size} queries: {subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()}", flush=True
        )


def child(place: str, file: Path, folder: Path) -> None:
    """Import a file and export it again in both forms, and print the largest resident size after each."""
    from drag_graph.manage import subgraph_files as transfer
    from drag_graph.manage.canonical_export import canonical_lines

    namespace = f"bench-{uuid.uuid4().hex[:6]}"
    said = []
    with store_of(place, namespace) as store:
        Importer(store).run(transfer.read_file(file))
        said.append(f"import {_peak():.0f} MB")
        write_lines(folder / "a.jsonl", stored_lines(store))
        said.append(f"export of subgraphs {_peak():.0f} MB")
        write_lines(folder / "b.jsonl", canonical_lines(store.records(vectors=False)))
        said.append(f"canonical export {_peak():.0f} MB")
        for id_ in source_ids(store) if "://" in place else ():
            store.erase([id_])
    print(", ".join(said))


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE


if __name__ == "__main__":
    main()
