"""The store itself: migrations, versions, embedder, namespaces, nearest queries, verification, records."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from drag_graph.errors import StoreError, StoreUnfit
from drag_graph.graph.paging import settings_hashes
from drag_graph.manage.verification import problems
from drag_graph.model import Aggregation, LineKind
from drag_graph.ports.graph_store import GraphStore, SourceFilter
from drag_graph.testing.builders import expected, make_answer, make_subgraph, random_subgraphs
from drag_graph.testing.contract.base import FLAWS, HISTORY_FLAWS, Contract, OpenStore, Tamper, assert_same, records_of
from drag_graph.testing.contract.schema import EDGES, LABELS, LINKS, NODES
from drag_graph.testing.dict_store import DictStore
from drag_graph.testing.finding import nearest_queries, read_answer

PLAIN = Aggregation()
DIMENSION = 4
NEAR = 1e-5
"""Engines keep vectors in single precision."""


def _direction(degrees: float) -> tuple[float, ...]:
    """Return a unit vector at that angle from the first axis."""
    return (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0.0, 0.0)


def _migrations(store: GraphStore) -> None:
    store.migrations()


def _migrate(store: GraphStore) -> None:
    store.migrate()


def _read_everything(store: GraphStore) -> None:
    store.read([make_subgraph(namespace=store.namespace).query.id])


def _save(store: GraphStore) -> None:
    store.save([make_subgraph("new", namespace=store.namespace)], PLAIN)


class StoreContract(Contract):
    """Everything of the port that is not about one subgraph or answer."""

    def test_all_migrations_are_applied_once(self, store: GraphStore) -> None:
        migrations = store.migrations()
        assert [item.version for item in migrations] == list(range(1, len(migrations) + 1))
        assert all(item.applied_at for item in migrations)
        assert store.migrate() == []
        assert store.migrations() == migrations

    def test_a_store_that_was_never_migrated_says_so(self, unmigrated: GraphStore) -> None:
        migrations = unmigrated.migrations()
        assert migrations
        assert not any(item.applied_at for item in migrations)
        for use in (_read_everything, _save):
            with pytest.raises(StoreUnfit, match=r"migrat|holds nothing of drag-graph yet"):
                use(unmigrated)
        assert [item.version for item in unmigrated.migrate()] == [item.version for item in migrations]
        assert unmigrated.migrate() == []
        _save(unmigrated)
        _read_everything(unmigrated)

    @pytest.mark.parametrize("flaw", HISTORY_FLAWS)
    def test_a_store_of_another_schema_is_refused_and_left_alone(
        self, open_store: OpenStore, tamper: Tamper, namespace: str, flaw: str
    ) -> None:
        graph = make_subgraph(namespace=namespace)
        with open_store(namespace) as store:
            store.save([graph], PLAIN)
        with tamper(flaw, namespace):
            for use in (_migrations, _migrate, _read_everything, _save):
                with pytest.raises(StoreUnfit), open_store(namespace) as store:
                    use(store)
        with open_store(namespace) as store:
            assert [row.id for row in store.sources()] == [graph.query.id]

    def test_closing_twice_does_nothing(self, open_store: OpenStore, namespace: str) -> None:
        store = open_store(namespace)
        assert store.namespace == namespace
        assert store.location
        store.close()
        store.close()

    def test_the_embedder_is_claimed_once(self, open_store: OpenStore, namespace: str) -> None:
        with open_store(namespace) as store:
            assert store.embedder() is None
            with store.concepts.exclusive():
                pass  # a linker leaves its mark beside the embedder's name
            assert store.embedder() is None
            store.embedder(("minilm", DIMENSION))
            store.embedder(("minilm", DIMENSION))
            store.save([make_subgraph(namespace=namespace)], PLAIN)
        with open_store(namespace) as store:
            for name, dimension in (("lexical", DIMENSION), ("minilm", DIMENSION * 2)):
                with pytest.raises(StoreUnfit, match="minilm"):
                    store.embedder((name, dimension))
            assert store.embedder() == ("minilm", DIMENSION)

    def test_an_empty_namespace_may_be_claimed_anew(self, open_store: OpenStore, namespace: str) -> None:
        """A run that ends without a query, or whose queries were erased, pins nothing."""
        graph = make_subgraph(namespace=namespace)
        for name in ("lexical/2-1024", "another"):
            with open_store(namespace) as store:
                store.embedder((name, DIMENSION))
                assert store.embedder() == (name, DIMENSION)
        with open_store(namespace) as store:
            store.embedder(("minilm", DIMENSION * 2))
            store.save([graph], PLAIN)
            with pytest.raises(StoreUnfit):
                store.embedder(("another", DIMENSION))
            store.erase([graph.query.id])
            store.embedder(("another", DIMENSION))
            assert store.embedder() == ("another", DIMENSION)

    @pytest.mark.parametrize(
        ("name", "flag"),
        [
            ("lexical/2-1024", "lexical"),
            ("sentence-transformers/all-MiniLM-L6-v2", "minilm"),
            ("sentence-transformers/other", "sentence-transformers/other"),
        ],
    )
    def test_the_refusal_names_the_flag_of_the_embedder(self, store: GraphStore, name: str, flag: str) -> None:
        store.embedder((name, DIMENSION))
        store.save([make_subgraph(namespace=store.namespace)], PLAIN)
        with pytest.raises(StoreUnfit, match=name) as caught:
            store.embedder(("another", DIMENSION))
        assert f"`embedder={flag}`," in caught.value.hint

    def test_of_embedders_that_claim_at_once_one_is_recorded(self, store: GraphStore, namespace: str) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda name: store.embedder((name, DIMENSION)), ("a", "b", "c", "d")))
        recorded = store.embedder()
        assert recorded in [(name, DIMENSION) for name in ("a", "b", "c", "d")]
        store.embedder(recorded)
        store.save([make_subgraph(namespace=namespace)], PLAIN)

        def claim(name: str) -> str:
            try:
                store.embedder((name, DIMENSION))
            except StoreUnfit:
                return ""
            return name

        with ThreadPoolExecutor(4) as pool:
            winners = [name for name in pool.map(claim, ("a", "b", "c", "d")) if name]
        assert [(name, DIMENSION) for name in winners] == [recorded] == [store.embedder()]

    def test_the_nearest_queries_come_in_order_with_their_cosines(self, store: GraphStore, namespace: str) -> None:
        store.embedder(("of-tests", DIMENSION))
        angles = (0, 10, 35, 60, 90, 120, 180)
        graphs = [make_subgraph(angle, namespace=namespace, embedding=_direction(angle)) for angle in angles]
        store.save([*reversed(graphs), make_subgraph("without", namespace=namespace)], PLAIN)
        pairs = nearest_queries(store, _direction(0), 100)
        assert [id_ for id_, _ in pairs] == [graph.query.id for graph in graphs]
        assert [cosine for _, cosine in pairs] == pytest.approx([math.cos(math.radians(angle)) for angle in angles], abs=NEAR)
        assert_same(nearest_queries(store, _direction(0), 3), pairs[:3], NEAR)
        assert [id_ for id_, _ in nearest_queries(store, _direction(58), 2)] == [graphs[3].query.id, graphs[2].query.id]
        store.erase([graphs[0].query.id])
        assert nearest_queries(store, _direction(0), 1)[0][0] == graphs[1].query.id

    def test_neighbouring_namespaces_cannot_see_each_other(self, open_store: OpenStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace, embedding=_direction(0))
        answer = make_answer(1, [graph], namespace=namespace, refs=[("evidence", graph.evidence[0].id)])
        source_id = graph.query.id
        with open_store(namespace) as store:
            store.embedder(("of-tests", DIMENSION))
            store.save([graph], PLAIN)
            store.save_answers([answer])
            before = records_of(store)
        with open_store(f"{namespace}-neighbour") as store:
            self._sees_nothing(store, source_id, answer.id)
            with pytest.raises(StoreError):
                store.save([graph], PLAIN)
            own = make_subgraph(namespace=store.namespace, embedding=_direction(0))
            assert own.query.id != source_id
            assert store.save([own], Aggregation(threshold=1.0)) == ["created"]
            store.erase([own.query.id])
            store.embedder(("another", DIMENSION * 2))
        with open_store(namespace) as store:
            assert_same(store.read([source_id]), [expected(graph, PLAIN)])
            assert records_of(store) == before

    def _sees_nothing(self, store: GraphStore, source_id: str, answer_id: str) -> None:
        assert store.embedder() is None
        assert store.read([source_id]) == []
        assert settings_hashes(store, [source_id]) == {}
        assert nearest_queries(store, _direction(0), 5) == []
        assert store.sources() == store.sources(SourceFilter(prefix=source_id)) == []
        assert store.creation_times() == {}
        assert store.answers() == store.answers(source_id) == store.answers(prefix=answer_id) == []
        assert sum(count for label, count in store.counts().items() if label in LABELS) == 0
        assert read_answer(store, answer_id) is None
        assert list(store.records()) == []
        assert store.verify() == []
        store.aggregate([source_id], Aggregation(threshold=1.0))
        assert sum(store.erase([source_id]).counts.values()) == 0

    def test_near_queries_of_another_namespace_crowd_none_out(self, open_store: OpenStore, namespace: str) -> None:
        with open_store(f"{namespace}-crowd") as store:
            store.embedder(("of-tests", DIMENSION))
            crowd = [make_subgraph(n, namespace=store.namespace, embedding=_direction(n / 10)) for n in range(40)]
            store.save(crowd, PLAIN)
        with open_store(namespace) as store:
            store.embedder(("of-tests", DIMENSION))
            graphs = [make_subgraph(n, namespace=namespace, embedding=_direction(n)) for n in (50, 60, 70)]
            store.save(graphs, PLAIN)
            nearest_ids = [id_ for id_, _ in nearest_queries(store, _direction(0), 3)]
            assert nearest_ids == [graph.query.id for graph in graphs]

    def test_a_healthy_store_has_nothing_to_report(self, store: GraphStore, namespace: str) -> None:
        graphs = random_subgraphs(10, namespace=namespace, seed=8)
        store.save(graphs, PLAIN)
        store.save_answers([make_answer(n, [graph], namespace=namespace) for n, graph in enumerate(graphs)])
        assert store.verify() == []

    @pytest.mark.parametrize("flaw", FLAWS)
    def test_a_tampered_store_is_found_out(self, open_store: OpenStore, tamper: Tamper, namespace: str, flaw: str) -> None:
        graph = expected(make_subgraph(namespace=namespace), PLAIN)
        answer = make_answer(1, [graph], namespace=namespace)
        with open_store(namespace) as store:
            store.save([graph], PLAIN)
            store.save_answers([answer])
        with tamper(flaw, namespace):
            pass
        triples = [item.id for item in graph.triples]
        broken = {
            "orphan": [item.id for item in graph.entities],
            "provenance_gone": [item.id for item in graph.evidence],
            "dangling_edge": [edge.id for edge in graph.edges],
            "dangling_answer": [answer.id],
        }
        with open_store(namespace) as store:
            reported = problems(store)
            ids = {problem.id for problem in reported if problem.check == FLAWS[flaw]}
            # Where evidence without a call cannot be read at all, its source is named.
            unreadable = {problem.id for problem in reported if problem.check == "unreadable"}
            assert ids == set(broken.get(flaw, triples)) or (flaw, unreadable) == ("provenance_gone", {graph.query.id})
            assert all("drag-graph" in problem.message for problem in reported if problem.check != "orphan")

    def test_equal_content_gives_equal_records_however_it_was_written(self, store: GraphStore, namespace: str) -> None:
        graphs = random_subgraphs(6, namespace=namespace, seed=9)
        store.save(graphs, PLAIN)
        before = records_of(store)
        for graph in graphs:
            store.erase([graph.query.id])
        assert list(store.records()) == []
        store.save([make_subgraph("passing", namespace=namespace)], PLAIN)
        store.save([graphs[3]], Aggregation(strategy="predicate", threshold=0.0))
        store.save(graphs[::-1], PLAIN)
        store.aggregate([graphs[3].query.id], PLAIN)
        store.erase([make_subgraph("passing", namespace=namespace).query.id])
        assert records_of(store) == before

    def test_records_are_those_of_the_model(self, store: GraphStore, namespace: str) -> None:
        """The canonical export of any two engines with the same content is the same, but for the last bits of floats."""
        model = DictStore(namespace=namespace)
        model.migrate()
        for each in (store, model):
            _fill(each)
        assert_same(_by_id(store), _by_id(model))

    def test_records_have_the_properties_of_the_design(self, store: GraphStore) -> None:
        _fill(store)
        records_by_label = {record.get("label") or record["type"]: record for record in store.records()}
        assert set(records_by_label) == {*NODES, *EDGES, *LINKS}
        for name, properties in (NODES | EDGES).items():
            assert set(properties.split()) <= records_by_label[name]["properties"].keys(), name
            assert records_by_label[name]["properties"]["namespace"] == store.namespace
            assert records_by_label[name]["properties"]["id"] == records_by_label[name]["id"]

    def test_empty_input_is_no_error(self, store: GraphStore, namespace: str) -> None:
        for _ in range(2):
            assert store.save([], PLAIN) == []
            store.aggregate([], PLAIN)
            store.aggregate(["missing"], PLAIN)
            assert store.read([]) == []
            assert settings_hashes(store, []) == {}
            assert nearest_queries(store, [], 5) == []
            assert nearest_queries(store, _direction(0), 0) == []
            assert store.sources(limit=0) == store.sources(SourceFilter(ids=[])) == []
            store.save_answers([])
            assert store.answers(limit=0) == []
            assert read_answer(store, "") is None
            assert sum(store.erase([""]).counts.values()) == 0
            store.save([make_subgraph(namespace=namespace)], PLAIN)


def _fill(store: GraphStore) -> None:
    graphs = random_subgraphs(4, namespace=store.namespace, seed=10)
    store.save([*graphs, make_subgraph("answered", namespace=store.namespace)], PLAIN)
    (subgraph,) = store.read([make_subgraph("answered", namespace=store.namespace).query.id])
    edge = subgraph.edges[0]
    refs: list[tuple[LineKind, str]] = [("evidence", edge.evidence_ids[0]), ("edge", edge.id)]
    store.save_answers([make_answer(1, [subgraph], namespace=store.namespace, refs=refs)])


def _by_id(store: GraphStore) -> dict[str, Any]:
    """Return the records by what identifies them, without vectors and nulls; everything must be JSON."""
    results: dict[str, Any] = {}
    for record in store.records():
        assert json.loads(json.dumps(record, allow_nan=False)) == record
        key = f"{record.get('label') or record.get('type')} {record['id']}"
        assert key not in results, f"{key} comes twice"
        properties = {name: value for name, value in record["properties"].items() if value is not None and name != "embedding"}
        results[key] = {**record, "properties": properties}
    return results
