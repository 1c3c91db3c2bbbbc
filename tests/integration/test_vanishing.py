"""A statement on Neo4j that meets what another one deleted since it was found is repeated, within the deadline.

When a server answers so is a race within it, so what it answers is raised here.
"""

import time

import pytest
from neo4j.exceptions import Neo4jError

from drag_graph.errors import StoreError, StoreUnavailable
from drag_graph.stores.neo4j.connection import Neo4jConnection
from drag_graph.stores.neo4j.neo4j_errors import VANISHED

pytestmark = pytest.mark.neo4j


@pytest.fixture
def connect(neo4j_lts):
    uri, username, password = neo4j_lts
    made = []

    def connect_(timeout):
        made.append(Neo4jConnection(uri, username=username, password=password, database=None, timeout=timeout))
        return made[-1]

    yield connect_
    for connection in made:
        connection.close()


class Failing:
    """Work that a server refuses so many times before it is done."""

    def __init__(self, times, code=VANISHED):
        self.left, self.tries, self.code = times, 0, code

    def __call__(self, work):
        self.tries += 1
        work.agent()
        if self.left:
            self.left -= 1
            raise Neo4jError._hydrate_neo4j(code=self.code, message="Unable to load NODE 4:0:1.")
        return "done"


@pytest.mark.parametrize("way", ["read", "write"])
def test_what_vanished_is_looked_for_again(connect, way):
    work = Failing(2)
    assert getattr(connect(30.0), way)(work) == "done"
    assert work.tries == 3


@pytest.mark.parametrize("way", ["read", "write"])
def test_it_is_given_up_in_words_at_the_deadline(connect, way):
    work = Failing(1000)
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match="being erased") as caught:
        getattr(connect(1.0), way)(work)
    assert caught.value.retryable
    assert 1 < work.tries < 10
    assert time.monotonic() - began < 60.0


def test_other_refusals_are_not_repeated(connect):
    work = Failing(1, "Neo.ClientError.Statement.ArithmeticError")
    with pytest.raises(StoreError, match="cannot execute a statement"):
        connect(30.0).read(work)
    assert work.tries == 1
