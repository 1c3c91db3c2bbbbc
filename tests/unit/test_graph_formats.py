"""Exports of the whole graph for other programs: GraphML, CSV and the literals of Cypher."""

import csv
import io
import json
import zipfile

import networkx as nx
import pytest

from drag_graph.manage.canonical_export import canonical_record
from drag_graph.model import Aggregation
from drag_graph.report.graph_formats import GraphFile, cypher_literal
from drag_graph.testing.builders import make_answer, make_document_subgraph, make_subgraph
from drag_graph.testing.dict_store import DictStore

NASTY = 'it\'s "quoted", a \\ backslash, \\u0027 and \\\\u0027 é 🧪\nnext line; \ttab\r end \\'


@pytest.fixture(scope="module")
def records():
    """The records of a store with documents, queries, answers and texts that every format has to escape."""
    with DictStore() as store:
        store.migrate()
        first = make_subgraph(1)
        evidence = [first.evidence[0].model_copy(update={"text": NASTY}), *first.evidence[1:]]
        first = first.model_copy(update={"evidence": tuple(evidence), "embedding": (0.6, 0.8)})
        store.save([first, make_document_subgraph(2)], Aggregation())
        store.save_answers([make_answer(1, [store.read([first.source_id])[0]])])
        return list(store.records())


def written(format_, records, **options):
    stream = io.BytesIO()
    report = GraphFile(format_, records, **options).write(stream)
    return stream.getvalue(), report


def flat(value):
    """Return a value as a format without lists has it."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False) if isinstance(value, dict | list) else value


def wanted(records, kind, *, full=True):
    """Return the properties of the records of a kind by id, with label or type and ends."""
    return {
        record["id"]: {
            **({"_label": record["label"]} if kind == "node" else {"_type": record["type"]}),
            **({"_start": record["source"], "_end": record["target"]} if kind == "edge" else {"id": record["id"]}),
            **{name: flat(value) for name, value in canonical_record(record, full=full)["properties"].items()},
        }
        for record in records
        if record["kind"] == kind
    }


def test_networkx_reads_the_graphml(records):
    content, report = written("graphml", records, full=True)
    graph = nx.read_graphml(io.BytesIO(content), force_multigraph=True)
    nodes, edges = wanted(records, "node"), wanted(records, "edge")
    assert dict(graph.nodes(data=True)) == nodes
    read = {key: {"_start": a, "_end": b, **data} for a, b, key, data in graph.edges(keys=True, data=True)}
    assert {key: {name: value for name, value in data.items() if name != "id"} for key, data in read.items()} == {
        key: {name: value for name, value in data.items() if name != "id"} for key, data in edges.items()
    }
    assert (report.nodes, report.relationships) == (len(nodes), len(edges))
    lists = {name for name, how in report.rewritten if how == "JSON text"}
    assert {"Query.embedding", "Evidence.call_ids", "Answer.snapshot"} <= lists
    assert not any("framing" in name for name in lists)


def test_graphml_replaces_characters_that_xml_does_not_have(records):
    changed = [dict(record, properties={**record["properties"], "note": "a\x0bb"}) for record in records[:2]]
    content, report = written("graphml", changed)
    graph = nx.read_graphml(io.BytesIO(content))
    assert {data["note"] for _, data in graph.nodes(data=True) if "note" in data} == {"a\ufffdb"}
    assert sum(count for (_, how), count in report.rewritten.items() if how == "text without control characters") == 2


def test_the_tables_replace_a_lone_surrogate(records):
    changed = [dict(records[0], properties={**records[0]["properties"], "note": "a\ud800b"})]
    content, report = written("csv", changed)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert [row["note"] for row in rows(archive, "nodes.csv")] == ["a\ufffdb"]
    assert report.rewritten[f"{records[0]['label']}.note", "text without lone surrogates"] == 1


def rows(archive, name):
    with archive.open(name) as part:
        return list(csv.DictReader(io.TextIOWrapper(part, encoding="utf-8", newline="")))


def test_the_tables_have_one_row_for_each_node_and_relationship(records):
    content, report = written("csv", records, full=True)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        nodes, edges = rows(archive, "nodes.csv"), rows(archive, "relationships.csv")
    assert {row["id"]: row["_label"] for row in nodes} == {
        record["id"]: record["label"] for record in records if record["kind"] == "node"
    }
    ends = [(record["type"], record["source"], record["target"]) for record in records if record["kind"] == "edge"]
    assert sorted((row["_type"], row["_start"], row["_end"]) for row in edges) == sorted(ends)
    assert (len(nodes), len(edges)) == (report.nodes, report.relationships)


def test_equal_stores_give_equal_bytes(records):
    for format_ in ("graphml", "csv", "cypher"):
        assert written(format_, records)[0] == written(format_, records[::-1])[0]


def test_times_and_vectors_are_left_out_unless_asked_for(records):
    for format_ in ("graphml", "cypher"):
        assert b"created_at" not in written(format_, records)[0]
        assert b"embedding" in written(format_, records, full=True)[0]


def test_an_empty_store_gives_an_empty_graph():
    content, report = written("graphml", [])
    assert len(nx.read_graphml(io.BytesIO(content))) == report.nodes == 0
    with zipfile.ZipFile(io.BytesIO(written("csv", [])[0])) as archive:
        assert (rows(archive, "nodes.csv"), rows(archive, "relationships.csv")) == ([], [])
    assert b"UNWIND" not in written("cypher", [])[0]


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ("it's", r"'it\'s'"),
        ("a\\", r"'a\\'"),
        ("\\'", r"'\\\''"),
        ("\\u0027", r"'\\\u00750027'"),
        ("\\\\u", r"'\\\\\u0075'"),
        ("a\nb\r", r"'a\u000ab\u000d'"),
        (1e16, "1e16"),
        (-0.5, "-0.5"),
        (True, "true"),
        ({"a`b": [1, None]}, "{`a``b`: [1, null]}"),
    ],
)
def test_values_are_escaped_as_literals(value, literal):
    assert cypher_literal(value) == literal
