"""`--engine ray` on a real cluster of two nodes: the same graph, one tape, one budget, whatever is lost on the way
(docs/decisions/0006-threads-and-ray.md)."""

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from drag_graph.app.resources import Resources
from drag_graph.errors import BudgetReached, ConfigurationError, Interrupted, ModelUnavailable
from drag_graph.inputs import InputLine, make_query
from drag_graph.jobs.ray import cluster
from drag_graph.jobs.ray import ray_distillation as distillation
from drag_graph.ledger import Ledger
from drag_graph.ledger.budget import dollars
from drag_graph.manage.canonical_export import canonical_lines
from drag_graph.models.model_catalogue import price_of
from drag_graph.settings import load_settings
from drag_graph.testing.plausible import DEFAULTS, evidence, plausible_tokens
from drag_graph.testing.server import Say, ScriptedServer

ROOT = Path(__file__).parents[2]
SECRET = "sk-a-key-that-nobody-may-see"
WORKERS = 4
NAMES = ("glaciers", "violins", "volcanoes", "bridges", "orchids", "compasses", "telescopes", "harbours")
# Of words of their own: two queries with the same evidence would share a request.
QUESTIONS = [f"How do {one} change {other}?" for one, other in itertools.permutations(NAMES, 2)]


@pytest.fixture(scope="module")
def ray_cluster():
    """A cluster of two nodes with a processor each; the second may be removed and is then made anew."""
    from drag_graph.process_environment import prepare_ray

    prepare_ray("a running one")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ray.cluster_utils import Cluster

        nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        yield nodes
    finally:
        nodes.shutdown()


@pytest.fixture
def two_nodes(ray_cluster):
    while len(ray_cluster.list_all_nodes()) < 2:
        ray_cluster.add_node(num_cpus=1)
    return ray_cluster


def settings_of(folder, server, address=None, **more):
    flags = {
        "store": str(folder / "graph.lbug"),
        "embedder": "lexical",
        "teacher": "scripted",
        "teacher_base_url": server.url,
        "teacher_api_key": SECRET,
        "workers": WORKERS,
        **({"engine": "ray", "ray_address": address} if address else {}),
    }
    return load_settings({**flags, **more})


def lines(number):
    return [InputLine(n, query=make_query(text)) for n, text in enumerate(QUESTIONS[:number], 1)]


def distill(settings, number, meanwhile=None, **options):
    """Distill in this process, `meanwhile(session)` in a thread; return the report, its results and the export."""
    with Resources(settings).writing() as session, ThreadPoolExecutor(1) as thread:
        distiller = session.distiller("the test", **options)
        done = thread.submit(meanwhile or (lambda _session: None), session)
        report = distiller.run(lines(number))
        done.result()
        report.ended_with = report.exit_code  # asked of the ledger, which the end of the session closes
        return report, list(report.results()), "\n".join(canonical_lines(session.store.records()))


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """Return a function that gives the local engine's export of so many questions."""
    exports = {}

    def export(number):
        if number not in exports:
            with ScriptedServer() as server:
                report, _, exports[number] = distill(settings_of(tmp_path_factory.mktemp("calm"), server), number)
            assert report.ended_with == 0
        return exports[number]

    return export


def messages_of(request):
    return json.dumps(request.body["messages"], sort_keys=True)


def asked_of(server):
    return Counter(messages_of(request) for request in server.requests if request.schema)


def on_tape(folder):
    """Return the messages of the requests that are on the tape now."""
    with Ledger(folder / "graph.lbug.ledger") as ledger:
        _, *lines = ledger.export_tape()
    calls = [call for line in lines for call in json.loads(line)["calls"]]
    return {json.dumps(call["sent"]["messages"], sort_keys=True) for call in calls}


def processes():
    """Return the number, the session and the command line of each process of this machine (Linux)."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text()
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:  # it has just ended
            continue
        fields = state[state.rindex(")") + 2 :].split()
        if fields[0] != "Z":
            yield int(folder.name), int(fields[3]), line


def actors():
    """Return the processes of ours on whatever clusters there are: a worker in the middle of a query and the keeper, too."""
    return {number for number, _, line in processes() if line.startswith(("ray::Worker", "ray::Keeper"))}


def places_of(session):
    """The current place of each worker."""
    return [distillation._waited(worker.place.remote()) for worker in session._ray._workers]


def wait_for(condition, seconds=200):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.01)


def test_one_process_on_a_cluster_of_its_own_gives_the_same_graph(tmp_path, calm):
    """The one test here that starts Ray in `make test`."""
    with ScriptedServer() as server:
        server.always(
            "evidence", lambda request: Say("gibberish") if "volcanoes" in request.prompt else evidence(request.prompt)
        )
        _, results, _ = distill(settings_of(tmp_path, server, engine="ray", ray_processes=1), 2)
        assert [result.status for result in results] == ["complete", "quarantined"]
        server.always("evidence", lambda request: evidence(request.prompt))
        report, _, export = distill(settings_of(tmp_path, server), 2, retry_quarantined=True)
    assert report.ended_with == 0
    assert export == calm(2)


@pytest.mark.long
def test_two_nodes_share_the_work_and_give_the_same_graph(two_nodes, tmp_path, calm):
    unusable = "gibberish, and nothing else"
    with ScriptedServer(delay=0.05) as server:
        server.always("evidence", lambda request: Say(unusable) if "orchids" in request.prompt else evidence(request.prompt))
        places = []
        settings = settings_of(tmp_path, server, two_nodes.address)
        _, results, _ = distill(settings, 12, lambda session: places.extend(places_of(session)))
        assert len({place.node for place in places}) == 2
        asked = asked_of(server)

        of_orchids = [n for n, text in enumerate(QUESTIONS[:12]) if "orchids" in text]
        assert [n for n, result in enumerate(results) if result.status == "quarantined"] == of_orchids
        assert [n for n, result in enumerate(results) if result.status == "complete"] == [
            n for n in range(12) if n not in of_orchids
        ]
        assert all(results[n].calls >= 3 for n in of_orchids), "what a failed exchange took is lost"
        with Ledger(tmp_path / "graph.lbug.ledger") as ledger:
            kept = list(ledger.tape.quarantined())
        assert [entry["raw"] for entry in kept] == [unusable] * len(of_orchids)
        assert {number for messages, number in asked.items() if "orchids" not in messages} == {1}

        server.always("evidence", lambda request: evidence(request.prompt))
        report, _, export = distill(settings_of(tmp_path, server), 12, retry_quarantined=True)
    assert report.ended_with == 0
    assert export == calm(12)


@pytest.mark.long
def test_a_killed_worker_and_a_lost_node_cost_at_most_what_was_in_flight(two_nodes, tmp_path, calm):
    number, snapshots = 12, []

    with ScriptedServer(delay=0.2) as server:

        def lose(session):
            import ray

            here = ray.get_runtime_context().get_node_id()
            before = places_of(session)
            by_node = {place.node == here: place.pid for place in before}
            wait_for(lambda: server.count() >= 6)
            os.kill(by_node[True], signal.SIGKILL)
            snapshots.append((time.monotonic(), on_tape(tmp_path)))
            wait_for(lambda: server.count() >= 18)
            two_nodes.remove_node(next(iter(two_nodes.worker_nodes)), allow_graceful=False)
            snapshots.append((time.monotonic(), on_tape(tmp_path)))
            # A process of a lost node may answer once more before it ends.
            wait_for(lambda: {place.node for place in places_of(session)} == {here})
            after = places_of(session)
            assert not {place.pid for place in after} & {place.pid for place in before}

        _, results, export = distill(settings_of(tmp_path, server, two_nodes.address), number, lose)
    assert {result.status for result in results} == {"complete"}
    assert export == calm(number)
    for moment, recorded in snapshots:
        later = {messages_of(request) for request in server.requests if request.schema and request.at > moment}
        assert recorded, "the kill came before anything was recorded"
        assert not later & recorded, "what was on the tape was asked again"
    repeated = sum(asked_of(server).values()) - len(asked_of(server))
    assert repeated <= 2 * WORKERS


@pytest.mark.long
def test_a_worker_that_is_restarted_after_an_interruption_asks_nobody(two_nodes, tmp_path):
    counts = []
    with ScriptedServer(delay=3) as server:

        def interrupt_and_kill(session):
            before = places_of(session)
            wait_for(lambda: server.count() == WORKERS)
            session._ray.interruption.interrupt()
            places_of(session)  # by now the workers know: Ray has no reason to tell the next ones
            for place in before:
                os.kill(place.pid, signal.SIGKILL)
            after = places_of(session)
            assert not {place.pid for place in after} & {place.pid for place in before}
            counts.append(server.count())

        report, results, _ = distill(settings_of(tmp_path, server, two_nodes.address), 12, interrupt_and_kill)
        assert isinstance(report.stopped, Interrupted)
        assert {result.status for result in results} == {"pending"}
        assert counts == [WORKERS]
        assert server.count() == WORKERS, "a new process was not told"


@pytest.mark.long
def test_a_keeper_that_cannot_start_is_given_up(two_nodes, tmp_path, monkeypatch):
    """Ray starts it again and again."""

    class Keeper:
        def __init__(self, *_, **__):
            os._exit(1)

        def check(self):
            """Never reached."""

    monkeypatch.setattr(distillation, "Keeper", Keeper)
    monkeypatch.setattr(distillation, "START_SECONDS", 5.0)
    monkeypatch.setattr(distillation, "CLOSE_SECONDS", 0.5)
    with (
        ScriptedServer() as server,
        Resources(settings_of(tmp_path, server, two_nodes.address)).writing() as session,
        pytest.raises(ModelUnavailable, match="did not start within 5 s"),
    ):
        session.distiller("the test")


@pytest.mark.long
def test_the_budget_holds_across_workers_and_a_kill(two_nodes, tmp_path):
    limit, charges = 0.014, []

    def charged(schema):
        def reply(request):
            document = DEFAULTS[schema](request.prompt)
            tokens = plausible_tokens(request.prompt), plausible_tokens(json.dumps(document))
            charges.append(price_of("gpt-4o-mini", *tokens))
            return document

        return reply

    with ScriptedServer(delay=0.1) as server:
        for schema in ("evidence", "scores", "triples"):
            server.always(schema, charged(schema))

        def lose(session):
            pid = places_of(session)[0].pid
            wait_for(lambda: server.count() >= 5)
            os.kill(pid, signal.SIGKILL)

        settings = settings_of(tmp_path, server, two_nodes.address, teacher="gpt-4o-mini", budget_usd=limit)
        report, _, _ = distill(settings, 40, lose)
    assert isinstance(report.stopped, BudgetReached)
    assert report.ended_with == 5
    assert 0 < sum(charges) <= limit
    with Ledger(settings.ledger_path) as ledger:
        standing = ledger.account(report.run.job).standing()
    assert sum(charges) <= dollars(standing.settled) + 1e-9
    assert dollars(standing.settled + standing.reserved) <= limit
    assert sum(charges) > limit / 3, "the run ended long before the budget did"


def command(folder, server, *more, **variables):
    environment = {**os.environ, "DRAG_GRAPH_EMBEDDER": "lexical", **variables}
    environment["DRAG_GRAPH_TEACHER_API_KEY"] = SECRET
    arguments = ["distill", "q.jsonl", "--teacher", "scripted", "--teacher-base-url", server.url, "--store", "graph.lbug"]
    line = [sys.executable, "-m", "drag_graph", *arguments, "--workers", str(WORKERS), "--json", *more]
    return subprocess.Popen(
        line, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def write_questions(folder, number):
    (folder / "q.jsonl").write_text("".join(json.dumps({"question": text}) + "\n" for text in QUESTIONS[:number]))


@pytest.mark.long
def test_a_killed_driver_is_resumed_by_the_local_engine(two_nodes, tmp_path, calm):
    write_questions(tmp_path, 12)
    others = actors()
    with ScriptedServer(delay=0.2) as server:
        process = command(tmp_path, server, "--engine", "ray", "--address", two_nodes.address)
        wait_for(lambda: server.count() >= 12)
        ours = actors() - others
        assert len(ours) == 3, "two workers and a keeper"
        process.kill()
        process.communicate()
        wait_for(lambda: not ours & actors())  # what the workers still ask ends with them
        recorded = on_tape(tmp_path)
        server.delay = 0
        before = len(server.requests)
        report, _, export = distill(settings_of(tmp_path, server), 12)
    assert report.ended_with == 0
    assert export == calm(12)
    assert recorded
    again = {messages_of(request) for request in server.requests[before:] if request.schema}
    assert not again & recorded, "what was on the tape was asked again"


@pytest.mark.long
def test_interrupted_on_a_cluster_of_its_own_and_finished_on_another(two_nodes, tmp_path, calm):
    write_questions(tmp_path, 12)
    with ScriptedServer(delay=0.3) as server:
        process = command(tmp_path, server, "--engine", "ray", "--processes", "1")
        wait_for(lambda: server.count() >= 6 or process.poll() is not None, 120)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process that Ray has started there, too
        out, err = process.communicate(timeout=200)
        assert process.returncode == 130, err
        statuses = Counter(query["status"] for query in json.loads(out)["queries"])
        assert statuses["pending"]
        assert statuses["complete"] + statuses["pending"] == 12
        assert "interrupted" in err
        assert "Traceback" not in err
        assert SECRET not in out + err
        asked = server.count()
        wait_for(lambda: all(session != process.pid for _, session, _ in processes()))
        assert server.count() == asked, "somebody went on asking"

        process = command(tmp_path, server, "--engine", "ray", RAY_ADDRESS=two_nodes.address)
        out, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
        assert [query["status"] for query in json.loads(out)["queries"]] == ["complete"] * 12
        assert set(asked_of(server).values()) == {1}
    with Resources(settings_of(tmp_path, server)).writing() as session:
        assert "\n".join(canonical_lines(session.store.records())) == calm(12)
    assert not _shown(two_nodes), "a secret or a text is in Ray's files"


def _shown(nodes, *words):
    """Return which of the session's files hold the key or words of a question or a reply."""
    folder = Path(nodes.head_node.get_session_dir_path())
    words = words or [SECRET.encode(), b"How do glaciers", b"closely connected"]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if any(word in path.read_bytes() for word in words)]


def test_a_cluster_that_is_not_there_is_said_in_words(tmp_path):
    write_questions(tmp_path, 1)
    with socket.socket() as nobody, ScriptedServer() as server:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        out, err = command(tmp_path, server, "--engine", "ray", "--address", address).communicate(timeout=200)
    assert json.loads(out)["exit_code"] == 4
    first, second = err.splitlines()
    assert first.startswith(f"Error: There is no Ray cluster at {address}: ")
    assert second.startswith("Hint: ")


@pytest.mark.long  # Ray goes on trying in a thread, for minutes
def test_what_is_no_cluster_is_given_up(tmp_path, monkeypatch):
    """Where something else listens, Ray itself would try for ever."""
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 2.0)
    with ScriptedServer() as server:
        address = server.url.split("/")[2]
        with (
            Resources(settings_of(tmp_path, server, address)).writing() as session,
            pytest.raises(ModelUnavailable, match="did not answer"),
        ):
            session.distiller("the test")


@pytest.mark.parametrize(
    ("flags", "kind", "words"),
    [
        ({"ray_address": "ray://127.0.0.1:10001"}, ConfigurationError, "Ray client"),
        ({"ray_address": "somewhere"}, ConfigurationError, "'somewhere' is not the address"),
        ({"teacher": "curated:some.jsonl"}, ConfigurationError, "requires a served model as teacher"),
        ({"teacher": "gguf:some.gguf"}, ConfigurationError, "requires a served model as teacher"),
        ({"teacher": "tape:some.tape"}, ConfigurationError, "requires a served model as teacher"),
    ],
)
def test_what_cannot_be_done_on_a_cluster_is_refused_in_words(tmp_path, flags, kind, words):
    given = {"store": str(tmp_path / "graph.lbug"), "embedder": "lexical", "engine": "ray", "teacher": "gpt-4o-mini", **flags}
    settings = load_settings(given)
    with Resources(settings).writing() as session, pytest.raises(kind, match=words):
        session.distiller("the test")


@pytest.mark.long
def test_workers_get_asked_texts_alone_and_what_leaves_them_is_checked_where_the_originals_are(tmp_path, two_nodes):
    def evidence_of(request):
        told = "Write to the curator at kvisle@fjordpost.example." if "violins" in request.prompt else "Ice cuts rock."
        return Say({"evidence": [{"text": f"{told} Fact {n}.", "framing": "causal"} for n in range(15)]})

    texts = ["My name is Zorblax Quenneville. How do glaciers change valleys?", "How do violins change concerts?"]
    lines = [InputLine(number, make_query(text, input_id=f"quenneville-{number}")) for number, text in enumerate(texts, 1)]
    with ScriptedServer() as server:
        server.always("evidence", evidence_of)
        away = server.url.replace("127.0.0.1", "127.1")
        settings = settings_of(tmp_path, server, two_nodes.address, teacher_base_url=away, ray_processes=1)
        with Resources(settings).writing() as session:
            results = list(session.distiller("the test").run(lines).results())
    assert [result.status for result in results] == ["complete", "quarantined"]
    assert results[1].error.startswith("privacy: ")
    assert [result.input_id for result in results] == ["quenneville-1", "quenneville-2"]
    sent = json.dumps([request.body for request in server.requests])
    assert "Person A" in sent
    assert "Quenneville" not in sent
    assert "kvisle" not in sent
    assert not _shown(two_nodes, b"Quenneville"), "an original is in Ray's files"
