"""Writers that overlap, repeat themselves, erase and deadlock leave each thing once."""

import contextlib
import logging
import random
import threading
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import neo4j
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from neo4j.exceptions import TransientError

from drag_graph.graph.name_forms import concept_id, concept_key
from drag_graph.manage.canonical_export import canonical_lines
from drag_graph.model import Aggregation
from drag_graph.ports.concept_store import Changes, Concept, Written
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.stores.shared.cypher_files import load
from drag_graph.testing.builders import expected, make_subgraph
from drag_graph.testing.finding import query_ids

PLAIN = Aggregation()
LENIENT = settings(deadline=None, database=None, phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck))
DEADLOCK = "Neo.TransientError.Transaction.DeadlockDetected"


def variant(number, version, namespace):
    """Return the subgraph of query `number` under the settings of that version; no two versions have the same content."""
    dice = random.Random(f"{number}/{version}")
    evidence = 2 + version + dice.randrange(3)
    names = [f"thing {n} of {number}" for n in range(5)]
    triples = [
        (
            *dice.sample(names, 1),
            f"relates_{dice.randrange(2)}",
            names[dice.randrange(5)],
            0.75 + version / 10,
            dice.randrange(evidence),
        )
        for _ in range(6)
    ]
    return make_subgraph(number, namespace=namespace, evidence=evidence, triples=triples, settings_hash=f"settings {version}")


def export_of(store):
    return list(canonical_lines(store.records()))


def erase_all(store):
    for id_ in query_ids(store):
        store.erase([id_])


def check_once(store):
    """Nothing is wrong with the store, and every node and edge is there once."""
    assert store.verify() == []
    records = list(store.records())
    seen = Counter((record["kind"], record.get("label") or record.get("type"), record["id"]) for record in records)
    assert max(seen.values(), default=0) <= 1
    assert len(set(export_of(store))) == len(records)
    listed = [query.id for query in store.sources(limit=10_000)]
    assert len(listed) == len(set(listed)) == store.counts()["Query"]


def in_threads(works):
    """Run all at once; raise what one of them raised."""
    errors, together = [], threading.Barrier(len(works))

    def run(work):
        together.wait()
        try:
            work()
        except Exception as error:  # noqa: BLE001 - raised below, in the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
    assert not any(thread.is_alive() for thread in threads), "a writer hangs"
    if errors:
        raise errors[0]


def pieces(items, dice):
    """Return the items in a random order, in batches of random sizes."""
    order = dice.sample(items, len(items))
    while order:
        size = dice.randrange(1, 8)
        yield order[:size]
        del order[:size]


class Writers:
    """What holds on every store. `open_store` opens another store object on the same data."""

    @pytest.fixture
    def store(self, open_store):
        return open_store()

    def overlap(self, open_store, *, writers, queries, seed):
        store = open_store()
        subgraphs = [variant(number, 0, store.namespace) for number in range(queries)]
        store.save(subgraphs, PLAIN)
        orderly, counts = export_of(store), store.counts()
        erase_all(store)
        assert export_of(store) == []
        created = []

        def write(own, dice):
            created.extend(own.save(batch, PLAIN).count("created") for batch in pieces(subgraphs, dice))

        in_threads([lambda n=n: write(open_store(), random.Random(f"{seed}/{n}")) for n in range(writers)])
        check_once(store)
        assert export_of(store) == orderly
        assert store.counts() == counts
        assert sum(created) == queries, "two writers were told that they made the same query"

    def quarrel(self, open_store, *, writers, queries, steps, seed):
        """Writers of different settings replace each other's subgraphs, and erase them."""
        store = open_store()
        versions = [[variant(number, version, store.namespace) for number in range(queries)] for version in range(3)]
        allowed = {(graph.query.id, graph.settings_hash): graph for version in versions for graph in version}
        store.save(versions[0], PLAIN)
        orderly, counts = export_of(store), store.counts()

        def write(own, dice):
            for _ in range(steps):
                if dice.random() < 0.25:
                    own.erase([dice.choice(versions[0]).query.id])
                    continue
                some = dice.sample(range(queries), dice.randrange(1, queries + 1))
                own.save([versions[dice.randrange(3)][number] for number in some], PLAIN)

        in_threads([lambda n=n: write(open_store(), random.Random(f"{seed}/{n}")) for n in range(writers)])
        check_once(store)
        for graph in store.read(query_ids(store)):
            assert graph == expected(allowed[graph.query.id, graph.settings_hash], PLAIN), "a mixture of two writers' work"
        store.save(versions[0], PLAIN)
        check_once(store)
        assert export_of(store) == orderly
        assert store.counts() == counts

    def replay(self, store, examples):
        """The same batch in any orders, cut anyhow, any number of times, by one writer or two, is the batch once."""
        subgraphs = [variant(number, 0, store.namespace) for number in range(5)]
        store.save(subgraphs, PLAIN)
        orderly = export_of(store)
        some = st.lists(st.sampled_from(range(5)), min_size=1, max_size=7)
        whole = st.permutations(range(5))

        @settings(LENIENT, max_examples=examples)
        @given(st.lists(some | whole, max_size=4), whole, st.lists(some | whole, max_size=4))
        def check(before, all_of_them, beside):
            erase_all(store)
            first = [*before, all_of_them]
            in_threads(
                [
                    lambda batches=batches: [store.save([subgraphs[n] for n in batch], PLAIN) for batch in batches]
                    for batches in (first, beside)
                ]
            )
            check_once(store)
            assert export_of(store) == orderly

        check()

    def test_overlapping_writers_are_as_one_orderly_writer(self, open_store):
        self.overlap(open_store, writers=6, queries=20, seed=1)

    def test_writers_with_different_settings_and_erasers_leave_whole_subgraphs(self, open_store):
        self.quarrel(open_store, writers=6, queries=8, steps=6, seed=1)

    def test_permuted_replays_are_one(self, store):
        self.replay(store, examples=8)

    @pytest.mark.torture
    @pytest.mark.parametrize("seed", range(10))
    def test_overlapping_writers_at_length(self, open_store, seed):
        self.overlap(open_store, writers=16, queries=60, seed=seed)

    @pytest.mark.torture
    @pytest.mark.parametrize("seed", range(10))
    def test_quarrelling_writers_at_length(self, open_store, seed):
        self.quarrel(open_store, writers=12, queries=12, steps=30, seed=seed)

    @pytest.mark.torture
    def test_permuted_replays_at_length(self, store):
        self.replay(store, examples=150)


class TestEmbedded(Writers):
    @pytest.fixture
    def open_store(self, tmp_path):
        with contextlib.ExitStack() as opened:

            def open_():
                store = opened.enter_context(LadybugStore(tmp_path / "graph.lbug", namespace="writers"))
                store.migrate()
                return store

            yield open_


@pytest.mark.neo4j
class TestNeo4j(Writers):
    @pytest.fixture
    def open_store(self, neo4j_address):
        uri, username, password = neo4j_address
        namespace = f"writers-{uuid.uuid4().hex[:12]}"
        with contextlib.ExitStack() as opened:

            def open_():
                store = Neo4jStore(uri, username=username, password=password, namespace=namespace)
                opened.enter_context(store).migrate()
                return store

            yield open_
            erase_all(open_())


TAKE = {
    "replaced": "MATCH (q:Query {id: $id}) SET q.status = q.status",  # as another refresh does
    "created": "CREATE (q:Query {id: $id, namespace: $namespace})",  # as another first save does
}


class Saboteur:
    """A transaction of somebody else that takes what a save wants, in the other order."""

    def __init__(self, driver, outcome, namespace):
        self.session = driver.session()
        self.transaction = self.session.begin_transaction()
        self.outcome, self.namespace = outcome, namespace
        self.was_victim = False

    def take(self, id_):
        """Lock the query. Where that closes a circle, this may be the one that is sacrificed."""
        try:
            self.transaction.run(TAKE[self.outcome], id=id_, namespace=self.namespace).consume()
        except TransientError as error:
            self.was_victim = error.code == DEADLOCK

    def take_much(self):
        """Lock a hundred things that nobody wants."""
        text = "UNWIND range(1, 100) AS n CREATE (:Query {id: $namespace + n, namespace: $namespace})"
        self.transaction.run(text, namespace=self.namespace).consume()

    def leave(self):
        self.transaction.close()
        self.session.close()


@pytest.mark.neo4j
class BesideAnother:
    """A store, and transactions of somebody else beside it."""

    @pytest.fixture
    def driver(self, neo4j_address):
        uri, username, password = neo4j_address
        with neo4j.GraphDatabase.driver(uri, auth=(username, password), notifications_min_severity="OFF") as driver:
            yield driver

    @pytest.fixture
    def store(self, neo4j_address):
        uri, username, password = neo4j_address
        with Neo4jStore(uri, username=username, password=password, namespace=f"deadlock-{uuid.uuid4().hex[:12]}") as store:
            store.migrate()
            yield store
            erase_all(store)

    def wait_for_blocked(self, driver, namespace, number):
        """Wait until so many transactions of the namespace wait for a lock."""
        ask = "SHOW TRANSACTIONS YIELD status, parameters WHERE status STARTS WITH 'Blocked' RETURN parameters"
        until = time.monotonic() + 120
        while time.monotonic() < until:
            found = driver.execute_query(ask).records
            if sum(namespace in str(record["parameters"]) for record in found) >= number:
                return
            time.sleep(0.01)
        raise AssertionError("nobody waits")

    def repeats(self, caplog):
        fields = [record.drag_graph_fields for record in caplog.records if record.getMessage() == "store_repeats"]
        return [field["status"] for field in fields].count(DEADLOCK)


def linking(store, id_):
    """Return what a linker writes of a source."""
    (source,) = [source for source in store.concepts.waiting(10).sources if source.id == id_]
    called = {entity: (concept_key(text), text) for entity, text in source.entities}
    made = {entity: Concept(concept_id(store.namespace, key), key, text) for entity, (key, text) in called.items()}
    links = [(entity, concept.id) for entity, concept in made.items()]
    return Changes(concepts=list({item.id: item for item in made.values()}.values()), links=links, sources=[id_])


class TestLinking(BesideAnother):
    def test_a_linker_waits_for_who_erases_its_source(self, store, driver, caplog):
        """Otherwise a concept would count an entity that goes, as the eraser has not seen that it refers to one.

        The linker waits before it writes: else each would have what the other wants, and one would be sacrificed.
        """
        caplog.set_level(logging.INFO, logger="drag_graph")
        common, own = ("mitosis", "is_a", "cell division", 0.9, 0), ("meiosis", "is_a", "cell division", 0.9, 0)
        graphs = [make_subgraph(n, namespace=store.namespace, triples=some) for n, some in enumerate([[common], [common, own]])]
        stays, goes = [graph.query.id for graph in graphs]
        store.save(graphs[:1], PLAIN)
        store.concepts.write(linking(store, stays))
        orderly = export_of(store)
        store.save(graphs[1:], PLAIN)
        changes = linking(store, goes)
        with ThreadPoolExecutor(1) as pool, driver.session() as session, session.begin_transaction() as eraser:

            def run(name, **values):
                eraser.run(*load(name, "neo4j").bind(namespace=store.namespace, **values)).consume()

            run("lock_sources", ids=[goes])
            writing = pool.submit(store.concepts.write, changes)
            self.wait_for_blocked(driver, store.namespace, 1)
            for name in ("concepts_of_sources", "erase_subgraphs", "erase_sources"):
                run(name, source_ids=[goes])
            eraser.commit()
            assert writing.result(timeout=60) == Written(0, 0)
        assert self.repeats(caplog) == 0
        assert store.verify() == []
        assert {(item.name, item.entities) for item in store.concepts.read()} == {("mitosis", 1), ("cell division", 1)}
        assert export_of(store) == orderly


@pytest.mark.parametrize("outcome", ["created", "replaced"])
class TestDeadlock(BesideAnother):
    @contextlib.contextmanager
    def saving(self, store, outcome):
        """Save a batch in a thread, within the context; check that it came through; yield the batch's ids in their order."""
        versions = [[variant(number, version, store.namespace) for number in range(6)] for version in (0, 1)]
        store.save(versions[1], PLAIN)
        orderly = export_of(store)
        erase_all(store)
        if outcome == "replaced":
            store.save(versions[0], PLAIN)
        outcomes = []
        thread = threading.Thread(target=lambda: outcomes.extend(store.save(versions[1], PLAIN)))
        yield sorted(graph.query.id for graph in versions[1]), thread
        thread.join(200)
        assert outcomes == [outcome] * 6
        check_once(store)
        assert export_of(store) == orderly

    def test_the_saboteur_is_sacrificed(self, store, driver, outcome, caplog):
        """The save holds the first and waits for the last, which the saboteur has; then he wants the first."""
        caplog.set_level(logging.INFO, logger="drag_graph")
        with self.saving(store, outcome) as (ids, save):
            saboteur = Saboteur(driver, outcome, store.namespace)
            saboteur.take(ids[-1])
            save.start()
            self.wait_for_blocked(driver, store.namespace, 1)
            saboteur.take(ids[0])
            saboteur.leave()
        assert saboteur.was_victim
        assert self.repeats(caplog) == 0

    def test_the_save_is_sacrificed_and_repeats_itself(self, store, driver, outcome, caplog):
        """The save is held up in the middle until the saboteur has the last and waits for the first.

        Neo4j sacrifices who holds the fewest locks, so he holds many.
        """
        caplog.set_level(logging.INFO, logger="drag_graph")
        with self.saving(store, outcome) as (ids, save):
            other = Saboteur(driver, outcome, store.namespace)
            other.take(ids[3])
            save.start()
            self.wait_for_blocked(driver, store.namespace, 1)
            saboteur = Saboteur(driver, outcome, store.namespace)
            saboteur.take_much()
            saboteur.take(ids[-1])
            sabotage = threading.Thread(target=saboteur.take, args=(ids[0],))
            sabotage.start()
            self.wait_for_blocked(driver, store.namespace, 2)
            other.leave()
            sabotage.join(200)
            saboteur.leave()
        assert not saboteur.was_victim
        assert self.repeats(caplog) == 1
