"""Services over a real embedded store, and their clients."""

import contextlib
import json
import os
import subprocess
import sys

import httpx
from fastapi.testclient import TestClient

from drag_graph.app import DragGraph
from drag_graph.service.keys import KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.server import ServicePlace, served
from drag_graph.service.service_app import service_app

TEXTS = {
    "steam.txt": "Steam drives the turbine of the harbour crane.",
    "wood.txt": "Wood drives the turbine of the old mill.",
}
QUESTION = "What drives the turbine of the harbour crane?"
BASE = "http://localhost"


def filled_graph(folder, **settings):
    """Return a graph with two documents in an embedded store."""
    graph = DragGraph(folder / "graph.lbug", **{"embedder": "lexical", "student": "nearest", **settings})
    for name, text in TEXTS.items():
        graph.ingest(text=text, name=name).result()
    return graph


@contextlib.contextmanager
def served_client(graph, limits=None, **place):
    """Serve on a free port and lend a client."""
    with (
        contextlib.closing(KeyRing(graph.settings.service_records_path)) as ring,
        served(graph, ServicePlace(**{"port": 0, **place}), limits or Limits(), ring) as running,
        httpx.Client(base_url=running.address, timeout=30, trust_env=False) as client,
    ):
        yield client


@contextlib.contextmanager
def local_client(graph, limits=None, *, with_jobs=False, **values):
    """Lend a client on this machine of a service without keys and without a socket. Jobs are done only `with_jobs`."""
    with contextlib.closing(KeyRing(graph.settings.service_records_path)) as ring:
        app = service_app(graph, limits or Limits(), ring)
        jobs = app.state.jobs if with_jobs else contextlib.nullcontext()
        with jobs, TestClient(app, BASE, client=("127.0.0.1", 5), **values) as client:
            yield client
        app.state.access.close()


def events_of(text):
    """Return the events of a stream as pairs of name and data."""
    return [tuple(line.partition(": ")[2] for line in block.splitlines()) for block in text.strip().split("\n\n")]


@contextlib.contextmanager
def serving(folder, teacher, *, model, workers):
    """Start `drag-graph serve` with a scripted teacher, yield its process and address, and kill it at the end."""
    command = [sys.executable, "-m", "drag_graph", "serve", "--port", "0", "--json", "--store", str(folder / "graph.lbug")]
    flags = ["--teacher", model, "--teacher-base-url", teacher.url, "--workers", str(workers), "--privacy", "off"]
    environment = {**os.environ, "DRAG_GRAPH_TEACHER_API_KEY": "k", "DRAG_GRAPH_EMBEDDER": "lexical"}
    process = subprocess.Popen([*command, *flags], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        printed = ""
        while not printed.endswith("}\n"):
            line = process.stdout.readline()
            assert line, "the service has ended"
            printed += line
        yield process, json.loads(printed)["address"]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
