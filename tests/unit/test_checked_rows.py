"""Objects made of checked rows cannot be told from those that the model's class makes, and bad rows are refused."""

import copy
import pickle

import pytest
from pydantic import ValidationError

from drag_graph.model import Entity, Evidence, Triple
from drag_graph.stores.shared.checked_rows import CheckedRows
from drag_graph.testing.builders import make_subgraph

EVIDENCE = [name for name in Evidence.model_fields if name != "source_id"]


def row_of(item, names):
    return [getattr(item, name) for name in names]


def test_they_are_what_the_class_makes():
    graph = make_subgraph()
    names = EVIDENCE[::-1]
    made = CheckedRows(Evidence, names).of([row_of(item, names) for item in graph.evidence], graph.query.id)
    assert made == list(graph.evidence)
    assert [item.model_dump_json() for item in made] == [item.model_dump_json() for item in graph.evidence]
    assert hash(made[0]) == hash(graph.evidence[0])
    assert pickle.loads(pickle.dumps(made[0])) == made[0] == copy.deepcopy(made[0])
    other = made[0].model_copy(update={"rank": 9})
    assert (other.rank, made[0].rank) == (9, graph.evidence[0].rank)
    assert other.model_fields_set == made[1].model_fields_set == set(Evidence.model_fields)
    with pytest.raises(ValidationError, match="frozen"):
        made[0].rank = 3


def test_what_the_model_makes_of_a_value_is_made_of_it_here():
    names = [name for name in Entity.model_fields if name != "source_id"]
    values = {"id": "e", "name": "  spaced ", "type": "", "variants": ["b", "a"]}
    (made,) = CheckedRows(Entity, names).of([[values[name] for name in names]], "q")
    assert made == Entity(source_id="q", **values)
    assert (made.name, made.variants) == ("spaced", ("b", "a"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", " "),
        ("text", None),
        ("framing", "poetic"),
        ("cosine", 1.5),
        ("llm_score", 0.0),
        ("rank", -1),
        ("kept", "perhaps"),
    ],
)
def test_what_the_model_refuses_is_refused(field, value):
    item = make_subgraph().evidence[0].model_dump() | {field: value}
    with pytest.raises(ValidationError):
        Evidence(**item)
    with pytest.raises(ValidationError):
        CheckedRows(Evidence, EVIDENCE).of([[item[name] for name in EVIDENCE]], item["source_id"])


@pytest.mark.parametrize("width", [1, -1])
def test_a_row_of_another_length_is_refused(width):
    row = row_of(make_subgraph().evidence[0], EVIDENCE)
    with pytest.raises(ValueError):
        CheckedRows(Evidence, EVIDENCE).of([row[:-1] if width < 0 else [*row, 1]], "q")


@pytest.mark.parametrize("names", [["id"], [*Triple.model_fields]])
def test_a_field_that_is_left_out_is_found_when_the_program_starts(names):
    with pytest.raises(TypeError, match="every field"):
        CheckedRows(Triple, names)
