"""`kill -9` and Ctrl-C of `distill --batch`: at every step of a batch's life and at write boundaries. Resumed, no request is
charged twice, no batch is made twice, and all is as after a run that was left alone."""

import json
import os
import signal
import sqlite3
import uuid
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue

import pytest

from drag_graph.testing.server import ScriptedServer

PAIRS = (("glaciers", "valleys"), ("violins", "concerts"), ("volcanoes", "islands"))
STEPS = ("file", "create", "created", "retrieve", "content")
"""Where a batch is when the process is killed: its file is being uploaded, it is being made, it is made but its id is not yet
known, it is waited for, its replies are being fetched."""
PARTS = 10
"""Tests that the write boundaries are spread over: each test has a time limit."""
TOKENIZERS = Path(find_spec("litellm").origin).parent / "litellm_core_utils" / "tokenizers"


class Batched:
    """Distillations in batches of three questions, in a child each, and what they did."""

    def __init__(self, nursery, folder):
        self.nursery, self.folder = nursery, folder / uuid.uuid4().hex
        self.folder.mkdir(parents=True)
        self.server = ScriptedServer()
        self._started = SimpleQueue()
        lines = [{"id": str(n), "question": f"How do {one} change {other}?"} for n, (one, other) in enumerate(PAIRS)]
        (self.folder / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *exc):
        self.server.__exit__(*exc)

    def start(self, fatal=None, exports=False):
        teacher = ["--teacher", "gpt-4o-mini", "--teacher-base-url", self.server.url, "--store", "graph.lbug"]
        commands = [["distill", "q.jsonl", *teacher, "--batch", "--json", "--workers", "1", "--budget-usd", "1"]]
        commands += [["export", "--store", "graph.lbug"]] * exports
        return self.nursery.start(self._job(commands, "report", fatal))

    def run(self, fatal=None):
        self.start(fatal)
        return self.nursery.wait()

    def finish(self, calm):
        """Run to the end, and hold that nothing was lost and nothing paid or made twice."""
        self.start(exports=True)
        assert self.nursery.wait() == ([0, 0], 0), self.said()
        self.check_finished(calm)

    def kill_at(self, step, sent=signal.SIGKILL):
        """Start, and send the signal at that step of the next batch; return how the run ended."""
        self.server.batches.on(step, lambda: os.kill(self._started.get(), sent))
        self._started.put(self.start())
        return self.nursery.wait()

    def report(self):
        return json.loads((self.folder / "report-0").read_text())

    def said(self):
        return (self.folder / "report-0.err").read_text()

    def boundaries(self):
        return (self.folder / "boundaries").read_text(encoding="ascii").splitlines()

    def check_finished(self, calm):
        assert [query["status"] for query in self.report()["queries"]] == ["complete"] * len(PAIRS), self.said()
        assert (self.folder / "report-1").read_bytes() == calm.export
        asked = Counter(json.dumps(request.body, sort_keys=True) for request in self.server.requests if request.schema)
        assert asked == calm.asked
        assert self.server.batches.sizes == calm.sizes
        database = sqlite3.connect(self.folder / "graph.lbug.ledger")
        try:
            left = database.execute("SELECT count(*) FROM batch_requests").fetchone()
            spent = database.execute("SELECT nanos / 1e9, (SELECT count(*) FROM reservations) FROM spending").fetchall()
        finally:
            database.close()
        assert spent == [(pytest.approx(calm.spent), 0)]
        assert left == (0,)

    def _job(self, commands, name, fatal=None):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("DRAG_GRAPH_", "NEO4J_"))}
        settings = {"EMBEDDER": "lexical", "BATCH_POLL_SECONDS": "0.01"}
        return {
            "commands": [{"argv": argv, "out": str(self.folder / f"{name}-{n}")} for n, argv in enumerate(commands)],
            "environment": {
                **environment,
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                "TIKTOKEN_CACHE_DIR": str(TOKENIZERS),  # LiteLLM sets it when it is imported, which was before the fork
                **{f"DRAG_GRAPH_{key}": value for key, value in settings.items()},
            },
            "cwd": str(self.folder),
            "boundaries": str(self.folder / "boundaries"),
            "fatal": fatal,
        }


class Calm:
    """What a run that was left alone did."""

    def __init__(self, run):
        assert run.run() == ([0], 0), run.said()
        self.boundaries = run.boundaries()
        self.spent = sum(query["cost_usd"] for query in run.report()["queries"])
        run.start(exports=True)
        assert run.nursery.wait() == ([0, 0], 0), run.said()
        self.export = (run.folder / "report-1").read_bytes()
        self.asked = Counter(json.dumps(request.body, sort_keys=True) for request in run.server.requests if request.schema)
        self.sizes = run.server.batches.sizes
        assert (self.sizes, set(self.asked.values())) == ([3, 3, 3], {1})


@pytest.fixture(scope="module")
def calm(nursery, tmp_path_factory):
    with Batched(nursery, tmp_path_factory.mktemp("calm")) as run:
        return Calm(run)


@pytest.fixture
def batched(nursery, tmp_path):
    with Batched(nursery, tmp_path) as found:
        yield found


@pytest.mark.parametrize("step", [step if step == "created" else pytest.param(step, marks=pytest.mark.long) for step in STEPS])
def test_killed_at_a_step_of_a_batch(batched, calm, tally, step):
    assert batched.kill_at(step).signal == signal.SIGKILL, batched.said()
    tally.add("batches", step)
    batched.finish(calm)


@pytest.mark.torture
@pytest.mark.parametrize("first", STEPS)
@pytest.mark.parametrize("second", STEPS)
def test_killed_twice(batched, calm, tally, first, second):
    for step in (first, second):
        assert batched.kill_at(step).signal == signal.SIGKILL, batched.said()
        tally.add("batches", step)
    batched.finish(calm)


def killed_at_boundary(nursery, folder, calm, tally, number):
    """Kill a run at a boundary, hold what must hold, and return whether it was killed: the last ones are not always passed."""
    with Batched(nursery, folder) as run:
        ended = run.run([number, "", None])
        killed = ended.signal == signal.SIGKILL
        assert killed or ended == ([0], 0), run.said()
        tally.add("batches", "boundary", int(killed))
        run.finish(calm)
    return killed


def test_killed_in_the_middle_of_collecting(nursery, tmp_path, calm, tally):
    lines = [number for number, name in enumerate(calm.boundaries, start=1) if name.startswith("tape: half")]
    assert killed_at_boundary(nursery, tmp_path, calm, tally, lines[1])


@pytest.mark.torture
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_every_write_boundary(nursery, tmp_path, calm, tally, part):
    for number in range(part + 1, len(calm.boundaries) + 1, PARTS):
        killed = killed_at_boundary(nursery, tmp_path, calm, tally, number)
        assert killed or number > 0.9 * len(calm.boundaries)


@pytest.mark.long
def test_ctrl_c_leaves_the_batch_and_says_so(batched, calm):
    batched.server.batches.hold.set()
    ended = batched.kill_at("retrieve", signal.SIGINT)
    assert ended == ([130], 0), batched.said()
    assert "1 batch with 3 requests" in batched.said()
    assert [query["status"] for query in batched.report()["queries"]] == ["pending"] * 3
    batched.server.batches.hold.clear()
    batched.finish(calm)
