"""Ctrl-C during a run: real signals at any instant; nothing is lost, nothing hangs, and what is reported is true."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue

import pytest

from drag_graph.concurrency.interruption import Interruption, on_ctrl_c, on_end, taken
from drag_graph.errors import Interrupted, ModelAccessDenied
from drag_graph.inputs import InputLine, make_query
from drag_graph.ledger.ledger_file import LedgerFile
from drag_graph.testing.dict_store import DictStore
from tests.unit.saying import SayingTeacher, distiller


@pytest.fixture
def store():
    with DictStore() as store:
        store.migrate()
        yield store


@pytest.fixture
def teacher():
    return SayingTeacher()


@pytest.fixture(autouse=True)
def _interruptible():
    """Handle Ctrl-C as a program on a terminal does, also where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def lines_of(number):
    return [InputLine(n, query=make_query(f"question {n}")) for n in range(number)]


@pytest.mark.parametrize("place", ["while waiting", "while rendering"])
def test_what_is_in_flight_is_finished_and_the_rest_is_pending(store, teacher, place):
    shown = []

    def on_result(_cost):
        shown.append(1)
        if place == "while rendering" and len(shown) == 3:
            ctrl_c()

    run = distiller(store, teacher, workers=1)
    if place == "while waiting":
        original = teacher.ask

        def ask(request):
            if request.query.text == "question 2" and request.stage == "evidence":
                ctrl_c()
                wait_until_interrupted(run)
            return original(request)

        teacher.ask = ask
    report = run.run(lines_of(300), on_result=on_result)
    statuses = [result.status for result in report.queries]
    assert len(statuses) == 300
    assert statuses[:2] == ["complete"] * 2
    assert statuses.count("pending") > 0
    assert isinstance(report.stopped, Interrupted)
    assert report.exit_code == 130


def wait_until_interrupted(run):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            run.runner.interruption.check()
        except Interrupted:
            return
        time.sleep(0.002)


def test_a_failure_after_ctrl_c_does_not_hide_it(store):
    class Failing(SayingTeacher):
        def ask(self, request):
            if request.query.text == "question 1":
                wait_until_interrupted(run)
                raise ModelAccessDenied("no key")
            return super().ask(request)

    sent = []

    def on_result(_cost):
        if not sent:
            sent.append(1)
            ctrl_c()

    run = distiller(store, Failing(), workers=1)
    report = run.run(lines_of(5), on_result=on_result)
    assert report.exit_code == 130
    assert [result.status for result in report.queries] == ["complete", *["pending"] * 4]


def test_no_further_call_is_made_and_no_wait_goes_on(store, teacher):
    original = teacher.ask

    def ask(request):
        if request.stage == "scores":
            ctrl_c()
            wait_until_interrupted(run)
        return original(request)

    teacher.ask = ask
    run = distiller(store, teacher, workers=1)
    report = run.run(lines_of(1))
    assert [stage for _, stage in teacher.calls] == ["evidence", "scores"], "the call in flight is finished, no other is begun"
    assert (report.exit_code, report.queries[0].status, report.queries[0].calls) == (130, "pending", 2)
    interruption = Interruption()
    interruption.interrupt()
    began = time.monotonic()
    with pytest.raises(Interrupted):
        interruption.sleep(600)
    assert time.monotonic() - began < 100


# An interrupt that comes while Python calls a finaliser is swallowed there: then the run goes on to its end.
@pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")
def test_at_any_instant_the_report_is_whole_and_true():
    chosen = random.Random(4)
    endings = set()
    for _ in range(30):
        with DictStore() as store:
            store.migrate()
            timer = threading.Timer(chosen.uniform(0, 0.15), ctrl_c)
            try:
                timer.start()
                run = distiller(store, SayingTeacher(), workers=3)
                report = run.run(lines_of(130))
                timer.join()
            except KeyboardInterrupt:  # before the run began, or after it had ended
                timer.join()
                continue
            results = report.queries
            assert [result.line for result in results] == list(range(130))
            assert report.totals()["queries"] == 130
            complete = {result.id for result in results if result.status == "complete"}
            assert complete == {summary.id for summary in store.sources(limit=1000)}
            assert report.totals()["complete"] == len(complete)
            endings.add(report.exit_code)
    assert 130 in endings


def test_the_second_one_abandons_what_is_in_flight(store, teacher):
    release = threading.Event()
    original = teacher.ask

    def ask(request):
        ctrl_c()
        wait_until_interrupted(run)
        ctrl_c()
        release.wait(600)
        return original(request)

    teacher.ask = ask
    run = distiller(store, teacher, workers=1)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run.run(lines_of(3))
    assert time.monotonic() - began < 100
    release.set()


def test_a_transaction_that_it_interrupts_is_rolled_back(tmp_path):
    first, second = LedgerFile(tmp_path / "x.ledger"), LedgerFile(tmp_path / "x.ledger")
    with second.writing() as rows:
        threading.Timer(0.2, ctrl_c).start()
        release = threading.Timer(0.6, rows.execute, ["COMMIT"])
        release.start()
        with pytest.raises(KeyboardInterrupt), first.writing():
            pass
        release.join()
        rows.execute("BEGIN")
    with first.writing() as rows:
        rows.execute("INSERT INTO spending VALUES ('job', 1)")


SCRIPT = """
import sys
from drag_graph.__main__ import main
from drag_graph.testing.server import ScriptedServer
with ScriptedServer(delay=300) as server:
    sys.argv = ["drag-graph", "distill", "-q", "Why?", "--teacher", "scripted", "--teacher-base-url", server.url]
    sys.argv += ["--embedder", "lexical"]
    print("begun", flush=True)
    server.always("evidence", lambda _request: print("asked", flush=True) or {"evidence": []})
    main()
"""


def test_the_command_ends_at_once_at_the_second_one_and_says_what_is_safe(tmp_path):
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", SCRIPT]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes) as process:
        for line in process.stdout:
            if "asked" in line:
                break
        process.send_signal(signal.SIGINT)
        for line in process.stderr:
            if "Ctrl-C again" in line:
                break
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        code = process.wait(200)
    assert code == 130
    assert time.monotonic() - began < 100
    assert "completed work is stored" in rest


EARLY = """
import os, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from drag_graph.__main__ import main
main()
"""


def test_one_while_modules_are_loaded_ends_in_a_line():
    done = subprocess.run([sys.executable, "-c", EARLY], cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted. Nothing was started.\n")


def test_sigterm_acts_like_ctrl_c_unless_something_else_handles_it():
    acts = []

    def interrupted():
        with on_ctrl_c(lambda: acts.append("ended")):
            os.kill(os.getpid(), signal.SIGTERM)
        return signal.getsignal(signal.SIGTERM)

    def other(*_):
        acts.append("other")

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        assert interrupted() is signal.SIG_DFL
        signal.signal(signal.SIGTERM, other)
        assert interrupted() is other
    finally:
        signal.signal(signal.SIGTERM, before)
    assert acts == ["ended", "other"]


@pytest.mark.long
def test_a_request_to_end_is_as_good_as_ctrl_c(tmp_path):
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", SCRIPT.replace("delay=300", "delay=1")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes) as process:
        for line in process.stdout:
            if "asked" in line:
                break
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
        code = process.wait(200)
    assert code == 130
    assert "completed work is stored" in said


@pytest.mark.timeout(30)
def test_a_signal_that_another_thread_receives_ends_the_wait():
    ended, blocked = SimpleQueue(), threading.Event()

    def send():
        blocked.wait()
        ctrl_c()

    sender = threading.Thread(target=send)  # does not inherit the mask below
    sender.start()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with on_end(lambda: ended.put("interrupted")):
            blocked.set()
            assert taken(ended) == "interrupted"
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        sender.join()
