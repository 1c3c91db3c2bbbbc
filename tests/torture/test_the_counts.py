"""The long version keeps its word about its own size."""

import pytest


@pytest.mark.torture
def test_at_least_200_kills_were_made_on_each_store_and_20_of_neo4j(tally):
    """Run by `make torture`, after the suites whose kills it counts."""
    kinds = tally.kinds("neo4j")
    assert sum(tally.kinds("embedded").values()) >= 200
    assert sum(number for kind, number in kinds.items() if "the server" not in kind) >= 200
    assert sum(number for kind, number in kinds.items() if "the server" in kind) >= 20
