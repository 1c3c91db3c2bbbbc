"""What the contract suite does not ask of the store in Neo4j: its vector index, big batches, and its silence."""

import random
import subprocess
import sys
import uuid

import neo4j
import numpy as np
import pytest

from drag_graph.errors import StoreError, StoreUnavailable, StoreUnfit
from drag_graph.model import Aggregation
from drag_graph.stores.neo4j.connection import IdTaken, _check_version
from drag_graph.stores.neo4j.neo4j_store import SAVE_TRIES, Neo4jStore
from drag_graph.testing.builders import expected, make_answer, make_subgraph, random_subgraphs
from drag_graph.testing.contract.base import assert_same, walk
from drag_graph.testing.finding import nearest_queries, query_ids

pytestmark = pytest.mark.neo4j

PLAIN = Aggregation()


def script(monkeypatch, refusals):
    """Let the first tries of a save find an id taken; return what all of them were to write."""
    tried, write = [], Neo4jStore._write

    def scripted(self, session, wanted, *others):
        tried.append(list(wanted))
        if len(tried) <= refusals:
            raise IdTaken("taken")
        return write(self, session, wanted, *others)

    monkeypatch.setattr(Neo4jStore, "_write", scripted)
    return tried


def test_a_save_that_another_writer_is_faster_than_looks_again_but_not_for_ever(open_store, monkeypatch):
    store = open_store()
    graph = make_subgraph(namespace=store.namespace)
    tried = script(monkeypatch, 2)
    assert store.save([graph], PLAIN) == ["created"]
    assert tried == [[graph.source_id]] * 3
    monkeypatch.undo()
    other = make_subgraph("another", namespace=store.namespace)
    tried = script(monkeypatch, 99)
    with pytest.raises(IdTaken):
        store.save([other], PLAIN)
    assert tried == [[other.source_id]] * SAVE_TRIES


@pytest.fixture
def open_store(neo4j_address):
    uri, username, password = neo4j_address
    stores = []

    def open_(namespace=None):
        store = Neo4jStore(uri, username=username, password=password, namespace=namespace or f"tests-{uuid.uuid4().hex[:12]}")
        stores.append(store)
        store.migrate()
        return store

    yield open_
    for store in stores:
        store.erase(query_ids(store))
        store.close()


@pytest.fixture
def store(open_store):
    return open_store()


@pytest.fixture
def driver(neo4j_address):
    uri, username, password = neo4j_address
    with neo4j.GraphDatabase.driver(uri, auth=(username, password), notifications_min_severity="OFF") as driver:
        yield driver


class TestNearest:
    DIMENSION = 16

    def _filled(self, store, count, seed, dimension=DIMENSION):
        chance = np.random.default_rng(seed)
        vectors = chance.normal(size=(count, dimension))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        graphs = [
            make_subgraph(n, namespace=store.namespace, triples=(), evidence=1, dropped=(), embedding=vector.tolist())
            for n, vector in enumerate(vectors)
        ]
        store.save(graphs, PLAIN)
        return [graph.query.id for graph in graphs], vectors

    def test_the_nearest_of_many_are_those_of_a_full_comparison(self, open_store):
        """Two namespaces share the index; each finds its own, the one of a tenth of the size too."""
        big, small = open_store(), open_store()
        for store, count in ((big, 500), (small, 50)):
            ids, vectors = self._filled(store, count, seed=count)
            for vector in vectors[:25]:
                noisy = vector + np.random.default_rng(1).normal(scale=0.1, size=self.DIMENSION)
                cosines = vectors @ noisy / np.linalg.norm(noisy)
                best = np.argsort(-cosines)[:5]
                found = nearest_queries(store, noisy.tolist(), 5)
                assert [id_ for id_, _ in found] == [ids[index] for index in best]
                assert [cosine for _, cosine in found] == pytest.approx(cosines[best].tolist(), abs=1e-5)

    def test_namespaces_may_have_vectors_of_other_lengths(self, open_store):
        short, long = open_store(), open_store()
        short_ids, short_vectors = self._filled(short, 12, seed=1, dimension=8)
        long_ids, long_vectors = self._filled(long, 12, seed=2, dimension=24)
        assert nearest_queries(short, short_vectors[3].tolist(), 1)[0][0] == short_ids[3]
        assert nearest_queries(long, long_vectors[4].tolist(), 1)[0][0] == long_ids[4]
        assert nearest_queries(short, long_vectors[4].tolist(), 3) == []

    def test_a_vector_of_zeros_is_near_to_nothing(self, store):
        """The embedder's vector of a text without a word in it."""
        ids, vectors = self._filled(store, 3, seed=4)
        zero = make_subgraph("zero", namespace=store.namespace, embedding=[0.0] * self.DIMENSION)
        store.save([zero], PLAIN)
        assert nearest_queries(store, [0.0] * self.DIMENSION, 9) == []
        found = dict(nearest_queries(store, vectors[0].tolist(), 9))
        assert zero.query.id not in found
        assert found[ids[0]] == pytest.approx(1.0, abs=1e-5)


class TestEmbedder:
    def test_of_two_stores_that_claim_an_empty_namespace_the_first_to_save_has_it(self, open_store):
        one = open_store()
        two = open_store(one.namespace)
        one.embedder(("first", 2))
        two.embedder(("second", 2))
        two.save([make_subgraph(1, namespace=two.namespace)], PLAIN)
        with pytest.raises(StoreUnfit, match="second"):
            one.save([make_subgraph(2, namespace=one.namespace)], PLAIN)
        assert one.embedder() == ("second", 2)
        assert [row.id for row in one.sources()] == [make_subgraph(1, namespace=one.namespace).query.id]


class TestBatches:
    def test_a_batch_of_many_statements_is_one_transaction(self, store):
        graphs = random_subgraphs(120, namespace=store.namespace, seed=21)
        again = graphs[60].triples or graphs[61].triples
        clash = make_subgraph("clash", namespace=store.namespace)
        stolen = clash.triples[0].model_copy(update={"id": again[0].id})
        taken = clash.model_copy(update={"triples": (stolen,)})
        store.save(graphs[60:62], PLAIN)
        before = store.counts()
        with pytest.raises(StoreError, match="id already belongs"):
            store.save([*graphs[:60], *graphs[62:], taken], PLAIN)
        assert store.counts() == before
        assert store.save(graphs, PLAIN).count("created") == 118
        assert_same(store.read([graph.query.id for graph in graphs]), [expected(graph, PLAIN) for graph in graphs])
        assert store.verify() == []

    def test_more_records_than_a_page(self, store):
        store.save([make_subgraph(number, namespace=store.namespace) for number in range(230)], PLAIN)
        graph = store.read([make_subgraph(0, namespace=store.namespace).query.id])[0]
        store.save_answers([make_answer(number, [graph], namespace=store.namespace) for number in range(210)])
        ids = [(record.get("label") or record["type"], record["id"]) for record in store.records()]
        assert len(set(ids)) == len(ids) == sum(store.counts().values())

    @pytest.mark.parametrize("twin", ["evidence", "entities", "triples", "calls"])
    def test_two_things_of_one_id_are_refused(self, store, twin):
        graph = make_subgraph(namespace=store.namespace)
        first, second, *rest = getattr(graph, twin)
        doubled = graph.model_copy(update={twin: (first, second, *rest, second.model_copy(update={"id": first.id}))})
        with pytest.raises(StoreError, match="twice"):
            store.save([doubled], PLAIN)
        assert sum(store.counts().values()) == 0

    def test_what_belongs_to_another_query_is_refused(self, store):
        graph = make_subgraph(namespace=store.namespace)
        strange = graph.entities[0].model_copy(update={"source_id": "other"})
        with pytest.raises(StoreError, match="belongs to query other"):
            store.save([graph.model_copy(update={"entities": (strange, *graph.entities[1:])})], PLAIN)

    def test_half_a_character_is_kept_in_metadata_and_refused_in_a_text(self, store):
        graph = make_subgraph(namespace=store.namespace)
        odd = graph.query.model_copy(update={"metadata": {"half": "a\ud83d", "whole": "\U0001f9ea"}})
        store.save([graph.model_copy(update={"source": odd})], PLAIN)
        assert store.read([odd.id])[0].query.metadata == odd.metadata
        bad = make_subgraph("bad", namespace=store.namespace)
        broken = bad.evidence[0].model_copy(update={"text": "a\ud83d"})
        before = store.counts()
        with pytest.raises(StoreError, match="half a character"):
            store.save([bad.model_copy(update={"evidence": (broken, *bad.evidence[1:])})], PLAIN)
        assert store.counts() == before

    def test_evidence_that_comes_back_is_linked_to_its_answer_again(self, store):
        graph = make_subgraph(namespace=store.namespace)
        store.save([graph], PLAIN)
        shown = graph.kept_evidence[0]
        answer = make_answer(1, [graph], namespace=store.namespace, refs=[("evidence", shown.id)])
        store.save_answers([answer])
        store.save([make_subgraph(namespace=store.namespace, settings_hash="settings-2")], PLAIN)
        assert store.counts()["USED"] == 1
        assert walk(store, answer.id).keys() == {("evidence", shown.id)}

    def test_a_node_that_somebody_changed_is_not_misread(self, store, driver):
        graph = make_subgraph(namespace=store.namespace)
        store.save([graph], PLAIN)
        left = {"id": graph.query.id, "namespace": store.namespace, "text": "alone"}
        driver.execute_query("MATCH (q:Source {id: $left.id}) SET q = $left", {"left": left})
        with pytest.raises(StoreUnfit, match="not as drag-graph wrote it"):
            store.read([graph.query.id])


class TestUse:
    def test_a_closed_store_says_so(self, neo4j_address):
        uri, username, password = neo4j_address
        with Neo4jStore(uri, username=username, password=password) as store:
            store.migrations()
        with pytest.raises(StoreUnavailable, match="closed"):
            store.migrations()

    @pytest.mark.parametrize("agent", ["Neo4j/5.25.1", "Neo4j/4.4.40", "Memgraph/3.1", "", "Neo4j/dev"])
    def test_other_servers_are_refused(self, agent):
        with pytest.raises(StoreUnfit):
            _check_version(agent, "bolt://somewhere:7687")

    @pytest.mark.parametrize("agent", ["Neo4j/5.26.0", "Neo4j/5.27-aura", "Neo4j/2026.08.1"])
    def test_these_are_not(self, agent):
        assert _check_version(agent, "bolt://somewhere:7687") is None

    def test_nothing_is_printed_and_nothing_warned_of(self, neo4j_address):
        """Neither what the server has to remark on our statements, nor what the driver logs of a server that is away."""
        uri, username, password = neo4j_address
        namespace = f"silent-{random.randrange(10**9)}"
        code = f"""
from drag_graph.stores.neo4j.neo4j_store import SAVE_TRIES, Neo4jStore
from drag_graph.errors import StoreUnavailable
from drag_graph.model import Aggregation
from drag_graph.testing.builders import make_answer, make_subgraph
from drag_graph.testing.finding import nearest_queries
with Neo4jStore({uri!r}, username={username!r}, password={password!r}, namespace={namespace!r}) as store:
    store.migrate()
    graph = make_subgraph(namespace={namespace!r}, embedding=[1.0, 0.0])
    store.save([graph], Aggregation())
    store.save_answers([make_answer(1, [graph], namespace={namespace!r})])
    nearest_queries(store, [1.0, 0.5], 1), store.verify(), store.counts(), list(store.records()), store.answers()
    store.erase([graph.query.id])
try:
    Neo4jStore("neo4j://127.0.0.1:1", password="x", timeout=0.5).counts()
except StoreUnavailable:
    pass
"""
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-W", "error", "-c", code], capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
