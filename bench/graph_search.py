"""The part of `graph.py` about a new question: the two statements of `store.search` beside the raw one that reads one subgraph.

Before it measures, it links what our side holds, with the built-in embedder, so that queries, evidence and concepts are in
their vector indexes; the raw side has the vectors of its queries. A question is near to a stored query (noise of length 0.3),
and names what that query's words name: eight concepts that thousands of entities share. From there ours goes on as `ask` does,
in two hops, with the thresholds of the built-in embedder; and once more as if everything were relevant, which is as many seeds
as there can be: five queries, ten pieces of evidence and sixteen concepts.
"""

import statistics
import time
from typing import Any

from graph_measures import RAW_NUMBERS, Bench, in_turn, near, seconds
from graph_workload import DIMENSION, id_of, subgraph

from drag_graph.ask import retrieval as retrieve

AS_ASKED = (retrieve.LEXICAL.query, retrieve.LEXICAL.line, retrieve.LEXICAL.name)
NEIGHBOURS = 10
"""Of a query, that are looked for."""
MOST = (-1.0, -1.0, -1.0)
"""Thresholds of queries, lines and names: what `ask` uses, and such that there are as many seeds as there can be."""


def link(bench: Bench) -> None:
    """Link what is new on our side."""
    from drag_graph.jobs.link_job import Linker
    from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder

    began = time.perf_counter()
    report = Linker(
        bench.store.concepts, bench.store.namespace, LexicalEmbedder(DIMENSION), lambda: "2026-01-02T03:04:05Z"
    ).run()
    print(f"linked in {time.perf_counter() - began:.0f} s: {report.to_dict()}", flush=True)


def search(bench: Bench) -> None:
    """Measure both stages of a new question, and the share of planted neighbours among the ten nearest."""
    link(bench)
    _search(bench, "new question; raw vector + 1 subgraph", AS_ASKED)
    _search(bench, "the same with the most seeds there can be", MOST)


def _search(bench: Bench, what: str, thresholds: tuple[float, float, float]) -> None:
    whole, first, second = [], [], []
    found = lines = 0
    count = 20 * bench.rounds
    for turn in range(count + 20):
        n = (turn * 7919) % bench.size
        mine, theirs = near(n), near(n + RAW_NUMBERS)
        keys = retrieve.question_keys(subgraph(n, bench.store.namespace).query.text)
        took: list[float] = []
        answer: dict[str, Any] = {}

        def ours(vector: list[float] = mine, keys: list[str] = keys, took: list[float] = took, answer: Any = answer) -> float:
            began = time.perf_counter()
            hits = bench.store.search.candidates(vector, keys, retrieve.NEAREST)
            middle = time.perf_counter()
            expansion = bench.store.search.expand(retrieve.seeds_of(hits, *thresholds).seeds, retrieve.HOPS)
            took[:] = [(middle - began) * 1000, (time.perf_counter() - middle) * 1000]
            answer.update(
                queries={hit.id for hit in hits.queries[:NEIGHBOURS]}, lines=len({item.ref for item in expansion.reached})
            )
            return sum(took)

        def raw(vector: list[float] = theirs) -> float:
            return seconds(lambda: bench.raw.nearest(vector, 2 * NEIGHBOURS)) * 1000

        pair = next(in_turn(1, ours, raw)) if turn % 2 else next(in_turn(1, raw, ours))[::-1]
        if turn >= 20:  # the first ones compile the statements
            whole.append((pair[0], pair[1]))
            first.append((took[0], pair[1]))
            second.append((took[1], pair[1]))
            found += id_of(n, bench.store.namespace) in answer["queries"]
            lines += answer["lines"]
    times = sorted(ours for ours, _ in whole)
    spread = times[int(0.99 * (len(times) - 1))] / statistics.median(times)
    note = f"planted neighbour found {found / count:.3f} (bar 0.99), p99/p50 {spread:.1f}, {lines / count:.0f} lines"
    bench.add(what, whole, "ms", "<= 2", note)
    bench.add("  its first stage, three indexes and the names", first, "ms", "-")
    bench.add("  its second stage, the lines and their audit", second, "ms", "-")
