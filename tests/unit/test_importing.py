"""Importing subgraphs: what is wrong is said with its line, the rest is stored, and nothing is read far ahead."""

import json
import os
import re
import signal

import numpy as np
import pytest

from drag_graph.distill import canonical_subgraph as canonical
from drag_graph.distill.entity_merging import Thresholds
from drag_graph.distill.triple_extraction import RawTriple
from drag_graph.errors import InputError, StoreUnavailable
from drag_graph.graph.name_forms import predicate_key
from drag_graph.graph.paging import iter_subgraphs
from drag_graph.manage import subgraph_files as transfer
from drag_graph.manage.canonical_export import sorted_lines
from drag_graph.manage.content_ids import wrong_ids
from drag_graph.manage.subgraph_files import read_lines
from drag_graph.manage.subgraph_import import BATCH, READ_AHEAD, Importer
from drag_graph.manage.verification import problems
from drag_graph.model import Aggregation
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.testing.builders import as_distilled, make_document_subgraph, make_subgraph
from drag_graph.testing.dict_store import DictStore
from drag_graph.testing.finding import stored_lines

EMBEDDER = ("of-tests", 4)
MERGING = Thresholds(entity=0.9, predicate=0.9)
VECTOR = (0.6, 0.0, 0.8, 0.0)


def empty(kind=DictStore):
    store = kind()
    store.migrate()
    return store


def graphs(numbers):
    return sorted((as_distilled(make_subgraph(n, embedding=VECTOR)) for n in numbers), key=lambda graph: graph.query.id)


def filled(numbers=range(3), aggregation=None):
    store = empty()
    store.embedder(EMBEDDER)
    store.save(graphs(numbers), aggregation or Aggregation())
    return store


def exported(store):
    return [f"{line}\n".encode() for line in stored_lines(store)]


def load(store, lines, **options):
    return Importer(store, **options).run(read_lines(iter(lines), "f.jsonl"))


def edited(line, change):
    document = json.loads(line)
    change(document)
    return json.dumps(document).encode()


def cut(name, place=None):
    def change(document):
        del (document if place is None else document[place][0])[name]

    return change


def put(value, *path):
    def change(document):
        for part in path[:-1]:
            document = document[part]
        document[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (cut("settings_hash"), "^settings_hash: Field required"),
        (cut("confidence", "triples"), r"^triples\[0\].confidence: Field required"),
        (put(1, "triples", 0, "extra"), r"^triples\[0\].extra: Extra inputs are not permitted"),
        (put(1.5, "triples", 0, "confidence"), r"triples\[0\].confidence: .*less than or equal to 1"),
        (put(float("nan"), "triples", 0, "confidence"), "confidence: .*finite number"),
        (put(float("inf"), "calls", 0, "cost_usd"), "cost_usd: .*finite number"),
        (put("f" * 32, "triples", 0, "evidence_id"), "has no evidence"),
        (put(["f" * 32], "triples", 0, "call_ids"), "has no teacher call"),
        (put("f" * 32, "triples", 0, "subject_id"), "has no subject"),
        (put(["x"], "triples", 0, "object_id"), "should be a valid string"),
        (put(["f" * 32], "evidence", 1, "call_ids"), "has no teacher call"),
        (put("f" * 32, "entities", 0, "id"), "has no (subject|object)|the id is not the hash of the content"),
        (put("another text", "evidence", 0, "text"), "the id is not the hash of the content"),
        (put("another question?", "source", "text"), "query .*: the id is not the hash of the content"),
        (put(-1, "evidence", 0, "rank"), r"evidence\[0\].rank"),
        (put(2**63, "calls", 0, "tokens_in"), "tokens_in: .*less than or equal to"),
        (put("nobody", "evidence", 0, "framing"), r"evidence\[0\].framing"),
        (put("many", "source", "options"), "source.query.options"),
        (put(list("abcdefghijklmnopqrstuvwxyz1"), "source", "options"), "at most 26"),
        (put({}, "evidence"), "^evidence: Input should be a valid array"),
        (put(["x"], "evidence"), r"^evidence\[0\]: Input should be an object"),
        (put([1.0, 0.0, 0.0], "embedding"), "has 3 numbers, but that of the embedder has 4"),
        (put("x", "embedding"), "embedding: Input should be a valid array"),
        (put("yes", "evidence", 0, "kept"), r"evidence\[0\].kept: .*valid boolean"),
        (put("3", "evidence", 0, "rank"), r"evidence\[0\].rank: .*valid integer"),
        (put(3.0, "triples", 0, "rank"), r"triples\[0\].rank: .*valid integer"),
        (put("3", "evidence", 0, "llm_score"), r"evidence\[0\].llm_score: .*valid number"),
        (put(True, "triples", 0, "confidence"), r"triples\[0\].confidence: .*valid number"),
        (put(1, "blind"), "blind: .*valid boolean"),
        (put("0.5", "source", "complexity"), "source.query.complexity: .*valid number"),
        (put("10", "aggregation", "top_k"), "aggregation.top_k: .*valid integer"),
        (put(10**30, "aggregation", "top_k"), "aggregation.top_k: .*less than or equal to"),
        (put(2**31, "aggregation", "top_k"), "aggregation.top_k: .*less than or equal to"),
        (put({"x-y": 1}, "aggregation", "statements"), "aggregation.statements.x-y"),
        (put("triangle", "aggregation", "strategy"), "aggregation.strategy"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_the_others_are_stored(change, said):
    lines = exported(filled())
    store = empty()
    report = load(store, [*lines[:2], edited(lines[2], change), *lines[3:]])
    assert (report.counts["rejected"], report.counts["new"], report.exit_code) == (1, 2, 1)
    (bad,) = report.listed
    assert bad.line == 3
    assert re.search(said, bad.reason), bad.reason
    assert load(store, lines).counts == {"new": 1, "unchanged": 2, "replaced": 0, "conflict": 0, "rejected": 0}
    assert exported(store) == lines


def test_an_id_of_a_call_that_cannot_be_one_is_named():
    lines = exported(filled())
    id_ = json.loads(lines[2])["calls"][0]["id"].encode()
    report = load(empty(), [*lines[:2], lines[2].replace(id_, b"call-1"), *lines[3:]])
    assert [item.line for item in report.listed] == [3]
    assert "teacher call call-1: the id is not the hash of the content" in report.listed[0].reason


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b'{"a": "\xff"}', b"null", b"[" * 100_000, b'{"query": 1}', b"\0", b'{"query": ' + b'{"a":' * 2000 + b"1"],
    ids=range(8),
)
def test_a_line_that_is_no_subgraph_is_named(line):
    lines = exported(filled())
    report = load(empty(), [*lines[:2], line + b"\n", *lines[3:]])
    assert [(item.line, item.status) for item in report.listed] == [(3, "rejected")]
    assert report.counts["new"] == 2


def test_a_line_that_is_too_long_is_not_held(monkeypatch, tmp_path):
    monkeypatch.setattr(transfer, "LINE_LIMIT", 100_000)
    lines = exported(filled())
    path = tmp_path / "f"
    path.write_bytes(b"".join([*lines[:2], b'"' + b"x" * 1_000_000 + b'"\n', *lines[3:]]))
    parts = transfer.read_file(path)
    report = Importer(empty()).run(parts)
    assert [(item.line, item.reason) for item in report.listed] == [(3, "The line is longer than 100,000 bytes.")]
    assert report.counts["new"] == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [], "The file is empty"),
        (lambda lines: [b"\n", b" \n"], "The file is empty"),
        (lambda lines: lines[1:], r"f.jsonl:1: This is not a file of subgraphs"),
        (lambda lines: [b"question,answer\n"], r"f.jsonl:1: This is not a file of subgraphs. Invalid JSON"),
        (lambda lines: [b'{"kind": "node", "properties": {}}\n'], "f.jsonl:1: This is not a file of subgraphs"),
        (lambda lines: [edited(lines[0], put(4, "version")), *lines[1:]], "f.jsonl:1: The file has another version than 3"),
        (
            lambda lines: [edited(lines[0], cut("namespace")), *lines[1:]],
            "f.jsonl:1: .* namespace: Field required",
        ),
        (
            lambda lines: [edited(lines[0], put("x", "embedder")), *lines[1:]],
            "f.jsonl:1: .* embedder",
        ),
        (
            lambda lines: [edited(lines[0], put(0, "embedder", "dimension")), *lines[1:]],
            "f.jsonl:1: .* embedder.dimension",
        ),
        (lambda lines: lines[:-1], "f.jsonl:5: The file is cut off after 3 subgraphs"),
        (lambda lines: [*lines[:2], lines[-1]], r"f.jsonl:3: The file should contain 3 subgraphs, but has 1"),
        (lambda lines: [*lines[:-1], *lines], "f.jsonl:9: The file should contain 3 subgraphs, but has 7"),
        (lambda lines: [*lines, lines[1]], "f.jsonl:6: The file should contain 3 subgraphs, but has 4"),
    ],
    ids=range(13),
)
def test_a_file_that_is_none_or_not_whole_is_refused_with_what_to_do(change, said):
    lines = exported(filled())
    store = empty()
    report = load(store, change(lines))
    assert isinstance(report.stopped, InputError)
    assert report.exit_code == 2
    assert report.stopped.hint
    with pytest.raises(InputError, match=said):
        raise report.stopped
    read = [line for line in change(lines) if b'"triples"' in line and report.counts["new"]]
    assert store.counts()["Query"] == len({json.loads(line)["source"]["id"] for line in read}), "what was read is stored"
    load(store, lines)
    assert exported(store) == lines


def test_the_subgraph_of_a_document_travels_between_embedded_stores(tmp_path):
    whole = as_distilled(make_document_subgraph(1, edges=3))
    with LadybugStore(tmp_path / "from.lbug") as store:
        store.migrate()
        store.save([whole], Aggregation())
        lines = exported(store)
    with LadybugStore(tmp_path / "to.lbug") as store:
        store.migrate()
        assert load(store, lines).counts["new"] == 1
        assert load(store, lines).counts["unchanged"] == 1
        assert problems(store) == []
        (found,) = iter_subgraphs(store)
        there = exported(store)
    assert (found.title, len(found.chunks), len(found.edges)) == (whole.title, 3, 3)
    assert there == lines

    changed = edited(lines[1], put("another text", "chunks", 0, "text"))
    report = load(empty(), [lines[0], changed, lines[2]])
    assert "chunk" in report.listed[0].reason


def test_the_second_of_two_lines_for_one_query_is_compared_with_the_first():
    lines = exported(filled())
    other = edited(lines[2], put("another", "settings_hash")) + b"\n"
    for second, status in ((lines[2], "unchanged"), (other, "conflict")):
        store = empty()
        report = load(store, [*lines[:3], second, *lines[3:-1], lines[-1].replace(b"3", b"4")])
        assert (report.counts["new"], report.counts[status]) == (3, 1)
        assert exported(store) == lines


def test_the_order_of_lines_does_not_matter():
    """Where ids are not in order, the second of two is compared with the first, which is stored by then."""
    lines = exported(filled(range(3 * BATCH)))
    body = lines[1:-1][::-1]
    other = edited(body[0], put("other settings", "settings_hash"))
    end = lines[-1].replace(b"150", b"152")
    store = empty()
    report = load(store, [lines[0], *body, body[0], other, end])
    assert report.counts["new"] == 3 * BATCH
    assert report.counts["unchanged"] + report.counts["conflict"] + report.counts["rejected"] == 2
    assert {item.line for item in report.listed} >= {3 * BATCH + 3}
    assert exported(store) == lines


def test_how_edges_are_made_is_kept_and_a_line_that_does_not_say_it_is_refused():
    lines = exported(filled(range(3), Aggregation(strategy="predicate", threshold=0.1)))
    store = empty()
    report = load(store, [lines[0], edited(lines[1], put(None, "aggregation")), *lines[2:]])
    assert [item.reason for item in report.listed] == [
        "The key `aggregation` is missing: it says how the simple edges are derived."
    ]
    assert exported(store)[1:-1] == lines[2:-1]


def test_times_costs_and_vectors_are_no_other_content():
    lines = exported(filled())
    store = filled()
    later = edited(lines[1], put("2027-01-01T00:00:00+00:00", "created_at"))
    dearer = edited(lines[2], put(1.0, "calls", 0, "cost_usd"))
    report = load(store, [lines[0], later, dearer, *lines[3:]])
    assert report.counts["unchanged"] == 3
    assert exported(store) == lines


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put("another", "settings_hash"), "made under other settings"),
        (put(not make_subgraph().blind, "blind"), "blind differs"),
        (put("medical-1", "source", "input_id"), "source differs"),
        (put(0.1, "evidence", 0, "cosine"), "evidence differs"),
        (put("thing", "entities", 0, "type"), "entities differs"),
        (put(0.1, "triples", 0, "confidence"), "triples differs"),
        (put("gpt", "calls", 0, "model"), "calls differs"),
        (put(0.1, "aggregation", "threshold"), "edges are derived differently"),
    ],
)
def test_what_differs_is_said(change, said):
    lines = exported(filled())
    report = load(filled(), [lines[0], edited(lines[1], change), *lines[2:]])
    (item,) = report.listed
    assert item.status == "conflict"
    assert said in item.reason
    store = filled()
    assert load(store, [lines[0], edited(lines[1], change), *lines[2:]], replace=True).counts["replaced"] == 1


def test_half_a_character_is_refused_as_in_a_question():
    lines = exported(filled())
    report = load(empty(), [lines[0], edited(lines[1], put({"half": "a\udc00"}, "source", "metadata")), *lines[2:]])
    assert [item.line for item in report.listed] == [2]
    assert report.counts["new"] == 2


def test_exact_repeats_of_evidence_keep_their_ids():
    graph = as_distilled(make_subgraph(1, evidence=["one", "two", "one", "one"], dropped=(2, 3), embedding=VECTOR))
    assert len({item.id for item in graph.evidence}) == 4
    assert list(wrong_ids(graph)) == []
    left = graph.model_copy(update={"evidence": graph.evidence[2:], "triples": ()})
    assert list(wrong_ids(left)) == [], "the first was erased"


def test_a_statement_that_says_what_the_triples_say_or_is_of_no_edge_that_stays_is_none():
    lines = exported(filled(range(1), Aggregation(threshold=0.0, top_k=1)))
    (item,) = iter_subgraphs(filled(range(1), Aggregation(threshold=0.0)))
    first, second, *_ = item.edges
    said = {first.id: first.statement, second.id: "It is pruned."}
    told = [lines[0], edited(lines[1], put(said, "aggregation", "statements")), lines[2]]
    store = empty()
    assert load(store, told).counts["new"] == 1
    assert exported(store) == lines
    assert load(store, told).counts["unchanged"] == 1


def test_a_position_that_is_far_out_costs_nothing():
    graph = as_distilled(make_subgraph(1, evidence=["one", "two"], triples=(), embedding=VECTOR))
    last = graph.evidence[1].model_copy(update={"position": 10**15, "id": "0" * 32})
    assert list(wrong_ids(graph.model_copy(update={"evidence": (graph.evidence[0], last)}))) == [(last.id, "evidence")]


def test_predicates_that_canonicalisation_merged_are_taken():
    said = [("a", "is associated with", "b"), ("a", "is linked with", "c"), ("b", "is linked with", "c")]
    graph = as_distilled(make_subgraph(1, evidence=1, triples=(), embedding=VECTOR))
    raw = [RawTriple(*one, 0.9, graph.evidence[0].id, graph.calls[0].id) for one in said]
    alike = canonical.build(
        graph.query,
        raw,
        lambda texts: np.eye(8, dtype=np.float32)[[7 if "with" in text else n for n, text in enumerate(texts)]],
        MERGING,
    )
    assert [item for item in alike.triples if item.predicate_key != predicate_key(item.predicate)]
    store = empty()
    store.embedder(EMBEDDER)
    store.save([graph.model_copy(update={"entities": alike.entities, "triples": alike.triples})], Aggregation())
    assert load(empty(), exported(store)).counts["new"] == 1


class Counting(DictStore):
    """Counts the batches that are saved, and can fail."""

    def __init__(self):
        super().__init__()
        self.sizes = []
        self.fail = lambda _subgraphs: None

    def save(self, subgraphs, aggregation, *, replace=False, vectors=None):
        self.fail(subgraphs)
        self.sizes.append(len(subgraphs))
        return super().save(subgraphs, aggregation, replace=replace, vectors=vectors)


def test_batches_are_full_and_little_is_read_ahead():
    ways = [Aggregation(top_k=k) for k in (10, 13)]
    source = empty()
    source.embedder(EMBEDDER)
    for way, some in zip(ways, (range(300), range(300, 700)), strict=True):
        source.save(graphs(some), way)
    lines = exported(source)
    store = empty(Counting)
    ahead = []

    def reading():
        for number, line in enumerate(lines):
            ahead.append(number - sum(store.sizes))
            yield line

    assert load(store, reading()).counts["new"] == 700
    assert max(ahead) <= READ_AHEAD + 2
    assert max(store.sizes) == BATCH
    assert len(store.sizes) <= 2 * 700 / BATCH


def test_many_ways_of_making_edges_do_not_fill_the_memory():
    source = empty()
    source.embedder(EMBEDDER)
    for number, graph in enumerate(graphs(range(300))):
        source.save([graph], Aggregation(threshold=number / 300))
    lines = exported(source)
    store = empty(Counting)
    ahead = []

    def reading():
        for number, line in enumerate(lines):
            ahead.append(number - sum(store.sizes))
            yield line

    assert load(store, reading()).counts["new"] == 300
    assert max(ahead) <= READ_AHEAD + 2
    assert exported(store) == lines


def test_a_store_that_goes_away_ends_the_run_and_the_same_again_goes_on():
    lines = exported(filled(range(5 * BATCH)))
    store = empty(Counting)

    def away(_subgraphs):
        if len(store.sizes) == 2:
            raise StoreUnavailable("the store is away")

    store.fail = away
    report = load(store, lines)
    assert str(report.stopped) == "the store is away"
    assert (report.exit_code, report.counts["new"]) == (3, 2 * BATCH)
    store.fail = lambda _subgraphs: None
    again = load(store, lines)
    assert (again.counts["unchanged"], again.counts["new"], again.exit_code) == (2 * BATCH, 3 * BATCH, 0)
    assert exported(store) == lines


def test_ctrl_c_stores_what_was_read_and_the_same_again_goes_on():
    lines = exported(filled(range(3 * BATCH)))

    def reading():
        for number, line in enumerate(lines):
            if number == BATCH + 10:
                os.kill(os.getpid(), signal.SIGINT)
            yield line

    before = signal.getsignal(signal.SIGINT)
    store = empty()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        report = load(store, reading())
    finally:
        signal.signal(signal.SIGINT, before)
    assert report.exit_code == 130
    assert BATCH <= report.counts["new"] < 3 * BATCH
    assert store.counts()["Query"] == report.counts["new"]
    assert load(store, lines).exit_code == 0
    assert exported(store) == lines


def test_a_namespace_without_embedder_travels_without_vectors():
    graph = as_distilled(make_subgraph(1))
    store = empty()
    store.save([graph], Aggregation())
    lines = exported(store)
    other = empty()
    assert load(other, lines).exit_code == 0
    assert other.embedder() is None
    report = load(empty(), [lines[0], edited(lines[1], put([1.0], "embedding")), lines[2]])
    assert "the head names no embedder" in report.listed[0].reason


def test_an_unexpected_fault_is_not_swallowed():
    store = empty(Counting)

    def fault(_subgraphs):
        raise RuntimeError("a fault")

    store.fail = fault
    with pytest.raises(RuntimeError, match="a fault"):
        load(store, exported(filled()))


def test_lines_are_sorted_as_python_sorts_them():
    lines = [f"{n * 7919 % 1009:04} ü\u2028\U0001f9ea" for n in range(1000)] * 2 + ["", "\uffff", "\U00010000"]
    assert list(sorted_lines(iter(lines))) == sorted(lines)
    assert list(sorted_lines([])) == []


class Raced(Counting):
    """A store that another process writes into between the look and the save."""

    other = None

    def save(self, subgraphs, aggregation, *, replace=False, vectors=None):
        if self.other is not None:
            graph, self.other = self.other(subgraphs[0]), None
            DictStore.save(self, [graph], aggregation)
        return super().save(subgraphs, aggregation, replace=replace, vectors=vectors)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, "unchanged"),
        ({"blind": not make_subgraph().blind}, "conflict"),
        ({"settings_hash": "another"}, "conflict"),
    ],
)
def test_what_another_process_stores_in_the_meantime_is_kept(change, status):
    lines = exported(filled(range(4)))
    for replace in (False, True):
        store = empty(Raced)
        theirs = []

        def other(graph, theirs=theirs):
            theirs.append(graph.model_copy(update=change))
            return theirs[0]

        store.other = other
        report = load(store, lines, replace=replace)
        wanted = "replaced" if replace and status == "conflict" else status
        assert (report.counts["new"], report.counts[wanted]) == (3, 1)
        (there,) = store.read([theirs[0].query.id])
        kept = not replace or status == "unchanged"
        assert (there.settings_hash, there.blind) == (
            (theirs[0].settings_hash, theirs[0].blind) if kept else (graphs([0])[0].settings_hash, graphs([0])[0].blind)
        )


def test_what_was_found_before_a_store_goes_away_is_told():
    lines = exported(filled(range(5)))
    store = empty(Counting)
    store.embedder(EMBEDDER)
    known = graphs(range(5))
    store.save([known[0], known[1].model_copy(update={"blind": not known[1].blind})], Aggregation())

    def away(_subgraphs):
        raise StoreUnavailable("the store is away")

    store.fail = away
    told = []
    report = Importer(store, on_result=told.append).run(read_lines(iter(lines), "f"))
    assert str(report.stopped) == "the store is away"
    assert report.counts == {"new": 0, "unchanged": 1, "replaced": 0, "conflict": 1, "rejected": 0}
    assert [item.status for item in told] == ["unchanged", "conflict"]
