"""A reader on Neo4j that meets what is deleted under it reads again, within its deadline."""

import time
import uuid
from pathlib import Path

import neo4j
import pytest

from drag_graph.adapters.neo4j_connection import Neo4jConnection
from drag_graph.adapters.neo4j_errors import VANISHED, is_passing
from drag_graph.errors import StoreUnavailable
from drag_graph.queries import load_from

pytestmark = pytest.mark.neo4j
STATEMENTS = Path(__file__).parent / "vanishing"
MANY = 2500
"""More than one fetch of the driver: the rest is read by the server when the first are taken."""


@pytest.fixture
def namespace():
    return f"vanishing-{uuid.uuid4().hex}"


@pytest.fixture
def execute(neo4j_lts, namespace):
    uri, username, password = neo4j_lts

    def run(name, **parameters):
        driver.execute_query(*load_from(STATEMENTS, name, "neo4j").bind(namespace=namespace, **parameters))

    with neo4j.GraphDatabase.driver(uri, auth=(username, password)) as driver:
        yield run
        run("delete_nodes")


def connection_to(neo4j_lts, timeout):
    uri, username, password = neo4j_lts
    return Neo4jConnection(uri, username=username, password=password, database=None, timeout=timeout)


def reading(execute, namespace, tries, *, always=False):
    """Return a reading work under which all that it has found is deleted while it reads: the first time, or always."""

    def work(work):
        tries.append(time.monotonic())
        if always:
            execute("make_nodes", number=MANY)
        rows = iter(work._transaction.run(*load_from(STATEMENTS, "read_nodes", "neo4j").bind(namespace=namespace)))
        found = [row["n"] for row, _ in zip(rows, range(10), strict=False)]
        if found and (always or len(tries) == 1):
            execute("delete_nodes")
        return found + [row["n"] for row in rows]

    return work


def test_what_vanishes_under_a_reader_is_read_again(neo4j_lts, execute, namespace):
    execute("make_nodes", number=MANY)
    tries = []
    connection = connection_to(neo4j_lts, 30.0)
    assert connection.read(reading(execute, namespace, tries)) == []
    assert len(tries) == 2
    connection.close()


def test_it_is_given_up_in_words_at_the_deadline(neo4j_lts, execute, namespace):
    tries = []
    connection = connection_to(neo4j_lts, 1.5)
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match="being erased") as caught:
        connection.read(reading(execute, namespace, tries, always=True))
    assert caught.value.__cause__.code == VANISHED
    assert is_passing(caught.value.__cause__)
    assert len(tries) > 1
    assert time.monotonic() - began < 15.0
    connection.close()
