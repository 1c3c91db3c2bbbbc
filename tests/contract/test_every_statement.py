"""Runs after the stores of this folder (its name sorts after theirs): no statement is there that no test has executed."""

import pytest

from drag_graph.stores.shared import cypher_files as queries


@pytest.mark.parametrize("dialect", queries.DIALECTS)
def test_every_statement_was_executed(dialect):
    never = sorted(set(queries.names(dialect)) - {name for engine, name in queries.executed if engine == dialect})
    assert never == [], "run all of tests/contract, or cover these there"
