import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.model import Query
from drag_graph.models.teachers.json_repair import documents, looks_cut_off
from drag_graph.models.teachers.reply_reading import (
    CutOff,
    Refused,
    Unreadable,
    fit,
    is_refusal,
    join,
    parse_reply,
    read,
)
from drag_graph.ports.model_roles import TeacherRequest
from drag_graph.ports.teacher_replies import EvidenceReply, ScoresReply, StatementsReply, TriplesReply

FACTS = [{"text": f'Fact {i} has {{braces}}, [brackets] and "quotes".', "framing": "causal"} for i in range(3)]
TEXT = json.dumps({"evidence": FACTS})
TRIPLE = {"subject": "a", "predicate": "b", "object": "c", "confidence": 0.5, "evidence": [0]}


def texts(reply):
    return [item.text for item in reply.evidence]


WHOLE = [fact["text"] for fact in FACTS]


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"\ufeff{TEXT}",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}",
        f"Here is what I found [1]:\n\n{TEXT}\n\nAnything else?",
        f"Of the facts that you asked for, \n{TEXT}",
        f'<think>{{"evidence": [{{"text": "a draft"}}]}}</think>\n{TEXT}',
        f'a thought without its opening tag {{"evidence": []}}</think>{TEXT}',
        f"<THINKING>\nhm\n</THINKING>```json\n{TEXT}\n```",
        json.dumps(FACTS),
        "\n".join(map(json.dumps, FACTS)),
        json.dumps({"data": {"items": {"evidence": FACTS}}}),
        json.dumps({"facts": FACTS, "count": 3}),
        json.dumps({"evidence": json.dumps(FACTS)}),
        TEXT[:-1],
        TEXT[:-2],
        TEXT[:-2] + ",]}",
        TEXT.replace('"framing": "causal"', "framing: causal"),
    ],
)  # fmt: skip
def test_the_same_evidence_is_read_out_of_any_wrapping(text):
    assert texts(read(text, EvidenceReply)) == WHOLE


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", '"NaN"', '"high"', "true", "null", "7", "-0.1", "[0.5]"]
)
def test_what_is_no_confidence_discards_its_triple(number):
    bad = json.dumps(TRIPLE).replace("0.5", number)
    reply = read(f'{{"triples": [{bad}, {json.dumps(TRIPLE)}]}}', TriplesReply)
    assert [item.confidence for item in reply.triples] == [0.5]
    assert "confidence" in reply.discarded[0]
    with pytest.raises(Unreadable, match="confidence"):
        read(f'{{"triples": [{bad}]}}', TriplesReply)


def test_a_doubled_key_is_believed_in_neither_value():
    doubled = json.dumps(TRIPLE).replace('"object": "c"', '"object": "c", "object": "d"')
    reply = read(f'{{"triples": [{json.dumps(TRIPLE)}, {doubled}]}}', TriplesReply)
    assert [item.object for item in reply.triples] == ["c"]
    assert "object" in reply.discarded[0]
    with pytest.raises(Unreadable, match='a list "evidence"'):
        read('{"evidence": [{"text": "a"}], "evidence": [{"text": "b"}]}', EvidenceReply)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8, 0.95])
def test_half_a_document_is_cut_off_never_a_shorter_one(share):
    text = TEXT[: int(len(TEXT) * share)]
    assert looks_cut_off(text)
    for shown in (text, f"```json\n{text}", f"Sure:\n{text}"):
        with pytest.raises(CutOff):
            read(shown, EvidenceReply)


def test_the_length_limit_makes_even_a_mendable_reply_cut_off():
    with pytest.raises(CutOff):
        read(TEXT[:-2], EvidenceReply, finish_reason="length")
    assert texts(read(TEXT, EvidenceReply, finish_reason="length")) == WHOLE


def test_thinking_that_never_ended_is_cut_off():
    with pytest.raises(CutOff):
        read('<think>I could say {"evidence": [{"text": "a draft"}]} or', EvidenceReply)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that.",
        "I\u2019m sorry, I cannot help.",
        "Sorry, that is not possible.",
        "I cannot provide medical advice.",
        "I can\u2019t do that.",
        "As an AI language model, I do not give opinions.",
        "I am unable to answer.",
        "**I must decline** to answer.",
    ],
)
def test_refusals(text):
    assert is_refusal(text)
    with pytest.raises(Refused):
        read(text, EvidenceReply)


@pytest.mark.parametrize(
    "text",
    [
        "Plants need light.",
        "I can think of three facts.",
        f"I'm sorry for the wait. {TEXT}",
        "Sorry to say, " + "photosynthesis is long to explain. " * 40,
        "",
        "Icy roads are slippery.",
    ],
)
def test_no_refusals(text):
    assert not is_refusal(text)


@pytest.mark.parametrize(
    "text",
    ["", "  \n", "Plants are green.", "{}", "null", "12", '"text"', '{"triples": {"a": "b"}}', "[[], []]", "[1, 2"],
)
def test_unreadable_with_a_sentence(text):
    with pytest.raises(Unreadable, match=r"\w+ \w+"):
        read(text, TriplesReply)


def test_an_empty_list_is_a_reply():
    for text in ('{"triples": []}', "[]", "```json\n[]\n```", 'Nothing found: {"triples": []}'):
        assert read(text, TriplesReply).triples == ()


def test_control_characters_and_broken_unicode_are_replaced():
    reply = read('{"evidence": [{"text": "a\\u0000b\\ud800c\\nd"}]}', EvidenceReply)
    assert texts(reply) == ["a\ufffdb\ufffdc\nd"]
    reply.model_dump_json().encode("utf-8")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 50_000, "[" * 100_000 + "]" * 100_000, '{"evidence": ["' + "[1" * 50_000]
)
def test_deep_nesting_is_refused_quickly(text):
    began = time.process_time()
    with pytest.raises(Unreadable):
        read(text, EvidenceReply)
    assert time.process_time() - began < 5


def test_a_huge_reply_is_refused():
    with pytest.raises(Unreadable, match="longer than"):
        read("a" * 2_000_001, EvidenceReply)


@given(st.text(max_size=200), st.text(alphabet='{}[]",:abc\\ \n0', max_size=60))
def test_any_text_is_read_or_refused(text, structure):
    for shown in (text, structure, TEXT[:60] + structure):
        try:
            reply = read(shown, EvidenceReply)
        except Unreadable:
            continue
        assert all(item.text.strip() for item in reply.evidence)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(alphabet="ab {}[]\"'\\,:", max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='ab"}', max_size=3), inner, max_size=3),
        max_leaves=8,
    ).filter(lambda value: isinstance(value, dict))
)
def test_valid_json_is_read_as_it_is(value):
    assert documents(json.dumps(value)) == ([value], "")
    assert documents(f"Here:\n```json\n{json.dumps(value, indent=2)}\n```") == ([value], "")


@given(st.integers(20, len(TEXT) - 1), st.integers(0, 30))
def test_join_gives_back_the_whole(cut, overlap):
    back = overlap if overlap >= 8 else 0
    assert join(TEXT[:cut], TEXT[max(cut - back, 0) :]) == TEXT
    assert join(TEXT[:cut], "```json\n" + TEXT[cut:]) == TEXT


def request_for(schema, count=0, size=0):
    query = Query(id="q", text="Why?")
    evidence = tuple(f"text {i}" for i in range(size))
    return TeacherRequest(query, schema.schema_name, schema, (), "1", count=count, texts=evidence)


def triples(*evidence):
    return parse_reply(TriplesReply, [{**TRIPLE, "evidence": list(numbers)} for numbers in evidence])


def test_positions_from_one_are_shifted_only_when_they_can_be_nothing_else():
    size3 = request_for(TriplesReply, size=3)
    assert [item.evidence for item in fit(triples([1], [2, 3]), size3).triples] == [(0,), (1, 2)]
    assert [item.evidence for item in fit(triples([1], [2]), size3).triples] == [(1,), (2,)]
    mixed = fit(triples([0], [3], [1, 3, 1]), size3)
    assert [item.evidence for item in mixed.triples] == [(0,), (1,)]
    assert len(mixed.discarded) == 1


def test_scores_are_one_each_for_positions_that_exist():
    request = request_for(ScoresReply, size=3)
    reply = parse_reply(ScoresReply, [{"index": i, "score": s} for i, s in [(0, 5), (0, 6), (9, 7), (2, 8), (1, 11)]])
    fitted = fit(reply, request)
    assert {item.index: item.score for item in fitted.scores} == {0: 5, 2: 8}
    assert len(fitted.discarded) == 3
    shifted = fit(parse_reply(ScoresReply, [{"index": i, "score": i} for i in (1, 2, 3)]), request)
    assert {item.index: item.score for item in shifted.scores} == {0: 1, 1: 2, 2: 3}


def test_statements_keep_to_their_pairs():
    reply = parse_reply(StatementsReply, [{"pair": i, "statement": "s"} for i in (0, 1, 5)])
    assert [item.pair for item in fit(reply, request_for(StatementsReply, count=2)).statements] == [0, 1]


def test_more_evidence_than_asked_for_is_cut_fewer_is_kept():
    reply = parse_reply(EvidenceReply, FACTS)
    cut = fit(reply, request_for(EvidenceReply, count=2))
    assert texts(cut) == WHOLE[:2]
    assert "more than the 2 asked for" in cut.discarded[0]
    assert fit(reply, request_for(EvidenceReply, count=9)) == reply
    with pytest.raises(Unreadable, match="no usable entry"):
        fit(parse_reply(EvidenceReply, []), request_for(EvidenceReply, count=3))


def test_confidences_are_finite():
    reply = read(json.dumps({"triples": [TRIPLE] * 2}), TriplesReply)
    assert all(math.isfinite(item.confidence) for item in reply.triples)
