"""Measure `drag-graph communities` on a generated graph: partition, storing, a second run, and calls after one source changed.

    python bench/communities.py [--sources 2000] [--edges 50] [--topics 200] [--store FILE|bolt://…] [--min-size 5]
    python bench/communities.py --partition-only     # without a store: the partition, and what one edge less changes

Each source has so many simple edges among things of a topic, one in ten to a thing of another topic; sources share their
things by concepts, as after `link`. Summaries are by a stub that counts whom it is asked about, vectors by `lexical`. Neo4j's
login is that of the environment. A line of a table each: what, seconds by the wall, seconds of the processor.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from drag_graph.communities.leiden import WholeGraph, ids_of, partition
from drag_graph.communities.summaries import Summary
from drag_graph.compose.store_opening import open_store
from drag_graph.distill.query_distillation import Usage
from drag_graph.graph.name_forms import concept_id, concept_key
from drag_graph.graph.paging import pages
from drag_graph.jobs.community_job import CommunityRun
from drag_graph.model import Aggregation, Subgraph
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.ports.community_store import Community
from drag_graph.ports.concept_store import Changes, Concept
from drag_graph.ports.graph_store import GraphStore, LinkedEdge
from drag_graph.settings import load_settings
from drag_graph.testing.builders import make_subgraph

THINGS_A_TOPIC = 60
AGGREGATION = Aggregation(top_k=1000)


@dataclass
class Counting:
    """A summariser that counts whom it is asked about."""

    name: str = "counting"
    calls: int = 0
    edges: list[int] = field(default_factory=list)

    def summarise(self, community: Community, edges: Sequence[LinkedEdge], usage: Usage) -> Summary:
        del community, usage
        self.calls += 1
        self.edges.append(len(edges))
        return Summary(edges[0].source_name, " ".join(edge.statement for edge in edges[:6]), self.name)


def source(number: int, edges: int, topics: int, namespace: str) -> Subgraph:
    """Return a source about one topic."""
    chance = random.Random(number)
    topic = chance.randrange(topics)
    triples = []
    for _ in range(edges):
        other = chance.randrange(topics) if chance.random() < 0.1 else topic
        one, two = chance.randrange(THINGS_A_TOPIC), chance.randrange(THINGS_A_TOPIC)
        ends = f"thing {one} of topic {topic}", f"matter {two} of topic {other}"
        triples.append((ends[0], "affects", ends[1], round(chance.uniform(0.7, 1.0), 2), 0))
    return make_subgraph(number, namespace=namespace, triples=list(dict.fromkeys(triples)), evidence=1, dropped=())


def fill(store: GraphStore, graphs: Sequence[Subgraph]) -> None:
    for some in pages(graphs, 50):
        store.save(some, AGGREGATION)
    for some in pages(graphs, 100):
        entities = [item for graph in some for item in graph.entities]
        keys = {item.id: concept_key(item.name) for item in entities}
        ids = {key: concept_id(store.namespace, key) for key in keys.values()}
        concepts = [Concept(ids[key], key, key) for key in ids]
        store.concepts.write(Changes(concepts=concepts, links=[(item.id, ids[keys[item.id]]) for item in entities]))


class Clock:
    """Prints how long each thing took: by the wall, and of this process's processor time."""

    def __init__(self) -> None:
        self._at = time.perf_counter(), time.process_time()

    def told(self, what: str) -> None:
        wall, processor = (now - at for now, at in zip((time.perf_counter(), time.process_time()), self._at, strict=True))
        print(f"| {what} | {wall:.1f} | {processor:.1f} |", flush=True)
        self._at = time.perf_counter(), time.process_time()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=int, default=2000)
    parser.add_argument("--edges", type=int, default=50)
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--min-size", type=int, default=5)
    parser.add_argument("--store", default="")
    parser.add_argument("--partition-only", action="store_true")
    arguments = parser.parse_args()
    if arguments.partition_only:
        measure_partition(arguments)
        return
    with tempfile.TemporaryDirectory() as folder:
        place = arguments.store or str(Path(folder) / "graph.lbug")
        settings = load_settings({"store": place, "namespace": f"bench-{time.time_ns()}" if "://" in place else "default"})
        with open_store(settings) as store:
            measure(store, arguments)


def measure(store: GraphStore, arguments: argparse.Namespace) -> None:
    import igraph  # noqa: F401 - so that loading it is not measured

    clock, counting = Clock(), Counting()
    sizes = arguments.edges, arguments.topics
    graphs = [source(number, *sizes, store.namespace) for number in range(arguments.sources)]
    clock.told("making the sources")
    fill(store, graphs)
    clock.told("saving and linking them (not measured here: see docs/measurements/graph-speed.md)")
    whole = WholeGraph.of(store.linked_edges())
    clock.told(f"reading {len(whole.rows):,} edges of {len(whole.entities):,} things")
    parts = partition(whole, resolution=1.0, min_size=arguments.min_size)
    clock.told(f"Leiden and merging: {len(parts)} communities")
    run = CommunityRun(store, LexicalEmbedder(), counting, resolution=1.0, min_size=arguments.min_size)
    plan = run.plan()
    clock.told("the plan: reading, partition, ids")
    store.communities.write(plan.changes)
    clock.told(f"storing {len(plan.changes.joined):,} memberships in one transaction")
    run.run()
    clock.told(f"a whole run: reading, partition, {counting.calls} summaries by the stub, vectors")
    calls = counting.calls
    run.run()
    clock.told(f"a second run: {counting.calls - calls} calls")
    old = graphs[7]
    new = make_changed(old)
    store.save([new], AGGREGATION, replace=True)
    clock.told("replacing one source")
    report = run.run()
    clock.told(f"a run after it: {counting.calls - calls} calls of {len(report.communities)}, {report.made} new ids")
    vector = LexicalEmbedder().embed(["thing 3 of topic 5"])[0].tolist()
    store.communities.nearest(vector, 3)
    clock.told("the first search")
    for _ in range(100):
        store.communities.nearest(vector, 3)
    clock.told("100 searches")
    store.erase([graph.source_id for graph in graphs[:50]])
    clock.told("erasing 50 sources")


def edges_of(arguments: argparse.Namespace) -> Iterator[LinkedEdge]:
    """Yield the simple edges of all sources between things, as a store gives them after `link`."""
    for number in range(arguments.sources):
        graph = source(number, arguments.edges, arguments.topics, "default")
        for item in graph.triples:
            ends = (item.subject, item.subject, item.object, item.object)
            said = (f"{item.subject} affects {item.object}", ("affects",), item.confidence, 1, ())
            yield LinkedEdge(item.id, graph.source_id, *ends, *said, item.subject_id, item.object_id)


def measure_partition(arguments: argparse.Namespace) -> None:
    import igraph  # noqa: F401 - so that loading it is not measured

    edges = list(edges_of(arguments))
    clock, min_size = Clock(), arguments.min_size
    whole = WholeGraph.of(edges)
    clock.told(f"taking up {len(edges):,} edges")
    parts = partition(whole, resolution=1.0, min_size=min_size)
    clock.told(f"Leiden and merging: {len(parts)} communities of {len(whole.entities):,} things")
    stored = [
        Community(id_, part.content, entities=tuple(part.entities))
        for id_, part in zip(ids_of(parts, [], "default"), parts, strict=True)
    ]
    hashes = {item.id: item.member_hash for item in stored}
    for number in (7, len(edges) // 2, len(edges) - 7):
        after = partition(WholeGraph.of(edges[:number] + edges[number + 1 :]), resolution=1.0, min_size=min_size)
        now = dict(zip(ids_of(after, stored, "default"), after, strict=True))
        anew = sum(hashes.get(id_) != part.content for id_, part in now.items())
        clock.told(f"one edge less: {anew} of {len(after)} to be summarised, {len(now.keys() - hashes.keys())} new ids")


def make_changed(graph: Subgraph) -> Subgraph:
    """Return another edition of a source: one statement less."""
    return graph.model_copy(update={"triples": graph.triples[:-1], "settings_hash": "another"})


if __name__ == "__main__":
    main()
