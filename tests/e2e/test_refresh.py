"""`drag-graph refresh`: stale subgraphs are distilled anew, answers keep their audit, and nothing is paid for twice."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from drag_graph.compose.store_opening import open_store
from drag_graph.model import Aggregation
from drag_graph.settings import load_settings
from drag_graph.testing.server import ScriptedServer
from tests.e2e.conftest import ON_BOTH

ROOT = Path(__file__).parents[2]
MADE, EXPIRED = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"
CALLS = 3
"""Of the lean plan, for one query."""


@pytest.fixture
def server():
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def teacher(server):
    return ["--teacher", "scripted", "--teacher-base-url", server.url]


def write_questions(path, count, **more):
    lines = [
        {"id": str(n), "question": f"Why does thing number {n} cause effect number {n}?", "options": ["heat", "cold"], **more}
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def distilled(cli, store, tmp_path, teacher):
    """The ids of four distilled questions."""
    questions = write_questions(tmp_path / "q.jsonl", 4)
    done = cli("distill", questions, "--store", store, *teacher, "--json")
    assert done.code == 0, done.err
    return [query["id"] for query in done.json["queries"]]


def expire(store, ids):
    """Make as if these had been distilled long ago."""
    with open_store(load_settings({"store": str(store)})) as graph:
        old = [item.model_copy(update={"created_at": MADE, "expires_at": EXPIRED}) for item in graph.read(ids)]
        assert graph.save(old, Aggregation(), replace=True) == ["replaced"] * len(ids)


def times(store, ids):
    with open_store(load_settings({"store": str(store)})) as graph:
        return {item.query.id: (item.created_at, item.expires_at) for item in graph.read(ids)}


def say_otherwise(server):
    """Let the teacher say other things from now on."""

    def facts(request):
        thing = re.search(r"thing number \d+", request.prompt)[0]
        return {"evidence": [{"text": f"Wholly new fact {n} of {thing} tells of it.", "framing": "causal"} for n in range(6)]}

    server.always("evidence", facts)


def audit(cli, store, answer_id):
    """Return the audit without what it says of the graph as it is now."""
    document = cli("audit", answer_id, "--store", store, "--json").json
    return document | {
        "lines": [
            {key: value for key, value in line.items() if key not in {"live", "changed", "claims"}}
            for line in document["lines"]
        ]
    }


@ON_BOTH
def test_what_has_expired_is_distilled_again(cli, store, distilled, server, teacher):
    stale = sorted(distilled[:2])
    expire(store, stale)
    before, asked = times(store, distilled), server.count()
    foretold = cli("refresh", "--expired", "--dry-run", "--store", store, *teacher, "--json")
    assert foretold.code == 0, foretold.err
    assert foretold.json["stale"] == [
        {"id": id_, "reasons": ["expired"], "created_at": MADE, "expires_at": EXPIRED} for id_ in stale
    ]
    assert {name: foretold.json[name] for name in ("queries", "calls", "recorded_calls")} == {
        "queries": 2, "calls": 2 * CALLS, "recorded_calls": 0
    }  # fmt: skip
    assert server.count() == asked
    done = cli("refresh", "--expired", "--store", store, *teacher, "--json")
    assert done.code == 0, done.err
    assert [(query["id"], query["status"]) for query in done.json["queries"]] == [(id_, "complete") for id_ in stale]
    assert {query["cached_calls"] for query in done.json["queries"]} == {0}, "the teacher is asked anew, not the tape"
    assert server.count() == asked + 2 * CALLS
    after, now = times(store, distilled), datetime.now(UTC).isoformat()
    assert {id_ for id_ in distilled if after[id_] != before[id_]} == set(stale)
    assert all(after[id_][1] > now > EXPIRED for id_ in stale)
    assert cli("db", "verify", "--store", store).code == 0
    again = cli("refresh", "--expired", "--store", store, *teacher)
    assert (again.code, again.out) == (0, "Nothing has expired.\n")
    assert server.count() == asked + 2 * CALLS


def test_what_gave_wrong_answers_is_distilled_again_and_they_keep_their_audit(cli, store, distilled, server, teacher, tmp_path):
    ask = ["ask", "--store", store, "--json", "--file"]
    labels = [answer["label"] for answer in cli(*ask, tmp_path / "q.jsonl").json["answers"]]
    wrong = write_questions(tmp_path / "gold.jsonl", 4)
    lines = [json.loads(line) for line in wrong.read_text(encoding="utf-8").splitlines()]
    golds = [("AB".index(label) + (n < 3)) % 2 for n, label in enumerate(labels)]
    wrong.write_text("".join(json.dumps({**line, "answer": gold}) + "\n" for line, gold in zip(lines, golds, strict=True)))
    answers = cli(*ask, wrong).json["answers"]
    assert [answer["correct"] for answer in answers] == [False, False, False, True]
    before = [audit(cli, store, answer["answer_id"]) for answer in answers]
    say_otherwise(server)
    done = cli("refresh", "--failed", "--limit", 2, "--store", store, *teacher, "--json").json
    assert len(done["queries"]) == 2
    rest = cli("refresh", "--failed", "--expired", "--store", store, *teacher, "--json").json
    assert {query["id"] for query in (*done["queries"], *rest["queries"])} == set(distilled[:3])
    assert cli("refresh", "--failed", "--store", store, *teacher).out == "Nothing has failed.\n"
    assert [audit(cli, store, answer["answer_id"]) for answer in answers] == before
    shown = cli("audit", answers[0]["answer_id"], "--store", store, "--json").json["lines"]
    assert not any(line["live"] for line in shown)
    assert "Wholly new" in cli("show", distilled[0], "--store", store, "--format", "text").out
    assert cli("db", "verify", "--store", store).code == 0


def test_what_people_wrote_is_only_renewed(cli, store, questions, curated):
    flags = ["--store", store, "--teacher", curated]
    ids = [query["id"] for query in cli("distill", questions, *flags, "--json").json["queries"]]
    expire(store, ids)
    answer = cli("ask", "--query-id", ids[0], "--store", store, "--json").json["answer_id"]
    before = cli("export", "--store", store).out
    done = cli("refresh", "--expired", *flags, "--json")
    assert {query["status"] for query in done.json["queries"]} == {"complete"}
    assert cli("export", "--store", store).out == before
    assert all(made > MADE for made, _ in times(store, ids).values())
    assert all(line["live"] for line in cli("audit", answer, "--store", store, "--json").json["lines"])


@pytest.fixture
def embedded(tmp_path):
    return tmp_path / "graph.lbug"


def distil_expired(cli, store, teacher, tmp_path, count=3):
    questions = write_questions(tmp_path / "q.jsonl", count)
    ids = [query["id"] for query in cli("distill", questions, "--store", store, *teacher, "--json").json["queries"]]
    expire(store, ids)
    return ids


def test_each_edition_is_asked_anew_and_its_tape_replays_it(cli, embedded, server, teacher, tmp_path):
    ids = distil_expired(cli, embedded, teacher, tmp_path)
    tape = tmp_path / "teacher.tape"
    assert cli("tape", "export", "--store", embedded, "-o", tape).code == 0
    first = cli("refresh", "--expired", "--store", embedded, "--teacher", f"tape:{tape}", "--json")
    assert first.code == 1
    assert {query["status"] for query in first.json["queries"]} == {"quarantined"}
    assert {made for made, _ in times(embedded, ids).values()} == {MADE}, "the old edition stays"
    assert cli("refresh", "--expired", "--store", embedded, *teacher).code == 0
    asked = server.count()
    expire(embedded, ids)
    assert cli("tape", "export", "--store", embedded, "-o", tape, "--force").code == 0
    replayed = cli("refresh", "--expired", "--store", embedded, "--teacher", f"tape:{tape}", "--json")
    assert replayed.code == 0, replayed.err
    assert {query["cached_calls"] for query in replayed.json["queries"]} == {CALLS}
    assert server.count() == asked
    bodies = Counter(json.dumps(request.body, sort_keys=True) for request in server.requests)
    assert set(bodies.values()) == {2}, "the edition is not sent: both editions were asked for in the same words"


def test_a_refresh_without_a_reason_or_a_store_is_refused_in_words(cli, embedded):
    assert "--expired" in cli("refresh").err
    assert cli("refresh").code == 2
    assert cli("refresh", "--expired", "--teacher", "tape:none", "--store", embedded).code == 3
    assert not embedded.exists()


def test_the_budget_holds_and_the_old_editions_stay(cli, embedded, server, teacher, tmp_path):
    ids = distil_expired(cli, embedded, teacher, tmp_path)
    asked = server.count()
    priced = ["--teacher", "gpt-4o", "--teacher-base-url", server.url, "--store", embedded]
    done = cli("refresh", "--expired", *priced, "--budget-usd", "0.000001", "--json")
    assert done.code == 5
    assert done.json["totals"]["pending"] == len(ids)
    assert server.count() == asked
    assert {made for made, _ in times(embedded, ids).values()} == {MADE}


def kill_refresh(server, after, *flags):
    """Start a refresh in a process of its own, kill it once the server has seen `after` more requests; say whether it was."""
    line = [sys.executable, "-m", "drag_graph", "refresh", "--expired", "--workers", "2", *map(str, flags)]
    seen, until = server.count(), time.monotonic() + 120
    environment = dict(os.environ)
    with subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and server.count() < seen + after and time.monotonic() < until:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    return process.returncode == -signal.SIGKILL


def test_a_killed_refresh_goes_on_without_paying_twice(cli, store, tmp_path, server, teacher):
    """Killed when some subgraphs are replaced, and of some others replies are on the tape."""
    flags = [*teacher, "--store", store, "--ledger", tmp_path / "x.ledger"]
    ids = distil_expired(cli, store, [*teacher, "--ledger", tmp_path / "x.ledger"], tmp_path, 8)
    say_otherwise(server)
    distilled, server.delay = server.count(), 0.05
    assert kill_refresh(server, 11, *flags)
    server.delay, killed = 0, server.count()
    assert killed < distilled + len(ids) * CALLS, "the kill came after everything was asked"
    with open_store(load_settings({"store": str(store)})) as graph:
        found = {item.created_at != MADE: item.evidence[0].text.startswith("Wholly new") for item in graph.read(ids)}
    assert found == {True: True, False: False}, "each is of one edition, and there are some of both"
    assert cli("db", "verify", "--store", store).code == 0
    done = cli("refresh", "--expired", *flags, "--json")
    assert done.code == 0, done.err
    assert {query["status"] for query in done.json["queries"]} == {"complete"}
    asked = Counter(json.dumps(request.body, sort_keys=True) for request in server.requests[distilled:])
    assert sum(asked.values()) - len(asked) <= 2, "more was asked again than the calls in flight at the kill"
    assert all(made > MADE for made, _ in times(store, ids).values())
    assert cli("refresh", "--expired", *flags).out == "Nothing has expired.\n"
    assert cli("db", "verify", "--store", store).code == 0
