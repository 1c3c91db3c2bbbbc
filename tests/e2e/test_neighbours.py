"""`export` for other programs, and `import --from` theirs."""

import csv
import io
import json
import shutil
import zipfile
from pathlib import Path

import networkx as nx
import pytest

from drag_graph import DragGraph
from drag_graph.errors import ConfigurationError


@pytest.fixture
def filled(distil_examples, tmp_path, monkeypatch):
    monkeypatch.setenv("DRAG_GRAPH_STORE", str(tmp_path / "graph.lbug"))
    distil_examples(tmp_path / "graph.lbug")


def exported(cli, format_, file, *more):
    done = cli("export", "--format", format_, "-o", file, *more)
    assert done.code == 0, done.err
    return done.err


def test_each_format_has_every_node_and_relationship(cli, filled, tmp_path):
    lines = [json.loads(line) for line in cli("export").out.splitlines()]
    nodes = sum(line["kind"] == "node" for line in lines)
    edges = len(lines) - nodes
    for format_ in ("graphml", "csv", "cypher"):
        err = exported(cli, format_, tmp_path / format_)
        assert f"{nodes} nodes, {edges} relationships" in err
        assert ("Evidence.call_ids: " in err) == (format_ != "cypher")
    graph = nx.read_graphml(tmp_path / "graphml", force_multigraph=True)
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (nodes, edges)
    with zipfile.ZipFile(tmp_path / "csv") as archive:
        counts = [len(list(csv.reader(io.TextIOWrapper(archive.open(name))))) - 1 for name in archive.namelist()]
    assert counts == [nodes, edges]
    assert (tmp_path / "cypher").read_text().startswith("CREATE CONSTRAINT")


def test_an_export_is_never_empty_without_a_word(cli, filled, tmp_path):
    err = exported(cli, "graphml", tmp_path / "graph.graphml", "--namespace", "other")
    assert "Nothing is stored" in err
    assert len(nx.read_graphml(tmp_path / "graph.graphml")) == 0


def test_a_format_belongs_to_one_method(cli, filled):
    with DragGraph() as graph:
        with pytest.raises(ConfigurationError, match="no graph format 'jsonl'"):
            graph.export_graph("jsonl", io.BytesIO())
        with pytest.raises(ConfigurationError, match="no export format 'graphml'"):
            graph.export("graphml")
        report = graph.export_graph("cypher", io.BytesIO()).to_dict()
    assert report["format"] == "cypher"
    assert report["nodes"] > 0
    assert {"property": "Query.metadata", "as": "JSON text", "values": 7} in report["rewritten"]


LIGHTRAG = Path(__file__).parent / "lightrag_store"


@pytest.fixture
def folder(tmp_path):
    """A copy of the store that LightRAG wrote."""
    return Path(shutil.copytree(LIGHTRAG, tmp_path / "rag"))


def stored(cli):
    """Return the stored documents by name."""
    sources = cli("show", "--json").json
    return {source["name"]: cli("show", source["id"], "--json").json for source in sources}


def test_a_store_of_lightrag_is_imported_with_passages_and_calls(cli, folder):
    done = cli("import", "--from", "lightrag", folder, "--json")
    assert done.code == 0, done.err
    assert (done.json["totals"]["added"], done.json["totals"]["triples"], done.json["totals"]["ungrounded"]) == (3, 6, 0)
    assert done.json["left_out"] == {
        "types and descriptions of entities": 6,
        "entities without a relation": 1,
        "relations whose text is gone": 0,
    }
    found = stored(cli)
    unnamed = next(name for name in found if name.startswith("doc-"))
    started, runs = ("Mara Lindqvist", "started", "Orchid Project"), ("Norrland Foundation", "runs", "Harbour of Visby")
    assert {
        name: {(it["subject"], it["predicate"], it["object"]) for it in graph["triples"]} for name, graph in found.items()
    } == {
        "orchid.txt": {started, ("Norrland Foundation", "pays the budget of", "Orchid Project")},
        "harbour.txt": {started, runs, ("Mara Lindqvist", "inspection", "Harbour of Visby")},
        unnamed: {("Anna Berg", "repairs", "Harbour of Visby")},
    }
    for graph in found.values():
        texts, calls = {it["id"]: it["text"] for it in graph["evidence"]}, {it["id"]: it["model"] for it in graph["calls"]}
        for triple in graph["triples"]:
            assert triple["subject"].casefold() in texts[triple["evidence_id"]].casefold()
            assert {calls[id_] for id_ in triple["call_ids"]} == {"file:lightrag"}
    again = cli("import", "--from", "lightrag", folder)
    assert "3 unchanged" in again.out
    assert "Left out: entities without a relation (1)." in again.err
    assert cli("ask", "Who started the Orchid Project?").code == 0


def change(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_weights_below_one_and_missing_texts_are_taken_as_they_are(cli, folder):
    graph = folder / "graph_chunk_entity_relation.graphml"
    change(graph, ">2.0<", ">0.4<")
    change(folder / "kv_store_text_chunks.json", '"full_doc_id": "doc-2184', '"full_doc_id": "gone-2184')
    done = cli("import", "--from", "lightrag", folder, "--json")
    assert done.json["left_out"]["relations whose text is gone"] == 1
    found = stored(cli)
    confidences = {it["predicate"]: it["confidence"] for it in found["orchid.txt"]["triples"]}
    assert confidences == {"started": 0.4, "pays the budget of": 1.0}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("kv_store_full_docs.json", None, "Cannot read"),
        ("kv_store_full_docs.json", "[1]", "has no entries of LightRAG"),
        ("kv_store_text_chunks.json", "{", "is not JSON"),
        ("graph_chunk_entity_relation.graphml", "<graphml>", "is not GraphML"),
    ],
)
def test_a_folder_that_lightrag_did_not_write_is_refused(cli, folder, name, content, message):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content)
    done = cli("import", "--from", "lightrag", folder)
    assert done.code == 2
    assert f"{folder / name} {message}" in done.err or f"{message} {folder / name}" in done.err
    assert "Pass the working folder of LightRAG" in done.err
    assert cli("show").code == 3  # no store was made


def test_replace_does_not_work_with_the_folder_of_another_program(cli, folder):
    done = cli("import", "--from", "lightrag", folder, "--replace")
    assert (done.code, "--replace does not work with --from" in done.err) == (2, True)
