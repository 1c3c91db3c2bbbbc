"""What a reader of Neo4j takes for one state of a subgraph, beside a writer (docs/decisions/0002-ids-and-editions.md)."""

import pytest

from drag_graph.stores.neo4j.neo4j_rows import is_whole, subgraph_row
from drag_graph.stores.shared.transaction import Row
from drag_graph.testing.builders import make_subgraph

AGGREGATION = "pair max 0.7 15"


def _row() -> Row:
    """Return what a reader is given of a subgraph that nobody writes."""
    head, _, calls, evidence, entities, triples, *_ = subgraph_row(make_subgraph(0), new=True)
    revision = f"a revision simple {AGGREGATION}"
    return {
        "head": {**head, "graph": "simple", "aggregation": AGGREGATION},
        "calls": calls,
        "evidence": [[*item, head["call_ids"]] for item in evidence],
        "entities": entities,
        "triples": triples,
        "edges": [],
        "stamp": [revision, [*head["sizes"], 0], head["call_ids"], head["head_sha256"]],
        "revision": revision,
    }


def test_what_was_written_at_once_is_whole():
    assert is_whole(_row())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[
            ("created_at", "2026-03-01T00:00:08+00:00"),
            ("metadata", '{"edition":"8"}'),
            ("complexity", "complex"),
            ("blind", True),
        ],
        *[("embedding", [1.0]), ("graph", "multigraph"), ("aggregation", "pair max 0.7 100")],
    ],
)
def test_a_property_of_another_edition_is_noticed(name, value):
    row = _row()
    assert row["head"].get(name) != value
    assert not is_whole({**row, "head": {**row["head"], name: value}})


def test_what_an_earlier_version_wrote_needs_no_hash():
    row = _row()
    revision, sizes, call_ids, _ = row["stamp"]
    assert is_whole({**row, "stamp": ["revision", sizes, call_ids, None], "revision": "revision"})
    assert is_whole({**row, "stamp": ["revision", sizes, call_ids, row["head"]["head_sha256"]], "revision": "revision"})
    assert is_whole({**row, "stamp": [None, None, None, None], "revision": None})
    assert not is_whole({**row, "stamp": [None, sizes, call_ids, None], "revision": None})
    assert not is_whole({**row, "stamp": [revision, sizes, call_ids, None], "revision": "another revision"})
