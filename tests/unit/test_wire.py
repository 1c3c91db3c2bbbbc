import json

import pytest
from pydantic import ValidationError

from drag_graph.model import ENTITY_TYPES
from drag_graph.models.teachers.bounded_schema import bounded_schema, longest
from drag_graph.models.teachers.reply_reading import parse_reply
from drag_graph.ports.teacher_replies import REPLIES, EvidenceReply, ScoresReply, TriplesReply

TRIPLE = {"subject": "a", "predicate": "b", "object": "c", "confidence": 0.5, "evidence": [0]}
EXAMPLES = {
    "evidence": {"evidence": [{"text": "t", "framing": "causal"}]},
    "scores": {"scores": [{"index": 0, "score": 10}]},
    "triples": {"triples": [{**TRIPLE, "subject_type": "person", "object_type": "other"}]},
    "statements": {"statements": [{"pair": 0, "statement": "s"}]},
    "summaries": {"summaries": [{"name": "n", "summary": "s"}]},
}


@pytest.mark.parametrize("name", sorted(REPLIES))
def test_a_reply_survives_the_round_trip_and_keeps_to_its_schema(name):
    reply = parse_reply(REPLIES[name], EXAMPLES[name])
    assert json.loads(reply.model_dump_json()) == EXAMPLES[name]
    schema = REPLIES[name].json_schema
    assert set(schema["required"]) == set(EXAMPLES[name])
    items = schema["properties"][REPLIES[name].schema_name]["items"]
    assert set(items["required"]) == set(items["properties"]) == set(EXAMPLES[name][REPLIES[name].schema_name][0])
    assert items["additionalProperties"] is False
    assert "$ref" not in json.dumps(schema)


@pytest.mark.parametrize("name", sorted(REPLIES))
def test_a_bounded_schema_is_the_same_shape_with_an_end(name):
    plain, bounded = REPLIES[name].json_schema, bounded_schema(REPLIES[name], 7)
    assert bounded["properties"][name]["maxItems"] == 7
    properties = bounded["properties"][name]["items"]["properties"]
    for key, schema in properties.items():
        ends = {"string": "maxLength", "array": "maxItems"}.get(schema["type"])
        assert ends is None or ends in schema or "enum" in schema, key
    without = [
        {word: one for word, one in schema.items() if word not in ("maxLength", "maxItems")} for schema in properties.values()
    ]
    assert without == list(plain["properties"][name]["items"]["properties"].values())
    assert "maxItems" not in json.dumps(plain)


@pytest.mark.parametrize("name", sorted(REPLIES))
@pytest.mark.parametrize("count", [1, 7])
def test_the_longest_reply_within_the_bounds_is_as_long_as_is_said(name, count):
    def filled(schema):
        if "enum" in schema:
            return max(schema["enum"], key=len)
        fill = {"string": "x" * schema.get("maxLength", 0), "integer": 999, "number": 0.125}
        return [99] * schema["maxItems"] if schema["type"] == "array" else fill[schema["type"]]

    bounded = bounded_schema(REPLIES[name], count)["properties"][name]
    entry = {key: filled(schema) for key, schema in bounded["items"]["properties"].items()}
    reply = json.dumps({name: [entry] * count})
    assert len(reply) <= longest(REPLIES[name], count) <= 2 * len(reply)


def test_there_are_exactly_the_five_shapes():
    assert set(REPLIES) == {"evidence", "scores", "triples", "statements", "summaries"}


@pytest.mark.parametrize("document", [None, 1, "text", {}, {"evidence": {}}, {"evidence": "text"}, {"facts": []}])
def test_wrong_shapes_are_refused_with_a_sentence(document):
    with pytest.raises(ValueError, match='a list "evidence"'):
        parse_reply(EvidenceReply, document)


def test_an_empty_list_is_valid_and_only_bad_entries_are_not():
    assert parse_reply(EvidenceReply, {"evidence": []}).evidence == ()
    with pytest.raises(ValueError, match="no usable entry"):
        parse_reply(EvidenceReply, {"evidence": [{}, {"text": ""}]})


def test_evidence_may_be_plain_texts_and_unknown_framings_are_unspecified():
    reply = parse_reply(
        EvidenceReply, ["a", {"text": " b ", "framing": "poetic"}, {"text": "c", "framing": None}, {"text": "d"}]
    )
    assert [item.text for item in reply.evidence] == ["a", "b", "c", "d"]
    assert {item.framing for item in reply.evidence} == {"unspecified"}


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("person", "person"),
        (" Person ", "person"),
        ("ORG", "other"),
        ("", ""),
        (None, ""),
        (" ", ""),
        (["person"], "other"),
        (7, "other"),
    ],
)
def test_an_entity_type_is_of_the_list_or_other_and_never_costs_a_triple(given, taken):
    (item,) = parse_reply(TriplesReply, [{**TRIPLE, "subject_type": given}]).triples
    assert (item.subject_type, item.object_type) == (taken, "")


def test_the_schema_names_the_entity_types():
    properties = TriplesReply.json_schema["properties"]["triples"]["items"]["properties"]
    assert properties["subject_type"]["enum"] == properties["object_type"]["enum"] == list(ENTITY_TYPES)


@pytest.mark.parametrize(
    "change",
    [
        {"subject": ""}, {"object": "  "}, {"predicate": None}, {"subject": "C"}, {"confidence": 7}, {"confidence": "high"},
        {"confidence": float("nan")}, {"confidence": float("inf")}, {"confidence": True}, {"confidence": None},
        {"evidence": []}, {"evidence": [-1]}, {"evidence": ["x"]}, {"evidence": [True]}, {"evidence": None}, {"subject": ["a"]},
        {"subject": "x" * 20_001},
    ],
)  # fmt: skip
def test_bad_triples_are_discarded(change):
    reply = parse_reply(TriplesReply, [{**TRIPLE, **change}, TRIPLE])
    assert len(reply.triples) == 1
    assert reply.discarded[0].startswith("triples[0]")


def test_harmless_variants_of_a_triple_are_taken():
    reply = parse_reply(
        TriplesReply, [{**TRIPLE, "evidence": 2}, {**TRIPLE, "confidence": "0.9"}, {**TRIPLE, "why": "because"}]
    )
    assert [item.evidence for item in reply.triples] == [(2,), (0,), (0,)]
    assert reply.triples[1].confidence == 0.9
    assert reply.discarded == ()


@pytest.mark.parametrize("score", [0, 11, "good", True, None, float("nan")])
def test_scores_lie_between_1_and_10(score):
    with pytest.raises(ValueError, match="score"):
        parse_reply(ScoresReply, [{"index": 0, "score": score}])


def test_replies_are_frozen():
    reply = parse_reply(EvidenceReply, ["a"])
    with pytest.raises(ValidationError):
        reply.evidence = ()
