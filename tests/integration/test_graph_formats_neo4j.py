"""A real Neo4j loads the exports: the tables by LOAD CSV, the script statement by statement."""

import functools
import http.server
import io
import json
import secrets
import threading
import zipfile

import neo4j
import pytest

from drag_graph.manage.canonical_export import canonical_record
from drag_graph.report.graph_formats import GraphFile
from tests.unit.test_graph_formats import flat, records

__all__ = ["records"]
pytestmark = [pytest.mark.alone]  # the script makes and drops a constraint


@pytest.fixture
def driver(neo4j_lts):
    uri, user, password = neo4j_lts
    with neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver:
        yield driver


@pytest.fixture
def renamed(records, driver):
    """The records with labels and types of their own, which are deleted afterwards."""
    mark = f"Load{secrets.token_hex(4)}"
    yield [
        {**record, key: f"{mark} `{record[key]}`"}  # a name that has to be quoted
        for record in records
        for key in ("label" if record["kind"] == "node" else "type",)
    ]
    driver.execute_query("MATCH (n) WHERE any(label IN labels(n) WHERE label STARTS WITH $mark) DETACH DELETE n", mark=mark)


def written(format_, records):
    stream = io.BytesIO()
    return GraphFile(format_, records, full=True).write(stream), stream.getvalue()


def of_kind(records, kind):
    return [canonical_record(record, full=True) for record in records if record["kind"] == kind]


def held(value):
    """Return a value as a property of Neo4j has it."""
    nested = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict | list) for item in value))
    return flat(value) if nested else value


def test_a_script_makes_the_graph_with_all_its_properties(renamed, driver):
    report, content = written("cypher", renamed)
    with driver.session() as session:
        for statement in content.decode().split(";\n"):
            if statement.strip():
                session.run(statement).consume()
        nodes = of_kind(renamed, "node")
        found = session.run(
            "MATCH (n) WHERE n.id IN $ids RETURN labels(n) AS labels, properties(n) AS own", ids=[node["id"] for node in nodes]
        )
        loaded = {row["own"]["id"]: (row["labels"], row["own"]) for row in found}
        assert loaded == {
            node["id"]: (
                [node["label"]],
                {"id": node["id"], **{name: held(value) for name, value in node["properties"].items()}},
            )
            for node in nodes
        }
        assert report.nodes == len(nodes)
        found = session.run(
            "MATCH (a)-[r]->(b) WHERE a.id IN $ids RETURN type(r) AS type, a.id AS a, b.id AS b, properties(r) AS own",
            ids=list(loaded),
        )
        got = sorted(json.dumps([row["type"], row["a"], row["b"], row["own"]], sort_keys=True) for row in found)
    edges = of_kind(renamed, "edge")
    assert got == sorted(
        json.dumps(
            [
                *(edge["type"], edge["source"], edge["target"]),
                {name: held(value) for name, value in edge["properties"].items()},
            ],
            sort_keys=True,
        )
        for edge in edges
    )
    assert report.relationships == len(edges)
    lists = {name for name, how in report.rewritten if how == "JSON text"}
    assert any(name.endswith("`.snapshot") for name in lists)
    assert not any(name.endswith(("`.embedding", "`.call_ids")) for name in lists)


class Silent(http.server.SimpleHTTPRequestHandler):
    """Serves the tables."""

    def log_message(self, *_args):
        pass


def test_load_csv_reads_the_tables(records, driver, tmp_path):
    report, content = written("csv", records)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"

        def loaded(name):
            rows = driver.execute_query("LOAD CSV WITH HEADERS FROM $url AS row RETURN row", url=f"{address}/{name}").records
            return [{key: value for key, value in row["row"].items() if value is not None} for row in rows]

        nodes, edges = loaded("nodes.csv"), loaded("relationships.csv")
        server.shutdown()
    assert (len(nodes), len(edges)) == (report.nodes, report.relationships)

    def text(value):
        return value if isinstance(value, str) else flat(value) if isinstance(value, dict | list) else json.dumps(value)

    def texts(properties):
        return {name: text(value) for name, value in properties.items()}

    assert {row["id"]: row for row in nodes} == {
        record["id"]: {"_label": record["label"], "id": record["id"], **texts(record["properties"])}
        for record in of_kind(records, "node")
    }
    ends = [
        {"_type": it["type"], "_start": it["source"], "_end": it["target"], **texts(it["properties"])}
        for it in of_kind(records, "edge")
    ]
    assert sorted(map(json.dumps, ({k: row[k] for k in sorted(row)} for row in edges))) == sorted(
        map(json.dumps, ({k: row[k] for k in sorted(row)} for row in ends))
    )
