"""Subgraphs out of a store and into another: `GraphStore.source_ids` and `read`, and imports, which go through the port."""

import json

from drag_graph.errors import StoreUnfit
from drag_graph.graph.paging import iter_subgraphs, source_ids
from drag_graph.manage.canonical_export import canonical_lines
from drag_graph.manage.subgraph_files import read_lines
from drag_graph.manage.subgraph_import import BATCH, Importer, ImportReport
from drag_graph.model import MOST_EDGES, Aggregation, Subgraph
from drag_graph.ports.graph_store import GraphStore
from drag_graph.testing.builders import as_distilled, make_subgraph, random_subgraphs
from drag_graph.testing.contract.base import Contract, OpenStore, assert_same, records_of
from drag_graph.testing.dict_store import DictDatabase, DictStore
from drag_graph.testing.finding import nearest_queries, stored_lines

EMBEDDER = ("of-tests", 4)
VECTOR = (0.6, 0.0, 0.8, 0.0)
WAYS = (
    Aggregation(top_k=3),
    Aggregation(strategy="predicate", merge="noisy-or", threshold=0.55),
    Aggregation(merge="mean", threshold=0.0),
)


def lines(store: GraphStore) -> list[bytes]:
    """Return the lines of an export of subgraphs."""
    return [f"{line}\n".encode() for line in stored_lines(store)]


def load(store: GraphStore, found: list[bytes], *, replace: bool = False) -> ImportReport:
    """Import lines into a store."""
    return Importer(store, replace=replace).run(read_lines(found, "f"))


def merged(subgraph: Subgraph) -> Aggregation:
    """Return an aggregation with a sentence of a teacher's for the subgraph's first pair."""
    first = subgraph.triples[0]
    return Aggregation(statements={f"{first.subject_id}-{first.object_id}": "A teacher's sentence: ü."})


def fill(store: GraphStore, count: int = 12) -> list[Subgraph]:
    """Fill a store with subgraphs whose edges are made in several ways; the first has a teacher's sentence."""
    store.embedder(EMBEDDER)
    first = as_distilled(make_subgraph("first", namespace=store.namespace, embedding=VECTOR))
    random_graphs = [as_distilled(graph) for graph in random_subgraphs(count, namespace=store.namespace, seed=7)]
    store.save([first], merged(first))
    for number, way in enumerate(WAYS):
        store.save(random_graphs[number :: len(WAYS)], way)
    return [first, *random_graphs]


def in_memory(namespace: str) -> DictStore:
    """Return an empty store of another kind."""
    store = DictStore(DictDatabase(), namespace=namespace)
    store.migrate()
    return store


class ExchangeContract(Contract):
    """What travels is all of a subgraph, and a store takes what another gave."""

    def test_query_ids_are_sorted_and_of_the_namespace(self, open_store: OpenStore, namespace: str) -> None:
        with open_store(f"{namespace}-other") as store:
            fill(store, 2)
        with open_store(namespace) as store:
            assert list(source_ids(store)) == []
            ids = [graph.query.id for graph in fill(store, 5)]
            assert list(source_ids(store)) == sorted(ids)

    def test_how_edges_were_made_is_known_of_each_query(self, store: GraphStore, namespace: str) -> None:
        graphs_by_id = {}
        for number, way in enumerate(WAYS):
            graph = as_distilled(make_subgraph(number, namespace=namespace))
            store.save([graph], way)
            graphs_by_id[graph.query.id] = way
        assert {graph.query.id: graph.aggregation for graph in store.read([*graphs_by_id, "nobody"])} == graphs_by_id

    def test_an_export_is_imported_elsewhere_and_exports_the_same(self, store: GraphStore) -> None:
        graphs = fill(store)
        exported = lines(store)
        with in_memory(store.namespace) as other:
            report = load(other, exported)
            assert (report.counts["new"], report.exit_code) == (len(graphs), 0)
            assert lines(other) == exported
            assert_same(list(iter_subgraphs(other)), list(iter_subgraphs(store)))
            assert other.embedder() == EMBEDDER
            assert nearest_queries(other, VECTOR, 1)[0][0] == graphs[0].query.id

    def test_what_another_store_exported_is_imported(self, store: GraphStore) -> None:
        with in_memory(store.namespace) as other:
            graphs = fill(other, BATCH)
            exported, wanted = lines(other), list(iter_subgraphs(other))
        report = load(store, exported)
        assert (report.counts["new"], report.exit_code) == (len(graphs), 0)
        assert lines(store) == exported
        assert_same(list(iter_subgraphs(store)), wanted)
        assert store.verify() == []
        assert nearest_queries(store, VECTOR, 1)[0][0] == graphs[0].query.id
        assert "A teacher's sentence: ü." in {edge.statement for edge in store.read([graphs[0].query.id])[0].edges}

    def test_importing_again_changes_nothing(self, store: GraphStore) -> None:
        graphs = fill(store, 4)
        exported, records = lines(store), records_of(store)
        for replace in (False, True):
            report = load(store, exported, replace=replace)
            assert report.counts["unchanged"] == len(graphs)
            assert sum(report.counts.values()) == len(graphs)
            assert records_of(store) == records

    def test_another_content_is_a_conflict_unless_replaced(self, store: GraphStore, namespace: str) -> None:
        (first, *_) = fill(store, 2)
        records = records_of(store)
        with in_memory(namespace) as other:
            changed = as_distilled(make_subgraph("first", namespace=namespace, evidence=5, embedding=VECTOR))
            other.embedder(EMBEDDER)
            other.save([changed], WAYS[1])
            exported, wanted = lines(other), set(canonical_lines(other.records()))
        report = load(store, exported)
        assert (report.counts["conflict"], report.exit_code) == (1, 1)
        assert [(item.line, item.source_id) for item in report.listed] == [(2, first.query.id)]
        assert records_of(store) == records
        report = load(store, exported, replace=True)
        assert (report.counts["replaced"], report.exit_code) == (1, 0)
        assert wanted <= set(canonical_lines(store.records()))
        assert load(store, exported).counts["unchanged"] == 1
        assert store.verify() == []

    def test_what_is_stored_is_never_replaced_where_that_is_asked_for(self, store: GraphStore, namespace: str) -> None:
        graphs = [as_distilled(make_subgraph(number, namespace=namespace)) for number in range(3)]
        assert store.save(graphs[:1], WAYS[0], replace="never") == ["created"]
        records = records_of(store)
        changed_graphs = [graph.model_copy(update={"settings_hash": "another", "blind": not graph.blind}) for graph in graphs]
        assert store.save(changed_graphs[:1], WAYS[1], replace="never") == ["unchanged"]
        assert records_of(store) == records
        assert store.save(changed_graphs, WAYS[0], replace="never") == ["unchanged", "created", "created"]
        assert [graph.settings_hash == "another" for graph in store.read([item.query.id for item in graphs])] == [
            False,
            True,
            True,
        ]

    def test_a_statement_like_the_triples_is_no_other_content(self, store: GraphStore, namespace: str) -> None:
        with in_memory(namespace) as other:
            graph = as_distilled(make_subgraph("first", namespace=namespace))
            other.save([graph], Aggregation(top_k=MOST_EDGES))
            head, line, end = lines(other)
            edge = other.read([graph.query.id])[0].edges[0]
        document = json.loads(line)
        document["aggregation"]["statements"] = {edge.id: f"{edge.statement} "}
        lines_of_file = [head, json.dumps(document).encode(), end]
        assert load(store, lines_of_file).counts["new"] == 1
        assert load(store, lines_of_file).counts["unchanged"] == 1
        assert lines(store) == [head, line, end]

    def test_what_has_another_embedder_is_refused(self, store: GraphStore) -> None:
        fill(store, 1)
        exported, records = lines(store), records_of(store)
        report = load(store, [exported[0].replace(b"of-tests", b"another"), *exported[1:]])
        assert report.stopped is not None
        assert report.exit_code == StoreUnfit.exit_code
        assert records_of(store) == records
