"""The canonical export: equal content, equal bytes."""

import json

from drag_graph.manage.canonical_export import VOLATILE, canonical_lines
from drag_graph.model import Aggregation
from drag_graph.testing.builders import make_answer, make_subgraph
from drag_graph.testing.dict_store import DictStore


def filled(order):
    store = DictStore()
    store.migrate()
    for number in order:
        subgraph = make_subgraph(number)
        store.save([subgraph], Aggregation())
        store.save_answers([make_answer(number, [store.read([subgraph.query.id])[0]])])
    return store


def test_the_order_of_writing_does_not_show():
    first = list(canonical_lines(filled([1, 2, 3]).records()))
    assert first == list(canonical_lines(filled([3, 1, 2]).records()))
    assert first == sorted(first)
    assert first != list(canonical_lines(filled([1, 2]).records()))


def test_times_and_costs_are_left_out_unless_asked_for():
    records = list(filled([1]).records())
    plain = [json.loads(line) for line in canonical_lines(records)]
    full = [json.loads(line) for line in canonical_lines(records, full=True)]
    assert not any(VOLATILE & set(record["properties"]) for record in plain)
    assert any("created_at" in record["properties"] for record in full)
    assert any("cost_usd" in record["properties"] for record in full)


def test_a_changed_confidence_shows():
    records = list(filled([1]).records())
    before = list(canonical_lines(records))
    triple = next(record for record in records if record.get("type") == "TRIPLE")
    triple["properties"]["confidence"] = 0.123
    assert before != list(canonical_lines(records))


def test_half_a_character_is_escaped_and_the_rest_stays_readable():
    odd = {"half \ud83d": "a\udc00", "whole": "\U0001f9ea ü"}
    subgraph = make_subgraph(1)
    subgraph = subgraph.model_copy(update={"source": subgraph.query.model_copy(update={"metadata": odd})})
    with DictStore() as store:
        store.migrate()
        store.save([subgraph], Aggregation())
        lines = list(canonical_lines(store.records()))
    (line,) = [line for line in lines if '"whole"' in line]
    assert "\U0001f9ea ü" in line
    assert json.loads(line.encode())["properties"]["metadata"] == odd
