"""Looking at a whole graph whose queries were linked, or that somebody has broken, on both engines."""

import secrets

import pytest
from tampering import statement

from drag_graph.communities.leiden import WholeGraph, partition
from drag_graph.manage.graph_statistics import names_of
from drag_graph.model import Aggregation
from drag_graph.ports.concept_store import Changes, Concept
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.finding import query_ids

PLAIN = Aggregation()
CLAIMS = {
    "one": [("aspirin", "increases", "bleeding", 0.9, 0), ("aspirin", "is", "a drug", 0.8, 1)],
    "two": [("acetylsalicylic acid", "decreases", "bleeding", 0.9, 0)],
    "three": [("bleeding", "increases", "aspirin", 0.9, 0), ("leeches", "cause", "bleeding", 0.9, 1)],
}
SAME = {"aspirin": "aspirin", "acetylsalicylic acid": "aspirin", "bleeding": "bleeding", "leeches": "leeches"}
"""Each linked name, and the concept of its cluster."""


@pytest.fixture(params=["ladybug", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def store(request, tmp_path):
    """A store of three queries that nothing joins yet."""
    namespace = f"looking-{secrets.token_hex(4)}"
    if request.param == "ladybug":
        store = LadybugStore(tmp_path / "graph.lbug", namespace=namespace)
    else:
        uri, username, password = request.getfixturevalue("neo4j_lts")
        store = Neo4jStore(uri, username=username, password=password, namespace=namespace)
    with store:
        store.migrate()
        store.save([make_subgraph(n, namespace=namespace, triples=claims) for n, claims in CLAIMS.items()], PLAIN)
        yield store
        tamper(store, "namespace_gone") if isinstance(store, Neo4jStore) else None


def tamper(store, flaw):
    """Do what a statement of `tamper/` says."""
    if isinstance(store, Neo4jStore):
        text, parameters = statement(flaw, "neo4j", store.namespace)
        store.in_writing(lambda work: work._transaction.run(text, parameters).consume())
        return
    with store.writing() as session:
        session.execute(*statement(flaw, "ladybug", store.namespace))


def link(store, *, settled):
    """Link the names of `SAME`; without `settled` as `link` does before it comes to its end."""
    entities = [item for graph in store.read(query_ids(store)) for item in graph.entities]
    for name in SAME:
        ids = tuple(item.id for item in entities if item.name == name)
        concept = Concept(f"concept-{name}", name, name)
        store.concepts.write(Changes(concepts=[concept], links=[(id_, concept.id) for id_ in ids]))
    if settled:
        made = {item.name: item for item in store.concepts.read([f"concept-{name}" for name in SAME])}
        store.concepts.write(Changes(clusters=[(made[name], f"concept-{whole}") for name, whole in SAME.items()]))


def things(store):
    """Return the sources of each thing by its name."""
    edges = list(store.linked_edges())
    names = names_of(edges, {end for edge in edges for end in (edge.source, edge.target)})
    sources = {id_: {edge.source_id for edge in edges if id_ in (edge.source, edge.target)} for id_ in names}
    return sorted((names[id_], len(found)) for id_, found in sources.items() if len(found) > 1)


def test_what_two_queries_share_is_one_thing_after_link(store):
    assert things(store) == []
    link(store, settled=True)
    assert things(store) == [("aspirin", 3), ("bleeding", 3)]
    ends = {end for edge in store.linked_edges() for end in (edge.source, edge.target)}
    assert {"concept-aspirin", "concept-bleeding", "concept-leeches"} < ends
    parts = partition(WholeGraph.of(store.linked_edges()), resolution=1.0, min_size=1)
    assert sorted(thing for part in parts for thing in part.things) == sorted(ends), "of things, not of entities"


def test_where_link_has_not_come_to_its_end_a_concept_is_a_thing_by_itself(store):
    link(store, settled=False)
    assert things(store) == [("aspirin", 2), ("bleeding", 3)]
    assert "concept-acetylsalicylic acid" in {edge.source for edge in store.linked_edges()}


FLAWS = ("dangling_edge", "evidence_gone", "provenance_gone", "confidence_gone", "predicate_gone")
"""One on top of the other; from the fourth on no edge has what the figures are made of."""


def test_damaged_edges_are_left_out(store):
    link(store, settled=True)
    whole = links(store)
    for number, flaw in enumerate(FLAWS):
        tamper(store, flaw)
        assert links(store) == (whole if number < FLAWS.index("confidence_gone") else [])


def test_a_store_without_some_links_has_all_its_edges(store):
    whole = links(store)
    tamper(store, "objects_orphaned")
    assert links(store) == whole


def links(store):
    return sorted((edge.source, edge.target, edge.confidence) for edge in store.linked_edges())
