"""`export` for other programs, and `import --from` theirs."""

import csv
import io
import json
import zipfile

import networkx as nx
import pytest

from tests.e2e.conftest import EXAMPLES


@pytest.fixture
def filled(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("DRAG_GRAPH_STORE", str(tmp_path / "graph.lbug"))
    questions, curated = EXAMPLES / "questions.jsonl", EXAMPLES / "curated.jsonl"
    assert cli("distill", questions, "--teacher", f"curated:{curated}").code == 0


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


def test_an_export_can_be_compressed_and_is_never_empty_without_a_word(cli, filled, tmp_path):
    err = exported(cli, "graphml", tmp_path / "graph.graphml.gz", "--namespace", "other")
    assert "Nothing is stored" in err
    assert len(nx.read_graphml(tmp_path / "graph.graphml.gz")) == 0
