"""The part of the suite about erasing: what a teacher call said, and selections of queries (docs/adr/0022-managing.md)."""

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest

from drag_graph.ask.audit_snapshot import snapshot
from drag_graph.errors import ConfigurationError
from drag_graph.graph.aggregate import with_statements
from drag_graph.identity import content_id
from drag_graph.manage.erasing import (
    ErasureFilter,
    Scope,
    erase,
    filter_of,
    ids_gone,
    names_any,
    preview,
    scopes_of_call,
    scopes_where,
    total,
    without,
)
from drag_graph.model import Aggregation, Answer, LineKind, Stage, Subgraph, TeacherCall
from drag_graph.ports.graph_store import Erased, GraphStore, Reduction
from drag_graph.testing.builders import expected, make_answer, make_subgraph, random_subgraphs
from drag_graph.testing.contract.base import Contract, OpenStore, assert_same, records_of
from drag_graph.testing.finding import read_answer

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
    refs: list[tuple[LineKind, str]] = [("evidence", item.id) for item in graph.evidence]
    refs += [("edge", edge.id) for edge in graph.usable_edges]
    names = {item.id: item.model_dump(mode="json") for item in graph.evidence}
    names |= {edge.id: edge.model_dump(mode="json") for edge in graph.usable_edges}
    return [
        make_answer(
            n, [graph], namespace=graph.query.namespace, refs=[(kind, ref)], snapshot={"lines": [names[ref]], "question": "?"}
        )
        for n, (kind, ref) in enumerate(refs)
    ]


def _save_answers(graph: Subgraph) -> list[Answer]:
    """Return an answer for each piece of evidence and edge that a student may be shown, with the snapshot of that moment."""
    refs: list[tuple[LineKind, str]] = [("evidence", item.id) for item in graph.kept_evidence]
    refs += [("edge", edge.id) for edge in graph.usable_edges]
    answers = [make_answer(n, [graph], namespace=graph.query.namespace, refs=[ref]) for n, ref in enumerate(refs)]
    return [item.model_copy(update={"snapshot": snapshot(item.question, item.lines, [graph])}) for item in answers]


def _erase(store: GraphStore, graph: Subgraph, *calls: str) -> Erased:
    """Erase a source, or what these calls said about it."""
    erasures = list(erase(store, [Scope(graph.query.id, frozenset(calls))], NOW))
    return erasures[0] if erasures else Erased()


def _less(stored: Subgraph, call: str) -> tuple[Subgraph | None, frozenset[str]]:
    """Return what is to be left of a stored subgraph, and the ids of what an answer must not have been shown."""
    subgraph = with_statements(stored)
    reduced = without(subgraph, [call])
    return reduced, ids_gone(subgraph, reduced)


class ErasingContract(Contract):
    """`GraphStore.erase` and `reduce`, and what is erased by them, but the concepts."""

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
            less, _ = _less(expected(graph, aggregation), call)
            erased = _erase(store, graph, call)
            if less is None:
                assert erased.counts["Query"] == 1
                assert store.read([graph.query.id]) == []
                continue
            assert erased.counts["Evidence"] == len(graph.evidence) - len(less.evidence)
            assert erased.counts["TRIPLE"] == len(graph.triples) - len(less.triples)
            reduced = expected(less, aggregation)
            if not reduced.kept_evidence:
                reduced = reduced.model_copy(update={"expires_at": NOW})
            assert_same(store.read([graph.query.id]), [reduced])
        assert store.verify() == []

    def test_no_path_leads_to_what_was_erased(self, store: GraphStore, namespace: str) -> None:
        graph, call = _made_by_two(
            make_subgraph(namespace=namespace, evidence=["Plain one.", "Secret two.", "Plain three.", "Other."])
        )
        store.save([graph], PLAIN)
        (subgraph,) = store.read([graph.query.id])
        answers = _answers(subgraph)
        store.save_answers(answers)
        _, ids = _less(subgraph, call)
        erased_ids = {answer.id for answer in answers if names_any(answer, ids)}
        assert 0 < len(erased_ids) < len(answers)
        erased = _erase(store, graph, call)
        assert erased.answer_ids == erased_ids
        assert {answer.id for answer in store.answers()} == {answer.id for answer in answers} - erased_ids
        everything = "\n".join(records_of(store))
        for text in ("Secret two", call, *(id_ for id_ in ids if "-" not in id_)):
            assert text not in everything
        for answer in answers:
            answer_document = read_answer(store, answer.id)
            assert (answer_document is None) == (answer.id in erased_ids)
        assert "Secret two" not in "".join(item.model_dump_json() for item in store.read([graph.query.id]))
        assert store.verify() == []
        assert scopes_of_call(store, call) == []
        assert _nothing(_erase(store, graph, call))

    @pytest.mark.parametrize("stage", ["evidence", "statements"])
    def test_an_answer_that_was_given_meanwhile_is_not_kept_where_it_was_shown_any_of_it(
        self, store: GraphStore, namespace: str, stage: Stage
    ) -> None:
        graph, call = _made_by_two(
            make_subgraph(namespace=namespace, evidence=["Plain one.", "Secret two.", "Plain three.", "Other."]), stage
        )
        merged = {edge.id: f"Secret sentence {edge.rank}." for edge in expected(graph, PLAIN).edges if edge.support > 1}
        store.save([graph], PLAIN.model_copy(update={"statements": merged}))
        (subgraph,) = store.read([graph.query.id])
        answers = _save_answers(subgraph)
        _, ids = _less(subgraph, call)
        texts = {item.id: json.dumps([item.snapshot["lines"], *(line.ref for line in item.lines)]) for item in answers}
        erased_ids = {answer_id for answer_id, text in texts.items() if any(id_ in text for id_ in ids)}
        assert 0 < len(erased_ids) < len(answers)
        _erase(store, graph, call)
        assert store.save_answers(answers) == erased_ids
        assert {item.id for item in store.answers()} == {item.id for item in answers} - erased_ids
        assert store.save_answers(answers) == erased_ids
        everything = "\n".join(records_of(store))
        for text in (
            *(["Secret two"] if stage == "evidence" else ["Secret sentence"]),
            *(id_ for id_ in ids if "-" not in id_),
        ):
            assert text not in everything
        assert store.verify() == []

    def test_answers_beside_the_erasure_of_a_call_do_not_outlive_it(self, store: GraphStore, namespace: str) -> None:
        texts = ["Plain one.", "Secret two.", "Plain three.", "Other."]
        for number in range(6):
            graph, call = _made_by_two(make_subgraph(number, namespace=namespace, evidence=texts))
            store.save([graph], PLAIN)
            (subgraph,) = store.read([graph.query.id])
            answers = _save_answers(subgraph)
            with ThreadPoolExecutor(4) as pool:
                saved = [pool.submit(store.save_answers, answers[n::3]) for n in range(3)]
                erased = pool.submit(_erase, store, graph, call)
                erased_ids = erased.result().answer_ids.union(*(done.result() for done in saved))
            assert "Secret two" not in "".join(records_of(store))
            assert {item.id for item in store.answers(graph.query.id)} == {item.id for item in answers} - erased_ids
        assert store.verify() == []

    def test_an_answer_to_the_same_content_that_was_made_anew_is_kept(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace)
        store.save([graph], PLAIN)
        answers = _save_answers(store.read([graph.query.id])[0])
        store.save([graph.model_copy(update={"created_at": NOW})], PLAIN, replace=True)
        assert store.save_answers(answers) == frozenset()
        assert {item.id for item in store.answers()} == {item.id for item in answers}

    def test_a_dry_run_counts_and_writes_nothing(self, store: GraphStore, namespace: str) -> None:
        graph, call = _made_by_two(make_subgraph(namespace=namespace))
        store.save([graph], PLAIN)
        store.save_answers(_answers(store.read([graph.query.id])[0]))
        before = records_of(store)
        for calls in ((call,), ()):
            (dry_run,) = preview(store, [Scope(graph.query.id, frozenset(calls))])
            assert dry_run.counts["Evidence"] > 0
            assert dry_run.answer_ids
            assert records_of(store) == before
        erasure = _erase(store, graph)
        assert total([erasure]) == total([dry_run])
        assert list(store.records()) == []
        assert _nothing(_erase(store, graph))

    def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(self, store: GraphStore, namespace: str) -> None:
        graph, call = _made_by_two(make_subgraph(namespace=namespace))
        store.save([graph], PLAIN)
        (subgraph,) = store.read([graph.query.id])
        reduced, removed_ids = _less(subgraph, call)
        assert reduced is not None
        store.save([graph.model_copy(update={"settings_hash": "another"})], PLAIN, replace=True)
        before = records_of(store)
        assert store.erase((), [Reduction(subgraph, reduced, removed_ids)]).stale == {subgraph.source_id}
        assert records_of(store) == before
        store.erase([graph.query.id])
        assert store.erase((), [Reduction(subgraph, reduced, removed_ids)]).stale == {subgraph.source_id}
        assert list(store.records()) == []

    def test_two_erasures_at_once_both_come_true(self, store: GraphStore, namespace: str) -> None:
        graph, call = _made_by_two(make_subgraph(namespace=namespace, evidence=6))
        third = graph.calls[0].model_copy(update={"id": content_id(namespace, "call", "third")})
        evidence = tuple(
            item.model_copy(update={"call_ids": (third.id,)}) if item.position in (2, 5) else item for item in graph.evidence
        )
        calls = tuple(sorted((*graph.calls, third), key=lambda item: item.id))
        graph = graph.model_copy(update={"evidence": evidence, "calls": calls})
        store.save([graph], PLAIN)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda id_: _erase(store, graph, id_), (call, third.id)))
        (subgraph,) = store.read([graph.query.id])
        assert {call, third.id}.isdisjoint(item.id for item in subgraph.calls)
        assert {call, third.id}.isdisjoint(id_ for item in subgraph.evidence for id_ in item.call_ids)
        assert store.verify() == []

    def test_sentences_go_with_the_call_that_merged_them(self, store: GraphStore, namespace: str) -> None:
        graph, call = _made_by_two(make_subgraph(namespace=namespace), stage="statements")
        edges = expected(graph, PLAIN).edges
        merged = {edge.id: f"a sentence of the teacher's ({edge.rank})" for edge in edges if edge.support > 1}
        assert merged
        store.save([graph], PLAIN.model_copy(update={"statements": merged}))
        assert "of the teacher's" in "".join(records_of(store))
        _erase(store, graph, call)
        assert "of the teacher's" not in "".join(records_of(store))
        assert_same(store.read([graph.query.id])[0].edges, edges)

    def test_sentences_of_other_edges_stay(self, store: GraphStore, namespace: str) -> None:
        graph, call = _made_by_two(make_subgraph(namespace=namespace))
        edges = expected(graph, PLAIN).edges
        merged = {edge.id: f"a sentence of the teacher's ({edge.rank})" for edge in edges}
        store.save([graph], PLAIN.model_copy(update={"statements": merged}))
        _, removed_ids = _less(store.read([graph.query.id])[0], call)
        _erase(store, graph, call)
        for edge in store.read([graph.query.id])[0].edges:
            assert (edge.statement == merged.get(edge.id)) == (edge.id not in removed_ids)

    def test_a_filter_finds_its_sources(self, store: GraphStore, namespace: str) -> None:
        graphs = [_made_by_two(make_subgraph(n, namespace=namespace))[0] for n in range(5)]
        odd = graphs[1].model_copy(
            update={
                "source": graphs[1].query.model_copy(update={"domain": "technical"}),
                "created_at": "2025-06-01T00:00:00+00:00",
            }
        )
        store.save([graphs[0], odd, *graphs[2:], make_subgraph("plain", namespace=namespace)], PLAIN)
        ids = sorted(graph.query.id for graph in graphs)

        def scopes(*conditions: str) -> list[Scope]:
            return list(scopes_where(store, filter_of(conditions)))

        assert scopes("domain=technical") == [Scope(odd.query.id)]
        assert scopes("created-before=2026-01-01") == [Scope(odd.query.id)]
        assert scopes("input_id=line-3") == [Scope(graphs[3].query.id)]
        assert scopes("input_id=line-3", "domain=technical") == scopes("domain=nothing' OR 1=1 //") == []
        calls = {graph.query.id: frozenset(c.id for c in graph.calls if c.model == "teacher/another") for graph in graphs}
        assert scopes("model=teacher/another") == [Scope(id_, calls[id_]) for id_ in ids]
        assert scopes("model=teacher/another", "input_id=line-2") == [Scope(graphs[2].query.id, calls[graphs[2].query.id])]
        call = graphs[4].calls[0]
        assert scopes_of_call(store, call.id[:30]) == [Scope(graphs[4].query.id, frozenset((call.id,)))]

    def test_a_neighbouring_namespace_is_out_of_reach(self, open_store: OpenStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace)
        with open_store(namespace) as store:
            store.save([graph], PLAIN)
            before = records_of(store)
        with open_store(f"{namespace}-neighbour") as other:
            call = graph.calls[0].id
            assert list(scopes_where(other, ErasureFilter())) == scopes_of_call(other, call) == []
            assert _nothing(_erase(other, graph))
            assert _nothing(_erase(other, graph, call))
        with open_store(namespace) as store:
            assert records_of(store) == before

    @pytest.mark.parametrize("condition", ["domain", "domain=", "text=x", "=x", "id(q)=1", "domain = "])
    def test_only_known_conditions_are_taken(self, condition: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            filter_of([condition])
        assert "created-before" in caught.value.hint


def _nothing(erased: Erased) -> bool:
    return not any(erased.counts.values()) and not erased.answer_ids
