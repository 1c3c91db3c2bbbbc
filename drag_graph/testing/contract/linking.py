"""Concepts: linking what is new, once and the same whatever the order, undoing, erasing (docs/decisions/0008-linking.md)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from drag_graph.errors import StoreError
from drag_graph.graph.name_forms import concept_id
from drag_graph.jobs import link_job as linking
from drag_graph.jobs.link_job import Linker, LinkReport
from drag_graph.model import Aggregation, Subgraph
from drag_graph.ports.concept_store import Changes, Concept, SameAs, Waiting, Written
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.vectors import Vectors
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.contract.base import Contract, OpenStore, records_of
from drag_graph.testing.dict_store import DictStore

PLAIN = Aggregation()
NOW = "2026-03-04T05:06:07+00:00"
DEGREES = {"cardiac infarction": 0.0, "heart attack": 5.0, "hot water": 40.0, "cold water": 41.0, "zebra": 200.0}
"""Where a few names point to; all others are at right angles to these and far from each other."""
WIDTH = 64
ENTITIES, CONCEPTS = 15, 11
"""Of `_graphs`."""
RUNS = 40
"""Interrupted runs in which a linking must be through."""


class Angles:
    """An embedder of a plane, in which a few names lie, and of many directions beside it."""

    name = "angles"
    dimension = WIDTH

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.asarray([self._vector(text) for text in texts], dtype=np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def _vector(self, text: str) -> list[float]:
        if text in DEGREES:
            angle = np.radians(DEGREES[text])
            return [float(np.cos(angle)), float(np.sin(angle)), *([0.0] * (WIDTH - 2))]
        beside = np.random.default_rng(list(text.encode())).normal(size=WIDTH - 2)
        return [0.0, 0.0, *(beside / np.linalg.norm(beside)).tolist()]


class _Interrupted(Exception):  # noqa: N818 - it stands for a kill
    pass


class _Failing:
    """A `ConceptStore` that fails before its write of that number."""

    def __init__(self, store: Any, number: int) -> None:
        self._store = store
        self._left = number

    def __getattr__(self, name: str) -> Any:
        if name == "write":
            self._left -= 1
            if self._left < 0:
                raise _Interrupted
        return getattr(self._store, name)


def _graph(namespace: str, number: int, names: Sequence[str], variants: Mapping[str, Sequence[str]] | None = None) -> Subgraph:
    """Return a subgraph in which each name is related to the next, with their other names."""
    triples = [(one, "touches", other, 0.9, 0) for one, other in pairwise(names)]
    graph = make_subgraph(number, namespace=namespace, triples=triples, evidence=1, dropped=())
    also = variants or {}
    named = tuple(item.model_copy(update={"variants": tuple(also.get(item.name, ()))}) for item in graph.entities)
    return graph.model_copy(update={"entities": named})


def _graphs(namespace: str) -> list[Subgraph]:
    return [
        _graph(namespace, 1, ["heart attack", "the heart", "DNA", "hot water"]),
        _graph(namespace, 2, ["cardiac infarction", "heart", "deoxyribonucleic acid"], {"deoxyribonucleic acid": ["DNA"]}),
        _graph(namespace, 3, ["Hearts", "cold water", "heart", "zebra"]),
        _graph(namespace, 4, ["Albert Einstein", "zebra"], {"Albert Einstein": ["Einstein"]}),
        _graph(namespace, 5, ["Einstein", "heart attack"]),
    ]


def _linker(store: GraphStore, concepts: Any = None) -> Linker:
    return Linker(concepts or store.concepts, store.namespace, Angles(), lambda: NOW)


def _fill(store: GraphStore, *, but: int = 0) -> None:
    store.save([graph for number, graph in enumerate(_graphs(store.namespace), 1) if number != but], PLAIN)


def _state(store: GraphStore) -> dict[str, Any]:
    """Return what was linked, by name instead of by id, so that namespaces can be compared."""
    concepts_by_id = {item.id: item for item in store.concepts.read()}
    members: dict[str, set[str]] = {}
    for item in concepts_by_id.values():
        members.setdefault(concepts_by_id[item.cluster].id, set()).add(item.name)
    return {
        "concepts": {item.name: (item.key, item.entities, sorted(members[item.cluster])) for item in concepts_by_id.values()},
        "merges": sorted(_fields_of(merge) for merge in store.concepts.same_as()),
        "links": store.counts()["REFERS_TO"],
        "vectors": sum(item.vector is not None for item in store.concepts.read(list(concepts_by_id))),
        "waiting": store.concepts.waiting(9),
    }


def _expected_state(namespace: str, *, but: int = 0) -> dict[str, Any]:
    """Return the state of a store in memory that was filled and linked at once."""
    with DictStore(namespace=namespace) as store:
        store.migrate()
        _fill(store, but=but)
        _linker(store).run()
        return _state(store)


def _fields_of(item: SameAs) -> tuple[Any, ...]:
    return (*sorted((item.left_name, item.right_name)), item.method, round(item.score, 3), item.undone_at)


def _merge_of(store: GraphStore, text: str) -> SameAs:
    (judgement,) = store.concepts.same_as(text=text)
    return judgement


def _alone(store: GraphStore, text: str) -> bool:
    """Whether the two concepts of a judgement have clusters of their own."""
    same = _merge_of(store, text)
    one, other = store.concepts.read([same.left, same.right])
    return one.cluster != other.cluster


class ConceptContract(Contract):
    """Everything of `ConceptStore`, mostly by the run that uses it."""

    def test_entities_of_one_normal_name_refer_to_one_concept(self, store: GraphStore) -> None:
        _fill(store)
        report = _linker(store).run()
        assert (report.entities, report.concepts) == (ENTITIES, CONCEPTS)
        state = _state(store)
        assert state["concepts"]["heart"][:2] == ("heart", 3), "as most entities write it"
        assert state["concepts"]["zebra"][1:] == (2, ["zebra"])
        assert (state["links"], state["vectors"], state["waiting"]) == (ENTITIES, CONCEPTS, Waiting())
        assert store.counts()["Concept"] == CONCEPTS
        assert store.verify() == []

    def test_merges_carry_their_method_and_score(self, store: GraphStore) -> None:
        _fill(store)
        report = _linker(store).run()
        assert _state(store)["merges"] == [
            ("DNA", "deoxyribonucleic acid", "alias", 1.0, ""),
            ("Hearts", "heart", "name", 1.0, ""),
            ("cardiac infarction", "heart attack", "embedding", 0.996, ""),
        ], "hot is not cold however near, and a family name alone is nobody outside its query"
        assert report.merged == {"alias": 1, "name": 1, "embedding": 1}
        assert store.counts()["SAME_AS"] == len(report.merged)
        concepts_by_id = {item.id: item for item in store.concepts.read()}
        clusters = {item.name: concepts_by_id[item.cluster].name for item in concepts_by_id.values()}
        assert clusters["Hearts"] == clusters["heart"] == "heart"
        assert clusters["cardiac infarction"] == "heart attack", "the one with more entities stands for both"
        assert clusters["hot water"] == "hot water"

    def test_a_second_run_with_nothing_new_writes_nothing(self, store: GraphStore) -> None:
        _fill(store)
        _linker(store).run()
        before = records_of(store)
        assert _linker(store, _Failing(store.concepts, 0)).run() == LinkReport()
        assert records_of(store) == before

    def test_interrupted_again_and_again_it_comes_to_the_same(self, store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
        expected_state = _expected_state(store.namespace)
        monkeypatch.setattr(linking, "SOURCES_AT_ONCE", 2)
        monkeypatch.setattr(linking, "LINKS_AT_ONCE", 4)
        monkeypatch.setattr(linking, "TEXTS_AT_ONCE", 5)
        monkeypatch.setattr(linking, "JUDGED_AT_ONCE", 4)
        _fill(store)
        for run in range(RUNS):
            # Each is killed before its second, third or fourth write.
            try:
                _linker(store, _Failing(store.concepts, 1 + run % 3)).run()
                break
            except _Interrupted:
                continue
        assert run < RUNS - 1, "every run must come further than the one before"
        assert _state(store) == expected_state
        assert store.verify() == []

    def test_linked_query_by_query_it_comes_to_the_same(self, store: GraphStore) -> None:
        for number in (4, 2, 0, 3, 1):
            store.save([_graphs(store.namespace)[number]], PLAIN)
            _linker(store).run()
        assert _state(store) == _expected_state(store.namespace)

    def test_what_is_undone_stays_undone_until_it_is_redone(self, store: GraphStore) -> None:
        _fill(store)
        linker = _linker(store)
        linker.run()
        before = records_of(store)
        linker.undo(_merge_of(store, "infarction"))
        assert _merge_of(store, "infarction").undone_at == NOW
        assert _alone(store, "infarction")
        assert linker.run().merged == {}
        store.save([_graph(store.namespace, 6, ["heart attack", "cardiac infarction"])], PLAIN)
        linker.run()
        assert _alone(store, "infarction")
        store.erase([_graph(store.namespace, 6, ["heart attack", "cardiac infarction"]).query.id])
        linker.run()
        linker.redo(_merge_of(store, "infarction"))
        assert not _alone(store, "infarction")
        assert records_of(store) == before

    def test_an_erased_query_leaves_nothing_that_never_having_it_would_not(self, store: GraphStore) -> None:
        _fill(store)
        _linker(store).run()
        for number, graph in enumerate(_graphs(store.namespace), 1):
            never = _expected_state(store.namespace, but=number)
            store.erase([graph.query.id])
            assert store.verify() == []
            assert {item.name: item.entities for item in store.concepts.read()} == {
                name: entities for name, (_, entities, _) in never["concepts"].items()
            }
            assert store.counts()["REFERS_TO"] == never["links"]
            _linker(store).run()
            assert _state(store) == never
            store.save([graph], PLAIN)
            _linker(store).run()
        assert _state(store) == _expected_state(store.namespace)

    def test_when_all_is_erased_no_concept_is_left(self, store: GraphStore) -> None:
        _fill(store)
        _linker(store).run()
        for graph in _graphs(store.namespace):
            store.erase([graph.query.id])
        assert records_of(store) == []
        assert {name: number for name, number in store.counts().items() if number} == {}

    def test_a_replaced_subgraph_is_linked_anew(self, store: GraphStore) -> None:
        _fill(store)
        _linker(store).run()
        store.save([_graph(store.namespace, 3, ["heart", "horse"])], PLAIN, replace=True)
        assert store.verify() == []
        assert "zebra" in {item.name for item in store.concepts.read()}, "another query has one"
        report = _linker(store).run()
        assert (report.entities, report.evidence_vectors) == (2, 1)
        assert _state(store)["concepts"]["heart"][:2] == ("heart", 3)
        assert "Hearts" not in str(_state(store))

    @pytest.mark.parametrize("what", ["the source", "another source"])
    def test_erasing_takes_along_what_a_replaced_edition_left(self, store: GraphStore, what: str) -> None:
        one, other, third = (
            _graph(store.namespace, n, [name, "heart"]) for n, name in enumerate(("secret clinic", "zebra", "DNA"))
        )
        store.save([one, other, third], PLAIN)
        _linker(store).run()
        store.save([one], PLAIN, replace=True)
        erased = store.erase([(one if what == "the source" else other).source_id])
        assert erased.counts["Concept"] == (2 if what == "another source" else 1)
        assert "secret clinic" not in {item.name for item in store.concepts.read()}, "`link` makes it again where it is stored"
        assert store.verify() == []
        _linker(store).run()
        waiting_names = {"another source": {"secret clinic"}, "the source": {"zebra"}}[what]
        assert {name: number for name, (_, number, _) in _state(store)["concepts"].items()} == {
            **dict.fromkeys(waiting_names | {"DNA"}, 1),
            "heart": 2,
        }
        assert store.verify() == []

    def test_what_is_undone_outlives_a_refresh_and_the_erasure_of_others(self, store: GraphStore) -> None:
        _fill(store)
        linker = _linker(store)
        linker.run()
        linker.undo(_merge_of(store, "infarction"))
        erased_graph = _graph(store.namespace, 6, ["secret clinic", "cells"])
        store.save([erased_graph], PLAIN)
        linker.run()
        expected_names = _state(store)["concepts"].keys() - {"secret clinic", "cells"}
        store.save([_graphs(store.namespace)[1]], PLAIN, replace=True)
        store.erase([erased_graph.source_id])
        linker.run()
        assert _state(store)["concepts"].keys() == expected_names
        assert _merge_of(store, "infarction").undone_at == NOW
        assert _alone(store, "infarction")
        assert store.verify() == []

    def test_a_concept_is_called_as_most_of_its_entities_are(self, store: GraphStore) -> None:
        names = ("ZEBRA", "zebra", "zebra")
        for number, name in enumerate(names):
            store.save([_graph(store.namespace, number, [name, "heart"])], PLAIN)
            _linker(store).run()
        assert _state(store)["concepts"]["zebra"] == ("zebra", 3, ["zebra"])
        assert _state(store)["vectors"] == len({"zebra", "heart"}), "the vector is that of the name"

    def test_an_alias_that_means_several_things_joins_none(self, store: GraphStore) -> None:
        names = ["Connecticut", "computed tomography", "cone trial"]
        graphs = [_graph(store.namespace, number, [name, "heart"], {name: ["CTX"]}) for number, name in enumerate(names)]
        store.save([graphs[1], _graph(store.namespace, 7, ["CTX", "zebra"])], PLAIN)
        _linker(store).run()
        assert [_fields_of(item)[:3] for item in store.concepts.same_as(text="ctx")] == [
            ("CTX", "computed tomography", "alias")
        ]
        store.save([graphs[0], graphs[2]], PLAIN)
        assert _linker(store).run().withdrawn == 1
        assert store.concepts.same_as(text="ctx") == []

    def test_the_nearest_are_of_this_namespace_and_near_enough(self, open_store: OpenStore, namespace: str) -> None:
        with open_store(f"{namespace}-other") as store:
            _fill(store)
            _linker(store).run()
        with open_store(namespace) as store:
            _fill(store)
            _linker(store).run()
            names = {item.id: item.name for item in store.concepts.read()}
            vectors = Angles().embed(["heart attack", "zebra"])
            rows = np.vstack([vectors, np.zeros((1, WIDTH), np.float32)])
            near = list(store.concepts.nearest_concepts(rows, 3, floor=0.5))
            assert [[names[id_] for id_, _ in pairs] for pairs in near] == [
                ["heart attack", "cardiac infarction", "hot water"],
                ["zebra"],
                [],
            ]
            assert near[0][1][1] == pytest.approx(np.cos(np.radians(5)), abs=1e-5)
            assert len(next(store.concepts.nearest_concepts(vectors, 20))) == len(names)
            assert list(store.concepts.nearest_concepts(vectors, 0)) == [[], []]

    def test_a_name_whose_vector_is_all_zeros_is_near_to_nothing(self, store: GraphStore) -> None:
        class SilentOnArrows(Angles):
            def embed(self, texts: Sequence[str]) -> Vectors:
                return super().embed(texts) * np.asarray([[text != "←→"] for text in texts], np.float32)

        linker = Linker(store.concepts, store.namespace, SilentOnArrows(), lambda: NOW)
        store.save([_graph(store.namespace, 1, ["←→", "heart"]), _graph(store.namespace, 2, ["←→", "heart attack"])], PLAIN)
        assert linker.run().concepts == len({"←→", "heart", "heart attack"})
        assert {item.name for item in store.concepts.read()} == {"←→", "heart", "heart attack"}
        assert linker.run().judged == 0

    def test_merges_are_found_by_name_and_by_id(self, store: GraphStore) -> None:
        _fill(store)
        _linker(store).run()
        merge = _merge_of(store, "DEOXY")
        assert store.concepts.same_as(prefix=merge.id[:10]) == [merge]
        assert store.concepts.same_as(prefix="no such") == []
        assert store.concepts.same_as(limit=2) == store.concepts.same_as()[:2]

    def test_what_is_not_there_is_left_out(self, store: GraphStore) -> None:
        _fill(store)
        _linker(store).run()
        before = records_of(store)
        orphan = Concept(concept_id(store.namespace, "gone"), "gone", "gone", vector=Angles().embed(["gone"])[0].tolist())
        there = next(iter(store.concepts.read())).id
        first_id, right = sorted((orphan.id, there))
        changes = (
            Changes(concepts=[orphan], links=[("no such entity", orphan.id)]),
            Changes(made=[SameAs("0" * 32, first_id, right, "name", 1.0, NOW)]),
            Changes(named=[orphan], clusters=[(orphan, orphan.id)], recounted=[orphan.id]),
            Changes(evidence={orphan.id: orphan.vector or ()}, sources=[orphan.id]),
        )
        assert [store.concepts.write(one) for one in changes] == [Written()] * len(changes)
        assert store.concepts.read([orphan.id]) == []
        assert records_of(store) == before
        assert store.concepts.waiting(9) == Waiting()

    def test_concepts_want_a_migrated_store(self, unmigrated: GraphStore) -> None:
        with pytest.raises(StoreError):
            unmigrated.concepts.waiting(1)
