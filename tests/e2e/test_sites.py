"""Four sites and a cloud, each in its own process with its own store.

Sites are killed, the cloud is restarted, the network of one site delays and drops: each question ends with an answer or with a
clear reason. What is waited for is looked for again and again: on a busy machine a process may get no turn for seconds.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from network import Proxy

from drag_graph.app.cloud_group import running_cloud
from drag_graph.compose.site_setup import make_cloud_client
from drag_graph.errors import CloudUnavailable
from drag_graph.settings import Settings
from drag_graph.sites.cloud.work_board import AWAY, LATE
from drag_graph.sites.traffic_log import Traffic

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
    "coast": {
        "tides.txt": "The tide lifts boats. The tide fills the bay. Boats leave the bay. The Moon causes the tide. "
        "Sand fills the bay.",
    },
    "polar": {
        "ice.txt": "Sea ice covers the Arctic. Glacier ice reaches the sea. Glacier ice breaks into icebergs. "
        "Icebergs drift south. Sea ice reflects light.",
    },
}
ASKED = "How fast does glacier ice flow in the Alps?"
FLOWS = "metres a day"
SECONDS = 60
DEADLINE = 6
"""Seconds that sites have to answer."""


def until(condition, what):
    end = time.monotonic() + SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {SECONDS} s: {what}"
        time.sleep(0.05)
    return found


class System:
    """The folders of a cloud and its sites, and the processes that serve there. The site `alps` is behind a bad network."""

    def __init__(self, folder, cli, monkeypatch):
        self.folder, self._cli, self._monkeypatch = folder, cli, monkeypatch
        self.processes = {}
        self.address = ""

    def run(self, name, *args):
        """Run a command in a folder, in this process."""
        self._monkeypatch.chdir(self.folder / name)
        done = self._cli(*args)
        assert done.code == 0, done.err
        return done

    def set_up(self):
        for name in (*DOCUMENTS, "cloud"):
            (self.folder / name).mkdir()
            (self.folder / name / "drag-graph.toml").write_text('embedder = "lexical"\nprivacy = "off"\n', encoding="utf-8")
        for name, documents in DOCUMENTS.items():
            (self.folder / name / "documents").mkdir()
            for file, text in documents.items():
                (self.folder / name / "documents" / file).write_text(text, encoding="utf-8")
            self.run(name, "ingest", "documents")
            self.run(name, "communities", "--summariser", "rules")
        tokens = {name: self.run("cloud", "cloud", "edges", "add", name, "--json").json["token"] for name in DOCUMENTS}
        self.serve_cloud()
        self.network = Proxy(self.address)
        for name, token in tokens.items():
            self._monkeypatch.setenv("DRAG_GRAPH_CLOUD_TOKEN", token)
            address = self.network.address if name == "alps" else self.address
            flags = ["--release", "passages", "--never-leave", "staff-*"]
            said = self.run(name, "edge", "init", "--cloud", address, "--name", name, *flags, "--json").json
            assert said["reachable"] is True
            self._monkeypatch.delenv("DRAG_GRAPH_CLOUD_TOKEN")
            self.serve_edge(name)

    def start(self, name, *args):
        log = (self.folder / f"{name}.log").open("a", encoding="utf-8")
        command = [sys.executable, "-m", "drag_graph", *args]
        pipes = {"stdout": subprocess.PIPE, "stderr": log, "text": True}
        self.processes[name] = subprocess.Popen(command, cwd=self.folder / name, env=dict(os.environ), **pipes)
        log.close()
        return self.processes[name]

    def serve_cloud(self):
        port = self.address.rpartition(":")[2] or "0"
        flags = ["--port", port, "--deadline", str(DEADLINE), "--edges", "4", "--summaries", "12", "--json"]
        process = self.start("cloud", "cloud", "serve", *flags)
        said = ""
        while not said.endswith("}\n"):
            line = process.stdout.readline()
            assert line, (self.folder / "cloud.log").read_text(encoding="utf-8")
            said += line
        self.address = json.loads(said)["address"]

    def serve_edge(self, name):
        self.start(name, "edge", "serve")

    def restore(self):
        """Start missing processes, and wait until all sites are connected and have sent their summaries."""
        self.network.delay, self.network.is_down = 0.0, False
        if "cloud" not in self.processes:
            self.serve_cloud()
        for name in DOCUMENTS.keys() - self.processes.keys():
            self.serve_edge(name)
        until(lambda: self.online() == set(DOCUMENTS), "all sites are connected")

    def settings(self, name):
        return Settings(store=str(self.folder / name / ".drag-graph/graph.lbug"))

    def online(self):
        """The names of the sites that are connected and have sent their summaries."""
        operator = running_cloud(self.settings("cloud"))
        return {site["name"] for site in operator.sites() if site["online"] and site["summaries"]} if operator else set()

    def ask(self, name="bakery", address=""):
        """Ask as a site: each question ends within the deadline, with an answer that reports what each site did."""
        site = self.settings(name).model_copy(update={"cloud": address or self.address, "edge_name": name})
        with make_cloud_client(site, None) as client:
            answer = client.ask(ASKED)
        silent = {one.site for one in answer.asked if not one.passages} - {one.site for one in answer.missing}
        assert silent <= {"bakery", "coast"}, "who knows about ice has sent something, or it is said why not"
        assert answer.seconds < DEADLINE + SECONDS
        return answer

    def answered_by(self, name):
        """Ask until a site's line is in the answer."""

        def answer():
            found = self.ask()
            return found if name in {line.site for line in found.lines} else None

        return until(answer, f"{name} answers")

    def sent(self, name):
        """The number of summaries that a site has sent."""
        return sum(row.texts for row in Traffic(self.settings(name).traffic_path).rows() if row.kind == "summaries")

    def end(self, name, number):
        process = self.processes.pop(name)
        process.send_signal(number)
        process.wait(SECONDS)
        process.stdout.close()
        return process.returncode


@pytest.fixture(scope="module")
def system(module_cli, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        one = System(tmp_path_factory.mktemp("edges"), module_cli, patch)
        one.set_up()
        yield one
        for name in list(one.processes):
            one.end(name, signal.SIGKILL)
        one.network.close()


@pytest.fixture
def whole(system):
    """The system with all that belongs to it."""
    system.restore()
    return system


def reasons(answer, site):
    return {one.reason for one in answer.missing if one.site == site}


@pytest.mark.slow
def test_a_killed_cloud_comes_back_by_hashes_and_goes_on_with_audits(whole):
    def asked():
        said = whole.run("bakery", "ask", ASKED, "--json").json
        return said if {line.get("site") for line in said["lines"]} >= {"alps", "polar"} else None

    said = until(asked, "the sites that know have answered")
    assert FLOWS in " ".join(line["text"] for line in said["lines"])
    told = {name: whole.sent(name) for name in DOCUMENTS}
    assert min(told.values()) >= 1

    assert whole.end("cloud", signal.SIGKILL) == -signal.SIGKILL
    with pytest.raises(CloudUnavailable):
        whole.ask()
    audit = whole.run("bakery", "audit", said["answer_id"], "--json").json
    assert all("does not answer" in line["elsewhere"]["origin"]["problem"] for line in audit["lines"])
    assert [line["text"] for line in audit["lines"]] == [line["text"] for line in said["lines"]]

    whole.restore()
    whole.answered_by("alps")
    assert {name: whole.sent(name) for name in DOCUMENTS} == told, "what the cloud knows was stored"

    def behind():
        lines = whole.run("bakery", "audit", said["answer_id"], "--json").json["lines"]
        return lines if all(line["elsewhere"]["origin"]["passages"] for line in lines) else None

    lines = until(behind, "the audit goes on at the sites")
    assert {line["elsewhere"]["origin"]["passages"][0]["document"]["name"] for line in lines} >= {"glaciers.txt", "ice.txt"}
    counted = {row.kind: row.texts for row in Traffic(whole.settings("polar").traffic_path).rows()}
    assert counted["audit"] >= 1, "the site can see that it was asked"


@pytest.mark.slow
def test_over_a_network_that_drops_and_delays_each_question_ends(whole):
    whole.network.delay = 0.02
    ends = []
    for turn in range(4):
        asking = threading.Thread(target=lambda: ends.append(whole.ask()))
        asking.start()
        if turn % 2:
            whole.network.cut()
        asking.join(SECONDS)
        with contextlib.suppress(CloudUnavailable):  # the network of who asks, too
            ends.append(whole.ask(address=whole.network.address))
    assert len(ends) >= 4
    assert {line.site for answer in ends for line in answer.lines} >= {"polar"}, "the others are not disturbed"

    whole.network.is_down = True
    whole.network.cut()
    until(lambda: "alps" not in whole.online(), "the site is cut off")
    assert reasons(whole.ask(), "alps") == {AWAY}
    with pytest.raises(CloudUnavailable):
        whole.ask(address=whole.network.address)
    whole.network.is_down = False
    assert any(FLOWS in line.text for line in whole.answered_by("alps").lines)


@pytest.mark.slow
def test_a_site_that_is_killed_in_the_middle_of_a_question_is_named(whole):
    whole.answered_by("alps")
    whole.processes["alps"].send_signal(signal.SIGSTOP)
    before, answers = whole.network.passed, []
    asking = threading.Thread(target=lambda: answers.append(whole.ask()))
    asking.start()
    until(lambda: whole.network.passed > before or answers, "the site was asked")
    whole.end("alps", signal.SIGKILL)
    asking.join(SECONDS)
    (answer,) = answers
    assert reasons(answer, "alps") <= {LATE, AWAY}
    assert reasons(answer, "alps")
    assert not [line for line in answer.lines if line.site == "alps"]
    until(lambda: "alps" not in whole.online(), "the killed site is away")
    assert reasons(whole.ask(), "alps") == {AWAY}
    assert whole.answered_by("polar")


@pytest.mark.slow
def test_all_end_when_they_are_told_to_and_what_stays_has_stayed(system):
    system.answered_by("polar")
    ended = {name: system.end(name, signal.SIGTERM) for name in list(system.processes)}
    assert set(ended) >= {"bakery", "cloud", "coast", "polar"}
    assert set(ended.values()) == {0}
    assert not system.settings("cloud").service_path.exists()

    everything = b"".join(path.read_bytes() for path in (system.folder / "cloud" / ".drag-graph").iterdir() if path.is_file())
    assert b"Glacier" in everything
    assert b"canary-4711" not in everything, "what never leaves a site is not at the cloud"
    bakery = b"".join(path.read_bytes() for path in (system.folder / "bakery" / ".drag-graph").iterdir())
    assert b"canary-4711" not in bakery, "nor at the site that asked"

    said = system.run("polar", "edge", "traffic", "--json").json
    assert {row["kind"] for row in said["days"]} >= {"hello", "sync", "summaries", "poll", "passages"}
    assert said["totals"]["bytes_out"] > 0
    (system.folder / "alps" / "drag-graph.toml").chmod(0o600)
    assert system.run("alps", "config", "--json").json["edge_name"]["value"] == "alps"
