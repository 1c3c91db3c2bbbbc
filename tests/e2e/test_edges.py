"""Two edges and a cloud, each a process of its own over a store of its own, as people run them."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from drag_graph.cloud.operator import running_cloud
from drag_graph.edge.traffic import Traffic
from drag_graph.factories import make_cloud_client
from drag_graph.settings import Settings

DOCUMENTS = {
    "alps": {
        "glaciers.txt": "Glaciers cover the Alps. Glacier ice flows some metres a day. Glacier ice carves valleys. "
        "Glacier ice carries stones. Glaciers feed rivers.",
        "staff-list.txt": "Glacier ice is watched by canary-4711. The guide canary-4711 lives in Zermatt. "
        "Glacier ice scares canary-4711.",
    },
    "bakery": {
        "bread.txt": "Bread needs yeast. Yeast makes dough rise. Dough contains flour. The oven bakes bread. "
        "Flour contains gluten. Gluten holds dough.",
    },
}
ASKED = "How fast does glacier ice flow in the Alps?"
SECONDS = 30


def until(condition, what):
    end = time.monotonic() + SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {SECONDS} s: {what}"
        time.sleep(0.05)
    return found


class System:
    """The folders of a cloud and its edges, and the processes that serve there."""

    def __init__(self, folder, cli, monkeypatch):
        self.folder, self._cli, self._monkeypatch = folder, cli, monkeypatch
        self.processes = {}
        self.address = ""

    def run(self, name, *args):
        """Run a command in a folder, in this process."""
        (self.folder / name).mkdir(exist_ok=True)
        self._monkeypatch.chdir(self.folder / name)
        done = self._cli(*args)
        assert done.code == 0, done.err
        return done

    def start(self, name, *args):
        log = (self.folder / f"{name}.log").open("a", encoding="utf-8")
        command = [sys.executable, "-m", "drag_graph", *args]
        pipes = {"stdout": subprocess.PIPE, "stderr": log, "text": True}
        self.processes[name] = subprocess.Popen(command, cwd=self.folder / name, env=dict(os.environ), **pipes)
        log.close()
        return self.processes[name]

    def serve_cloud(self):
        port = self.address.rpartition(":")[2] or "0"
        flags = ["--port", port, "--deadline", "2", "--edges", "2", "--json"]
        process = self.start("cloud", "cloud", "serve", *flags)
        said = ""
        while not said.endswith("}\n"):
            line = process.stdout.readline()
            assert line, (self.folder / "cloud.log").read_text(encoding="utf-8")
            said += line
        self.address = json.loads(said)["address"]

    def serve_edge(self, name):
        self.start(name, "edge", "serve")

    def settings(self, name):
        return Settings(store=str(self.folder / name / ".drag-graph/graph.lbug"))

    def online(self):
        """The names of the connected edges."""
        operator = running_cloud(self.settings("cloud").operator_path)
        return {edge["name"] for edge in operator.edges() if edge["online"]} if operator else set()

    def ask(self, name, question=ASKED):
        edge = self.settings(name).model_copy(update={"cloud": self.address, "edge_name": name})
        with make_cloud_client(edge, None) as client:
            return client.ask(question)

    def sent(self, name):
        """How many summaries an edge has sent."""
        return sum(row.texts for row in Traffic(self.settings(name).traffic_path).rows() if row.kind == "summaries")

    def end(self, name, number):
        process = self.processes.pop(name)
        process.send_signal(number)
        process.wait(SECONDS)
        process.stdout.close()
        return process.returncode


@pytest.fixture
def system(cli, monkeypatch, tmp_path):
    one = System(tmp_path, cli, monkeypatch)
    for name, documents in DOCUMENTS.items():
        (tmp_path / name / "documents").mkdir(parents=True)
        for file, text in documents.items():
            (tmp_path / name / "documents" / file).write_text(text, encoding="utf-8")
        one.run(name, "ingest", "documents")
        one.run(name, "communities", "--summariser", "rules")
    tokens = {name: one.run("cloud", "cloud", "edges", "add", name, "--json").json["token"] for name in DOCUMENTS}
    one.serve_cloud()
    for name, token in tokens.items():
        monkeypatch.setenv("DRAG_GRAPH_CLOUD_TOKEN", token)
        flags = ["--release", "passages", "--never-leave", "staff-*"]
        said = one.run(name, "edge", "init", "--cloud", one.address, "--name", name, *flags, "--json").json
        assert said["reachable"] is True
        monkeypatch.delenv("DRAG_GRAPH_CLOUD_TOKEN")
        one.serve_edge(name)
    until(lambda: one.online() == set(DOCUMENTS), "both edges are connected")
    yield one
    for name in list(one.processes):
        one.end(name, signal.SIGKILL)


@pytest.mark.slow
def test_two_edges_and_a_cloud_through_kills_and_restarts(system):
    answer = system.ask("bakery")
    assert {line.edge for line in answer.lines} >= {"alps"}
    assert any("metres a day" in line.text for line in answer.lines)
    assert answer.missing == ()
    told = {name: system.sent(name) for name in DOCUMENTS}
    assert min(told.values()) >= 1

    # The cloud is killed: what it knows is stored, and the edges come back by hashes alone.
    assert system.end("cloud", signal.SIGKILL) == -signal.SIGKILL
    system.serve_cloud()
    until(lambda: system.online() == set(DOCUMENTS), "both edges are back")
    assert {line.edge for line in system.ask("bakery").lines} >= {"alps"}
    assert {name: system.sent(name) for name in DOCUMENTS} == told

    # An edge hangs, and is killed in the middle of a question.
    system.processes["alps"].send_signal(signal.SIGSTOP)
    answer = system.ask("bakery")
    assert [(one.edge, one.reason) for one in answer.missing] == [("alps", "it did not answer in time")]
    system.processes["alps"].send_signal(signal.SIGCONT)
    system.end("alps", signal.SIGKILL)
    until(lambda: "alps" not in system.online(), "the killed edge is away")
    answer = system.ask("bakery")
    assert [(one.edge, one.reason) for one in answer.missing] == [("alps", "it is not connected")]
    assert answer.seconds < 2

    # Both end when they are told to.
    assert system.end("bakery", signal.SIGTERM) == 0
    assert system.end("cloud", signal.SIGTERM) == 0
    assert not system.settings("cloud").operator_path.exists()

    everything = b"".join(path.read_bytes() for path in (system.folder / "cloud" / ".drag-graph").iterdir())
    assert b"Glacier" in everything
    assert b"4711" not in everything, "what never leaves an edge is not at the cloud"

    said = system.run("alps", "edge", "traffic", "--json").json
    assert {row["kind"] for row in said["days"]} >= {"hello", "sync", "summaries", "poll", "passages"}
    assert said["totals"]["bytes_out"] > 0
    (system.folder / "alps" / "drag-graph.toml").chmod(0o600)
    assert system.run("alps", "config", "--json").json["edge_name"]["value"] == "alps"
