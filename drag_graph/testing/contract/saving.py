"""Writing whole subgraphs, and reading, listing and counting them."""

import math
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from drag_graph.errors import StoreError
from drag_graph.graph.paging import settings_hashes
from drag_graph.manage.short_ids import newest_sources
from drag_graph.model import Aggregation, Subgraph
from drag_graph.ports.graph_search import Restriction
from drag_graph.ports.graph_store import GraphStore, SaveOutcome, SourceFilter
from drag_graph.testing.builders import HOSTILE_NAMES, Spec, expected, make_subgraph, random_subgraphs
from drag_graph.testing.contract.base import Contract, OpenStore, assert_same, records_of
from drag_graph.testing.contract.schema import LABELS, TYPES

PLAIN = Aggregation()
THREADS = 4
MEGABYTE = 1_000_000

Flaw = Callable[[Subgraph], Subgraph]


def _without_evidence(graph: Subgraph) -> Subgraph:
    return _with_triple(graph, evidence_id="missing")


def _without_call(graph: Subgraph) -> Subgraph:
    return _with_triple(graph, call_ids=("missing",))


def _without_subject(graph: Subgraph) -> Subgraph:
    return _with_triple(graph, subject_id="missing")


def _without_object(graph: Subgraph) -> Subgraph:
    return _with_triple(graph, object_id="missing")


def _unmade_evidence(graph: Subgraph) -> Subgraph:
    last = graph.evidence[-1].model_copy(update={"call_ids": ("missing",)})
    return graph.model_copy(update={"evidence": (*graph.evidence[:-1], last)})


def _repeated(part: str) -> Flaw:
    def flaw(graph: Subgraph) -> Subgraph:
        first, second, *more_parts = getattr(graph, part)
        return graph.model_copy(update={part: (first, second, *more_parts, second.model_copy(update={"id": first.id}))})

    flaw.__name__ = f"repeated_{part}"
    return flaw


def _of_another_query(part: str) -> Flaw:
    def flaw(graph: Subgraph) -> Subgraph:
        first, *more_parts = getattr(graph, part)
        return graph.model_copy(update={part: (first.model_copy(update={"source_id": "other"}), *more_parts)})

    flaw.__name__ = f"{part}_of_another_query"
    return flaw


def _with_a_number_that_is_none(graph: Subgraph) -> Subgraph:
    return graph.model_copy(update={"source": graph.query.model_copy(update={"metadata": {"deep": [math.nan]}})})


def _elsewhere(graph: Subgraph) -> Subgraph:
    return graph.model_copy(update={"source": graph.query.model_copy(update={"namespace": "somewhere-else"})})


def _with_triple(graph: Subgraph, **change: Any) -> Subgraph:
    last = graph.triples[-1].model_copy(update=change)
    return graph.model_copy(update={"triples": (*graph.triples[:-1], last)})


PARTS = ("calls", "evidence", "entities", "triples")
FLAWED = (
    *(_without_evidence, _without_call, _without_subject, _without_object, _unmade_evidence, _elsewhere),
    *(_repeated(part) for part in PARTS),
    *(_of_another_query(part) for part in PARTS),
    _with_a_number_that_is_none,
)


class SavingContract(Contract):
    """`save`, `read`, `sources`, `counts`."""

    def test_a_saved_subgraph_is_read_back_whole(self, store: GraphStore, namespace: str) -> None:
        store.embedder(("of-tests", 4))
        graph = make_subgraph(namespace=namespace, embedding=(0.5, -0.5, 0.5, 0.5), extra_entities=["unlinked"])
        assert store.save([graph], PLAIN) == ["created"]
        assert_same(store.read([graph.query.id]), [expected(graph, PLAIN)])

    def test_what_is_read_is_in_order_whatever_the_order_written(self, store: GraphStore, namespace: str) -> None:
        names = ["\uff21 wide", "\U0001f9ea tube", "zebra", "Zebra", "ähre", "10", "9"]
        triples: list[Spec] = [(name, "is", names[index - 1], 0.9, index % 4) for index, name in enumerate(names)]
        graph = make_subgraph(namespace=namespace, triples=triples, ranks=[3, 1, 5, 0, 2, 6, 4])
        chance = random.Random(5)  # noqa: S311 - a shuffle
        fields = ("evidence", "entities", "triples", "calls")
        shuffled = graph.model_copy(
            update={name: tuple(chance.sample(getattr(graph, name), len(getattr(graph, name)))) for name in fields}
        )
        store.save([shuffled], PLAIN)
        (subgraph,) = store.read([graph.query.id])
        assert_same(subgraph, expected(graph, PLAIN))
        assert [item.position for item in subgraph.evidence] == [0, 1, 2, 3]
        assert [item.name for item in subgraph.entities] == sorted(names)
        assert [item.rank for item in subgraph.triples] == list(range(7))
        assert [edge.rank for edge in subgraph.edges] == list(range(len(subgraph.edges)))
        assert [item.id for item in subgraph.calls] == sorted(item.id for item in graph.calls)

    def test_hostile_text_is_stored_as_it_is(self, store: GraphStore, namespace: str) -> None:
        bystander = make_subgraph("bystander", namespace=namespace)
        names = HOSTILE_NAMES
        triples: list[Spec] = [(name, names[index - 2], names[index - 1], 0.9, index % 4) for index, name in enumerate(names)]
        graph = make_subgraph("hostile", namespace=namespace, triples=triples, evidence=names, dropped=())
        query = graph.query.model_copy(update={"options": tuple(names), "metadata": {name: name for name in names}})
        graph = graph.model_copy(update={"source": query})
        loose = Aggregation(top_k=100, threshold=0.0, strategy="predicate")
        store.save([bystander, graph], loose)
        assert_same(store.read([graph.query.id, bystander.query.id]), [expected(graph, loose), expected(bystander, loose)])
        assert store.sources(SourceFilter(prefix="' OR 1=1 //")) == []
        assert store.sources(SourceFilter(prefix="%")) == []
        assert store.verify() == []

    def test_random_subgraphs_are_read_back_in_the_order_asked_for(self, store: GraphStore, namespace: str) -> None:
        graphs = random_subgraphs(25, namespace=namespace, seed=11)
        assert store.save(graphs[:20], PLAIN) == ["created"] * 20
        assert store.save(graphs[20:], PLAIN) == ["created"] * 5
        wanted = [expected(graph, PLAIN) for graph in reversed(graphs)]
        ids = [graph.query.id for graph in reversed(graphs)]
        assert_same(store.read(["missing", *ids, "0" * 32]), wanted)

    def test_a_subgraph_with_nothing_in_it_is_evidence_only(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace, triples=(), evidence=0, dropped=())
        graph = graph.model_copy(update={"calls": (), "source": graph.query.model_copy(update={"options": (), "metadata": {}})})
        store.save([graph], PLAIN)
        (subgraph,) = store.read([graph.query.id])
        assert subgraph.graph == "evidence_only"
        assert_same(subgraph, expected(graph, PLAIN))

    def test_the_right_answer_is_not_stored(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace)
        graph = graph.model_copy(update={"source": graph.query.model_copy(update={"gold": "the very secret answer"})})
        store.save([graph], PLAIN)
        assert store.read([graph.query.id])[0].query.gold is None
        assert "the very secret answer" not in str(list(store.records()))

    def test_saving_again_under_the_same_settings_changes_nothing(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace)
        store.save([graph], PLAIN)
        again = make_subgraph(namespace=namespace, triples=[("other", "than", "before", 1.0, 0)])
        before = records_of(store)
        assert store.save([graph], PLAIN) == ["unchanged"]
        assert store.save([again], PLAIN) == ["unchanged"]
        assert records_of(store) == before

    def test_a_subgraph_twice_in_a_batch_is_written_once(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace)
        assert store.save([graph, graph], PLAIN) == ["created", "unchanged"]
        assert_same(store.read([graph.query.id]), [expected(graph, PLAIN)])
        assert store.verify() == []

    def test_other_settings_replace_the_subgraph_and_leave_nothing_of_it(self, store: GraphStore, namespace: str) -> None:
        old = make_subgraph(namespace=namespace)
        other = make_subgraph("other", namespace=namespace)
        new = make_subgraph(
            namespace=namespace,
            triples=[("mitosis", "is_a", "phase", 0.9, 0), ("phase", "has", "duration", 0.8, 1)],
            evidence=2,
            dropped=(),
            settings_hash="settings-2",
            blind=True,
        )
        fresh = make_subgraph("fresh", namespace=namespace)
        store.save([old, other], PLAIN)
        outcomes: list[SaveOutcome] = ["unchanged", "replaced", "created"]
        assert store.save([other, new, fresh], PLAIN) == outcomes
        wanted = [expected(graph, PLAIN) for graph in (new, other, fresh)]
        assert_same(store.read([graph.query.id for graph in (new, other, fresh)]), wanted)
        counts = store.counts()
        sizes = {"Query": 3, "Evidence": 2 + 4 + 4, "TRIPLE": 2 + 5 + 5, "TeacherCall": 2 + 2 + 2}
        assert {name: counts[name] for name in sizes} == sizes
        assert settings_hashes(store, [new.query.id]) == {new.query.id: "settings-2"}
        assert store.verify() == []

    @pytest.mark.parametrize("flaw", FLAWED, ids=lambda flaw: flaw.__name__.strip("_"))
    def test_one_bad_subgraph_and_nothing_is_written(self, store: GraphStore, namespace: str, flaw: Flaw) -> None:
        there = make_subgraph("there", namespace=namespace)
        store.save([there], PLAIN)
        before = records_of(store)
        replacing = make_subgraph("there", namespace=namespace, settings_hash="settings-2", evidence=3, dropped=())
        good = [make_subgraph(number, namespace=namespace) for number in (1, 2)]
        bad = flaw(make_subgraph("bad", namespace=namespace))
        with pytest.raises(StoreError):
            store.save([good[0], replacing, bad, good[1]], PLAIN)
        assert records_of(store) == before
        with pytest.raises(StoreError):
            store.save([flaw(replacing)], PLAIN)
        assert records_of(store) == before
        assert store.save([*good, replacing], PLAIN) == ["created", "created", "replaced"]

    @pytest.mark.parametrize("part", PARTS)
    def test_an_id_that_two_subgraphs_of_a_batch_share_is_refused(self, store: GraphStore, namespace: str, part: str) -> None:
        one, two = (make_subgraph(number, namespace=namespace) for number in (1, 2))
        existing_id = getattr(one, part)[0].id
        shared = [item.model_copy(update={"id": existing_id}) if n == 0 else item for n, item in enumerate(getattr(two, part))]
        loose = {"evidence": (), "triples": ()} if part in ("calls", "evidence", "entities") else {}
        with pytest.raises(StoreError, match="twice"):
            store.save([one, two.model_copy(update={**loose, part: tuple(shared)})], PLAIN)
        assert list(store.records()) == []

    def test_every_subgraph_of_a_batch_is_looked_at(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace)
        for order in ([graph, _without_evidence(graph)], [_without_evidence(graph), graph]):
            with pytest.raises(StoreError):
                store.save(order, PLAIN)
        assert list(store.records()) == []

    def test_what_was_saved_is_there_after_reopening(self, open_store: OpenStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace)
        with open_store(namespace) as store:
            store.save([graph], PLAIN)
        store.close()
        with open_store(namespace) as store:
            assert_same(store.read([graph.query.id]), [expected(graph, PLAIN)])
            assert store.save([graph], PLAIN) == ["unchanged"]

    def test_a_megabyte_of_evidence(self, store: GraphStore, namespace: str) -> None:
        text = ("ü漢 '\"\\$ " * (MEGABYTE // 8))[:MEGABYTE].strip()
        graph = make_subgraph(namespace=namespace, evidence=[text, "short", "too"], dropped=())
        store.save([graph], PLAIN)
        assert_same(store.read([graph.query.id]), [expected(graph, PLAIN)])

    def test_overlapping_writers_leave_no_duplicates(self, store: GraphStore, namespace: str) -> None:
        graphs = random_subgraphs(12, namespace=namespace, seed=3)

        def write(number: int) -> list[SaveOutcome]:
            order = random.Random(number).sample(graphs, len(graphs))  # noqa: S311 - a shuffle
            outcomes: dict[str, SaveOutcome] = {}
            for start in range(0, len(order), 4):
                batch = order[start : start + 4]
                outcomes |= dict(zip([graph.query.id for graph in batch], store.save(batch, PLAIN), strict=True))
            return [outcomes[graph.query.id] for graph in graphs]

        with ThreadPoolExecutor(THREADS) as pool:
            rounds = list(pool.map(write, range(THREADS)))
        for outcomes in zip(*rounds, strict=True):
            assert sorted(outcomes) == ["created", *["unchanged"] * (THREADS - 1)]
        assert_same(store.read([graph.query.id for graph in graphs]), [expected(graph, PLAIN) for graph in graphs])
        assert store.counts()["Query"] == len(graphs)
        assert store.counts()["TRIPLE"] == sum(len(graph.triples) for graph in graphs)
        assert store.verify() == []

    def test_writers_of_other_settings_leave_one_whole_subgraph(self, store: GraphStore, namespace: str) -> None:
        versions = [
            make_subgraph(namespace=namespace, settings_hash=f"version-{n}", evidence=n, dropped=(), triples=_chain(n))
            for n in range(1, 5)
        ]
        store.save([make_subgraph(namespace=namespace)], PLAIN)
        with ThreadPoolExecutor(THREADS) as pool:
            outcomes = list(pool.map(lambda graph: store.save([graph], PLAIN), versions))
        assert outcomes == [["replaced"]] * THREADS
        (subgraph,) = store.read([versions[0].query.id])
        (last,) = [graph for graph in versions if graph.settings_hash == subgraph.settings_hash]
        assert_same(subgraph, expected(last, PLAIN))
        counts = store.counts()
        sizes = {"Query": 1, "Evidence": len(last.evidence), "TRIPLE": len(last.triples), "TeacherCall": 2}
        assert {name: counts[name] for name in sizes} == sizes
        assert store.verify() == []

    def test_settings_hashes_are_of_stored_queries_only(self, store: GraphStore, namespace: str) -> None:
        one = make_subgraph(1, namespace=namespace, settings_hash="a")
        two = make_subgraph(2, namespace=namespace, settings_hash="b")
        store.save([one, two], PLAIN)
        assert settings_hashes(store, [two.query.id, "missing"]) == {two.query.id: "b"}
        assert settings_hashes(store, [one.query.id, two.query.id]) == {one.query.id: "a", two.query.id: "b"}

    def test_listing_is_the_newest_first_in_pages(self, store: GraphStore, namespace: str) -> None:
        assert store.creation_times() == {}
        assert newest_sources(store, 9) == ([], 0, [])
        graphs = [
            expected(graph.model_copy(update={"created_at": f"2026-01-0{1 + number % 3}T03:04:05+00:00"}), PLAIN)
            for number, graph in enumerate(random_subgraphs(7, namespace=namespace, seed=4))
        ]
        store.save(graphs, PLAIN)
        assert store.creation_times() == {graph.source_id: graph.created_at for graph in graphs}
        rows = sorted(graphs, key=lambda graph: graph.source_id)
        rows.sort(key=lambda graph: graph.created_at, reverse=True)
        assert_same(newest_sources(store, 9), (rows, 7, []))
        assert_same(newest_sources(store, 3), (rows[:3], 7, []))
        assert_same(newest_sources(store, 3, 5), (rows[5:], 7, []))
        assert newest_sources(store, 3, 7) == ([], 7, [])
        title, day = rows[0].title, rows[0].created_at[:10]
        assert_same(newest_sources(store, 9, only=Restriction(since=day)), (rows[:2], 2, []))
        found = [row for row in rows if title.casefold() in row.title.casefold() and row.created_at >= day]
        only = Restriction(since=day)
        assert_same(newest_sources(store, 9, name=title.upper(), state="query", only=only), (found, len(found), []))
        assert newest_sources(store, 9, state="document") == ([], 0, [])

    def test_the_id_of_an_input_line_finds_its_queries(self, store: GraphStore, namespace: str) -> None:
        graphs = random_subgraphs(3, namespace=namespace, seed=6)
        named = [
            graph.model_copy(update={"source": graph.query.model_copy(update={"input_id": name})})
            for graph, name in zip(graphs, ("q-1", "q-1", "q-10"), strict=True)
        ]
        store.save(named, PLAIN)
        wanted = sorted(graph.query.id for graph in named[:2])
        assert [item.id for item in store.sources(SourceFilter(input_id="q-1"))] == wanted
        assert [item.id for item in store.sources(SourceFilter(input_id="q-1"), limit=1)] == wanted[:1]
        assert store.sources(SourceFilter(input_id="q")) == []
        assert store.sources(SourceFilter(input_id="q-1", prefix="no such")) == []

    def test_a_short_id_finds_what_begins_with_it(self, store: GraphStore, namespace: str) -> None:
        graphs = random_subgraphs(20, namespace=namespace, seed=6)
        store.save(graphs, PLAIN)
        ids = sorted(graph.query.id for graph in graphs)

        def begin(prefix: str, after: str = "", limit: int = 100) -> list[str]:
            return [item.id for item in store.sources(SourceFilter(prefix=prefix), after=after, limit=limit)]

        assert begin(ids[7]) == [ids[7]]
        for prefix in (ids[7][:2], ids[7][0], ""):
            same = [id_ for id_ in ids if id_.startswith(prefix)]
            assert (begin(prefix), begin(prefix, limit=1), begin(prefix, after=same[0])) == (same, same[:1], same[1:])
        assert begin("", limit=4) == ids[:4]
        assert begin(ids[7][1:]) == []
        assert store.answers(prefix=ids[7][0]) == []

    def test_counts_name_every_label_and_type(self, store: GraphStore, namespace: str) -> None:
        empty = store.counts()
        assert {name: empty.get(name) for name in (*LABELS, *TYPES)} == dict.fromkeys((*LABELS, *TYPES), 0)
        graph = expected(make_subgraph(namespace=namespace), PLAIN)
        store.save([graph], PLAIN)
        counts = store.counts()
        nodes = {"Query": 1, "Evidence": 4, "Entity": 4, "TeacherCall": 2, "Answer": 0, "Concept": 0}
        links = {"HAS_EVIDENCE": 4, "MENTIONS": 4, "GENERATED_BY": 4, "TRIPLE": 5, "RELATED": len(graph.edges)}
        assert {name: counts[name] for name in (*nodes, *links)} == {**nodes, **links}


def _chain(length: int) -> list[Spec]:
    return [(f"link {n}", "holds", f"link {n + 1}", 0.9, n) for n in range(length)]
