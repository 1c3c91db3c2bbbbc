"""Bad input lines are named with their number and reason, and the others go on."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.errors import InputError, QueryInvalid
from drag_graph.inputs import LINE_LIMIT, make_query, parse_lines, read_queries


def parse(*lines):
    encoded = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return list(parse_lines(encoded, namespace="default"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "Not JSON"),
        (b"[1]", "Not a JSON object"),
        (b'{"question": "caf\xe9"}', "Not UTF-8 at byte"),
        (b"\x00\x01\x02\xff", "Not"),
        ({"question": ""}, "is empty"),
        ({"question": "   "}, "is empty"),
        ({}, "no question"),
        ({"question": 7}, "not a text"),
        ({"question": "a\x00b"}, "looks binary"),
        (b'{"question": "\\ud800"}', "the lone surrogate '\\ud800'"),
        ({"question": "a" * 1_000_000}, "1,000,000 characters"),
        ({"question": "q", "options": ["a"]}, "one option"),
        ({"question": "q", "options": "ab"}, "must be a list"),
        ({"question": "q", "options": {"A": "x"}}, "must be a list"),
        ({"question": "q", "options": ["a", "b", "A "]}, "Options 1 and 3 are the same"),
        ({"question": "q", "options": ["a", ""]}, "option 2 is empty"),
        ({"question": "q", "options": ["a", None]}, "no option 2"),
        ({"question": "q", "options": [str(n) for n in range(27)]}, "27 options"),
        ({"question": "q", "options": ["a", "b"], "answer": 2}, "not an index"),
        ({"question": "q", "options": ["a", "b"], "answer": "z"}, "is not an index"),
        ({"question": "q", "options": ["a", "b"], "answer": True}, "is not an index"),
        ({"question": "q", "domain": "cooking"}, "domain must be one of"),
        (b"[" * 100_000, "Not JSON"),
        (b'{"question": "q", "score": NaN}', "NaN is not a JSON number"),
        (b'{"question": "q", "id": "\\ud800"}', "invalid Unicode"),
        (b'{"question": "q", "note": {"deep": ["\\udfff"]}}', "invalid Unicode"),
        (b'{"question": "q", "answer": "\\ud800"}', "invalid Unicode"),
    ],
)
def test_a_bad_line_is_named_and_the_others_go_on(line, reason):
    before, bad, after = parse({"question": "one?"}, line, {"question": "two?"})
    assert bad.number == 2
    assert bad.query is None
    assert reason in bad.problem
    assert before.query.text == "one?"
    assert after.query.text == "two?"


def test_answers_are_read_as_index_letter_or_text():
    options = ["red", "green", "blue"]
    golds = [make_query("q", options, answer=answer).gold for answer in (2, "C", "c.", "Blue", None)]
    assert golds == [2, 2, 2, 2, None]
    assert make_query("q", ["True", "False"], answer=False).gold == 1
    assert make_query("q", answer="Paris").gold == "Paris"
    assert make_query("q", answer=["Paris", "paris, france"]).gold == ("Paris", "paris, france")


def test_the_same_question_has_the_same_id_whatever_its_spacing_case_and_width():
    first = make_query("What  is\tDNA?", ["A acid", "B"])
    assert make_query("what is dna?", ["a  acid", "b"]).id == first.id
    assert make_query("what is dna?", ["b", "a acid"]).id != first.id
    assert make_query("what is dna?").id != first.id
    assert make_query("what is dna?", ["a acid", "b"], namespace="other").id != first.id


def test_unknown_keys_are_kept_and_a_byte_order_mark_is_not():
    (line,) = parse(b"\xef\xbb\xbf" + json.dumps({"id": 7, "question": "q", "subject": "biology"}).encode())
    assert line.query.metadata == {"subject": "biology"}
    assert line.query.input_id == "7"


def test_a_line_longer_than_the_limit_is_refused_and_the_next_is_read(tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_bytes(b'{"question": "' + b"x" * (LINE_LIMIT * 2) + b'"}\n{"question": "short"}\n')
    long, short = read_queries(path)
    assert "longer than" in long.problem
    assert (short.number, short.query.text) == (2, "short")


def test_a_missing_file_and_a_folder_are_said_in_words(tmp_path):
    for path in (tmp_path / "nothing.jsonl", tmp_path):
        with pytest.raises(InputError, match="Cannot read"):
            list(read_queries(path))


@given(st.binary(max_size=400))
def test_no_line_of_bytes_raises_anything_else(line):
    for entry in parse_lines([line], namespace="default"):
        assert (entry.query is None) == bool(entry.problem)


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"question": "Why?"}\n')))
    assert [line.query.text for line in read_queries(Path("-"))] == ["Why?"]


def test_lines_that_end_by_carriage_returns_alone_are_said_in_words(tmp_path):
    path = tmp_path / "mac.csv"
    path.write_bytes(b"id,question\r1,Why?\r2,Who?\r")
    with pytest.raises(InputError, match="carriage returns"):
        list(read_queries(path))


def test_26_options_are_allowed():
    assert len(make_query("q", [str(n) for n in range(26)]).options) == 26
    with pytest.raises(QueryInvalid, match="27 options"):
        make_query("q", [str(n) for n in range(27)])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", "question,options,answer\nq,wood|steam,1\n"),
        ("q.jsonl", '{"question": "q", "options": ["wood", "steam"], "answer": "1"}\n'),
    ],
)
def test_a_number_in_a_text_is_an_index_unless_an_option_reads_so(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert [line.query.gold for line in read_queries(tmp_path / name)] == [1]
    assert make_query("q", ["2", "1"], answer="1").gold == 1
    assert make_query("q", ["1", "2"], answer="1").gold == 0
    with pytest.raises(QueryInvalid, match="The answer 2 is not an index into 2 options; the first is 0"):
        make_query("q", ["wood", "steam"], answer="2")


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\x00\x00", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj", b"\xff\xfe{\x00"])
def test_a_binary_file_is_one_error(tmp_path, content):
    (tmp_path / "q.jsonl").write_bytes(content)
    with pytest.raises(InputError, match="is not a text file in UTF-8"):
        list(read_queries(tmp_path / "q.jsonl"))
