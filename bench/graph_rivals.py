"""How fast the store writes beside `Neo4jWriter` of neo4j-graphrag and `Neo4jGraph` of langchain-neo4j, into one server.

    pip install neo4j-graphrag langchain-neo4j            # into an environment of its own, with this project
    drag-graph db up --home /tmp/rivals --bolt-port 7790 --http-port 7791; drag-graph db down --home /tmp/rivals
    # put the jars of org.neo4j.procedure:apoc-core:5.26.19, of apoc-common and what they depend on into /tmp/rivals/plugins and
    # beside the server's own in ~/.cache/drag-graph/neo4j/5.26.30/lib, and start it again:
    NEO4J_PASSWORD=… drag-graph db up --home /tmp/rivals --bolt-port 7790 --http-port 7791
    NEO4J_PASSWORD=… python bench/graph_rivals.py --store bolt://127.0.0.1:7790 --rounds 5 --queries 200

Every round, each writes as many new queries of the workload of `graph.py`, in turn, 50 queries at once (langchain-neo4j takes a
document at a time, which is a query here). Each is given what it can hold, in its own model, and is set up as its documentation
advises: neo4j-graphrag with its batches and its clean-up once for every 50 queries; langchain-neo4j with `baseEntityLabel`,
which makes an index. Ours writes more than they: teacher calls, simple edges, vectors in an index, constraints on every id.
At the end the edges that each kept are counted.
"""

import argparse
import asyncio
import os
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from graph import erase
from graph_workload import AGGREGATION, TRIPLES, subgraphs

from drag_graph.model import Subgraph
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore

BATCH = 50


def graphrag(driver: Any) -> Callable[[Sequence[Subgraph]], object]:
    """Return the writer of neo4j-graphrag: queries as documents, evidence as chunks, entities, triples as relationships."""
    from neo4j_graphrag.components.kg_writer import Neo4jWriter
    from neo4j_graphrag.components.types import Neo4jGraph, Neo4jNode, Neo4jRelationship

    writer = Neo4jWriter(driver)

    def graph_of(graphs: Sequence[Subgraph]) -> Any:
        nodes, relationships = [], []
        for graph in graphs:
            query = graph.query
            vector = {"embedding": list(graph.embedding)}
            nodes.append(Neo4jNode(id=query.id, label="Document", properties={"text": query.text}, embedding_properties=vector))
            for item in graph.evidence:
                kept = {"text": item.text, "score": item.score, "rank": item.rank}
                nodes.append(Neo4jNode(id=item.id, label="Chunk", properties=kept))
                relationships.append(Neo4jRelationship(start_node_id=item.id, end_node_id=query.id, type="FROM_DOCUMENT"))
            nodes += [Neo4jNode(id=item.id, label="Entity", properties={"name": item.name}) for item in graph.entities]
            relationships += [
                Neo4jRelationship(
                    start_node_id=item.subject_id,
                    end_node_id=item.object_id,
                    type=item.predicate.upper(),
                    properties={"confidence": item.confidence, "evidence_id": item.evidence_id, "rank": item.rank},
                )
                for item in graph.triples
            ]
        return Neo4jGraph(nodes=nodes, relationships=relationships)

    def write(graphs: Sequence[Subgraph]) -> None:
        done = asyncio.run(writer.run(graph=graph_of(graphs)))
        if done.status != "SUCCESS":
            raise SystemExit(f"neo4j-graphrag could not write: {done.metadata}")

    return write


def langchain(uri: str, login: tuple[str, str]) -> Callable[[Sequence[Subgraph]], object]:
    """Return the writer of langchain-neo4j: a document a query whose text is its evidence, entities, triples."""
    from langchain_core.documents import Document
    from langchain_neo4j import Neo4jGraph
    from langchain_neo4j.graphs.graph_document import GraphDocument, Node, Relationship

    graph_store = Neo4jGraph(url=uri, username=login[0], password=login[1], refresh_schema=False)
    # It would make this constraint itself, and then read the whole schema by a procedure that needs a server's trust.
    graph_store.query("CREATE CONSTRAINT IF NOT EXISTS FOR (b:__Entity__) REQUIRE b.id IS UNIQUE")
    graph_store.structured_schema = {"metadata": {"constraint": [{"labelsOrTypes": ["__Entity__"], "properties": ["id"]}]}}

    def document_of(graph: Subgraph) -> Any:
        nodes = {item.id: Node(id=item.id, type="Thing", properties={"name": item.name}) for item in graph.entities}
        relationships = [
            Relationship(
                source=nodes[item.subject_id],
                target=nodes[item.object_id],
                type=item.predicate,
                properties={"confidence": item.confidence, "evidence_id": item.evidence_id, "rank": item.rank},
            )
            for item in graph.triples
        ]
        text = "\n".join(item.text for item in graph.evidence)
        metadata = {"id": graph.query.id, "query": graph.query.text, "embedding": list(graph.embedding)}
        source = Document(page_content=text, metadata=metadata)
        return GraphDocument(nodes=list(nodes.values()), relationships=relationships, source=source)

    def write(graphs: Sequence[Subgraph]) -> None:
        graph_store.add_graph_documents([document_of(graph) for graph in graphs], include_source=True, baseEntityLabel=True)

    return write


OURS, OURS_BY_FOUR = "ours", "ours, 4 threads"
EDGES = {
    OURS: "MATCH (:Entity {namespace: $namespace})-[r:TRIPLE]->(:Entity) RETURN count(r) / 2",
    OURS_BY_FOUR: "MATCH (:Entity {namespace: $namespace})-[r:TRIPLE]->(:Entity) RETURN count(r) / 2",
    "neo4j-graphrag": "MATCH (:__KGBuilder__:Entity)-[r]->(:__KGBuilder__:Entity) RETURN count(r)",
    "langchain-neo4j": "MATCH (:Thing)-[r]->(:Thing) RETURN count(r)",
}
"""How the edges that each keeps are counted; both of ours have written as many into one store."""


def main() -> None:
    """Write in turn and print the rates."""
    import neo4j

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", required=True, help="bolt://… of a Neo4j with APOC that holds nothing else")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=200, help="queries that each writes in a round")
    options = parser.parse_args()
    login = (os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD", ""))
    mark = uuid.uuid4().hex[:6]
    names = {name: f"{name}-{mark}" for name in EDGES}
    store = Neo4jStore(options.store, username=login[0], password=login[1], namespace=names[OURS])
    quiet = {"notifications_min_severity": "OFF", "telemetry_disabled": True}
    with store, neo4j.GraphDatabase.driver(options.store, auth=login, **quiet) as driver:
        store.migrate()
        writers = {
            OURS: lambda graphs: store.save(graphs, AGGREGATION),
            OURS_BY_FOUR: lambda graphs: store.save(graphs, AGGREGATION),
            "neo4j-graphrag": graphrag(driver),
            "langchain-neo4j": langchain(options.store, login),
        }
        rates: dict[str, list[float]] = {name: [] for name in writers}
        for turn in range(options.rounds + 1):
            for name in sorted(writers, key=lambda name: (turn + list(writers).index(name)) % len(writers)):
                start = (turn + 1) * options.queries
                # Both of ours write into one store.
                numbers = [n + (10**8 if name == OURS_BY_FOUR else 0) for n in range(start, start + options.queries)]
                graphs = subgraphs(numbers, names[OURS if name == OURS_BY_FOUR else name])
                batches = [graphs[first : first + BATCH] for first in range(0, len(graphs), BATCH)]
                began = time.perf_counter()
                with ThreadPoolExecutor(4 if name == OURS_BY_FOUR else 1) as threads:
                    list(threads.map(writers[name], batches))
                if turn:  # the first round compiles the statements
                    rates[name].append(len(graphs) * TRIPLES / (time.perf_counter() - began))
        report(driver, rates, names[OURS], (options.rounds + 1) * options.queries * TRIPLES)
        erase(driver, store.namespace)


def report(driver: Any, rates: dict[str, list[float]], namespace: str, written: int) -> None:
    """Print for each the median rate, ours as a multiple of it, and the share of the edges that it kept."""
    print(f"{'writer':18} {'triples/s':>10} {'ours is':>8}  edges kept")
    for name, found in rates.items():
        with driver.session() as session:
            kept = session.run(EDGES[name], namespace=namespace).single()[0] / written
        multiple = statistics.median(ours / theirs for ours, theirs in zip(rates[OURS], found, strict=True))
        print(f"{name:18} {statistics.median(found):10.0f} {multiple:8.1f}  {kept:.3f}", flush=True)


if __name__ == "__main__":
    main()
