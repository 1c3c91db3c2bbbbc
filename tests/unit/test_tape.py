import json
import logging
import os
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from drag_graph.adapters.tape import Tape, TapeTeacher, call_id, request_key
from drag_graph.errors import InputError, ReplyError, StoreUnfit
from drag_graph.identity import query_id
from drag_graph.model import Query, TeacherCall
from drag_graph.ports import TeacherReply, TeacherRequest
from drag_graph.wire import EvidenceReply, ScoresReply

MODEL = "gpt-4o-mini"


def request_for(question="Why?", *, namespace="default", options=(), **change):
    query = Query(id=query_id(namespace, question, options), namespace=namespace, text=question, options=options)
    request = TeacherRequest(query, "evidence", EvidenceReply, ({"role": "user", "content": question},), "v1", count=2)
    return replace(request, **change)


def reply_to(request, text='A fact with \u00fcml\u00e4uts, "quotes" and a\nline.', model=MODEL):
    key = request_key(model, request)
    call = TeacherCall(
        id=call_id(request, key),
        source_id=request.query.id,
        stage="evidence",
        model=model,
        prompt_version="v1",
        request_sha256=key,
        response_sha256="0" * 64,
        tokens_in=3,
        cost_usd=0.25,
        created_at="2026-01-01T00:00:00+00:00",
    )
    return TeacherReply(EvidenceReply.parse([text, {}]), call)


def record(tape, request, **how):
    reply = reply_to(request, **how)
    return tape.record(how.get("model", MODEL), request, reply, "raw words")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "teacher.tape"


def test_what_was_recorded_is_found_by_the_same_and_a_later_opening(path):
    request = request_for()
    with Tape(path) as tape:
        assert tape.find(MODEL, request) is None
        kept = record(tape, request)
        assert replace(tape.find(MODEL, request), cached=False, requests=1) == kept
    with Tape(path) as tape:
        found = tape.find(MODEL, request)
        assert found.cached
        assert found.requests == 0
        assert found.call == kept.call
        assert found.payload == kept.payload
        assert found.payload.discarded, "what was discarded can still be shown"
        assert tape.models == (MODEL,)


@pytest.mark.parametrize(
    "change",
    [
        {"messages": ({"role": "user", "content": "Why not?"},)},
        {"parameters": {"temperature": 1}},
        {"prompt_version": "v2"},
        {"stage": "scores", "schema": ScoresReply},
    ],
    ids=["messages", "parameters", "prompt version", "schema"],
)
def test_the_key_covers(path, change):
    with Tape(path) as tape:
        record(tape, request_for())
        assert tape.find(MODEL, request_for(**change)) is None
        assert tape.find("another-model", request_for()) is None
        assert tape.find(MODEL, request_for(count=9, simpler=({"role": "user", "content": "x"},))) is not None


def test_another_query_with_the_same_request_gets_its_own_ids(path):
    first, second = request_for(), request_for(namespace="other")
    with Tape(path) as tape:
        record(tape, first)
        found = tape.find(MODEL, second)
    assert found.call.source_id == second.query.id
    assert found.call.id == call_id(second, request_key(MODEL, second)) != call_id(first, request_key(MODEL, first))
    assert found.call.cost_usd == 0.25


def test_every_line_is_json_and_the_first_names_the_format(path):
    with Tape(path) as tape:
        record(tape, request_for())
    header, line = map(json.loads, path.read_text().splitlines())
    assert header == {"format": "drag-graph teacher tape", "version": 1}
    assert line["record"]["request"]["messages"] == [{"role": "user", "content": "Why?"}]
    assert line["record"]["raw"] == "raw words"


def test_an_edition_is_a_request_of_its_own_and_none_keeps_the_key(path):
    plain, first, second = request_for(), request_for(edition="2026-01-01"), request_for(edition="2026-04-01")
    assert request_key(MODEL, plain) == "61530a6b27d054cbe80135aeb4db50d7d1bab974b173db7e715d3d3df3204882", (
        "recorded tapes stay good"
    )
    with Tape(path) as tape:
        record(tape, plain, text="old")
        assert tape.find(MODEL, first) is None
        record(tape, first, text="new")
        assert tape.find(MODEL, second) is None
        assert tape.find(MODEL, plain).payload.evidence[0].text == "old"
        found = tape.find(MODEL, first)
    assert found.payload.evidence[0].text == "new"
    assert found.call.id != reply_to(plain).call.id
    assert found.call.request_sha256 == request_key(MODEL, first)


@pytest.mark.parametrize("cut", range(1, 400, 7))
def test_a_torn_end_is_ignored_by_readers_and_cut_off_by_the_next_writer(path, cut, caplog):
    first, second = request_for("One?"), request_for("Two?")
    with Tape(path) as tape:
        record(tape, first)
        whole = path.stat().st_size
        record(tape, second)
    content = path.read_bytes()
    path.write_bytes(content[: max(whole, len(content) - cut)])
    with Tape(path, read_only=True) as tape:
        assert tape.find(MODEL, first) is not None
        assert tape.find(MODEL, second) is None
    with Tape(path) as tape:
        record(tape, second)
        assert tape.find(MODEL, second) is not None
    assert path.read_bytes() == content
    assert tape.damaged == 0


def test_only_its_owner_can_read_it(path):
    before = os.umask(0)
    try:
        with Tape(path) as tape:
            record(tape, request_for())
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_torn_header_is_begun_anew(path):
    path.parent.mkdir()
    path.write_bytes(b'{"format": "drag-gra')
    with Tape(path) as tape:
        record(tape, request_for())
    with Tape(path) as tape:
        assert len(tape) == 1


def test_a_damaged_line_is_a_miss_said_aloud_and_can_be_recorded_again(path, caplog):
    caplog.set_level(logging.WARNING)
    first, second = request_for("One?"), request_for("Two?")
    with Tape(path) as tape:
        record(tape, first, text="an important fact")
        record(tape, second)
    path.write_bytes(path.read_bytes().replace(b"an important fact", b"an invented fact!"))
    with Tape(path) as tape:
        assert tape.find(MODEL, first) is None
        assert tape.damaged == 1
        assert "checksum" in caplog.text
        assert tape.find(MODEL, second) is not None
        record(tape, first, text="an important fact")
        assert tape.find(MODEL, first) is not None
    with Tape(path) as tape:
        assert tape.find(MODEL, first).payload.evidence[0].text == "an important fact"


def test_keys_with_the_same_beginning_are_told_apart(path, monkeypatch):
    monkeypatch.setattr("drag_graph.adapters.offset_index._PREFIX", 1)
    requests = [request_for(f"Question {i}?") for i in range(40)]
    with Tape(path) as tape:
        for i, request in enumerate(requests):
            record(tape, request, text=f"fact {i}")
    for tape in (Tape(path), Tape(path, read_only=True)):
        with tape:
            found = [tape.find(MODEL, request).payload.evidence[0].text for request in requests]
            assert found == [f"fact {i}" for i in range(40)]
            assert tape.find(MODEL, request_for("Another question?")) is None
            assert tape.damaged == 0


def test_a_damaged_line_among_keys_with_the_same_beginning(path, monkeypatch):
    monkeypatch.setattr("drag_graph.adapters.offset_index._PREFIX", 1)
    requests = [request_for(f"Question {i}?") for i in range(40)]
    with Tape(path) as tape:
        for i, request in enumerate(requests):
            record(tape, request, text=f"fact number {i:02}")
    path.write_bytes(path.read_bytes().replace(b"fact number 07", b"fact number 70"))
    with Tape(path) as tape:
        found = [tape.find(MODEL, request) for request in requests]
        assert [reply is None for reply in found] == [i == 7 for i in range(40)]
        assert tape.damaged == 1


def test_a_long_line_is_read_whole(path):
    request, text = request_for(), "word " * 3_999
    with Tape(path) as tape:
        record(tape, request, text=text)
        assert tape.find(MODEL, request).payload.evidence[0].text == text.strip()


def test_lines_of_garbage_are_passed_over(path):
    with Tape(path) as tape:
        record(tape, request_for("One?"))
    with path.open("ab") as file:
        file.write(b"garbage\n\n\xff\xfe\n{}\n")
    with Tape(path) as tape:
        record(tape, request_for("Two?"))
        assert tape.find(MODEL, request_for("One?"))
        assert tape.find(MODEL, request_for("Two?"))
        assert tape.damaged == 3


def test_a_newer_version_is_refused_in_words(path):
    path.parent.mkdir()
    path.write_text('{"format": "drag-graph teacher tape", "version": 2}\n')
    with pytest.raises(StoreUnfit, match="version 2"):
        Tape(path)


@pytest.mark.parametrize("content", [b"some notes\n", b"no newline", b"\x00\x01\x02", b"{}\n", b'{"question": "Why?"}\n'])
def test_a_file_of_somebody_else_is_refused_and_left_alone(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StoreUnfit, match="not a teacher tape"):
        Tape(path)
    assert path.read_bytes() == content


def test_a_folder_and_an_unwritable_place_are_refused_in_words(tmp_path):
    with pytest.raises(StoreUnfit, match="cannot be opened"):
        Tape(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnfit, match="cannot be opened"):
        Tape(tmp_path / "file" / "teacher.tape")


def test_a_full_disk_leaves_nothing_half_written(tmp_path):
    """The process may write no file beyond 3000 bytes, which is what a full disk looks like to it."""
    program = f"""
import resource, signal, sys
sys.path.insert(0, {str(__file__.rsplit("/", 1)[0])!r})
from pathlib import Path
from test_tape import *
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
tape = Tape(Path(sys.argv[1]))
record(tape, request_for("One?"))
try:
    record(tape, request_for("Two?"), text="x" * 3000)
except StoreUnfit as error:
    sys.exit(f"refused: {{error}}")
"""
    path = tmp_path / "t.tape"
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert "refused: the teacher tape" in done.stderr
    assert "cannot be written" in done.stderr
    assert path.read_bytes().endswith(b"}\n")
    with Tape(path) as tape:
        assert tape.find(MODEL, request_for("One?"))
        assert tape.find(MODEL, request_for("Two?")) is None


def test_threads_and_a_second_opening_append_side_by_side(path):
    tapes = [Tape(path), Tape(path)]
    questions = [f"Question {i}?" for i in range(60)]

    def work(part):
        for question in questions[part::6]:
            record(tapes[part % 2], request_for(question))

    threads = [threading.Thread(target=work, args=(part,)) for part in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for tape in tapes:
        assert all(tape.find(MODEL, request_for(question)) for question in questions)
        assert tape.damaged == 0
    assert len(path.read_bytes().splitlines()) == 61


def test_processes_append_side_by_side(path):
    program = f"""
import sys
sys.path.insert(0, {str(__file__.rsplit("/", 1)[0])!r})
from pathlib import Path
from test_tape import *
tape = Tape(Path(sys.argv[1]))
for i in range(40):
    record(tape, request_for(f"{{sys.argv[2]}} {{i}}?"), text="long " * 2000)
"""
    running = [subprocess.Popen([sys.executable, "-c", program, str(path), name]) for name in ("a", "b")]
    assert [process.wait(200) for process in running] == [0, 0]
    with Tape(path) as tape:
        assert all(tape.find(MODEL, request_for(f"{name} {i}?")) for name in "ab" for i in range(40))
        assert tape.damaged == 0


def test_of_two_replies_to_one_request_the_first_counts(path):
    request = request_for()
    one, two = Tape(path), Tape(path)
    record(one, request, text="first")
    assert record(two, request, text="second").payload.evidence[0].text == "first"
    assert len(path.read_bytes().splitlines()) == 2


class TestTapeTeacher:
    def test_replays_under_the_name_of_the_model(self, path):
        with Tape(path) as tape:
            record(tape, request_for())
        teacher = TapeTeacher(path)
        assert teacher.name == MODEL
        assert teacher.is_model
        assert teacher.ask(request_for()).cached
        with pytest.raises(ReplyError, match="no reply for the stage 'evidence'") as caught:
            teacher.ask(request_for("Another?"))
        assert "Another" not in str(caught.value)
        teacher.close()

    def test_several_models_are_tried_in_order_or_chosen(self, path):
        with Tape(path) as tape:
            record(tape, request_for(), model="first", text="of the first")
            record(tape, request_for(), model="second", text="of the second")
            record(tape, request_for("Only?"), model="second")
        teacher = TapeTeacher(path)
        assert teacher.name == "tape:teacher.tape"
        assert teacher.ask(request_for()).payload.evidence[0].text == "of the first"
        assert teacher.ask(request_for("Only?")).call.model == "second"
        assert TapeTeacher(path, model="second").ask(request_for()).payload.evidence[0].text == "of the second"

    def test_missing_and_empty_tapes_are_said(self, tmp_path):
        with pytest.raises(InputError, match="no teacher tape"):
            TapeTeacher(tmp_path / "none.tape")
        assert not (tmp_path / "none.tape").exists()
        Tape(tmp_path / "empty.tape").close()
        with pytest.raises(InputError, match="holds no reply"):
            TapeTeacher(tmp_path / "empty.tape")

    def test_writes_nothing(self, path):
        with Tape(path) as tape:
            record(tape, request_for())
        before = path.read_bytes()
        path.chmod(0o444)
        TapeTeacher(path).ask(request_for())
        assert path.read_bytes() == before
