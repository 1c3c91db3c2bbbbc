"""Limits of the service: sizes, times, numbers, hosts and origins; and what its log shows."""

import io
import json
import logging
import socket
import threading
import time

import pytest
from service_clients import QUESTION, events_of, filled_graph, local_client, served_client

from drag_graph import log
from drag_graph.service.limits import Limits
from drag_graph.testing.server import Say, ScriptedServer

ANSWER = "Steam drives it [1]."
SMALL = Limits(body_bytes=1_000, hosts=("graph.example",), origins=("https://app.example",))


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    with filled_graph(tmp_path_factory.mktemp("service")) as graph:
        yield graph


@pytest.fixture(scope="module")
def client(graph):
    with local_client(graph, SMALL) as client:
        yield client


@pytest.fixture
def student():
    """A student whose replies wait until `go` is set."""
    with ScriptedServer() as server:
        server.go, server.begun = threading.Event(), threading.Semaphore(0)

        def reply(_request):
            server.begun.release()
            server.go.wait(20)
            return Say(ANSWER)

        server.always("student", reply)
        yield server
        server.go.set()


@pytest.fixture
def waiting_graph(tmp_path, student):
    model = {"student": "openai/scripted", "student_base_url": student.url, "student_api_key": "x", "privacy": "off"}
    with filled_graph(tmp_path, **model) as graph:
        yield graph


def refused(reply):
    return reply.status_code, reply.json()["error"]["type"]


def test_a_large_body_is_refused(client):
    body = json.dumps({"question": "a" * 2_000})
    assert refused(client.post("/api/v1/ask", content=body)) == (413, "BodyTooLarge")
    parts = client.post("/api/v1/ask", content=iter([b'{"question": "', b"a" * 2_000, b'"}']))  # no Content-Length
    assert refused(parts) == (413, "BodyTooLarge")
    assert parts.headers["connection"] == "close"
    assert client.post("/api/v1/ask", json={"question": "a" * 900}).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8080", 200),
        ("127.0.0.1:8080", 200),
        ("[::1]", 200),
        ("Graph.Example", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost@evil.example", 421),
        ("", 421),
        ("localhost\tx", 421),
    ],
)
def test_a_request_names_this_service(client, host, status):
    assert client.get("/health", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost", 200),
        ("https://app.example", 200),
        ("https://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("http://localhost:8081", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
def test_a_request_of_another_page_is_refused(client, origin, status):
    reply = client.get("/api/v1/sources", headers={"Origin": origin})
    assert reply.status_code == status
    assert ("access-control-allow-origin" in reply.headers) == (origin == "https://app.example")


def test_a_known_page_may_ask_first(client):
    wanted = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    asked = client.options("/api/v1/ask", headers={**wanted, "Access-Control-Request-Headers": "authorization,content-type"})
    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-credentials" not in asked.headers


def lines_of(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def logged(monkeypatch):
    """The service's log as `serve` configures it."""
    handlers, level, propagate = log.LOGGER.handlers[:], log.LOGGER.level, log.LOGGER.propagate
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    log.configure("info", as_json=True)
    yield stream
    log.LOGGER.handlers[:] = handlers
    log.LOGGER.setLevel(level)
    log.LOGGER.propagate = propagate


def test_a_request_is_one_line_without_its_text(client, logged):
    secret = "dgk_very_secret"
    headers = {"Authorization": f"Bearer {secret}", "User-Agent": 'x", "status": 500, "y": "'}
    reply = client.post("/api/v1/ask", json={"question": QUESTION}, headers=headers)
    client.get("/api/v1/sources/%0a%7b%22level%22%3a1%7d?limit=quaternion", headers=headers)
    client.get("/made%0aup", headers=headers)
    asked, looked, unknown = lines_of(logged)
    assert asked["id"] == reply.headers["x-request-id"]
    assert (asked["route"], asked["status"], asked["method"]) == ("/api/v1/ask", 200, "POST")
    assert (looked["route"], looked["status"]) == ("/api/v1/sources/{source_id}", 422)
    assert (unknown["route"], unknown["status"]) == ("unmatched", 404)
    for text in (secret, "turbine", "quaternion", "made", '"y"'):
        assert text not in logged.getvalue()


def test_too_many_questions_are_refused_and_the_others_answered(waiting_graph, student):
    replies = []
    with served_client(waiting_graph, Limits(asks=1, waiting_asks=1)) as client:

        def ask():
            replies.append(client.post("/api/v1/ask", json={"question": QUESTION}))

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        student.begun.acquire(timeout=20)
        metrics = ""
        while 'asks_open{state="waiting"} 1.0' not in metrics:
            metrics = client.get("/metrics").text
        third = client.post("/api/v1/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"})
        assert refused(third) == (429, "TooManyRequests")
        assert int(third.headers["retry-after"]) > 0
        student.go.set()
        for thread in threads:
            thread.join()
    assert [reply.json()["answer"] for reply in replies] == [ANSWER, ANSWER]


def test_an_answer_has_a_time_limit(waiting_graph, student):
    with served_client(waiting_graph, Limits(answer_seconds=0.3)) as client:
        assert refused(client.post("/api/v1/ask", json={"question": QUESTION})) == (504, "AnswerTimeout")
        stream = client.post("/api/v1/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"})
        assert events_of(stream.text)[-1][0] == "error"
        student.go.set()


def test_a_client_that_leaves_stops_the_student(waiting_graph, student):
    """The student's text comes in many parts; it is not asked to the end for nobody."""
    student.go.set()
    student.always("student", lambda _request: Say(" ".join(["steam"] * 4_000), interval=0.001))
    with served_client(waiting_graph) as client:
        with client.stream(
            "POST", "/api/v1/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"}
        ) as reply:
            assert next(reply.iter_lines()) == "event: token"
        began = time.monotonic()
        while 'asks_open{state="running"} 0.0' not in client.get("/metrics").text:
            assert time.monotonic() - began < 20
        assert 'drag_graph_asks_total{mode="combined",outcome="failed"} 1.0' in client.get("/metrics").text
        student.always("student", lambda _request: Say(ANSWER))
        assert client.post("/api/v1/ask", json={"question": QUESTION}).json()["answer"] == ANSWER


def test_a_slow_request_is_ended(graph):
    with served_client(graph, Limits(receive_seconds=0.3)) as client:
        place = (client.base_url.host, client.base_url.port)
        with socket.create_connection(place, 20) as body:
            body.sendall(
                b"POST /api/v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
            )
            assert b" 408 " in body.recv(1000)
        with socket.create_connection(place, 20) as head:
            head.sendall(b"GET /health HTTP/1.1\r\nHost: loc")
            assert head.recv(1000) == b""
        with socket.create_connection(place, 20) as silent:
            assert silent.recv(1000) == b""


def test_nothing_is_logged_above_the_level(graph, caplog):
    with caplog.at_level(logging.WARNING), local_client(graph, SMALL) as client:
        client.get("/health")
    assert caplog.records == []
