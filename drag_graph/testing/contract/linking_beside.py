"""Linking while others link, erase and replace; what outlives a refresh, and what is gone with an erasure."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from drag_graph.errors import StoreLocked
from drag_graph.graph.name_forms import concept_id
from drag_graph.jobs import link_job as linking
from drag_graph.model import Subgraph
from drag_graph.ports.concept_store import Changes, Concept, Written
from drag_graph.ports.graph_store import GraphStore
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.contract.base import Contract, records_of
from drag_graph.testing.contract.linking import (
    CONCEPTS,
    ENTITIES,
    NOW,
    PLAIN,
    Angles,
    _alone,
    _expected_state,
    _fields_of,
    _fill,
    _graph,
    _graphs,
    _linker,
    _merge_of,
    _state,
)
from drag_graph.testing.dict_store import DictStore

STEPS = ("write 0", "write 1", "read 0", "read 1", "write 2", "same_as 0", "write 3", "same_as 1", "write 4")
"""Calls of a run (the method, and how many of it come before): others write just before these. From the third on it judges."""


class _Meanwhile:
    """A `ConceptStore` beside which somebody does something, before one of its calls ("write 2": after two of that method)."""

    def __init__(self, store: Any, call: str, act: Callable[[], object]) -> None:
        self._store = store
        self._method, number = call.split()
        self._left = int(number)
        self.acted = False
        self._act = act

    def __getattr__(self, name: str) -> Any:
        if name == self._method:
            self._left -= 1
            if self._left == -1:
                self.acted = True
                self._act()
        return getattr(self._store, name)


class _Deaf:
    """A `ConceptStore` on which no cluster is ever written, as somebody changes everything all the time."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.asked = 0

    def write(self, changes: Changes) -> Written:
        self.asked += bool(changes.clusters)
        outcome: Written = self._store.write(replace(changes, clusters=()))
        return outcome

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


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

    def test_what_is_of_another_revision_by_now_stays_as_it_is(self, store: GraphStore) -> None:
        _fill(store)
        _linker(store).run()
        concepts_by_name = {item.name: item for item in store.concepts.read([item.id for item in store.concepts.read()])}
        heart, zebra = concepts_by_name["heart"], concepts_by_name["zebra"].id
        store.erase([_graphs(store.namespace)[2].query.id])
        (now,) = store.concepts.read([heart.id])
        assert (now.revision > heart.revision, now.cluster) == (True, "")
        store.concepts.write(Changes(named=[replace(heart, name="HEART")], clusters=[(heart, zebra)]))
        assert store.concepts.read([heart.id]) == [now]
        store.concepts.write(Changes(clusters=[(now, zebra)]))
        assert store.concepts.read([heart.id])[0].cluster == zebra
        store.concepts.write(Changes(recounted=[heart.id]))
        _linker(store).run()
        assert _state(store) == _expected_state(store.namespace, but=3)

    def test_a_source_is_linked_when_all_of_it_is(self, store: GraphStore) -> None:
        _fill(store)
        events: list[str] = []
        while sources := store.concepts.waiting(2).sources:
            store.concepts.write(Changes(sources=[source.id for source in sources]))
            assert store.concepts.waiting(2).sources == sources, "nothing of it is"
            for source in sources:
                events.append(source.id)
                concept = Concept(concept_id(store.namespace, source.id), source.id, source.entities[0][1])
                links = [(entity, concept.id) for entity, _ in source.entities]
                changes = Changes(concepts=[concept], links=links)
                assert store.concepts.write(changes) == Written(len(links), 1)
                assert store.concepts.write(changes) == Written(), "a second time it is done"
                vector = Angles().embed(["any"])[0].tolist()
                store.concepts.write(Changes(evidence=dict.fromkeys([id_ for id_, _ in source.evidence], vector)))
                store.concepts.write(Changes(sources=[source.id]))
        assert sorted(events) == sorted(graph.query.id for graph in _graphs(store.namespace))
        store.save([_graphs(store.namespace)[0].model_copy(update={"settings_hash": "other"})], PLAIN)
        assert [source.id for source in store.concepts.waiting(9).sources] == [_graphs(store.namespace)[0].query.id]

    @pytest.mark.parametrize("step", STEPS)
    def test_what_is_erased_under_its_hands_is_as_if_it_had_never_been(
        self, store: GraphStore, step: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(linking, "JUDGED_AT_ONCE", 4)
        graphs = _graphs(store.namespace)
        _fill(store)
        position = 1 + STEPS.index(step) // 2 % 2
        beside = _Meanwhile(store.concepts, step, lambda: store.erase([graphs[position - 1].query.id]))
        report = _linker(store, beside).run()
        assert beside.acted
        assert report.left_open == 0
        assert store.verify() == []
        assert _state(store) == _expected_state(store.namespace, but=position), f"query {position} erased before {step}"

    def test_what_never_comes_to_rest_is_left_to_the_next_run(self, store: GraphStore) -> None:
        _fill(store)
        deaf = _Deaf(store.concepts)
        report = _linker(store, deaf).run()
        assert (report.left_open, deaf.asked) == (CONCEPTS, linking.PASSES)
        assert report.to_dict()["left_open"] == CONCEPTS
        assert _linker(store).run().left_open == 0
        assert _state(store) == _expected_state(store.namespace)

    def test_entities_are_counted_as_they_are_linked(self, store: GraphStore) -> None:
        _fill(store)
        erased_graph = _graphs(store.namespace)[0]
        beside = _Meanwhile(store.concepts, "write 1", lambda: store.erase([erased_graph.query.id]))
        report = _linker(store, beside).run()
        assert report.entities == store.counts()["REFERS_TO"] == ENTITIES - len(erased_graph.entities)
        assert report.concepts == store.counts()["Concept"]

    def test_what_was_taken_back_outlives_a_refresh(self, store: GraphStore) -> None:
        _fill(store)
        linker = _linker(store)
        linker.run()
        linker.undo(_merge_of(store, "infarction"))
        again = _graph(store.namespace, 2, ["cardiac infarction", "heart"])
        store.save([again], PLAIN, replace=True)
        assert store.verify() == []
        assert linker.run().merged == {}
        assert _merge_of(store, "infarction").undone_at == NOW
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
        linker.run()
        assert store.counts()["Concept"] == len(_state(store)["concepts"])
        assert "infarction" not in str(_state(store))
        assert store.verify() == []

    def test_an_erasure_takes_with_it_what_was_taken_back(self, store: GraphStore) -> None:
        _fill(store)
        linker = _linker(store)
        linker.run()
        linker.undo(_merge_of(store, "infarction"))
        number = store.counts()["SAME_AS"]
        store.erase([_graphs(store.namespace)[1].query.id])
        assert store.concepts.same_as(text="infarction") == []
        assert "infarction" not in "\n".join(records_of(store))
        assert store.counts()["SAME_AS"] < number
        linker.run()
        assert _state(store) == _expected_state(store.namespace, but=2)

    @pytest.mark.parametrize("how", ["erase", "replace"])
    def test_a_name_that_means_one_thing_again_joins_it(self, store: GraphStore, how: str) -> None:
        """Two things were called so, and so neither was; now only one is."""
        other = _graph(store.namespace, 1, ["Connecticut", "zebra"], {"Connecticut": ["CTX"]})
        remaining = [
            _graph(store.namespace, 2, ["computed tomography", "heart"], {"computed tomography": ["CTX"]}),
            _graph(store.namespace, 3, ["CTX", "horse"]),
            _graph(store.namespace, 4, ["Connecticut", "horse"]),
        ]
        store.save([other, *remaining], PLAIN)
        _linker(store).run()
        assert store.concepts.same_as() == []
        if how == "replace":
            store.save([_graph(store.namespace, 1, ["Connecticut", "zebra"])], PLAIN, replace=True)
        else:
            store.erase([other.source_id])
        _linker(store).run()
        assert [_fields_of(merge)[:3] for merge in store.concepts.same_as()] == [("CTX", "computed tomography", "alias")]

    def test_no_concept_is_called_as_only_an_erased_entity_was_written(self, store: GraphStore) -> None:
        graphs = [_graph(store.namespace, number, [name, "heart"]) for number, name in enumerate(("ZEBRA", "ZEBRA", "Zebra"))]
        store.save(graphs, PLAIN)
        _linker(store).run()
        for graph in graphs[:2]:
            assert "ZEBRA" in "\n".join(records_of(store))
            store.erase([graph.query.id])
        assert "ZEBRA" not in "\n".join(records_of(store))
        _linker(store).run()
        assert _state(store)["concepts"]["Zebra"] == ("zebra", 1, ["Zebra"])
        assert _state(store)["vectors"] == len({"zebra", "heart"})

    def test_only_kept_evidence_gets_vectors(self, store: GraphStore) -> None:
        store.save([make_subgraph(namespace=store.namespace, evidence=5, dropped=(1, 3))], PLAIN)
        assert _linker(store).run().evidence_vectors == 3  # noqa: PLR2004 - of five, two were dropped
        assert _linker(store).run().evidence_vectors == 0
