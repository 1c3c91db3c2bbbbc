"""Runs a page of the guide as a reader would: block by block, in a folder with the files that the guide assumes."""

import json
import os
import random
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import tomllib
import uuid
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path

from guide_pages import ROOT, scripted
from tiny_gguf import write_tiny_gguf

QUESTION = '{"id": "q1", "question": "Why is the sky blue?", "options": ["Scattering", "Reflection"], "answer": 0}\n'
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
SHELL = re.compile(r"[|<>;&`*~${}#]|^\w+=")
"""What only a shell understands."""
SERVER = re.compile(r"drag-graph (serve|cloud serve)\b(?!.*--port)", re.DOTALL)
PORTS = {"serve": "8080", "cloud serve": "8470"}
"""Default ports of commands that keep running."""
_PORT = re.compile(r"(?:(?<=127\.0\.0\.1:)|(?<=localhost:)|(?<=-port ))\d{4,5}\b")
NEO4J = re.compile(r"\b(?:bolt|neo4j)://(?:127\.0\.0\.1|localhost)(?::7687)?")
_PLACEHOLDER = re.compile(r"\b(?:(?:ANSWER|QUERY|DOCUMENT|CLAIM|RUN|MERGE)_ID|KEY|TOKEN)\b")
LISTED = {"ANSWER_ID": ["answers"], "QUERY_ID": ["show"], "DOCUMENT_ID": ["show"], "RUN_ID": ["runs"]}
"""The command that lists the ids of a kind."""
PATTERNS = {
    "CLAIM_ID": r'claim ([0-9a-f]{8,32})\b|"claims": \[\s*"([0-9a-f]+)',
    "MERGE_ID": r"^\W*([0-9a-f]{8,32})\b",
    "KEY": r"\b(dgk_[\w-]+)",
    "TOKEN": r"^([\w-]{43})$",
}
"""Where a command prints a value of another kind."""
WAIT = 240
"""Seconds in which a command that keeps running must be ready."""


def write_inputs(folder):
    """Write the files that each page assumes."""
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "questions.jsonl").write_text(QUESTION, encoding="utf-8")
    (folder / "papers").mkdir()
    (folder / "papers" / "minutes.txt").write_text("The committee decided to repair the bridge.", encoding="utf-8")
    (folder / "notes.md").write_text("The bridge is open on Mondays.", encoding="utf-8")


class GuideRunner:
    """Runs the blocks of one page.

    `drag_graph` runs a command in this process and returns its code and output; anything else runs in bash. `address` is that
    of a scripted server, `neo4j` are address, user and password of a Neo4j if the page uses one. `patch` is a MonkeyPatch.
    """

    def __init__(self, folder, drag_graph, patch, *, address, neo4j):
        self.folder = folder
        self.printed = self.latest = ""
        """What all blocks printed, and what the last one did. Later commands take ids from it."""
        self.is_scripted = False
        """Whether a model was replaced, so that the output is not that of the page."""
        self._drag_graph, self._patch, self._address, self._neo4j = drag_graph, patch, address, neo4j
        self._terminals = {}
        self._ports = {port: port for place in (address, *(neo4j or ())) for port in re.findall(r"(?<=:)\d+", place)}
        if neo4j:
            patch.setenv("NEO4J_USERNAME", neo4j[1])
            patch.setenv("NEO4J_PASSWORD", neo4j[2])
            patch.setenv("DRAG_GRAPH_NAMESPACE", f"guide-{uuid.uuid4().hex}")
        patch.chdir(folder)
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

    def write(self, block):
        """Write a block with a title to its file."""
        path = self.folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._prepared(block.text), encoding="utf-8")

    def run(self, block):
        """Run a block. Fails if a command of it does."""
        text = self._prepared(block.text)
        self.latest = ""
        if block.language == "python":
            self._execute([sys.executable, "-c", text], text)
        elif block.title:
            self._start(block.title, text)
        elif re.search(r"<<|^(?:for|while|if) ", text, re.MULTILINE):
            self._execute(["bash", "-euc", text], text)
        else:
            for line in text.replace("\\\n", " ").splitlines():
                if line.strip() and not line.startswith("#"):
                    self._command(" ".join(line.split(" # ")[0].split()))

    def transcript(self, block):
        """Run the commands of a block that begin with `$`, and yield the lines that it shows after each."""
        for part in re.split(r"^\$ ", block.text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            self.latest = ""
            self._command(re.sub(r"\b[0-9a-f]{12}\b", "ANSWER_ID", command))
            yield shown

    def close(self):
        """Stop the commands that keep running."""
        with ExitStack() as stack:
            for title in self._terminals:
                stack.callback(self._stop, title)

    def _prepared(self, text):
        """Return a text with models, addresses and ports that exist here, and write the files of models that it names."""
        if self._neo4j:
            text = re.sub(r"(?<=NEO4J_PASSWORD=)\S+", self._neo4j[2], NEO4J.sub(self._neo4j[0], text))
        for name in re.findall(r"(?<=gguf:)[\w./-]+\.gguf", text):
            if not (self.folder / name).exists():
                write_tiny_gguf(self.folder / name, template=True)
        new = scripted(text, self._address)
        self.is_scripted |= new != text or "gguf:" in text
        if command := SERVER.search(new):
            new = new.replace(command[0], f"{command[0]} --port {PORTS[command[1]]}")
        return _PORT.sub(lambda found: self._port(found[0]), new)

    def _port(self, number):
        """Return the free port that replaces a port of the page."""
        while number not in self._ports:
            # Not one of those that the system gives to others until the server binds it.
            with suppress(OSError), socket.create_server(("127.0.0.1", random.randrange(20_000, 32_000))) as free:
                self._ports[number] = str(free.getsockname()[1])
        return self._ports[number]

    def _command(self, command):
        command = _PLACEHOLDER.sub(lambda found: self._value(found[0], command), command)
        name, *arguments = shlex.split(command)
        if name == "cd":
            self.folder = self.folder / arguments[0]
            self._patch.chdir(self.folder)
        elif name == "export":
            self._export(command)
        elif name == "drag-graph" and not SHELL.search(re.sub(r"'[^']*'|\"[^\"$`]*\"", "", command)):
            code, printed = self._drag_graph(*arguments)
            self._print(printed)
            assert code == 0, f"{command}\n{printed}"
        elif not is_installation(name, arguments):
            self._execute(["bash", "-euo", "pipefail", "-c", command], command)

    def _export(self, command):
        script = f"{command}; env -0"
        done = subprocess.run(["bash", "-euc", script], cwd=self.folder, capture_output=True, text=True, check=True)
        for name, _, value in (entry.partition("=") for entry in done.stdout.split("\0")):
            if name and os.environ.get(name) != value and name not in {"_", "SHLVL", "PWD"}:
                self._patch.setenv(name, value)

    def _execute(self, command, shown):
        done = subprocess.run(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        self._print(done.stdout)
        assert done.returncode == 0, f"{shown}\n{done.stdout}"

    def _print(self, text):
        self.latest += text
        self.printed += text

    def _start(self, title, script):
        """Run a script until the page ends, or a later block of the same terminal stops it. Waits until it is ready."""
        self._stop(title)
        script = "\n".join(line for line in script.splitlines() if not line.startswith("#"))
        if not script.strip():
            return
        script = _PLACEHOLDER.sub(lambda found: self._value(found[0], script), script)
        log = self.folder / f"{title}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                ["bash", "-euc", script],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._terminals[title] = process, log
        ports = re.findall(r"(?<=--port )\d+", script)
        end = time.monotonic() + WAIT
        while process.poll() is None and not (all(map(_answers, ports)) if ports else log.stat().st_size):
            assert time.monotonic() < end, f"{script} is not ready\n{log.read_text()}"
            time.sleep(0.05)
        self._print(log.read_text())
        if process.poll() is not None:
            del self._terminals[title]
            raise AssertionError(f"{script}\n{log.read_text()}")

    def _stop(self, title):
        if title in self._terminals:
            process, log = self._terminals.pop(title)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
            try:
                code = process.wait(WAIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code = process.wait()
            assert code in {0, 130, -signal.SIGINT}, log.read_text()

    def _value(self, name, command):
        """Return the latest value of a kind that was printed."""
        if name in PATTERNS:
            found = [
                next(filter(None, groups))
                for groups in map(re.Match.groups, re.finditer(PATTERNS[name], self.printed, re.MULTILINE))
            ]
            assert found, f"nothing printed the {name} of {command}"
            return found[-1]
        store = re.findall(r"(--(?:store|namespace)) (\S+)", command)
        code, printed = self._drag_graph(*LISTED[name], "--json", *(part for pair in store for part in pair))
        assert code == 0, printed
        kind = {"QUERY_ID": "query", "DOCUMENT_ID": "document"}.get(name, "")
        ids = [entry["id"] for entry in json.loads(printed) if not kind or entry["kind"] == kind]
        for word in reversed(re.findall(r"\b[0-9a-f]{8,32}\b", self.printed)):
            if any(id_.startswith(word) for id_ in ids):
                return word
        raise AssertionError(f"nothing printed the {name} of {command}")


def _answers(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", int(port))) == 0


def is_installation(name, arguments):
    """Whether a command installs or fetches something. Then check that it exists: tests/packaging installs it."""
    if name == "pip":
        assert arguments[0] == "install", arguments
        named = {extra for argument in arguments for extras in re.findall(r"\[(.*)\]", argument) for extra in extras.split(",")}
        assert named <= EXTRAS.keys(), named
    elif name == "make":
        assert set(arguments) <= set(TARGETS), arguments
    elif name == "python" and arguments[:3] == ["-m", "spacy", "download"]:
        assert find_spec(arguments[3]), arguments
    elif name != "." or not arguments[0].endswith("activate"):
        return False
    return True
