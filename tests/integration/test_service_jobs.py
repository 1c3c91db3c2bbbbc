"""Jobs of the service over a real embedded store: what they do, how they are followed, limited and cancelled."""

import io
import json
import signal
import tempfile
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from service_clients import BASE, events_of, served_client

from cli.service_client import ServiceClient
from drag_graph.app import DragGraph
from drag_graph.errors import StoreLocked, StoreUnfit
from drag_graph.jobs.runner import RunProgress
from drag_graph.service import jobs as jobs_module
from drag_graph.service.discovery import running_service
from drag_graph.service.keys import KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.server import ServicePlace, served
from drag_graph.service.service_app import service_app
from drag_graph.testing.server import ScriptedServer

JOBS = "/api/v1/jobs"
QUESTIONS = [f"Why does cause {number} lead to effect {number}?" for number in range(12)]


@contextmanager
def serving(folder, limits=None, **settings):
    """Lend a client of a service, its keyring and its graph."""
    (folder / "facts.jsonl").write_text(
        "".join(json.dumps({"question": one, "evidence": [f"Fact about {one[:-1]}."]}) + "\n" for one in QUESTIONS)
    )
    chosen = {"embedder": "lexical", "privacy": "off", "workers": 1, "teacher": f"curated:{folder / 'facts.jsonl'}", **settings}
    with (
        DragGraph(folder / "graph.lbug", **chosen) as graph,
        closing(KeyRing(graph.settings.service_records_path)) as ring,
    ):
        app = service_app(graph, limits or Limits(), ring, local_token="t")
        with app.state.jobs, TestClient(app, BASE, headers={"Authorization": "Bearer t"}) as client:
            client.graph, client.ring, client.jobs = graph, ring, app.state.jobs
            yield client
        app.state.access.close()


@pytest.fixture
def client(tmp_path):
    with serving(tmp_path) as client:
        yield client


@pytest.fixture
def blocked(monkeypatch):
    """Keep the queue from beginning a job until the event is set."""
    free, do = threading.Event(), jobs_module.JobQueue._do
    monkeypatch.setattr(jobs_module.JobQueue, "_do", lambda self, job: free.wait(30) and do(self, job))
    yield free
    free.set()


def submit(client, kind, body=None, **values):
    reply = client.post(f"{JOBS}/{kind}", json=body, **values) if body is not None else client.post(f"{JOBS}/{kind}", **values)
    assert reply.status_code == 202, reply.text
    return reply.json()["id"]


def ended(client, job, seconds=30, **values):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = client.get(f"{JOBS}/{job}", **values).json()
        if found["state"] not in {"queued", "running"}:
            return found
        time.sleep(0.02)
    raise AssertionError(found)


def test_each_kind_of_job_does_what_the_method_does(client):
    distilled = submit(client, "distill", {"questions": [*QUESTIONS[:2], {"question": QUESTIONS[2], "id": "third"}, "Who?"]})
    found = ended(client, distilled)
    assert (found["state"], found["kind"], found["error"], found["progress"]["done"]) == ("done", "distill", None, 4)
    report = client.get(f"{JOBS}/{distilled}/result").json()
    assert [query["status"] for query in report["queries"]] == ["complete"] * 3 + ["quarantined"]
    assert report["queries"][2]["input_id"] == "third"
    linked = submit(client, "link")
    assert ended(client, linked)["state"] == "done"
    assert client.get(f"{JOBS}/{linked}/result").json()["concepts"] > 0
    refreshed = submit(client, "refresh", {"expired": True})
    assert ended(client, refreshed)["state"] == "done"
    exported = submit(client, "export", {"format": "subgraphs"})
    assert ended(client, exported)["state"] == "done"
    lines = client.get(f"{JOBS}/{exported}/result").text.splitlines()
    assert lines == list(client.graph.export("subgraphs"))
    assert [job["id"] for job in client.get(JOBS).json()["jobs"]] == [exported, refreshed, linked, distilled]
    assert client.get(JOBS, params={"limit": 1}).json()["jobs"][0]["id"] == exported
    assert 'drag_graph_jobs{state="done"} 4.0' in client.get("/metrics").text


def test_questions_carry_what_a_line_of_a_file_has(client):
    options = {"options": ["Salt", "Water"], "set": "chemistry", "id": 7}
    questions = [{"question": QUESTIONS[0], "answer": answer, **options} for answer in (1, "B", "Water", 5)]
    job = submit(client, "distill", {"questions": questions})
    assert ended(client, job)["state"] == "done"
    report = client.get(f"{JOBS}/{job}/result").json()
    assert [line["line"] for line in report["rejected"]] == [4]
    assert [query["input_id"] for query in report["queries"]] == ["7"] * 3
    assert client.graph.show().subgraphs[0].source.metadata == {"set": "chemistry"}


def test_corrected_questions_are_distilled_again(client):
    client.graph.distill(QUESTIONS[:2]).result()
    client.graph.correct(client.graph.ask(QUESTIONS[0]).id, "wrong")
    job = submit(client, "refresh", {"corrected": True})
    assert ended(client, job)["state"] == "done"
    assert client.get(f"{JOBS}/{job}/result").json()["totals"]["queries"] == 1


def test_only_commands_on_this_machine_may_name_files(client, tmp_path):
    key = {"Authorization": f"Bearer {client.ring.add('a', 'admin', ['default'])[0]}"}
    file = str(tmp_path / "facts.jsonl")
    for values in ({"json": {"file": file}}, {"json": {"questions": QUESTIONS[:1], "job": "x"}}):
        assert client.post(f"{JOBS}/distill", **values, headers=key).json()["error"]["type"] == "OwnerRequired"
    for values in ({"paths": file}, {"text": "A", "name": "a", "sync": "true"}, {"text": "A", "name": "a", "triples": file}):
        assert client.post(f"{JOBS}/ingest", data=values, headers=key).json()["error"]["type"] == "OwnerRequired"
    assert ended(client, submit(client, "distill", {"file": file}))["progress"]["done"] == len(QUESTIONS)


def test_ctrl_c_cancels_the_job_of_a_command(tmp_path):
    seen = []

    def press(progress):
        if progress.done and not seen:
            seen.append(progress.total)
            signal.raise_signal(signal.SIGINT)

    with ScriptedServer(delay=0.1) as teacher:
        model = {"teacher": "openai/scripted", "teacher_base_url": teacher.url, "teacher_api_key": "k"}
        graph = DragGraph(tmp_path / "graph.lbug", embedder="lexical", privacy="off", workers=1, **model)
        with graph, served_client(graph) as client:
            settings = graph.settings
            command = ServiceClient(running_service(settings.service_path), settings, {"top_k": 3})
            report = command.distill(QUESTIONS, on_progress=press, batch=False, leave=False)
            job = client.get(JOBS).json()["jobs"][0]
    assert (report.exit_code, str(report.stopped), job["state"]) == (130, report.document["stopped"], "cancelled")
    assert 0 < report.totals()["complete"] < len(QUESTIONS) == seen[0]
    assert job["request"]["top_k"] == 3


def test_questions_from_a_pipe_are_stored_with_the_job_until_it_ends(tmp_path, monkeypatch):
    temporary, files, seen = tmp_path / "temporary", tmp_path / "graph.lbug.service-records-files", []
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    lines = "".join(json.dumps({"question": one}) + "\n" for one in QUESTIONS[:2])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))

    def look(_progress):
        seen.append(([*temporary.iterdir()], [file.read_text() for file in files.rglob("questions.jsonl")]))

    with ScriptedServer(delay=0.3) as teacher:
        model = {"teacher": "openai/scripted", "teacher_base_url": teacher.url, "teacher_api_key": "k"}
        graph = DragGraph(tmp_path / "graph.lbug", embedder="lexical", privacy="off", workers=1, **model)
        with graph, served_client(graph):
            command = ServiceClient(running_service(graph.settings.service_path), graph.settings, {})
            report = command.distill(Path("-"), on_progress=look, batch=False, leave=False)
    assert report.totals()["complete"] == 2
    assert ([], [lines]) in seen
    assert not any(copies for copies, _ in seen)
    assert not [*files.iterdir()]


def test_uploaded_files_are_read_and_replaced_by_name(client):
    def upload(text):
        files = [
            ("files", ("a.txt", text, "text/plain")),
            ("files", ("b.md", "# Second\n\nWind drives mills.", "text/markdown")),
        ]
        job = submit(client, "ingest", files=files, data={"tags": ["news", "sea"]})
        assert ended(client, job)["state"] == "done"
        return client.get(f"{JOBS}/{job}/result").json()["totals"]

    assert upload("The Moon causes tides.")["added"] == 2
    second = upload("The Sun helps the Moon.")
    assert (second["changed"], second["unchanged"]) == (1, 1)
    stored = {item.source.name: item.source for item in client.graph.show().subgraphs}
    assert {name: source.uri for name, source in stored.items()} == {"a.txt": "upload:a.txt", "b.md": "upload:b.md"}
    assert stored["a.txt"].tags == ("news", "sea")
    text = submit(client, "ingest", data={"text": "Ice melts in summer.", "name": "note"})
    assert ended(client, text)["state"] == "done"
    assert client.graph.show(limit=9).total == 3


def test_inputs_are_private_and_removed_when_the_job_is_done(client, tmp_path, blocked):
    folder = tmp_path / "graph.lbug.service-records-files"
    job = submit(client, "ingest", files={"files": ("secret.txt", "The secret is copper.", "text/plain")})
    kept = list(folder.rglob("*"))
    assert [path.name for path in kept if path.is_file()] == ["secret.txt"]
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.iterdir())} == {0}
    blocked.set()
    assert ended(client, job)["state"] == "done"
    cancelled = submit(client, "distill", {"questions": QUESTIONS[:1]})
    client.post(f"{JOBS}/{cancelled}/cancel")
    ended(client, cancelled)
    assert list(folder.iterdir()) == []


def test_events_come_in_order_and_end_with_the_job(tmp_path):
    with ScriptedServer(delay=0.05) as teacher:
        model = {"teacher": "openai/scripted", "teacher_base_url": teacher.url, "teacher_api_key": "k"}
        with serving(tmp_path, **model) as client:
            job = submit(client, "distill", {"questions": QUESTIONS[:5]})
            with client.stream("GET", f"{JOBS}/{job}/events") as reply:
                assert reply.headers["content-type"].startswith("text/event-stream")
                events = [(name, json.loads(data)) for name, data in events_of("".join(reply.iter_text()))]
    assert [name for name, _ in events] == ["progress"] * (len(events) - 1) + ["end"]
    done = [event["progress"].get("done", 0) for _, event in events]
    assert done == sorted(done)
    assert len(set(done)) > 2
    assert (events[-1][1]["state"], events[-1][1]["id"], done[-1]) == ("done", job, 5)
    states = [event["state"] for _, event in events]
    assert sorted(states, key=["queued", "running", "done"].index) == states


def test_a_queued_and_a_running_job_are_cancelled(tmp_path):
    with ScriptedServer(delay=0.1) as teacher:
        model = {"teacher": "openai/scripted", "teacher_base_url": teacher.url, "teacher_api_key": "k"}
        with serving(tmp_path, **model) as client:
            running, queued = (submit(client, "distill", {"questions": QUESTIONS}) for _ in range(2))
            assert client.post(f"{JOBS}/{queued}/cancel").json()["state"] == "cancelled"
            while not teacher.requests:
                time.sleep(0.01)
            client.post(f"{JOBS}/{running}/cancel")
            assert ended(client, running)["state"] == "cancelled"
            report = client.get(f"{JOBS}/{running}/result").json()
            assert report["totals"]["pending"] > 0
            assert client.get(f"{JOBS}/{queued}/result").status_code == 409
            assert client.post(f"{JOBS}/{queued}/cancel").json()["state"] == "cancelled"
            assert ended(client, submit(client, "link"))["state"] == "done"


def test_a_full_queue_refuses_and_says_when_to_come_back(tmp_path, blocked):
    with serving(tmp_path, Limits(jobs=2)) as client:
        jobs = [submit(client, "link") for _ in range(2)]
        reply = client.post(f"{JOBS}/link")
        assert (reply.status_code, reply.json()["error"]["type"]) == (429, "TooManyJobs")
        assert int(reply.headers["retry-after"]) > 0
        blocked.set()
        for job in jobs:
            ended(client, job)
        submit(client, "link")


def test_a_job_stops_at_the_budget_of_its_key(tmp_path):
    with ScriptedServer() as teacher:
        model = {"teacher": "openai/gpt-4o-mini", "teacher_base_url": teacher.url, "teacher_api_key": "k"}
        with serving(tmp_path, **model) as client:
            price = client.graph.estimate_distill(QUESTIONS).price_usd
            headers = {"Authorization": f"Bearer {client.ring.add('a', 'editor', ['default'], budget_usd=price / 2)[0]}"}
            found = ended(client, submit(client, "distill", {"questions": QUESTIONS}, headers=headers))
            assert (found["state"], found["error"]["type"], found["caller"]) == ("failed", "BudgetReached", "a")
            complete = client.get(f"{JOBS}/{found['id']}/result").json()["totals"]["complete"]
            assert 0 < complete < len(QUESTIONS)
            key = client.ring.key("a")
            assert 0 < key.spent_usd == found["spent_usd"] <= key.budget_usd
            # The rest of the budget is too small for another job, whatever its questions are.
            again = ended(client, submit(client, "distill", {"questions": QUESTIONS[::-1]}, headers=headers))
            assert again["error"]["type"] == "BudgetReached"
            assert client.ring.key("a").spent_usd <= key.budget_usd
            # A caller's own limit holds for one job, not for all of its jobs.
            own = ended(client, submit(client, "distill", {"questions": QUESTIONS, "budget_usd": price * 10}))
            assert (own["state"], own["caller"]) == ("done", "local")
            before = len(teacher.requests)
            client.ring.revoke("a")
            assert client.post(f"{JOBS}/link", headers=headers).status_code == 401
            assert len(teacher.requests) == before


def test_a_job_stops_at_the_budget_of_the_service(tmp_path):
    with ScriptedServer() as teacher:
        model = {"teacher": "openai/gpt-4o-mini", "teacher_base_url": teacher.url, "teacher_api_key": "k", "budget_usd": 0}
        with serving(tmp_path, **model) as client:
            for values in ({}, {"budget_usd": 10}):
                found = ended(client, submit(client, "distill", {"questions": QUESTIONS, **values}))
                assert (found["state"], found["error"]["type"]) == ("failed", "BudgetReached")
            assert not teacher.requests


def test_a_job_whose_key_is_revoked_stops_and_stays_paid_for(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs_module, "RECORDED_EVERY", 0)
    with ScriptedServer(delay=0.05) as teacher:
        model = {"teacher": "openai/gpt-4o-mini", "teacher_base_url": teacher.url, "teacher_api_key": "k"}
        with serving(tmp_path, **model) as client:
            headers = {"Authorization": f"Bearer {client.ring.add('a', 'editor', ['default'], budget_usd=5)[0]}"}
            job = submit(client, "distill", {"questions": QUESTIONS}, headers=headers)
            while not client.ring.key("a").spent_usd:
                time.sleep(0.01)
            client.ring.revoke("a")
            found = ended(client, job)
            assert (found["state"], found["error"]["message"]) == ("failed", "The key 'a' is revoked.")
            assert client.get(f"{JOBS}/{job}/result").json()["totals"]["pending"] > 0
            assert found["spent_usd"] == client.ring.key("a").spent_usd > 0


class FailingWork:
    """Work that spends, and fails without a report."""

    def __init__(self, on_progress):
        self.on_progress = on_progress

    def cancel(self):
        pass

    def result(self):
        self.on_progress(RunProgress(1, cost_usd=0.5))
        raise RuntimeError


def test_a_job_that_fails_without_a_report_gives_nothing_back(client, monkeypatch):
    monkeypatch.setattr(jobs_module, "RECORDED_EVERY", 0)
    monkeypatch.setattr(jobs_module, "start_work", lambda *_, on_progress, **__: FailingWork(on_progress))
    headers = {"Authorization": f"Bearer {client.ring.add('a', 'editor', ['default'], budget_usd=1)[0]}"}
    found = ended(client, submit(client, "link", headers=headers))
    assert (found["state"], found["spent_usd"], client.ring.key("a").spent_usd) == ("failed", 0.5, 0.5)


@pytest.mark.parametrize("method", ["advance", "finish", "_cost"])
def test_a_job_whose_end_cannot_be_recorded_fails(client, monkeypatch, method):
    def fail(*_):
        monkeypatch.undo()
        raise StoreUnfit("The file cannot be read.")

    monkeypatch.setattr(client.jobs if method == "_cost" else client.jobs.table, method, fail)
    found = ended(client, submit(client, "export", {}))
    assert (found["state"], found["error"]["type"]) == ("failed", "StoreUnfit")
    assert not client.jobs._progress


def test_documents_that_a_model_reads_count_for_the_budget(tmp_path):
    with ScriptedServer() as teacher:
        model = {"document_extractor": "openai/gpt-4o-mini", "teacher_base_url": teacher.url, "teacher_api_key": "k"}
        with serving(tmp_path, **model) as client:
            headers = {"Authorization": f"Bearer {client.ring.add('a', 'editor', ['default'], budget_usd=1)[0]}"}
            text = {"text": "The Moon causes tides. Oxygen causes rust.", "name": "note"}
            found = ended(client, submit(client, "ingest", data=text, headers=headers))
            assert (found["state"], found["request"]) == ("done", {"name": "note"})
            cost = client.get(f"{JOBS}/{found['id']}/result").json()["totals"]["cost_usd"]
            assert client.ring.key("a").spent_usd == found["spent_usd"] == pytest.approx(cost, abs=1e-6)
            assert cost > 0


def test_only_one_service_does_the_jobs_of_a_store(client, tmp_path, blocked):
    """With Neo4j, services of several namespaces share their records; here two stores do."""
    job = submit(client, "link")
    while client.jobs.table.job(job).state != "running":
        time.sleep(0.01)
    ledger = str(client.graph.settings.ledger_path)
    with (
        DragGraph(tmp_path / "other.lbug", ledger=ledger) as other,
        closing(KeyRing(other.settings.service_records_path)) as ring,
    ):
        assert other.settings.service_records_path == client.graph.settings.service_records_path
        with pytest.raises(StoreLocked) as raised, served(other, ServicePlace(port=0), Limits(), ring):
            pass
        assert "X-Namespace" in raised.value.hint
    assert client.jobs.table.job(job).state == "running", "the other service queued it again"
    assert (client.jobs._folder / job).exists()


def test_a_queued_job_of_a_revoked_key_fails(client, blocked):
    headers = {"Authorization": f"Bearer {client.ring.add('a', 'editor', ['default'])[0]}"}
    job = submit(client, "distill", {"questions": QUESTIONS[:1]}, headers=headers)
    client.ring.revoke("a")
    blocked.set()
    found = ended(client, job)
    assert (found["state"], found["error"]["message"]) == ("failed", "The key 'a' is revoked.")


def test_jobs_of_another_namespace_look_as_if_they_did_not_exist(client):
    keys = {
        name: {"Authorization": f"Bearer {client.ring.add(name, 'admin', [name])[0]}", "X-Namespace": name} for name in "ab"
    }
    job = submit(client, "link", headers=keys["a"])
    ended(client, job, headers=keys["a"])
    assert client.get(JOBS, headers=keys["b"]).json() == {"jobs": []}
    for method, path in [("GET", ""), ("GET", "/events"), ("GET", "/result"), ("POST", "/cancel")]:
        existing = client.request(method, f"{JOBS}/{job}{path}", headers=keys["b"])
        missing = client.request(method, f"{JOBS}/{'f' * 32}{path}", headers=keys["b"])
        assert existing.status_code == missing.status_code == 404
        assert existing.text.replace(job, "f" * 32) == missing.text


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("distill", {"questions": []}), ("distill", {"questions": ["Why?"], "teacher": "openai/x"}), ("refresh", {}),
        ("distill", {"questions": ["Why?"], "teacher_base_url": "http://example.org"}), ("distill", {"questions": [""]}),
        ("distill", {"questions": ["Why?"], "system_prompt": "/etc/passwd"}), ("distill", {"questions": ["Why?"], "top_k": 0}),
        ("export", {"format": "subgraphs", "full": True}), ("export", {"format": "csv"}),
    ],
    ids=str,
)  # fmt: skip
def test_unusable_requests_are_refused(client, kind, body):
    assert client.post(f"{JOBS}/{kind}", json=body).status_code == 422
    assert client.get(JOBS).json() == {"jobs": []}


def test_an_export_can_be_downloaded_for_a_day(client, monkeypatch):
    client.graph.distill(QUESTIONS[:1]).result()
    job = submit(client, "export", {})
    ended(client, job)
    assert client.get(f"{JOBS}/{job}/result").status_code == 200
    monkeypatch.setattr(jobs_module, "KEPT", jobs_module.KEPT * 0)
    assert client.get(f"{JOBS}/{job}/result").status_code == 410
    ended(client, submit(client, "link"))
    client.jobs._remove_old_exports()
    assert not (client.jobs._folder / job).exists()


def test_erasing_deletes_the_exports_of_the_namespace(client):
    client.graph.distill(QUESTIONS[:2]).result()
    other = {"X-Namespace": "other"}
    job, kept = submit(client, "export", {}), submit(client, "export", {}, headers=other)
    assert ended(client, job)["state"] == ended(client, kept, headers=other)["state"] == "done"
    source = client.get("/api/v1/sources").json()[0]["id"]
    assert client.delete(f"/api/v1/sources/{source}").status_code == 200
    assert client.get(f"{JOBS}/{job}/result").status_code == 410
    assert not (client.jobs._folder / job).exists()
    assert client.get(f"{JOBS}/{kept}/result", headers=other).status_code == 200


def test_a_graceful_stop_pauses_the_running_job_and_the_next_start_ends_it(tmp_path):
    with ScriptedServer(delay=0.1) as teacher:
        model = {"teacher": "openai/scripted", "teacher_base_url": teacher.url, "teacher_api_key": "k"}
        with serving(tmp_path, **model) as client:
            job, second = (submit(client, "distill", {"questions": QUESTIONS[:5]}) for _ in range(2))
            while len(teacher.requests) < 4:
                time.sleep(0.01)
        paused = len(teacher.requests)
        assert paused < 3 * 5
        with serving(tmp_path, **model) as client:
            assert ended(client, job, 60)["state"] == ended(client, second)["state"] == "done"
            totals = client.get(f"{JOBS}/{job}/result").json()["totals"]
            assert totals["complete"] == 5
        prompts = [request.prompt for request in teacher.requests]
        assert len(prompts) == len(set(prompts))
