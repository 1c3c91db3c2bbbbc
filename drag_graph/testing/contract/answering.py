"""Answers: saving, reading, listing and walking them back; erasing a query with all that rests on it."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from drag_graph.errors import StoreError
from drag_graph.model import Aggregation, Answer, LineKind, Subgraph
from drag_graph.ports.graph_store import GraphStore
from drag_graph.testing.builders import HOSTILE_NAMES, expected, make_answer, make_subgraph
from drag_graph.testing.contract.base import Contract, OpenStore, assert_same, records_of, walk
from drag_graph.testing.finding import read_answer

PLAIN = Aggregation()


def _store_subgraph(store: GraphStore, namespace: str, number: int | str = 0) -> Subgraph:
    store.save([make_subgraph(number, namespace=namespace)], PLAIN)
    return store.read([make_subgraph(number, namespace=namespace).query.id])[0]


def _answer(number: int | str, graph: Subgraph, namespace: str, **fields: Any) -> Answer:
    """Return an answer that was shown the best evidence and all edges."""
    refs: list[tuple[LineKind, str]] = [("evidence", graph.kept_evidence[0].id)]
    refs += [("edge", edge.id) for edge in graph.usable_edges]
    return make_answer(number, [graph], namespace=namespace, refs=refs, **fields)


class AnswerContract(Contract):
    """`save_answers`, `read_answer`, `list_answers`, `erase`."""

    def test_an_answer_is_read_back_with_its_snapshot(self, store: GraphStore, namespace: str) -> None:
        graph = _store_subgraph(store, namespace)
        answer = _answer(1, graph, namespace)
        bare = make_answer(2, [graph], namespace=namespace, label=None, gold=None, correct=None, options=(), snapshot={})
        store.save_answers([answer, bare])
        assert_same(read_answer(store, answer.id), answer)
        assert_same(read_answer(store, bare.id), bare)
        assert read_answer(store, "missing") is None

    def test_hostile_answers_are_stored_as_they_are(self, store: GraphStore, namespace: str) -> None:
        graph = _store_subgraph(store, namespace)
        for number, text in enumerate(HOSTILE_NAMES):
            answer = _answer(number, graph, namespace, text=text, student=text, question=text, snapshot={text: [text]})
            store.save_answers([answer])
            assert_same(read_answer(store, answer.id), answer)
        assert_same(store.read([graph.query.id]), [graph])

    def test_an_answer_that_is_there_stays_as_it_is(self, store: GraphStore, namespace: str) -> None:
        graph = _store_subgraph(store, namespace)
        answer = _answer(1, graph, namespace)
        store.save_answers([answer])
        before = records_of(store)
        store.save_answers([answer, answer])
        store.save_answers([answer.model_copy(update={"text": "changed", "lines": (), "snapshot": {}})])
        assert records_of(store) == before

    def test_an_answer_from_lines_of_other_sites_rests_on_nothing_stored(self, store: GraphStore, namespace: str) -> None:
        graph = _store_subgraph(store, namespace)
        first_answer = _answer(1, graph, namespace)
        lines = [line.model_copy(update={"site": "alps"}) for line in first_answer.lines]
        lines += [lines[0].model_copy(update={"ref": "of another store"})]
        answer = first_answer.model_copy(update={"source_ids": (), "lines": tuple(lines)})
        assert store.save_answers([answer]) == frozenset()
        assert_same(read_answer(store, answer.id), answer)
        counts = store.counts()
        assert (counts["Answer"], counts["ANSWERS"], counts["USED"]) == (1, 0, 0)
        assert store.verify() == []
        store.erase([graph.source_id])
        assert store.counts()["Answer"] == 1

    def test_an_answer_is_linked_to_its_queries_and_evidence(self, store: GraphStore, namespace: str) -> None:
        one, two = _store_subgraph(store, namespace, 1), _store_subgraph(store, namespace, 2)
        refs: list[tuple[LineKind, str]] = [("evidence", one.kept_evidence[0].id), ("evidence", two.kept_evidence[1].id)]
        answer = make_answer(1, [one, two], namespace=namespace, refs=refs)
        store.save_answers([answer])
        counts = store.counts()
        sizes = {"Answer": 1, "ANSWERS": 2, "USED": 2}
        assert {name: counts[name] for name in sizes} == sizes
        assert_same(store.answers(prefix=answer.id[:8]), [answer])
        assert store.answers(prefix="missing") == []
        assert store.verify() == []

    def test_answers_are_listed_newest_first_without_snapshots(self, store: GraphStore, namespace: str) -> None:
        one, two = _store_subgraph(store, namespace, 1), _store_subgraph(store, namespace, 2)
        times = ("2026-01-03T00:00:00+00:00", "2026-01-05T00:00:00+00:00", "2026-01-04T00:00:00+00:00")
        answers = [_answer(n, one if n else two, namespace, created_at=time) for n, time in enumerate(times)]
        store.save_answers(answers)
        listed = [answers[n].model_copy(update={"snapshot": {}}) for n in (1, 2, 0)]
        assert_same(store.answers(), listed)
        assert_same(store.answers(limit=2), listed[:2])
        assert_same(store.answers(one.query.id), listed[:2])
        assert_same(store.answers(two.query.id), listed[2:])
        assert store.answers("missing") == []

    def test_an_answer_that_rests_on_nothing_is_kept_too(self, store: GraphStore, namespace: str) -> None:
        answer = make_answer(1, [], namespace=namespace, text="", label=None, correct=False, mode="none")
        store.save_answers([answer])
        assert_same(read_answer(store, answer.id), answer)
        assert [item.id for item in store.answers()] == [answer.id]
        assert walk(store, answer.id) == {}
        assert store.verify() == []

    def test_the_walk_leads_from_each_line_to_a_teacher_call(self, store: GraphStore, namespace: str) -> None:
        graph = _store_subgraph(store, namespace)
        answer = _answer(1, graph, namespace)
        store.save_answers([answer])
        best = graph.kept_evidence[0]
        texts, triples = {item.id: item.text for item in graph.evidence}, {item.id: item for item in graph.triples}
        wanted = {("evidence", best.id): {("", best.id, best.text, best.call_ids)}}
        for edge in graph.edges:
            behind = [triples[id_] for id_ in edge.triple_ids]
            wanted["edge", edge.id] = {(item.id, item.evidence_id, texts[item.evidence_id], item.call_ids) for item in behind}
        assert walk(store, answer.id) == wanted

    def test_the_walk_leads_through_the_raw_multigraph(self, store: GraphStore, namespace: str) -> None:
        weak = make_subgraph(namespace=namespace, triples=[("a", "is", "b", 0.2, 0), ("a", "is", "c", 0.1, 1)])
        store.save([weak], PLAIN)
        (graph,) = store.read([weak.query.id])
        store.save_answers([_answer(1, graph, namespace)])
        references = {
            ref: {items[0] for items in rests} for (kind, ref), rests in walk(store, _answer(1, graph, namespace).id).items()
        }
        assert {ref: ids for ref, ids in references.items() if ids != {""}} == {item.id: {item.id} for item in graph.triples}

    def test_a_replaced_subgraph_keeps_its_answers(self, store: GraphStore, namespace: str) -> None:
        graph = _store_subgraph(store, namespace)
        answer = _answer(1, graph, namespace)
        store.save_answers([answer])
        new = make_subgraph(
            namespace=namespace,
            triples=[("other", "than", "before", 0.9, 0)],
            evidence=["wholly new"],
            dropped=(),
            settings_hash="settings-2",
        )
        assert store.save([new], PLAIN) == ["replaced"]
        assert_same(read_answer(store, answer.id), answer)
        assert [item.id for item in store.answers(graph.query.id)] == [answer.id]
        assert walk(store, answer.id) == {}
        assert_same(store.read([graph.query.id]), [expected(new, PLAIN)])
        counts = store.counts()
        sizes = {"Answer": 1, "ANSWERS": 1, "USED": 0, "Evidence": 1}
        assert {name: counts[name] for name in sizes} == sizes
        assert store.verify() == []

    def test_evidence_that_a_replaced_subgraph_has_again_stays_linked(self, store: GraphStore, namespace: str) -> None:
        graph = _store_subgraph(store, namespace)
        refs: list[tuple[LineKind, str]] = [("evidence", graph.evidence[0].id), ("evidence", graph.evidence[2].id)]
        answer = make_answer(1, [graph], namespace=namespace, refs=refs)
        store.save_answers([answer])
        new = make_subgraph(namespace=namespace, evidence=2, dropped=(), triples=(), settings_hash="settings-2")
        assert new.evidence[0].id == graph.evidence[0].id
        assert store.save([new], PLAIN) == ["replaced"]
        again = new.evidence[0]
        assert walk(store, answer.id) == {("evidence", again.id): {("", again.id, again.text, again.call_ids)}}
        assert store.counts()["USED"] == 1
        assert_same(read_answer(store, answer.id), answer)
        assert store.verify() == []

    def test_erasing_takes_the_subgraph_and_what_rests_on_it_only(self, store: GraphStore, namespace: str) -> None:
        other = _store_subgraph(store, namespace, "other")
        about_other = _answer("other", other, namespace)
        store.save_answers([about_other])
        before, counts = records_of(store), store.counts()
        graph = _store_subgraph(store, namespace)
        both = make_answer("both", [other, graph], namespace=namespace, refs=[("evidence", other.kept_evidence[0].id)])
        store.save_answers([_answer(1, graph, namespace), _answer(2, graph, namespace), both])
        erasure = store.erase([graph.query.id])
        sizes = {"Query": 1, "Evidence": 4, "Entity": 4, "TeacherCall": 2}
        assert {label: erasure.counts.get(label) for label in sizes} == sizes
        assert erasure.answer_ids == {both.id, *(_answer(n, graph, namespace).id for n in (1, 2))}
        assert records_of(store) == before
        assert store.counts() == counts
        assert read_answer(store, both.id) is None
        assert_same(read_answer(store, about_other.id), about_other)
        assert sum(store.erase([graph.query.id]).counts.values()) == 0
        assert store.verify() == []

    def test_an_answer_that_comes_after_its_query_was_erased_is_not_kept(self, store: GraphStore, namespace: str) -> None:
        one, two = _store_subgraph(store, namespace, 1), _store_subgraph(store, namespace, 2)
        proven, bare = _answer(1, one, namespace), make_answer(2, [], namespace=namespace)
        late = [_answer(3, two, namespace), make_answer(4, [one, two], namespace=namespace)]
        store.erase([two.query.id])
        before = records_of(store)
        assert store.save_answers(late) == {item.id for item in late}
        assert records_of(store) == before
        assert store.save_answers([late[0], proven, late[1], bare]) == {item.id for item in late}
        assert {item.id for item in store.answers()} == {proven.id, bare.id}
        assert two.kept_evidence[0].text not in str(list(store.records()))
        assert store.verify() == []

    def test_answers_beside_an_erasure_do_not_outlive_it(self, store: GraphStore, namespace: str) -> None:
        other = _store_subgraph(store, namespace, "other")
        for number in range(8):
            graph = _store_subgraph(store, namespace)
            batches = [[make_answer(f"{number}/{n}", [other, graph], namespace=namespace)] for n in range(3)]
            with ThreadPoolExecutor(4) as pool:
                saved = [pool.submit(store.save_answers, batch) for batch in batches]
                erased = pool.submit(store.erase, [graph.query.id])
                for done in saved:
                    done.result()
                erased.result()
            assert store.answers() == []
        assert store.verify() == []

    def test_an_erased_query_can_be_saved_again(self, store: GraphStore, namespace: str) -> None:
        graph = _store_subgraph(store, namespace)
        before = records_of(store)
        store.erase([graph.query.id])
        assert store.save([graph], PLAIN) == ["created"]
        assert records_of(store) == before

    def test_answers_of_another_namespace_are_refused(self, store: GraphStore, namespace: str) -> None:
        graph = _store_subgraph(store, namespace)
        with pytest.raises(StoreError):
            store.save_answers([_answer(1, graph, namespace), _answer(2, graph, namespace="somewhere-else")])
        assert store.counts()["Answer"] == 0

    def test_answers_are_there_after_reopening(self, open_store: OpenStore, namespace: str) -> None:
        with open_store(namespace) as store:
            answer = _answer(1, _store_subgraph(store, namespace), namespace)
            store.save_answers([answer])
        with open_store(namespace) as store:
            assert_same(read_answer(store, answer.id), answer)

    def test_overlapping_writers_of_answers_leave_no_duplicates(self, store: GraphStore, namespace: str) -> None:
        graph = _store_subgraph(store, namespace)
        answers = [_answer(number, graph, namespace) for number in range(6)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(store.save_answers, [answers, answers[::-1], answers[3:], answers[:3]]))
        counts = store.counts()
        sizes = {"Answer": 6, "ANSWERS": 6, "USED": 6}
        assert {name: counts[name] for name in sizes} == sizes
