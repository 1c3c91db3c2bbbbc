"""Figures of the service under load: throughput, memory, idle clients. Run it on an idle machine.

    python bench/service.py throughput [--clients 16] [--seconds 30]
    python bench/service.py memory [--asks 10000]
    python bench/service.py idle [--clients 500] [--seconds 60]
    python bench/service.py overhead [--asks 500]
    python bench/service.py question --store FILE.lbug --file QUESTIONS.jsonl

`serve` runs in a process of its own, over the documents of bench/data/mixed, with the student `nearest` and the embedder
`lexical`. `throughput` compares clients with as many threads on `DragGraph.ask`; meanwhile a load generator that asks nobody
uses as much of the processor as the clients do, so that both have the same share. `memory` prints the resident memory after a
tenth of the questions and after all, and `idle` before, during and after open connections, with the time of a question.
`overhead` asks each question over HTTP and with `DragGraph.ask` in turn, and prints the median of the differences. `question`
asks those of bench/question_files.py in this process, of a store with MiniLM, and prints the median time after the first ten.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from drag_graph import DragGraph

DATA = Path(__file__).parent / "data" / "mixed"
QUESTIONS = [json.loads(line)["question"] for line in (DATA / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
SETTINGS = {"embedder": "lexical", "student": "nearest", "privacy": "off"}
FLAGS = [part for name, value in SETTINGS.items() for part in (f"--{name}", value)]
PAGE = os.sysconf("SC_PAGE_SIZE")


@contextmanager
def service(store: Path) -> Iterator[tuple[int, str]]:
    """Run `drag-graph serve`, and lend its process id and its host and port."""
    command = [sys.executable, "-m", "drag_graph", "serve", "--store", str(store), "--port", "0", "--json", *FLAGS]
    with subprocess.Popen(command, cwd=store.parent, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        printed = ""
        while not printed.endswith("}\n"):
            printed += process.stdout.readline()
        try:
            yield process.pid, urlsplit(json.loads(printed)["address"]).netloc
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def client(place: str) -> Callable[[str], None]:
    """Return a function that asks a question over a connection that stays open. The service keeps no answer."""
    connection = HTTPConnection(place, timeout=330)

    def ask(question: str) -> None:
        body = json.dumps({"question": question, "keep": False})
        connection.request("POST", "/api/v1/ask", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        content = reply.read()
        assert reply.status == 200, content

    return ask


def rate(askers: list[Callable[[str], None]], seconds: float) -> float:
    """Return the number of answers per second if all ask at the same time."""
    counts = [0] * len(askers)
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        while time.monotonic() < end:
            askers[number](QUESTIONS[(number + counts[number]) % len(QUESTIONS)])
            counts[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(askers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


@contextmanager
def busy(share: float) -> Iterator[None]:
    """Use a share of one processor in a process of its own."""
    code = (
        "import sys, time\nshare = float(sys.argv[1])\n"
        "while True:\n    end = time.process_time() + share / 100\n    while time.process_time() < end: pass\n"
        "    time.sleep((1 - share) / 100)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(min(share, 1.0))]) as process:
        yield
        process.kill()


def throughput(store: Path, clients: int, seconds: float) -> None:
    """Print the answers per second of clients and of threads, and their ratio."""
    with service(store) as (_, place):
        began = time.process_time()
        served = rate([client(place) for _ in range(clients)], seconds)
        share = (time.process_time() - began) / seconds
    with DragGraph(store, **SETTINGS) as graph, graph.store.held(), busy(share):
        alone = rate([lambda question: graph.ask(question, keep=False)] * clients, seconds)
    print(f"{clients} clients {served:.1f}/s, threads {alone:.1f}/s, ratio {served / alone:.2f}; clients used {share:.2f} CPU")


def memory(store: Path, asks: int) -> None:
    """Print how the resident memory of the service grows between a tenth of the questions and all of them."""
    with service(store) as (pid, place):
        ask, sizes = client(place), list[float]()
        for number in range(1, asks + 1):
            ask(QUESTIONS[number % len(QUESTIONS)])
            if number in {asks // 10, asks}:
                sizes.append(resident(pid))
    print(f"{sizes[0]:.1f} MB after {asks // 10}, {sizes[1]:.1f} MB after {asks}: {sizes[1] / sizes[0] - 1:+.1%}")


def idle(store: Path, clients: int, seconds: float) -> None:
    """Print memory and the median time of a question before, during and after idle connections."""
    with service(store) as (pid, place):
        ask = client(place)
        for question in QUESTIONS:
            ask(question)
        print("before", facts(pid, ask))
        host, _, port = place.rpartition(":")
        with ExitStack() as opened:
            connections = [opened.enter_context(socket.create_connection((host, int(port)))) for _ in range(clients)]
            for one in connections:  # a request, after which the connection stays open
                one.sendall(f"GET /health HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
                one.recv(4096)
            print("with idle clients", facts(pid, ask))
            time.sleep(seconds)
            print(f"after {seconds:g} s", facts(pid, ask))
        time.sleep(1)
        print("when they have left", facts(pid, ask))


def overhead(store: Path, asks: int) -> None:
    """Print how much longer a question takes over HTTP than without, with an interval of 95 % for the median."""
    times = list[tuple[float, float]]()
    copy = shutil.copy(store, store.with_name("copy.lbug"))  # the service has locked the other one
    with service(store) as (_, place), DragGraph(copy, **SETTINGS) as graph, graph.store.held():
        ask = client(place)
        for number in range(asks + len(QUESTIONS)):
            question, began = QUESTIONS[number % len(QUESTIONS)], time.perf_counter()
            ask(question)
            between = time.perf_counter()
            graph.ask(question, keep=False)
            times.append((between - began, time.perf_counter() - between))
    times = times[len(QUESTIONS) :]
    extra = sorted((first - second) * 1000 for first, second in times)
    around = 0.98 * asks**0.5  # ranks of the median's interval
    low, high = extra[round(asks / 2 - around)], extra[round(asks / 2 + around)]
    over_http, alone = (statistics.median(column) * 1000 for column in zip(*times, strict=True))
    print(f"{over_http:.1f} ms over HTTP, {alone:.1f} ms without")
    print(f"difference {statistics.median(extra):.1f} ms ({low:.1f} to {high:.1f})")


def question(store: Path, file: Path) -> None:
    """Print the median time of a question in a process that has answered ten."""
    times = []
    with DragGraph(store, **SETTINGS | {"embedder": "minilm"}) as graph, graph.store.held():
        for line in file.read_text(encoding="utf-8").splitlines():
            began, spent = time.perf_counter(), time.process_time()
            graph.ask(json.loads(line)["question"], keep=False)
            times.append((time.perf_counter() - began, time.process_time() - spent))
    elapsed, processor = (1000 * statistics.median(column) for column in zip(*times[10:], strict=True))
    print(f"{elapsed:.0f} ms, {processor:.0f} ms of processor time")


def facts(pid: int, ask: Callable[[str], None]) -> str:
    """Return the memory of the service and the median time of its answers."""
    times = []
    for question in QUESTIONS:
        began = time.perf_counter()
        ask(question)
        times.append(time.perf_counter() - began)
    return f"{resident(pid):.1f} MB, {statistics.median(times) * 1000:.1f} ms"


def resident(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1e6


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("throughput", "memory", "idle", "overhead", "question"))
    parser.add_argument("--clients", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--asks", type=int)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--file", type=Path)
    args = parser.parse_args()
    if args.what == "question":
        question(args.store, args.file)
        return
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "graph.lbug"
        with DragGraph(store, **SETTINGS) as graph:
            graph.ingest(DATA / "files").result()
        if args.what == "throughput":
            throughput(store, args.clients or 16, args.seconds or 30)
        elif args.what == "memory":
            memory(store, args.asks or 10_000)
        elif args.what == "overhead":
            overhead(store, args.asks or 500)
        else:
            idle(store, args.clients or 500, args.seconds or 60)


if __name__ == "__main__":
    main()
