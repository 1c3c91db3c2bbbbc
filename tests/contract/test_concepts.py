"""Concepts that somebody changed behind the store's back, and those of other namespaces in one index."""

import random
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import ladybug
import neo4j
import numpy as np
import pytest
from tampering import statement

from drag_graph.errors import StoreLocked
from drag_graph.jobs.link_job import Linker
from drag_graph.manage.canonical_export import canonical_lines
from drag_graph.model import Aggregation
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.ports.concept_store import Changes
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.stores.neo4j import neo4j_store
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.stores.shared.cypher_files import load
from drag_graph.testing.builders import make_answer, make_subgraph
from drag_graph.testing.contract.linking import _graph, _linker, _state
from drag_graph.testing.dict_store import DictStore
from drag_graph.testing.finding import query_ids

EMBEDDER = LexicalEmbedder()


@pytest.fixture
def namespace():
    return f"concepts-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def on_neo4j(neo4j_lts, namespace):
    """(open a store, tamper) on a namespace of its own."""
    uri, username, password = neo4j_lts
    with neo4j.GraphDatabase.driver(uri, auth=(username, password)) as driver:

        def tamper(name, where=namespace, **values):
            driver.execute_query(*statement(name, "neo4j", where, **values))

        yield lambda where=namespace: Neo4jStore(uri, username=username, password=password, namespace=where), tamper
        tamper("namespace_gone")


@pytest.fixture
def on_ladybug(tmp_path, namespace):
    path = tmp_path / "graph.lbug"

    def tamper(name):
        with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
            connection.execute(*statement(name, "ladybug", namespace))

    return lambda: LadybugStore(path, namespace=namespace), tamper


def linker(store):
    return Linker(store.concepts, store.namespace, EMBEDDER, lambda: "2026-01-01T00:00:00+00:00")


@pytest.fixture(params=["ladybug", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def opened(request):
    return request.getfixturevalue(f"on_{request.param}")


@pytest.mark.parametrize("flaw", ["miscounted", "uncounted", "unreferenced"])
def test_wrong_concepts_are_found_and_mended(opened, flaw):
    open_, tamper = opened
    with open_() as store:
        store.migrate()
        store.save([make_subgraph(number, namespace=store.namespace) for number in range(2)], Aggregation())
        linker(store).run()
        right, number = list(canonical_lines(store.records())), store.counts()["Concept"]
        assert store.verify() == []
    tamper(flaw)
    with open_() as store:
        problems = store.verify()
        assert {problem.check for problem in problems} == {"concept"}
        assert len(problems) == number
        store.concepts.write(Changes(recounted=[problem.id for problem in problems]))
        store.concepts.write(Changes(sources=query_ids(store)))
        linker(store).run()
        assert store.verify() == []
        assert list(canonical_lines(store.records())) == right


@pytest.mark.neo4j
def test_what_other_namespaces_hide_in_the_index_is_found(on_neo4j, namespace, monkeypatch):
    """The index is of all namespaces: where theirs are as near, this one is gone through."""
    monkeypatch.setattr(neo4j_store, "LEAST_NEIGHBOURS", 1)
    monkeypatch.setattr(neo4j_store, "READS_PER_SEARCH", 0)
    open_, tamper = on_neo4j
    others = [f"{namespace}-{number}" for number in range(6)]
    try:
        for where in (*others, namespace):
            with open_(where) as store:
                store.migrate()
                store.save([make_subgraph(namespace=where)], Aggregation())
                linker(store).run()
        with open_() as store:
            vectors = np.vstack([EMBEDDER.embed(["mitosis"]), np.zeros((1, EMBEDDER.dimension), np.float32)])
            (found, nothing) = store.concepts.nearest_concepts(vectors, 1, floor=0.9)
            assert [item.name for item in store.concepts.read([id_ for id_, _ in found])] == ["mitosis"]
            assert nothing == []
    finally:
        for where in others:
            tamper("namespace_gone", where)


@pytest.mark.neo4j
def test_the_vector_index_and_all_vectors_give_the_same_neighbours(on_neo4j, monkeypatch):
    """The index is searched when few concepts are new, and all vectors are read when many are."""
    open_, _ = on_neo4j
    with open_() as store:
        store.migrate()
        names = [f"{word} {other}" for word in ("heart", "lung", "liver", "brain") for other in ("attack", "failure", "cell")]
        store.save([_graph(store.namespace, number, [name, "zebra"]) for number, name in enumerate(names)], Aggregation())
        linker(store).run()
        vectors = np.vstack([EMBEDDER.embed([*names, "heart"]), np.zeros((1, EMBEDDER.dimension), np.float32)])
        by_ways = []
        for reads in (0, 100):
            monkeypatch.setattr(neo4j_store, "READS_PER_SEARCH", reads)
            near = list(store.concepts.nearest_concepts(vectors, 20, floor=0.2))
            by_ways.append([{id_: round(cosine, 4) for id_, cosine in pairs} for pairs in near])
    assert by_ways[0] == by_ways[1]
    assert [bool(pairs) for pairs in by_ways[0]] == [True] * (len(names) + 1) + [False]


@pytest.fixture
def linked(on_neo4j):
    """An open store of two queries about the same, linked."""
    open_, _ = on_neo4j
    with open_() as store:
        store.migrate()
        store.save([make_subgraph(number, namespace=store.namespace) for number in range(2)], Aggregation())
        linker(store).run()
        yield store


@pytest.fixture
def leased(on_neo4j, linked):
    """Let another one have the lease, for so many seconds from now."""
    _, tamper = on_neo4j
    return lambda seconds: tamper("leased", until=int(1000 * (time.time() + seconds)))


@pytest.mark.neo4j
def test_another_linker_keeps_others_out_until_it_is_not_heard_of_any_more(linked, leased):
    leased(30)
    with pytest.raises(StoreLocked, match="linked by another process \\(lease until 20") as caught:
        linker(linked).run()
    assert caught.value.hint
    leased(-1)
    linker(linked).run()
    linker(linked).run()


@pytest.mark.neo4j
def test_a_linker_that_another_took_over_from_writes_nothing_more(linked, leased):
    item = linked.concepts.read()[0]
    first, second = linked.concepts, linked.concepts
    with first.exclusive():
        leased(-1)
        with second.exclusive():
            with pytest.raises(StoreLocked, match="taken over"):
                first.write(Changes(clusters=[(item, "other")]))
            assert second.read([item.id]) == [item]
            second.write(Changes(clusters=[(item, item.cluster)]))
        with pytest.raises(StoreLocked, match="taken over"):
            first.write(Changes(clusters=[(item, "other")]))
    assert linked.concepts.read([item.id]) == [item]


@pytest.mark.neo4j
def test_concepts_are_counted_when_nobody_else_is_erasing(linked, neo4j_lts):
    """Two erasures at once: each counts what the other has left, not what it is about to take away."""
    uri, username, password = neo4j_lts
    one, other = query_ids(linked)
    with neo4j.GraphDatabase.driver(uri, auth=(username, password)) as driver, ThreadPoolExecutor(1) as pool:
        with driver.session() as session, session.begin_transaction() as transaction:
            # As the erasure of the one does, up to its commit.
            for name in ("concepts_of_sources", "erase_subgraphs"):
                transaction.run(*load(name, "neo4j").bind(namespace=linked.namespace, source_ids=[one])).consume()
            ids = [item.id for item in linked.concepts.read()]
            waiting = pool.submit(linked.erase, [other])
            time.sleep(0.5)
            assert not waiting.done()
            for name in ("recount_concepts", "remove_orphan_concepts"):
                transaction.run(*load(name, "neo4j").bind(namespace=linked.namespace, ids=ids)).consume()
            transaction.commit()
        waiting.result(timeout=30)
    assert linked.counts()["Concept"] == 0


@pytest.mark.neo4j
def test_what_is_erased_while_it_is_waited_for_is_left_out(on_neo4j, linked, neo4j_lts):
    uri, username, password = neo4j_lts
    items = linked.concepts.read([item.id for item in linked.concepts.read()])
    with neo4j.GraphDatabase.driver(uri, auth=(username, password)) as driver, ThreadPoolExecutor(1) as pool:
        with driver.session() as session, session.begin_transaction() as transaction:
            transaction.run(*statement("concepts_gone", "neo4j", linked.namespace)).consume()
            waiting = pool.submit(linked.concepts.write, Changes(named=items, clusters=[(item, "other") for item in items]))
            time.sleep(0.5)
            assert not waiting.done()
            transaction.commit()
        waiting.result(timeout=30)
    assert list(linked.concepts.read()) == []


def test_an_answer_whose_link_was_lost_goes_with_its_query(opened):
    open_, tamper = opened
    with open_() as store:
        store.migrate()
        graphs = [make_subgraph(number, namespace=store.namespace) for number in range(3)]
        store.save(graphs, Aggregation())
        answers = [make_answer(n, [graph], namespace=store.namespace, refs=[]) for n, graph in enumerate(graphs)]
        store.save_answers(answers)
    tamper("answers_unlinked")
    with open_() as store:
        done = [store.erase([graph.query.id]) for graph in graphs[:2]]
        assert [item.answer_ids for item in done] == [{answer.id} for answer in answers[:2]]
        assert [answer.id for answer in store.answers()] == [answers[2].id]
        store.erase([graphs[2].query.id])
        assert store.answers() == []


SPOKEN = [
    "heart attack",
    "cardiac infarction",
    "heart",
    "Hearts",
    "DNA",
    "deoxyribonucleic acid",
    "zebra",
    "CTX",
    "Connecticut",
]
SPOKEN += ["computed tomography", "hot water", "horse"]
ALSO = {"deoxyribonucleic acid": ["DNA"], "Connecticut": ["CTX"], "computed tomography": ["CTX"]}


def spoken(namespace, number, dice):
    """A subgraph of a few of the names, as an edition of its own."""
    names = dice.sample(SPOKEN, 4)
    also = {name: ALSO[name] for name in names if name in ALSO and dice.random() < 0.7}
    return _graph(namespace, number, names, also).model_copy(update={"settings_hash": str(dice.random())})


def write(store, worker, stop):
    """Save, replace and erase queries of the worker's own; return those that are stored in the end."""
    dice, mine = random.Random(worker), {}
    while time.monotonic() < stop:
        number = 100 * worker + dice.randrange(12)
        if number in mine and dice.random() < 0.4:
            store.erase([mine.pop(number).query.id])
        else:
            graph = spoken(store.namespace, number, dice)
            store.save([graph], Aggregation(), replace=number in mine)
            mine[number] = graph
    return list(mine.values())


def link_again_and_again(store, stop):
    """Return how often it ran, and how often another did."""
    runs = refused = 0
    while time.monotonic() < stop:
        try:
            _linker(store).run()
            runs += 1
        except StoreLocked:
            refused += 1
            time.sleep(0.01)
    return runs, refused


@pytest.mark.parametrize("seconds", [2, pytest.param(60, marks=pytest.mark.torture)])
def test_linkers_and_writers_at_once_come_to_what_one_would(opened, seconds):
    """Two save, replace and erase, two link; a last run, and all is as if it had been linked at once."""
    open_, _ = opened
    with open_() as store, ThreadPoolExecutor(4) as pool:
        store.migrate()
        stop = time.monotonic() + seconds
        writers = [pool.submit(write, store, worker, stop) for worker in (1, 2)]
        linkers = [pool.submit(link_again_and_again, store, stop) for _ in range(2)]
        graphs = [graph for writer in writers for graph in writer.result(timeout=seconds + 60)]
        runs, refused = (sum(numbers) for numbers in zip(*(one.result(timeout=seconds + 60) for one in linkers), strict=True))
        assert runs > 0
        assert refused > 0
        assert _linker(store).run().left_open == 0
        with DictStore(namespace=store.namespace) as quiet:
            quiet.migrate()
            quiet.save(graphs, Aggregation())
            _linker(quiet).run()
            assert _state(store) == _state(quiet)
        assert store.verify() == []
