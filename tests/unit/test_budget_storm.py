"""A budget under storm: 32 threads, lost replies, runs that die, processes killed for real. An observer who knows what was
sent and charged looks at every moment (docs/explanation/reliability.md, promise 5)."""

import contextlib
import json
import random
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drag_graph.errors import BudgetReached
from drag_graph.ledger.budget import Account, Budget, dollars
from drag_graph.ledger.ledger_file import LedgerFile

ROOT = Path(__file__).parents[2]
THREADS = 32
LIMIT = 1_000_000_000


class Provider:
    """Who is paid, in nano-dollars: what was charged, and what the requests under way may still be charged."""

    def __init__(self, limit):
        self.limit = limit
        self.charged = self.under_way = 0
        self.counted = 0
        """What a careful customer takes for spent: all of a call whose price he could not learn."""
        self.most = 0
        self.lock = threading.Lock()

    def receive(self, most):
        with self.lock:
            self.under_way += most
            self._look()

    def answer(self, most, charge, *, lost=False):
        with self.lock:
            self.under_way -= most
            self.charged += charge
            self.counted += most if lost else charge
            self._look()

    def forget(self, difference):
        """The customer died before he wrote down that a call cost less than it might have."""
        with self.lock:
            self.counted += difference

    def _look(self):
        self.most = max(self.most, self.charged + self.under_way)


class Died(Exception):  # noqa: N818 - reads as what happened
    """The process is gone: nothing reaches the file any more."""


class MortalAccount(Account):
    """A ledger of a process that dies after so many calls of it: from then on nothing is written, whoever asks."""

    def __init__(self, database, job, breaths):
        super().__init__(database, job)
        self.breaths = breaths
        self.breathing = threading.Lock()

    def _breathe(self):
        with self.breathing:
            self.breaths -= 1
            if self.breaths < 0:
                raise Died

    def reserve(self, amount, limit):
        self._breathe()
        return super().reserve(amount, limit)

    def settle(self, key, amount, actual):
        self._breathe()
        super().settle(key, amount, actual)


@dataclass(frozen=True)
class Call:
    most: int
    charge: int
    fate: str


@st.composite
def calls(draw):
    most = draw(st.integers(0, LIMIT // 4))
    fate = draw(st.sampled_from(["answered"] * 4 + ["lost", "lost, then answered"]))
    return Call(most, draw(st.integers(0, most)), fate)


@dataclass
class Refusals:
    """The calls that were refused though there was room, had all been known."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    number: int = 0
    too_early: list = field(default_factory=list)

    def add(self, most, provider):
        with self.lock, provider.lock:
            self.number += 1
            if provider.counted + most <= provider.limit:
                self.too_early.append((provider.counted, most))


def make_calls(budget, provider, made, refusals):
    """One worker's life, as `ServedTeacher.send` makes calls."""
    with contextlib.suppress(Died):
        for call in made:
            attempts = ["lost", "answered"] if call.fate == "lost, then answered" else [call.fate]
            for fate in attempts:
                try:
                    reservation = budget.reserve(dollars(call.most))
                except BudgetReached:
                    refusals.add(call.most, provider)
                    return
                provider.receive(call.most)
                time.sleep(random.choice((0, 0, 0.0005)))
                lost = fate == "lost"
                provider.answer(call.most, call.charge, lost=lost)
                try:
                    budget.settle(reservation, dollars(call.most if lost else call.charge))
                except Died:
                    provider.forget(0 if lost else call.most - call.charge)
                    raise


def run_threads(works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
    assert not any(thread.is_alive() for thread in threads), "a worker hangs"


def storm(file, phases, plan):
    """Run phases one after another on one ledger; each is a list of budgets that run side by side, dying or not."""
    provider = Provider(LIMIT)
    for breaths_of in phases:
        refusals = Refusals()
        budgets = []
        for breaths in breaths_of:
            if file is None:
                budgets.append(Budget(dollars(LIMIT)))
            elif breaths is None:
                budgets.append(Budget(dollars(LIMIT), Account(LedgerFile(file), "job")))
            else:
                budgets.append(Budget(dollars(LIMIT), MortalAccount(LedgerFile(file), "job", breaths)))
        run_threads(
            [
                partial(make_calls, budgets[n % len(budgets)], provider, plan[n % len(plan) :] + plan, refusals)
                for n in range(THREADS)
            ]
        )
        assert provider.most <= LIMIT
        if len(budgets) == 1:
            assert not refusals.too_early
    if file is not None:
        standing = Account(LedgerFile(file), "job").standing()
        assert standing.settled + standing.reserved == provider.counted <= LIMIT
    assert provider.under_way == 0


PLANS = st.lists(calls(), min_size=1, max_size=6)
PHASES = st.lists(st.lists(st.none() | st.integers(0, 60), min_size=1, max_size=3), min_size=1, max_size=3)
BOUNDED = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(BOUNDED, max_examples=300)


def check_storm(phases, plan):
    with tempfile.TemporaryDirectory() as folder:
        storm(Path(folder) / "runs.db", phases, plan)


@BOUNDED
@given(phases=PHASES, plan=PLANS)
def test_nothing_passes_the_limit_whoever_dies(phases, plan):
    check_storm(phases, plan)


@pytest.mark.torture
@LONG
@given(phases=PHASES, plan=PLANS)
def test_nothing_passes_the_limit_whoever_dies_at_length(phases, plan):
    check_storm(phases, plan)


@BOUNDED
@given(plan=PLANS)
def test_nothing_passes_the_limit_in_memory(plan):
    storm(None, [[None]], plan)


@settings(BOUNDED, max_examples=10)
@given(plan=PLANS, workers=st.integers(1, THREADS))
def test_a_budget_that_suffices_refuses_nobody(plan, workers):
    """All calls together cost no more than the limit, though their estimates together are far above it."""
    total = sum(call.charge for call in plan) * workers
    limit = total + max(call.most for call in plan)
    provider, refusals = Provider(limit), Refusals()
    paid = [Call(call.most, call.charge, "answered") for call in plan]
    with tempfile.TemporaryDirectory() as folder:
        budget = Budget(dollars(limit), Account(LedgerFile(Path(folder) / "runs.db"), "job"))
        run_threads([partial(make_calls, budget, provider, paid, refusals)] * workers)
        assert refusals.number == 0
        assert budget.spent_usd == dollars(total)
    assert provider.most <= limit


class SlowAccount(Account):
    """Gives others time between looking and writing."""

    def _standing(self, rows):
        standing = super()._standing(rows)
        time.sleep(0.01)
        return standing


def test_looking_and_reserving_are_one_step(tmp_path):
    """Eight budgets, each with a connection of its own as a process has, want a third of the budget at once."""
    budgets = [Budget(3, SlowAccount(LedgerFile(tmp_path / "runs.db"), "job")) for n in range(8)]
    together, got = threading.Barrier(len(budgets)), []

    def want(budget):
        together.wait()
        with contextlib.suppress(BudgetReached):
            got.append(budget.reserve(1))

    run_threads([partial(want, budget) for budget in budgets])
    assert len(got) == 3


CHILD = """
import json, random, socket, sys, threading
from pathlib import Path
from drag_graph.ledger.budget import Account, Budget
from drag_graph.ledger.ledger_file import LedgerFile
from drag_graph.errors import BudgetReached

file, port, limit = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
budget = Budget(limit, Account(LedgerFile(Path(file)), "job"))

def work():
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rw") as lines:
        while True:
            most = random.randrange(1, 4_000_000)
            try:
                reservation = budget.reserve(most / 1e9)
            except BudgetReached:
                return
            lines.write(json.dumps([most, random.randrange(most + 1)]) + "\\n")
            lines.flush()
            budget.settle(reservation, json.loads(lines.readline()) / 1e9)

threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sys.exit(5)
"""


class Till(socketserver.StreamRequestHandler):
    """Charges each request that it receives, whether or not the customer lives to hear of it."""

    provider: ClassVar[Provider]

    def handle(self):
        with contextlib.suppress(OSError, ValueError):
            for line in self.rfile:
                most, charge = json.loads(line)
                self.provider.receive(most)
                time.sleep(random.choice((0.0, 0.002)))
                self.provider.answer(most, charge)
                self.wfile.write(f"{charge}\n".encode())


def spend_with_kills(folder, *, kills, side_by_side, limit):
    """Keep `side_by_side` processes spending, killing one after another; return the provider and the number of kills."""
    provider = Provider(limit)
    file = folder / "runs.db"
    started = 0

    def start():
        nonlocal started
        started += 1
        arguments = [str(file), str(server.server_address[1]), str(dollars(limit)), f"run-{started}"]
        return subprocess.Popen([sys.executable, "-c", CHILD, *arguments], cwd=ROOT, stderr=subprocess.PIPE)

    handler = type("ThisTill", (Till,), {"provider": provider})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        running, killed = [start() for _ in range(side_by_side)], 0
        while killed < kills and any(process.poll() is None for process in running):
            before = provider.charged
            until = time.monotonic() + 2
            while provider.charged == before and time.monotonic() < until:  # in the middle of spending
                time.sleep(0.001)
            time.sleep(random.uniform(0, 0.05))
            victim = running.pop(random.randrange(len(running)))
            killed += victim.poll() is None
            victim.send_signal(signal.SIGKILL)
            victim.communicate()
            running.append(start())
        running.append(start())
        errors = [process.communicate(timeout=200)[1] for process in running]
        assert {process.returncode for process in running} == {5}, errors
        last = start()
        last.communicate(timeout=200)
        assert last.returncode == 5
        server.shutdown()
    standing = Account(LedgerFile(file), "job").standing()
    assert provider.most <= limit
    assert provider.charged <= standing.settled + standing.reserved <= limit
    assert limit - standing.settled - standing.reserved < 4_000_000, "there was room for another call"
    return provider, killed


def test_processes_killed_in_the_middle_never_pass_the_limit_together(tmp_path):
    provider, killed = spend_with_kills(tmp_path, kills=8, side_by_side=3, limit=4_000_000_000)
    assert killed >= 4
    assert provider.charged > 2_000_000_000


@pytest.mark.torture
def test_many_processes_killed_in_the_middle_never_pass_the_limit_together(tmp_path):
    _, killed = spend_with_kills(tmp_path, kills=100, side_by_side=4, limit=60_000_000_000)
    assert killed >= 50
