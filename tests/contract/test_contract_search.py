"""All stores keep what `drag_graph.ports.graph_search.GraphSearch` promises."""

import math
import threading
from dataclasses import replace

import numpy as np
import pytest
from searching import AGGREGATION, DIMENSION, InMemory, LinkedStores, OnLadybug, OnNeo4j, direction, link_entities, operators

from drag_graph.graph.names import concept_id
from drag_graph.graph.search_terms import search_terms
from drag_graph.ports.concept_store import Changes
from drag_graph.ports.graph_search import Candidates, Restriction
from drag_graph.stores.shared.cypher_files import load
from drag_graph.testing.builders import document_of, make_document, make_document_subgraph, make_subgraph

NOTHING = np.zeros((0, DIMENSION), np.float32)
TEXTS = {
    "pump": "The pump V-1234 leaks at the flange.",
    "valve": "The valve V-1063 was replaced in March.",
    "ningbo": "他住在宁波的一条小街上。",
    "ningxia": "宁夏和波兰相距很远。",
    "austria": "Österreich liegt mitten in Europa.",
    "medicine": "ยาแก้ปวดอยู่ในตู้ข้างเตียง",
    "seoul": "그는 어제 서울에서 돌아왔다.",
}


def probes(*vectors):
    return np.array(vectors, dtype=np.float32)


def document(store, name, chunks, triples=(), **fields):
    """A document of that name with these passages in its chunks."""
    heading = fields.pop("heading", ())
    made = make_document(name, namespace=store.namespace).model_copy(update={"name": name, "date": "", "tags": (), **fields})
    return document_of(made, chunks, triples, heading=heading)


def ask(store, text, k=10, **options):
    """Search by the words of a text alone."""
    return store.search.candidates((), search_terms(text), (), k, **options)


def pairs_of(graph):
    return sorted({(triple.subject_id, triple.object_id) for triple in graph.triples})


class SearchContract(LinkedStores):
    """The tests; a subclass gives `open_store` and `tamper(store, flaw)`."""

    # ---- candidates

    def test_an_empty_store_has_nothing(self, store):
        assert store.search.candidates(direction(0), ["blood"], ["blood"], 5, source_id="a") == Candidates()
        assert store.search.units(["a"], probes(direction(0))) == []
        assert store.search.around(["a"], 5) == []
        assert store.search.subgraphs(["a"], [("a", "b")]) == []

    @pytest.mark.parametrize(
        ("question", "name"),
        [
            ("V-1234", "pump"),
            ("what about v1234?", "pump"),
            ("V-1063", "valve"),
            ("宁波", "ningbo"),
            ("波兰", "ningxia"),
            ("osterreich", "austria"),
            ("ÖSTERREICH", "austria"),
            ("ยา", "medicine"),
            ("서울", "seoul"),
        ],
    )
    def test_words_of_every_script_are_found_whole(self, store, question, name):
        graph = document(store, "Notes", [[text] for text in TEXTS.values()])
        store.save([graph], AGGREGATION)
        found = ask(store, question).found
        best = next(iter(found.by_words))
        assert {item.id: item.text for item in graph.evidence}[best] == TEXTS[name]
        assert next(iter(found.units_by_words)) == found.unit_of[best] == graph.chunks[list(TEXTS).index(name)].id
        assert all(score > 0 for score in [*found.by_words.values(), *found.units_by_words.values()])
        if question in ("宁波", "波兰", "osterreich", "ยา", "서울"):
            assert len(found.by_words) == len(found.units_by_words) == 1

    def test_a_chunk_is_found_by_its_title_and_headings_too(self, store):
        graph = document(store, "Budget 东京", [["Nothing was spent."]], heading=("Orchid Project", "Mårten"))
        store.save([graph, document(store, "Other", [["Nothing was lost."]])], AGGREGATION)
        for word in ("budget", "东京", "orchid", "marten"):
            found = ask(store, word).found
            assert list(found.units_by_words) == [graph.chunks[0].id]
            assert found.by_words == {}
        assert len(ask(store, "nothing").found.by_words) == 2

    def test_a_query_is_a_unit_with_its_evidence(self, store, blood):
        found = ask(store, "Which process? Statement 1 about iron", k=2).found
        best = next(iter(found.by_words))
        assert best == blood[1].evidence[1].id
        assert found.unit_of[best] == next(iter(found.units_by_words)) == blood[1].source_id

    def test_vectors_find_queries_and_evidence(self, store, blood):
        vectors = {item.id: direction(10 * item.position + 40 * n) for n, graph in enumerate(blood) for item in graph.evidence}
        store.concepts.write(Changes(evidence=vectors))
        found = store.search.candidates(direction(5), (), (), 3)
        assert [hit.id for hit in found.queries] == [graph.source_id for graph in blood[:3]]
        assert [hit.text for hit in found.queries] == [graph.title for graph in blood[:3]]
        assert found.queries[1].score == pytest.approx(math.cos(math.radians(25)), abs=1e-5)
        near = found.found.by_vector
        assert list(near)[2:] == [blood[1].evidence[0].id]
        assert set(near) == {blood[0].evidence[0].id, blood[0].evidence[1].id, blood[1].evidence[0].id}
        assert list(near.values()) == pytest.approx([math.cos(math.radians(n)) for n in (5, 5, 35)], abs=1e-5)
        assert found.found.unit_of == {id_: blood[0 if n < 2 else 1].source_id for n, id_ in enumerate(near)}
        assert (found.named, found.found.by_words, found.found.units_by_words) == ((), {}, {})

    def test_evidence_that_was_not_kept_is_never_found(self, store, blood):
        store.concepts.write(Changes(evidence={item.id: direction(0) for graph in blood for item in graph.evidence}))
        found = store.search.candidates(direction(0), search_terms("Statement about heart iron lung plasma"), (), 50).found
        kept = {item.id for graph in blood for item in graph.kept_evidence}
        assert set(found.by_vector) == set(found.by_words) == kept
        units = store.search.units([graph.source_id for graph in blood], NOTHING)
        assert {passage.id for unit in units for passage in unit.passages} == kept

    @pytest.mark.parametrize("vector", [[], [0.0] * DIMENSION, [1.0] * (DIMENSION + 1)])
    def test_a_vector_that_fits_nothing_leaves_the_words(self, store, blood, vector):
        link_entities(store, blood, evidence={blood[0].evidence[0].id: direction(0)})
        found = store.search.candidates(vector, ["heart"], ["iron"], 5)
        assert (found.queries, found.found.by_vector) == ((), {})
        assert [hit.text for hit in found.named] == ["iron"]
        assert set(found.found.by_words) == {item.id for item in blood[0].kept_evidence}

    @pytest.mark.parametrize("terms", [[], ["missing"], ["!"], ['"', "\\"], ["a" * 600], [f"word{n}" for n in range(3000)]])
    def test_terms_that_fit_nothing_find_nothing(self, store, blood, terms):
        found = store.search.candidates((), terms, (), 5).found
        assert (found.by_words, found.units_by_words) == ({}, {})

    def test_no_more_than_k_are_found(self, store, blood):
        store.concepts.write(Changes(evidence={item.id: direction(0) for graph in blood for item in graph.evidence}))
        for k in (0, 1, 2):
            found = store.search.candidates(direction(0), ["statement", "process"], (), k)
            lists = (found.queries, found.found.by_vector, found.found.by_words, found.found.units_by_words)
            assert [len(item) for item in lists] == [k] * 4

    def test_a_name_leads_to_its_concept_and_cluster(self, store, blood):
        ids = link_entities(store, blood, same={"sanguine fluid": "blood", "iron": ""})
        found = store.search.candidates((), (), ["oxygen", "nothing", "sanguinefluid", "iron", "oxygen"], 0)
        assert [hit.text for hit in found.named] == ["oxygen", "sanguine fluid", "iron"]
        assert [hit.cluster for hit in found.named] == [ids["oxygen"], ids["blood"], ids["iron"]]
        assert [hit.entities for hit in found.named] == [3, 1, 1]
        assert {hit.score for hit in found.named} == {1.0}

    def test_the_very_question_is_noticed(self, store, blood):
        assert store.search.candidates(direction(0), (), (), 1, source_id=blood[3].source_id).own
        assert not store.search.candidates(direction(0), (), (), 1, source_id="another").own

    def test_planted_neighbours_are_recalled(self, store):
        chance = np.random.default_rng(7)
        graphs = [
            make_subgraph(
                n,
                namespace=store.namespace,
                evidence=15,
                dropped=(),
                triples=(),
                embedding=chance.normal(size=DIMENSION).tolist(),
            )
            for n in range(30)
        ]
        evidence = {item.id: chance.normal(size=DIMENSION) for graph in graphs for item in graph.evidence}
        store.save(graphs, AGGREGATION, vectors={id_: vector.tolist() for id_, vector in evidence.items()})
        queries = {graph.source_id: np.array(graph.embedding) for graph in graphs}
        hits = wanted = 0
        for _ in range(20):
            probe = chance.normal(size=DIMENSION)
            found = store.search.candidates(probe.tolist(), (), (), 10)
            for near, vectors in (([hit.id for hit in found.queries], queries), (found.found.by_vector, evidence)):
                cosines = {id_: float(v @ probe / np.linalg.norm(v)) for id_, v in vectors.items()}
                best = sorted(cosines, key=lambda id_: -cosines[id_])[:10]
                hits, wanted = hits + len(set(near) & set(best)), wanted + len(best)
        assert hits / wanted >= 0.99

    def test_other_namespaces_never_show_and_crowd_none_out(self, open_store, namespace):
        """The name of the other one contains ours, and it has all that we ask for, and nearer."""
        with open_store(f"{namespace}-crowd") as store:
            store.embedder(("of-tests", DIMENSION))
            crowd = [
                make_subgraph(
                    f"{n} pump",
                    namespace=store.namespace,
                    triples=[("pump", "moves", f"water {n}", 0.9, 0)],
                    evidence=["The pump runs."] * 20,
                    dropped=(),
                    embedding=direction(n / 100),
                )
                for n in range(30)
            ]
            store.save(
                crowd, AGGREGATION, vectors={item.id: direction(n) for n, one in enumerate(crowd) for item in one.evidence}
            )
            link_entities(store, crowd)
        with open_store(namespace) as store:
            store.embedder(("of-tests", DIMENSION))
            own = [
                make_subgraph(
                    f"{n} of the pump",
                    namespace=namespace,
                    triples=[("pump", "moves", "oil", 0.9, 0)],
                    evidence=[f"In the year {n}, the large pump in the third cellar did not run."],
                    dropped=(),
                    embedding=direction(n),
                )
                for n in (50, 60)
            ]
            store.save(
                own, AGGREGATION, vectors={one.evidence[0].id: direction(n) for n, one in zip((50, 60), own, strict=True)}
            )
            link_entities(store, own)
            found = store.search.candidates(direction(0), ["pump"], ["pump"], 2, source_id=crowd[0].source_id)
            assert [hit.id for hit in found.queries] == [graph.source_id for graph in own]
            assert list(found.found.by_vector) == [graph.evidence[0].id for graph in own]
            assert set(found.found.by_words) == {graph.evidence[0].id for graph in own}
            assert set(found.found.units_by_words) == {graph.source_id for graph in own}
            assert [hit.id for hit in found.named] == [concept_id(namespace, "pump")]
            assert not found.own
            other = crowd[0]
            assert store.search.units([other.source_id], NOTHING) == []
            assert store.search.around([other.triples[0].subject_id, concept_id(other.source.namespace, "pump")], 5) == []
            assert store.search.subgraphs([other.evidence[0].id], pairs_of(other)) == []

    # ---- restrictions

    @pytest.fixture
    def dated(self, store):
        """Documents of several dates, one of them without, and a query of 2026-01-02; their evidence is all alike."""
        graphs = {
            "new": document(store, "Budget 2026.md", [["The budget grows."]], date="2026-03-02", tags=("money", "plan")),
            "old": document(store, "budget 2023.md", [["The budget grows."]], date="2023-11", tags=("money",)),
            "year": document(store, "Report.pdf", [["The budget grows."]], date="2026"),
            "undated": document(store, "Letter.txt", [["The budget grows."]], tags=("mail",)),
            "query": make_subgraph("budget", namespace=store.namespace, evidence=["The budget grows."], dropped=(), triples=(),
                                   embedding=direction(0)),
        }  # fmt: skip
        vectors = {graph.evidence[0].id: direction(0) for graph in graphs.values()}
        store.save(list(graphs.values()), AGGREGATION, vectors=vectors)
        return graphs

    @pytest.mark.parametrize(
        ("only", "names"),
        [
            ({"sources": ("budget*",)}, {"new", "old"}),
            ({"sources": ("BUDGET 202[0-4].md", "letter.???")}, {"old", "undated"}),
            ({"sources": ("report.pdf",)}, {"year"}),
            ({"sources": ("nothing",)}, set()),
            ({"since": "2026-01-03"}, {"new", "year"}),
            ({"since": "2026-03"}, {"new", "year"}),
            ({"since": "2026-03-03"}, {"year"}),
            ({"until": "2025"}, {"old"}),
            ({"until": "2026-01"}, {"old", "year", "query"}),
            ({"since": "2023", "until": "2023-11-15"}, {"old"}),
            ({"since": "0001", "until": "9999"}, {"new", "old", "year", "query"}),
            ({"tags": ("plan", "mail")}, {"new", "undated"}),
            ({"tags": ("money",), "since": "2024"}, {"new"}),
        ],
    )
    def test_a_restriction_holds_of_all_that_is_found(self, store, dated, only, names):
        found = store.search.candidates(
            direction(0), ["budget"], (), 10, source_id=dated["query"].source_id, only=Restriction(**only)
        )
        evidence = {dated[name].evidence[0].id for name in names}
        assert set(found.found.by_vector) == set(found.found.by_words) == evidence
        # "Report" and "Letter" do not have the word in their names, but in their texts.
        units = {dated[name].evidence[0].chunk_id or dated[name].source_id for name in names}
        assert set(found.found.units_by_words) == set(found.found.unit_of.values()) == units
        assert {hit.id for hit in found.queries} == {dated["query"].source_id} & units
        assert found.own == ("query" in names)

    def test_a_restriction_may_name_ids(self, store, dated):
        wanted = [dated[name].source_id for name in ("undated", "query")]
        found = store.search.candidates(direction(0), ["budget"], (), 10, only=Restriction(sources=(*wanted, "missing")))
        assert (
            set(found.found.by_vector)
            == set(found.found.by_words)
            == {dated[name].evidence[0].id for name in ("undated", "query")}
        )

    def test_a_source_is_found_among_many_better_ones(self, store):
        """Both where it is one of few that are allowed, and where it is one of many."""
        others = [document(store, f"Other {n}", [["The pump runs."]], date="2020" if n < 150 else "2026") for n in range(260)]
        own = document(store, "Own", [["In that year, the large pump of the third cellar ran without a break."]], date="2026")
        store.save([*others, own], AGGREGATION, vectors={one.evidence[0].id: direction(0) for one in others})
        store.concepts.write(Changes(evidence={own.evidence[0].id: direction(80)}))
        found = store.search.candidates(direction(0), ["pump"], (), 1, only=Restriction(sources=("own",))).found
        assert list(found.by_vector) == list(found.by_words) == [own.evidence[0].id]
        assert list(found.units_by_words) == [own.chunks[0].id]
        allowed = {one.evidence[0].id for one in others[150:]} | {own.evidence[0].id}
        found = store.search.candidates(direction(0), ["pump"], (), 111, only=Restriction(since="2026")).found
        assert set(found.by_vector) == set(found.by_words) == allowed

    # ---- units

    def test_a_chunk_has_its_passages_and_their_facts(self, store):
        graph = document(
            store,
            "Plan",
            [["Iron melts.", "Gold does not rust."], ["Silver is soft."]],
            [("iron", "is", "metal", 0.9, 0), ("gold", "is_a", "metal", 0.8, 1), ("silver", "is", "soft", 0.7, 2)],
            heading=("Metals", "Mårten"),
            date="2026-03",
        )
        chunk = graph.chunks[0].model_copy(update={"page": 7})
        graph = graph.model_copy(update={"chunks": (chunk, *graph.chunks[1:])})
        store.save([graph], AGGREGATION, vectors={graph.evidence[0].id: direction(60)})
        (unit,) = store.search.units([chunk.id, "missing", chunk.id], probes(direction(0), direction(60), [0.0] * DIMENSION))
        assert (unit.id, unit.source_id, unit.is_document, unit.title) == (chunk.id, graph.source_id, True, "Plan")
        assert (unit.date, unit.position, unit.start, unit.page) == ("2026-03", 0, 0, 7)
        assert (unit.heading, unit.text) == (("Metals", "Mårten"), "Iron melts. Gold does not rust.")
        assert unit.terms.split() == ["plan", "metals", "marten", "iron", "melts", "gold", "does", "not", "rust"]
        first, second = unit.passages
        assert [(one.id, one.text, one.position) for one in unit.passages] == [
            (item.id, item.text, item.position) for item in graph.evidence[:2]
        ]
        assert [(one.start, one.end) for one in unit.passages] == [(0, 11), (12, 31)]
        assert second.terms == "gold does not rust"
        assert first.cosines == pytest.approx((0.5, 1.0, 0.0), abs=1e-5)
        assert second.cosines == (0.0, 0.0, 0.0)
        facts = {fact.id: fact for fact in unit.facts}
        for triple in graph.triples[:2]:
            fact = facts.pop(triple.id)
            assert (fact.unit_id, fact.source_id, fact.evidence_id) == (chunk.id, graph.source_id, triple.evidence_id)
            assert (fact.subject_id, fact.subject, fact.subject_node) == (triple.subject_id, triple.subject, triple.subject_id)
            assert (fact.object_id, fact.object, fact.object_node) == (triple.object_id, triple.object, triple.object_id)
            assert (fact.predicate, fact.confidence) == (triple.predicate, triple.confidence)
        assert facts == {}
        (bare,) = store.search.units([chunk.id], NOTHING, facts=False)
        assert bare == replace(unit, facts=(), passages=tuple(replace(one, cosines=()) for one in unit.passages))

    def test_the_nodes_of_facts_are_those_of_concepts_once_they_are_linked(self, store, blood):
        ids = link_entities(store, blood, same={"sanguine fluid": "blood", "plasma": ""})
        units = store.search.units([graph.source_id for graph in blood], NOTHING)
        nodes = {(fact.subject, fact.subject_node) for unit in units for fact in unit.facts}
        nodes |= {(fact.object, fact.object_node) for unit in units for fact in unit.facts}
        assert nodes == {(name, ids["blood"] if name == "sanguine fluid" else id_) for name, id_ in ids.items()}

    def test_a_query_has_its_evidence_as_passages(self, store, blood):
        (unit,) = store.search.units([blood[0].source_id], NOTHING)
        assert (unit.id, unit.source_id, unit.is_document, unit.title) == (blood[0].source_id,) * 2 + (False, blood[0].title)
        assert (unit.position, unit.start, unit.page, unit.heading, unit.text) == (0, 0, None, (), "")
        assert [passage.id for passage in unit.passages] == [blood[0].evidence[0].id, blood[0].evidence[1].id]
        assert {(passage.start, passage.end) for passage in unit.passages} == {(0, 0)}
        assert unit.terms.split() == search_terms(" ".join([blood[0].title, *(item.text for item in blood[0].evidence[:2])]))
        assert {fact.id for fact in unit.facts} == {triple.id for triple in blood[0].triples}

    # ---- around

    def test_a_concept_an_entity_and_a_cluster_have_their_facts(self, store, blood):
        entity = blood[0].triples[0].subject_id
        assert [fact.id for fact in store.search.around([entity], 5)] == [blood[0].triples[0].id]
        ids = link_entities(store, blood, same={"sanguine fluid": "blood"})
        facts = store.search.around([ids["blood"]], 10)
        assert [(fact.subject, fact.predicate, fact.confidence) for fact in facts] == [
            ("heart", "pumps", 0.9),
            ("blood", "contains", 0.85),
            ("blood", "carries", 0.8),
            ("sanguine fluid", "contains", 0.65),
        ]
        assert {fact.subject_node for fact in facts if fact.subject != "heart"} == {ids["blood"]}
        assert {fact.unit_id for fact in facts} == {blood[n].source_id for n in (0, 1, 3)}
        units = store.search.units([fact.unit_id for fact in facts], NOTHING)
        assert set(facts) <= {fact for unit in units for fact in unit.facts}
        both = store.search.around([ids["heart"], ids["chest"], "missing", ids["heart"]], 1)
        assert sorted(fact.predicate for fact in both) == ["lie in", "pumps"]
        assert store.search.around([], 5) == store.search.around([ids["heart"]], 0) == []

    def test_an_open_cluster_is_the_concept_alone(self, store, blood):
        ids = link_entities(store, blood, same={"iron": ""})
        assert {fact.predicate for fact in store.search.around([ids["iron"]], 5)} == {"contains", "binds"}
        assert store.search.around([""], 5) == []

    def test_the_best_facts_of_a_hub_are_taken(self, store):
        graphs = [
            make_subgraph(
                n, namespace=store.namespace, triples=[("cell", "does", f"thing {n}", 0.5 + n / 100, 0)], evidence=1, dropped=()
            )
            for n in range(40)
        ]
        store.save(graphs, AGGREGATION)
        ids = link_entities(store, graphs)
        facts = store.search.around([ids["cell"], ids["thing 3"]], 5)
        assert sorted(fact.object for fact in facts) == ["thing 3", *(f"thing {n}" for n in range(35, 40))]

    def test_facts_of_evidence_that_was_not_kept_are_left_out(self, store):
        triples = [("a", "is", "b", 0.9, 1), ("a", "was", "b", 0.5, 0)]
        graph = make_subgraph(namespace=store.namespace, triples=triples, evidence=2, dropped=(1,))
        store.save([graph], AGGREGATION)
        assert [fact.predicate for fact in store.search.around([graph.triples[0].subject_id], 1)] == ["was"]

    # ---- subgraphs

    def test_evidence_comes_with_its_source_and_calls(self, store, blood):
        (part,) = store.search.subgraphs([blood[0].evidence[1].id], [])
        assert (part.source, part.settings_hash, part.blind, part.graph) == (
            blood[0].source,
            blood[0].settings_hash,
            blood[0].blind,
            "simple",
        )
        assert (part.evidence, part.calls) == ((blood[0].evidence[1],), blood[0].calls)
        assert (part.edges, part.triples, part.chunks) == ((), (), ())

    def test_a_passage_comes_with_its_chunk(self, store):
        graph = make_document_subgraph(namespace=store.namespace, edges=4)
        store.save([graph], AGGREGATION)
        (part,) = store.search.subgraphs([graph.evidence[2].id], [])
        assert (part.source, part.chunks) == (graph.source, (graph.chunks[2],))

    def test_an_edge_comes_with_all_that_its_audit_needs(self, store, blood):
        wanted = {edge for graph in blood for edge in graph.edges if "blood" in edge.statement}
        pairs = [(edge.subject_id, edge.object_id) for edge in wanted]
        parts = store.search.subgraphs([blood[2].evidence[0].id], [*pairs, pairs[0], ("missing", pairs[0][1])])
        assert {graph.source_id for graph in parts} == {graph.source_id for graph in blood[:3]}
        assert {edge for part in parts for edge in part.edges} == wanted
        for part in parts:
            whole = next(graph for graph in blood if graph.source_id == part.source_id)
            evidence, calls = {item.id: item for item in part.evidence}, {call.id for call in part.calls}
            triples = {triple.id: triple for triple in part.triples}
            assert set(part.triples) <= set(whole.triples)
            assert set(part.evidence) <= set(whole.evidence)
            for edge in part.edges:
                assert {triples[id_].evidence_id for id_ in edge.triple_ids} <= evidence.keys()
                assert {call_id for id_ in edge.triple_ids for call_id in triples[id_].call_ids} <= calls

    def test_a_raw_graph_gives_the_triples_of_a_pair(self, store):
        triples = [("a", "may cause", "b", 0.3, 0), ("a", "may prevent", "b", 0.2, 1), ("b", "may be", "c", 0.1, 1)]
        graph = make_subgraph("weak", namespace=store.namespace, triples=triples, evidence=2, dropped=())
        store.save([graph], AGGREGATION)
        pair = (graph.triples[0].subject_id, graph.triples[0].object_id)
        (part,) = store.search.subgraphs([], [pair])
        assert part.graph == "multigraph"
        assert part.usable_edges == store.read([graph.source_id])[0].usable_edges[:2]
        assert store.search.subgraphs([], [pair[::-1]]) == []

    @pytest.mark.parametrize("flaw", ["evidence_gone", "call_gone"])
    def test_an_edge_whose_proof_is_incomplete_is_left_out(self, store, blood, tamper, flaw):
        tamper(store, flaw)
        parts = store.search.subgraphs([blood[0].evidence[0].id], pairs_of(blood[0]))
        assert [part.edges for part in parts] == [()]
        assert blood[0].evidence[0] in parts[0].evidence

    # ---- changes

    def test_what_was_erased_is_found_no_more(self, store, blood):
        ids = link_entities(store, blood, evidence={item.id: direction(0) for graph in blood for item in graph.evidence})
        gone = blood[1]
        before = ask(store, "statement about iron").found
        assert gone.source_id in before.units_by_words
        store.erase([gone.source_id])
        found = store.search.candidates(direction(0), ["statement", "process", "iron"], ["iron", "blood"], 20)
        assert gone.source_id not in {hit.id for hit in found.queries} | set(found.found.unit_of.values())
        assert gone.source_id not in found.found.units_by_words
        assert [hit.text for hit in found.named] == ["blood"]
        assert store.search.units([gone.source_id], NOTHING) == []
        assert gone.source_id not in {fact.source_id for fact in store.search.around([ids["blood"], ids["iron"]], 20)}
        assert store.search.subgraphs([gone.evidence[0].id], pairs_of(gone)) == []

    def test_what_replaces_a_source_is_found_instead(self, store):
        first = document(store, "Plan", [["The pump is red."]])
        store.save([first], AGGREGATION)
        second = document(store, "Plan", [["The valve is green."]]).model_copy(update={"settings_hash": "settings-2"})
        store.save([second], AGGREGATION, replace=True)
        assert ask(store, "pump").found.by_words == {}
        assert list(ask(store, "valve").found.by_words) == [second.evidence[0].id]

    def test_a_search_beside_a_writer_sees_only_what_is_proven(self, store):
        """Subgraphs come, change and go; whatever a search returns of them has its proof."""
        states = [
            make_document_subgraph(number, namespace=store.namespace, edges=6, settings_hash=f"settings-{state}")
            for number in range(3)
            for state in range(2)
        ]
        stop, errors = threading.Event(), []

        def write():
            try:
                for turn in range(8):
                    for graph in states[turn % 2 :: 2]:
                        store.save([graph], AGGREGATION, replace=True)
                    if turn % 3 == 2:
                        store.erase([states[0].source_id])
            except Exception as error:  # noqa: BLE001 - shown by the other thread
                errors.append(error)
            finally:
                stop.set()

        writer = threading.Thread(target=write)
        writer.start()
        looks = 0
        while not stop.is_set() or not looks:
            found = ask(store, "part joins", k=50).found
            units = store.search.units([*found.units_by_words], NOTHING)
            facts = [fact for unit in units for fact in unit.facts]
            store.search.around([fact.subject_node for fact in facts[:5]], 8)
            pairs = [(fact.subject_id, fact.object_id) for fact in facts]
            for part in store.search.subgraphs(list(found.by_words), pairs):
                evidence, calls = {item.id for item in part.evidence}, {call.id for call in part.calls}
                triples = {triple.id: triple for triple in part.triples}
                assert all({triples[id_].evidence_id for id_ in edge.triple_ids} <= evidence for edge in part.edges)
                assert all(calls >= set(triple.call_ids) for triple in part.triples)
                assert {item.chunk_id for item in part.evidence} <= {chunk.id for chunk in part.chunks}
            looks += 1
        writer.join()
        assert errors == []


class TestDictSearch(InMemory, SearchContract):
    pass


class TestLadybugSearch(OnLadybug, SearchContract):
    pass


SEARCHING = ("search_candidates", "search_sources", "search_exact", "search_units", "search_around", "search_subgraphs")
COMMUNITIES = (
    *("all_communities", "community_edges", "join_communities", "leave_communities", "nearest_communities"),
    *("open_communities", "read_communities", "remove_empty_communities", "save_communities", "summarise_communities"),
)


@pytest.mark.neo4j
class TestNeo4jSearch(OnNeo4j, SearchContract):
    @pytest.mark.parametrize("name", [*SEARCHING, "save_answers", *COMMUNITIES])
    def test_no_statement_of_asking_or_of_communities_scans(self, store, driver, name):
        """Every node and relationship is found by an index, whatever the store has grown to."""
        statement_ = load(name, "neo4j")
        plan = driver.execute_query(f"EXPLAIN {statement_.text}", dict.fromkeys(statement_.parameters)).summary.plan
        found = list(operators(plan))
        seeks = ("IndexSeek", "MergeUniqueNode")  # how Neo4j 2026 calls a MERGE by a unique index
        assert any(seek in operator for operator in found for seek in seeks)
        assert not [operator for operator in found if "Scan" in operator]
