"""Each route of the service, over a real embedded store."""

import asyncio
import json
import time
from types import SimpleNamespace

import pytest
from service_clients import QUESTION, TEXTS, events_of, filled_graph, local_client, served_client

from drag_graph import errors
from drag_graph.errors import StoreUnavailable
from drag_graph.privacy import privacy_gate
from drag_graph.service import monitoring_routes
from drag_graph.service.errors import STATUSES, body_of, status_of
from drag_graph.service.service_state import ServiceState
from drag_graph.testing.rewriting import ToldRewriter


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    with filled_graph(tmp_path_factory.mktemp("service")) as graph:
        yield graph


@pytest.fixture(scope="module")
def client(graph):
    with local_client(graph) as client:
        yield client


@pytest.fixture(scope="module")
def answer(client):
    return client.post("/api/v1/ask", json={"question": QUESTION}).json()


def same(document, *changing):
    return {name: value for name, value in document.items() if name not in {"answer_id", "latency_ms", *changing}}


def test_an_answer_is_that_of_the_application(client, graph, answer):
    assert answer["answer"] == TEXTS["steam.txt"]
    assert same(answer) == same(graph.ask(QUESTION).to_dict())


def test_settings_and_restrictions_reach_the_application(client, graph):
    wanted = {"mode": "evidence", "max_lines": 1, "sources": ["wood*"], "relevance": 0.1, "keep": False}
    reply = client.post("/api/v1/ask", json={"question": QUESTION, "explain": True, **wanted}).json()
    assert reply["mode"] == "evidence"
    assert same(reply) == same(graph.ask(QUESTION, **wanted).to_dict(explain=True))
    assert reply["answer_id"] is None


def test_a_stored_question_is_asked_by_its_id(client, graph):
    with pytest.raises(errors.NotStored) as raised:
        graph.ask(query_id="abcd")
    reply = client.post("/api/v1/ask", json={"query_id": "abcd"})
    assert (reply.status_code, reply.json()["error"]["message"]) == (404, str(raised.value))


def test_a_streamed_answer_ends_with_the_same_document(client, answer):
    reply = client.post("/api/v1/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"})
    assert reply.headers["content-type"].startswith("text/event-stream")
    (*tokens, last) = events_of(reply.text)
    assert {name for name, _ in tokens} == {"token"}
    assert "".join(json.loads(data)["text"] for _, data in tokens) == answer["answer"]
    assert last[0] == "answer"
    assert same(json.loads(last[1])) == same(answer)


def test_a_stream_ends_with_the_error(client):
    reply = client.post("/api/v1/ask", json={"query_id": "abcd"}, headers={"Accept": "text/event-stream"})
    ((name, data),) = events_of(reply.text)
    assert (name, json.loads(data)["error"]["type"]) == ("error", "NotStored")


def test_search(client, graph):
    body = {"text": "turbine", "limit": 1, "sources": ["*.txt"], "token_budget": 100}
    assert client.post("/api/v1/search", json=body).json() == graph.search(**body).to_dict()


def test_sources(client, graph):
    reply = client.get("/api/v1/sources", params={"limit": 1, "offset": 1})
    assert reply.json() == graph.show(limit=1, offset=1).to_dict()
    assert reply.headers["x-total-count"] == "2"
    (listed,) = reply.json()
    assert client.get(f"/api/v1/sources/{listed['id'][:8]}").json() == listed
    assert client.get(f"/api/v1/sources/{listed['id']}/subgraph").json() == graph.show(listed["id"]).to_dict()
    page = client.get(f"/api/v1/sources/{listed['id']}/subgraph", params={"format": "html"})
    assert page.headers["content-type"].startswith("text/html")


def test_answers_and_their_audits(client, graph, answer):
    id_ = answer["answer_id"]
    stored = client.get(f"/api/v1/answers/{id_[:8]}").json()
    assert stored in client.get("/api/v1/answers").json()
    assert stored == graph.answer(id_).to_dict()
    assert stored["question"] == QUESTION
    audit = graph.audit(id_)
    assert client.get(f"/api/v1/answers/{id_}/audit").json() == audit.to_dict()
    assert client.get(f"/api/v1/answers/{id_}/audit?format=prov").json() == audit.to_prov()
    assert client.get(f"/api/v1/answers/{id_}/audit?format=html").text.startswith("<!DOCTYPE html>")


def test_communities(client, graph):
    assert client.get("/api/v1/communities").json() == graph.stored_communities().to_dict()


def test_privacy_check(client, graph, monkeypatch):
    monkeypatch.setattr(privacy_gate, "local_rewriter", lambda _level: ToldRewriter({"harbour": ("PLACE", "a place")}))
    checked = client.post("/api/v1/privacy/check", json={"questions": [QUESTION]})
    assert checked.json() == graph.privacy.check([QUESTION]).to_dict()
    assert checked.json()["queries"][0]["outgoing"] == "What drives the turbine of the a place crane?"


def test_cypher(client, graph):
    body = {"statement": "MATCH (s:Source) RETURN s.name ORDER BY s.name", "limit": 1, "timeout": 5}
    found = client.post("/api/v1/query", json=body)
    assert found.json() == graph.store.query(**body).to_dict()
    assert found.json() == {"columns": ["s.name"], "rows": [["steam.txt"]], "truncated": True}
    for statement in ("MATCH (s:Source) SET s.name = 'x'", "RETURN 1; MATCH (s:Source) DETACH DELETE s", "CALL threads=1"):
        refused = client.post("/api/v1/query", json={"statement": statement})
        assert (refused.status_code, refused.json()["error"]["type"]) == (422, "ConfigurationError")
    assert client.post("/api/v1/query", json={**body, "parameters": {}}).status_code == 422


def test_erasing_a_source(tmp_path):
    with filled_graph(tmp_path) as graph, local_client(graph) as client:
        id_ = client.get("/api/v1/sources").json()[0]["id"]
        assert client.delete(f"/api/v1/sources/{id_[:8]}").status_code == 422, "only a whole id erases"
        assert client.delete(f"/api/v1/sources/{id_}").json()["erased"]["Document"] == 1
        assert client.get(f"/api/v1/sources/{id_}").status_code == 404
        assert client.delete(f"/api/v1/sources/{id_}").status_code == 404
        assert len(client.get("/api/v1/sources").json()) == 1


def test_metrics_count_answers_by_outcome(graph):
    with served_client(graph) as client:
        client.post("/api/v1/ask", json={"question": QUESTION})
        client.post("/api/v1/ask", json={"question": "Zyx?", "mode": "graph"})
        client.post("/api/v1/ask", json={"query_id": "abcd"})
        text = client.get("/metrics").text
    assert 'drag_graph_asks_total{mode="combined",outcome="answered"} 1.0' in text
    assert 'drag_graph_asks_total{mode="graph",outcome="nothing stored"} 1.0' in text
    assert 'drag_graph_asks_total{mode="combined",outcome="failed"} 1.0' in text
    assert 'drag_graph_requests_total{method="POST",route="/api/v1/ask",status="404"} 1.0' in text
    assert "drag_graph_store_bytes 0.0" not in text
    assert "drag_graph_jobs_cost_usd 0.0" in text
    assert QUESTION not in text


def test_it_is_ready_only_if_neo4j_replies(monkeypatch):
    begun = []

    def never(*_args, **_options):
        begun.append(1)
        time.sleep(0.5)

    def away(*_args, **_options):
        raise StoreUnavailable("Neo4j does not answer.", hint="")

    def state(query):
        graph = SimpleNamespace(settings=SimpleNamespace(uses_neo4j=True), store=SimpleNamespace(query=query))
        return ServiceState(graph, None, None, None)

    async def twice(one):
        return [await monitoring_routes.store_replies(one) for _ in range(2)]

    monkeypatch.setattr(monitoring_routes, "PATIENCE", 0.1)
    assert asyncio.run(twice(state(lambda *_args, **_options: None))) == [True, True]
    assert asyncio.run(twice(state(away))) == [False, False]
    assert asyncio.run(twice(state(never))) == [False, False]
    assert len(begun) == 1


def test_a_service_of_its_own_has_metrics_of_its_own(client):
    assert 'status="418"' not in client.get("/metrics").text
    assert client.get("/health").json()["status"] == "ok"
    assert client.get("/ready").json() == {"status": "ready"}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind"),
    [
        ("GET", "/api/v1/nothing", None, 404, "HTTPError"),
        ("PUT", "/api/v1/ask", None, 405, "HTTPError"),
        ("GET", "/docs", None, 404, "HTTPError"),
        ("POST", "/api/v1/ask", {}, 422, "ConfigurationError"),
        ("POST", "/api/v1/ask", {"question": 7}, 422, "RequestInvalid"),
        ("POST", "/api/v1/ask", {"question": "a?", "student": "gguf:/etc/passwd"}, 422, "RequestInvalid"),
        ("POST", "/api/v1/ask", {"question": "\ud800"}, 422, "RequestInvalid"),
        ("POST", "/api/v1/search", {"text": "a", "since": "yesterday"}, 422, "ConfigurationError"),
        ("GET", "/api/v1/answers/abcd", None, 404, "NotStored"),
        ("GET", "/api/v1/answers/abcd/audit", None, 404, "NotStored"),
        ("GET", "/api/v1/answers/..%2f..%2fgraph.json/audit", None, 404, "HTTPError"),
        ("GET", "/api/v1/answers/answers.json/audit", None, 422, "RequestInvalid"),
        ("GET", "/api/v1/sources/%0aabcd", None, 422, "RequestInvalid"),
        ("GET", "/api/v1/sources/' OR 1=1", None, 422, "RequestInvalid"),
        ("GET", "/api/v1/sources?limit=0", None, 422, "RequestInvalid"),
    ],
)
def test_errors_have_one_shape(client, method, path, body, status, kind):
    content = None if body is None else json.dumps(body)
    reply = client.request(method, path, content=content, headers={"Content-Type": "application/json"})
    assert reply.status_code == status
    assert reply.json().keys() == {"error"}
    assert reply.json()["error"].keys() == {"type", "message", "hint"}
    assert reply.json()["error"]["type"] == kind
    assert reply.headers["x-request-id"]


def test_an_invalid_value_is_not_repeated(client):
    reply = client.post("/api/v1/ask", json={"question": ["secret question"]})
    assert "secret" not in reply.text


def tree(kind):
    return {kind}.union(*(tree(child) for child in kind.__subclasses__()))


def test_every_error_has_a_status():
    assert set(STATUSES) <= tree(errors.DragGraphError)
    for kind in tree(errors.DragGraphError):
        assert 400 <= status_of(kind("x")) < 600
    assert status_of(errors.InputError("x")) == status_of(errors.ConfigurationError("x")) == 422


def test_an_unexpected_error_shows_nothing(graph, caplog):
    with local_client(graph) as client:

        @client.app.get("/broken")
        async def broken():
            raise RuntimeError(QUESTION)

        reply = client.get("/broken")
    assert reply.status_code == 500
    assert reply.json() == body_of(RuntimeError("anything"))
    assert QUESTION not in reply.text + caplog.text
