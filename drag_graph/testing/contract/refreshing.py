"""Refreshing: finding the queries whose subgraphs are stale, and replacing those whatever their settings."""

import random
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from drag_graph.errors import StoreError
from drag_graph.model import Aggregation, Answer, LineKind, Subgraph
from drag_graph.ports.graph_store import GraphStore, SourceFilter, StoredSource
from drag_graph.testing.builders import Spec, expected, make_answer, make_subgraph, stored_source_of
from drag_graph.testing.contract.base import Contract, OpenStore, assert_same, records_of, walk
from drag_graph.testing.finding import read_answer

PLAIN = Aggregation()
NOW = "2026-05-01T00:00:00+00:00"
BEFORE = "2026-04-30T23:59:59+00:00"
LATER = "2026-05-01T00:00:01+00:00"
EXPIRED, FAILED = SourceFilter(expired_before=NOW), SourceFilter(has_failed=True)
ROUNDS = 12
READERS = 3


def _edition(number: int, namespace: str, *, query: int | str = 0, size: int = 3) -> Subgraph:
    """Return an edition of one query's subgraph under the same settings: all that hangs on it names its number."""
    triples: list[Spec] = [(f"thing {number}/{n}", "precedes", f"thing {number}/{n + 1}", 0.9, n) for n in range(size)]
    texts = [f"Statement {n} of edition {number}." for n in range(size)]
    graph = make_subgraph(query, namespace=namespace, triples=triples, evidence=texts, dropped=())
    return _dated(graph, created_at=f"2026-03-01T00:00:{number:02}+00:00")


def _dated(graph: Subgraph, **times: str) -> Subgraph:
    return graph.model_copy(update=times)


def _ids(found: list[StoredSource]) -> list[str]:
    return [item.id for item in found]


def _shown_all(graph: Subgraph, namespace: str, **fields: Any) -> Answer:
    """Return a wrong answer that was shown all evidence and edges of a stored subgraph."""
    refs: list[tuple[LineKind, str]] = [("evidence", item.id) for item in graph.kept_evidence]
    refs += [("edge", edge.id) for edge in graph.usable_edges]
    return make_answer(1, [graph], namespace=namespace, refs=refs, label="B", correct=False, **fields)


class RefreshContract(Contract):
    """`sources` of which the subgraph is stale, and `save` with `replace`."""

    def test_a_subgraph_expires_when_its_time_is_over(self, store: GraphStore, namespace: str) -> None:
        times = ("", BEFORE, NOW, LATER, "2025-12-31T23:59:59+00:00")
        graphs = [_dated(make_subgraph(n, namespace=namespace), expires_at=time) for n, time in enumerate(times)]
        store.save(graphs, PLAIN)
        wanted = sorted((graphs[1], graphs[4]), key=lambda graph: graph.query.id)
        rows = [stored_source_of(graph) for graph in wanted]
        assert store.sources(EXPIRED) == rows
        assert store.sources(SourceFilter(expired_before="2025-01-01T00:00:00+00:00")) == []
        assert store.sources(FAILED) == []

    def test_a_subgraph_failed_when_an_answer_from_it_was_wrong(self, store: GraphStore, namespace: str) -> None:
        graphs = [_dated(make_subgraph(n, namespace=namespace), created_at=NOW) for n in range(8)]
        store.save(graphs, PLAIN)
        wrong: dict[str, Any] = {"label": "B", "correct": False}
        answers = [
            make_answer("at once", [graphs[0]], namespace=namespace, created_at=NOW, **wrong),
            make_answer("later", [graphs[1]], namespace=namespace, created_at=LATER, **wrong),
            make_answer("again", [graphs[1]], namespace=namespace, created_at=LATER, **wrong, mode="graph"),
            make_answer("before it was made", [graphs[2]], namespace=namespace, created_at=BEFORE, **wrong),
            make_answer("right", [graphs[3]], namespace=namespace, created_at=LATER),
            make_answer("not judged", [graphs[4]], namespace=namespace, created_at=LATER, gold=None, correct=None),
            make_answer("shown nothing", [graphs[5]], namespace=namespace, created_at=LATER, **wrong, mode="none"),
            make_answer("of two", [graphs[6], graphs[7]], namespace=namespace, created_at=LATER, **wrong),
        ]
        store.save_answers(answers)
        wanted = sorted((graphs[n] for n in (0, 1, 6, 7)), key=lambda graph: graph.query.id)
        rows = [stored_source_of(graph) for graph in wanted]
        assert store.sources(FAILED) == rows
        assert store.sources(EXPIRED) == [stored_source_of(graph) for graph in sorted(graphs, key=lambda graph: graph.query.id)]

    @pytest.mark.parametrize("wanted", [EXPIRED, FAILED, SourceFilter()])
    def test_sources_come_in_pages_by_id(self, store: GraphStore, namespace: str, wanted: SourceFilter) -> None:
        graphs = [make_subgraph(n, namespace=namespace) for n in range(7)]
        store.save(graphs, PLAIN)
        store.save_answers([_shown_all(expected(graph, PLAIN), namespace, created_at=LATER) for graph in graphs])
        ids = sorted(graph.query.id for graph in graphs)
        assert _ids(store.sources(wanted)) == ids
        assert _ids(store.sources(wanted, limit=3)) == ids[:3]
        assert _ids(store.sources(wanted, after=ids[2], limit=3)) == ids[3:6]
        assert _ids(store.sources(wanted, after=ids[5], limit=3)) == ids[6:]
        assert store.sources(wanted, after=ids[6]) == []
        assert store.sources(wanted, limit=0) == []

    def test_stale_queries_of_another_namespace_are_not_seen(self, open_store: OpenStore, namespace: str) -> None:
        with open_store(f"{namespace}-neighbour") as store:
            graph = make_subgraph(namespace=store.namespace)
            store.save([graph], PLAIN)
            store.save_answers([_shown_all(expected(graph, PLAIN), store.namespace, created_at=LATER)])
        with open_store(namespace) as store:
            assert store.sources(EXPIRED) == store.sources(FAILED) == []

    def test_another_edition_replaces_the_subgraph_of_the_same_settings(self, store: GraphStore, namespace: str) -> None:
        old, new, other = _edition(1, namespace), _edition(2, namespace, size=2), make_subgraph("other", namespace=namespace)
        store.save([old, other], PLAIN)
        assert store.save([new], PLAIN) == ["unchanged"]
        assert store.save([new], PLAIN, replace=True) == ["replaced"]
        assert_same(store.read([old.query.id, other.query.id]), [expected(new, PLAIN), expected(other, PLAIN)])
        counts = store.counts()
        sizes = {"Query": 2, "Evidence": 2 + 4, "Entity": 3 + 4, "TRIPLE": 2 + 5, "TeacherCall": 4}
        assert {name: counts[name] for name in sizes} == sizes
        assert store.save([new], PLAIN) == ["unchanged"]
        assert store.verify() == []

    def test_the_same_content_again_only_renews_its_times(self, store: GraphStore, namespace: str) -> None:
        graph = expected(make_subgraph(namespace=namespace), PLAIN)
        store.save([graph], PLAIN)
        answer = _shown_all(graph, namespace)
        store.save_answers([answer])
        before = store.counts()
        again = _dated(graph, created_at=NOW, expires_at=LATER)
        assert store.save([again], PLAIN, replace=True) == ["replaced"]
        assert_same(store.read([graph.query.id]), [again])
        assert store.counts() == before
        assert walk(store, answer.id).keys() == {(line.kind, line.ref) for line in answer.lines}
        assert store.sources(FAILED) == store.sources(EXPIRED) == []

    def test_an_old_answer_keeps_its_audit_and_does_not_count_again(self, store: GraphStore, namespace: str) -> None:
        old, new = expected(_edition(1, namespace), PLAIN), _edition(2, namespace)
        store.save([old], PLAIN)
        answer = _shown_all(old, namespace, created_at=old.created_at, snapshot={"lines": [item.text for item in old.evidence]})
        store.save_answers([answer])
        assert _ids(store.sources(FAILED)) == [old.query.id]
        store.save([new], PLAIN, replace=True)
        assert_same(read_answer(store, answer.id), answer)
        assert [item.id for item in store.answers(old.query.id)] == [answer.id]
        assert walk(store, answer.id) == {}
        assert store.sources(FAILED) == []
        counts = store.counts()
        assert (counts["Answer"], counts["ANSWERS"], counts["USED"]) == (1, 1, 0)
        assert store.verify() == []

    def test_what_was_erased_does_not_come_back(self, store: GraphStore, namespace: str) -> None:
        stays, goes = _edition(1, namespace, query="stays"), _edition(1, namespace, query="goes")
        store.save([stays, goes], PLAIN)
        store.erase([goes.query.id])
        fresh = [_edition(2, namespace, query="goes"), _edition(2, namespace, query="stays")]
        assert store.save(fresh, PLAIN, replace=True) == ["gone", "replaced"]
        assert_same(store.read([goes.query.id, stays.query.id]), [expected(fresh[1], PLAIN)])
        assert "(goes)" not in str(list(store.records()))
        assert store.verify() == []

    def test_of_two_editions_in_a_batch_the_last_stays(self, store: GraphStore, namespace: str) -> None:
        editions = [_edition(number, namespace) for number in range(3)]
        store.save(editions[:1], PLAIN)
        assert store.save(editions[1:], PLAIN, replace=True) == ["replaced", "replaced"]
        assert_same(store.read([editions[0].query.id]), [expected(editions[2], PLAIN)])
        assert store.verify() == []

    def test_one_bad_edition_and_nothing_is_replaced(self, store: GraphStore, namespace: str) -> None:
        store.save([_edition(1, namespace, query=number) for number in range(2)], PLAIN)
        before = records_of(store)
        good, bad = (_edition(2, namespace, query=number) for number in range(2))
        lost = bad.triples[0].model_copy(update={"evidence_id": "missing"})
        with pytest.raises(StoreError):
            store.save([good, bad.model_copy(update={"triples": (lost, *bad.triples[1:])})], PLAIN, replace=True)
        assert records_of(store) == before

    def test_a_reader_sees_the_old_or_the_new_and_never_none_or_a_mixture(self, store: GraphStore, namespace: str) -> None:
        editions = [_edition(number, namespace, size=3 + number % 2) for number in range(ROUNDS)]
        editions_by_time = {graph.created_at: expected(graph, PLAIN) for graph in editions}
        store.save(editions[:1], PLAIN)
        done = Event()

        def count_reads() -> int:
            reads = 0
            while not (done.is_set() and reads):
                (subgraph,) = store.read([editions[0].query.id])
                assert_same(subgraph, editions_by_time[subgraph.created_at])
                reads += 1
            return reads

        with ThreadPoolExecutor(READERS) as pool:
            readers = [pool.submit(count_reads) for _ in range(READERS)]
            try:
                for graph in editions[1:]:
                    assert store.save([graph], PLAIN, replace=True) == ["replaced"]
            finally:
                done.set()
            assert min(reader.result() for reader in readers) > 0
        assert_same(store.read([editions[0].query.id]), [editions_by_time[editions[-1].created_at]])

    def test_overlapping_refreshes_leave_one_whole_edition(self, store: GraphStore, namespace: str) -> None:
        store.save([_edition(0, namespace, query=number) for number in range(3)], PLAIN)

        def refresh(edition: int) -> None:
            order = random.Random(edition).sample(range(3), 3)  # noqa: S311 - a shuffle
            graphs = [_edition(edition, namespace, query=number, size=edition) for number in order]
            assert store.save(graphs, PLAIN, replace=True) == ["replaced"] * 3

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(refresh, range(1, 5)))
        for number in range(3):
            (subgraph,) = store.read([_edition(0, namespace, query=number).query.id])
            assert_same(
                subgraph,
                expected(_edition(len(subgraph.evidence), namespace, query=number, size=len(subgraph.evidence)), PLAIN),
            )
        assert store.verify() == []
