"""The teacher tape in the ledger: what was recorded is found again, by whom, and what a file of it holds."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from drag_graph.errors import InputError, MalformedReply, ReplyError, StoreUnfit
from drag_graph.identity import query_id
from drag_graph.ledger import Ledger
from drag_graph.ledger.journal import start_run
from drag_graph.ledger.tape import Attempt, TapeTeacher, call_id, request_key
from drag_graph.model import Query
from drag_graph.models.teachers.reply_reading import parse_reply
from drag_graph.ports.model_roles import TeacherRequest
from drag_graph.ports.run_journal import Entry, QueryResult
from drag_graph.ports.teacher_replies import EvidenceReply, ScoresReply

MODEL = "gpt-4o-mini"


def request_for(question="Why?", *, namespace="default", options=(), **change):
    query = Query(id=query_id(namespace, question, options), namespace=namespace, text=question, options=options)
    request = TeacherRequest(query, "evidence", EvidenceReply, ({"role": "user", "content": question},), "v1", count=2)
    return replace(request, **change)


def attempt_for(request, text="raw words", cost=0.25):
    at = "2026-01-01T00:00:00+00:00"
    return Attempt([*request.messages], {"max_tokens": 9}, text, 3, 2, cost, 40, at)


def record(ledger, request, text='A fact with \u00fcml\u00e4uts, "quotes" and a\nline.', model=MODEL, attempts=None):
    return ledger.tape.record(model, request, parse_reply(EvidenceReply, [text, {}]), attempts or [attempt_for(request)])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "graph.lbug.ledger"


def test_what_was_recorded_is_found_by_the_same_and_a_later_opening(path):
    request = request_for()
    with Ledger(path) as ledger:
        assert ledger.tape.find(MODEL, request) is None
        kept = record(ledger, request)
        assert replace(ledger.tape.find(MODEL, request), cached=False, requests=1) == kept
    with Ledger(path) as ledger:
        found = ledger.tape.find(MODEL, request)
        assert found.cached
        assert found.requests == 0
        assert found.call == kept.call
        assert found.payload == kept.payload
        assert found.payload.discarded, "what was discarded can still be shown"
        assert ledger.tape.models == (MODEL,)


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
    with Ledger(path) as ledger:
        record(ledger, request_for())
        assert ledger.tape.find(MODEL, request_for(**change)) is None
        assert ledger.tape.find("another-model", request_for()) is None
        assert ledger.tape.find(MODEL, request_for(count=9, simpler=({"role": "user", "content": "x"},))) is not None


def test_another_query_with_the_same_request_gets_its_own_ids(path):
    first, second = request_for(), request_for(namespace="other")
    with Ledger(path) as ledger:
        record(ledger, first)
        found = ledger.tape.find(MODEL, second)
    assert found.call.source_id == second.query.id
    assert found.call.id == call_id(second, request_key(MODEL, second)) != call_id(first, request_key(MODEL, first))
    assert found.call.cost_usd == 0.25


def test_each_request_of_an_exchange_is_a_call_of_its_own(path):
    request = request_for()
    again = replace(attempt_for(request, "better words", 0.5), messages=[{"role": "user", "content": "Again!"}])
    with Ledger(path) as ledger:
        kept = record(ledger, request, attempts=[attempt_for(request, "no"), again])
        found = ledger.tape.find(MODEL, request)
        assert ledger.tape.sent(kept.call.request_sha256)["messages"] == [{"role": "user", "content": "Again!"}]
        assert ledger.tape.sent(kept.earlier[0].request_sha256) == attempt_for(request).sent()
        assert ledger.tape.sent("0" * 64) is None
    assert kept.requests == 2
    assert [call.cost_usd for call in kept.calls] == [0.25, 0.5]
    assert [call.follows for call in kept.calls] == ["", kept.calls[0].id]
    assert kept.call.id == call_id(request, request_key(MODEL, request)), "the last is the one that answers"
    assert len({call.id for call in kept.calls} | {call.request_sha256 for call in kept.calls}) == 4
    assert len({call.response_sha256 for call in kept.calls}) == 2
    assert found.calls == kept.calls


def test_an_edition_is_a_request_of_its_own_and_none_keeps_the_key(path):
    plain, first, second = request_for(), request_for(edition="2026-01-01"), request_for(edition="2026-04-01")
    with Ledger(path) as ledger:
        record(ledger, plain, text="old")
        assert ledger.tape.find(MODEL, first) is None
        record(ledger, first, text="new")
        assert ledger.tape.find(MODEL, second) is None
        assert ledger.tape.find(MODEL, plain).payload.evidence[0].text == "old"
        found = ledger.tape.find(MODEL, first)
    assert found.payload.evidence[0].text == "new"
    assert found.call.id == call_id(first, request_key(MODEL, first)) != call_id(plain, request_key(MODEL, plain))


def test_half_a_character_and_a_long_text_are_kept(path):
    request = request_for()
    text = "word " * 3_999
    with Ledger(path) as ledger:
        record(ledger, request, text=text, attempts=[attempt_for(request, "raw \udfff words")])
        assert ledger.tape.find(MODEL, request).payload.evidence[0].text == text.strip()


def test_only_its_owner_can_read_it(path):
    before = os.umask(0)
    try:
        with Ledger(path) as ledger:
            record(ledger, request_for())
            files = list(path.parent.iterdir())
            assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    finally:
        os.umask(before)
    assert len(files) > 1, "its log as well"
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_an_entry_of_another_form_is_a_miss_said_aloud_and_can_be_recorded_again(path, caplog):
    caplog.set_level("WARNING")
    request = request_for()
    with Ledger(path) as ledger:
        record(ledger, request)
        with ledger.writing() as rows:
            rows.execute("""UPDATE exchanges SET reply = '{"evidence": 7, "discarded": []}'""")
        assert ledger.tape.find(MODEL, request) is None
        assert "does not have the expected form" in caplog.text
        record(ledger, request, text="anew")
        assert ledger.tape.find(MODEL, request).payload.evidence[0].text == "anew"
        assert len(ledger.tape) == 1


def test_a_newer_version_and_a_file_of_somebody_else_are_refused_and_left_alone(path, tmp_path):
    Ledger(path).close()
    with Ledger(path) as ledger, ledger.writing() as rows:
        rows.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreUnfit, match="version 99"):
        Ledger(path)
    notes = tmp_path / "notes"
    notes.write_text("this is no database at all, it is prose")
    with pytest.raises(StoreUnfit):
        Ledger(notes)
    assert notes.read_text().startswith("this is no database")
    other = tmp_path / "other"
    subprocess.run([sys.executable, "-c", f"import sqlite3; sqlite3.connect({str(other)!r}).execute('CREATE TABLE t (x)')"])
    content = other.read_bytes()
    with pytest.raises(StoreUnfit, match="not a drag-graph ledger"):
        Ledger(other)
    assert other.read_bytes() == content


def test_a_folder_and_an_unwritable_place_are_refused_in_words(tmp_path):
    with pytest.raises(StoreUnfit, match="Cannot use the ledger"):
        Ledger(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnfit, match="Cannot use the ledger"):
        Ledger(tmp_path / "file" / "x.ledger")


def test_a_ledger_that_is_cut_off_is_called_damaged(tmp_path):
    path = tmp_path / "x.ledger"
    Ledger(path).close()
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(StoreUnfit, match="is damaged") as caught, Ledger(path) as ledger:
        ledger.tape.sent("any")
    assert "Restore" in caught.value.hint


@pytest.mark.parametrize("letter", [b"\xff", b"x"], ids=["no letter", "another letter"])
def test_a_changed_byte_in_a_status_is_called_damage(path, letter):
    """Advice about disk space, or a fault of drag-graph, is what it said before."""
    query = Query(id=query_id("default", "Why?", ()), namespace="default", text="Why?")
    run = start_run(kind="distill", namespace="default", store="s", source="f", teacher="t", plan="lean")
    with Ledger(path) as ledger:
        ledger.journal.begin(run)
        ledger.journal.enter(run.id, [Entry(1, query, "hash")])
        ledger.journal.record(run.id, [QueryResult(query.id, "", "quarantined", calls=1, line=1)])
        ledger.journal.finish(run.id, "", 1)
    path.write_bytes(path.read_bytes().replace(b"quarantined", b"qua" + letter + b"antined"))
    with Ledger(path, read_only=True) as ledger:
        for read in (ledger.journal.runs, lambda _: ledger.journal.sums(run.id)):
            with pytest.raises(StoreUnfit, match="is damaged") as caught:
                read("default")
            assert "Restore" in caught.value.hint
            assert str(path) in caught.value.hint


def test_many_flipped_bytes_are_called_damage(path):
    with Ledger(path) as ledger:
        for number in range(40):
            record(ledger, request_for(f"Question {number}?"))
    dice = random.Random(4)
    sound = path.read_bytes()
    outcomes = set()
    for _ in range(20):
        content = bytearray(sound)
        for _ in range(400):
            content[dice.randrange(200, len(content))] = 255
        path.write_bytes(bytes(content))
        try:
            with Ledger(path, read_only=True) as ledger:
                list(ledger.rows())
                list(ledger.export_tape())
                outcomes.add("read")
        except StoreUnfit as error:
            outcomes.add("damaged" if "is damaged" in str(error) else str(error))
    assert outcomes <= {"read", "damaged"}
    assert "damaged" in outcomes


def test_an_empty_file_is_refused_for_it_is_never_one_that_was_just_begun(tmp_path):
    path = tmp_path / "x.ledger"
    path.touch()
    for read_only in (False, True):
        with pytest.raises(StoreUnfit, match="is an empty file"):
            Ledger(path, read_only=read_only)
    assert path.stat().st_size == 0
    path.unlink()
    pid = os.fork()
    if not pid:
        Path.hardlink_to = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        Ledger(path)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert not path.exists()
    with ThreadPoolExecutor(8) as threads:
        ledgers = list(threads.map(lambda _: Ledger(path), range(16)))
    for ledger in ledgers:
        ledger.account("job").spend(1)
    assert ledgers[0].account("job").standing().settled == len(ledgers), "one of them made the file, all of them have it"
    for ledger in ledgers:
        ledger.close()


def test_a_full_disk_leaves_nothing_half_written(tmp_path):
    """The process may write no file beyond 300 kB, which is what a full disk looks like to it."""
    program = f"""
import resource, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_tape import *
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
ledger = Ledger(Path(sys.argv[1]))
record(ledger, request_for("One?"))
try:
    record(ledger, request_for("Two?"), attempts=[attempt_for(request_for(), "x" * 300_000)])
except StoreUnfit as error:
    print(f"refused: {{error}}", file=sys.stderr)
record(ledger, request_for("Three?"))
"""
    path = tmp_path / "a.ledger"
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "refused: Cannot use the ledger" in done.stderr
    with Ledger(path) as ledger:
        found = [ledger.tape.find(MODEL, request_for(question)) for question in ("One?", "Two?", "Three?")]
    assert [reply is not None for reply in found] == [True, False, True]


def test_threads_and_a_second_opening_record_side_by_side(path):
    ledgers = [Ledger(path), Ledger(path)]
    questions = [f"Question {i}?" for i in range(60)]

    def work(part):
        for question in questions[part::6]:
            record(ledgers[part % 2], request_for(question))

    threads = [threading.Thread(target=work, args=(part,)) for part in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ledger in ledgers:
        assert all(ledger.tape.find(MODEL, request_for(question)) for question in questions)
        assert len(ledger.tape) == 60


def test_processes_record_side_by_side(path):
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_tape import *
ledger = Ledger(Path(sys.argv[1]))
for i in range(40):
    record(ledger, request_for(f"{{sys.argv[2]}} {{i}}?"), text="long " * 2000)
"""
    running = [subprocess.Popen([sys.executable, "-c", program, str(path), name]) for name in ("a", "b")]
    assert [process.wait(200) for process in running] == [0, 0]
    with Ledger(path) as ledger:
        assert all(ledger.tape.find(MODEL, request_for(f"{name} {i}?")) for name in "ab" for i in range(40))


def test_of_two_replies_to_one_request_the_first_counts(path):
    request = request_for()
    one, two = Ledger(path), Ledger(path)
    record(one, request, text="first")
    second = record(two, request, text="second")
    assert second.payload.evidence[0].text == "first"
    assert len(two.tape) == 1


def test_what_was_said_in_vain_is_kept_with_its_calls_and_answers_nothing(path):
    request = request_for()
    with Ledger(path) as ledger:
        attempts = [attempt_for(request, "no"), attempt_for(request, "still no")]
        ledger.tape.quarantine(MODEL, request, MalformedReply("it is prose", raw="still no"), attempts)
        assert ledger.tape.find(MODEL, request) is None
        (kept,) = ledger.tape.quarantined(request.query.id)
        assert list(ledger.tape.quarantined("another")) == []
        with ledger.reading() as rows:
            assert rows.execute("SELECT raw, cost_usd FROM calls ORDER BY n").fetchall() == [("no", 0.25), ("still no", 0.25)]
    assert kept == {
        "source_id": request.query.id,
        "stage": "evidence",
        "model": MODEL,
        "error": "it is prose",
        "raw": "still no",
        "at": "2026-01-01T00:00:00+00:00",
    }


class TestFile:
    @pytest.fixture
    def exported(self, path, tmp_path):
        """Return a function that records requests, and gives the file of the tape."""

        def export(*requests, model=MODEL, texts=()):
            with Ledger(path) as ledger:
                for n, request in enumerate(requests):
                    record(ledger, request, model=model, **({"text": texts[n]} if texts else {}))
                file = tmp_path / "teacher.tape"
                file.write_text("".join(f"{line}\n" for line in ledger.export_tape()), encoding="utf-8")
            return file

        return export

    def test_export_and_import_give_the_same_bytes(self, exported, tmp_path):
        requests = [request_for(f"Question {n}?") for n in range(250)]
        file = exported(*requests)
        with Ledger(tmp_path / "other.ledger") as other:
            assert other.import_tape(file) == 250
            assert other.import_tape(file) == 0
            assert "".join(f"{line}\n" for line in other.export_tape()) == file.read_text(encoding="utf-8")
            assert other.tape.find(MODEL, requests[7]).cached
            assert other.tape.sent(other.tape.find(MODEL, requests[7]).call.request_sha256) == attempt_for(requests[7]).sent()

    def test_every_line_is_json_and_the_first_names_the_format(self, exported):
        header, line = map(json.loads, exported(request_for()).read_text().splitlines())
        assert header == {"format": "drag-graph teacher tape", "version": 2}
        assert line["calls"][0]["sent"]["messages"] == [{"role": "user", "content": "Why?"}]
        assert line["calls"][0]["raw"] == "raw words"
        assert line["source_ids"] == [request_for().query.id]

    @pytest.mark.parametrize(
        ("content", "error", "words"),
        [
            (b"", StoreUnfit, "not an exported"),
            (b"some notes\n", StoreUnfit, "not an exported"),
            (b"SQLite format 3\x00\xff", StoreUnfit, "not an exported"),
            (b'{"format": "drag-graph teacher tape", "version": 3}\n', StoreUnfit, "version 3"),
            (b'{"format": "drag-graph teacher tape", "version": 2}\n{"key": "1"}\n', InputError, "line 2"),
        ],
    )
    def test_another_file_is_refused_in_words(self, tmp_path, content, error, words):
        file = tmp_path / "x.tape"
        file.write_bytes(content)
        with pytest.raises(error, match=words):
            TapeTeacher(file)

    def test_of_a_file_that_was_cut_off_nothing_is_added(self, exported, tmp_path):
        file = exported(request_for("One?"), request_for("Two?"))
        file.write_bytes(file.read_bytes()[:-40])
        with Ledger(tmp_path / "other.ledger") as other:
            with pytest.raises(InputError, match="line 3"):
                other.import_tape(file)
            assert len(other.tape) == 0

    def test_replays_under_the_name_of_the_model(self, exported):
        teacher = TapeTeacher(exported(request_for()))
        assert teacher.name == MODEL
        assert teacher.is_model
        assert teacher.ask(request_for()).cached
        with pytest.raises(ReplyError, match="no reply for the stage 'evidence'") as caught:
            teacher.ask(request_for("Another?"))
        assert "Another" not in str(caught.value)
        teacher.close()

    def test_several_models_are_tried_in_order(self, exported):
        exported(request_for(), model="first", texts=["of the first"])
        file = exported(request_for(), request_for("Only?"), model="second", texts=["of the second"] * 2)
        teacher = TapeTeacher(file)
        assert teacher.name == "tape:teacher.tape"
        assert teacher.ask(request_for()).payload.evidence[0].text == "of the first"
        assert teacher.ask(request_for("Only?")).call.model == "second"

    def test_missing_and_empty_tapes_are_said(self, exported, tmp_path):
        with pytest.raises(InputError, match="Cannot read"):
            TapeTeacher(tmp_path / "none.tape")
        assert not (tmp_path / "none.tape").exists()
        with pytest.raises(InputError, match="contains no reply"):
            TapeTeacher(exported())
