"""Erasing from the ledger: afterwards no word of it is in any of its files."""

import sqlite3

import pytest

from drag_graph.errors import MalformedReply, StoreLocked
from drag_graph.inputs import make_query
from drag_graph.ledger import Ledger
from drag_graph.ledger.journal import start_run
from drag_graph.ledger.tape import Attempt
from drag_graph.models.teachers.reply_reading import parse_reply
from drag_graph.ports.model_roles import TeacherRequest
from drag_graph.ports.run_journal import Entry, QueryResult
from drag_graph.ports.teacher_replies import EvidenceReply

MODEL = "gpt-4o-mini"
NUMBER = 60
GONE = range(0, NUMBER, 3)


def words_of(n):
    """Return words of one question that are in no other: of the question, an option, the reply, what it was discarded for."""
    return [f"{kind}{n:04}zebra{n * 7919:08}" for kind in ("question", "option", "reply", "vain", "note", "named")]


def query_of(n, **more):
    question, option, *_, named = words_of(n)
    return make_query(f"Why {question}?", [option, "other"], input_id=named, **more)


def request_for(query, stage="evidence"):
    text = f"{query.text} {query.options} {stage}"
    messages = ({"role": "user", "content": text},)
    return TeacherRequest(query, stage, EvidenceReply, messages, "v1", count=2)


def attempt_for(request, text):
    return Attempt(request.messages, {"max_tokens": 9}, text, 3, 2, 0.25)


def fill(ledger, numbers=range(NUMBER)):
    """Record what a run would about these questions: replies, unusable replies, results, requests of batches."""
    run = start_run(
        kind="distill", namespace="default", store="s", source=f"-q Why {words_of(0)[0]}?", teacher=MODEL, plan="lean"
    )
    ledger.journal.begin(run)
    batches = ledger.batches(run.job, MODEL)
    for n in numbers:
        query, (_, _, reply, vain, note, named) = query_of(n), words_of(n)
        request = request_for(query)
        text = f"The {reply} is long. " * (1 + n % 7 * 60)
        attempts = [attempt_for(request, f"no {vain}"), attempt_for(request, text)]
        ledger.tape.record(MODEL, request, parse_reply(EvidenceReply, [text[:9000]]), attempts)
        failed = request_for(query, "triples")
        ledger.tape.quarantine(MODEL, failed, MalformedReply(f"bad {vain}", raw=vain), [attempt_for(failed, vain)])
        ledger.journal.enter(run.id, [Entry(n, query, "hash")])
        result = QueryResult(query.id, named, "complete", line=n, cost_usd=0.5, error=f"{note}!", notes=[note])
        ledger.journal.record(run.id, [result])
        batches.queue(f"key {n}", request_for(query, "scores"))
    return run, batches


def contents(path):
    return b"".join(file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "graph.lbug.ledger"


def test_no_word_of_what_was_erased_is_in_a_file_and_the_rest_is_whole(path):
    with Ledger(path) as ledger:
        run, _ = fill(ledger)
        before = contents(path)
        assert all(word.encode() in before for n in range(NUMBER) for word in words_of(n)), "it was all there"
        erased = ledger.erase([query_of(n).id for n in GONE], "default")
        assert erased == {"replies": 2 * len(GONE), "results": len(GONE), "batch_requests": len(GONE)}
        after = contents(path)
        assert [word for n in GONE for word in words_of(n) if word.encode() in after] == []
        assert all(word.encode() in after for n in range(NUMBER) if n not in GONE for word in words_of(n))
        for n in range(NUMBER):
            assert (ledger.tape.find(MODEL, request_for(query_of(n))) is None) == (n in GONE)
        results = {result.line: result for result in ledger.journal.results(run.id)}
        assert [n for n in range(NUMBER) if results[n].erased] == list(GONE)
        assert ledger.journal.summary(run.id)[1] == NUMBER * 0.5, "what it cost is still known"
        assert ledger.journal.questions(run.id, [0, 1]).keys() == {1}
    assert [word for n in GONE for word in words_of(n) if word.encode() in contents(path)] == [], "nor when it is closed"


def test_what_others_asked_in_the_same_words_stays_until_all_are_erased(path):
    one, other = query_of(1), query_of(1, namespace="other")
    with Ledger(path) as ledger:
        ledger.tape.record(
            MODEL, request_for(one), parse_reply(EvidenceReply, ["A fact."]), [attempt_for(request_for(one), "raw")]
        )
        assert ledger.tape.find(MODEL, request_for(other)).cached
        assert ledger.erase([one.id], "default")["replies"] == 0
        assert ledger.tape.find(MODEL, request_for(other)).cached
        assert ledger.erase([other.id], "other")["replies"] == 1
        assert ledger.tape.find(MODEL, request_for(other)) is None
        assert words_of(1)[0].encode() not in contents(path)


def test_recorded_replies_can_be_kept(path):
    with Ledger(path) as ledger:
        run, _ = fill(ledger, range(3))
        erased = ledger.erase([query_of(1).id], "default", keep_recorded=True)
        assert (erased["replies"], erased["results"]) == (0, 1)
        assert ledger.tape.find(MODEL, request_for(query_of(1))).cached
        assert [result.erased for result in ledger.journal.results(run.id)] == [False, True, False]


def test_what_was_erased_is_not_settled(path):
    entry = Entry(1, query_of(1), "hash")
    with Ledger(path) as ledger:
        runs = []
        for status in ("pending", "complete"):
            run = start_run(kind="distill", namespace="default", store="s", source="f", teacher=MODEL, plan="lean")
            ledger.journal.begin(run)
            ledger.journal.enter(run.id, [entry])
            ledger.journal.record(run.id, [QueryResult(entry.query.id, "", status, line=1)])
            runs.append(run)
        assert ledger.journal.settled([entry])
        ledger.erase([entry.query.id], "default")
        assert ledger.journal.settled([entry]) == {}
        ledger.journal.enter(runs[1].id, [entry])
        assert ledger.journal.questions(runs[1].id, [1]), "distilled again, it is there again"


def test_where_another_process_reads_it_is_said(path, monkeypatch):
    monkeypatch.setattr("drag_graph.ledger.sqlite_file.BUSY_SECONDS", 0.2)
    with Ledger(path) as ledger:
        fill(ledger, range(3))
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM calls").fetchone()
        with pytest.raises(StoreLocked, match="its log still contains"):
            ledger.erase([query_of(1).id], "default")
        reader.close()
        ledger.erase([query_of(1).id], "default")
        assert words_of(1)[0].encode() not in contents(path)
