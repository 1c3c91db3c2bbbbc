"""How large a Neo4j store is for each query, and whether asking it costs the same as it grows.

    NEO4J_PASSWORD=… drag-graph db up --home /tmp/size --bolt-port 7792 --http-port 7793 --heap 2g --page-cache 4g
    NEO4J_PASSWORD=… python bench/graph_size.py --store bolt://127.0.0.1:7792 --home /tmp/size --sizes 2000 20000 50000

Writes the workload of `graph.py` up to each size, and prints the
median and 99th percentile of reading one subgraph, of finding ten neighbours of a stored query, and the share of the planted
neighbours that were found: ten copies of a vector, each with noise, are stored among the others, and asked for by the vector
without noise. `--link` then links all with the built-in embedder, and measures the two stages of a new question. Use a new
home for each run; what is written stays. How large it is can be seen when the server has stopped, which writes everything out:

    drag-graph db down --home /tmp/size; python bench/graph_size.py --home /tmp/size --sizes 50000
"""

import argparse
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from graph_workload import AGGREGATION, DIMENSION, id_of, subgraph, vector_of

from drag_graph.model import Subgraph
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.testing.finding import nearest_queries

BATCH = 50
NAMESPACE = "size"
PLANTED = 10
NOISE = 0.6
"""Length of the noise that a planted neighbour has; its cosine to the vector without is about 0.86."""
EVERY = 200
"""Of so many queries one is the middle of planted neighbours."""


def made(number: int) -> Subgraph:
    """Return query `number`: behind each multiple of EVERY come its planted neighbours."""
    place = number % EVERY
    graph = subgraph(number, NAMESPACE)
    if not 1 <= place <= PLANTED:
        return graph
    middle = np.asarray(vector_of(number - place))
    noise = np.asarray(vector_of(10**9 + number))
    near = middle + NOISE * noise
    return graph.model_copy(update={"embedding": tuple(float(x) for x in (near / np.linalg.norm(near)).astype(np.float32))})


def main() -> None:
    """Write, look, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", help="bolt://… of the running server; without it, only the files are looked at")
    parser.add_argument("--home", type=Path, required=True, help="the server's folder, as given to `db up`")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 20000, 50000])
    parser.add_argument("--looks", type=int, default=300, help="reads and searches of each size")
    parser.add_argument("--link", action="store_true", help="link at the end")
    options = parser.parse_args()
    if not options.store:
        print_sizes(options.home, max(options.sizes))
        return
    login = (os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD", ""))
    store = Neo4jStore(options.store, username=login[0], password=login[1], namespace=NAMESPACE)
    with store:
        store.migrate()
        done = 0
        for size in sorted(options.sizes):
            began = time.perf_counter()
            fill(store, done, size)
            print(f"{size} queries; the last ones in {time.perf_counter() - began:.0f} s, with the time to make them up")
            done = size
            look(store, size, options.looks)
        if options.link:
            link(store)
            ask(store, done, options.looks)


def fill(store: Neo4jStore, start: int, end: int) -> None:
    """Write the queries from `start` on, from two threads."""

    def write(numbers: Sequence[int]) -> None:
        store.save([made(number) for number in numbers], AGGREGATION)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, (range(first, min(first + BATCH, end)) for first in range(start, end, BATCH))))


def print_sizes(home: Path, queries: int) -> None:
    """Print what the files of the store hold, by kind, as bytes a query."""
    folder = home / "data" / "databases" / "neo4j"
    parts: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file():
            parts[kind_of(path.relative_to(folder))] += path.stat().st_blocks * 512
    for name, number in parts.most_common():
        print(f"  {name:24} {number / queries:10.0f} bytes a query")
    print(f"  {'together':24} {parts.total() / queries:10.0f} bytes a query, {parts.total() / 2**20:.0f} MiB", flush=True)


def kind_of(path: Path) -> str:
    """Return what a file of the store is for."""
    text = str(path)
    kinds = ("vector", "range", "token-lookup", "arrays", "strings", "propertystore", "relationship", "nodestore")
    return next((kind for kind in kinds if kind in text), "other")


def look(store: Neo4jStore, size: int, looks: int) -> None:
    """Print the times of reading and of finding neighbours, and the share of the planted ones that were found."""
    picks = [(turn * 7919) % size for turn in range(looks + 20)]
    times(lambda n: store.read([id_of(n, NAMESPACE)]), picks, "one subgraph")
    middles = [n - n % EVERY for n in picks]
    found: list[float] = []

    def nearest(middle: int) -> None:
        # With the middle itself there are eleven, of which ten are asked for.
        planted = {id_of(middle + place, NAMESPACE) for place in range(PLANTED + 1)}
        found.append(len(planted & {id_ for id_, _ in nearest_queries(store, vector_of(middle), PLANTED)}) / PLANTED)

    times(nearest, middles, "ten nearest queries")
    print(f"  {'recall at 10':24} {statistics.mean(found):10.4f}  of {len(set(middles))} planted groups", flush=True)


def ask(store: Neo4jStore, size: int, looks: int) -> None:
    """Print the times of finding candidates for a new question in queries and evidence, and of reading what is around them."""
    from drag_graph.ask import retrieval as retrieve

    picks = [(turn * 7919) % size for turn in range(looks + 20)]

    def found(n: int) -> list[str]:
        near = store.search.candidates(vector_of(n), [], retrieve.NEAREST)
        return list({*near.found.unit_of.values(), *(hit.id for hit in near.queries)})[:100]

    times(found, picks, "candidates of a question")
    units = {n: found(n) for n in picks}
    times(lambda n: store.search.units(units[n], np.array([vector_of(n)], dtype=np.float32)), picks, "their units")


def times(work: Callable[[int], object], picks: Sequence[int], what: str) -> None:
    """Call `work` for each and print the median and the 99th percentile; the first 20 are to warm up."""
    took = sorted(list(_timed(work, picks))[20:])
    print(
        f"  {what:24} {statistics.median(took):10.2f} ms, 99th percentile {took[int(0.99 * (len(took) - 1))]:.2f} ms",
        flush=True,
    )


def _timed(work: Callable[[int], object], picks: Sequence[int]) -> Iterator[float]:
    for pick in picks:
        began = time.perf_counter()
        work(pick)
        yield (time.perf_counter() - began) * 1000


def link(store: Neo4jStore) -> None:
    """Link what is there, with the built-in embedder."""
    from drag_graph.jobs.link_job import Linker
    from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder

    began = time.perf_counter()
    Linker(store.concepts, NAMESPACE, LexicalEmbedder(DIMENSION), lambda: "2026-01-02T03:04:05+00:00").run()
    print(f"  linked in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
