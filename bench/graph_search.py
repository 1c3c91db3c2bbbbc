"""The part of `graph.py` about a new question: the two statements of `store.search` beside the raw one that reads one subgraph.

Before it measures, it links what our side holds, with the built-in embedder, so that queries, evidence and concepts are in
their vector indexes; the raw side has the vectors of its queries. A question is near to a stored query (noise of length 0.3),
and names what that query's words name. From it ours goes on to five queries, ten pieces of evidence and up to sixteen concepts,
in two hops, whatever the thresholds: as many seeds as there can be.
"""

import statistics
import time

from graph_measures import RAW_NUMBERS, Bench, in_turn, near, seconds
from graph_workload import DIMENSION, id_of, subgraph

from drag_graph.steps import retrieve

NO_THRESHOLD = -1.0


def link(bench: Bench) -> None:
    """Link what is new on our side."""
    from drag_graph.adapters.embedders import LexicalEmbedder
    from drag_graph.linker import Linker

    began = time.perf_counter()
    report = Linker(
        bench.store.concepts, bench.store.namespace, LexicalEmbedder(DIMENSION), lambda: "2026-01-02T03:04:05Z"
    ).run()
    print(f"linked in {time.perf_counter() - began:.0f} s: {report.document()}", flush=True)


def search(bench: Bench) -> None:
    """Measure both stages of a new question, and the share of planted neighbours among the ten nearest."""
    link(bench)
    whole, first, second = [], [], []
    found = 0
    count = 20 * bench.rounds
    for turn in range(count + 20):
        n = (turn * 7919) % bench.size
        mine, theirs = near(n), near(n + RAW_NUMBERS)
        keys = retrieve.question_keys(subgraph(n, bench.store.namespace).query.text)
        took: list[float] = []

        def ours(vector: list[float] = mine, keys: list[str] = keys, took: list[float] = took) -> float:
            began = time.perf_counter()
            hits = bench.store.search.candidates(vector, keys, retrieve.NEAREST)
            middle = time.perf_counter()
            seeds = retrieve.seeds_of(hits, NO_THRESHOLD, NO_THRESHOLD).seeds
            bench.store.search.expand(seeds, retrieve.HOPS)
            took[:] = [(middle - began) * 1000, (time.perf_counter() - middle) * 1000]
            return sum(took)

        def raw(vector: list[float] = theirs) -> float:
            return seconds(lambda: bench.raw.nearest(vector, 2 * retrieve.NEAREST)) * 1000

        pair = next(in_turn(1, ours, raw)) if turn % 2 else next(in_turn(1, raw, ours))[::-1]
        if turn >= 20:  # the first ones compile the statements
            whole.append((pair[0], pair[1]))
            first.append((took[0], pair[1]))
            second.append((took[1], pair[1]))
            hits = bench.store.search.candidates(mine, [], retrieve.NEAREST).queries
            found += id_of(n, bench.store.namespace) in {hit.id for hit in hits}
    tail = sorted(ours for ours, _ in whole)[int(0.99 * (len(whole) - 1))]
    note = (
        f"planted neighbour found {found / count:.3f} (bar 0.99), p99/p50 {tail / statistics.median(o for o, _ in whole):.1f}"
    )
    bench.add("new question, 2 hops; raw vector + 1 subgraph", whole, "ms", "<= 2", note)
    bench.add("its first stage, three indexes and the names", first, "ms", "-")
    bench.add("its second stage, the lines and their audit", second, "ms", "-")
