"""How fast the graph store is, beside the raw shapes of the database, through the public store port.

    NEO4J_PASSWORD=… drag-graph db up --home /tmp/bench-neo4j --bolt-port 7790 --http-port 7791
    NEO4J_PASSWORD=… python bench/graph.py all --store bolt://127.0.0.1:7790 --sizes 200 2000 --json graph.json

What is measured: `write` (bulk), `again` (second save), `distill` (a transaction a query, 4 writers), `read`, `aggregate`,
`client` (processor time), `new` (the nearest query), or `all` of these, at each of `--sizes` stored queries; `search` (a new
question, which links the store first and so takes its time); `embedded`, the embedded engine. Ours and raw alternate in one
database and one sitting, and the ratio is the median of the pairs' ratios; only ratios mean anything on a machine that does
something else, too. The raw side carries the very same properties, vectors, indexes and simple edges (`graph_raw.py`). Use a
Neo4j that holds nothing else: what this writes is erased at the end unless `--keep`.
"""

import argparse
import json
import os
import platform
import sys
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from graph_measures import MEASURES, RAW_NUMBERS, Bench, fill
from graph_raw import Raw, load_from_cached, row_of
from graph_workload import id_of, shape, subgraphs

from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.version import __version__

EMBEDDED, SEARCH = "embedded", "search"


def main() -> None:
    """Measure what was asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=["all", "write", *MEASURES, SEARCH, EMBEDDED])
    parser.add_argument("--store", help="bolt://… of a Neo4j that holds nothing else")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--rounds", type=int, default=7, help="pairs of measurements")
    parser.add_argument("--keep", action="store_true", help="leave what was written")
    parser.add_argument("--json", type=Path, help="write the table to this file")
    options = parser.parse_args()
    wanted = (set(MEASURES) if "all" in options.what else set()) | (set(options.what) - {"all"})
    rows: list[dict[str, Any]] = []
    made_by: dict[str, Any] = {"version": __version__, "python": platform.python_version(), "cores": os.cpu_count()}
    made_by["workload"] = shape(subgraphs(range(50), "shape"))
    if wanted - {EMBEDDED}:
        if not options.store:
            parser.error("--store is wanted: the address of a Neo4j")
        rows += on_neo4j(options, wanted, made_by)
    if EMBEDDED in options.what:
        from graph_embedded import embedded

        rows += [asdict(row) for row in embedded(options.sizes, options.rounds)]
    if options.json:
        options.json.write_text(json.dumps({"made_by": made_by, "rows": rows}, indent=1) + "\n", encoding="utf-8")


def on_neo4j(options: argparse.Namespace, wanted: set[str], made_by: dict[str, Any]) -> list[dict[str, Any]]:
    """Measure on the server of `--store`, at each size."""
    import neo4j

    login = (os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD", ""))
    mark = uuid.uuid4().hex[:6]
    store = Neo4jStore(options.store, username=login[0], password=login[1], namespace=f"bench-ours-{mark}")
    quiet = {"notifications_min_severity": "OFF", "telemetry_disabled": True}
    with store, neo4j.GraphDatabase.driver(options.store, auth=login, **quiet) as driver:
        store.migrate()
        made_by["server"] = driver.get_server_info().agent
        raw = Raw(driver, f"bench-raw-{mark}")
        bench = Bench(store, raw, options.rounds)
        try:
            warm(bench)
            for size in sorted(options.sizes):
                fill(bench, size)
                if raw.kinds(id_of(0, store.namespace)) != raw.kinds(id_of(RAW_NUMBERS, raw.namespace)):
                    raise SystemExit("the raw side writes other properties than the product")
                for name, measure in MEASURES.items():
                    if name in wanted:
                        measure(bench)
                if SEARCH in wanted:
                    from graph_search import search

                    search(bench)
        finally:
            if not options.keep:
                for namespace in (store.namespace, raw.namespace):
                    erase(driver, namespace)
    return [asdict(row) for row in bench.rows]


def warm(bench: Bench) -> None:
    """Let the server compile what is about to be measured."""
    from graph_measures import BATCH, _save, _write

    for _ in range(3):
        _save(bench.store, subgraphs(bench.fresh(2 * BATCH), bench.store.namespace))
        numbers = [n + RAW_NUMBERS for n in bench.fresh(2 * BATCH)]
        _write(bench.raw, [row_of(graph) for graph in subgraphs(numbers, bench.raw.namespace)])


def erase(driver: Any, namespace: str) -> None:
    """Take away all of a namespace."""
    statement = load_from_cached("namespace_gone")
    with driver.session() as session:
        session.run(*statement.bind(namespace=namespace)).consume()


if __name__ == "__main__":
    main()
