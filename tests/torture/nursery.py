"""A process that has imported everything once and forks a child for each run, so that a kill costs tenths of a second.

    python nursery.py      reads jobs and answers, a JSON document a line, until its input ends

A job is {"commands": [{"argv": [...], "out": FILE}, ...], "environment": {...}, "cwd": FOLDER, "boundaries": FILE or null,
"fatal": see `boundaries.install`}. The child runs the commands one after another by the real command line, in its
own process and with the job's environment, and writes what each prints to OUT and OUT.err. The answers are {"pid": ...} at
once, and, after the line `"wait"`, {"codes": [...], "signal": ...}. The process is reaped only then, so its number cannot
be another's before.

Nothing is open and no thread of ours runs when it forks: databases, connections, the tape and the workers are made in the
child.
"""

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MODULES = (
    "litellm",
    "openai",
    "neo4j",
    "ladybug",
    "drag_graph.compose.session",
    "drag_graph.jobs.distill_job",
    "drag_graph.stores.ladybug.ladybug_store",
    "drag_graph.stores.neo4j.neo4j_store",
    "drag_graph.models.teachers.served_teacher",
    "drag_graph.inputs",
)

_AT_FIRST = dict(os.environ)
"""The environment before the imports: what libraries add to it when they are imported belongs to every child, too."""


class Ended(NamedTuple):
    """How a job ended: the exit codes of the commands that came to their end, and the signal that ended the process, or 0."""

    codes: list[int]
    signal: int


class Nursery:
    """The process, seen from a test."""

    def __init__(self):
        # One thread of numpy's library: it outlives a fork, but the children are short and many.
        environment = {
            **os.environ,
            "OPENBLAS_NUM_THREADS": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env={name: value for name, value in environment.items() if not name.startswith(("DRAG_GRAPH_", "NEO4J_"))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._child = 0
        self._read()

    def start(self, job):
        """Fork a child for the job and return its process number. One child at a time: an abandoned one is killed."""
        self._abandon()
        self._child = self._tell(job)["pid"]
        return self._child

    def wait(self):
        """Wait until the child has ended, and return how."""
        ended = Ended(**self._tell("wait"))
        self._child = 0
        return ended

    def run(self, job):
        self.start(job)
        return self.wait()

    def close(self):
        self._abandon()
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def _abandon(self):
        if self._child:
            os.kill(self._child, signal.SIGKILL)
            self.wait()

    def _tell(self, document):
        self._process.stdin.write(json.dumps(document) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self):
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the nursery has ended")
        return json.loads(line)


def serve():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    app = import_module("cli.app")
    _import(MODULES)
    _answer(answers, "ready")
    for line in sys.stdin:
        job = json.loads(line)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _be_the_child(app, job, writing)
        os.close(writing)
        _answer(answers, {"pid": pid})
        assert json.loads(sys.stdin.readline()) == "wait"
        with os.fdopen(reading) as stream:
            told = [json.loads(said) for said in stream]
        _, status = os.waitpid(pid, 0)
        codes = [code for code in told if isinstance(code, int)]
        _answer(answers, {"codes": codes, "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0})
        # What this child had to import, the next ones find imported.
        _import(name for names in told if isinstance(names, list) for name in names)


def _import(names):
    for name in names:
        with contextlib.suppress(ImportError):
            import_module(name)
    main = str(os.getpid())
    threads = {(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir() if task.name != main}
    # The allocator of a library that the driver looks for; it starts its own thread anew after a fork.
    assert threads <= {"jemalloc_bg_thd"}, f"an import has started threads, and threads do not survive a fork: {threads}"
    gc.collect()
    gc.freeze()


def _answer(answers, document):
    answers.write(json.dumps(document) + "\n")
    answers.flush()


def _be_the_child(app, job, writing):
    """Run the commands and tell their exit codes and what was imported; never return."""
    code = 70
    imported = set(sys.modules)
    try:
        _leave_the_parent(job)
        if job["boundaries"]:
            import_module("boundaries").install(job["boundaries"], job["fatal"])
        for command in job["commands"]:
            _print_to(command["out"])
            sys.argv = ["drag-graph", *command["argv"]]
            try:
                app.main()
            except SystemExit as stop:
                os.write(writing, f"{stop.code or 0}\n".encode())
        os.write(writing, json.dumps(sorted(set(sys.modules) - imported)).encode())
        code = 0
    except BaseException:  # noqa: BLE001 - the child's last words; its parent must never see the exception
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)  # no end of the interpreter for what belongs to the parent


def _leave_the_parent(job):
    by_imports = {name: value for name, value in os.environ.items() if _AT_FIRST.get(name) != value}
    os.environ.clear()
    os.environ.update({**by_imports, **job["environment"]})
    os.chdir(job["cwd"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def _print_to(path):
    for descriptor, stream, name in ((1, sys.stdout, path), (2, sys.stderr, f"{path}.err")):
        stream.flush()
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, descriptor)
        os.close(file)


if __name__ == "__main__":
    serve()
