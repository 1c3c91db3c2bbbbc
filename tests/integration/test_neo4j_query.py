"""`query` on a real Neo4j: what it reads, and what the server or our own check refuses."""

import uuid

import pytest

from drag_graph.errors import ConfigurationError
from drag_graph.model import Aggregation
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.testing.builders import make_subgraph

pytestmark = pytest.mark.neo4j


@pytest.fixture(scope="module")
def store(neo4j_lts):
    uri, username, password = neo4j_lts
    namespace = f"tests-{uuid.uuid4().hex[:12]}"
    with Neo4jStore(uri, username=username, password=password, namespace=namespace) as store:
        store.migrate()
        graph = make_subgraph(namespace=namespace)
        store.save([graph], Aggregation())
        yield store
        store.erase([graph.source_id])


def query(store, statement, limit=10, seconds=10.0):
    return store.query(statement.replace("{namespace}", store.namespace), limit=limit, seconds=seconds)


def test_rows_nodes_relationships_and_paths(store):
    found = query(store, "MATCH p=(a:Entity {namespace: '{namespace}'})-[t:TRIPLE]->(b) RETURN a, t, p, 1.5 AS x LIMIT 1")
    ((node, edge, path, number),) = found.rows
    assert found.columns == ("a", "t", "p", "x")
    assert (node["type"], node["labels"], node["properties"]["namespace"]) == ("node", ["Entity"], store.namespace)
    assert (edge["type"], edge["name"]) == ("relationship", "TRIPLE")
    assert path == {"type": "path", "nodes": [node, path["nodes"][1]], "relationships": [edge]}
    assert number == 1.5


def test_values_and_limits(store):
    row = "date('2026-01-02'), duration('P1D'), 1.0/0.0, [date('2026-01-02')], {a: null}, point({x: 1, y: 2})"
    ((day, period, infinite, days, nothing, point),) = query(store, f"RETURN {row}").rows
    assert (day, period, infinite, days, nothing) == ("2026-01-02", "P1D", "inf", ["2026-01-02"], {"a": None})
    assert point == [1.0, 2.0]
    found = query(store, "UNWIND range(1, 5) AS x RETURN x;", limit=2)
    assert (found.rows, found.truncated) == (((1,), (2,)), True)


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (n {namespace: '{namespace}'}) SET n.text = 'x'",
        "MATCH (n {namespace: '{namespace}'}) DETACH DELETE n",
        "WITH 1 AS x CREATE (:Entity {namespace: '{namespace}'})",
        "RETURN 1; MATCH (n {namespace: '{namespace}'}) DETACH DELETE n",
        "LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row",
        "MATCH (n) LOAD CSV FROM 'http://127.0.0.1:1' AS row RETURN row",
        "RETURN 'x\\u0027 LOAD CSV FROM \\u0027file:///etc/passwd\\u0027 AS row RETURN \\u0027'",
        "CALL dbms.components() YIELD name RETURN name",
        "MATCH (n) CALL (n) { SET n.x = 1 } RETURN n",
        "SHOW USERS",
        "DROP INDEX x",
        "MATCH (n RETURN n",
        "RETURN $x",
    ],
)
def test_anything_else_is_refused_and_changes_nothing(store, statement):
    before = store.counts()
    with pytest.raises(ConfigurationError) as raised:
        query(store, statement)
    assert raised.value.hint
    assert store.counts() == before


def test_a_long_statement_is_stopped(store):
    with pytest.raises(ConfigurationError, match=r"longer than 0\.3 seconds"):
        query(store, "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN sum(a * b)", seconds=0.3)
    assert query(store, "RETURN 1").rows == ((1,),)
