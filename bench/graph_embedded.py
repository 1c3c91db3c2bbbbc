"""The embedded engine's part of `graph.py`: ours beside COPY of ready-made arrow tables, and beside its bare statements.

Both sides have a file of their own with the product's schema. Raw copies tables of the same properties, simple edges included,
whose making is not timed; raw reading runs the statements that fetch a subgraph on an open connection, and makes no objects.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graph_measures import Bench, Row, in_turn, seconds
from graph_workload import AGGREGATION, TRIPLES, id_of, subgraphs

from drag_graph.adapters.ladybug_store import PARTS, LadybugStore
from drag_graph.adapters.ladybug_tables import tables_of
from drag_graph.model import Aggregation
from drag_graph.queries import Statement, load

BLOCK = 500
"""Queries a `save`, which is one transaction."""


class RawFile:
    """A file reached by the engine's own connection."""

    namespace = "raw"

    def __init__(self, path: Path) -> None:
        import ladybug

        with LadybugStore(path, namespace=self.namespace) as store:
            store.migrate()
        self._database = ladybug.Database(str(path), compression=False)  # As ours: compressed, it loses vectors.
        self._connection = ladybug.Connection(self._database, num_threads=1)

    def copy(self, tables: dict[str, Any]) -> None:
        """Copy tables in one transaction."""
        self._connection.execute("BEGIN TRANSACTION")
        for name, table in tables.items():
            self._run(load(name, "ladybug"), rows=table)
        self._connection.execute("COMMIT")

    def read(self, source_id: str) -> list[list[Any]]:
        """Return all rows of a subgraph, by six statements in one transaction."""
        self._connection.execute("BEGIN TRANSACTION READ ONLY")
        found = self._run(load("read_subgraphs", "ladybug"), namespace=self.namespace, source_ids=[source_id])
        for part in PARTS:
            found += self._run(load(f"read_subgraphs_{part}", "ladybug"), source_id=source_id)
        self._connection.execute("COMMIT")
        return found

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        self._database.close()

    def _run(self, statement: Statement, **values: Any) -> list[list[Any]]:
        result = self._connection.execute(*statement.bind(**values))
        rows = []
        while result.has_next():
            rows.append(result.get_next())
        result.close()
        return rows


def embedded(sizes: list[int], rounds: int) -> list[Row]:
    """Measure at each size and return the lines."""
    with tempfile.TemporaryDirectory() as folder, LadybugStore(Path(folder) / "ours.lbug", namespace="ours") as store:
        store.migrate()
        raw = RawFile(Path(folder) / "raw.lbug")
        try:
            bench = Bench(store, raw, rounds)  # type: ignore[arg-type]
            bench.add("embedded: bulk write, empty; raw COPY", _empty(rounds), "triples/s", ">= 0.8", f"{BLOCK} queries")
            for size in sorted(sizes):
                pairs = list(_fill(store, raw, range(bench.size, size)))
                bench.size = size
                bench.add("embedded: bulk write; raw COPY", pairs, "triples/s", ">= 0.8", f"{BLOCK} queries a transaction")
                _read(bench, raw)
                _one(bench)
            return bench.rows
        finally:
            raw.close()


def _empty(rounds: int) -> list[tuple[float, float]]:
    """Write a block into files that have nothing, ours and raw in turn."""
    pairs = []
    for turn in range(rounds):
        with tempfile.TemporaryDirectory() as folder, LadybugStore(Path(folder) / "ours.lbug", namespace="ours") as store:
            store.migrate()
            raw = RawFile(Path(folder) / "raw.lbug")
            pairs += _fill(store, raw, range(BLOCK), turn)
            raw.close()
    return pairs


def _fill(store: LadybugStore, raw: RawFile, numbers: range, turn: int = 0) -> Iterator[tuple[float, float]]:
    """Write block by block, and yield our rate and the raw one, in triples a second."""
    for start in range(numbers.start, numbers.stop, BLOCK):
        block = range(start, min(start + BLOCK, numbers.stop))
        graphs = subgraphs(block, "ours")
        tables = tables_of(subgraphs(block, raw.namespace), raw.namespace, AGGREGATION)
        if tables is None:
            raise SystemExit("the raw side is COPY of arrow tables: pip install pyarrow")
        took = {}
        for side in ("ours", "raw") if turn % 2 else ("raw", "ours"):
            work = (lambda: store.save(graphs, AGGREGATION)) if side == "ours" else (lambda: raw.copy(tables))  # noqa: B023
            took[side] = len(block) * TRIPLES / seconds(work)
        yield took["ours"], took["raw"]
        turn += 1


def _read(bench: Bench, raw: RawFile) -> None:
    pairs = []
    for turn in range(40 * bench.rounds):
        n = (turn * 7919) % bench.size
        mine, theirs = id_of(n, "ours"), id_of(n, raw.namespace)

        def ours(id_: str = mine) -> float:
            return seconds(lambda: bench.store.read([id_])) * 1000

        def bare(id_: str = theirs) -> float:
            return seconds(lambda: raw.read(id_)) * 1000

        pairs += list(in_turn(1, ours, bare)) if turn % 2 else [(a, b) for b, a in in_turn(1, bare, ours)]
    bench.add("embedded: one subgraph", pairs[10:], "ms", "<= 1.5")


def _one(bench: Bench) -> None:
    graphs = subgraphs(bench.fresh(20), "ours")
    times = [seconds(lambda graph=graph: bench.store.save([graph], Aggregation())) * 1000 for graph in graphs]  # type: ignore[misc]
    bench.add("embedded: save one query", [(time, 0.0) for time in times], "ms", "-", "no raw side")
