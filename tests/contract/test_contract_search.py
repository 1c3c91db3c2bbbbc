"""Both stores keep what `drag_graph.ports.graph_search.GraphSearch` promises, and questions are asked through it."""

import logging
import math
import uuid
from collections import Counter
from pathlib import Path

import neo4j
import numpy as np
import pytest

from drag_graph.ask.asker import Asker
from drag_graph.graph.expansion import adjacent_passages
from drag_graph.graph.names import concept_id, concept_key
from drag_graph.inputs import make_query
from drag_graph.model import Aggregation
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.model_choice import make_student
from drag_graph.ports.concept_store import Changes
from drag_graph.ports.graph_search import Limits, Seed
from drag_graph.report.audit_document import audit_document
from drag_graph.settings import Settings
from drag_graph.stores.shared.cypher_files import load, load_from
from drag_graph.testing.builders import make_document_subgraph, make_subgraph
from drag_graph.testing.finding import read_answer

PLANT = Path(__file__).parent / "plant"
AGGREGATION = Aggregation(threshold=0.5)
DIMENSION = 16
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


class SearchContract:
    """The tests; a subclass gives `open_store` and `execute(store, name, dialect rows)`."""

    @pytest.fixture
    def namespace(self):
        return f"search-{uuid.uuid4().hex[:16]}"

    @pytest.fixture
    def store(self, open_store, namespace):
        with open_store(namespace) as store:
            yield store

    @pytest.fixture
    def plant(self, execute):
        """Give every entity its concept, and what is named its vector; `same` joins names to the cluster of another."""

        def plant_(store, graphs, *, same=(), concepts=(), evidence=()):
            clusters = dict(same)
            named = Counter(entity.name for graph in graphs for entity in graph.entities)
            ids = {name: concept_id(store.namespace, concept_key(name)) for name in named}
            rows = [
                {
                    "id": ids[name],
                    "namespace": store.namespace,
                    "key": concept_key(name),
                    "name": name,
                    "cluster": ids[clusters.get(name, name)],
                    "entities": number,
                }
                for name, number in named.items()
            ]
            execute(store, "concepts", rows)
            links = [
                {"entity": entity.id, "concept": ids[entity.name], "namespace": store.namespace}
                for graph in graphs
                for entity in graph.entities
            ]
            execute(store, "links", links)
            vectors = [{"id": ids[name], "vector": store.sent_vector(vector)} for name, vector in dict(concepts).items()]
            execute(store, "concept_vectors", vectors)
            store.concepts.write(Changes(evidence=dict(evidence)))
            return ids

        return plant_

    @pytest.fixture
    def blood(self, store):
        """Four small subgraphs about blood."""
        store.embedder(("of-tests", DIMENSION))
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
        return store.read([graph.query.id for graph in graphs])

    def test_a_document_is_reached_by_its_concepts_and_its_passages(self, store, plant):
        document = make_document_subgraph(namespace=store.namespace, names=["mitosis"])
        query = make_subgraph(namespace=store.namespace)
        store.save([document, query], AGGREGATION)
        plant(store, [document, query])
        (concept,) = store.search.candidates((), ["mitosis"], 5).named
        found = store.search.expand([Seed("concept", concept.cluster)], 2)
        assert {graph.source_id for graph in found.subgraphs} == {document.source_id, query.source_id}
        (part,) = [graph for graph in found.subgraphs if graph.document]
        assert part.source == document.source
        reached = {item.id: item for item in part.evidence}
        assert reached
        assert {item.chunk_id for item in reached.values()} <= {item.id for item in document.chunks}
        own = store.search.expand([Seed("evidence", document.evidence[3].id, 1.0, document.source_id)], 1)
        (edge,) = [edge for edge in store.read([document.source_id])[0].edges if document.evidence[3].id in edge.evidence_ids]
        assert {item.ref for item in own.reached} == {document.evidence[3].id, edge.id}

    def test_a_passage_brings_the_adjacent_ones_of_its_chunk(self, store, plant):
        """They are there to be shown, but are not reached."""
        document = make_document_subgraph(namespace=store.namespace, edges=8)
        chunks = [document.chunks[n // 6].id for n in range(8)]
        passages = [item.model_copy(update={"chunk_id": id_}) for item, id_ in zip(document.evidence, chunks, strict=True)]
        document = document.model_copy(update={"evidence": tuple(passages), "chunks": document.chunks[:2]})
        others = [make_document_subgraph(1, namespace=store.namespace), make_subgraph(namespace=store.namespace)]
        store.save([document, *others], AGGREGATION)
        plant(store, [document, *others])
        for number, near in ((4, {2, 3, 5}), (6, {7}), (0, {1, 2})):
            own = passages[number]
            found = store.search.expand([Seed("evidence", own.id, 1.0, document.source_id)], 1)
            (part,) = found.subgraphs
            (adjacent,) = adjacent_passages(part, {own.id}).values()
            assert [item.id for item in adjacent] == [passages[n].id for n in sorted(near)]
            assert {item.id for item in part.evidence} == {passages[n].id for n in {number, *near}}
            assert {item.ref for item in found.reached if item.kind == "evidence"} == {own.id}
            assert {item.id for item in part.chunks} >= {own.chunk_id}
        other = others[1].evidence[1]
        (part,) = store.search.expand([Seed("evidence", other.id, 1.0, other.source_id)], 1).subgraphs
        assert adjacent_passages(part, {other.id}) == {}

    def test_a_store_without_concepts_has_its_queries(self, store, blood):
        found = store.search.candidates(direction(5), ["blood"], 3)
        assert [hit.id for hit in found.queries] == [graph.query.id for graph in blood[:3]]
        assert [hit.text for hit in found.queries] == [graph.query.text for graph in blood[:3]]
        assert found.queries[1].score == pytest.approx(math.cos(math.radians(25)), abs=1e-5)
        assert not found.own
        assert found.evidence == found.named == found.similar == ()

    def test_the_very_question_is_noticed(self, store, blood):
        assert store.search.candidates(direction(0), [], 1, source_id=blood[3].query.id).own
        assert not store.search.candidates(direction(0), [], 1, source_id="another").own

    def test_a_query_leads_to_its_evidence_and_edges(self, store, blood):
        graph = blood[0]
        found = store.search.expand([Seed("query", graph.query.id, 1.0, graph.query.id)], 2)
        assert {(item.kind, item.ref) for item in found.reached if item.hop == 0} == {
            *(("evidence", item.id) for item in graph.kept_evidence),
            *(("edge", edge.id) for edge in graph.edges),
        }
        (part,) = found.subgraphs
        assert part.edges == graph.edges
        assert part.triples == graph.triples
        assert part.calls == graph.calls
        assert part.kept_evidence == graph.kept_evidence
        assert (part.query, part.settings_hash, part.blind, part.graph) == (
            graph.query,
            graph.settings_hash,
            graph.blind,
            graph.graph,
        )

    def test_a_multigraph_gives_its_triples(self, store):
        store.embedder(("of-tests", DIMENSION))
        weak = make_subgraph(
            "weak", namespace=store.namespace, triples=[("a", "may cause", "b", 0.3, 0)], evidence=1, dropped=()
        )
        store.save([weak], AGGREGATION)
        found = store.search.expand([Seed("query", weak.query.id)], 1)
        assert ("edge", weak.triples[0].id) in {(item.kind, item.ref) for item in found.reached}
        assert found.subgraphs[0].usable_edges[0].id == weak.triples[0].id

    def test_names_and_vectors_find_evidence_and_concepts(self, store, blood, plant):
        evidence = {item.id: direction(10 * item.position + 40 * n) for n, graph in enumerate(blood) for item in graph.evidence}
        ids = plant(
            store,
            blood,
            same={"sanguine fluid": "blood"},
            concepts={"iron": direction(2), "chest": direction(50)},
            evidence=evidence,
        )
        found = store.search.candidates(direction(0), ["oxygen", "nothing", "sanguinefluid"], 10)
        assert [hit.text for hit in found.named] == ["oxygen", "sanguine fluid"]
        assert [hit.cluster for hit in found.named] == [ids["oxygen"], ids["blood"]]
        assert [hit.entities for hit in found.named] == [3, 1]
        assert [(hit.text, hit.cluster) for hit in found.similar] == [("iron", ids["iron"]), ("chest", ids["chest"])]
        kept = [item for graph in blood for item in graph.kept_evidence]
        assert {hit.id for hit in found.evidence} == {item.id for item in kept}
        assert found.evidence[0].id == blood[0].evidence[0].id
        assert found.evidence[0].source_id == blood[0].query.id
        assert [hit.score for hit in found.evidence] == sorted((hit.score for hit in found.evidence), reverse=True)

    def test_a_cluster_leads_to_the_edges_of_all_its_names(self, store, blood, plant):
        ids = plant(store, blood, same={"sanguine fluid": "blood"})
        found = store.search.expand([Seed("concept", ids["blood"])], 1)
        told = {edge.statement for graph in found.subgraphs for edge in graph.edges}
        assert told == {"heart pumps blood", "blood carries oxygen", "blood contains iron", "sanguine fluid contains plasma"}
        assert {item.hop for item in found.reached} == {1}
        assert {item.seed for item in found.reached} == {ids["blood"]}
        behind = {id_ for graph in found.subgraphs for edge in graph.edges for id_ in edge.evidence_ids}
        assert {item.ref for item in found.reached if item.kind == "evidence"} == behind

    def test_an_open_cluster_is_the_concept_alone(self, store, blood, plant, execute):
        graph = make_subgraph(
            "open", namespace=store.namespace, triples=[("salt", "dissolves in", "water", 0.9, 0)], evidence=1
        )
        store.save(
            [graph.model_copy(update={"evidence": tuple(e.model_copy(update={"kept": True}) for e in graph.evidence)})],
            AGGREGATION,
        )
        salt = concept_id(store.namespace, "salt")
        rows = [{"id": salt, "namespace": store.namespace, "key": "salt", "name": "salt", "cluster": "", "entities": 1}]
        execute(store, "concepts", rows)
        entity = next(entity.id for entity in graph.entities if entity.name == "salt")
        execute(store, "links", [{"entity": entity, "concept": salt, "namespace": store.namespace}])
        (hit,) = store.search.candidates(direction(0), ["salt"], 1).named
        assert hit.cluster == salt
        found = store.search.expand([Seed("concept", hit.cluster)], 2)
        assert [edge.object for part in found.subgraphs for edge in part.edges] == ["water"]

    def test_a_second_hop_crosses_into_other_queries(self, store, blood, plant):
        ids = plant(store, blood)
        near = store.search.expand([Seed("concept", ids["heart"])], 1)
        far = store.search.expand([Seed("concept", ids["heart"])], 2)
        hops = {
            edge.statement: item.hop
            for item in far.reached
            for graph in far.subgraphs
            for edge in graph.edges
            if edge.id == item.ref
        }
        assert {edge.statement for graph in near.subgraphs for edge in graph.edges} == {"heart pumps blood"}
        assert hops == {"heart pumps blood": 1, "blood carries oxygen": 2, "blood contains iron": 2}
        one = store.search.expand([Seed("concept", ids["heart"])], 2, Limits(far=1))
        assert {edge.statement for graph in one.subgraphs for edge in graph.edges} == {
            "heart pumps blood",
            "blood contains iron",
        }

    def test_an_evidence_leads_to_itself_and_what_was_read_from_it(self, store, blood):
        item = blood[1].evidence[1]
        found = store.search.expand([Seed("evidence", item.id, 1.0, item.source_id)], 1)
        edge = next(edge for edge in blood[1].edges if item.id in edge.evidence_ids)
        assert {(reached.kind, reached.ref, reached.hop) for reached in found.reached} == {
            ("evidence", item.id, 0),
            ("evidence", item.id, 1),
            ("edge", edge.id, 1),
        }

    def test_a_hub_costs_no_more_than_its_limits(self, store, plant):
        store.embedder(("of-tests", DIMENSION))
        graphs = [
            make_subgraph(
                n, namespace=store.namespace, triples=[("cell", "does", f"thing {n}", 0.5 + n / 100, 0)], evidence=1, dropped=()
            )
            for n in range(40)
        ]
        store.save(graphs, AGGREGATION)
        hub = plant(store, graphs)["cell"]
        found = store.search.expand([Seed("concept", hub)], 1, Limits(entities=64, edges=5))
        told = sorted(edge.confidence for graph in found.subgraphs for edge in graph.edges)
        assert told == pytest.approx([0.85, 0.86, 0.87, 0.88, 0.89])
        few = store.search.expand([Seed("concept", hub)], 2, Limits(entities=3, edges=5, beyond=2, far=4))
        assert len({item.ref for item in few.reached if item.kind == "edge" and item.hop == 1}) == 3
        assert len({item.ref for item in few.reached if item.kind == "edge" and item.hop == 2}) <= 4

    def test_the_best_edges_of_all_clusters_together_are_taken(self, store, plant):
        store.embedder(("of-tests", DIMENSION))
        triples = [("cell", "does", f"thing {n}", 0.7 + n / 100, 0) for n in range(4)]
        triples += [("gene", "makes", f"stuff {n}", 0.8 + n / 100, 0) for n in range(4)]
        graph = make_subgraph(1, namespace=store.namespace, triples=triples, evidence=1, dropped=())
        store.save([graph], AGGREGATION)
        ids = plant(store, [graph])
        seeds = [Seed("concept", ids["cell"], 1.0), Seed("concept", ids["gene"], 0.9)]
        found = store.search.expand(seeds, 1, Limits(near=3))
        # 0.9 x 0.83, 0.73, 0.9 x 0.82
        said = {edge.object for part in found.subgraphs for edge in part.edges}
        assert said == {"stuff 3", "stuff 2", "thing 3"}
        seeds = [Seed("concept", ids["cell"], 1.0), Seed("concept", ids["gene"], 0.5)]
        found = store.search.expand(seeds, 1, Limits(near=3))
        said = {edge.object for part in found.subgraphs for edge in part.edges}
        assert said == {"thing 3", "thing 2", "thing 1"}

    def test_planted_neighbours_are_recalled(self, store, plant):
        chance = np.random.default_rng(7)
        store.embedder(("of-tests", DIMENSION))
        graphs = [
            make_subgraph(
                n,
                namespace=store.namespace,
                triples=[(f"thing {n}", "is", f"other {n}", 0.9, 0)],
                evidence=15,
                dropped=(),
                embedding=chance.normal(size=DIMENSION).tolist(),
            )
            for n in range(30)
        ]
        store.save(graphs, AGGREGATION)
        evidence = {item.id: chance.normal(size=DIMENSION) for graph in graphs for item in graph.evidence}
        concepts = {entity.name: chance.normal(size=DIMENSION) for graph in graphs for entity in graph.entities}
        ids = plant(
            store,
            graphs,
            concepts={name: v.tolist() for name, v in concepts.items()},
            evidence={id_: v.tolist() for id_, v in evidence.items()},
        )
        places = {
            "evidence": evidence,
            "similar": {ids[name]: v for name, v in concepts.items()},
            "queries": {graph.query.id: np.array(graph.embedding) for graph in graphs},
        }
        found = wanted = 0
        for _ in range(20):
            probe = chance.normal(size=DIMENSION)
            got = store.search.candidates(probe.tolist(), [], 10)
            for name, vectors in places.items():
                cosines = {id_: float(v @ probe / np.linalg.norm(v) / np.linalg.norm(probe)) for id_, v in vectors.items()}
                best = sorted(cosines, key=lambda id_: -cosines[id_])[:10]
                found += len({hit.id for hit in getattr(got, name)} & set(best))
                wanted += len(best)
        assert found / wanted >= 0.99

    def test_other_namespaces_never_show_and_crowd_none_out(self, open_store, namespace, plant):
        with open_store(f"{namespace}-crowd") as store:
            store.embedder(("of-tests", DIMENSION))
            crowd = [
                make_subgraph(
                    n,
                    namespace=store.namespace,
                    triples=[(f"thing {n} {m}", "is", "blood", 0.9, m) for m in range(15)],
                    evidence=15,
                    dropped=(),
                    embedding=direction(n / 10),
                )
                for n in range(8)
            ]
            store.save(crowd, AGGREGATION)
            theirs = plant(
                store,
                crowd,
                concepts={f"thing {n} {m}": direction(n + m / 15) for n in range(8) for m in range(15)},
                evidence={item.id: direction(n) for n, graph in enumerate(crowd) for item in graph.evidence},
            )
        with open_store(namespace) as store:
            store.embedder(("of-tests", DIMENSION))
            own = [
                make_subgraph(
                    n,
                    namespace=namespace,
                    triples=[(f"own {n}", "is", "blood", 0.9, 0)],
                    evidence=1,
                    dropped=(),
                    embedding=direction(n),
                )
                for n in (50, 60)
            ]
            store.save(own, AGGREGATION)
            plant(
                store,
                own,
                concepts={"own 50": direction(50), "own 60": direction(60)},
                evidence={graph.evidence[0].id: direction(n) for n, graph in zip((50, 60), own, strict=True)},
            )
            found = store.search.candidates(direction(0), ["blood"], 2, source_id=crowd[0].query.id)
            assert [hit.id for hit in found.queries] == [graph.query.id for graph in own]
            assert [hit.id for hit in found.evidence] == [graph.evidence[0].id for graph in own]
            assert [hit.text for hit in found.similar] == ["own 50", "own 60"]
            assert [hit.id for hit in found.named] == [concept_id(namespace, "blood")]
            assert not found.own
            seeds = [
                Seed("query", crowd[0].query.id),
                Seed("evidence", crowd[1].evidence[0].id, 1.0, crowd[1].query.id),
                Seed("concept", theirs["blood"]),
            ]
            assert store.search.expand(seeds, 2).reached == ()

    def test_what_was_erased_is_found_no_more(self, store, blood, plant):
        ids = plant(store, blood, evidence={item.id: direction(0) for graph in blood for item in graph.evidence})
        gone = blood[1].query.id
        store.erase([gone])
        found = store.search.candidates(direction(0), ["iron", "blood"], 20)
        assert gone not in {hit.id for hit in found.queries} | {hit.source_id for hit in found.evidence}
        reached = store.search.expand([Seed("concept", ids["blood"]), Seed("concept", ids["iron"]), Seed("query", gone)], 2)
        assert gone not in {graph.query.id for graph in reached.subgraphs}
        assert reached.reached

    def test_every_edge_that_is_reached_has_what_its_audit_needs(self, store, blood, plant):
        ids = plant(store, blood)
        for graph in store.search.expand([Seed("concept", id_) for id_ in ids.values()], 2).subgraphs:
            evidence, calls = {item.id for item in graph.evidence}, {call.id for call in graph.calls}
            triples = {triple.id: triple for triple in graph.triples}
            for edge in graph.edges:
                assert {triples[id_].evidence_id for id_ in edge.triple_ids} <= evidence
                assert {call_id for id_ in edge.triple_ids for call_id in triples[id_].call_ids} <= calls
            assert {id_ for item in graph.evidence for id_ in item.call_ids} <= calls

    @pytest.mark.parametrize("vector", [[], [0.0] * DIMENSION, [1.0] * (DIMENSION + 1)])
    def test_a_vector_that_fits_nothing_finds_only_names(self, store, blood, plant, vector):
        plant(store, blood, evidence={blood[0].evidence[0].id: direction(0)}, concepts={"iron": direction(0)})
        found = store.search.candidates(vector, ["iron"], 5)
        assert found.queries == found.evidence == found.similar == ()
        assert [hit.text for hit in found.named] == ["iron"]

    # ---- asking through it

    @pytest.fixture
    def asker(self, store, plant):
        """Ask a linked store of three subgraphs that nobody distilled the questions for."""
        embedder = LexicalEmbedder()
        settings = Settings(namespace=store.namespace, embedder="lexical")
        store.embedder((embedder.name, embedder.dimension))
        told = {
            "heart": ["The heart pumps blood through the body.", "Blood carries oxygen to the cells."],
            "iron": ["Blood contains iron in its red cells.", "Iron binds oxygen in the red cells."],
            "lung": ["The lungs take up oxygen from the air.", "The lungs lie in the chest."],
        }
        graphs = [
            make_subgraph(
                name,
                namespace=store.namespace,
                triples=triples,
                evidence=told[name],
                dropped=(),
                embedding=embedder.embed([f"Which part has the {name} in the body?"])[0].tolist(),
            )
            for name, triples in BLOOD
            if name in told
        ]
        store.save(graphs, AGGREGATION)
        evidence = [item for graph in graphs for item in graph.evidence]
        vectors = embedder.embed([item.text for item in evidence])
        plant(store, graphs, evidence={item.id: v.tolist() for item, v in zip(evidence, vectors, strict=True)})
        return Asker(settings, store, embedder, make_student(settings, embedder))

    def test_a_new_question_is_answered_from_all_subgraphs(self, store, asker):
        asked = asker.ask(
            make_query(
                "How do blood and iron carry oxygen to the red cells?",
                ["by magnets", "iron binds oxygen"],
                namespace=store.namespace,
            )
        )
        assert asked.how == "search"
        assert len(asked.answer.source_ids) > 1
        assert asked.answer.label == "B"
        lines = asked.to_dict(explain=True)["lines"]
        assert {"evidence", "concept", "line"} <= {way["list"] for line in lines for way in line["lists"]}
        for line in lines:
            assert line["score"] == pytest.approx(line["fused"] * (line["confidence"] or 1.0), abs=2e-6)
            assert line["hop"] == min(way["hop"] for way in line["lists"])
        audit = audit_document(store, asked.answer.id)
        assert all(line["live"] for line in audit["lines"])
        assert {line["source_id"] for line in audit["lines"]} == set(asked.answer.source_ids)
        assert {call["id"] for call in audit["calls"]} == {
            call.id for graph in store.read(list(asked.answer.source_ids)) for call in graph.calls
        }

    def test_erasing_one_of_its_queries_erases_the_answer(self, store, asker):
        asked = asker.ask(make_query("How do blood and iron carry oxygen to the red cells?", namespace=store.namespace))
        gone = asked.answer.source_ids[-1]
        store.erase([gone])
        assert read_answer(store, asked.answer.id) is None
        again = asker.ask(make_query("How do blood and iron carry oxygen to the red cells?", namespace=store.namespace))
        assert gone not in again.answer.source_ids
        assert again.answer.lines

    def test_a_stranger_finds_nothing_though_it_names_a_concept(self, store, asker):
        for question in ("Who painted the picture that hangs above the iron gate of Vienna?", "What is the capital of Peru?"):
            asked = asker.ask(make_query(question, namespace=store.namespace))
            assert asked.how == "nothing"
            assert asked.answer.lines == ()


class TestLadybugSearch(SearchContract):
    @pytest.fixture
    def open_store(self, open_ladybug):
        return open_ladybug

    @pytest.fixture
    def execute(self):
        def execute_(store, name, rows):
            with store.writing() as session:
                for row in rows:
                    session.execute(*load_from(PLANT, name, "ladybug").bind(rows=[row]))

        return execute_

    def test_saving_an_answer_does_not_read_the_vectors_again(self, store, asker):
        asker.ask(make_query("How do blood and iron carry oxygen to the red cells?", namespace=store.namespace))
        version = store.ready().version
        asker.ask(make_query("What do the lungs take up from the air?", namespace=store.namespace))
        assert store.ready().version == version


ASKING = ("search_candidates", "search_candidates_exact", "search_expand", "save_answers")
COMMUNITIES = (
    *("all_communities", "community_edges", "join_communities", "leave_communities", "nearest_communities"),
    *("open_communities", "read_communities", "remove_empty_communities", "save_communities", "summarise_communities"),
)


@pytest.mark.neo4j
class TestNeo4jSearch(SearchContract):
    @pytest.fixture
    def driver(self, neo4j_address):
        uri, username, password = neo4j_address
        with neo4j.GraphDatabase.driver(uri, auth=(username, password)) as driver:
            yield driver

    @pytest.fixture
    def open_store(self, open_neo4j):
        return open_neo4j

    @pytest.fixture
    def execute(self, driver):
        def execute_(store, name, rows):
            text, parameters = load_from(PLANT, name, "neo4j").bind(rows=rows)
            driver.execute_query(text, parameters)

        return execute_

    @pytest.mark.parametrize("name", [*ASKING, *COMMUNITIES])
    def test_no_statement_of_asking_or_of_communities_scans(self, store, driver, name):
        """Every node and relationship is found by an index, whatever the store has grown to."""
        statement_ = load(name, "neo4j")
        plan = driver.execute_query(f"EXPLAIN {statement_.text}", dict.fromkeys(statement_.parameters)).summary.plan
        found = list(operators(plan))
        seeks = ("IndexSeek", "MergeUniqueNode")  # how Neo4j 2026 calls a MERGE by a unique index
        assert any(seek in operator for operator in found for seek in seeks)
        assert not [operator for operator in found if "Scan" in operator]

    def test_a_new_question_takes_three_statements(self, store, asker, caplog):
        # opens the connection and looks at the schema
        asker.ask(make_query("What do the lungs take up from the air?", namespace=store.namespace))
        with caplog.at_level(logging.DEBUG, "neo4j.io"):
            asked = asker.ask(make_query("How do blood and iron carry oxygen to the red cells?", namespace=store.namespace))
        assert asked.how == "search"
        sent = [record.getMessage()[:100] for record in caplog.records if " C: RUN " in record.getMessage()]
        # Where a server has many vectors of others, an index is not enough, and a look at our own comes on top.
        sent = [text for text in sent if "[name IN $lists" not in text]
        assert len(sent) == 3
