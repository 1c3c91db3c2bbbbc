"""What the contract of searching and that of asking share: opening a store of each engine, and linking what it holds."""

import math
import uuid

import neo4j
import numpy as np
import pytest
from tampering import statement

from drag_graph.graph.name_forms import concept_id, concept_key
from drag_graph.graph.search_terms import search_terms
from drag_graph.model import Aggregation
from drag_graph.ports.concept_store import Changes, Concept
from drag_graph.testing.builders import document_of, make_document, make_subgraph
from drag_graph.testing.dict_store import DictDatabase, DictStore

AGGREGATION = Aggregation(threshold=0.5)
DIMENSION = 16
NOTHING = np.zeros((0, DIMENSION), np.float32)
BLOOD = (
    ("heart", [("heart", "pumps", "blood", 0.9, 0), ("blood", "carries", "oxygen", 0.8, 1)]),
    ("iron", [("blood", "contains", "iron", 0.85, 0), ("iron", "binds", "oxygen", 0.75, 1)]),
    ("lung", [("lungs", "take up", "oxygen", 0.95, 0), ("lungs", "lie in", "chest", 0.7, 1)]),
    ("plasma", [("sanguine fluid", "contains", "plasma", 0.65, 0)]),
)


def direction(degrees):
    """A unit vector so many degrees away from the first axis."""
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), *[0.0] * (DIMENSION - 2)]


def operators(plan):
    """The names of all operators of a plan."""
    yield plan["operatorType"]
    for child in plan.get("children", []):
        yield from operators(child)


def link_entities(store, graphs, *, same=(), evidence=()):
    """Give every entity its concept and return the ids of these by name.

    `same` joins names to the cluster of another one, or to none (""); `evidence` are vectors by id.
    """
    ids = {entity.name: concept_id(store.namespace, concept_key(entity.name)) for graph in graphs for entity in graph.entities}
    concepts = [Concept(id_, concept_key(name), name) for name, id_ in ids.items()]
    links = [(entity.id, ids[entity.name]) for graph in graphs for entity in graph.entities]
    store.concepts.write(Changes(evidence=dict(evidence), concepts=concepts, links=links))
    clusters = {ids[name]: ids.get(other, other) for name, other in dict(same).items()}
    written = store.concepts.read(sorted(ids.values()))
    store.concepts.write(Changes(clusters=[(item, clusters.get(item.id, item.id)) for item in written]))
    return ids


def probes(*vectors):
    return np.array(vectors, dtype=np.float32)


def document(store, name, chunks, triples=(), **fields):
    """A document of that name with these passages in its chunks."""
    heading = fields.pop("heading", ())
    made = make_document(name, namespace=store.namespace).model_copy(update={"name": name, "date": "", "tags": (), **fields})
    return document_of(made, chunks, triples, heading=heading)


def ask(store, text, k=10, **options):
    """Search by the words of a text alone."""
    return store.search.candidates((), search_terms(text), k, **options)


def pairs_of(graph):
    return sorted({(triple.subject_id, triple.object_id) for triple in graph.triples})


class LinkedStores:
    """Fixtures of a store that is searched; a subclass gives `open_store` and `tamper(store, flaw)`."""

    @pytest.fixture
    def namespace(self):
        return f"search-{uuid.uuid4().hex[:16]}"

    @pytest.fixture
    def store(self, open_store, namespace):
        with open_store(namespace) as store:
            store.embedder(("of-tests", DIMENSION))
            yield store

    @pytest.fixture
    def blood(self, store):
        """Four small subgraphs about blood, whose last evidence was not kept."""
        graphs = [
            make_subgraph(
                name,
                namespace=store.namespace,
                triples=triples,
                evidence=len(triples) + 1,
                dropped=(len(triples),),
                embedding=direction(30 * number),
            )
            for number, (name, triples) in enumerate(BLOOD)
        ]
        store.save(graphs, AGGREGATION)
        return store.read([graph.source_id for graph in graphs])


class OnLadybug:
    """The embedded store."""

    @pytest.fixture
    def open_store(self, open_ladybug):
        return open_ladybug

    @pytest.fixture
    def tamper(self):
        def tamper_(store, flaw):
            with store.writing() as session:
                session.execute(*statement(flaw, "ladybug", store.namespace))

        return tamper_


class OnNeo4j:
    """The store in Neo4j."""

    @pytest.fixture
    def driver(self, neo4j_address):
        uri, username, password = neo4j_address
        with neo4j.GraphDatabase.driver(uri, auth=(username, password), notifications_min_severity="OFF") as driver:
            yield driver

    @pytest.fixture
    def open_store(self, open_neo4j):
        return open_neo4j

    @pytest.fixture
    def tamper(self, driver):
        def tamper_(store, flaw):
            driver.execute_query(*statement(flaw, "neo4j", store.namespace))

        return tamper_


class InMemory:
    """The store over dictionaries."""

    @pytest.fixture
    def open_store(self):
        database = DictDatabase()

        def open_(namespace):
            store = DictStore(database, namespace=namespace)
            store.migrate()
            return store

        return open_

    @pytest.fixture
    def tamper(self):
        def tamper_(store, flaw):
            change = {"evidence_gone": {"evidence_id": "missing"}, "call_gone": {"call_ids": ("missing",)}}[flaw]
            content = store.database.namespaces[store.namespace]
            for id_, graph in content.subgraphs.items():
                triples = tuple(triple.model_copy(update=change) for triple in graph.triples)
                content.subgraphs[id_] = graph.model_copy(update={"triples": triples})

        return tamper_
