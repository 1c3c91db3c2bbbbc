"""All stores find what is near to a question (`drag_graph.ports.graph_search.GraphSearch`)."""

import math

import numpy as np
import pytest
from searching import (
    AGGREGATION,
    DIMENSION,
    NOTHING,
    InMemory,
    LinkedStores,
    OnLadybug,
    OnNeo4j,
    ask,
    direction,
    document,
    link_entities,
    operators,
    pairs_of,
)

from drag_graph.graph.name_forms import concept_id
from drag_graph.graph.search_terms import search_terms
from drag_graph.ports.community_store import Community, CommunityChanges
from drag_graph.ports.concept_store import Changes
from drag_graph.ports.graph_search import Candidates, Restriction
from drag_graph.stores.shared.cypher_files import load
from drag_graph.testing.builders import make_subgraph

TEXTS = {
    "pump": "The pump V-1234 leaks at the flange.",
    "valve": "The valve V-1063 was replaced in March.",
    "ningbo": "他住在宁波的一条小街上。",
    "ningxia": "宁夏和波兰相距很远。",
    "austria": "Österreich liegt mitten in Europa.",
    "medicine": "ยาแก้ปวดอยู่ในตู้ข้างเตียง",
    "seoul": "그는 어제 서울에서 돌아왔다.",
}


class SearchContract(LinkedStores):
    """The tests; a subclass gives `open_store`."""

    # ---- candidates

    def test_an_empty_store_has_nothing(self, store):
        assert store.search.candidates(direction(0), ["blood"], 5, source_id="a") == Candidates()
        assert store.search.units(["a"], NOTHING) == []
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
        found = store.search.candidates(direction(5), (), 3)
        assert [hit.id for hit in found.queries] == [graph.source_id for graph in blood[:3]]
        assert [hit.text for hit in found.queries] == [graph.title for graph in blood[:3]]
        assert found.queries[1].score == pytest.approx(math.cos(math.radians(25)), abs=1e-5)
        near = found.found.by_vector
        assert list(near)[2:] == [blood[1].evidence[0].id]
        assert set(near) == {blood[0].evidence[0].id, blood[0].evidence[1].id, blood[1].evidence[0].id}
        assert list(near.values()) == pytest.approx([math.cos(math.radians(n)) for n in (5, 5, 35)], abs=1e-5)
        assert found.found.unit_of == {id_: blood[0 if n < 2 else 1].source_id for n, id_ in enumerate(near)}
        assert (found.found.by_words, found.found.units_by_words) == ({}, {})

    def test_evidence_that_was_not_kept_is_never_found(self, store, blood):
        store.concepts.write(Changes(evidence={item.id: direction(0) for graph in blood for item in graph.evidence}))
        found = store.search.candidates(direction(0), search_terms("Statement about heart iron lung plasma"), 50).found
        kept = {item.id for graph in blood for item in graph.kept_evidence}
        assert set(found.by_vector) == set(found.by_words) == kept
        units = store.search.units([graph.source_id for graph in blood], NOTHING)
        assert {passage.id for unit in units for passage in unit.passages} == kept

    @pytest.mark.parametrize("vector", [[], [0.0] * DIMENSION, [1.0] * (DIMENSION + 1)])
    def test_a_vector_that_fits_nothing_leaves_the_words(self, store, blood, vector):
        link_entities(store, blood, evidence={blood[0].evidence[0].id: direction(0)})
        found = store.search.candidates(vector, ["heart"], 5)
        assert (found.queries, found.found.by_vector) == ((), {})
        assert set(found.found.by_words) == {item.id for item in blood[0].kept_evidence}

    @pytest.mark.parametrize("terms", [[], ["missing"], ["!"], ['"', "\\"], ["a" * 600], [f"word{n}" for n in range(3000)]])
    def test_terms_that_fit_nothing_find_nothing(self, store, blood, terms):
        found = store.search.candidates((), terms, 5).found
        assert (found.by_words, found.units_by_words) == ({}, {})

    def test_no_more_than_k_are_found(self, store, blood):
        store.concepts.write(Changes(evidence={item.id: direction(0) for graph in blood for item in graph.evidence}))
        for k in (0, 1, 2):
            found = store.search.candidates(direction(0), ["statement", "process"], k)
            lists = (found.queries, found.found.by_vector, found.found.by_words, found.found.units_by_words)
            assert [len(item) for item in lists] == [k] * 4

    def test_the_very_question_is_noticed(self, store, blood):
        assert store.search.candidates(direction(0), (), 1, source_id=blood[3].source_id).own
        assert not store.search.candidates(direction(0), (), 1, source_id="another").own

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
            found = store.search.candidates(probe.tolist(), (), 10)
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
            found = store.search.candidates(direction(0), ["pump"], 2, source_id=crowd[0].source_id)
            assert [hit.id for hit in found.queries] == [graph.source_id for graph in own]
            assert list(found.found.by_vector) == [graph.evidence[0].id for graph in own]
            assert set(found.found.by_words) == {graph.evidence[0].id for graph in own}
            assert set(found.found.units_by_words) == {graph.source_id for graph in own}
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
            direction(0), ["budget"], 10, source_id=dated["query"].source_id, only=Restriction(**only)
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
        found = store.search.candidates(direction(0), ["budget"], 10, only=Restriction(sources=(*wanted, "missing")))
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
        found = store.search.candidates(direction(0), ["pump"], 1, only=Restriction(sources=("own",))).found
        assert list(found.by_vector) == list(found.by_words) == [own.evidence[0].id]
        assert list(found.units_by_words) == [own.chunks[0].id]
        allowed = {one.evidence[0].id for one in others[150:]} | {own.evidence[0].id}
        found = store.search.candidates(direction(0), ["pump"], 111, only=Restriction(since="2026")).found
        assert set(found.by_vector) == set(found.by_words) == allowed


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
        """Every node and relationship is found by an index, whatever the store has grown to.

        Where a server has next to nothing, its planner prefers to read all relationships of a type.
        """
        if name in COMMUNITIES:
            graphs = [make_subgraph(number, namespace=store.namespace) for number in range(60)]
            store.save(graphs, AGGREGATION)
            communities = [Community(graph.source_id, "hash", "one", "About one thing.", "rules") for graph in graphs]
            joined = [(entity.id, graph.source_id) for graph in graphs for entity in graph.entities]
            store.communities.write(CommunityChanges(communities, joined=joined))
            driver.execute_query("CALL db.prepareForReplanning()")
        statement_ = load(name, "neo4j")
        plan = driver.execute_query(f"EXPLAIN {statement_.text}", dict.fromkeys(statement_.parameters)).summary.plan
        found = list(operators(plan))
        seeks = ("IndexSeek", "MergeUniqueNode")  # how Neo4j 2026 calls a MERGE by a unique index
        assert any(seek in operator for operator in found for seek in seeks)
        assert not [operator for operator in found if "Scan" in operator]
