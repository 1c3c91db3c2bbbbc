"""The part of the suite about erasing and selections of sources (docs/decisions/0002-ids-and-editions.md)."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from drag_graph.ask.audit_snapshot import snapshot
from drag_graph.errors import ConfigurationError
from drag_graph.manage.erasing import ErasureFilter, Scope, erase, filter_of, preview, scopes_where, total
from drag_graph.model import Aggregation, Answer, LineKind, Subgraph
from drag_graph.ports.graph_store import GraphStore, Reduction
from drag_graph.testing.builders import make_answer, make_subgraph
from drag_graph.testing.contract.base import Contract, OpenStore, records_of
from drag_graph.testing.finding import read_answer

NOW = "2026-11-21T12:00:00+00:00"
PLAIN = Aggregation()


def _save_answers(graph: Subgraph) -> list[Answer]:
    """Return an answer for each piece of evidence and edge that a student may be shown, with the snapshot of that moment."""
    refs: list[tuple[LineKind, str]] = [("evidence", item.id) for item in graph.kept_evidence]
    refs += [("edge", edge.id) for edge in graph.usable_edges]
    answers = [make_answer(n, [graph], namespace=graph.query.namespace, refs=[ref]) for n, ref in enumerate(refs)]
    return [item.model_copy(update={"snapshot": snapshot(item.question, item.lines, [graph])}) for item in answers]


class ErasingContract(Contract):
    """`GraphStore.erase` and what selects sources for it, but the concepts."""

    def test_no_path_leads_to_what_was_erased(self, store: GraphStore, namespace: str) -> None:
        texts = ["Two.", "Three.", "Four."]
        graph, other = (make_subgraph(n, namespace=namespace, evidence=[f"Secret {n}.", *texts]) for n in (1, 2))
        store.save([graph, other], PLAIN)
        answers = [answer for stored in store.read([graph.source_id, other.source_id]) for answer in _save_answers(stored)]
        store.save_answers(answers)
        own = {answer.id for answer in answers if graph.source_id in answer.source_ids}
        assert 0 < len(own) < len(answers)
        (erased,) = erase(store, [Scope(graph.source_id)])
        assert erased.answer_ids == own
        assert {answer.id for answer in store.answers()} == {answer.id for answer in answers} - own
        everything = "\n".join(records_of(store))
        assert "Secret 2" in everything
        assert "Secret 1" not in everything
        assert all((read_answer(store, answer.id) is None) == (answer.id in own) for answer in answers)
        assert store.save_answers(answers) == own, "an answer that was given meanwhile"
        assert store.verify() == []

    def test_an_answer_is_not_kept_if_anything_that_it_was_shown_is_gone(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace, evidence=["One.", "Secret two.", "Three.", "Four."])
        store.save([graph], PLAIN)
        answers = _save_answers(store.read([graph.source_id])[0])
        other = make_subgraph(namespace=namespace, evidence=["One.", "Another two.", "Three.", "Four."])
        store.save([other], PLAIN, replace=True)
        kept = {item.id for item in other.evidence}
        gone = {answer.id for answer in answers if answer.lines[0].kind == "evidence" and answer.lines[0].ref not in kept}
        assert gone
        assert store.save_answers(answers) >= gone
        assert store.verify() == []

    def test_answers_beside_an_erasure_do_not_outlive_it(self, store: GraphStore, namespace: str) -> None:
        for number in range(3):
            graph = make_subgraph(number, namespace=namespace, evidence=["Plain one.", "Secret two.", "Three.", "Four."])
            store.save([graph], PLAIN)
            answers = _save_answers(store.read([graph.source_id])[0])
            with ThreadPoolExecutor(4) as pool:
                saved = [pool.submit(store.save_answers, answers[n::3]) for n in range(3)]
                pool.submit(store.erase, [graph.source_id]).result()
                [done.result() for done in saved]
            assert list(store.records()) == []

    def test_an_answer_to_the_same_content_that_was_made_anew_is_kept(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace)
        store.save([graph], PLAIN)
        answers = _save_answers(store.read([graph.query.id])[0])
        store.save([graph.model_copy(update={"created_at": NOW})], PLAIN, replace=True)
        assert store.save_answers(answers) == frozenset()
        assert {item.id for item in store.answers()} == {item.id for item in answers}

    def test_a_dry_run_counts_and_writes_nothing(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace)
        store.save([graph], PLAIN)
        store.save_answers(_save_answers(store.read([graph.query.id])[0]))
        before = records_of(store)
        (dry_run,) = preview(store, [Scope(graph.query.id)])
        assert dry_run.counts["Evidence"] > 0
        assert dry_run.answer_ids
        assert records_of(store) == before
        (erasure,) = erase(store, [Scope(graph.query.id)])
        assert total([erasure]) == total([dry_run])
        assert list(store.records()) == []
        assert not any(total(erase(store, [Scope(graph.query.id)])).values())

    def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace)
        store.save([graph], PLAIN)
        (subgraph,) = store.read([graph.query.id])
        reduction = Reduction(subgraph, subgraph.model_copy(update={"expires_at": NOW}))
        store.save([graph.model_copy(update={"settings_hash": "another"})], PLAIN, replace=True)
        before = records_of(store)
        assert store.erase((), [reduction]).stale == {subgraph.source_id}
        assert records_of(store) == before
        store.erase([graph.query.id])
        assert store.erase((), [reduction]).stale == {subgraph.source_id}
        assert list(store.records()) == []

    def test_a_filter_finds_its_sources(self, store: GraphStore, namespace: str) -> None:
        graphs = [make_subgraph(n, namespace=namespace) for n in range(4)]
        call = graphs[2].calls[0].model_copy(update={"model": "teacher/another"})
        odd = graphs[1].model_copy(
            update={
                "source": graphs[1].query.model_copy(update={"domain": "technical"}),
                "created_at": "2025-06-01T00:00:00+00:00",
            }
        )
        other = graphs[2].model_copy(update={"calls": (call, *graphs[2].calls[1:])})
        store.save([graphs[0], odd, other, graphs[3]], PLAIN)

        def scopes(*conditions: str) -> list[Scope]:
            return list(scopes_where(store, filter_of(conditions)))

        assert scopes("domain=technical") == [Scope(odd.query.id)]
        assert scopes("created-before=2026-01-01") == [Scope(odd.query.id)]
        assert scopes("input_id=line-3") == [Scope(graphs[3].query.id)]
        assert scopes("input_id=line-3", "domain=technical") == scopes("domain=nothing' OR 1=1 //") == []
        assert scopes("model=teacher/another") == scopes("model=teacher/another", "input_id=line-2") == [Scope(other.query.id)]

    def test_a_neighbouring_namespace_is_out_of_reach(self, open_store: OpenStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace)
        with open_store(namespace) as store:
            store.save([graph], PLAIN)
            before = records_of(store)
        with open_store(f"{namespace}-neighbour") as other:
            assert list(scopes_where(other, ErasureFilter())) == []
            assert not any(total(erase(other, [Scope(graph.query.id)])).values())
        with open_store(namespace) as store:
            assert records_of(store) == before

    @pytest.mark.parametrize("condition", ["domain", "domain=", "text=x", "=x", "id(q)=1", "domain = "])
    def test_only_known_conditions_are_taken(self, condition: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            filter_of([condition])
        assert "created-before" in caught.value.hint
