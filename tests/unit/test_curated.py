import json

import pytest

from drag_graph.errors import InputError, ReplyError
from drag_graph.identity import query_id
from drag_graph.model import Query
from drag_graph.models.teachers.curated_teacher import CuratedTeacher
from drag_graph.ports.model_roles import TeacherRequest
from drag_graph.ports.teacher_replies import REPLIES

LINE = {
    "question": "What makes tides?",
    "options": ["The wind", "The Moon"],
    "evidence": ["The Moon's gravity pulls the sea.", "Wind makes waves.", "The Sun pulls a little, too."],
    "triples": [
        {"subject": "the Moon", "predicate": "pulls", "object": "the sea", "confidence": 0.9, "evidence": [0]},
        {"subject": "wind", "predicate": "makes", "object": "waves", "evidence": [1]},
        {"subject": "gravity", "predicate": "causes", "object": "tides", "confidence": 0.8, "evidence": [0, 2]},
    ],
}
OTHER = {"question": "Why is the sky blue?", "evidence": ["Air scatters blue light most."]}


def write(tmp_path, *lines, name="facts.jsonl", encoding="utf-8", start=b""):
    path = tmp_path / name
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_bytes(start + "\n".join(texts).encode(encoding))
    return path


def request_for(stage, question=LINE["question"], options=tuple(LINE["options"]), texts=(), count=0):
    query = Query(id=query_id("default", question, options), text=question, options=options)
    return TeacherRequest(query, stage, REPLIES[stage], ({"role": "user", "content": "?"},), "v1", count=count, texts=texts)


def test_evidence_as_people_wrote_it(tmp_path):
    teacher = CuratedTeacher(write(tmp_path, LINE, OTHER))
    reply = teacher.ask(request_for("evidence", count=2))
    assert [item.text for item in reply.payload.evidence] == LINE["evidence"]
    assert {item.framing for item in reply.payload.evidence} == {"unspecified"}
    assert not reply.cached
    assert reply.requests == 1
    assert not teacher.is_model
    call = reply.call
    assert (call.model, call.prompt_version, call.cost_usd, call.tokens_in) == ("curated:facts.jsonl", "curated", 0, 0)
    assert teacher.name == "curated:facts.jsonl"
    again = CuratedTeacher(write(tmp_path, LINE, OTHER)).ask(request_for("evidence", count=2)).call
    assert (again.id, again.response_sha256) == (call.id, call.response_sha256)
    assert teacher.problems == []


def test_no_control_character_reaches_a_terminal(tmp_path):
    texts = ["a\x1b[31m red\x9b2J\x07 text", "two\r\nlines\tand a tab", "half a pair \ud800"]
    triple = {"subject": "an\x1b]0;x\x07end", "predicate": "is\x00", "object": "an\nend", "evidence": [0]}
    path = tmp_path / "facts.jsonl"
    path.write_text(json.dumps({"question": LINE["question"], "evidence": texts, "triples": [triple]}))
    teacher = CuratedTeacher(path)
    found = [item.text for item in teacher.ask(request_for("evidence")).payload.evidence]
    assert found == ["a\ufffd[31m red\ufffd2J\ufffd text", "two lines and a tab", "half a pair \ufffd"]
    (read,) = teacher.ask(request_for("triples", texts=tuple(found))).payload.triples
    assert (read.subject, read.predicate, read.object) == ("an\ufffd]0;x\ufffdend", "is\ufffd", "an end")
    assert read.evidence == (0,)
    assert teacher.problems == []


def test_found_by_text_and_options_then_by_text_alone(tmp_path):
    without = {**LINE, "options": None, "evidence": ["without options"], "triples": []}
    teacher = CuratedTeacher(write(tmp_path, LINE, without, OTHER))
    found = teacher.ask(request_for("evidence", "  what makes TIDES? ", ("the wind", "The  Moon"))).payload
    assert found.evidence[0].text == LINE["evidence"][0]
    assert teacher.ask(request_for("evidence", options=("x", "y"))).payload.evidence[0].text == LINE["evidence"][0]
    assert teacher.ask(request_for("evidence", OTHER["question"], ("a", "b"))).payload.evidence[0].text.startswith("Air")
    with pytest.raises(ReplyError, match="no line for this question"):
        teacher.ask(request_for("evidence", "Who wrote Hamlet?"))


def test_triples_follow_their_evidence_to_its_place_in_the_request(tmp_path):
    teacher = CuratedTeacher(write(tmp_path, LINE))
    reply = teacher.ask(request_for("triples", texts=(LINE["evidence"][2], f"  {LINE['evidence'][1].upper()} ")))
    found = {item.subject: (item.evidence, item.confidence) for item in reply.payload.triples}
    assert found == {"wind": ((1,), 1.0), "gravity": ((0,), 0.8)}
    everything = teacher.ask(request_for("triples", texts=tuple(LINE["evidence"]))).payload
    assert [item.evidence for item in everything.triples] == [(0,), (1,), (0, 2)]
    assert teacher.ask(request_for("triples", texts=("something else",))).payload.triples == ()


def test_nothing_is_made_up(tmp_path):
    teacher = CuratedTeacher(write(tmp_path, LINE))
    assert teacher.ask(request_for("scores", texts=("a",), count=1)).payload.scores == ()
    assert teacher.ask(request_for("statements")).payload.statements == ()


def test_bad_lines_are_reported_and_the_others_go_on(tmp_path):
    bad = [
        "not json",
        "[1, 2]",
        '{"evidence": ["no question"]}',
        {"question": "", "evidence": ["x"]},
        {"question": "No evidence?"},
        {"question": "Empty?", "evidence": []},
        {"question": "Wrong?", "evidence": [1, ""]},
        {"question": "One option?", "options": ["a"], "evidence": ["x"]},
    ]
    teacher = CuratedTeacher(write(tmp_path, *bad, "", OTHER, OTHER))
    assert teacher.ask(request_for("evidence", OTHER["question"], ())).payload.evidence
    reported = teacher.problems
    assert [problem.split(":")[0] for problem in reported] == [f"line {n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 11)]
    assert "earlier line" in reported[-1]


def test_bad_evidence_and_triples_of_a_good_line(tmp_path):
    line = {
        "question": "Q?",
        "evidence": ["one", "  ", 3, "four"],
        "triples": [
            {"subject": "a", "predicate": "b", "object": "c", "evidence": [3]},
            {"subject": "a", "predicate": "b", "object": "A", "evidence": [0]},
            {"subject": "a", "predicate": "b", "object": "c", "confidence": 7, "evidence": [0]},
            {"subject": "a", "predicate": "b", "object": "c", "confidence": "high", "evidence": [0]},
            {"subject": "a", "predicate": "b", "object": "c", "evidence": [1, 9]},
            {"subject": "a", "predicate": "b", "object": "c"},
            ["a", "b", "c"],
        ],
    }
    teacher = CuratedTeacher(write(tmp_path, line))
    served = teacher.ask(request_for("evidence", "Q?", ())).payload
    assert [item.text for item in served.evidence] == ["one", "four"]
    found = teacher.ask(request_for("triples", "Q?", (), texts=("one", "four"))).payload
    assert [item.evidence for item in found.triples] == [(1,)]
    assert len(teacher.problems) == 2 + 6


def test_a_byte_order_mark_is_no_content(tmp_path):
    teacher = CuratedTeacher(write(tmp_path, LINE, start=b"\xef\xbb\xbf"))
    assert len(teacher.ask(request_for("evidence")).payload.evidence) == 3


@pytest.mark.parametrize(("encoding", "start"), [("utf-16-le", b"\xff\xfe"), ("utf-16-be", b""), ("utf-16-be", b"\xfe\xff")])
def test_another_encoding_is_said(tmp_path, encoding, start):
    path = write(tmp_path, LINE, encoding=encoding, start=start)
    with pytest.raises(InputError, match=r"line 1: Not (UTF-8|JSON)"):
        CuratedTeacher(path)


def test_a_latin_1_line_is_reported(tmp_path):
    path = write(tmp_path, {"question": "Où?", "evidence": ["là"]}, encoding="latin-1")
    with pytest.raises(InputError, match="Not UTF-8 at byte"):
        CuratedTeacher(path).ask(request_for("evidence"))
    path.write_bytes(path.read_bytes() + b"\n" + json.dumps(OTHER).encode())
    assert "line 1" in CuratedTeacher(path).problems[0]


def test_files_without_anything_usable_are_said(tmp_path):
    with pytest.raises(InputError, match="Cannot read"):
        CuratedTeacher(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="Cannot read"):
        CuratedTeacher(tmp_path)
    with pytest.raises(InputError, match="it is empty"):
        CuratedTeacher(write(tmp_path, "", "")).ask(request_for("evidence"))
    with pytest.raises(InputError, match="line 1: Not JSON"):
        CuratedTeacher(write(tmp_path, "x")).ask(request_for("evidence"))


def test_a_file_that_changes_underfoot_counts_as_it_was(tmp_path):
    path = write(tmp_path, OTHER, LINE)
    teacher = CuratedTeacher(path)
    path.write_text("{}\n")
    assert len(teacher.ask(request_for("evidence")).payload.evidence) == 3
    assert teacher.fingerprint == CuratedTeacher(write(tmp_path, OTHER, LINE)).fingerprint
