"""What `graph.py` measures on a Neo4j: ours and raw in turn, in the same database, and the ratio of each pair."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from graph_raw import Raw, row_of
from graph_workload import AGGREGATION, TRIPLES, id_of, subgraphs, vector_of

from drag_graph.concurrency.threads import RequestCoalescer
from drag_graph.model import Subgraph
from drag_graph.ports.graph_store import GraphStore, SaveOutcome
from drag_graph.testing.finding import nearest_queries, query_ids

BATCH = 50
"""Queries a transaction of the bulk write."""
RAW_NUMBERS = 50_000_000
"""The raw side's queries have other numbers, so that no two vectors of the shared index are equal."""
WRITERS = 4
CLIENTS = 8


@dataclass
class Row:
    """One line of the table. `ratio` is ours to raw: of rates where `more` is better, of times otherwise."""

    what: str
    queries: int
    ours: float
    raw: float
    unit: str
    ratio: float
    bar: str
    note: str = ""


@dataclass
class Bench:
    """The two sides and what each holds so far."""

    store: GraphStore
    raw: Raw
    rounds: int
    size: int = 0
    extra: int = 10_000_000
    rows: list[Row] = field(default_factory=list)

    def add(self, what: str, pairs: Sequence[tuple[float, float]], unit: str, bar: str, note: str = "") -> Row:
        """Add a line from (ours, raw) pairs: medians, and the median of the ratios."""
        ours, raw = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(a / b if b else 0.0 for a, b in pairs)
        row = Row(what, self.size, round(ours, 4), round(raw, 4), unit, round(ratio, 3), bar, note)
        self.rows.append(row)
        print(f"{what:48} {self.size:6} {row.ours:12g} {row.raw:12g} {unit:12} {row.ratio:7.2f}  {bar}  {note}", flush=True)
        return row

    def fresh(self, count: int) -> list[int]:
        """Return numbers of queries that nobody has."""
        self.extra += count
        return list(range(self.extra - count, self.extra))


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def in_turn(number: int, ours: Callable[[], float], raw: Callable[[], float]) -> Iterator[tuple[float, float]]:
    """Yield (ours, raw) measurements, each first every other time."""
    for turn in range(number):
        if turn % 2:
            theirs = raw()
            yield ours(), theirs
        else:
            mine = ours()
            yield mine, raw()


def fill(bench: Bench, size: int) -> None:
    """Write both sides up to `size` queries, in turn, in blocks of 4 transactions of 50: the bulk write."""
    pairs: list[tuple[float, float]] = []
    block = 4 * BATCH
    for turn, start in enumerate(range(bench.size, size, block)):
        numbers = range(start, min(start + block, size))
        graphs = subgraphs(numbers, bench.store.namespace)
        rows = [row_of(graph) for graph in subgraphs([n + RAW_NUMBERS for n in numbers], bench.raw.namespace)]
        sides = [
            (0, lambda graphs=graphs: _save(bench.store, graphs)),  # type: ignore[misc]
            (1, lambda rows=rows: _write(bench.raw, rows)),  # type: ignore[misc]
        ]
        took = {side: seconds(work) for side, work in (sides if turn % 2 else reversed(sides))}
        pairs.append((len(numbers) * TRIPLES / took[0], len(numbers) * TRIPLES / took[1]))
    bench.size = size
    bench.add("bulk write, 50 queries a transaction", pairs, "triples/s", ">= 0.85")


def again(bench: Bench) -> None:
    """Save what is there already; raw, by MERGE on ids, and by asking only which ids are there."""
    numbers = range(min(bench.size, 4 * BATCH))
    graphs = subgraphs(numbers, bench.store.namespace)
    rows = [row_of(graph) for graph in subgraphs([n + RAW_NUMBERS for n in numbers], bench.raw.namespace)]
    ours = lambda: seconds(lambda: _save(bench.store, graphs)) * 1000  # noqa: E731
    before = bench.store.counts()
    merged = list(in_turn(bench.rounds, ours, lambda: seconds(lambda: _merge(bench.raw, rows)) * 1000))
    bench.add("second save, 200 queries; raw MERGE", merged, "ms", "<= 1.25")
    ids = [row[0] for row in rows]
    asked = in_turn(bench.rounds, ours, lambda: seconds(lambda: [bench.raw.there(some) for some in _batches(ids)]) * 1000)
    bench.add("second save, 200 queries; raw asks ids only", list(asked), "ms", "-", "checks and hashes the objects")
    if bench.store.counts() != before:
        raise SystemExit("a second save changed the store")


def distill(bench: Bench) -> None:
    """Commit each query from 4 threads; raw, the write shape at one query a transaction."""
    count = 40 * WRITERS

    def rate(write: Callable[[Any], object], items: Sequence[Any]) -> float:
        with ThreadPoolExecutor(WRITERS) as threads:
            return count * TRIPLES / seconds(lambda: list(threads.map(write, items)))

    def ours() -> float:
        return rate(lambda graph: bench.store.save([graph], AGGREGATION), subgraphs(bench.fresh(count), bench.store.namespace))

    def grouped() -> float:
        together: RequestCoalescer[Subgraph, SaveOutcome] = RequestCoalescer(
            lambda some: bench.store.save(some, AGGREGATION), most=BATCH
        )
        return rate(together, subgraphs(bench.fresh(count), bench.store.namespace))

    def raw() -> float:
        rows = [[row_of(graph)] for graph in subgraphs(bench.fresh(count), bench.raw.namespace)]
        return rate(bench.raw.write, rows)

    for side in (ours, raw, grouped):
        side()
    bench.add("one query a transaction, 4 writers", list(in_turn(bench.rounds, ours, raw)), "triples/s", ">= 0.9")
    pairs = list(in_turn(bench.rounds, grouped, raw))
    bench.add("the same as the pipeline does it (group commit)", pairs, "triples/s", ">= 0.9")


def read(bench: Bench) -> None:
    """Read single subgraphs in turn, then with 8 clients, then 100 a statement."""
    mine = [id_of(n, bench.store.namespace) for n in range(bench.size)]
    theirs = [id_of(n + RAW_NUMBERS, bench.raw.namespace) for n in range(bench.size)]
    pick = [(n * 7919) % bench.size for n in range(60 * bench.rounds)]
    ours_one = lambda n: bench.store.read([mine[n]])  # noqa: E731
    raw_one = lambda n: bench.raw.read([theirs[n]])  # noqa: E731
    for n in pick[:60]:
        ours_one(n), raw_one(n)
    pairs = []
    for turn, n in enumerate(pick):
        first, second = (ours_one, raw_one) if turn % 2 else (raw_one, ours_one)
        a, b = seconds(lambda one=first, n=n: one(n)) * 1000, seconds(lambda one=second, n=n: one(n)) * 1000  # type: ignore[misc]
        pairs.append((a, b) if turn % 2 else (b, a))
    sorted_ours, sorted_raw = (sorted(column) for column in zip(*pairs, strict=True))
    at = lambda column, part: column[int(part * (len(column) - 1))]  # noqa: E731
    bench.add("one subgraph with evidence, p50", [(at(sorted_ours, 0.5), at(sorted_raw, 0.5))], "ms", "<= 1.3")
    tail = [(at(sorted_ours, 0.99), at(sorted_raw, 0.99))]
    spread = f"p99/p50 {tail[0][0] / at(sorted_ours, 0.5):.1f} (bar 4), raw {tail[0][1] / at(sorted_raw, 0.5):.1f}"
    bench.add("one subgraph with evidence, p99", tail, "ms", "p99 <= 4 p50", spread)

    def rate(one: Callable[[int], object]) -> float:
        with ThreadPoolExecutor(CLIENTS) as threads:
            return len(pick) / seconds(lambda: list(threads.map(one, pick)))

    pairs = list(in_turn(max(3, bench.rounds // 2), lambda: rate(ours_one), lambda: rate(raw_one)))
    bench.add("subgraphs, 8 client threads", pairs, "/s", ">= 0.8")
    many = min(100, bench.size)
    pairs = list(
        in_turn(
            bench.rounds,
            lambda: many / seconds(lambda: bench.store.read(mine[:many])),
            lambda: many / seconds(lambda: bench.raw.read(theirs[:many])),
        )
    )
    bench.add(f"subgraphs, {many} a statement", pairs, "/s", "-")


def aggregate(bench: Bench) -> None:
    """Aggregate one query anew, and the whole store."""
    mine = [id_of(n, bench.store.namespace) for n in range(bench.size)]
    theirs = [id_of(n + RAW_NUMBERS, bench.raw.namespace) for n in range(bench.size)]
    pairs = []
    for n in range(20 * bench.rounds):
        a = (n * 7919) % bench.size
        ours = lambda: seconds(lambda: bench.store.aggregate([mine[a]], AGGREGATION)) * 1000  # noqa: B023, E731
        raw = lambda: seconds(lambda: bench.raw.aggregate([theirs[a]])) * 1000  # noqa: B023, E731
        pairs += list(in_turn(1, ours, raw)) if n % 2 else [(o, r) for r, o in in_turn(1, raw, ours)]
    bench.add("aggregate one query anew", pairs[10:], "ms", "<= 1.3")

    # Of each namespace all that is in it, also what other measures have written.
    everything = query_ids(bench.store)

    def whole() -> float:
        chunks = list(_batches(everything, 100))
        with ThreadPoolExecutor(2) as threads:
            return len(everything) / seconds(
                lambda: list(threads.map(lambda some: bench.store.aggregate(some, AGGREGATION), chunks))
            )

    def raw_whole() -> float:
        return bench.raw.count() / seconds(bench.raw.aggregate_all)

    pairs = list(in_turn(3, whole, raw_whole))
    bench.add("aggregate all, materialised", pairs, "queries/s", ">= 0.85", "100 queries a transaction, 2 threads; raw has 1")


def client(bench: Bench) -> None:
    """Measure what the client's own processor time is, all threads of this process."""
    count = 4 * BATCH

    def cpu(work: Callable[[], object]) -> float:
        began = time.process_time()
        work()
        return (time.process_time() - began) * 1e6

    def ours() -> float:
        graphs = subgraphs(bench.fresh(count), bench.store.namespace)
        return cpu(lambda: _save(bench.store, graphs)) / (count * TRIPLES)

    def raw() -> float:
        rows = [row_of(graph) for graph in subgraphs(bench.fresh(count), bench.raw.namespace)]
        return cpu(lambda: _write(bench.raw, rows)) / (count * TRIPLES)

    bench.add("client CPU a triple written", list(in_turn(bench.rounds, ours, raw)), "us", "ours <= 15 us")
    mine = [id_of(n, bench.store.namespace) for n in range(min(200, bench.size))]
    theirs = [id_of(n + RAW_NUMBERS, bench.raw.namespace) for n in range(min(200, bench.size))]
    pairs = list(
        in_turn(
            bench.rounds,
            lambda: cpu(lambda: [bench.store.read([id_]) for id_ in mine]) / len(mine) / 1000,
            lambda: cpu(lambda: [bench.raw.read([id_]) for id_ in theirs]) / len(theirs) / 1000,
        )
    )
    bench.add("client CPU a subgraph read, one by one", pairs, "ms", "ours <= 0.7 ms")
    pairs = list(
        in_turn(
            bench.rounds,
            lambda: cpu(lambda: bench.store.read(mine)) / len(mine) / 1000,
            lambda: cpu(lambda: bench.raw.read(theirs)) / len(theirs) / 1000,
        )
    )
    bench.add("client CPU a subgraph read, 200 at once", pairs, "ms", "ours <= 0.7 ms")


def new(bench: Bench) -> None:
    """Ask for the nearest query's subgraph by a vector near to a stored one; recall of the planted neighbour."""
    candidates = 10
    found_ours = found_raw = 0
    pairs = []
    count = 20 * bench.rounds
    for turn in range(count + 10):
        n = (turn * 7919) % bench.size
        mine, theirs = near(n), near(n + RAW_NUMBERS)
        answers: dict[str, Any] = {}

        def ours(vector: list[float] = mine, answers: dict[str, Any] = answers) -> float:
            def work() -> None:
                answers["ours"] = nearest_queries(bench.store, vector, 10)
                bench.store.read([answers["ours"][0][0]])

            return seconds(work) * 1000

        def raw(vector: list[float] = theirs, answers: dict[str, Any] = answers) -> float:
            def work() -> None:
                answers["raw"] = bench.raw.nearest(vector, 2 * candidates)

            return seconds(work) * 1000

        pair = next(in_turn(1, ours, raw)) if turn % 2 else next(in_turn(1, raw, ours))[::-1]
        if turn >= 10:  # the first ones compile the statements
            pairs.append((pair[0], pair[1]))
            found_ours += id_of(n, bench.store.namespace) in {id_ for id_, _ in answers["ours"]}
            found_raw += [row[0] for row in answers["raw"]] == [id_of(n + RAW_NUMBERS, bench.raw.namespace)]
    recall = f"planted neighbour found: ours {found_ours / count:.3f} (bar 0.99), raw at 1 {found_raw / count:.3f}"
    bench.add("new question: nearest 10 + one subgraph", pairs, "ms", "<= 2", recall)


def near(number: int) -> list[float]:
    vector, noise = vector_of(number), vector_of(-number % 1_000_003 + 900_000_000)
    return [a + 0.3 * b for a, b in zip(vector, noise, strict=True)]


def _batches(items: Sequence[Any], size: int = BATCH) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def _save(store: GraphStore, graphs: Sequence[Subgraph]) -> None:
    for some in _batches(graphs):
        store.save(some, AGGREGATION)


def _write(raw: Raw, rows: Sequence[list[Any]]) -> None:
    for some in _batches(rows):
        raw.write(some)


def _merge(raw: Raw, rows: Sequence[list[Any]]) -> None:
    for some in _batches(rows):
        raw.write(some, aggregated=False, how="raw_merge")


MEASURES: dict[str, Callable[[Bench], None]] = {
    "again": again,
    "distill": distill,
    "read": read,
    "aggregate": aggregate,
    "client": client,
    "new": new,
}
