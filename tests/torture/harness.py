"""What the kill suites share: places to distill into, trials that are killed and resumed, and what must hold afterwards."""

import hashlib
import json
import os
import select
import shutil
import signal
import sqlite3
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from drag_graph.stores.neo4j.connection import Neo4jConnection
from drag_graph.stores.shared.cypher_files import load_from
from drag_graph.testing import plausible
from drag_graph.testing.server import EMBEDDINGS, STUDENT, Say, ScriptedServer

HERE = Path(__file__).parent
NAMESPACE = "torture"
UNUSABLE = "gibberish"
"""A question with this word gets replies that nobody can read, and ends quarantined."""
LONGEST = 120.0
_REPLAY = "only a writer can replay its log"
_SUBJECTS = ("glaciers", "violins", "volcanoes", "bridges", "orchids", "compasses", "telescopes", "harbours", "beehives")
_OBJECTS = ("valleys", "concerts", "islands", "traffic", "gardens", "voyages", "galaxies", "commerce", "meadows")


class Place:
    """Where trials distill to: `clean` empties it, `flags` and `variables` name it. All trials of a place share a namespace."""

    def __init__(self, kind, folder, neo4j=None, store_timeout=30.0):
        self.kind = kind
        self.folder = folder
        self.variables = {"DRAG_GRAPH_EMBEDDER": "lexical", "DRAG_GRAPH_STORE_TIMEOUT": str(store_timeout)}
        if kind == "embedded":
            self.variables["DRAG_GRAPH_NAMESPACE"] = NAMESPACE
            self.flags = ["--store", "graph.lbug"]
        else:
            uri, user, password = neo4j
            self._login = neo4j
            self.namespace = f"{NAMESPACE}-{uuid.uuid4().hex}"
            self.variables |= {"NEO4J_USERNAME": user, "NEO4J_PASSWORD": password, "DRAG_GRAPH_NAMESPACE": self.namespace}
            self.flags = ["--store", uri]

    def clean(self):
        """Return a new, empty folder; in Neo4j, erase everything of the namespace."""
        if self.kind == "neo4j":
            self.erase()
        folder = self.folder / uuid.uuid4().hex
        folder.mkdir(parents=True)
        return folder

    def erase(self):
        uri, user, password = self._login
        connection = Neo4jConnection(uri, username=user, password=password, database=None, timeout=60)
        text, parameters = load_from(HERE, "namespace_gone", "neo4j").bind(namespace=self.namespace)
        try:
            connection.write(lambda work: work._transaction.run(text, parameters).consume())
        finally:
            connection.close()


class Job(NamedTuple):
    """What is distilled: questions, those of them that end quarantined, and how.

    With `replaces` they were distilled before under other settings, undisturbed, and each subgraph is replaced.
    """

    good: int
    bad: int = 0
    workers: int = 1
    delay: float = 0.0
    replaces: bool = False

    @property
    def lines(self):
        # Of words of their own: two queries with the same evidence would share a request for its triples.
        questions = [f"How do {one} change {other}?" for one, other in zip(_SUBJECTS, _OBJECTS, strict=True)][: self.good]
        questions += [f"Why is {UNUSABLE} number {n} what it is?" for n in range(self.bad)]
        return [{"id": str(n), "question": question} for n, question in enumerate(questions)]

    @property
    def statuses(self):
        return ["complete"] * self.good + ["quarantined"] * self.bad


class Fatal(NamedTuple):
    """The boundary that kills: the n-th, from 1, of those whose name begins so; where given, that many seconds after it."""

    number: int
    name: str = ""
    instant: float | None = None


class PromiseBrokenError(AssertionError):
    """A promise was broken; the message says after which kills."""


class Trial:
    """One distillation from an empty place, killed and resumed as often as one likes, held against `calm` at its end."""

    def __init__(self, nursery, place, job, calm=None):
        self.nursery, self.place, self.job, self.calm = nursery, place, job, calm
        self.server = ScriptedServer(delay=job.delay)
        self.server.always("evidence", _evidence)
        self.folder = place.clean()
        self.ledger = self.folder / "x.ledger"
        self.history = []
        """A word for each run: how it ended."""
        self.recorded = []
        """For each run, what was on the tape when it began: no later request may ask for it."""
        self.complete = set()
        (self.folder / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in job.lines), encoding="utf-8")

    def __enter__(self):
        self.server.__enter__()
        if self.job.replaces:
            self.start(more=("-n", "8"))
            ended = self.end("distilled before")
            self.hold(ended == ([0], 0), f"the earlier distillation ended {ended}")
            self.check_killed()
        return self

    def __exit__(self, *exc):
        self.server.__exit__(*exc)

    # ---- running

    def start(self, fatal=None, more=()):
        """Start the command in a child, with a `Fatal` boundary or none, and return its process number."""
        self.recorded.append(self.on_tape())
        arguments = ["distill", "q.jsonl", "--teacher", "scripted", "--teacher-base-url", self.server.url, *self.place.flags]
        arguments += ["--ledger", "x.ledger", "--workers", str(self.job.workers), "--json", *more]
        # The key tells the runs' requests apart in the server's log, however late they arrive there.
        variables = {"DRAG_GRAPH_TEACHER_API_KEY": f"run-{len(self.recorded) - 1}"}
        return self.nursery.start(self._work([arguments], "report", variables, self._passed, fatal))

    def end(self, word=""):
        """Wait for the child; return how it ended."""
        ended = self.nursery.wait()
        self.history.append(word or f"{ended.codes} {ended.signal}")
        return ended

    def run(self, fatal=None):
        """Run to the end, or to the `fatal` boundary; return how it ended."""
        self.start(fatal)
        return self.end(f"to be killed at {fatal}" if fatal else "")

    def kill_after(self, requests, seconds):
        """Run until the teacher has had so many more requests, and that long on; kill -9. Return whether that was in time."""
        seen = self.server.count()
        pid = self.start()
        process = os.pidfd_open(pid)
        try:
            until = time.monotonic() + LONGEST
            while self.server.count() < seen + requests and time.monotonic() < until and not _ended(process, 0.001):
                pass
            _ended(process, seconds)
            os.kill(pid, signal.SIGKILL)
        finally:
            os.close(process)
        return self.end(f"killed {seconds:.4f} s after {requests} requests").signal == signal.SIGKILL

    def boundaries(self):
        """Return the names of the boundaries that the last run passed, in order."""
        return self._passed.read_text(encoding="ascii").splitlines() if self._passed.exists() else []

    @property
    def _passed(self):
        return self.folder / f"boundaries-{len(self.recorded)}"

    def ask(self, *arguments):
        """Run reading commands in one child; return (exit code, stdout, stderr) of each."""
        commands = [[*argument, *self.place.flags] for argument in arguments]
        codes, died = self.nursery.run(self._work(commands, "asked", {}))
        self.hold(not died, f"a reading command was ended by signal {died}")
        outs = [self.folder / f"asked-{n}" for n in range(len(arguments))]
        return [
            (code, out.read_bytes(), out.with_name(f"{out.name}.err").read_text())
            for code, out in zip(codes, outs, strict=True)
        ]

    def _work(self, commands, name, variables, boundaries=None, fatal=None):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("DRAG_GRAPH_", "NEO4J_"))}
        return {
            "commands": [{"argv": argv, "out": str(self.folder / f"{name}-{n}")} for n, argv in enumerate(commands)],
            "environment": {**environment, "LITELLM_LOCAL_MODEL_COST_MAP": "True", **self.place.variables, **variables},
            "cwd": str(self.folder),
            "boundaries": str(boundaries) if boundaries else None,
            "fatal": fatal,
        }

    # ---- checking

    def check_killed(self):
        """Hold what must hold after a kill: nothing reported is lost, and nothing is half there. Return the export."""
        looks = (["export", "--format", "jsonl"], ["db", "verify", "--json"])
        exported, checked = self.ask(*looks)
        if exported[0] == 3 and _REPLAY in exported[2]:
            # Killed in a checkpoint: readers, which write nothing, ask that somebody opens the store for writing once.
            ((code, _, said),) = self.ask(["db", "migrate"])
            self.hold(code == 0, f"opening the store for writing did not help: {said}")
            exported, checked = self.ask(*looks)
        (code, export, said), (verified, problems, _) = exported, checked
        reported = self.journal_complete() | self.complete
        if code == 3 and not reported:  # killed before there was a store to speak of
            return b""
        self.hold(code == 0, f"the store cannot be exported: {said}")
        records = [json.loads(line) for line in export.splitlines()]
        stored = {record["id"] for record in records if record.get("label") == "Query"}
        self.hold(reported <= stored, f"reported complete and lost: {reported - stored}")
        self.hold((verified, json.loads(problems)) == (0, {"problems": []}), f"db verify: {problems}")
        self.complete = stored
        return export

    def check_finished(self, ended):
        """Hold what must hold after the last run: all is done, and the export is that of the calm run. Return the export."""
        report, said = (self.folder / "report-0").read_text(), (self.folder / "report-0.err").read_text()
        self.hold(ended == ([1 if self.job.bad else 0], 0), f"the resumed run ended {ended}: {said}")
        statuses = [query["status"] for query in json.loads(report)["queries"]]
        self.hold(statuses == self.job.statuses, f"the resumed run reports {statuses}")
        export = self.check_killed()
        self.hold(len(self.complete) == self.job.good, f"{len(self.complete)} queries are stored")
        self.check_requests()
        if self.calm is not None:
            self.hold(self.on_tape() == self.calm.tape, "the tape does not hold what the calm run's holds")
            self.hold(export == self.calm.export, f"the export differs: {_difference(export, self.calm.export)}")
        self._check_quarantine()
        return export

    def check_requests(self):
        """Hold that no run asked for what was on the tape when it began, and none asked the same twice."""
        asked = Counter()
        for request in self.server.requests:
            if request.schema in {"", STUDENT, EMBEDDINGS}:
                continue
            run = int(request.headers["Authorization"].removeprefix("Bearer run-"))
            what = _identity(request.body["model"], request.body["messages"], request.schema)
            self.hold(what not in self.recorded[run], f"run {run} asked again for what was recorded: {request.prompt[:200]!r}")
            asked[run, what] += 1
        twice = [what for what, times in asked.items() if times > 1]
        self.hold(not twice, f"asked twice within a run: {twice}")
        self.hold(self.on_tape() <= {what for _, what in asked}, "a record on the tape is of no request that was made")

    def reported(self):
        """Return the ids of the queries that the last run's report calls complete."""
        queries = json.loads((self.folder / "report-0").read_text())["queries"]
        return {query["id"] for query in queries if query["status"] == "complete"}

    def on_tape(self):
        """Return what the recorded replies are to, each once; read without the product."""
        found = [
            _identity(model, json.loads(sent)["messages"], stage)
            for model, stage, sent in self._rows(
                "SELECT model, stage, sent FROM exchanges JOIN calls ON exchange_id = exchanges.id WHERE reply IS NOT NULL"
            )
        ]
        self.hold(len(set(found)) == len(found), "the tape holds a reply twice")
        return frozenset(found)

    def journal_complete(self):
        """Return the ids of the queries that the journal of runs calls complete."""
        return {row[0] for row in self._rows("SELECT DISTINCT id FROM results WHERE status = 'complete'")}

    def _rows(self, statement):
        """Return rows of the ledger. A copy is read: looking would change it."""
        copy = self.folder / "looked-at"
        copy.mkdir(exist_ok=True)
        for name in ("", "-wal"):
            place = copy / f"ledger{name}"
            place.unlink(missing_ok=True)
            if self.ledger.with_name(self.ledger.name + name).exists():
                shutil.copyfile(self.ledger.with_name(self.ledger.name + name), place)
        (copy / "ledger-shm").unlink(missing_ok=True)
        if not (copy / "ledger").exists():
            return []
        connection = sqlite3.connect(copy / "ledger")
        try:
            (made,) = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'results'").fetchone()
            return connection.execute(statement).fetchall() if made else []
        finally:
            connection.close()

    def _check_quarantine(self):
        """Hold that the last replies of every quarantined query can be read."""
        kept = self._rows(
            "SELECT DISTINCT source_id FROM exchanges JOIN asked ON exchange_id = id JOIN calls USING (exchange_id) "
            "WHERE error IS NOT NULL AND raw <> ''"
        )
        self.hold(len(kept) == self.job.bad, f"{len(kept)} of {self.job.bad} unusable replies can be read")

    def hold(self, truth, message):
        if not truth:
            raise PromiseBrokenError(
                f"{self.place.kind}, {self.job}: {message}\nruns: {'; '.join(self.history)}\nin {self.folder}"
            )


class Calm(NamedTuple):
    """What a run that was left alone ends with, and the boundaries that it passed."""

    export: bytes
    tape: frozenset[str]
    boundaries: list[str]


def calm_run(nursery, place, job):
    """Run the job undisturbed, hold that its own log and tape agree, and return what it ends with."""
    with Trial(nursery, place, job) as trial:
        export = trial.check_finished(trial.run())
        trial.hold(export.count(b'"Query"') == job.good, "the calm run's export does not hold its queries")
        trial.hold(len(trial.on_tape()) >= 2 * job.good, "the calm run's tape is too short")
        return Calm(export, trial.on_tape(), trial.boundaries())


def _identity(model, messages, schema):
    return hashlib.sha256(json.dumps([model, messages, schema], sort_keys=True).encode()).hexdigest()


def _evidence(request):
    return (
        Say("I would rather talk about something else.") if UNUSABLE in request.prompt else plausible.evidence(request.prompt)
    )


def _ended(process, seconds):
    """Wait at most that long; return whether the process (by its descriptor) has ended."""
    return bool(select.select([process], [], [], seconds)[0])


def _difference(one, other):
    here, there = Counter(one.splitlines()), Counter(other.splitlines())
    more, less = list((here - there).elements()), list((there - here).elements())
    return f"{len(more)} lines more, {len(less)} less; {[line[:400] for line in more[:2] + less[:2]]}"
