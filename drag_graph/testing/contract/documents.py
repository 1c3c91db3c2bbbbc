"""A document is a source like a query: saved, read, linked, searched, asked, audited, exported, erased."""

from typing import Any

import pytest

from drag_graph.ask.audit_snapshot import snapshot
from drag_graph.errors import SubgraphRefused
from drag_graph.graph.paging import settings_hashes
from drag_graph.jobs.link_job import Linker
from drag_graph.manage.canonical_export import canonical_lines
from drag_graph.manage.content_ids import wrong_ids
from drag_graph.model import Aggregation, Answer, LineKind, Subgraph
from drag_graph.ports.graph_store import GraphStore, Reduction, SourceFilter
from drag_graph.report.audit_document import subgraph_text
from drag_graph.testing.builders import (
    as_distilled,
    expected,
    make_answer,
    make_document_subgraph,
    make_subgraph,
    stored_source_of,
)
from drag_graph.testing.contract.base import Contract, assert_same, records_of
from drag_graph.testing.contract.exchanging import in_memory, lines, load
from drag_graph.testing.contract.linking import NOW, Angles
from drag_graph.testing.finding import audit_document

PLAIN = Aggregation()
EDGES = 20
"""More than a query keeps."""


class DocumentContract(Contract):
    """A hand-made subgraph of a document through every part of a store."""

    @pytest.fixture
    def graph(self, namespace: str) -> Subgraph:
        return make_document_subgraph(namespace=namespace, edges=EDGES)

    def test_it_is_read_as_it_was_saved_with_all_its_edges(self, store: GraphStore, graph: Subgraph) -> None:
        few = Aggregation(top_k=3)
        assert store.save([graph], few) == ["created"]
        wanted = expected(graph, few)
        assert len(wanted.edges) == EDGES
        assert_same(store.read([graph.source_id]), [wanted])
        store.aggregate([graph.source_id], few)
        assert_same(store.read([graph.source_id]), [wanted])
        counts = store.counts()
        sizes = {"Query": 0, "Document": 1, "Chunk": EDGES, "HAS_CHUNK": EDGES, "FROM_CHUNK": EDGES, "GENERATED_BY": 0}
        assert {name: counts[name] for name in sizes} == sizes
        assert settings_hashes(store, [graph.source_id]) == {graph.source_id: graph.settings_hash}
        assert store.save([graph], few) == ["unchanged"]
        assert store.verify() == []

    def test_a_later_state_replaces_it_whole(self, store: GraphStore, namespace: str, graph: Subgraph) -> None:
        query = make_subgraph(namespace=namespace)
        store.save([graph, query], PLAIN)
        later = make_document_subgraph(namespace=namespace, edges=2, settings_hash="settings-2")
        assert store.save([later], PLAIN) == ["replaced"]
        assert_same(store.read([graph.source_id, query.source_id]), [expected(later, PLAIN), expected(query, PLAIN)])
        assert store.counts()["Chunk"] == len(later.chunks)
        assert store.verify() == []

    def test_a_renamed_one_keeps_its_id_and_its_answers(self, store: GraphStore, namespace: str, graph: Subgraph) -> None:
        store.save([graph], PLAIN)
        answer = make_answer(1, [expected(graph, PLAIN)], namespace=namespace, refs=[("evidence", graph.evidence[0].id)])
        store.save_answers([answer])
        (before,) = store.read([graph.source_id])
        assert before.document is not None
        names = {"name": "new.txt", "uri": "file:///new.txt", "input_id": before.document.uri, "tags": ("a", "b")}
        after = before.model_copy(update={"source": before.document.model_copy(update=names)})
        assert not store.erase((), [Reduction(before, after)]).stale
        assert_same(store.read([graph.source_id]), [after])
        (stored,) = store.sources()
        assert stored == stored_source_of(after)
        assert (stored.uri, stored.input_id, stored.tags) == ("file:///new.txt", before.document.uri, ("a", "b"))
        assert store.sources(SourceFilter(ids=[graph.source_id])) == [stored]
        assert [item.id for item in store.answers(graph.source_id)] == [answer.id]
        assert store.verify() == []
        assert graph.source_id not in dict(wrong_ids(after)), "the id is the hash of its first address"

    @pytest.mark.parametrize("flaw", ["no origin", "two origins", "no chunk", "chunks of a query", "chunk of another"])
    def test_evidence_needs_a_call_or_a_chunk(self, store: GraphStore, namespace: str, graph: Subgraph, flaw: str) -> None:
        first, *more_evidence = graph.evidence
        calls = (graph.calls[0].id,)
        changes: dict[str, dict[str, Any]] = {
            "no origin": {"evidence": (first.model_copy(update={"chunk_id": ""}), *more_evidence)},
            "two origins": {"evidence": (first.model_copy(update={"call_ids": calls}), *more_evidence)},
            "no chunk": {"chunks": graph.chunks[1:]},
            "chunks of a query": {"source": make_subgraph(namespace=namespace).query},
            "chunk of another": {"chunks": (graph.chunks[0].model_copy(update={"source_id": "x"}), *graph.chunks[1:])},
        }
        with pytest.raises(SubgraphRefused):
            store.save([graph.model_copy(update=changes[flaw])], PLAIN)
        assert list(store.records()) == []

    def test_it_is_linked_with_queries(self, store: GraphStore, namespace: str) -> None:
        document = make_document_subgraph(namespace=namespace, names=["mitosis"])
        query = make_subgraph(namespace=namespace)
        store.save([document, query], PLAIN)
        Linker(store.concepts, namespace, Angles(), lambda: NOW).run()
        (concept,) = [item for item in store.concepts.read() if item.name == "mitosis"]
        assert concept.entities == len([document, query])
        assert store.counts()["REFERS_TO"] == len(document.entities) + len(query.entities)
        assert store.verify() == []

    def test_it_is_no_query_in_a_search(self, store: GraphStore, namespace: str) -> None:
        vector = (1.0, 0.0)
        store.embedder(("of-tests", len(vector)))
        queries: list[str] = []
        # The second search may rest on what the first one read.
        for number in range(2):
            query = make_subgraph(number, namespace=namespace, embedding=vector)
            store.save([query, make_document_subgraph(number, namespace=namespace, embedding=vector)], PLAIN)
            queries.append(query.source_id)
            hits = store.search.candidates(vector, [], 10).queries
            assert sorted(hit.id for hit in hits) == sorted(queries)

    def test_vectors_that_are_saved_with_it_are_not_waited_for(self, store: GraphStore, graph: Subgraph) -> None:
        store.embedder(("of-tests", 2))
        first, *more_evidence = graph.evidence
        store.save([graph], PLAIN, vectors={first.id: (1.0, 0.0), "of nobody": (0.0, 1.0)})
        (source,) = store.concepts.waiting(10).sources
        assert {id_ for id_, _ in source.evidence} == {item.id for item in more_evidence}
        later = make_document_subgraph(namespace=store.namespace, settings_hash="settings-2")
        store.save([later], PLAIN)
        (source,) = store.concepts.waiting(10).sources
        assert {id_ for id_, _ in source.evidence} == {item.id for item in later.evidence}, (
            "the old vectors went with the old text"
        )
        store.save([later], PLAIN, vectors={first.id: (1.0, 0.0)})
        assert store.concepts.waiting(10).sources == (source,), "nothing was saved, so no vector is"

    def test_an_answer_rests_on_it_and_its_audit_names_the_passage(self, store: GraphStore, graph: Subgraph) -> None:
        store.save([graph], PLAIN)
        (there,) = store.read([graph.source_id])
        answer = _answer(there)
        assert store.save_answers([answer]) == frozenset()
        audit = audit_document(store, answer.id)
        evidence, edge = audit["lines"]
        passage = there.evidence[0]
        place = {"id": graph.source_id, "name": "Report 0", "start": passage.start, "end": passage.end, "date": "2026-03-02"}
        assert (evidence["evidence"]["document"], evidence["calls"]) == (place, [])
        (triple,) = edge["triples"]
        assert triple["evidence"]["document"]["id"] == graph.source_id
        assert triple["evidence"]["calls"] == []
        assert [call["model"] for call in triple["calls"]] == ["patterns/of-tests"]
        assert audit["source_ids"] == [graph.source_id]
        assert all(line["live"] for line in audit["lines"])
        assert [item.id for item in store.answers(graph.source_id)] == [answer.id]
        assert "Report 0" in subgraph_text(there)

    def test_it_is_exported_and_imported(self, store: GraphStore, namespace: str) -> None:
        graph = as_distilled(make_document_subgraph(namespace=namespace))
        store.save([graph], PLAIN)
        exported, canonical = lines(store), set(canonical_lines(store.records()))
        with in_memory(namespace) as memory:
            assert load(memory, exported).counts["new"] == 1
            assert set(canonical_lines(memory.records())) == canonical
            back = lines(memory)
        store.erase([graph.source_id])
        assert load(store, back).counts["new"] == 1
        assert lines(store) == exported

    def test_erased_it_leaves_nothing(self, store: GraphStore, namespace: str, graph: Subgraph) -> None:
        query = make_subgraph(namespace=namespace)
        store.save([query], PLAIN)
        before = records_of(store)
        store.save([graph], PLAIN)
        (there,) = store.read([graph.source_id])
        store.save_answers([_answer(there)])
        erased = store.erase([graph.source_id])
        assert (erased.counts["Document"], erased.counts.get("Query", 0), len(erased.answer_ids)) == (1, 0, 1)
        assert records_of(store) == before
        assert store.verify() == []


class SecondTeacherContract(Contract):
    """A second teacher adds to a subgraph."""

    def test_both_are_kept_with_the_calls_of_both(self, store: GraphStore, namespace: str) -> None:
        first, second = _two_teachers(namespace)
        store.save([first], PLAIN)
        assert store.save([second], PLAIN, replace="add") == ["added"]
        (there,) = store.read([first.source_id])
        assert there.settings_hash == "settings-1+settings-2"
        assert {call.model for call in there.calls} == {"teacher/of-tests", "teacher/second"}
        shared = next(item for item in there.evidence if item.id == first.evidence[0].id)
        assert set(shared.call_ids) == {*first.evidence[0].call_ids, *second.evidence[0].call_ids}
        assert {item.text for item in there.evidence} == {item.text for item in (*first.evidence, *second.evidence)}
        both = next(item for item in there.triples if item.id == first.triples[0].id)
        assert set(both.call_ids) == {*first.triples[0].call_ids, *second.triples[0].call_ids}
        assert_same([there], [expected(there, PLAIN)])
        assert store.verify() == []
        records = records_of(store)
        assert store.save([second], PLAIN, replace="add") == ["unchanged"]
        assert records_of(store) == records

    def test_the_audit_names_both_calls(self, store: GraphStore, namespace: str) -> None:
        first, second = _two_teachers(namespace)
        store.save([first], PLAIN)
        earlier = _answer(store.read([first.source_id])[0]).model_copy(update={"id": "e" * 32})
        store.save_answers([earlier])
        store.save([second], PLAIN, replace="add")
        (there,) = store.read([first.source_id])
        answer = _answer(there)
        store.save_answers([answer])
        assert all(line["live"] for line in audit_document(store, earlier.id)["lines"]), "what it rests on is still there"
        evidence, edge = audit_document(store, answer.id)["lines"]
        assert {call["model"] for call in evidence["calls"]} == {"teacher/of-tests", "teacher/second"}
        assert {call["model"] for triple in edge["triples"] for call in triple["calls"]} == {
            "teacher/of-tests",
            "teacher/second",
        }

    def test_to_a_source_that_is_not_stored_it_is_the_first(self, store: GraphStore, namespace: str) -> None:
        first, _ = _two_teachers(namespace)
        assert store.save([first], PLAIN, replace="add") == ["created"]
        assert_same(store.read([first.source_id]), [expected(first, PLAIN)])


def _two_teachers(namespace: str) -> tuple[Subgraph, Subgraph]:
    """Return what two teachers say about one query: the same first two statements, and others."""
    first = as_distilled(make_subgraph(namespace=namespace))
    texts = [*(item.text for item in first.evidence[:2]), "Only the second says so."]
    second = as_distilled(make_subgraph(namespace=namespace, evidence=texts, dropped=(), settings_hash="settings-2"))
    calls = tuple(call.model_copy(update={"model": "teacher/second"}) for call in second.calls)
    return first, second.model_copy(update={"calls": calls})


def _answer(there: Subgraph) -> Answer:
    """Return an answer that was shown the first evidence and the first edge, with the snapshot of that moment."""
    refs: list[tuple[LineKind, str]] = [("evidence", there.evidence[0].id), ("edge", there.usable_edges[0].id)]
    answer = make_answer(1, [there], namespace=there.source.namespace, refs=refs)
    return answer.model_copy(update={"snapshot": snapshot(answer.question, answer.lines, [there])})
