"""What is wrong is said in one sentence with the right exit code; the rest of the work is done; nothing is half-written."""

import io
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from drag_graph.testing import plausible
from drag_graph.testing.server import Fault, Say, ScriptedServer

GOOD = {"question": "What mainly causes the tides of the oceans on Earth?", "options": ["The wind", "The gravity of the Moon"]}


def one_sentence(done, code):
    """Assert a plain error: the code, a sentence, no traceback."""
    assert done.code == code, done.out + done.err
    assert "Traceback" not in done.err
    assert done.err.startswith("Error: "), done.err
    return done.err


def write(path, *lines):
    path.write_bytes(b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines))
    return path


def curated_file(path, *questions):
    entries = [
        {**question, "evidence": ["The gravity of the Moon causes the tides.", "Wind causes waves."]} for question in questions
    ]
    return f"curated:{write(path, *entries)}"


def test_bad_lines_are_named_and_the_others_are_done(cli, store, tmp_path):
    lines = [
        b"{",
        GOOD,
        b'{"question": "\xff"}',
        {"question": "x" * 1_000_000},
        {**GOOD, "options": ["a", "a"]},
        {"question": ""},
        GOOD,
    ]
    questions = write(tmp_path / "q.jsonl", *lines)
    done = cli("distill", questions, "--teacher", curated_file(tmp_path / "c.jsonl", GOOD), "--store", store, "--json")
    assert done.code == 1
    assert [query["status"] for query in done.json["queries"]] == ["complete", "skipped"]
    assert done.json["queries"][1]["error"]
    assert [bad["line"] for bad in done.json["rejected"]] == [1, 3, 4, 5, 6]
    assert all(bad["reason"] for bad in done.json["rejected"])
    plain = cli("distill", questions, "--teacher", curated_file(tmp_path / "c.jsonl", GOOD), "--store", store)
    assert "line 4 rejected: The question has 1,000,000 characters" in plain.err


@pytest.mark.parametrize("flag", [("--address", "auto"), ("--processes", "2")])
@pytest.mark.parametrize("command", [("distill", "-q", "Who?"), ("refresh", "--expired")])
def test_flags_of_a_cluster_without_one_are_refused(cli, command, flag):
    assert one_sentence(cli(*command, *flag), 2).startswith(f"Error: {flag[0]} requires --engine ray")
    assert one_sentence(cli(*command, *flag, "--engine", "local"), 2).startswith(f"Error: {flag[0]} requires --engine ray")


def test_a_question_that_the_curated_file_lacks_is_quarantined(cli, store, tmp_path):
    questions = write(tmp_path / "q.jsonl", {"question": "Who?"}, GOOD)
    done = cli("distill", questions, "--teacher", curated_file(tmp_path / "c.jsonl", GOOD), "--store", store, "--json")
    assert done.code == 1
    assert [query["status"] for query in done.json["queries"]] == ["quarantined", "complete"]
    assert "no line for this question" in done.json["queries"][0]["error"]


def test_a_question_of_a_file_that_cannot_be_distilled_first_is_named(cli, tmp_path):
    questions = write(tmp_path / "q.jsonl", GOOD, {"question": "Who?"})
    place = ("--store", tmp_path / "graph.lbug", "--teacher", curated_file(tmp_path / "c.jsonl", GOOD))
    done = cli("ask", "--file", questions, "--distill-missing", *place, "--json")
    assert done.code == 1
    assert done.err.count("Not distilled") == 1
    assert "Not distilled: line 2: " in done.err
    assert [bool(answer["lines"]) for answer in done.json["answers"]] == [True, False]
    assert cli("ask", "Who?", "--option", "he", "--option", "she", "--distill-missing", *place).code == 1
    assert cli("ask", "--file", write(tmp_path / "twice.jsonl", GOOD, GOOD), "--distill-missing", *place).code == 0


def test_one_question_is_explained_and_a_file_is_not(cli, tmp_path):
    said = one_sentence(cli("ask", "--file", write(tmp_path / "q.jsonl", GOOD), "--explain"), 2)
    assert "--explain works for one question" in said


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["distill"], 2),
        (["distill", "missing.jsonl", "--teacher", "curated:also-missing.jsonl"], 2),
        (["distill", "-q", "   ", "--teacher", "curated:x"], 2),
        (["ask"], 2),
        (["audit", "abcdef"], 3),
        (["show", "abcdef"], 3),
        (["ask", "What?"], 3),
        (["distill", "-q", "What?", "--store", "mysql://localhost"], 2),
    ],
)
def test_usage_and_missing_things(cli, args, code):
    one_sentence(cli(*args), code)


def test_debug_adds_the_traceback_and_changes_no_exit_code(cli):
    done = cli("show", "--store", "nothing.lbug", "--debug")
    assert (done.code, "Traceback" in done.err, "Hint: " in done.err) == (3, True, True)


def test_a_ledger_that_is_none_is_refused_and_left_alone(cli, tmp_path):
    (tmp_path / "notes.txt").write_text("my notes\n", encoding="utf-8")
    done = cli(
        "distill", "-q", "Why?", "--teacher", "gpt-4o-mini", "--teacher-base-url", "http://127.0.0.1:9", "--ledger", "notes.txt"
    )
    one_sentence(done, 3)
    assert "notes.txt is not a drag-graph ledger, or it is damaged" in done.err
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "my notes\n"
    assert sorted(path.name for path in tmp_path.glob("notes*")) == ["notes.txt"]


def test_a_budget_for_a_model_without_a_price_is_refused_before_anything_is_sent(cli, teacher):
    arguments = ("distill", "-q", "Why?", "--teacher", "homemade", "--teacher-base-url", teacher.url)
    one_sentence(cli(*arguments, "--budget-usd", "1"), 2)
    assert teacher.count() == 0
    assert "unknown" in cli(*arguments, "--dry-run").out


def test_an_unknown_flag_and_a_wrong_choice_exit_2(cli):
    assert cli("distill", "--nonsense").code == 2
    assert cli("ask", "What?", "--mode", "both").code == 2


def test_a_store_path_that_is_a_folder_or_no_database(cli, tmp_path):
    teacher = curated_file(tmp_path / "c.jsonl", GOOD)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.lbug").write_text("this is no database\n" * 100, encoding="utf-8")
    for path in ("folder", "text.lbug"):
        one_sentence(cli("distill", "-q", "What?", "--teacher", teacher, "--store", path), 3)


def test_a_store_that_another_process_holds(cli, tmp_path, monkeypatch):
    teacher = curated_file(tmp_path / "c.jsonl", GOOD)
    questions = write(tmp_path / "q.jsonl", GOOD)
    assert cli("distill", questions, "--teacher", teacher, "--store", "g.lbug").code == 0
    code = (
        "import sys, pathlib\nfrom drag_graph.stores.ladybug.ladybug_store import LadybugStore\n"
        "store = LadybugStore(pathlib.Path('g.lbug')); store.migrate(); print('open', flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    environment = dict(os.environ)
    holder = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=environment, **pipes)
    try:
        assert holder.stdout.readline() == b"open\n"
        monkeypatch.setenv("DRAG_GRAPH_STORE_TIMEOUT", "1")
        message = one_sentence(cli("distill", questions, "--teacher", teacher, "--store", "g.lbug", "--top-k", "3"), 3)
        assert str(holder.pid) in message
    finally:
        holder.communicate(timeout=120)
    assert cli("distill", questions, "--teacher", teacher, "--store", "g.lbug", "--top-k", "3").code == 0


def test_a_neo4j_that_is_down_or_wants_another_password(cli, tmp_path, neo4j_lts, monkeypatch):
    teacher = curated_file(tmp_path / "c.jsonl", GOOD)
    monkeypatch.setenv("DRAG_GRAPH_STORE_TIMEOUT", "4")  # so that it surely waits for over a second
    monkeypatch.setenv("NEO4J_PASSWORD", "wrong-password")
    away = cli("distill", "-q", "What?", "--teacher", teacher, "--store", "bolt://127.0.0.1:1")
    waiting, _, said = away.err.partition("\n")
    assert waiting.startswith("Waiting for Neo4j at bolt://127.0.0.1:1")
    one_sentence(replace(away, err=said), 3)
    message = one_sentence(cli("distill", "-q", "What?", "--teacher", teacher, "--store", neo4j_lts[0]), 3)
    assert "NEO4J_PASSWORD" in message
    assert "wrong-password" not in message


@pytest.fixture
def teacher():
    with ScriptedServer() as server:
        yield server


def distill(cli, server, *args):
    flags = ["--teacher", "scripted", "--teacher-base-url", server.url, "--json"]
    return cli("distill", "-q", GOOD["question"], "--store", "g.lbug", *flags, *args)


def test_a_model_teacher_by_its_address(cli, teacher):
    done = distill(cli, teacher)
    assert done.code == 0, done.err
    (query,) = done.json["queries"]
    assert query["status"] == "complete", query
    assert 1 <= query["calls"] <= 3
    assert query["triples"] > 0
    asked = cli("ask", GOOD["question"], "--store", "g.lbug", "--json").json
    audit = cli("audit", asked["answer_id"], "--store", "g.lbug", "--json").json
    models = {call["model"] for call in audit["calls"]}
    assert any("scripted" in model for model in models)


def test_a_teacher_that_is_down(cli, teacher, monkeypatch):
    monkeypatch.setattr("drag_graph.models.chat_client.RETRIES_UNREACHABLE", 0)
    done = cli("distill", "-q", "What?", "--store", "g.lbug", "--teacher", "m", "--teacher-base-url", "http://127.0.0.1:1/v1")
    assert done.code == 4
    assert "Error: " in done.err
    assert "Traceback" not in done.err


def test_a_key_that_is_refused_names_the_variable(cli):
    with ScriptedServer(key="right") as server:
        done = distill(cli, server)
    assert done.code == 4
    assert "DRAG_GRAPH_TEACHER_API_KEY" in done.err
    assert done.json["queries"][0]["status"] == "pending"


@pytest.mark.parametrize(
    "reply",
    [
        "I would say that the Moon is involved, but who knows.",
        '{"evidence": [{"text": "The Moon',
        {"evidence": []},
        {"wrong": "shape"},
        ["a", 7, None],
    ],
    ids=["prose", "half a JSON", "none", "wrong shape", "odd array"],
)
def test_useless_evidence_is_quarantined_and_the_next_run_completes(cli, teacher, reply):
    teacher.script("evidence", *[Say(reply)] * 8)
    done = distill(cli, teacher)
    (query,) = done.json["queries"]
    assert (done.code, query["status"]) in {(1, "quarantined"), (0, "complete")}
    if query["status"] == "quarantined":
        assert query["error"]
        assert cli("show", "--store", "g.lbug", "--json").json == []
    assert cli("db", "verify", "--store", "g.lbug").code == 0


def say_in_evidence(teacher, words):
    """Let the teacher end each evidence with these words: what is in none of them is no end of a triple."""

    def reply(request):
        found = plausible.evidence(request.prompt)["evidence"]
        return {"evidence": [{**item, "text": f"{item['text']} {words}"} for item in found]}

    teacher.always("evidence", reply)


def test_useless_triples_are_dropped_and_the_rest_is_kept(cli, teacher):
    good = {"subject": "the Moon", "predicate": "pulls", "object": "the oceans", "confidence": 0.9, "evidence": [0]}
    bad = [
        {**good, "confidence": 7},
        {**good, "confidence": "high"},
        {**good, "confidence": float("nan")},
        {**good, "object": "The Moon"},
        {**good, "object": "  "},
        {**good, "evidence": [99]},
        {**good, "evidence": []},
    ]
    hostile = {**good, "predicate": "`]->() DETACH DELETE n //", "object": "x'}) MATCH (n) DETACH DELETE n //"}
    say_in_evidence(teacher, f"The Moon pulls the oceans and {hostile['object']}.")
    teacher.script("triples", Say({"triples": [*bad, good, hostile]}))
    done = distill(cli, teacher)
    assert done.code == 0, done.err
    assert done.json["queries"][0]["triples"] == 2
    export = cli("export", "--store", "g.lbug").out
    assert "DETACH DELETE n //" in export


def test_a_teacher_that_stumbles_is_asked_again(cli, teacher, monkeypatch):
    monkeypatch.setattr("drag_graph.models.chat_client.time.sleep", lambda _seconds: None)
    teacher.script("evidence", Fault(status=500))
    done = distill(cli, teacher)
    assert done.code == 0, done.err


def test_a_budget_of_nothing_stops_before_the_first_call(cli, teacher):
    flags = ["--teacher", "gpt-4o", "--teacher-base-url", teacher.url, "--budget-usd", "0.000001"]
    done = cli("distill", "-q", "What?", "--store", "g.lbug", *flags)
    assert done.code == 5
    assert teacher.count() == 0


def test_broken_settings(cli, tmp_path):
    (tmp_path / "drag-graph.toml").write_text("workers = 0\n", encoding="utf-8")
    one_sentence(cli("config"), 2)


def test_an_empty_file_and_misplaced_flags_are_said_in_words(cli, tmp_path):
    empty = write(tmp_path / "empty.jsonl", b"", b"  ")
    teacher = curated_file(tmp_path / "c.jsonl", GOOD)
    assert "contains no question" in one_sentence(cli("distill", empty, "--teacher", teacher), 2)
    one_sentence(cli("distill", write(tmp_path / "q.jsonl", GOOD), "--option", "a", "--teacher", teacher), 2)
    one_sentence(cli("show", "--format", "html"), 2)
    one_sentence(cli("ask", "What?", "--store", "g.lbug"), 3)
    assert cli("distill", tmp_path / "q.jsonl", "--teacher", teacher, "--store", "g.lbug").code == 0
    assert "contains no question" in one_sentence(cli("ask", "--file", empty, "--store", "g.lbug"), 2)
    rejected = cli("ask", "--file", write(tmp_path / "bad.jsonl", b"nonsense"), "--store", "g.lbug")
    assert (rejected.code, rejected.out) == (1, "n 0, answered 0, unaided 0, rejected 1, prompt_tokens 0\n")
    assert rejected.err.startswith("line 1: Not JSON")
    for bad in ([""], ["What?", "--option", "one"], ["What?", "--option", "a", "--option", "a"]):
        one_sentence(cli("ask", *bad, "--store", "g.lbug"), 2)
    one_sentence(cli("ask", "--query-id", "a", "--option", "b", "--store", "g.lbug"), 2)


@pytest.mark.parametrize("flag", ["--teacher-base-url", "--student-base-url"])
def test_an_address_that_is_none_is_refused_at_once(cli, flag):
    command = ["distill", "-q", "What?"] if "teacher" in flag else ["ask", "What?"]
    assert "must be an address" in one_sentence(cli(*command, flag, "not a url"), 2)


def test_discarded_triples_and_fall_backs_are_noted(cli, teacher):
    good = {"subject": "the Moon", "predicate": "pulls", "object": "the oceans", "confidence": 0.9, "evidence": [0]}
    say_in_evidence(teacher, "The Moon pulls the oceans.")
    teacher.script("triples", Say({"triples": [good, {**good, "confidence": 7}]}))
    (query,) = distill(cli, teacher).json["queries"]
    assert len(query["notes"]) == 1
    assert "confidence" in query["notes"][0]
    teacher.script("triples", *[Say("There are no triples in this.")] * 8)
    done = cli(
        "distill", "-q", "Who?", "--store", "g.lbug", "--teacher", "scripted", "--teacher-base-url", teacher.url, "--json"
    )
    assert any("patterns" in note for note in done.json["queries"][0]["notes"])


def test_erase_asks_first(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    questions = write(tmp_path / "q.jsonl", GOOD)
    assert cli("distill", questions, "--teacher", curated_file(tmp_path / "c.jsonl", GOOD), "--store", "g.lbug").code == 0
    (query,) = cli("show", "--store", "g.lbug", "--json").json
    assert "Nothing was erased" in cli("db", "erase", "--query-id", query["id"], "--store", "g.lbug").err
    assert len(cli("show", "--store", "g.lbug", "--json").json) == 1


def test_what_was_confirmed_is_erased(cli, tmp_path, monkeypatch):
    questions = write(tmp_path / "q.jsonl", GOOD)
    assert cli("distill", questions, "--teacher", curated_file(tmp_path / "c.jsonl", GOOD), "--store", "g.lbug").code == 0
    (query,) = cli("show", "--store", "g.lbug", "--json").json
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    done = cli("db", "erase", "--query-id", query["id"][:6], "--store", "g.lbug", "--json")
    assert (done.code, done.json["source_id"], done.json["erased"]["Query"]) == (0, query["id"], 1)
    assert f"Erase query or document {query['id']} from g.lbug?" in done.err
    assert cli("show", "--store", "g.lbug", "--json").json == []


def test_a_dry_run_knows_what_a_file_has_taught_already(cli, tmp_path):
    questions = write(tmp_path / "q.jsonl", GOOD)
    command = ("distill", questions, "--teacher", curated_file(tmp_path / "c.jsonl", GOOD), "--store", "g.lbug")
    before = cli(*command, "--dry-run", "--json").json
    assert (before["stored"], before["calls"] > 0) == (0, True)
    assert cli(*command).code == 0
    after = cli(*command, "--dry-run", "--json").json
    assert (after["queries"], after["stored"], after["calls"]) == (1, 1, 0)


def test_a_blind_teacher_is_audited_as_blind(cli, teacher, tmp_path):
    questions = write(tmp_path / "q.jsonl", GOOD)
    flags = ["--store", "g.lbug", "--teacher", "scripted", "--teacher-base-url", teacher.url]
    for blind in (["--blind"], []):
        assert cli("distill", questions, *flags, *blind).code == 0
        answer = cli("ask", "--file", questions, "--store", "g.lbug", "--json").json["answers"][0]["answer_id"]
        audit = cli("audit", answer, "--store", "g.lbug", "--json").json
        seen = {entry["stage"]: entry["messages"] for entry in audit["privacy"]["teacher_saw"]}
        assert seen["evidence"] == teacher.of("evidence")[-1].body["messages"], "what was sent, not a reconstruction"
        assert len(audit["calls"]) == len(audit["privacy"]["teacher_saw"]) == 3
        shown = "".join(message["content"] for messages in seen.values() for message in messages)
        assert [option in shown for option in GOOD["options"]] == [not blind] * len(GOOD["options"])
        assert all(option not in teacher.of("evidence")[-1].prompt for option in GOOD["options"]) is bool(blind)


@pytest.mark.parametrize(("command", "code"), [("export | head -1", 0), ("show > /dev/full", 1)])
def test_output_that_cannot_be_written(cli, tmp_path, command, code):
    questions = write(tmp_path / "q.jsonl", GOOD)
    assert cli("distill", questions, "--teacher", curated_file(tmp_path / "c.jsonl", GOOD), "--store", "g.lbug").code == 0
    environment = {**os.environ, "DRAG_GRAPH_STORE": "g.lbug"}
    shell = f"set -o pipefail; {sys.executable} -m drag_graph {command}"
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert ("cannot be written" in done.stderr) is bool(code)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--plan", "foo"), "Invalid value for '--plan': 'foo' is not one of 'lean', 'paper'."),
        (("--alpha", 3), "Setting 'alpha': Input should be less than or equal to 1"),
    ],
)
def test_a_flag_that_cannot_be_names_itself_and_what_it_may_be(cli, flags, said):
    done = cli("distill", "-q", "What?", "--teacher", "curated:x", *flags)
    assert (done.code, said in done.err) == (2, True), done.err
