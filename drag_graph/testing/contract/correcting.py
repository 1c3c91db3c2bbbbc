"""Contract of `drag_graph.ports.correction_store.CorrectionStore`."""

from typing import Any

from drag_graph.model import Aggregation, Subgraph, Triple
from drag_graph.ports.correction_store import Correction, RejectedClaims, claim_of
from drag_graph.ports.graph_store import GraphStore
from drag_graph.testing.builders import as_distilled, make_answer, make_subgraph
from drag_graph.testing.contract.base import Contract, OpenStore

AT = "2026-03-01T12:00:00+00:00"


def of_claim(triple: Triple, **fields: str) -> Correction:
    """Return a correction of the claim of a triple."""
    given = {"verdict": "wrong", "note": "Überholt.", "author": "ann", "created_at": AT, **fields}
    return Correction(
        target_id=claim_of(triple),
        kind="claim",
        text=f"{triple.subject} {triple.predicate} {triple.object}",
        source_ids=(triple.source_id,),
        subject=triple.subject,
        object=triple.object,
        predicate_key=triple.predicate_key,
        **given,
    )


def saved(store: GraphStore, name: str = "first", **given: Any) -> Subgraph:
    """Store a subgraph and return it."""
    graph = as_distilled(make_subgraph(name, namespace=store.namespace, **given))
    store.save([graph], Aggregation())
    return graph


class CorrectionContract(Contract):
    """A correction stays until it is undone, or until its target is erased."""

    def test_what_is_written_is_read_and_the_last_verdict_counts(self, store: GraphStore) -> None:
        assert (store.corrections.read(), store.corrections.rejected()) == ([], RejectedClaims())
        graph = saved(store)
        first, other = of_claim(graph.triples[0]), of_claim(graph.triples[-1], created_at="2026-03-02T12:00:00+00:00")
        assert first.target_id != other.target_id
        assert store.corrections.write([first, other]) == len([first, other])
        assert store.corrections.read() == [other, first]
        both = frozenset([first.target_id, other.target_id])
        assert store.corrections.rejected() == RejectedClaims(both, frozenset([graph.source_id]))
        undone = first.model_copy(update={"undone_at": "2026-03-03T12:00:00+00:00", "undone_by": "bob"})
        right = of_claim(graph.triples[-1], verdict="right", note="")
        assert store.corrections.write([undone, right]) == len([undone, right])
        assert store.corrections.read() == [undone, right]
        assert store.corrections.rejected() == RejectedClaims()
        assert store.counts()["Correction"] == len([undone, right])
        assert store.verify() == []

    def test_the_claims_are_those_of_the_triples(self, store: GraphStore) -> None:
        graphs = [saved(store, name) for name in ("first", "second")]
        wanted = {(claim_of(item), item.source_id, item.subject, item.object) for graph in graphs for item in graph.triples}
        claims = list(store.corrections.claims())
        assert {(claim_of(item), item.source_id, item.subject, item.object) for item in claims} == wanted
        predicates = {item.predicate for graph in graphs for item in graph.triples}
        assert {item.predicate for item in claims} == predicates

    def test_a_correction_survives_another_edition_and_other_edges(self, store: GraphStore) -> None:
        graph = saved(store)
        correction = of_claim(graph.triples[0])
        store.corrections.write([correction])
        store.aggregate([graph.source_id], Aggregation(strategy="predicate", threshold=0.0))
        store.save([graph], Aggregation(), replace=True)
        changed = as_distilled(make_subgraph("first", namespace=store.namespace, evidence=6))
        store.save([changed.model_copy(update={"settings_hash": "another"})], Aggregation())
        assert store.corrections.read() == [correction]

    def test_a_correction_goes_with_its_source_or_answer_and_not_with_others(self, store: GraphStore) -> None:
        graphs = [saved(store, name) for name in ("first", "second")]
        answers = [make_answer(graph.source_id, [graph], namespace=store.namespace) for graph in graphs]
        assert store.save_answers(answers) == frozenset()
        of_answers = [
            Correction(
                target_id=answer.id,
                kind="answer",
                verdict="wrong",
                author="ann",
                created_at=AT,
                text=answer.question,
                source_ids=answer.source_ids,
            )
            for answer in answers
        ]
        of_claims = [of_claim(graph.triples[0]) for graph in graphs]
        every = [*of_claims, *of_answers]
        assert store.corrections.write(every) == len(every)
        assert store.corrections.rejected().source_ids == {graph.source_id for graph in graphs}
        store.erase([graphs[0].source_id])
        assert {item.target_id for item in store.corrections.read()} == {of_claims[1].target_id, of_answers[1].target_id}

    def test_what_is_not_stored_is_not_corrected(self, store: GraphStore) -> None:
        graph = as_distilled(make_subgraph("first", namespace=store.namespace))
        assert store.corrections.write([of_claim(graph.triples[0])]) == 0
        assert store.corrections.read() == []

    def test_corrections_are_those_of_the_namespace(self, open_store: OpenStore, namespace: str) -> None:
        with open_store(namespace) as store:
            graph = saved(store)
            store.corrections.write([of_claim(graph.triples[0])])
        with open_store(f"{namespace}-other") as store:
            saved(store)
            assert (store.corrections.read(), store.corrections.rejected()) == ([], RejectedClaims())
            assert store.corrections.write([of_claim(graph.triples[0])]) == 0

    def test_a_correction_is_in_the_export(self, store: GraphStore) -> None:
        graph = saved(store)
        correction = of_claim(graph.triples[0])
        store.corrections.write([correction])
        (record,) = [one for one in store.records() if one.get("label") == "Correction"]
        assert record["id"] == correction.id_in(store.namespace)
        assert record["properties"] == {**correction.to_dict(), "namespace": store.namespace, "undone": False}
