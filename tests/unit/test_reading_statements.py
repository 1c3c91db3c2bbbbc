"""`graph.store.query`: what it reads, and what it refuses, by the engine or by our own check."""

import csv
import json

import pytest
from neo4j.time import Duration
from typer.testing import CliRunner

from cli.app import app
from drag_graph.app import DragGraph
from drag_graph.errors import ConfigurationError
from drag_graph.stores.shared.reading_statement import check_reads, json_value

NAMES = "MATCH (d:Source) RETURN d.name, d.tags ORDER BY d.name"


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    with DragGraph(tmp_path_factory.mktemp("query") / "graph.lbug", embedder="lexical", student="nearest") as graph:
        for name in ("steam.txt", "wood.txt"):
            graph.ingest(text=f"{name} drives the turbine of the mill.", name=name).result()
        yield graph


def test_rows(graph):
    found = graph.store.query(NAMES)
    assert found.to_dict() == {
        "columns": ["d.name", "d.tags"],
        "rows": [["steam.txt", []], ["wood.txt", []]],
        "truncated": False,
    }
    first = graph.store.query(f"{NAMES};", limit=1)
    assert (len(first.rows), first.truncated) == (1, True)


def test_nodes_relationships_and_paths_are_objects(graph):
    ((path, node, edge),) = graph.store.query("MATCH p=(a:Entity)-[t:TRIPLE]->(b) RETURN p, a, t LIMIT 1").rows
    assert (node["type"], node["labels"]) == ("node", ["Entity"])
    assert (edge["type"], edge["name"]) == ("relationship", "TRIPLE")
    assert path == {"type": "path", "nodes": [node, path["nodes"][1]], "relationships": [edge]}
    assert json.loads(json.dumps(node)) == node
    assert node["properties"]["namespace"] == "default"
    assert not [name for part in (node, edge) for name in part["properties"] if name.startswith("_")]


def test_values_are_json(graph):
    row = "date('2026-01-02'), 1.0/0.0, BLOB('\\\\xAA'), {a: [date('2026-01-02')]}, interval('1 day'), NULL"
    ((day, infinite, data, nested, period, nothing),) = graph.store.query(f"RETURN {row}").rows
    assert (day, infinite, data, nested, nothing) == ("2026-01-02", "inf", "qg==", {"a": ["2026-01-02"]}, None)
    assert period == "1 day, 0:00:00"
    assert json_value({1: {2.5}, "d": [Duration(days=1)]}) == {"1": [2.5], "d": ["P1D"]}


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (d:Source) SET d.name = 'x'",
        "MATCH (d:Source) DETACH DELETE d",
        "MATCH (d:Source) CREATE (:Source {id: 'x'}) RETURN 1",
        "WITH 1 AS x CREATE (:Entity {id: 'x'})",
        "MERGE (:Entity {id: 'x'})",
        "RETURN 1; MATCH (d:Source) DETACH DELETE d",
        "MATCH (d) RETURN d; COMMIT; MATCH (d:Source) DETACH DELETE d",
        "COMMIT",
        "CREATE NODE TABLE X(id STRING PRIMARY KEY)",
        "DROP TABLE Document",
        "COPY (MATCH (d:Source) RETURN d.name) TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "/* MATCH */ EXPORT DATABASE '{folder}/out'",
        "LOAD FROM '{folder}/in.csv' RETURN *",
        "MATCH (d:Source) LOAD FROM '{folder}/in.csv' RETURN *",
        "RETURN 'it\\'s' // '\nLOAD FROM '{folder}/in.csv' RETURN *",
        "MATCH (d) WHERE d.name = 'x\\u0027 LOAD CSV FROM \\u0027http://example.org' RETURN d",
        "LOAD CSV FROM 'http://example.org' AS row RETURN row",
        "CALL threads=4",
        "MATCH (d:Source) CALL show_tables() RETURN *",
        "INSTALL httpfs",
        "ATTACH '{folder}/graph.lbug' AS x (dbtype lbug)",
        "CHECKPOINT",
        "MATCH (d:Source RETURN d",
        "MATCH (d:Unknown) RETURN d",
        "RETURN $parameter",
        "RETURN 1/0",
        "RETURN '\x00",
        f"RETURN {'[' * 400}1{']' * 400}",
        f"RETURN {'case when ' * 400}true{' then true end' * 400}",
        "",
        " ;",
        "// nothing",
    ],
)
def test_anything_else_is_refused_and_changes_nothing(graph, statement, tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ConfigurationError) as raised:
        graph.store.query(statement.replace("{folder}", str(tmp_path)))
    assert raised.value.hint
    assert [item.name for item in tmp_path.iterdir()] == ["in.csv"]
    assert [row[0] for row in graph.store.query(NAMES).rows] == ["steam.txt", "wood.txt"]


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (d) WHERE d.name = 'CALL LOAD; x' RETURN d",
        "match (n) return n.load, `call`",
        "RETURN 'a\\'b CALL' AS x // LOAD",
        '/* LOAD */ OPTIONAL MATCH (:Load) RETURN ":CALL\\""',
        "UNWIND $load AS x RETURN x",
        "WITH 1 AS loaded RETURN loaded",
    ],
)
def test_words_in_texts_names_and_comments_are_no_clauses(statement):
    check_reads(statement)


@pytest.mark.parametrize("end", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\0"], ids=ascii)
def test_a_comment_ends_nowhere_but_at_a_line_break(end):
    with pytest.raises(ConfigurationError, match="control character"):
        check_reads(f"MATCH (n) // x{end}CALL dbms.components() YIELD name RETURN name")
    check_reads("MATCH (n)\t// CALL\r\nRETURN n")


def test_a_long_statement_is_stopped(graph):
    with pytest.raises(ConfigurationError, match=r"longer than 0\.2 seconds"):
        graph.store.query("UNWIND range(1,100000) AS a UNWIND range(1,100000) AS b RETURN sum(a*b)", timeout=0.2)
    assert graph.store.query("RETURN 1").rows == ((1,),)


@pytest.mark.parametrize("statement", ["MATCH (d:Unknown) RETURN d", "UNWIND [1, 0] AS x RETURN 1 / x"])
def test_an_error_that_is_kept_does_not_keep_a_closed_store_open(tmp_path, statement):
    path = tmp_path / "graph.lbug"
    with DragGraph(path, embedder="lexical", student="nearest") as graph:
        graph.ingest(text="Steam drives the turbine of the mill.", name="steam.txt").result()
        with pytest.raises(ConfigurationError) as kept:
            graph.store.query(statement)
    assert not path.with_name("graph.lbug.wal").exists()
    assert kept.value.__traceback__


def test_limits_are_positive(graph):
    with pytest.raises(ConfigurationError, match="limit is 0"):
        graph.store.query(NAMES, limit=0)
    with pytest.raises(ConfigurationError, match="timeout -1"):
        graph.store.query(NAMES, timeout=-1)


def test_the_command(graph, tmp_path):
    def run(*arguments):
        done = CliRunner().invoke(app, ["query", *arguments, "--store", str(graph.settings.store)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done

    assert json.loads(run(NAMES, "--json").stdout) == graph.store.query(NAMES).to_dict()
    rows = list(csv.reader(run(NAMES, "--csv", "--limit", "1").stdout.splitlines()))
    assert rows == [["d.name", "d.tags"], ["steam.txt", "[]"]]
    assert "Only the first 1 rows" in run(NAMES, "--limit", "1").stderr
    assert "wood.txt" in run(NAMES).stdout
