"""The embedded engine's part of `graph.py`: reading beside its bare statements, and writing.

Raw reading runs the statements that fetch a subgraph, and makes no objects. Writing has no raw side: it is
by statements.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graph_measures import Bench, Row, in_turn, seconds
from graph_workload import AGGREGATION, TRIPLES, id_of, subgraphs

from drag_graph.model import Aggregation
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.stores.ladybug.subgraphs import PARTS

BLOCK = 500
"""Queries a `save`, which is one transaction."""


def embedded(sizes: list[int], rounds: int) -> list[Row]:
    """Measure at each size and return the lines."""
    with tempfile.TemporaryDirectory() as folder, LadybugStore(Path(folder) / "ours.lbug", namespace="ours") as store:
        store.migrate()
        bench = Bench(store, store, rounds)  # type: ignore[arg-type]
        for size in sorted(sizes):
            rates = [(rate, 0.0) for rate in _fill(store, range(bench.size, size))]
            bench.size = size
            bench.add("embedded: bulk write", rates, "triples/s", "-", f"{BLOCK} queries a transaction")
            _one(bench)
            _read(bench, store)
        return bench.rows


def _fill(store: LadybugStore, numbers: range) -> Iterator[float]:
    """Write block by block, and yield the rate in triples a second."""
    for start in range(numbers.start, numbers.stop, BLOCK):
        graphs = subgraphs(range(start, min(start + BLOCK, numbers.stop)), "ours")
        yield len(graphs) * TRIPLES / seconds(lambda graphs=graphs: store.save(graphs, AGGREGATION))  # type: ignore[misc]


def _read(bench: Bench, store: LadybugStore) -> None:
    pairs = []
    for turn in range(40 * bench.rounds):
        id_ = id_of((turn * 7919) % bench.size, "ours")

        def ours(id_: str = id_) -> float:
            return seconds(lambda: store.read([id_])) * 1000

        def bare(id_: str = id_) -> float:
            return seconds(lambda: _rows(store, id_)) * 1000

        pairs += list(in_turn(1, ours, bare)) if turn % 2 else [(a, b) for b, a in in_turn(1, bare, ours)]
    bench.add("embedded: one subgraph", pairs[10:], "ms", "<= 1.5")


def _rows(store: LadybugStore, source_id: str) -> list[Any]:
    """Return all rows of a subgraph, by seven statements in one transaction."""
    with store.reading() as session:
        found = session.run("read_subgraphs", namespace=store.namespace, source_ids=[source_id])
        found += session.run("read_subgraphs_calls", ids=found[0]["call_ids"])
        for part in (*PARTS, "evidence_calls"):
            found += session.run(f"read_subgraphs_{part}", namespace=store.namespace, source_id=source_id)
    return found


def _one(bench: Bench) -> None:
    graphs = subgraphs(bench.fresh(20), "ours")
    times = [seconds(lambda graph=graph: bench.store.save([graph], Aggregation())) * 1000 for graph in graphs]  # type: ignore[misc]
    bench.add("embedded: save one query", [(time, 0.0) for time in times], "ms", "-", "no raw side")
