"""Linking while others link, erase and replace; what outlives a refresh, and what is gone with an erasure (docs/linking.md)."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from drag_graph import linker as linking
from drag_graph.concepts import Concept, Embedded, Naming, Settled
from drag_graph.erasing import Erased, Target, Total, erase_each
from drag_graph.errors import StoreLocked
from drag_graph.identity import content_id
from drag_graph.model import Subgraph
from drag_graph.ports import GraphStore
from drag_graph.steps.linking import concept_id
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.contract.base import Contract, records_of
from drag_graph.testing.contract.linking import (
    CONCEPTS,
    ENTITIES,
    NOW,
    PLAIN,
    Angles,
    _alone,
    _fill,
    _graph,
    _graphs,
    _linker,
    _merge_of,
    _shown,
    _state,
    _whole,
)
from drag_graph.testing.dict_store import DictStore

STEPS = ("link", "other_names", "same_as", "save_clusters")
LABELS: tuple[Embedded, ...] = ("Concept", "Evidence")


class _Meanwhile:
    """A `ConceptStore` beside which somebody does something, before its calls of one method."""

    def __init__(self, store: Any, method: str, act: Callable[[], object], *, times: int = 1) -> None:
        self._store = store
        self._method = method
        self._act = act
        self._left = times

    def __getattr__(self, name: str) -> Any:
        if name == self._method and self._left:
            self._left -= 1
            self._act()
        return getattr(self._store, name)


class _Deaf:
    """A `ConceptStore` on which nothing can be settled, as somebody changes everything all the time."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.asked = 0

    def save_clusters(self, settled: Sequence[Settled]) -> None:
        self.asked += bool(settled)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def _by_two(namespace: str, number: int, names: Sequence[str], also: Sequence[str]) -> tuple[Subgraph, str]:
    """Return a subgraph whose first name is also called so, by the evidence of a second call only, and that call's id."""
    graph = _graph(namespace, number, names, {names[0]: also})
    call_id = content_id(namespace, "call", graph.query.id, "the second")
    call = graph.calls[0].model_copy(update={"id": call_id, "stage": "evidence"})
    said = graph.evidence[0].model_copy(
        update={
            "id": content_id(namespace, "evidence", graph.query.id, "second"),
            "text": f"{names[0]}, also called {' or '.join(also)}.",
            "call_ids": (call_id,),
            "position": 1,
            "rank": 1,
        }
    )
    triple = graph.triples[0].model_copy(
        update={"id": content_id(namespace, "triple", said.id), "evidence_id": said.id, "rank": 7}
    )
    return graph.model_copy(
        update={
            "calls": tuple(sorted((*graph.calls, call), key=lambda item: item.id)),
            "evidence": (*graph.evidence, said),
            "triples": (*graph.triples, triple),
        }
    ), call_id


def _linked(namespace: str, graphs: Sequence[Subgraph]) -> dict[str, Any]:
    """Return the state of a store in memory that holds these and was linked at once."""
    with DictStore(namespace=namespace) as store:
        store.migrate()
        store.save(graphs, PLAIN)
        _linker(store).run()
        return _state(store)


class BesideContract(Contract):
    """What `ConceptStore` and `ErasingStore` promise each other."""

    def test_one_linker_at_a_time(self, store: GraphStore) -> None:
        _fill(store)
        _linker(store).run()
        merge, before = _merge_of(store, "infarction"), records_of(store)
        with store.concepts.exclusive():
            for attempt in (_linker(store).run, lambda: _linker(store).undo(merge), lambda: _linker(store).redo(merge)):
                with pytest.raises(StoreLocked) as caught:
                    attempt()
                assert caught.value.exit_code == StoreLocked.exit_code
                assert store.namespace in str(caught.value)
        assert records_of(store) == before
        with pytest.raises(ZeroDivisionError), store.concepts.exclusive():
            raise ZeroDivisionError
        assert _linker(store).run().entities == 0, "it is free again"

    def test_a_cluster_is_set_only_where_all_is_as_it_was_read(self, store: GraphStore) -> None:
        _fill(store)
        _linker(store).run()
        before = records_of(store)
        known = {item.name: item for item in store.concepts.all()}
        heart, other, dna = known["heart"], known["zebra"].id, known["deoxyribonucleic acid"]
        fewer = Concept(heart.id, heart.key, heart.name, heart.entities + 1, heart.cluster)
        was_open = Concept(heart.id, heart.key, heart.name, heart.entities, "")
        for wrong in (
            Settled(fewer, other, 1),
            Settled(was_open, other, 1),
            Settled(heart, other, 0),
            Settled(heart, other, 2),
        ):
            store.concepts.save_clusters([wrong])
        store.concepts.save_clusters([Settled(heart, other, 1, 1), Settled(dna, other, 1, 0), Settled(dna, other, 1, 2)])
        assert records_of(store) == before
        store.concepts.save_clusters([Settled(heart, other, 1), Settled(dna, other, 1, 1)])
        assert {item.cluster for item in store.concepts.read([heart.id, dna.id])} == {other}

    @pytest.mark.parametrize("step", STEPS)
    def test_what_is_erased_under_its_hands_is_as_if_it_had_never_been(
        self, store: GraphStore, step: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(linking, "JUDGED_AT_ONCE", 4)
        graphs = _graphs(store.namespace)
        _fill(store)
        gone = 1 + STEPS.index(step) % 2
        beside = _Meanwhile(store.concepts, step, lambda: store.erase_query(graphs[gone - 1].query.id))
        report = _linker(store, beside).run()
        assert report.left_open == 0
        assert store.verify() == []
        assert _state(store) == _whole(store.namespace, but=gone), f"query {gone} erased before {step}"

    @pytest.mark.parametrize("step", STEPS[2:])
    def test_a_name_that_is_erased_under_its_hands_joins_nothing(self, store: GraphStore, step: str) -> None:
        graph, call = _by_two(store.namespace, 1, ["deoxyribonucleic acid", "zebra"], ["DNA"])
        store.save([graph, _graph(store.namespace, 2, ["DNA", "heart"])], PLAIN)
        act = lambda: store.erasing.erase(Target(graph.query.id, (call,)), NOW)  # noqa: E731 - the only line of it
        report = _linker(store, _Meanwhile(store.concepts, step, act)).run()
        assert report.left_open == 0
        assert store.concepts.merges() == []
        assert store.verify() == []
        assert {item.cluster for item in store.concepts.all()} == {item.id for item in store.concepts.all()}

    def test_what_never_comes_to_rest_is_left_to_the_next_run(self, store: GraphStore) -> None:
        _fill(store)
        deaf = _Deaf(store.concepts)
        report = _linker(store, deaf).run()
        assert (report.left_open, deaf.asked) == (CONCEPTS, linking.PASSES)
        assert report.document()["left_open"] == CONCEPTS
        assert _linker(store).run().left_open == 0
        assert _state(store) == _whole(store.namespace)

    def test_names_that_were_read_too_early_are_read_again(self, store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """Before all names are read, a run knows some; a concept that is none of them was made since."""
        monkeypatch.setattr(linking, "JUDGED_AT_ONCE", 3)
        _fill(store)
        early = _Meanwhile(store.concepts, "all", lambda: None)
        monkeypatch.setattr(early, "all", lambda: iter(()), raising=False)
        beside = _Meanwhile(early, "other_names", lambda: monkeypatch.delattr(early, "all"))
        report = _linker(store, beside).run()
        assert report.left_open == 0
        assert _state(store) == _whole(store.namespace)

    def test_entities_are_counted_as_they_are_linked(self, store: GraphStore) -> None:
        _fill(store)
        gone = _graphs(store.namespace)[0]
        beside = _Meanwhile(store.concepts, "link", lambda: store.erase_query(gone.query.id))
        report = _linker(store, beside).run()
        assert report.entities == store.counts()["REFERS_TO"] == ENTITIES - len(gone.entities)
        assert report.concepts == store.counts()["Concept"]

    def test_what_was_taken_back_outlives_a_refresh(self, store: GraphStore) -> None:
        _fill(store)
        linker = _linker(store)
        linker.run()
        linker.undo(_merge_of(store, "infarction"))
        again = _graph(store.namespace, 2, ["cardiac infarction", "heart"])
        store.save([again], PLAIN, replace=True)
        assert store.verify() == []
        everything = "\n".join(records_of(store))
        assert everything.count("cardiac infarction") == str(records_of(_only(store, again))).count("cardiac infarction")
        assert store.concepts.merges("infarction") == []
        assert linker.run().merged == {}
        assert _merge_of(store, "infarction").same_as.undone_at == NOW
        assert _alone(store, "infarction")
        assert _state(store)["vectors"] == store.counts()["Concept"]
        linker.redo(_merge_of(store, "infarction"))
        assert not _alone(store, "infarction")

    def test_what_was_taken_back_goes_when_nothing_names_it_any_more(self, store: GraphStore) -> None:
        _fill(store)
        linker = _linker(store)
        linker.run()
        linker.undo(_merge_of(store, "infarction"))
        store.save([_graph(store.namespace, 2, ["heart", "zebra"])], PLAIN, replace=True)
        assert store.verify() == []
        assert linker.run().corrected == 0
        assert store.counts()["Concept"] == len(_state(store)["concepts"])
        assert "infarction" not in str(_state(store))
        assert store.verify() == []

    def test_an_erasure_takes_with_it_what_was_taken_back(self, store: GraphStore) -> None:
        _fill(store)
        linker = _linker(store)
        linker.run()
        linker.undo(_merge_of(store, "infarction"))
        number = store.counts()["SAME_AS"]
        store.erase_query(_graphs(store.namespace)[1].query.id)
        assert store.concepts.merges("infarction") == []
        assert "infarction" not in "\n".join(records_of(store))
        assert store.counts()["SAME_AS"] < number
        linker.run()
        assert _state(store) == _whole(store.namespace, but=2)

    def test_a_merge_by_a_name_that_only_an_erased_call_knew_goes_with_it(self, store: GraphStore) -> None:
        graph, call = _by_two(store.namespace, 1, ["deoxyribonucleic acid", "zebra"], ["DNA"])
        store.save([graph, _graph(store.namespace, 2, ["DNA", "heart"])], PLAIN)
        _linker(store).run()
        assert [_shown(merge)[:3] for merge in store.concepts.merges()] == [("DNA", "deoxyribonucleic acid", "alias")]
        store.erasing.erase(Target(graph.query.id, (call,)), NOW)
        assert store.concepts.merges() == [], "at once"
        assert not {item.cluster for item in store.concepts.all()} - {item.id for item in store.concepts.all()} - {""}
        _linker(store).run()
        assert store.verify() == []
        never = graph.model_copy(update={"entities": store.read([graph.query.id])[0].entities})
        merged = _linked(store.namespace, [never, _graph(store.namespace, 2, ["DNA", "heart"])])
        assert _state(store)["concepts"] == merged["concepts"]

    @pytest.mark.parametrize("how", ["erase", "call", "replace"])
    def test_a_name_that_means_one_thing_again_joins_it(self, store: GraphStore, how: str) -> None:
        """Two things were called so, and so neither was; now only one is."""
        other, call = _by_two(store.namespace, 1, ["Connecticut", "zebra"], ["CTX"])
        rest = [
            _graph(store.namespace, 2, ["computed tomography", "heart"], {"computed tomography": ["CTX"]}),
            _graph(store.namespace, 3, ["CTX", "horse"]),
            _graph(store.namespace, 4, ["Connecticut", "horse"]),
        ]
        store.save([other, *rest], PLAIN)
        _linker(store).run()
        assert store.concepts.merges() == []
        if how == "replace":
            store.save([_graph(store.namespace, 1, ["Connecticut", "zebra"])], PLAIN, replace=True)
        else:
            store.erasing.erase(Target(other.query.id, (call,) if how == "call" else ()), NOW)
        _linker(store).run()
        assert [_shown(merge)[:3] for merge in store.concepts.merges()] == [("CTX", "computed tomography", "alias")]

    def test_no_concept_is_called_as_only_an_erased_entity_was_written(self, store: GraphStore) -> None:
        graphs = [_graph(store.namespace, number, [name, "heart"]) for number, name in enumerate(("ZEBRA", "ZEBRA", "Zebra"))]
        store.save(graphs, PLAIN)
        _linker(store).run()
        for graph in graphs[:2]:
            assert "ZEBRA" in "\n".join(records_of(store))
            store.erase_query(graph.query.id)
        assert "ZEBRA" not in "\n".join(records_of(store))
        _linker(store).run()
        assert _state(store)["concepts"]["Zebra"] == ("zebra", 1, ["Zebra"])
        assert _state(store)["vectors"] == len({"zebra", "heart"})

    def test_only_kept_evidence_gets_vectors(self, store: GraphStore) -> None:
        store.save([make_subgraph(namespace=store.namespace, evidence=5, dropped=(1, 3))], PLAIN)
        assert _linker(store).run().evidence_vectors == 3  # noqa: PLR2004 - of five, two were dropped
        assert _linker(store).run().evidence_vectors == 0

    def test_a_page_goes_on_behind_a_row_that_is_changed_or_gone(self, store: GraphStore) -> None:
        _fill(store)
        vectors = Angles().embed(["any"])
        seen: list[str] = []
        after = ""
        while page := store.concepts.unlinked(after, 2):
            seen, after = [*seen, *(item.id for item in page)], page[-1].place
            made = [Concept(concept_id(store.namespace, item.id), item.id, item.text) for item in page]
            store.concepts.link([Naming(one, (item.id,)) for one, item in zip(made, page, strict=True)])
        assert len(seen) == len(set(seen)) == ENTITIES
        for label in LABELS:
            seen, after = [], ""
            while found := store.concepts.without_vector(label, after, 2):
                seen, after = [*seen, *(item.id for item in found)], found[-1].place
                store.concepts.save_vectors(label, [found[-1].id], vectors)
                changed = store.concepts.read([found[-1].id])
                store.concepts.save_clusters([Settled(item, "f" * 32, 0) for item in changed])
            assert len(seen) == len(set(seen)) == store.counts()[label]

    def test_a_dry_run_counts_what_goes_only_with_all(self, store: GraphStore) -> None:
        _fill(store)
        _linker(store).run()
        chosen = [Target(graph.query.id) for graph in _graphs(store.namespace)[:3]]
        told, done = Total(), Total()
        for erased in erase_each(store.erasing, chosen, NOW, dry_run=True):
            told.add(erased)
        for erased in erase_each(store.erasing, chosen, NOW):
            assert not erased.loosened
            done.add(erased)
        assert told.document() == done.document()
        assert done.document()["Concept"] > 0

    def test_all_answers_are_looked_at_once_for_many_targets(self, store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
        _fill(store)
        asked: list[Sequence[str]] = []
        erasing = store.erasing

        class _Counting:
            def answers_naming(self, source_ids: Sequence[str]) -> dict[str, list[str]]:
                asked.append(source_ids)
                return erasing.answers_naming(source_ids)

            def erase(self, target: Target, now: str, **more: Any) -> Erased:
                monkeypatch.setattr(type(erasing), "answers_naming", None)
                try:
                    return erasing.erase(target, now, **more)
                finally:
                    monkeypatch.undo()

        chosen = [Target(graph.query.id) for graph in _graphs(store.namespace)]
        assert len(list(erase_each(_Counting(), chosen, NOW))) == len(chosen)  # type: ignore[arg-type]
        assert asked == [[item.source_id for item in chosen]]


def _only(store: GraphStore, graph: Subgraph) -> GraphStore:
    """Return a store in memory that holds this subgraph alone."""
    other = DictStore(namespace=store.namespace)
    other.migrate()
    other.save([graph], PLAIN)
    return other
