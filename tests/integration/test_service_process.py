"""`drag-graph serve`: its process, its discovery file, its end, and who may start it."""

import json
import signal
import socket
import ssl
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from service_clients import QUESTION, TEXTS, filled_graph, served_client

from drag_graph.app import DragGraph
from drag_graph.errors import ConfigurationError, StoreLocked
from drag_graph.service.discovery import RunningService, announced, running_service
from drag_graph.service.keys import KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.server import ServicePlace, bound_socket, served
from drag_graph.settings import Settings
from drag_graph.testing.server import Say, ScriptedServer

COMMAND = [
    sys.executable,
    "-m",
    "drag_graph",
    "serve",
    "--store",
    "graph.lbug",
    "--embedder",
    "lexical",
    "--port",
    "0",
    "--json",
]


@pytest.fixture
def process(tmp_path):
    """The command in a folder with a filled store, and what it printed."""
    filled_graph(tmp_path).close()
    with subprocess.Popen(COMMAND, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as service:
        printed = ""
        while not printed.endswith("}\n"):
            line = service.stdout.readline()
            assert line, service.stderr.read()
            printed += line
        yield service, json.loads(printed)
        service.kill()


def test_the_command_answers_and_ends(tmp_path, process):
    service, printed = process
    file = tmp_path / "graph.lbug.service"
    assert file.stat().st_mode & 0o777 == 0o600
    assert running_service(file).address == printed["address"]
    assert not printed["needs_key"]
    reply = httpx.post(f"{printed['address']}/api/v1/ask", json={"question": QUESTION}, timeout=60, trust_env=False)
    assert reply.json()["answer"] == TEXTS["steam.txt"]
    with pytest.raises(StoreLocked), DragGraph(tmp_path / "graph.lbug", embedder="lexical", store_timeout=0.1) as other:
        other.aggregate()
    service.send_signal(signal.SIGTERM)
    _, log = service.communicate(timeout=60)
    assert service.returncode == 0
    assert not file.exists()
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["route"] for line in lines if line["event"] == "request"] == ["/health", "/api/v1/ask"]
    assert QUESTION not in log
    with DragGraph(tmp_path / "graph.lbug", embedder="lexical") as graph:
        assert [one.question for one in graph.answers()] == [QUESTION]


def test_the_file_of_a_killed_service_is_replaced(tmp_path):
    with filled_graph(tmp_path) as graph:
        file = graph.settings.service_path
        with served_client(graph):
            left = file.read_text()
        file.write_text(left)
        file.chmod(0o600)
        assert running_service(file) is None
        with served_client(graph) as client:
            assert running_service(file).address == str(client.base_url)


def test_a_file_is_not_trusted_blindly(tmp_path):
    file = tmp_path / "x.service"
    with filled_graph(tmp_path) as graph, served_client(graph):
        content = graph.settings.service_path.read_text()
        file.write_text(content)
        file.chmod(0o600)
        assert running_service(file)
        with (
            pytest.raises(ConfigurationError, match="already running"),
            announced(file, RunningService("http://127.0.0.1:1", "x")),
        ):
            pass
        file.chmod(0o644)
        assert running_service(file) is None, "others could have read the token, or written the address"
        file.chmod(0o600)
        for other in (
            json.dumps({**json.loads(content), "token": "other"}),
            "[]",
            "{}",
            '{"address": "http://127.0.0.1:x", "token": ""}',
            "",
        ):
            file.write_text(other)
            assert running_service(file) is None
    assert running_service(tmp_path / "nothing") is None


def test_answers_finish_at_the_end(tmp_path):
    with ScriptedServer() as student:
        begun, go = threading.Event(), threading.Event()

        def reply(_request):
            begun.set()
            go.wait(20)
            return Say("Steam drives it [1].")

        student.always("student", reply)
        model = {"student": "openai/scripted", "student_base_url": student.url, "student_api_key": "x", "privacy": "off"}
        replies = []
        with filled_graph(tmp_path, **model) as graph:
            with served_client(graph) as client:
                address = client.base_url

                def ask():
                    replies.append(
                        httpx.post(f"{address}/api/v1/ask", json={"question": QUESTION}, timeout=60, trust_env=False)
                    )

                thread = threading.Thread(target=ask)
                thread.start()
                assert begun.wait(20)
                threading.Timer(0.3, go.set).start()
            thread.join()
            assert replies[0].json()["answer"] == "Steam drives it [1]."
            assert not graph.settings.service_path.exists()
            with pytest.raises(httpx.ConnectError):
                httpx.get(f"{address}/health", trust_env=False)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({"host": "0.0.0.0"}, "requires keys"),
        ({"is_behind_proxy": True}, "requires keys"),
        ({"certificate": Path("a.pem")}, "certificate and its key"),
        ({"certificate": Path("a.pem"), "key": Path("b.pem")}, r"no file a\.pem"),
    ],
)
def test_strangers_are_kept_out(tmp_path, tmp_path_factory, place, message):
    with (
        DragGraph(tmp_path / "graph.lbug") as graph,
        closing(KeyRing(tmp_path_factory.mktemp("keys") / "records")) as ring,
        pytest.raises(ConfigurationError, match=message) as raised,
        served(graph, ServicePlace(port=0, **place), Limits(), ring),
    ):
        pass
    assert raised.value.hint
    assert not list(tmp_path.iterdir()), "refused before the store is opened"


def test_a_service_for_others_has_keys_and_tls(tmp_path):
    """Commands on this machine use a second address and the token of the file."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert]
    subprocess.run(made, check=True, capture_output=True)
    with filled_graph(tmp_path) as graph, closing(KeyRing(graph.settings.service_records_path)) as ring:
        secret, _ = ring.add("boss", "admin", ["default"])
        place = ServicePlace("0.0.0.0", 0, cert, key)
        with (
            served(graph, place, Limits(), ring) as running,
            httpx.Client(verify=ssl.create_default_context(cafile=cert), trust_env=False) as client,
        ):
            address = running.address.replace("0.0.0.0", "127.0.0.1")
            assert address.startswith("https://")
            assert client.get(f"{address}/api/v1/sources").status_code == 401
            client.headers["Authorization"] = f"Bearer {secret}"
            assert client.get(f"{address}/api/v1/sources").status_code == 200
            local = running_service(graph.settings.service_path)
            body = {"statement": "RETURN 1"}
            assert client.post(f"{address}/api/v1/query", json=body).status_code == 403
            client.headers["Authorization"] = f"Bearer {local.token}"
            assert client.post(f"{local.address}/api/v1/query", json=body).json()["rows"] == [[1]]


def test_replies_are_not_delayed():
    """Without TCP_NODELAY a reply in two parts waits for the client, 40 ms on Linux."""
    with bound_socket("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_keys_do_not_cross_a_network_in_clear():
    with pytest.raises(ConfigurationError, match="unencrypted"):
        ServicePlace("0.0.0.0").check(has_keys=True)
    ServicePlace("0.0.0.0", is_behind_proxy=True).check(has_keys=True)
    ServicePlace("::1").check(has_keys=False)


def test_a_port_in_use_is_named(tmp_path):
    with (
        filled_graph(tmp_path) as graph,
        served_client(graph) as client,
        DragGraph(tmp_path / "other.lbug") as other,
        pytest.raises(ConfigurationError, match="Cannot listen"),
        served_client(other, port=client.base_url.port),
    ):
        pass


def test_the_file_for_neo4j_is_named_by_address_database_and_namespace():
    chosen = ({"namespace": "a"}, {"namespace": "b"}, {"namespace": "a", "neo4j_database": "other"})
    files = [Settings(store="bolt://graph.example:7687", **values).service_path for values in chosen]
    assert {file.parent for file in files} == {Path(".drag-graph")}
    assert len({*files}) == 3
