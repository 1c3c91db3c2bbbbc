"""The part of `graph.py` about a new question: the four steps of `store.search`, and the raw statement that reads one subgraph.

Before it measures, it links what our side holds, with the built-in embedder, so that queries, evidence and concepts are in
their vector indexes; the raw side has the vectors of its queries. A question is near to a stored query (noise of length 0.3),
and has that query's words. From there ours goes on with as much as
`ask` takes: 100 units, the facts around ten nodes, and the subgraphs of 30 lines.
"""

import statistics
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from graph_measures import RAW_NUMBERS, Bench, in_turn, near, seconds
from graph_workload import DIMENSION, id_of, subgraph

from drag_graph.ask import retrieval as retrieve
from drag_graph.graph.search_terms import search_terms
from drag_graph.ports.graph_search import Candidates, GraphSearch

Result = TypeVar("Result")

NEIGHBOURS = 10
"""Of a query, that are looked for."""
UNITS, NODES, FACTS, LINES = 100, 10, 32, 30
STEPS = ("candidates", "units", "around", "subgraphs")


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
    """Measure the steps of a new question, and the share of planted neighbours among the ten nearest."""
    link(bench)
    whole: list[tuple[float, float]] = []
    steps: dict[str, list[tuple[float, float]]] = {name: [] for name in STEPS}
    found = count = 0
    for turn in range(20 * bench.rounds + 20):
        n = (turn * 7919) % bench.size
        mine, theirs, text = near(n), near(n + RAW_NUMBERS), subgraph(n, bench.store.namespace).query.text
        took: list[float] = []
        nearest: set[str] = set()

        def ours(vector: list[float] = mine, text: str = text, took: list[float] = took, nearest: set[str] = nearest) -> float:
            nearest |= {hit.id for hit in _ask(bench.store.search, vector, text, took).queries[:NEIGHBOURS]}
            return sum(took)

        def raw(vector: list[float] = theirs) -> float:
            return seconds(lambda: bench.raw.nearest(vector, 2 * NEIGHBOURS)) * 1000

        pair = next(in_turn(1, ours, raw)) if turn % 2 else next(in_turn(1, raw, ours))[::-1]
        if turn >= 20:  # the first ones compile the statements
            whole.append((pair[0], pair[1]))
            for name, milliseconds in zip(STEPS, took, strict=True):
                steps[name].append((milliseconds, pair[1]))
            count += 1
            found += id_of(n, bench.store.namespace) in nearest
    times = sorted(ours for ours, _ in whole)
    spread = times[int(0.99 * (len(times) - 1))] / statistics.median(times)
    note = f"planted neighbour found {found / count:.3f} (bar 0.99), p99/p50 {spread:.1f}"
    bench.add("new question; raw vector + 1 subgraph", whole, "ms", "-", note)
    for name, pairs in steps.items():
        bench.add(f"  its {name}", pairs, "ms", "-")


def _ask(search: GraphSearch, vector: list[float], text: str, took: list[float]) -> Candidates:
    """Search as `ask` does, and append the milliseconds of each step."""

    def timed(work: Callable[[], Result]) -> Result:
        began = time.perf_counter()
        result = work()
        took.append((time.perf_counter() - began) * 1000)
        return result

    hits = timed(lambda: search.candidates(vector, search_terms(text), retrieve.NEAREST))
    found = hits.found
    ids = list(dict.fromkeys([*found.units_by_words, *found.unit_of.values()]))[:UNITS]
    units = timed(lambda: search.units(ids, np.array([vector], dtype=np.float32)))
    nodes = [fact.subject_node for unit in units for fact in unit.facts]
    facts = timed(lambda: search.around(list(dict.fromkeys(nodes))[:NODES], FACTS))
    pairs = [(fact.subject_id, fact.object_id) for fact in facts[:LINES]]
    timed(lambda: search.subgraphs(list(found.unit_of)[:LINES], pairs))
    return hits
