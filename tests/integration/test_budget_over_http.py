"""The budget over real HTTP: the server sums what it would charge, for replies that got lost too, and that never passes it."""

import contextlib
import http.server
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from drag_graph.distill import evidence_ranking as rank
from drag_graph.distill import evidence_step as evidence
from drag_graph.errors import BudgetReached, ModelUnavailable, ReplyError
from drag_graph.identity import query_id
from drag_graph.ledger import Ledger
from drag_graph.ledger.budget import Account, Budget
from drag_graph.ledger.ledger_file import LedgerFile
from drag_graph.model import Query
from drag_graph.models.litellm_library import load_litellm
from drag_graph.models.model_server import Server
from drag_graph.models.teachers.served_teacher import ServedTeacher
from drag_graph.ports.teacher_replies import REPLIES
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.testing.plausible import DEFAULTS, plausible_tokens
from drag_graph.testing.server import Fault, Say, ScriptedServer

ROOT = Path(__file__).parents[2]
THREADS = 32
MODEL = "priced-by-the-test"
A_TOKEN_IN, A_TOKEN_OUT = 7.5e-7, 3.1e-6
FAULTS = ["busy", "broken", "reset", "late", "dripping", "malformed", "cut off"]


@pytest.fixture(autouse=True)
def _price():
    entry = {
        "input_cost_per_token": A_TOKEN_IN,
        "output_cost_per_token": A_TOKEN_OUT,
        "litellm_provider": "openai",
        "mode": "chat",
    }
    load_litellm().register_model({MODEL: entry})
    yield
    load_litellm().model_cost.pop(MODEL, None)


@dataclass
class Till:
    """Charges a server's requests as a provider does: whatever it began to answer, whole, even where the reply got lost."""

    faulty: float
    prices: tuple[float, float] = (A_TOKEN_IN, A_TOKEN_OUT)
    charged: float = 0.0
    fates: list = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def attach(self, server):
        for schema in REPLIES:
            server.always(schema, self.reply)
        return self

    def reply(self, request):
        """Return some reply or fault, and take the money for it. Only what is refused by its status is free."""
        most = request.body["max_tokens"]
        fate = "good"
        if random.random() < self.faulty:
            # Each kind once before any comes twice: few requests in a row may draw the same.
            fate = random.choice([kind for kind in FAULTS if kind not in self.fates] or FAULTS)
        text = json.dumps(DEFAULTS[request.schema](request.prompt))
        finish = "stop"
        if fate == "malformed":
            text = "I would rather write a poem. " * random.randrange(1, 40)
        elif fate == "cut off":
            text, finish = text[: random.randrange(1, len(text))], "length"
        elif fate != "good":
            text = "word " * random.randrange(1, most)
        elif text.endswith("}"):
            text += " " * random.randrange(4 * most)  # a reply of any length that is still a good one
        text = text[: 4 * most]
        with self.lock:
            self.fates.append(fate)
            if fate not in {"busy", "broken"}:
                taken = (plausible_tokens(request.prompt), plausible_tokens(text))
                self.charged += sum(tokens * price for tokens, price in zip(taken, self.prices, strict=True))
        return {
            "busy": Fault(429, retry_after="0"),
            "broken": Fault(500),
            "reset": Fault(),
            "late": Say(text, delay=1.5),
            "dripping": Say(text, interval=0.05),
        }.get(fate, Say(text, finish_reason=finish))


def question(number):
    text = f"Why does thing number {number} come before thing number {number + 1}?"
    query = Query(id=query_id("default", text), text=text)
    if number % 3 == 0:
        return rank.request(query, [f"Thing {number} precedes thing {n}." for n in range(5)], "paper", "relations", blind=True)
    return evidence.request(query, number=5, plan="lean", blind=True)


def spend_all(teacher, *, calls):
    """Ask with 32 threads until the budget stops each of them; return what stopped them."""
    numbers, stopped, lock = iter(range(calls)), [], threading.Lock()

    def work():
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            try:
                with contextlib.suppress(ReplyError, ModelUnavailable):
                    teacher.ask(question(number))
            except BudgetReached as error:
                stopped.append(error)
                return

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    return stopped


def storm(folder, *, limit, runs, seed):
    """Spend `limit` US dollars in `runs` runs of one job, the earlier ones of which get a part; return the till."""
    random.seed(seed)
    with ScriptedServer() as server:
        till = Till(faulty=0.4).attach(server)
        for run in range(1, runs + 1):
            allowed = limit * run / runs
            budget = Budget(allowed, Account(LedgerFile(folder / "runs.db"), "job"))
            with Ledger(folder / f"{run}.ledger") as ledger:
                served = Server(MODEL, server.url, timeout=0.75, sleep=lambda _: None)
                teacher = ServedTeacher(served, tape=ledger.tape, budget=budget, max_tokens=400)
                stopped = spend_all(teacher, calls=100_000)
            assert len(stopped) == THREADS
            # A request that was given up may still be on its way into the server.
            time.sleep(0.1)
            assert till.charged <= budget.spent_usd + 1e-9 <= allowed + 2e-9
            # Room for one more call there was not: this is the most that one costs here.
            assert budget.spent_usd > allowed - 1200 * A_TOKEN_IN - 400 * A_TOKEN_OUT
            if run > 1:
                assert "by other runs of this job" in str(stopped[0])
    return till


def test_32_threads_with_all_that_can_go_wrong_never_pass_the_budget(tmp_path):
    till = storm(tmp_path, limit=0.15, runs=2, seed=1)
    assert set(till.fates) == {"good", "busy", "broken", "reset", "late", "dripping", "malformed", "cut off"}
    assert till.charged > 0.15 / 4  # the rest was set aside for replies that got lost


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(12))
def test_32_threads_with_all_that_can_go_wrong_never_pass_the_budget_at_length(tmp_path, seed):
    storm(tmp_path, limit=0.5, runs=3, seed=seed)


class Silent(http.server.BaseHTTPRequestHandler):
    """Answers well and does not say how many tokens it took."""

    protocol_version = "HTTP/1.1"
    usage: object = None

    def log_message(self, *args):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        facts = [{"text": f"Thing {n} comes before thing {n + 1}.", "framing": "causal"} for n in range(5)]
        message = {"role": "assistant", "content": json.dumps({"evidence": facts})}
        document = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": MODEL,
            "usage": self.usage,
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        }
        payload = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 50}])
def test_a_reply_that_does_not_say_its_tokens_is_not_free(usage):
    """Such a call is shown with tokens counted here, and takes all that was set aside for it from the budget."""
    handler = type("Handler", (Silent,), {"usage": usage})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        budget = Budget(0.01)
        address = f"http://127.0.0.1:{server.server_address[1]}/v1"
        teacher = ServedTeacher(Server(MODEL, base_url=address), budget=budget, max_tokens=400)
        call = teacher.ask(question(1)).call
        assert call.tokens_in > 20
        assert call.tokens_out > 40
        assert call.cost_usd == pytest.approx(call.tokens_in * A_TOKEN_IN + call.tokens_out * A_TOKEN_OUT)
        assert budget.spent_usd > call.cost_usd
        assert budget.spent_usd > 400 * A_TOKEN_OUT
        stopped = spend_all(teacher, calls=1000)
        assert len(stopped) == THREADS
        server.shutdown()


def test_a_call_that_is_interrupted_counts_as_charged():
    def interrupt(_):
        raise KeyboardInterrupt

    with ScriptedServer() as server:
        server.script("evidence", Fault(500))
        budget = Budget(0.01)
        teacher = ServedTeacher(Server(MODEL, base_url=server.url, sleep=interrupt), budget=budget, max_tokens=400)
        with pytest.raises(KeyboardInterrupt):
            teacher.ask(question(1))
    assert budget.spent_usd > 400 * A_TOKEN_OUT
    budget.settle(budget.reserve(0.01 - budget.spent_usd))  # and nothing stays reserved


QUESTIONS = [{"id": str(n), "question": f"Why does thing number {n} cause effect number {n}?"} for n in range(200)]
REAL_MODEL = "gpt-4o"
"""A child process knows the prices of LiteLLM's own map only."""


class CommandLine:
    """The same distillation, started as often as is needed."""

    def __init__(self, folder, server, limit):
        questions = folder / "q.jsonl"
        questions.write_text("".join(json.dumps(line) + "\n" for line in QUESTIONS), encoding="utf-8")
        self.graph = folder / "graph.lbug"
        teacher = ["--teacher", REAL_MODEL, "--teacher-base-url", server.url, "--ledger", str(folder / "x.ledger")]
        spending = ["--budget-usd", str(limit), "--workers", "4", "--json"]
        self.distill = ["distill", str(questions), "--store", str(self.graph), *teacher, *spending]
        self.environment = {**os.environ, "DRAG_GRAPH_EMBEDDER": "lexical"}

    def start(self, arguments):
        line = [sys.executable, "-m", "drag_graph", *arguments]
        return subprocess.Popen(line, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self):
        process = self.start(self.distill)
        _, errors = process.communicate(timeout=200)
        return process.returncode, " ".join(errors.split())

    def kill_during(self, server, more):
        """Run until the server has had `more` requests, then kill -9; return whether it came in time."""
        seen = server.count()
        process = self.start(self.distill)
        until = time.monotonic() + 120
        while process.poll() is None and server.count() < seen + more and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(random.uniform(0, 0.03))
        killed = process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return killed

    def stored(self):
        """Return the ids of the complete queries."""
        with LadybugStore(self.graph) as store:
            return {query.id for query in store.sources()}


def kill_and_resume(folder, *, limit, kills, ends):
    """Kill the command line again and again, then let it run to its budget's end."""
    price = load_litellm().model_cost[REAL_MODEL]
    with ScriptedServer(delay=0.02) as server:
        till = Till(faulty=0.0, prices=(price["input_cost_per_token"], price["output_cost_per_token"])).attach(server)
        run = CommandLine(folder, server, limit)
        killed = 0
        for _ in range(kills):
            killed += run.kill_during(server, random.randrange(8, 17))
            assert till.charged <= limit
        finished = run.stored()
        for _ in range(ends):  # after the first one, nothing is left of the budget
            asked = server.count()
            code, errors = run.finish()
            assert code == 5, errors
            assert "by other runs of this job" in errors
            assert till.charged <= limit
            now = run.stored()
            assert finished <= now
            finished = now
        assert finished
        assert ends == 1 or server.count() == asked
    return killed, till


@pytest.mark.long
def test_a_run_that_is_killed_and_resumed_never_passes_its_budget(tmp_path):
    # Enough for twice the requests that may come before a kill: at 0.5 a run could reach its end first.
    killed, till = kill_and_resume(tmp_path, limit=1.0, kills=2, ends=1)
    assert killed == 2
    assert till.charged > 0.1


@pytest.mark.torture
def test_a_run_that_is_killed_many_times_never_passes_its_budget(tmp_path):
    killed, _ = kill_and_resume(tmp_path, limit=4.0, kills=15, ends=3)
    assert killed >= 10
