"""The part of the suite about erasing: what a teacher call said, and selections of queries (docs/adr/0016-erasing.md)."""

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest

from drag_graph.erasing import Erased, Selection, Target, parts_of, selection_of, targets, without
from drag_graph.errors import ConfigurationError
from drag_graph.identity import content_id
from drag_graph.model import Aggregation, Answer, LineKind, Stage, Subgraph, TeacherCall
from drag_graph.ports import GraphStore
from drag_graph.steps.audit import snapshot
from drag_graph.testing.builders import expected, make_answer, make_subgraph, random_subgraphs
from drag_graph.testing.contract.base import Contract, OpenStore, Tamper, assert_same, records_of

NOW = "2026-11-21T12:00:00+00:00"
PLAIN = Aggregation()
EVERY_WAY = [
    Aggregation(strategy=strategy, merge=merge, threshold=threshold, top_k=top_k)
    for (strategy, merge), (threshold, top_k) in zip(
        product(("pair", "predicate"), ("max", "mean", "noisy-or")), ((0.7, 15), (0.0, 2), (0.6, 3)) * 2, strict=True
    )
]


def _made_by_two(graph: Subgraph, stage: Stage = "evidence", model: str = "teacher/another") -> tuple[Subgraph, str]:
    """Return the subgraph as if another call had made its evidence at odd places (or none), and that call's id."""
    id_ = content_id(graph.query.namespace, "call", graph.query.id, "the second", stage)
    call = graph.calls[0].model_copy(update={"id": id_, "stage": stage, "model": model})
    moved = {"call_ids": (id_,)} if stage == "evidence" else {}
    evidence = tuple(item.model_copy(update=moved) if item.position % 2 else item for item in graph.evidence)
    calls: tuple[TeacherCall, ...] = tuple(sorted((*graph.calls, call), key=lambda item: item.id))
    return graph.model_copy(update={"calls": calls, "evidence": evidence}), id_


def _answers(graph: Subgraph) -> list[Answer]:
    """Return an answer for each evidence and edge of a stored subgraph that was shown it alone."""
    shown: list[tuple[LineKind, str]] = [("evidence", item.id) for item in graph.evidence]
    shown += [("edge", edge.id) for edge in graph.usable_edges]
    names = {item.id: item.model_dump(mode="json") for item in graph.evidence}
    names |= {edge.id: edge.model_dump(mode="json") for edge in graph.usable_edges}
    return [
        make_answer(
            n, [graph], namespace=graph.query.namespace, refs=[(kind, ref)], snapshot={"lines": [names[ref]], "question": "?"}
        )
        for n, (kind, ref) in enumerate(shown)
    ]


def _given(graph: Subgraph) -> list[Answer]:
    """Return an answer for each piece of evidence and edge that a student may be shown, with the snapshot of that moment."""
    shown: list[tuple[LineKind, str]] = [("evidence", item.id) for item in graph.kept_evidence]
    shown += [("edge", edge.id) for edge in graph.usable_edges]
    made = [make_answer(n, [graph], namespace=graph.query.namespace, refs=[ref]) for n, ref in enumerate(shown)]
    return [item.model_copy(update={"snapshot": snapshot(item.question, item.lines, [graph])}) for item in made]


class ErasingContract(Contract):
    """Everything of `drag_graph.erasing.ErasingStore` but the concepts."""

    @pytest.mark.parametrize("aggregation", EVERY_WAY, ids=lambda item: f"{item.strategy}-{item.merge}")
    def test_what_a_call_said_is_gone_and_the_edges_are_those_of_the_rest(
        self, store: GraphStore, namespace: str, aggregation: Aggregation
    ) -> None:
        pairs = [
            _made_by_two(graph)
            for graph in (*random_subgraphs(6, namespace=namespace, seed=21), make_subgraph(namespace=namespace))
        ]
        store.save([graph for graph, _ in pairs], aggregation)
        for graph, call in pairs:
            parts = parts_of(expected(graph, aggregation), [call])
            erased = store.erasing.erase(Target(graph.query.id, (call,)), NOW)
            if parts.everything:
                assert erased.counts["Query"] == 1
                assert store.read([graph.query.id]) == []
                continue
            assert erased.counts["Evidence"] == len(parts.evidence_ids)
            assert erased.counts["TRIPLE"] == len(parts.triple_ids)
            left = expected(without(expected(graph, aggregation), parts), aggregation)
            if not left.kept_evidence:
                left = left.model_copy(update={"expires_at": NOW})
            assert_same(store.read([graph.query.id]), [left])
        assert store.verify() == []

    def test_no_path_leads_to_what_was_erased(self, store: GraphStore, namespace: str) -> None:
        graph, call = _made_by_two(
            make_subgraph(namespace=namespace, evidence=["Plain one.", "Secret two.", "Plain three.", "Other."])
        )
        store.save([graph], PLAIN)
        (stored,) = store.read([graph.query.id])
        answers = _answers(stored)
        store.save_answers(answers)
        parts = parts_of(stored, [call])
        gone = {answer.id for answer in answers if parts.shown_in(answer.model_dump_json())}
        assert 0 < len(gone) < len(answers)
        erased = store.erasing.erase(Target(graph.query.id, (call,)), NOW)
        assert erased.answer_ids == gone
        assert {answer.id for answer in store.list_answers()} == {answer.id for answer in answers} - gone
        everything = "\n".join(records_of(store))
        for text in ("Secret two", call, *parts.evidence_ids, *parts.triple_ids):
            assert text not in everything
        for answer in answers:
            found = store.read_answer(answer.id)
            assert (found is None) == (answer.id in gone)
        assert "Secret two" not in "".join(item.model_dump_json() for item in store.read([graph.query.id]))
        assert store.verify() == []
        assert store.erasing.find_calls(call) == []
        assert sum(store.erasing.erase(Target(graph.query.id, (call,)), NOW).counts.values()) == 0

    @pytest.mark.parametrize("stage", ["evidence", "statements"])
    def test_an_answer_that_was_given_meanwhile_is_not_kept_where_it_was_shown_any_of_it(
        self, store: GraphStore, namespace: str, stage: Stage
    ) -> None:
        graph, call = _made_by_two(
            make_subgraph(namespace=namespace, evidence=["Plain one.", "Secret two.", "Plain three.", "Other."]), stage
        )
        merged = {edge.id: f"Secret sentence {edge.rank}." for edge in expected(graph, PLAIN).edges if edge.support > 1}
        store.save([graph], PLAIN.model_copy(update={"statements": merged}))
        (stored,) = store.read([graph.query.id])
        answers = _given(stored)
        parts = parts_of(stored, [call])
        gone = {item.id for item in answers if parts.shown_in(*(line.model_dump_json() for line in item.lines))}
        gone |= {item.id for item in answers if parts.shown_in(json.dumps(item.snapshot["lines"]))}
        assert 0 < len(gone) < len(answers)
        store.erasing.erase(Target(graph.query.id, (call,)), NOW)
        assert store.save_answers(answers) == gone
        assert {item.id for item in store.list_answers()} == {item.id for item in answers} - gone
        assert store.save_answers(answers) == gone
        everything = "\n".join(records_of(store))
        for text in (*(["Secret two"] if stage == "evidence" else ["Secret sentence"]), *parts.evidence_ids, *parts.triple_ids):
            assert text not in everything
        assert store.verify() == []

    def test_answers_beside_the_erasure_of_a_call_do_not_outlive_it(self, store: GraphStore, namespace: str) -> None:
        texts = ["Plain one.", "Secret two.", "Plain three.", "Other."]
        for number in range(6):
            graph, call = _made_by_two(make_subgraph(number, namespace=namespace, evidence=texts))
            store.save([graph], PLAIN)
            (stored,) = store.read([graph.query.id])
            answers = _given(stored)
            with ThreadPoolExecutor(4) as pool:
                saved = [pool.submit(store.save_answers, answers[n::3]) for n in range(3)]
                erased = pool.submit(store.erasing.erase, Target(graph.query.id, (call,)), NOW)
                gone = erased.result().answer_ids.union(*(done.result() for done in saved))
            assert "Secret two" not in "".join(records_of(store))
            assert {item.id for item in store.list_answers(graph.query.id)} == {item.id for item in answers} - gone
        assert store.verify() == []

    def test_an_answer_to_the_same_content_that_was_made_anew_is_kept(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace)
        store.save([graph], PLAIN)
        answers = _given(store.read([graph.query.id])[0])
        store.save([graph.model_copy(update={"created_at": NOW})], PLAIN, replace=True)
        assert store.save_answers(answers) == frozenset()
        assert {item.id for item in store.list_answers()} == {item.id for item in answers}

    def test_a_dry_run_counts_and_writes_nothing(self, store: GraphStore, namespace: str) -> None:
        graph, call = _made_by_two(make_subgraph(namespace=namespace))
        store.save([graph], PLAIN)
        store.save_answers(_answers(store.read([graph.query.id])[0]))
        before = records_of(store)
        for target in (Target(graph.query.id, (call,)), Target(graph.query.id)):
            told = store.erasing.erase(target, NOW, dry_run=True)
            assert told.counts["Evidence"] > 0
            assert told.answer_ids
            assert records_of(store) == before
        whole = store.erasing.erase(Target(graph.query.id), NOW)
        assert (dict(whole.counts), whole.answer_ids) == (dict(told.counts), told.answer_ids)
        assert list(store.records()) == []
        assert _nothing(store.erasing.erase(Target(graph.query.id), NOW))

    def test_edges_under_settings_that_the_store_does_not_know_wait_for_a_refresh(
        self, open_store: OpenStore, tamper: Tamper, namespace: str
    ) -> None:
        graph, call = _made_by_two(make_subgraph(namespace=namespace))
        with open_store(namespace) as store:
            store.save([graph], PLAIN)
        with tamper("aggregation_gone", namespace):
            pass
        with open_store(namespace) as store:
            (stored,) = store.read([graph.query.id])
            parts = parts_of(stored, [call])
            assert parts.edge_ids
            store.erasing.erase(Target(graph.query.id, (call,)), NOW)
            (left,) = store.read([graph.query.id])
            assert_same(left, without(stored, parts).model_copy(update={"expires_at": NOW}))
            assert store.verify() == []
            later = "2026-11-21T12:00:01+00:00"
            assert [item.id for item in store.stale_queries("expired", later)] == [graph.query.id]

    def test_sentences_go_with_the_call_that_merged_them(self, store: GraphStore, namespace: str) -> None:
        graph, call = _made_by_two(make_subgraph(namespace=namespace), stage="statements")
        edges = expected(graph, PLAIN).edges
        merged = {edge.id: f"a sentence of the teacher's ({edge.rank})" for edge in edges if edge.support > 1}
        assert merged
        store.save([graph], PLAIN.model_copy(update={"statements": merged}))
        assert "of the teacher's" in "".join(records_of(store))
        store.erasing.erase(Target(graph.query.id, (call,)), NOW)
        assert "of the teacher's" not in "".join(records_of(store))
        assert_same(store.read([graph.query.id])[0].edges, edges)

    def test_sentences_of_other_edges_stay(self, store: GraphStore, namespace: str) -> None:
        graph, call = _made_by_two(make_subgraph(namespace=namespace))
        edges = expected(graph, PLAIN).edges
        merged = {edge.id: f"a sentence of the teacher's ({edge.rank})" for edge in edges}
        store.save([graph], PLAIN.model_copy(update={"statements": merged}))
        parts = parts_of(store.read([graph.query.id])[0], [call])
        store.erasing.erase(Target(graph.query.id, (call,)), NOW)
        for edge in store.read([graph.query.id])[0].edges:
            assert (edge.statement == merged.get(edge.id)) == (edge.id not in parts.edge_ids)

    def test_a_selection_finds_its_queries_page_by_page(self, store: GraphStore, namespace: str) -> None:
        graphs = [_made_by_two(make_subgraph(n, namespace=namespace))[0] for n in range(5)]
        odd = graphs[1].model_copy(
            update={
                "query": graphs[1].query.model_copy(update={"domain": "technical"}),
                "created_at": "2025-06-01T00:00:00+00:00",
            }
        )
        store.save([graphs[0], odd, *graphs[2:], make_subgraph("plain", namespace=namespace)], PLAIN)
        ids = sorted(graph.query.id for graph in graphs)

        def found(*conditions: str) -> list[Target]:
            return list(targets(store.erasing, selection_of(conditions)))

        assert found("domain=technical") == [Target(odd.query.id)]
        assert found("created-before=2026-01-01") == [Target(odd.query.id)]
        assert found("input_id=line-3") == [Target(graphs[3].query.id)]
        assert found("input_id=line-3", "domain=technical") == found("domain=nothing' OR 1=1 //") == []
        calls = {graph.query.id: tuple(c.id for c in graph.calls if c.model == "teacher/another") for graph in graphs}
        assert found("model=teacher/another") == [Target(id_, calls[id_]) for id_ in ids]
        assert found("model=teacher/another", "input_id=line-2") == [Target(graphs[2].query.id, calls[graphs[2].query.id])]
        first = store.erasing.targets(Selection(model="teacher/another"), "", 2)
        assert [item.source_id for item in first] == ids[:2]
        assert [item.source_id for item in store.erasing.targets(Selection(), ids[0], 1)] > ids[:1]
        call = graphs[4].calls[0]
        assert store.erasing.find_calls(call.id[:30]) == [Target(graphs[4].query.id, (call.id,))]

    def test_a_neighbouring_namespace_is_out_of_reach(self, open_store: OpenStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace)
        with open_store(namespace) as store:
            store.save([graph], PLAIN)
            before = records_of(store)
        with open_store(f"{namespace}-neighbour") as other:
            call = graph.calls[0].id
            assert list(targets(other.erasing, Selection())) == other.erasing.find_calls(call) == []
            for target in (Target(graph.query.id), Target(graph.query.id, (call,))):
                assert _nothing(other.erasing.erase(target, NOW))
        with open_store(namespace) as store:
            assert records_of(store) == before

    @pytest.mark.parametrize("condition", ["domain", "domain=", "text=x", "=x", "id(q)=1", "domain = "])
    def test_only_known_conditions_are_taken(self, condition: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            selection_of([condition])
        assert "created-before" in caught.value.hint


def _nothing(erased: Erased) -> bool:
    return not any(erased.counts.values()) and not erased.answer_ids
