"""Nothing that names a person leaves the machine: canaries in questions, options, ids, metadata and file names.

The scripted server is reached by an address that does not count as this machine. It records all that arrives, and no other
connection can be made.
"""

import contextlib
import io
import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from canaries import CANARIES

from drag_graph.__main__ import main
from drag_graph.compose.store_opening import open_store
from drag_graph.privacy import privacy_gate as opening
from drag_graph.privacy.vault import Vault
from drag_graph.settings import Settings
from drag_graph.testing.rewriting import ToldRewriter
from drag_graph.testing.server import Fault, Request, Say, ScriptedServer

PERSON, TOWN, OPTION, OWN_ID, NOTE, FILE = (
    *("Zorblax Quenneville", "Grimsthorpe-on-Ooze", "Ysolde Marchbanks"),
    *("quennevillezorb-4711830255", "wexcombe secret", "pemberleyfile"),
)
MAIL = "zorblax.q@ooze.example"
TOLD = {PERSON: ("PERSON", "Person A"), TOWN: ("PLACE", "a town in England"), OPTION: ("PERSON", "Person B")}
QUESTION = f"How do glaciers change the valleys that {PERSON} from {TOWN} ({MAIL}) paints?"
ASKED = "How do glaciers change the valleys that Person A from a town in England (an e-mail address) paints?"
LINES = (
    {"id": OWN_ID, "question": QUESTION, "options": ["slowly", f"as {OPTION} says"], "answer": 0, "note": NOTE},
    {"id": "2", "question": "How do violins change concerts?"},
)


@pytest.fixture
def rewriter(monkeypatch):
    """What the gate finds details by."""
    found = ToldRewriter(TOLD)
    monkeypatch.setattr(opening, "local_rewriter", lambda _level: found)
    return found


@pytest.fixture
def server():
    with ScriptedServer() as found:
        yield found


@pytest.fixture
def away(server, monkeypatch):
    """The server's address as one of another machine; any other connection fails."""
    port = int(server.url.split(":")[2].split("/")[0])
    connect = socket.socket.connect

    def only_there(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[1] != port:
            raise AssertionError("another way out")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_there)
    return f"http://127.1:{port}/v1"


@pytest.fixture
def work(monkeypatch, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DRAG_GRAPH_EMBEDDER", "lexical")
    monkeypatch.setenv("DRAG_GRAPH_LOG_LEVEL", "debug")
    monkeypatch.setenv("DRAG_GRAPH_BATCH_POLL_SECONDS", "0.01")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    (tmp_path / f"{FILE}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    return folder


def drag_graph(*args, code=0):
    """Run the command line in this process; return its stdout, with its stderr held to have no canary."""
    out, err, hook, argv = io.StringIO(), io.StringIO(), sys.excepthook, sys.argv
    sys.argv = ["drag-graph", *(str(arg) for arg in args)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
            main()
    finally:
        sys.excepthook, sys.argv = hook, argv
    assert (stopped.value.code or 0) == code, err.getvalue()
    assert_clean("stderr", err.getvalue())
    return out.getvalue()


def distill(away, *more, code=0, file=f"../{FILE}.jsonl"):
    teacher = ["--teacher", "gpt-4o-mini", "--teacher-base-url", away, "--workers", "2"]
    return json.loads(drag_graph("distill", file, *teacher, "--json", *more, code=code))


def assert_clean(where, text):
    lower = text.lower()
    assert [canary for canary in CANARIES if canary in lower] == [], where


def assert_nothing_left(server, work):
    """Look for canaries in all that the server got, all files of the store, and what is left in temporary files."""
    for request in server.requests:
        if not dict(request.headers).get("Host", "").startswith("127.0.0.1"):  # that is this machine
            assert_clean("request", f"{request.path} {dict(request.headers)} {json.dumps(request.body)}")
    for name, content in server.batches.files.items():
        assert_clean(f"file {name}", content.decode())
    for folder in (work, Path(tempfile.gettempdir())):
        for path in folder.rglob("*"):
            if path.is_file():
                assert_clean(str(path), path.read_bytes().decode("latin-1"))
                assert_clean("a file's name", path.name)


def test_a_distillation_knows_only_the_asked_text(work, server, away, rewriter):
    server.script("evidence", Fault(503), Fault(), Say("not JSON"), Say({"evidence": "of another form"}))
    server.script("triples", Fault(429, retry_after="0"))
    document = distill(away)
    assert [entry["status"] for entry in document["queries"]] == ["complete", "complete"]
    assert [entry["input_id"] for entry in document["queries"]] == [OWN_ID, "2"]
    assert server.count() >= 8
    assert any(ASKED in request.prompt for request in server.requests)
    assert_nothing_left(server, work)
    exported = drag_graph("export", "--full") + drag_graph("export", "--format", "subgraphs") + drag_graph("tape", "export")
    assert_clean("exports", exported + drag_graph("runs", "--json") + drag_graph("show", "--json"))
    stored = json.loads(drag_graph("show", document["queries"][0]["id"], "--json"))["source"]
    assert (stored["text"], stored["options"][1]) == (ASKED, "as Person B says")
    assert not stored["input_id"]
    assert not stored["metadata"]
    before = server.count()
    assert [entry["status"] for entry in distill(away)["queries"]] == ["complete", "complete"]
    assert server.count() == before


def test_a_batch_knows_only_the_asked_text(work, server, away, rewriter):
    document = distill(away, "--batch")
    assert [entry["status"] for entry in document["queries"]] == ["complete", "complete"]
    assert server.batches.files
    assert_nothing_left(server, work)


def test_a_remote_embedder_is_behind_the_same_gate(work, server, away, rewriter, monkeypatch):
    monkeypatch.setenv("DRAG_GRAPH_EMBEDDER", "openai/embedder")
    monkeypatch.setenv("DRAG_GRAPH_EMBEDDER_BASE_URL", away)
    distill(away)
    assert server.of("embeddings")
    drag_graph("ask", QUESTION, "--option", "slowly", "--option", f"as {OPTION} says")
    assert_nothing_left(server, work)


def test_a_cloud_student_is_asked_the_asked_text_and_finds_its_lines(work, server, away, rewriter):
    distill(away)
    student = ["--student", "gpt-4o-mini", "--student-base-url", away, "--json"]
    options = ["--option", "slowly", "--option", f"as {OPTION} says"]
    answer = json.loads(drag_graph("ask", QUESTION, *options, *student))
    assert answer["lines"]
    assert answer["source_ids"]
    assert ASKED in server.of("student")[-1].prompt
    report = json.loads(drag_graph("ask", "--file", f"../{FILE}.jsonl", *student))
    assert [entry["input_id"] for entry in report["answers"]] == [OWN_ID, "2"]
    drag_graph("audit", answer["answer_id"], "--format", "html", "-o", "page.html")
    assert_nothing_left(server, work)


def test_a_question_on_the_command_line_is_in_no_run(work, server, away, rewriter):
    teacher = ["--teacher", "gpt-4o-mini", "--teacher-base-url", away]
    drag_graph("distill", "-q", QUESTION, *teacher)
    drag_graph("distill", "-q", QUESTION, *teacher, "--dry-run")
    assert_nothing_left(server, work)


def test_a_dry_run_keeps_nothing_and_knows_what_is_stored(work, server, away, rewriter):
    first = distill(away, "--dry-run")
    assert first["calls"] == 6
    assert list(work.rglob("*.vault")) == []
    distill(away)
    assert distill(away, "--dry-run")["stored"] == 2
    rewriter.version = "standard told-2"
    assert distill(away, "--dry-run")["stored"] == 0, "what other detectors let pass counts as complete"


@pytest.mark.parametrize("level", [(), ("--privacy", "strict")], ids=["standard", "strict"])
def test_without_the_detectors_nothing_is_sent(work, server, away, monkeypatch, level):
    from drag_graph.errors import MissingExtra

    def missing(_level):
        raise MissingExtra("a package is not installed", hint="pip install it.")

    monkeypatch.setattr(opening, "local_rewriter", missing)
    teacher = ["--teacher", "gpt-4o-mini", "--teacher-base-url", away]
    drag_graph("distill", f"../{FILE}.jsonl", *teacher, *level, code=2)
    assert server.requests == []
    assert list(work.rglob("*")) == []


def test_what_would_be_sent_is_written_as_a_page_whatever_the_exit_code(work, rewriter):
    drag_graph("privacy", "check", f"../{FILE}.jsonl", "--page", "-o", "check.html")
    assert PERSON in (work / "check.html").read_text(encoding="utf-8")
    (work / "unusable.jsonl").write_text("{}\n")
    drag_graph("privacy", "check", "unusable.jsonl", "--json", "-o", "check.json", code=1)
    assert json.loads((work / "check.json").read_text(encoding="utf-8"))["totals"]["rejected"] == 1


def test_off_sends_texts_as_they_are(work, server, away, refused):
    teacher = ["--teacher", "gpt-4o-mini", "--teacher-base-url", away, "--privacy", "off"]
    drag_graph("distill", f"../{FILE}.jsonl", *teacher)
    assert any(PERSON in request.prompt for request in server.requests)
    assert "came to a model: quenneville, zorblax" in refused(), "no test would fail for its canaries"


def test_a_teacher_of_this_machine_needs_no_gate(work, server, monkeypatch):
    monkeypatch.setattr(opening, "local_rewriter", lambda _level: pytest.fail("a gate"))
    drag_graph("distill", f"../{FILE}.jsonl", "--teacher", "scripted", "--teacher-base-url", server.url)
    assert any(PERSON in request.prompt for request in server.requests)


def explode(*_):
    raise ValueError(f"about {PERSON}")


@pytest.mark.parametrize("name", ["rewrite", "private", "structured"])
@pytest.mark.parametrize("broken", [explode, lambda *_: None, lambda *_: "nonsense"], ids=["raises", "nothing", "nonsense"])
def test_with_a_broken_detector_nothing_is_sent_and_every_query_is_quarantined(
    work, server, away, rewriter, monkeypatch, name, broken
):
    sound, asked = getattr(rewriter, name), []

    def breaks_later(*given):
        asked.append(given)
        return sound(*given) if len(asked) == 1 else broken(*given)  # the first is the gate's own, when it is opened

    monkeypatch.setattr(rewriter, name, breaks_later)
    for more in ((), ("--batch",)) if broken is explode else ((),):
        asked.clear()
        document = distill(away, *more, code=1)
        assert [entry["status"] for entry in document["queries"]] == ["quarantined", "quarantined"]
        assert all(entry["error"].startswith("privacy: ") for entry in document["queries"])
        assert document["totals"]["calls"] == 0
    assert server.requests == []
    assert_nothing_left(server, work)


def test_what_the_teacher_says_of_a_person_is_not_sent_back(work, server, away, rewriter):
    facts = [{"text": f"Write to {MAIL} about fact {n} of glaciers.", "framing": "causal"} for n in range(15)]
    server.always("evidence", lambda _request: Say({"evidence": facts}))
    document = distill(away, code=1)
    assert {entry["status"] for entry in document["queries"]} == {"quarantined"}
    assert all(entry["error"].startswith("privacy: ") for entry in document["queries"])
    assert server.count("scores") == server.count("triples") == 0
    for request in server.requests:
        assert_clean("request", json.dumps(request.body))


def test_a_refresh_goes_through_the_gate_again(work, server, away, rewriter, monkeypatch):
    teacher = ["--teacher", "gpt-4o-mini", "--teacher-base-url", away, "--json"]
    distill(away)
    answer = json.loads(drag_graph("ask", "--file", f"../{FILE}.jsonl", "--json"))
    assert [entry["correct"] for entry in answer["answers"]][1] is None
    unfiltered = ["--store", "other.lbug", "--teacher-base-url", server.url, "--teacher", "scripted"]
    drag_graph("distill", f"../{FILE}.jsonl", *unfiltered)
    before = len(server.requests)
    monkeypatch.setattr("drag_graph.app.distilling.due", lambda store, *_: _all_due(store))
    document = json.loads(drag_graph("refresh", "--expired", *teacher))
    assert [entry["status"] for entry in document["queries"]] == ["complete", "complete"]
    refreshed, distilled = json.loads(drag_graph("runs", "--json"))
    assert refreshed["source"].startswith("--expired of "), "which tells nothing"
    assert distilled["source"].startswith("withheld ")
    document = json.loads(drag_graph("refresh", "--expired", "--store", "other.lbug", *teacher, code=1))
    assert sorted(entry["status"] for entry in document["queries"]) == ["complete", "quarantined"]
    for request in server.requests[before:]:
        assert_clean("request", json.dumps(request.body))


def _all_due(store):
    from drag_graph.jobs.stale_queries import Due

    return iter([Due(item, ("expired",)) for item in store.sources(limit=10)])


def test_the_key_of_the_vault_is_for_its_owner_alone(work, server, away, rewriter):
    distill(away)
    (vault,) = work.rglob("*.vault")
    key = vault.with_name("vault.key")
    assert [path.stat().st_mode & 0o777 for path in (vault, key)] == [0o600, 0o600]
    key.chmod(0o644)
    drag_graph("distill", f"../{FILE}.jsonl", "--teacher", "gpt-4o-mini", "--teacher-base-url", away, code=3)
    key.chmod(0o600)
    key.rename(work / "elsewhere")
    drag_graph("distill", f"../{FILE}.jsonl", "--teacher", "gpt-4o-mini", "--teacher-base-url", away, code=3)


def test_a_student_of_this_machine_is_asked_the_original_and_its_answer_is_stored_without_names(work, server, away, rewriter):
    facts = [{"text": f"Person A paints valley {n} of glaciers.", "framing": "causal"} for n in range(15)]
    server.always("evidence", lambda _request: Say({"evidence": facts}))
    teacher = ["--teacher", "gpt-4o-mini", "--teacher-base-url", away]
    drag_graph("distill", "-q", QUESTION, *teacher)
    server.always("student", lambda _request: Say(f"{PERSON} does, says Quenneville of {TOWN}; write to {MAIL}."))
    student = ["--student", "scripted", "--student-base-url", server.url, "--json"]
    answer = json.loads(drag_graph("ask", QUESTION, *student))
    prompt = server.of("student")[-1].prompt
    assert QUESTION in prompt
    assert f"{PERSON} paints valley" in prompt
    assert answer["answer"] == "Person A does, says Person A of a town in England; write to an e-mail address."
    assert all(
        line["text"].startswith(("Person A paints valley", "person")) for line in answer["lines"] if line["kind"] == "evidence"
    )
    assert answer["source_ids"]
    assert_nothing_left(server, work)

    shown = json.loads(drag_graph("ask", QUESTION, *student, "--reidentify"))
    assert shown["answer_id"] == answer["answer_id"]
    assert shown["answer"].startswith(f"{PERSON} does, says {PERSON} of a town")
    assert {item["original"]: item["replacement"] for item in shown["generalised"]} == {
        PERSON: "Person A", TOWN: "a town in England", MAIL: "an e-mail address",
    }  # fmt: skip
    assert any(line["text"].startswith(PERSON) for line in shown["lines"])
    assert_nothing_left(server, work)

    revealed = json.loads(drag_graph("privacy", "reveal", answer["answer_id"], "--json"))
    (original,) = revealed["originals"]
    assert original["question"] == QUESTION
    assert original["answer"] == shown["answer"]
    assert original["lines"] == [{"n": line["n"], "text": line["text"]} for line in shown["lines"]]
    assert original["generalised"] == shown["generalised"]
    assert PERSON in drag_graph("privacy", "reveal", answer["answer_id"])

    audit = json.loads(drag_graph("audit", answer["answer_id"], "--json"))
    assert (audit["privacy"]["filter"], audit["privacy"]["detectors"]) == ("standard", rewriter.version)
    assert [(item["type"], item["number"]) for item in audit["privacy"]["generalised"]] == [
        ("EMAIL", 1), ("PERSON", 1), ("PLACE", 1),
    ]  # fmt: skip
    assert "1 PERSON by told" in " ".join(drag_graph("audit", answer["answer_id"]).split())
    drag_graph("db", "erase", "--query-id", answer["source_ids"][0], "--yes")
    assert vault_of(work).originals(answer["source_ids"][0]) == []


def test_options_are_stored_as_they_were_asked_whoever_chose_them(work, server, away, rewriter):
    distill(away)
    server.always("student", lambda _request: Say("B"))
    student = ["--student", "scripted", "--student-base-url", server.url, "--json"]
    report = json.loads(drag_graph("ask", "--file", f"../{FILE}.jsonl", *student))
    first = report["answers"][0]
    assert f"as {OPTION} says" in server.of("student")[0].prompt
    assert (first["label"], first["answer"], first["correct"]) == ("B", "as Person B says", False)
    (revealed,) = json.loads(drag_graph("privacy", "reveal", first["answer_id"], "--json"))["originals"]
    assert (revealed["answer"], revealed["own_id"]) == (f"as {OPTION} says", OWN_ID)
    assert_nothing_left(server, work)


def test_nearest_behind_a_remote_embedder_is_not_asked_the_original(work, server, away, rewriter, monkeypatch):
    monkeypatch.setenv("DRAG_GRAPH_EMBEDDER", "openai/embedder")
    monkeypatch.setenv("DRAG_GRAPH_EMBEDDER_BASE_URL", away)
    distill(away)
    report = json.loads(drag_graph("ask", "--file", f"../{FILE}.jsonl", "--json"))
    assert not any(entry.get("error") for entry in report["answers"])
    assert_nothing_left(server, work)


def test_a_scan_says_where_unfiltered_texts_are_and_not_what_they_are(work, server, rewriter, away):
    drag_graph("distill", f"../{FILE}.jsonl", "--teacher", "scripted", "--teacher-base-url", server.url)
    drag_graph("export", "--full", "-o", "graph.jsonl")
    printed = drag_graph("privacy", "scan", "graph.jsonl", "--json")
    assert_clean("scan", printed)
    found = json.loads(printed)["findings"]
    assert {item["place"] for item in found} == {"store", "ledger", "graph.jsonl"}
    assert {item["type"] for item in found} == {"PERSON", "PLACE", "EMAIL"}
    assert_clean("scan", drag_graph("privacy", "scan", "graph.jsonl"))
    distill(away, "--store", "other.lbug")
    drag_graph("export", "--full", "-o", "clean.jsonl", "--store", "other.lbug")
    assert json.loads(drag_graph("privacy", "scan", "clean.jsonl", "--store", "other.lbug", "--json"))["findings"] == []


def test_an_evaluation_of_a_cloud_student_knows_only_the_asked_text(work, server, away, rewriter):
    (work.parent / "task.jsonl").write_text("".join(json.dumps({"answer": 1, **line}) + "\n" for line in LINES[:1]))
    models = ["--teacher", "gpt-4o-mini", "--teacher-base-url", away, "--student", "gpt-4o-mini", "--student-base-url", away]
    summary = json.loads(drag_graph("eval", "../task.jsonl", *models, "--modes", "none,graph", "--json"))
    assert summary["n"] == 1
    assert_nothing_left(server, work)


def test_an_evaluation_of_a_student_of_this_machine_keeps_no_hash_of_the_original(work, server, away, rewriter):
    (work.parent / "task.jsonl").write_text("".join(json.dumps({"answer": 1, **line}) + "\n" for line in LINES))
    models = ["--teacher", "gpt-4o-mini", "--teacher-base-url", away, "--student", "scripted", "--student-base-url", server.url]
    drag_graph("eval", "../task.jsonl", *models, "--modes", "graph", "--json")
    assert any(QUESTION in request.prompt for request in server.of("student"))
    (records,) = work.rglob("items.jsonl")
    hashes = {bool(row["options"]): row["prompt_hash"] for row in map(json.loads, records.read_text().splitlines())}
    assert (hashes[True], bool(hashes[False])) == ("", True)
    assert_nothing_left(server, work)


def test_a_cloud_student_sees_no_line_of_a_question_that_is_stored_as_it_was_given(work, server, away, rewriter):
    facts = [{"text": f"Glaciers that {PERSON} paints change valley {n}.", "framing": "causal"} for n in range(15)]
    server.always("evidence", lambda _request: Say({"evidence": facts}))
    drag_graph("distill", f"../{FILE}.jsonl", "--teacher", "scripted", "--teacher-base-url", server.url)
    before = len(server.requests)
    student = ["--student", "gpt-4o-mini", "--student-base-url", away, "--json"]
    answer = json.loads(drag_graph("ask", "How do glaciers change the valleys?", *student))
    assert answer["lines"] == []
    for request in server.requests[before:]:
        assert_clean("request", json.dumps(request.body))


def test_a_cloud_model_sees_no_statement_about_a_person_to_summarise(work, server, away, rewriter):
    facts = [{"text": f"{PERSON} changes valley {n}, and ice changes it.", "framing": "causal"} for n in range(15)]
    triples = [
        {"subject": who, "predicate": "changes", "object": "valley", "evidence": [n], "confidence": 0.9}
        for n, who in enumerate((PERSON, "ice", "water"), start=1)
    ]
    server.always("evidence", lambda _request: Say({"evidence": facts}))
    server.always("triples", lambda _request: Say({"triples": triples}))
    drag_graph("distill", "-q", "How do glaciers change valleys?", "--teacher", "scripted", "--teacher-base-url", server.url)
    before = len(server.requests)
    model = ["--summariser", "gpt-4o-mini", "--summariser-base-url", away]
    drag_graph("communities", "--min-size", "2", *model, "--json")
    sent = server.requests[before:]
    assert any("ice" in request.prompt for request in sent)
    for request in sent:
        assert_clean("request", json.dumps(request.body))


def test_a_line_is_found_and_erased_by_its_own_id_which_the_vault_alone_knows(work, server, away, rewriter):
    first = distill(away)["queries"][0]["id"]
    answer = json.loads(
        drag_graph("ask", "--query-id", OWN_ID, "--student", "scripted", "--student-base-url", server.url, "--json")
    )
    assert answer["source_ids"] == [first]
    assert json.loads(drag_graph("show", OWN_ID, "--json"))["source"]["id"] == first
    assert [kept["id"] for kept in json.loads(drag_graph("answers", "--query-id", OWN_ID, "--json"))] == [answer["answer_id"]]
    assert json.loads(drag_graph("audit", OWN_ID, "--json"))["answer_id"] == answer["answer_id"]
    assert json.loads(drag_graph("privacy", "reveal", OWN_ID, "--json"))["answer_id"] == answer["answer_id"]
    drag_graph("aggregate", "--query-id", OWN_ID, "--json")
    drag_graph("show", "2", "--namespace", "other", code=3)
    assert_nothing_left(server, work)

    gone = json.loads(drag_graph("db", "erase", "--where", "input_id=2", "--yes", "--json"))
    assert (gone["erased"]["Query"], gone["recorded"]["originals"]) == (1, 1)
    assert [source["id"] for source in json.loads(drag_graph("show", "--json"))] == [first]
    assert vault_of(work).ids("default") == {first}
    with open_store(Settings(), create=False) as graph:
        graph.erase([first])  # as a run does that is killed before it comes to the vault
    gone = json.loads(drag_graph("db", "erase", "--query-id", OWN_ID, "--yes", "--json"))
    assert gone["recorded"]["originals"] == 1
    assert vault_of(work).ids("default") == frozenset()


def vault_of(work):
    (path,) = work.rglob("*.vault")
    return Vault(path)


ALONE = ("unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable)
"""Run Python in a network namespace of its own: there the loopback, and so the server, is the only way out for any code."""
REACH = "import socket; socket.create_connection(('203.0.113.1', 443), 5)"


def test_no_path_of_a_test_comes_to_a_model(server, tmp_path, refused):
    server.log(Request("/v1/chat/completions", "student", {"prompt": f"Read {tmp_path}."}, {"Host": "127.0.0.1:1"}, 0.0))
    assert refused() == "came to a model: pytest-of-\n"


def test_no_test_reaches_another_machine(refused):
    with pytest.raises(OSError, match="tests have no network"):
        socket.create_connection(("203.0.113.1", 443), 5)
    with pytest.raises(OSError, match="tests have no network"):
        socket.getaddrinfo("example.org", 443)
    with socket.socket() as stream, pytest.raises(OSError, match="tests have no network"):
        stream.connect(("203.0.113.1", 443))
    with socket.socket(type=socket.SOCK_DGRAM) as datagrams, pytest.raises(OSError, match="tests have no network"):
        datagrams.sendto(b"words", ("203.0.113.1", 53))
    said = refused().splitlines()
    names = ["socket.getaddrinfo to 203.0.113.1", "socket.getaddrinfo to example.org"]
    assert said == [*names, "socket.connect to ('203.0.113.1', 443)", "socket.sendto to 203.0.113.1"]
    child = subprocess.run([sys.executable, "-c", REACH], capture_output=True, text=True, timeout=60, check=False)
    assert "tests have no network" in child.stderr
    assert refused() == f"{names[0]}\n"


@pytest.mark.long
def test_where_the_recording_server_is_the_only_way_out_a_distillation_goes_through():
    """In the other tests Python's sockets are watched; here the kernel has no other network, for libraries in C neither."""
    try:
        here = subprocess.run([*ALONE, "-c", "print('alone')"], capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError as error:
        pytest.skip(f"no network namespace: {error}")
    if here.stdout.strip() != "alone":
        pytest.skip(f"this machine gives no network namespace: {here.stderr.strip()}")
    reached = subprocess.run([*ALONE, "-I", "-c", REACH], capture_output=True, text=True, timeout=60, check=False)
    assert "Network is unreachable" in reached.stderr
    test = f"{__file__}::{test_a_distillation_knows_only_the_asked_text.__name__}"
    run = [*ALONE, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", test]
    found = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert (found.returncode, "1 passed" in found.stdout) == (0, True), found.stdout
