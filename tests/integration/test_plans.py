"""The plans of the hot statements on real Neo4j: found by index, no scan, and as much work at 120 stored queries as at 20.

Database hits are the server's own count of what it touched (PROFILE), so that no clock is needed.
"""

import uuid

import neo4j
import pytest

from drag_graph.graph import subgraph_checks as checks
from drag_graph.graph.name_forms import concept_id
from drag_graph.model import Aggregation
from drag_graph.ports.concept_store import Changes, Concept
from drag_graph.stores.neo4j import neo4j_rows
from drag_graph.stores.neo4j.neo4j_search import lucene_query
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.stores.shared.cypher_files import load
from drag_graph.stores.shared.shared_store import LAST
from drag_graph.testing.builders import expected, make_answer, make_document_subgraph, make_subgraph
from drag_graph.testing.finding import query_ids

pytestmark = pytest.mark.neo4j

FEW, MANY = 20, 120
BATCH = 20
PLAIN = Aggregation()
MERGING = {"strategy": "pair", "merge": "noisy-or", "threshold": 0.7, "top_k": 15, "document_top_k": 100, "statements": {}}
MOST_HITS = 1000
SCANS = {
    "AllNodesScan",
    "NodeByLabelScan",
    "NodeIndexScan",
    "UndirectedAllRelationshipsScan",
    "DirectedAllRelationshipsScan",
} | {f"{way}{kind}Scan" for way in ("Directed", "Undirected") for kind in ("RelationshipType", "RelationshipIndex")}
ONE_QUERY = {
    "read_subgraphs": {},
    "read_sources": {},
    "lock_sources": {},
    "erase_subgraphs": {},
    "relink_answers": {},
    "aggregate": MERGING,
}
"""The statements that are run for given queries, and their other parameters."""
CONCEPTS = {"waiting": {}, "all_concepts": {"after": "", "vectors": False}}
"""The statements by which linking begins, and their other parameters."""
BOUNDS = {"until": LAST, "prefix": ""}
ALL = {**BOUNDS, "input_id": "", "expired_before": "", "has_failed": False}
PAGES = {
    "find_sources": ALL,
    "find_sources expired": {**ALL, "expired_before": "9999"},
    "find_sources failed": {**ALL, "has_failed": True},
    "find_answers": BOUNDS,
    "linked_edges": {},
    "records_links": {},
}
"""The statements that page through sources or answers by id, and their other parameters."""
MOST_TRIED = 5
"""Database hits of an operator that finds nothing."""
WHOLE = [*checks.CHECKS, "counts", "creation_times"]
"""The statements that look at all of a namespace."""


def graph_of(number, namespace):
    return make_subgraph(number, namespace=namespace, embedding=[1.0, number / 1000.0, 0.0])


def answer_of(number, namespace):
    return make_answer(number, [expected(graph_of(number, namespace), PLAIN)], namespace=namespace, correct=False)


@pytest.fixture(scope="module")
def driver(neo4j_address):
    """A driver of a server that has the indexes."""
    uri, username, password = neo4j_address
    with Neo4jStore(uri, username=username, password=password) as store:
        store.migrate()
    with neo4j.GraphDatabase.driver(uri, auth=(username, password), notifications_min_severity="OFF") as driver:
        yield driver


@pytest.fixture(scope="module")
def namespaces(neo4j_address, driver):
    """A store of few queries and one of many; what is asked for one query must not cost more in the other."""
    uri, username, password = neo4j_address
    stores = []
    for size in (FEW, MANY):
        store = Neo4jStore(uri, username=username, password=password, namespace=f"plans-{size}-{uuid.uuid4().hex[:8]}")
        store.migrate()
        graphs = [graph_of(number, store.namespace) for number in range(size)]
        store.save(graphs, PLAIN)
        store.save_answers(
            [make_answer(number, [graph], namespace=store.namespace, correct=False) for number, graph in enumerate(graphs)]
        )
        stores.append(store)
    driver.execute_query("CALL db.clearQueryCaches()")  # plans that were made before there were any data
    yield [store.namespace for store in stores]
    for store in stores:
        store.erase(query_ids(store))
        store.close()


@pytest.fixture(scope="module")
def documents(neo4j_address):
    """A namespace of documents with their chunks."""
    uri, username, password = neo4j_address
    namespace = f"plans-{uuid.uuid4().hex[:8]}"
    graphs = [make_document_subgraph(number, namespace=namespace) for number in range(FEW)]
    with Neo4jStore(uri, username=username, password=password, namespace=namespace) as store:
        store.migrate()
        store.save(graphs, PLAIN)
        yield namespace
        store.erase([graph.source_id for graph in graphs])


def operators(plan):
    yield plan
    for child in plan.get("children", ()):
        yield from operators(child)


def kind(operator):
    return operator["operatorType"].split("@")[0]


def profiled(driver, name, **values):
    """Return the operators of the statement, executed and undone."""
    text, bound = load(name, "neo4j").bind(**values)
    with driver.session() as session, session.begin_transaction() as transaction:
        plan = transaction.run(f"PROFILE {text}", bound).consume().profile
        transaction.rollback()
    return list(operators(plan))


def hits(found):
    return sum(operator["args"].get("DbHits", 0) for operator in found)


def checked(found):
    """Refuse scans, and an Eager that holds more than the batch: it would hold back more rows as the store grows."""
    kinds = {kind(operator) for operator in found}
    assert not kinds & SCANS, kinds
    # MergeUniqueNode is how 2026 does MERGE on a constraint: by its index.
    indexed = ("IndexSeek", "MergeUniqueNode")
    assert any(part in name for name in kinds for part in indexed), kinds
    held = [operator["args"].get("Rows", 0) for operator in found if kind(operator) == "Eager"]
    assert all(rows <= MOST_HITS for rows in held), held
    return hits(found)


@pytest.mark.parametrize("name", ONE_QUERY)
def test_one_query_costs_the_same_in_a_larger_store(driver, namespaces, name):
    counted = []
    for namespace in namespaces:
        ids = "ids" if name.endswith("_sources") else "source_ids"
        given = {"namespace": namespace, ids: [graph_of(7, namespace).query.id]}
        counted.append(checked(profiled(driver, name, **given, **ONE_QUERY[name])))
    few, many = counted
    assert 0 < few < MOST_HITS
    assert many == few


def test_a_batch_is_written_at_the_same_cost_into_a_larger_store(driver, namespaces):
    """New queries and bare ones go by one statement: the same hits at both sizes, and so many for each subgraph."""
    counted = []
    for namespace in namespaces:
        graphs = [graph_of(10_000 + number, namespace) for number in range(BATCH)]
        written = [neo4j_rows.subgraph_row(graph, new=True) for graph in graphs]
        counted.append(checked(profiled(driver, "save_subgraphs", namespace=namespace, subgraphs=written)))
    few, many = counted
    assert few / BATCH < MOST_HITS
    assert abs(many - few) <= BATCH  # the first that has a name of a property or type makes it


@pytest.mark.parametrize("name", ["concepts_of_sources", "unlinked_parts", "link_lease", "abandoned_concepts"])
def test_erasing_and_linking_look_at_what_they_touch_alone(driver, namespaces, name):
    """The others' entities and leases cost nothing; a concept of many entities has their number at hand."""
    counted = []
    for namespace in namespaces:
        source_id = graph_of(7, namespace).query.id
        values = {
            "concepts_of_sources": {"source_ids": [source_id]},
            "unlinked_parts": {"ids": [source_id]},
            "link_lease": {"token": 0, "milliseconds": 0},
            "abandoned_concepts": {},
        }[name]
        counted.append(checked(profiled(driver, name, namespace=namespace, **values)))
    few, many = counted
    assert 0 < few < MOST_HITS
    assert abs(many - few) <= 4  # whether the namespace had such a node before


def test_reading_many_costs_so_much_for_each(driver, namespaces):
    few, many = (
        checked(
            profiled(
                driver,
                "read_subgraphs",
                namespace=namespaces[1],
                source_ids=[graph_of(number, namespaces[1]).query.id for number in range(count)],
            )
        )
        for count in (5, 100)
    )
    assert 10 * few < many <= 20 * few


def test_the_revision_is_read_once_more_after_the_parts(driver, namespaces):
    """Not what the statement has read before: that would be the same whatever another transaction did meanwhile."""
    ids = [graph_of(7, namespaces[0]).query.id]
    details = [
        (kind(operator), operator["args"].get("Details", ""))
        for operator in profiled(driver, "read_subgraphs", namespace=namespaces[0], source_ids=ids)
    ]
    (last,) = [place for place, (_, text) in enumerate(details) if "AS revision" in text]
    (first,) = [place for place, (_, text) in enumerate(details) if "AS stamp" in text]
    # An evidence's calls are collected within the evidence, which is no part of the chain.
    names = {name: place for place, (kind_, text) in enumerate(details) if kind_ == "RollUpApply" for name in text.split(", ")}
    parts = [names[part] for part in neo4j_rows.PARTS]
    assert details[last][1].startswith("q[again]")
    assert last < min(parts) <= max(parts) < first, "from the last operator to the first"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_costs_the_same_in_a_larger_store(driver, namespaces, name):
    """A page of ten, from the beginning of a small store and a large one, and from the middle of the large one.

    Of what nothing is filtered out of: what a page passes over costs, too.
    """
    ids = sorted(graph_of(number, namespaces[1]).query.id for number in range(MANY))
    if name == "find_answers":
        ids = sorted(answer_of(number, namespaces[1]).id for number in range(MANY))
    counted = [
        checked(profiled(driver, name.split()[0], namespace=namespace, after=after, limit=10, **PAGES[name]))
        for namespace, after in ((namespaces[0], ""), (namespaces[1], ""), (namespaces[1], ids[MANY // 2]))
    ]
    assert 0 < max(counted) < 10 * MOST_HITS
    assert max(counted) <= 1.5 * min(counted) + 20, counted


@pytest.fixture
def concepts(driver):
    """A namespace to which concepts can be added, as many open as settled ones; the settled ones have vectors."""
    namespace = f"plans-{uuid.uuid4().hex[:8]}"
    statement = """
        UNWIND range($start, $end - 1) AS n
        UNWIND [['', null], ['x', [1.0]]] AS kind
        CREATE (:Concept {id: $namespace + kind[0] + right('00' + n, 3), namespace: $namespace, cluster: kind[0], name: 'one',
          embedding: kind[1]})
    """
    with driver.session() as session:

        def add(start, end):
            session.run(statement, {"start": start, "end": end, "namespace": namespace}).consume()

        yield namespace, add
        session.run("MATCH (c:Concept {namespace: $namespace}) DELETE c", {"namespace": namespace}).consume()


@pytest.mark.parametrize("name", CONCEPTS)
def test_linking_begins_at_the_same_cost_among_more(driver, concepts, name):
    """They are read in the order of their index: no page sorts what is behind it, or goes through what is before it."""
    namespace, add = concepts
    counted = []
    for start, end in ((0, FEW), (FEW, 20 * FEW)):
        add(start, end)
        places = ("", f"{namespace}009") if name == "all_concepts" else ("",)
        for after in places:
            values = {**CONCEPTS[name], **({"after": after} if name == "all_concepts" else {})}
            counted.append(checked(profiled(driver, name, namespace=namespace, limit=10, **values)))
    assert 0 < max(counted) < MOST_HITS
    assert max(counted) <= min(counted) + 20, counted


@pytest.mark.parametrize("name", ["search_units", "search_around", "search_subgraphs", "search_exact"])
def test_a_step_of_a_search_costs_the_same_in_a_larger_store(driver, namespaces, name):
    counted = []
    for namespace in namespaces:
        (one, other) = (graph_of(number, namespace) for number in (7, 8))
        values = {
            "search_units": {"ids": [one.source_id, other.source_id], "vectors": [[1.0, 0.0, 0.0]]},
            "search_around": {"nodes": [one.triples[0].subject_id, "missing"], "limit": 3, "entities": 64, "triples": 1000},
            "search_subgraphs": {
                "evidence_ids": [other.evidence[0].id],
                "pairs": [[one.triples[0].subject_id, one.triples[0].object_id]],
            },
            "search_exact": {
                "vector": [1.0, 0.0, 0.0],
                "sources": [one.source_id, other.source_id],
                "kinds": ["queries", "evidence"],
                "k": 5,
            },
        }[name]
        found = profiled(driver, name, namespace=namespace, **values)
        assert found[0]["args"]["Rows"] > 0
        counted.append(checked(found))
    few, many = counted
    assert 0 < few < MOST_HITS
    assert many == few


def test_the_search_of_the_indexes_seeks(driver, namespaces):
    """It commits itself, so that it is not executed in a transaction of the client."""
    values = {
        "namespace": namespaces[1],
        "source_id": graph_of(7, namespaces[1]).source_id,
        "sources": [],
    }
    text = lucene_query("unit_text", namespaces[1], ["process"])
    asked = {"vectors": [[1.0, 0.0, 0.0]], "candidates": 10, "texts": [["unit_text", text]], "hits": 10}
    statement, bound = load("search_candidates", "neo4j").bind(**values, **asked)
    with driver.session() as session:
        checked(list(operators(session.run(f"PROFILE {statement}", bound).consume().profile)))


def test_a_hub_costs_no_more_than_the_entities_that_are_looked_at(driver, neo4j_address):
    """A concept of 50 entities, and of 250: 20 of each are looked at."""
    uri, username, password = neo4j_address
    namespace = f"plans-{uuid.uuid4().hex[:8]}"
    counted = []
    with Neo4jStore(uri, username=username, password=password, namespace=namespace) as store:
        store.migrate()
        hub = concept_id(namespace, "mitosis")
        for start, end in ((0, 50), (50, 250)):
            graphs = [graph_of(number, namespace) for number in range(start, end)]
            store.save(graphs, PLAIN)
            links = [(entity.id, hub) for graph in graphs for entity in graph.entities if entity.name == "mitosis"]
            store.concepts.write(Changes(concepts=[Concept(hub, "mitosis", "mitosis")], links=links))
            values = {"nodes": [hub], "limit": 10, "entities": 20, "triples": 1000}
            found = profiled(driver, "search_around", namespace=namespace, **values)
            assert found[0]["args"]["Rows"] == 10
            counted.append(checked(found))
        store.erase(query_ids(store))
    few, many = counted
    assert many <= few + 20


@pytest.mark.parametrize("name", ["search_sources", "creation_times"])
def test_a_fact_of_every_source_is_read_for_this_namespace_alone(driver, namespaces, name):
    few, many = (hits(profiled(driver, name, namespace=namespace)) for namespace in namespaces)
    checked(profiled(driver, name, namespace=namespaces[1]))
    assert few < many < 10 * MANY


@pytest.mark.parametrize("name", WHOLE)
def test_a_namespace_costs_nothing_for_what_others_have(driver, namespaces, documents, concepts, name):
    assert namespaces
    concepts[1](0, MANY)
    assert documents
    wanted = {"namespace": f"empty-{uuid.uuid4().hex}", "after": "", "limit": 5, "ids": []}
    values = {key: wanted[key] for key in load(name, "neo4j").parameters}
    found = profiled(driver, name, **values)
    touched = [(operator["args"].get("DbHits", 0), operator["args"].get("Details", "")) for operator in found]
    assert [item for item in touched if item[0] > MOST_TRIED] == []


@pytest.mark.parametrize("name", ["find_answers", "find_sources"])
def test_a_short_id_costs_the_same_in_a_larger_store(driver, namespaces, name):
    """What begins so is found between two ids of the index; what is near it in the index is passed over."""
    counted = []
    for namespace in namespaces:
        id_ = answer_of(3, namespace).id if name == "find_answers" else graph_of(3, namespace).source_id
        values = {**PAGES[name], "after": id_[:11], "until": id_[:12] + LAST, "prefix": id_[:12]}
        counted.append(checked(profiled(driver, name, namespace=namespace, limit=10, **values)))
    few, many = counted
    assert 0 < few < MOST_HITS
    assert many == few
