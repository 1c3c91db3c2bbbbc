"""How a cloud's memory of its edges scales: `python bench/edges_scale.py [--store FILE|bolt://…] [--edges 1000]`.

Edges are registered and tell their summaries, by the registry of the store; the vectors of an edge lie around one of its own.
Then some change 5 summaries each, and the summary search is timed against the engine's own way to the nearest vectors, on the
same store: the bare call of Neo4j's vector index by the driver, or the product with the matrix that an embedded store has in
memory. They take turns. Without --store an embedded one is made in a temporary place. Neo4j's login is that of the environment.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from drag_graph.compose.store_opening import open_store
from drag_graph.graph.paging import pages
from drag_graph.identity import sha256_of
from drag_graph.manage.erasing import compact
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.site_registry import SharedSummary, SiteChanges, site_id
from drag_graph.settings import Settings, load_settings
from drag_graph.sites.cloud.site_management import StoredSites
from drag_graph.stores.shared.vector_index import VectorIndex

WIDTH = 384
CHANGED = 5
ASKED = 10
"""Summaries that a question asks for, by default."""
BARE = "CALL db.index.vector.queryNodes('summary_embedding', $k, $vector) YIELD node, score RETURN node.id AS id, score"
Search = Callable[[list[float]], object]


def vectors(edge: int, number: int) -> np.ndarray:
    """Return unit vectors around one that is the edge's own."""
    drawn = np.random.default_rng(edge)
    found = drawn.normal(size=WIDTH) + 0.7 * drawn.normal(size=(number, WIDTH))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def summaries(edge: int, number: int, edition: str) -> list[SharedSummary]:
    """Return what an edge tells; another edition has other texts."""
    texts = [f"Thing {place} of edge {edge}, {edition}. " + "It has to do with the others. " * 10 for place in range(number)]
    rows = vectors(edge, number).tolist()
    return [SharedSummary(f"s{n}", sha256_of(text), text, tuple(rows[n])) for n, text in enumerate(texts)]


def tell(store: GraphStore, edge: int, shared: Sequence[SharedSummary]) -> None:
    """Do what the cloud does when an edge tells its summaries: compare hashes, write those that differ."""
    id_ = site_id(store.namespace, f"edge-{edge}")
    stored = store.registry.hashes(id_)
    dropped = stored.keys() - {item.key for item in shared}
    changed = [item for item in shared if stored.get(item.key) != item.hash]
    assert store.registry.write(SiteChanges(id_, dropped=dropped, summaries=changed))


def rate(what: str, items: Iterable[Any], work: Callable[[Any], object], clients: int) -> None:
    """Print how often a second a thing was done, by so many threads, as a cloud does it; making the items is not counted."""
    took = used = number = 0.0
    with ThreadPoolExecutor(clients) as pool:
        for some in pages(items, 10 * clients):
            began, before = time.perf_counter(), time.process_time()
            list(pool.map(work, some))
            took, used, number = took + time.perf_counter() - began, used + time.process_time() - before, number + len(some)
    each, own = 1000 * took / number, 1000 * used / number
    print(f"| {what} | {number:.0f} | {number / took:.1f} | {each:.1f} | {own:.1f} |", flush=True)


def bare_neo4j(settings: Settings, k: int) -> Search:
    """Return the vector index's own query, in a reading transaction as the registry has one."""
    import neo4j

    login = (settings.neo4j_username, settings.neo4j_password.get_secret_value())
    driver = neo4j.GraphDatabase.driver(settings.store, auth=login)

    def search(vector: list[float]) -> object:
        with driver.session(default_access_mode="READ") as session:
            return session.execute_read(lambda tx: tx.run(BARE, k=k, vector=vector).data())

    return search


def bare_embedded(edges: int, number: int) -> Search:
    """Return the product with the matrix of all vectors, and the places of the largest cosines."""
    rows = ({"id": f"{edge}:{n}", "embedding": row} for edge in range(edges) for n, row in enumerate(vectors(edge, number)))
    matrix = VectorIndex.of(0, rows).vectors

    def search(vector: list[float]) -> object:
        cosines = matrix @ np.asarray(vector, dtype=np.float32)
        best = np.argpartition(cosines, -ASKED)[-ASKED:]
        return best[np.argsort(-cosines[best])]

    return search


def compare(searches: dict[str, Search], edges: int, times: int) -> None:
    """Print the median and the 95th percentile of each search, which take turns."""
    drawn, took = np.random.default_rng(0), {name: [] for name in searches}
    for turn in range(times + 20):
        vector = vectors(int(drawn.integers(edges)), 1)[0] + 0.03 * drawn.normal(size=WIDTH)
        asked = [float(x) for x in vector / np.linalg.norm(vector)]
        for name, search in searches.items():
            began = time.perf_counter()
            search(asked)
            if turn >= 20:  # the first ones warm what is cold
                took[name].append(1000 * (time.perf_counter() - began))
    print("\n| search | median, ms | 95th percentile, ms |\n|---|---|---|")
    for name, values in took.items():
        print(f"| {name} | {np.median(values):.2f} | {np.percentile(values, 95):.2f} |")


def compaction(store: GraphStore) -> None:
    """Print how long an embedded file takes to be written anew after a removal, and how long a search then waits at most."""
    StoredSites(store).remove("edge-0")
    waits, vector = [0.0], vectors(1, 1)[0].tolist()
    with ThreadPoolExecutor(1) as pool:
        began = time.perf_counter()
        written = pool.submit(compact, store)
        while not written.done():
            asked = time.perf_counter()
            store.registry.nearest(vector, ASKED)
            waits.append(time.perf_counter() - asked)
        took = time.perf_counter() - began
    print(f"\na compaction: {took:.1f} s; {len(waits) - 1} searches meanwhile, the longest {1000 * max(waits):.0f} ms")
    print(f"the store: {written.result()}")


def measure(settings: Settings, args: argparse.Namespace) -> None:
    with open_store(settings) as store:
        store.embedder(("simulated", WIDTH))
        some = min(args.edges, 200)
        print("| what | times | a second | ms each | ms of this process |\n|---|---|---|---|---|")
        many = args.clients
        rate("registration of an edge", range(args.edges), lambda edge: StoredSites(store).add(f"edge-{edge}"), many)
        told = ((edge, summaries(edge, args.summaries, "first")) for edge in range(args.edges))
        rate(f"first telling of {args.summaries} summaries", told, lambda one: tell(store, *one), many)
        changed = (
            (edge, summaries(edge, CHANGED, "second") + summaries(edge, args.summaries, "first")[CHANGED:])
            for edge in range(some)
        )
        rate(f"update of {CHANGED} of {args.summaries} summaries", changed, lambda one: tell(store, *one), many)
        ids = [site_id(store.namespace, f"edge-{edge}") for edge in range(some)]
        rate("heartbeat", ids, lambda id_: store.registry.write(SiteChanges(id_, seen_at="2026-11-23")), many)
        began = time.perf_counter()
        store.registry.nearest(vectors(0, 1)[0].tolist(), ASKED)
        print(f"\nthe first search: {1000 * (time.perf_counter() - began):.0f} ms")
        searches: dict[str, Search] = {"the summary search": lambda vector: store.registry.nearest(vector, ASKED)}
        if settings.uses_neo4j:
            searches |= {f"the index alone, of {k}": bare_neo4j(settings, k) for k in (ASKED, 40)}
        else:
            searches["the vectors alone"] = bare_embedded(args.edges, args.summaries)
        compare(searches, args.edges, args.times)
        compaction(store)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store")
    parser.add_argument("--edges", type=int, default=1000)
    parser.add_argument("--summaries", type=int, default=100)
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--clients", type=int, default=4, help="Threads that register and tell at once.")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(load_settings({"store": args.store or str(Path(folder, "cloud.lbug"))}), args)


if __name__ == "__main__":
    main()
