"""All stores return what is around the hits of a search, with its proof (`drag_graph.ports.graph_search.GraphSearch`)."""

import threading
from dataclasses import replace

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
    pairs_of,
    probes,
)

from drag_graph.graph.search_terms import search_terms
from drag_graph.testing.builders import make_document_subgraph, make_subgraph


class UnitContract(LinkedStores):
    """The tests; a subclass gives `open_store` and `tamper(store, flaw)`."""

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
        (bare,) = store.search.units([chunk.id], NOTHING)
        assert bare == replace(unit, passages=tuple(replace(one, cosines=()) for one in unit.passages))

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
        found = store.search.candidates(direction(0), ["statement", "process", "iron"], 20)
        assert gone.source_id not in {hit.id for hit in found.queries} | set(found.found.unit_of.values())
        assert gone.source_id not in found.found.units_by_words
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


class TestDictUnits(InMemory, UnitContract):
    pass


class TestLadybugUnits(OnLadybug, UnitContract):
    pass


@pytest.mark.neo4j
class TestNeo4jUnits(OnNeo4j, UnitContract):
    pass
