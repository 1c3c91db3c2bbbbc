"""`distill --batch` against the scripted server's files and batches: the same graph as by direct requests for half the price,
whatever becomes of a batch or a line in it."""

import contextlib
import io
import json
import sqlite3
import sys
from datetime import UTC, datetime

import pytest

from drag_graph.__main__ import main
from drag_graph.errors import ConfigurationError
from drag_graph.ledger import Ledger
from drag_graph.models.model_catalogue import batch_price_of, price_of
from drag_graph.models.teachers.provider_batch_api import check_support
from drag_graph.testing import plausible
from drag_graph.testing.batches import Course
from drag_graph.testing.server import BATCHES, Fault, Say, ScriptedServer, half

PAIRS = (("glaciers", "valleys"), ("violins", "concerts"), ("volcanoes", "islands"), ("bridges", "traffic"))
PRICED = "gpt-4o-mini"


@pytest.fixture
def server():
    with ScriptedServer() as found:
        yield found


@pytest.fixture
def work(monkeypatch, tmp_path):
    """An empty folder with four questions, and quick looks at batches."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRAG_GRAPH_EMBEDDER", "lexical")
    monkeypatch.setenv("DRAG_GRAPH_PRIVACY", "off")  # a cloud model's name is there for its price
    monkeypatch.setenv("DRAG_GRAPH_BATCH_POLL_SECONDS", "0.01")
    lines = [{"id": str(n), "question": f"How do {one} change {other}?"} for n, (one, other) in enumerate(PAIRS)]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return tmp_path


def drag_graph(*args):
    """Run the command line in this process; return its exit code, stdout and stderr."""
    out, err, hook, argv = io.StringIO(), io.StringIO(), sys.excepthook, sys.argv
    sys.argv = ["drag-graph", *args]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
            main()
    finally:
        sys.excepthook, sys.argv = hook, argv
    return stopped.value.code or 0, out.getvalue(), err.getvalue()


def distill(server, *more, store="graph.lbug", model=PRICED, code=0, batch=True):
    """Distill the questions; return the `--json` document."""
    teacher = ["--teacher", model, "--teacher-base-url", server.url, "--workers", "2"]
    batched = ["--batch"] if batch else []
    ended, out, err = drag_graph("distill", "q.jsonl", *teacher, "--store", store, "--json", *batched, *more)
    assert ended == code, err
    return json.loads(out) if out else err


def export(store="graph.lbug"):
    return drag_graph("export", "--store", store)[1]


def statuses(report):
    return [query["status"] for query in report["queries"]]


def direct(server):
    return [request for request in server.requests if request.path != BATCHES]


def spent(store="graph.lbug"):
    """Return what the job has spent and reserved by the ledger."""
    database = sqlite3.connect(f"{store}.ledger")
    try:
        (settled,) = database.execute("SELECT coalesce(sum(nanos), 0) / 1e9 FROM spending").fetchone()
        (reserved,) = database.execute("SELECT coalesce(sum(nanos), 0) / 1e9 FROM reservations").fetchone()
    finally:
        database.close()
    return settled, reserved


@pytest.mark.parametrize(("plan", "rounds"), [("lean", 3), ("paper", 5)])
def test_the_same_requests_give_the_same_graph_for_half_the_price(work, server, plan, rounds):
    alone = distill(server, "--plan", plan, store="alone.lbug", batch=False)
    asked = sorted(json.dumps(request.body, sort_keys=True) for request in server.requests)
    server.requests.clear()
    batched = distill(server, "--plan", plan)
    assert export() == export("alone.lbug")
    assert not direct(server)
    assert sorted(json.dumps(request.body, sort_keys=True) for request in server.requests) == asked
    assert len(server.batches.sizes) == rounds
    assert sum(server.batches.sizes) == len(asked)
    assert batched["totals"]["cost_usd"] == pytest.approx(alone["totals"]["cost_usd"] / 2, abs=2e-6)
    same = ("complete", "calls", "cached_calls", "tokens_in", "tokens_out", "triples", "edges")
    assert [batched["totals"][name] for name in same] == [alone["totals"][name] for name in same]
    assert spent() == (pytest.approx(sum(query["cost_usd"] for query in batched["queries"])), 0)


def test_what_is_done_is_not_asked_again(work, server):
    first = distill(server)
    again = distill(server)
    assert (again["totals"]["complete"], again["totals"]["calls"], len(server.batches.sizes)) == (4, 0, 3)
    pruned = distill(server, "--threshold", "0.5")
    assert (pruned["totals"]["complete"], pruned["totals"]["calls"], pruned["totals"]["cost_usd"]) == (4, 0, 0)
    distill(server)
    # Another store asks for everything again; the ledger that has the replies gives them, and nothing is paid.
    other = distill(server, "--ledger", "graph.lbug.ledger", store="other.lbug")
    calls = first["totals"]["calls"]
    assert (calls, other["totals"]["complete"]) == (12, 4)
    assert (other["totals"]["calls"], other["totals"]["cached_calls"], other["totals"]["cost_usd"]) == (calls, calls, 0)
    assert export("other.lbug") == export()
    assert (len(server.batches.sizes), direct(server)) == (3, [])
    with Ledger(work / "graph.lbug.ledger") as ledger, ledger.reading() as rows:
        assert rows.execute("SELECT count(*) FROM batch_requests").fetchone() == (0,)
    assert not list(work.glob("*.lock"))


def test_a_line_that_a_batch_does_not_answer_usably_is_asked_directly(work, server):
    evidence = plausible.evidence("15 statements: How do glaciers change valleys?")
    server.script("evidence", Say("I cannot think of any."), Say("", refusal="I will not."), half(evidence), Fault(500))
    report = distill(server)
    assert statuses(report) == ["complete"] * 4
    assert server.batches.sizes == [4, 4, 4]
    assert [request.schema for request in direct(server)] == ["evidence"] * 4
    # The three replies that came are paid for, too, and so is each second one: 4 queries of 3 calls each, and 3 more.
    assert report["totals"]["calls"] == 15
    assert spent() == (pytest.approx(sum(query["cost_usd"] for query in report["queries"])), 0)


def test_a_line_that_nobody_answers_usably_is_quarantined_and_asked_once(work, server):
    server.always(
        "scores", lambda request: Say("no") if "glaciers" in request.prompt.lower() else plausible.scores(request.prompt)
    )
    report = distill(server, code=1)
    assert statuses(report) == ["quarantined", "complete", "complete", "complete"]
    assert "unusable, even after 2 more requests" in report["queries"][0]["error"]
    assert len(direct(server)) == 3
    assert spent()[0] == pytest.approx(sum(query["cost_usd"] for query in report["queries"]))


def test_a_server_that_takes_no_schema_is_asked_directly_and_then_in_words(work, server):
    def evidence(request):
        return Fault(400) if "response_format" in request.body else plausible.evidence(request.prompt)

    server.always("evidence", evidence)
    assert statuses(distill(server)) == ["complete"] * 4
    assert server.batches.sizes == [4, 4, 4]
    assert all(request.schema == "evidence" for request in direct(server))


def test_a_reply_is_recorded_with_the_request_that_its_batch_sent(work, server):
    def evidence(request):
        refused = "response_format" in request.body and "orchids" not in request.prompt
        return Fault(400) if refused else plausible.evidence(request.prompt)

    server.always("evidence", evidence)
    server.batches.hold.set()
    distill(server, "--no-wait", code=130)
    with (work / "q.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": "4", "question": "How do orchids change gardens?"}) + "\n")
    distill(server, "--no-wait", code=130)
    server.batches.hold.clear()
    distill(server, "--no-wait", code=130)  # the first batch was refused, the second was not
    database = sqlite3.connect("graph.lbug.ledger")
    (sent,) = database.execute("SELECT sent FROM calls").fetchone()
    database.close()
    assert "orchids" in sent
    assert "response_format" in json.loads(sent)["parameters"]


def test_what_an_ended_batch_has_left_is_submitted_again(work, server):
    server.batches.script(Course("cancelled", share=0.5))
    assert statuses(distill(server)) == ["complete"] * 4
    assert (server.batches.sizes, direct(server)) == ([4, 4, 4, 2], [])
    assert server.count() == 12


def test_a_lost_line_of_a_completed_batch_is_submitted_again(work, server):
    server.batches.script(Course(share=0.75))
    assert statuses(distill(server)) == ["complete"] * 4
    assert (sum(server.batches.sizes), direct(server), server.count()) == (13, [], 12)


@pytest.mark.parametrize("status", ["failed", "expired"])
def test_a_batch_that_fails_twice_quarantines_its_queries_with_the_reason(work, server, status):
    server.batches.script(*[Course(status, share=0.0, codes=("token_limit_exceeded",))] * 2)
    report = distill(server, code=1)
    assert statuses(report) == ["quarantined"] * 4
    assert f"{status}, token_limit_exceeded" in report["queries"][0]["error"]
    assert (server.count(), report["totals"]["cost_usd"], spent()) == (0, 0, (0, 0))
    assert statuses(distill(server)) == ["complete"] * 4, "nothing was paid, so the same command tries again"


def test_the_budget_is_reserved_at_the_price_of_batches(work, server):
    few = distill(server, "--budget-usd", "0.0012", code=5)
    settled, reserved = spent()
    assert server.batches.sizes[0] == 1, "not all fit at first"
    assert (reserved, settled) == (0, pytest.approx(sum(query["cost_usd"] for query in few["queries"])))
    assert settled <= 0.0012
    assert "pending" in statuses(few)
    rest = distill(server, "--budget-usd", "1")
    assert statuses(rest) == ["complete"] * 4
    assert (server.count(), direct(server)) == (12, [])
    assert spent()[0] == pytest.approx(sum(query["cost_usd"] for report in (few, rest) for query in report["queries"]))


def test_a_budget_that_is_enough_takes_more_rounds_but_gets_there(work, server):
    report = distill(server, "--budget-usd", "0.003")
    assert statuses(report) == ["complete"] * 4
    assert (server.count(), len(server.batches.sizes) > 3, spent()[1]) == (12, True, 0)
    assert spent()[0] == pytest.approx(sum(query["cost_usd"] for query in report["queries"]))


def test_a_budget_for_nothing_submits_nothing(work, server):
    assert "may cost" in distill(server, "--budget-usd", "0.0000001", code=5)["stopped"]
    assert (server.batches.sizes, spent()) == ([], (0, 0))


def test_submit_leave_and_come_back(work, server):
    reports = [distill(server, "--no-wait", code=130)]
    assert statuses(reports[0]) == ["pending"] * 4
    assert {query["error"] for query in reports[0]["queries"]} == {"waits for a batch"}
    assert "4 requests" in reports[0]["stopped"]
    code = 130
    while code:
        code, out, err = drag_graph(
            *["distill", "q.jsonl", "--teacher", PRICED, "--teacher-base-url", server.url],
            *["--store", "graph.lbug", "--json", "--batch", "--no-wait"],
        )
        assert code in {0, 130}
        assert code == 0 or "Run the same command again to collect the replies" in err
        reports.append(json.loads(out))
        assert len(reports) < 12
    assert (server.batches.sizes, server.count()) == ([4, 4, 4], 12)
    assert statuses(reports[-1]) == ["complete"] * 4
    paid = sum(query["cost_usd"] for report in reports for query in report["queries"])
    assert paid == pytest.approx(spent()[0])
    assert sum(report["totals"]["calls"] - report["totals"]["cached_calls"] for report in reports) == 12


def test_lines_that_were_added_meanwhile_are_submitted_beside_the_waiting_batch(work, server):
    server.batches.hold.set()
    distill(server, "--no-wait", code=130)
    with (work / "q.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": "4", "question": "How do orchids change gardens?"}) + "\n")
    distill(server, "--no-wait", code=130)
    assert server.batches.sizes == [4, 1]
    server.batches.hold.clear()
    assert statuses(distill(server)) == ["complete"] * 5
    assert (server.batches.sizes, server.count()) == ([4, 1, 5, 5], 15)


def test_a_batch_whose_making_seems_to_fail_is_found_and_not_made_twice(work, server):
    server.batches.page = 1
    server.batches.fail("created", 503)
    assert statuses(distill(server)) == ["complete"] * 4
    assert server.batches.sizes == [4, 4, 4]


def test_trouble_on_the_way_is_repeated_by_the_one_retry_loop(work, server):
    for event in ("file", "create", "retrieve", "content"):
        server.batches.fail(event, 429)
    assert statuses(distill(server)) == ["complete"] * 4
    assert (server.batches.sizes, server.count()) == ([4, 4, 4], 12)


def test_the_same_request_of_two_queries_goes_out_once(work, server):
    questions = [
        {"question": "How do glaciers change valleys?", "options": options} for options in (["ice", "wind"], ["a", "b"])
    ]
    (work / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in questions), encoding="utf-8")
    report = distill(server, "--blind")
    assert statuses(report) == ["complete"] * 2
    assert (server.batches.sizes, report["totals"]["cached_calls"]) == ([1, 1, 1], 3)
    assert spent()[0] == pytest.approx(sum(query["cost_usd"] for query in report["queries"]))


def test_two_processes_do_not_wait_for_the_same_batches(work, server):
    distill(server)
    with Ledger(work / "graph.lbug.ledger") as ledger:
        with ledger.reading() as rows:
            (job,) = rows.execute("SELECT DISTINCT job FROM batches").fetchone()
        records = ledger.batches(job, PRICED)
        assert "Another process waits for the batches" in distill(server, code=3)["error"]
        records.close()
    assert statuses(distill(server)) == ["complete"] * 4


def test_a_teacher_without_batches_is_refused_in_words(work, server):
    (work / "c.jsonl").write_text("", encoding="utf-8")
    for flags, words in (
        (["--teacher", "curated:c.jsonl", "--batch"], "A file as the teacher has no batch API"),
        (["--teacher", "tape:x.tape", "--batch"], "A file as the teacher has no batch API"),
        (["--teacher", "anthropic/claude-sonnet-4-5", "--batch"], "has no batch API that drag-graph supports"),
        (["--teacher", PRICED, "--no-wait"], "`--no-wait` requires `--batch`"),
    ):
        code, _, err = drag_graph("distill", "q.jsonl", *flags)
        assert (code, words in err, "Hint: " in err) == (2, True, True), err
    server.batches.there = False
    report = distill(server, code=2)
    assert "has no batch API (HTTP 404)" in report["stopped"]
    assert server.count() == 0


def test_without_an_address_only_providers_that_get_their_own_requests_are_taken():
    check_support("openai/gpt-4o-mini")
    check_support("azure/some-deployment")
    check_support("hosted_vllm/any", "http://127.0.0.1:1/v1")
    for model in ("hosted_vllm/any", "litellm_proxy/any", "mistral/mistral-large-latest"):
        with pytest.raises(ConfigurationError, match="no batch API"):
            check_support(model)


def test_a_dry_run_says_the_price_in_batches(work, server):
    def dry(*more):
        return json.loads(drag_graph("distill", "q.jsonl", "--teacher", PRICED, "--dry-run", "--json", *more)[1])

    assert dry("--batch")["price_usd_high"] == pytest.approx(dry()["price_usd_high"] / 2, rel=0.05)
    assert server.requests == []


def test_engine_ray_and_batch_are_refused_together(work):
    code, _, err = drag_graph("distill", "q.jsonl", "--teacher", PRICED, "--batch", "--engine", "ray")
    assert (code, "`--engine ray` does not work with `--batch`" in err) == (2, True)


def test_the_price_of_a_batch_is_that_of_the_map_or_half():
    assert batch_price_of(PRICED, 1_000_000, 1_000_000) == pytest.approx(0.075 + 0.3)
    whole = price_of("gpt-3.5-turbo-16k", 1000, 1000)
    assert batch_price_of("openai/gpt-3.5-turbo-16k", 1000, 1000) == pytest.approx(whole / 2)
    assert batch_price_of("scripted", 1000, 1000) is None


def test_lines_of_any_other_form_are_asked_again(work, server):
    forms = [
        {"response": {"status_code": {}}, "error": {"code": {"a": []}}},
        {"response": {"status_code": 200, "body": {"choices": []}}, "error": None},
        {"response": {"status_code": 200, "body": {"choices": [{"message": {"content": 7}}], "usage": {"prompt_tokens": -9}}}},
    ]

    def spoil(lines):
        server.batches.alter = list  # only those of the first batch
        spoilt = [{**json.loads(line), **form} for line, form in zip(lines, [*forms, {}], strict=True)]
        return [*(json.dumps(line).encode() + b"\n" for line in spoilt), b"[[[\n", b"null\n"]

    server.batches.alter = spoil
    assert statuses(distill(server)) == ["complete"] * 4
    assert (len(direct(server)), sum(server.batches.sizes)) == (3, 12)


HTML = b"<html><body>Please sign in</body></html>\n"


@pytest.mark.parametrize("trouble", ["batch gone", "file gone", "a page instead", "cut in half"])
def test_what_cannot_be_read_is_kept_and_looked_at_again(work, server, trouble):
    whole = []

    def spoil(lines):
        server.batches.alter = list
        whole.append(b"".join(lines))
        return [HTML if trouble == "a page instead" else whole[0][: len(whole[0]) // 2]]

    if trouble.endswith("gone"):
        server.batches.fail("retrieve" if trouble == "batch gone" else "content", 404)
        words = "does not know the batch batch_1" if trouble == "batch gone" else "of 4 replies of the batch batch_1"
    else:
        server.batches.alter = spoil
        words = "of 4 replies of the batch batch_1"
    report = distill(server, code=4)
    assert words in report["stopped"]
    assert statuses(report) == ["pending"] * 4
    settled, reserved = spent()
    assert (settled, reserved > 0) == (0, True), "nobody knows yet what it cost"
    for name, content in server.batches.files.items():
        if whole and content in {HTML, whole[0][: len(whole[0]) // 2]}:
            server.batches.files[name] = whole[0]
    again = distill(server)
    assert statuses(again) == ["complete"] * 4
    assert (server.batches.sizes, server.count()) == ([4, 4, 4], 12), "nothing was asked twice"
    assert spent() == (pytest.approx(sum(query["cost_usd"] for query in again["queries"])), 0)


def test_a_batch_that_is_given_up_counts_as_paid_in_full(work, server):
    server.batches.fail("retrieve", 404)
    code, _, err = drag_graph(
        *["distill", "q.jsonl", "--teacher", PRICED, "--teacher-base-url", server.url],
        *["--store", "graph.lbug", "--batch"],
    )
    _, reserved = spent()
    assert (code, "drag-graph runs give-up batch_1" in " ".join(err.split())) == (4, True), err
    assert drag_graph("runs", "give-up", "batch_2", "--store", "graph.lbug")[0] == 3
    assert "4 requests" in drag_graph("runs", "give-up", "batch_1", "--store", "graph.lbug")[1]
    report = distill(server)
    assert statuses(report) == ["complete"] * 4
    assert server.batches.sizes == [4, 4, 4, 4]
    assert spent() == (pytest.approx(reserved + sum(query["cost_usd"] for query in report["queries"])), 0)


def test_what_waits_counts_for_a_later_limit_and_what_was_not_submitted_is_said(work, server):
    server.batches.hold.set()
    distill(server, "--no-wait", code=130)
    settled, reserved = spent()
    assert (settled, reserved > 0) == (0, True), "reserved without a limit, too"
    with (work / "q.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": "4", "question": "How do orchids change gardens?"}) + "\n")
    stopped = distill(server, "--no-wait", "--budget-usd", f"{reserved + 1e-6:.9f}", code=5)["stopped"]
    assert "The next request may cost $0.00067" in stopped
    assert "1 batch with 4 requests" in stopped
    assert server.batches.sizes == [4]
    assert spent() == (0, reserved)


def test_a_batch_far_past_its_term_ends_the_run_and_is_kept(work, server):
    server.batches.hold.set()
    server.batches.script(Course(lasts=-7201))
    report = distill(server, code=4)
    assert "Batch batch_1 is still in progress. It was due at" in report["stopped"]
    assert statuses(report) == ["pending"] * 4
    server.batches.hold.clear()
    assert statuses(distill(server)) == ["complete"] * 4
    assert server.batches.sizes == [4, 4, 4]


def test_the_term_that_is_told_is_the_provider_s(work, server):
    server.batches.hold.set()
    server.batches.script(Course(lasts=10 * 86400))
    code, _, err = drag_graph(
        *["distill", "q.jsonl", "--teacher", PRICED, "--teacher-base-url", server.url],
        *["--store", "graph.lbug", "--batch", "--no-wait"],
    )
    by = datetime.fromtimestamp(server.batches.made[0]["expires_at"], UTC)
    assert (code, f"by {by:%Y-%m-%d %H:%M} UTC" in " ".join(err.split())) == (130, True), err


def test_an_early_end_keeps_what_earlier_passes_paid(work, server):
    def scores(request):
        first = "glaciers" in request.prompt.lower()
        if request.path != BATCHES:
            return Fault(401)
        return Say("no") if first else plausible.scores(request.prompt)

    server.always("scores", scores)
    stopped = distill(server, "--workers", "1", code=4)
    assert "pending" in statuses(stopped)
    server.always("scores", lambda request: plausible.scores(request.prompt))
    rest = distill(server)
    assert statuses(rest) == ["complete"] * 4
    paid = [sum(query["cost_usd"] for query in report["queries"]) for report in (stopped, rest)]
    assert sum(paid) == pytest.approx(spent()[0])
    assert stopped["totals"]["cost_usd"] == pytest.approx(paid[0], abs=1e-6)
