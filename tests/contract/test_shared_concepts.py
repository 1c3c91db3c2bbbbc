"""What becomes of concepts when entities go: counted again, called otherwise, removed with all that was judged of them."""

import uuid

import neo4j
import pytest
from tampering import statement

from drag_graph.graph.name_forms import concept_id, concept_key
from drag_graph.model import Aggregation
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.stores.shared.shared_concepts import recount_concepts, remove_orphan_concepts, touched_concepts
from drag_graph.testing.contract.linking import _graph, _linker, _state


@pytest.fixture
def on_ladybug(open_ladybug, namespace):
    store = open_ladybug(namespace)

    def transact(work):
        with store.writing() as session:
            return work(session.run)

    def execute(text, values):
        with store.writing() as session:
            session.execute(text, values)

    return "ladybug", store, transact, execute


@pytest.fixture
def on_neo4j(neo4j_lts, namespace):
    uri, username, password = neo4j_lts
    with (
        neo4j.GraphDatabase.driver(uri, auth=(username, password)) as driver,
        Neo4jStore(uri, username=username, password=password, namespace=namespace) as store,
    ):
        store.migrate()
        yield "neo4j", store, lambda work: store.in_writing(lambda session: work(session.run)), driver.execute_query
        driver.execute_query(*statement("namespace_gone", "neo4j", namespace))


@pytest.fixture(params=["ladybug", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def opened(request):
    return request.getfixturevalue(f"on_{request.param}")


@pytest.fixture
def namespace():
    return f"concepts-{uuid.uuid4().hex[:12]}"


def names(store):
    return {record["properties"]["name"] for record in store.records() if record.get("label") == "Concept"}


def test_what_no_entity_is_called_any_more_goes_with_what_was_judged_of_it(opened):
    dialect, store, transact, execute = opened
    gone = _graph(store.namespace, 1, ["ZEBRA", "DNA", "heart"], {"heart": ["HRT"]})
    kept = [
        _graph(store.namespace, 2, ["zebra", "deoxyribonucleic acid", "HRT"], {"deoxyribonucleic acid": ["DNA"]}),
        _graph(store.namespace, 3, ["ZEBRA", "cells"]),
    ]
    store.save([gone, *kept], Aggregation())
    _linker(store).run()
    before = _state(store)
    assert before["concepts"]["ZEBRA"][1] == len([gone, *kept])

    def ids(*some):
        return {concept_id(store.namespace, concept_key(name)) for name in some}

    touched = transact(lambda run: touched_concepts(run, store.namespace, [gone.query.id]))
    assert set(touched) == ids("zebra", "DNA", "heart", "HRT"), "what it is also called is touched, too"
    for source_id in (gone.query.id, kept[1].query.id):
        execute(*statement("entities_gone", dialect, store.namespace, source_id=source_id))
    transact(lambda run: recount_concepts(run, store.namespace, touched))
    assert names(store) == {"zebra", "DNA", "heart", "HRT", "deoxyribonucleic acid", "cells"}
    assert transact(lambda run: remove_orphan_concepts(run, store.namespace, [*touched, *touched, "none"])) == 2
    assert names(store) == {"zebra", "HRT", "deoxyribonucleic acid", "cells"}, "not as only a gone entity was written"
    assert transact(lambda run: remove_orphan_concepts(run, store.namespace, ids("cells"))) == 1
    assert [item for item in store.verify() if item.check == "concept"] == []
    assert store.counts()["SAME_AS"] == 0
    _linker(store).run()
    assert _state(store)["concepts"] == {
        "zebra": ("zebra", 1, ["zebra"]),
        "HRT": ("hrt", 1, ["HRT"]),
        "deoxyribonucleic acid": ("deoxyribonucleicacid", 1, ["deoxyribonucleic acid"]),
    }


def test_concepts_of_other_namespaces_are_left_alone(opened):
    _, store, transact, _ = opened
    graph = _graph(store.namespace, 1, ["zebra", "heart"])
    store.save([graph], Aggregation())
    _linker(store).run()
    touched = transact(lambda run: touched_concepts(run, "another", [graph.query.id]))
    assert touched == []
    ids = transact(lambda run: touched_concepts(run, store.namespace, [graph.query.id]))
    assert transact(lambda run: remove_orphan_concepts(run, "another", ids)) == 0
    assert _linker(store).run().judged == 0
