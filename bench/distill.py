"""How fast and how cheap distilling is: throughput, processor time, memory, and the lean plan's prompts beside the paper's.

    python bench/distill.py throughput [--workers 1 8 32 64] [--embedders lexical minilm] [--store bolt://...]
    python bench/distill.py cpu        [--workers 1 32]
    python bench/distill.py memory     [--lines 200 2000 20000]
    python bench/distill.py plan       [--questions FILE] [--data FOLDER]

The teacher is the project's scripted server in a process of its own; each reply comes `--latency` seconds after its request.
Beside ours, in the same run, bare LiteLLM sends the very requests that the server got from us (messages, schema and
parameters) from as many threads, so that a comparison is a ratio of two figures of one machine at one time. `--json` prints
one document instead of tables.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[1]
MODEL = "gpt-4o-mini"
CALLS = 3
LEAST_SHARE = 0.9
MIB = 1 << 20
STAGES = ("evidence", "scores", "triples", "relations", "statements")
RECORDED = ("commonsense_qa", "qasc", "csqa2")
"""The files of real data that hold statements which a model made from the question (`evidence_llm`)."""

# ---------------------------------------------------------------------------------------------- the server, its own process


def _serve(pipe: Connection, latency: float) -> None:
    from drag_graph.testing.server import ScriptedServer

    with ScriptedServer(delay=latency) as server:
        pipe.send(server.url)
        while (order := pipe.recv()) != "stop":
            if isinstance(order, float):
                server.delay = order
            pipe.send([dict(request.body) for request in server.requests] if order == "bodies" else None)
            if order in {"bodies", "forget"}:
                server.requests.clear()


class Server:
    """The scripted teacher in another process; `latency` in seconds."""

    def __init__(self, latency: float) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, latency), daemon=True)
        self._process.start()
        self.url: str = self._pipe.recv()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._pipe.send("stop")
        self._process.join(10)

    def order(self, order: str | float) -> Any:
        """Set the latency (a float), `forget` the requests so far, or return and forget their `bodies`."""
        self._pipe.send(order)
        return self._pipe.recv()


# ---------------------------------------------------------------------------------------------- ours and bare LiteLLM


class Counted:
    """An embedder that counts what its calls take of the thread that makes them, and of the process, in seconds."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed(self, texts: Sequence[str]) -> Any:
        began = time.thread_time()
        vectors = self._embedder.embed(texts)
        took = time.thread_time() - began
        with self._lock:
            self.seconds += took
        return vectors


def settings_for(server: str, folder: str, options: argparse.Namespace, **more: Any) -> Any:
    from drag_graph.settings import load_settings

    store = options.store or str(Path(folder) / f"{uuid.uuid4().hex}.lbug")
    given = {"store": store, "namespace": uuid.uuid4().hex, "teacher": MODEL, "teacher_base_url": server, "budget_usd": 1e6}
    return load_settings({**given, "ledger": str(Path(folder) / f"{uuid.uuid4().hex}.ledger"), **more})


def questions(file: Path, number: int, namespace: str) -> list[Any]:
    """Return `number` different queries: the questions of the file, again and again, each time about another name.

    The name goes into the evidence that the scripted server makes, so that no two requests are the same and none is free.
    """
    from drag_graph.inputs import parse_lines

    with file.open("rb") as stream:
        rows = [json.loads(line) for line in stream if line.strip()]
    again = [
        json.dumps({**row, "id": f"q{place}", "question": f"As to {_name(place)}, {row['question']}"}).encode()
        for place in range(number)
        for row in [rows[place % len(rows)]]
    ]
    return list(parse_lines(again, namespace=namespace))


def _name(place: int) -> str:
    return "Z" + "".join(chr(ord("a") + int(digit)) for digit in f"{place:05}")


class Ours:
    """Our side: one open session, which has distilled one question already when the first measurement begins."""

    def __init__(self, settings: Any, options: argparse.Namespace) -> None:
        from drag_graph.app.resources import Resources

        self._opened = contextlib.ExitStack()
        self._session = self._opened.enter_context(Resources(settings).writing())
        self._embedder = self._session.embedder = Counted(self._session.embedder)
        self._settings, self._options, self._used = settings, options, 0
        self.run(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._options.store:
            _erase(self._session.store, questions(self._options.questions, self._used, self._settings.namespace))
        self._opened.close()

    def run(self, number: int) -> dict[str, float]:
        """Distill `number` questions that are new: seconds, and processor seconds of this process and of embedding."""
        lines = questions(self._options.questions, self._used + number, self._settings.namespace)[self._used :]
        self._used += number
        self._options.server.order("forget")
        self._embedder.seconds = 0.0
        distiller = self._session.distiller()
        began, processor = time.perf_counter(), time.process_time()
        report = distiller.run(lines)
        seconds, processor = time.perf_counter() - began, time.process_time() - processor
        totals = report.totals()
        assert totals["complete"] == number, report.stopped
        assert not totals["cached_calls"], totals
        return {"seconds": seconds, "cpu": processor, "embedding": self._embedder.seconds, "calls": totals["calls"]}


def _erase(store: Any, lines: Sequence[Any]) -> None:
    for line in lines:
        store.erase([line.query.id])


class Bare:
    """The other side: LiteLLM alone, in a process of its own that knows nothing of ours, from as many threads."""

    def __init__(self, server: str, workers: int) -> None:
        self._pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        self._server, self._workers = server, workers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._pool.shutdown()

    def run(self, bodies: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Send these requests, after one that is not counted."""
        return self._pool.submit(_send_all, self._server, bodies, self._workers).result()


def _send_all(server: str, bodies: Sequence[dict[str, Any]], workers: int) -> dict[str, float]:
    import litellm
    import openai

    names = ("messages", "response_format", "temperature", "max_tokens")
    fixed = {"api_base": server, "api_key": "none", "num_retries": 0, "max_retries": 0, "timeout": 120.0}

    def one(body: dict[str, Any]) -> None:
        call = {name: body[name] for name in names if name in body}
        try:
            litellm.completion(model=f"openai/{MODEL}", drop_params=True, **fixed, **call)
        except openai.OpenAIError as error:  # LiteLLM's own errors cannot be handed from process to process
            raise RuntimeError(str(error)) from None

    one(bodies[0])
    with ThreadPoolExecutor(workers) as pool:
        began, processor = time.perf_counter(), time.process_time()
        for done in [pool.submit(one, body) for body in bodies]:
            done.result()
        return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - processor, "calls": len(bodies)}


# ---------------------------------------------------------------------------------------------- throughput


def throughput(options: argparse.Namespace) -> dict[str, Any]:
    """Give each worker `rounds` questions, so that the last ones end together and no tail counts against anybody."""
    rows = []
    with Server(options.latency) as options.server, tempfile.TemporaryDirectory() as folder:
        workers, widest = list(options.workers), max(options.workers)
        while workers:
            width = workers.pop(0)
            ideal = options.rounds * CALLS * options.latency
            row: dict[str, Any] = {"workers": width, "queries": width * options.rounds}
            mine = 0.0
            bodies: list[dict[str, Any]] = []
            for name in options.embedders:
                settings = settings_for(options.server.url, folder, options, workers=width, embedder=name)
                with Ours(settings, options) as side:
                    found = side.run(row["queries"])
                bodies = options.server.order("bodies")
                row[f"{name}_share"] = round(ideal / found["seconds"], 3)
                if name == options.embedders[0]:  # a model embeds in threads of its own: what is left is not ours alone
                    mine = (found["cpu"] - found["embedding"]) / found["calls"] * 1000
                    row[f"{name}_cpu_ms"] = round(mine, 2)
            with Bare(options.server.url, width) as other:
                alone = other.run(bodies)
            row["bare_share"] = round(ideal / alone["seconds"], 3)
            row["bare_cpu_ms"] = round(alone["cpu"] / alone["calls"] * 1000, 2)
            row["cpu_ratio"] = round(mine / row["bare_cpu_ms"], 2)
            rows.append(row)
            progress(row)
            if not workers and options.beyond and row[f"{options.embedders[0]}_share"] >= LEAST_SHARE and width < 1024:
                workers.append(widest := 2 * widest)
    stops = next((row["workers"] for row in rows if row[f"{options.embedders[0]}_share"] < LEAST_SHARE), None)
    return {"latency_s": options.latency, "calls_a_query": CALLS, "stops_scaling_at": stops, "rows": rows}


# ---------------------------------------------------------------------------------------------- processor time


class Parts:
    """Processor time by part, of the thread that works on it, each without the parts inside it."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._here = threading.local()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*given: Any, **named: Any) -> Any:
            inside: list[float] = self._here.__dict__.setdefault("inside", [])
            inside.append(0.0)
            began = time.thread_time()
            try:
                return function(*given, **named)
            finally:
                took = time.thread_time() - began
                with self._lock:
                    self.seconds[name] += took - inside.pop()
                if inside:
                    inside[-1] += took

        return measured

    @contextlib.contextmanager
    def watching(self, *places: tuple[str, Any, str]) -> Iterator[None]:
        """Measure the functions at (part, holder, attribute) while the context is open."""
        before = [(holder, name, getattr(holder, name)) for _, holder, name in places]
        for part, holder, name in places:
            setattr(holder, name, self.timed(part, getattr(holder, name)))
        try:
            yield
        finally:
            for holder, name, function in before:
                setattr(holder, name, function)


def places() -> list[tuple[str, Any, str]]:
    from drag_graph.distill import canonical_subgraph as canonical
    from drag_graph.distill import evidence_ranking as rank
    from drag_graph.distill import evidence_step as evidence
    from drag_graph.distill import query_distillation as distilling
    from drag_graph.distill import triple_extraction as extract
    from drag_graph.jobs import distill_job as pipeline
    from drag_graph.ledger.journal import Journal
    from drag_graph.ledger.tape import Tape
    from drag_graph.models import chat_client
    from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
    from drag_graph.models.teachers import served_teacher as litellm_teacher
    from drag_graph.stores.ladybug import ladybug_store
    from drag_graph.stores.neo4j import neo4j_store

    return [
        ("the HTTP request", chat_client, "send"),
        ("around a call: key, price, thread, reply", chat_client, "complete"),
        ("budget: tokens and price", litellm_teacher.ServedTeacher, "highest_cost"),
        ("reply: read and validate", litellm_teacher, "read"),
        ("reply: read and validate", litellm_teacher, "fit"),
        ("tape: find", Tape, "find"),
        ("tape: record", Tape, "record"),
        ("teacher: the rest", litellm_teacher.ServedTeacher, "ask"),
        ("store: save", ladybug_store.LadybugStore, "save"),
        ("store: save", neo4j_store.Neo4jStore, "save"),
        ("embedding", LexicalEmbedder, "embed"),
        ("steps: prompts", evidence, "request"),
        ("steps: prompts", rank, "request"),
        ("steps: prompts", extract, "request"),
        ("steps: evidence, ranking", evidence, "read"),
        ("steps: evidence, ranking", rank, "rank"),
        ("steps: canonical graph", canonical, "build"),
        ("distilling: the rest", distilling.Distillation, "distill"),
        ("pipeline: a query's rest", pipeline.Distiller, "step"),
        ("journal", Journal, "record"),
        ("journal", Journal, "enter"),
        ("journal", Journal, "settled"),
    ]


def processor(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the processor time a call beside bare LiteLLM's, and by part.

    Both sides take turns, `--repeats` times; the ratio is the median of each pair's, so that what else the machine does counts
    for both.
    """
    rows = []
    parts = Parts()
    with Server(options.latency) as options.server, tempfile.TemporaryDirectory() as folder:
        for width in options.workers:
            number = max(options.queries // width, 1) * width
            settings = settings_for(options.server.url, folder, options, workers=width, embedder=options.embedders[0])
            pairs = []
            with Ours(settings, options) as side, Bare(options.server.url, width) as other:
                for _ in range(options.repeats):
                    found = side.run(number)
                    alone = other.run(options.server.order("bodies"))
                    mine = (found["cpu"] - found["embedding"]) / found["calls"] * 1000
                    pairs.append((mine, alone["cpu"] / alone["calls"] * 1000))
            names = ("ours_ms", "bare_ms")
            medians = {
                name: round(statistics.median(column), 2) for name, column in zip(names, zip(*pairs, strict=True), strict=True)
            }
            ratio = statistics.median(first / second for first, second in pairs)
            rows.append({"workers": width, "queries": number * options.repeats, **medians, "ratio": round(ratio, 2)})
            progress(rows[-1])
        settings = settings_for(
            options.server.url, folder, options, workers=max(options.workers), embedder=options.embedders[0]
        )
        number = options.queries * options.repeats
        with Ours(settings, options) as side, parts.watching(*places()):
            found = side.run(number)
    parts.seconds["all else: input, hand-over"] = found["cpu"] - sum(parts.seconds.values())
    table = [
        {"part": name, "ms_a_call": round(value / found["calls"] * 1000, 3)} for name, value in parts.seconds.most_common()
    ]
    return {"latency_s": options.latency, "rows": rows, "parts": table}


# ---------------------------------------------------------------------------------------------- memory


def memory(options: argparse.Namespace) -> dict[str, Any]:
    """Run the command line in a fresh process for each size of input, and read its memory out of /proc while it runs."""
    rows = []
    with Server(0.0) as server, tempfile.TemporaryDirectory() as folder:
        for number in options.lines:
            file = Path(folder) / f"{number}.jsonl"
            rows_of = (
                json.dumps({"id": f"q{n}", "question": f"What does part {n} of a cell do in its wall?"}) for n in range(number)
            )
            file.write_text("\n".join(rows_of) + "\n", encoding="utf-8")
            began = time.perf_counter()
            rows.append({"lines": number, **_watched(file, server.url, Path(folder), options)})
            rows[-1]["seconds"] = round(time.perf_counter() - began, 1)
            server.order("forget")
            progress(rows[-1])
    return {"evidence": options.evidence, "rows": rows}


def _watched(file: Path, url: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    flags = [
        "--store",
        str(folder / f"{file.stem}.lbug"),
        "--embedder",
        "lexical",
        "--teacher",
        MODEL,
        "--teacher-base-url",
        url,
    ]
    flags += ["--workers", "8", "-n", str(options.evidence), "--json"]
    command = [sys.executable, "-m", "drag_graph", "distill", str(file), *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    samples: list[float] = []
    peak = 0.0
    with (folder / "out").open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=environment)
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            found = dict(re.findall(r"^(VmRSS|VmHWM):\s+(\d+) kB", status, re.MULTILINE))
            if found:
                samples.append(int(found["VmRSS"]) / 1024)
                peak = int(found["VmHWM"]) / 1024
            time.sleep(0.1)
    assert process.returncode == 0, f"exit {process.returncode}"
    quarters = [samples[min(len(samples) * part // 4, len(samples) - 1)] for part in (1, 2, 3)]
    return {"peak_mib": round(peak), "end_mib": round(samples[-1]), "at_quarters_mib": [round(value) for value in quarters]}


# ---------------------------------------------------------------------------------------------- the plans' prompts


def plans(options: argparse.Namespace) -> dict[str, Any]:
    """Count what the server really got under each plan, with evidence of several lengths."""
    rows = []
    for name, statements in _evidence_of(options):
        row: dict[str, Any] = {"evidence": name}
        for plan in ("lean", "paper"):
            for key, value in _asked(plan, statements, options).items():
                row[f"{plan}_{key}"] = value
        row["tokens_ratio"] = round(row["lean_tokens"] / row["paper_tokens"], 3)
        row["with_schemas_ratio"] = round(row["lean_with_schemas"] / row["paper_with_schemas"], 3)
        rows.append(row)
        progress(row)
    return {"questions": options.questions.name, "rows": rows}


def _evidence_of(options: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """Yield a name and statements: of `--lengths` tokens, in words of the README; and recorded ones out of `--data`."""
    shuffled = random.Random(4)
    words = sorted(set(re.findall(r"\b[a-z]{3,9}\b", (ROOT / "README.md").read_text(encoding="utf-8"))))
    for length in options.lengths:
        statements = []
        for _ in range(400):
            text = ""
            while tokens(f"{text}.") < length:
                text = f"{text} {shuffled.choice(words)}".strip()
            statements.append(f"{text.capitalize()}.")
        yield f"{length} tokens", statements
    for name in RECORDED if options.data else ():
        file = options.data / f"{name}.jsonl"
        if not file.is_file():
            sys.exit(f"{file} is missing; give its folder by --data")
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        recorded = list(dict.fromkeys(text.strip() for row in rows for text in row["evidence_llm"] if text.strip()))
        yield f"{name}, {sum(map(tokens, recorded)) / len(recorded):.0f} tokens", recorded


def _asked(plan: str, statements: list[str], options: argparse.Namespace) -> dict[str, float]:
    from drag_graph.app.resources import Resources
    from drag_graph.testing.server import ScriptedServer

    chosen = random.Random(5)

    def evidence(request: Any) -> dict[str, Any]:
        number = re.search(r"\d+", request.body["messages"][-1]["content"])
        texts = chosen.sample(statements, int(number[0]) if number else 15)
        return {"evidence": [{"text": text, "framing": "causal"} for text in texts]}

    number = sum(1 for line in options.questions.read_text(encoding="utf-8").splitlines() if line.strip())
    with ScriptedServer() as server, tempfile.TemporaryDirectory() as folder:
        server.always("evidence", evidence)
        settings = settings_for(server.url, folder, options, workers=2, embedder="lexical", plan=plan)
        with Resources(settings).writing() as session:
            report = session.distiller().run(questions(options.questions, number, settings.namespace))
        assert report.totals()["complete"] == number, report.stopped
        prompts, asked = dict.fromkeys(STAGES, 0), set[str]()
        for request in server.requests:
            about = request.body["messages"][-1]["content"].split("\n\n")[0]
            # The relations of a question are ordered by scores, too, after its evidence.
            stage = "relations" if request.schema == "scores" and about in asked else request.schema
            asked |= {about} if stage == "scores" else set()
            prompts[stage] += _prompt_tokens(request.body)
        schemas = sum(tokens(json.dumps(request.body["response_format"])) for request in server.requests)
        calls = server.count()
    stages = {stage: round(value / number) for stage, value in prompts.items()}
    whole = sum(prompts.values())
    counts = {"calls": round(calls / number, 2), "tokens": round(whole / number)}
    return {**counts, "with_schemas": round((whole + schemas) / number), "by_stage": "+".join(map(str, stages.values()))}


def tokens(text: str) -> int:
    """Return the tokens of a text by the tokenizer that LiteLLM carries."""
    from drag_graph.models.litellm_library import load_litellm

    return len(load_litellm().encoding.encode(text))


def _prompt_tokens(body: dict[str, Any]) -> int:
    from drag_graph.models.model_catalogue import count_tokens

    return count_tokens(MODEL, body["messages"])


# ---------------------------------------------------------------------------------------------- output


def progress(row: dict[str, Any]) -> None:
    print(json.dumps(row), file=sys.stderr, flush=True)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows as a Markdown table."""
    names = list(rows[0])
    lines = [" | ".join(names), " | ".join("---" for _ in names)]
    lines += [" | ".join(str(row[name]) for name in names) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def show(document: dict[str, Any]) -> None:
    for name, value in document.items():
        print(f"\n{table(value)}" if isinstance(value, list) and value else f"{name}: {value}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    parser.add_argument("--store", default="", help="bolt:// or neo4j:// instead of embedded stores of its own")
    parser.add_argument("--questions", type=Path, default=ROOT / "examples" / "questions.jsonl")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("throughput")
    one.set_defaults(measure=throughput, server=None)
    one.add_argument("--workers", type=int, nargs="+", default=[1, 8, 32, 64])
    one.add_argument("--rounds", type=int, default=4, help="questions a worker")
    one.add_argument("--latency", type=float, default=2.0, help="seconds")
    one.add_argument("--embedders", nargs="+", default=["lexical", "minilm"])
    one.add_argument("--beyond", action="store_true", help="go on doubling until the share is below 0.9")
    two = commands.add_parser("cpu")
    two.set_defaults(measure=processor, server=None)
    two.add_argument("--workers", type=int, nargs="+", default=[1, 32])
    two.add_argument("--queries", type=int, default=32, help="in one turn")
    two.add_argument("--repeats", type=int, default=7)
    two.add_argument("--latency", type=float, default=0.0, help="seconds")
    two.add_argument("--embedders", nargs=1, default=["lexical"])
    three = commands.add_parser("memory")
    three.set_defaults(measure=memory)
    three.add_argument("--lines", type=int, nargs="+", default=[200, 2_000, 20_000])
    three.add_argument("--evidence", type=int, default=3, help="a query; few, so that it ends in minutes")
    four = commands.add_parser("plan")
    four.set_defaults(measure=plans)
    four.add_argument("--lengths", type=int, nargs="*", default=[11, 18, 34, 60], help="tokens of one evidence")
    four.add_argument("--data", type=Path, help="folder with commonsense_qa.jsonl, qasc.jsonl and csqa2.jsonl")
    return parser.parse_args()


def main() -> None:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else LiteLLM calls out when it is imported
    options = arguments()
    if not options.questions.is_file():
        sys.exit(f"{options.questions} is missing")
    document = options.measure(options)
    if options.json:
        print(json.dumps(document, indent=1))
    else:
        show(document)


if __name__ == "__main__":
    main()
