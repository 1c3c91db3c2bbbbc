"""Every route of the service, with every role, in the key's namespace and in another one.

The table below has a rule for each route. A route without a rule fails: whoever adds one decides who may call it.
"""

import re
from contextlib import closing

import pytest
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient

from drag_graph.app import DragGraph
from drag_graph.service.keys import ROLES, KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.service_app import service_app

API = "/api/v1"
HERE = "http://127.0.0.1"
OPEN = {"/health", "/ready", "/openapi.json", "/static/{name:path}", "/sign-in", "/sign-out"}
"""Paths that need no key; they have nothing of the store."""
RULES = {
    ("GET", "/metrics"): "admin",
    ("POST", "/mcp"): "reader",
    ("POST", f"{API}/ask"): "reader",
    ("POST", f"{API}/search"): "reader",
    ("POST", "/v1/chat/completions"): "reader",
    ("GET", "/v1/models"): "reader",
    ("GET", "/v1/models/{name}"): "reader",
    ("GET", f"{API}/sources"): "reader",
    ("GET", f"{API}/sources/{{source_id}}"): "reader",
    ("DELETE", f"{API}/sources/{{source_id}}"): "admin",
    ("GET", f"{API}/sources/{{source_id}}/subgraph"): "reader",
    ("GET", f"{API}/answers"): "reader",
    ("GET", f"{API}/answers/{{answer_id}}"): "reader",
    ("GET", f"{API}/answers/{{answer_id}}/audit"): "reader",
    ("GET", f"{API}/communities"): "reader",
    ("POST", f"{API}/corrections"): "editor",
    ("GET", f"{API}/corrections"): "reader",
    ("GET", f"{API}/merges"): "reader",
    ("POST", f"{API}/merges"): "editor",
    ("POST", f"{API}/merges/{{merge_id}}/undo"): "editor",
    ("POST", f"{API}/merges/{{merge_id}}/redo"): "editor",
    ("GET", f"{API}/graph"): "reader",
    ("POST", f"{API}/privacy/check"): "reader",
    ("POST", f"{API}/query"): "admin",
    ("GET", f"{API}/privacy/sent"): "admin",
    ("POST", f"{API}/jobs/distill"): "editor",
    ("POST", f"{API}/jobs/distill/estimate"): "editor",
    ("POST", f"{API}/jobs/ingest"): "editor",
    ("POST", f"{API}/jobs/link"): "editor",
    ("POST", f"{API}/jobs/refresh"): "editor",
    ("POST", f"{API}/jobs/export"): "editor",
    ("GET", f"{API}/jobs"): "reader",
    ("GET", f"{API}/jobs/{{job_id}}"): "reader",
    ("GET", f"{API}/jobs/{{job_id}}/events"): "reader",
    ("POST", f"{API}/jobs/{{job_id}}/cancel"): "editor",
    ("GET", f"{API}/jobs/{{job_id}}/result"): "reader",
    ("GET", "/"): "reader",
    ("POST", "/ask"): "reader",
    ("GET", "/answers"): "reader",
    ("GET", "/answers/{answer_id}"): "reader",
    ("POST", "/{place}/{id_}/correct"): "editor",
    ("GET", "/privacy"): "reader",
    ("POST", "/privacy"): "reader",
    ("GET", "/sources"): "reader",
    ("GET", "/sources/{source_id}"): "reader",
    ("POST", "/sources/add"): "editor",
    ("GET", "/sources/{source_id}/erase"): "admin",
    ("POST", "/sources/{source_id}/erase"): "admin",
    ("GET", "/graph"): "reader",
    ("POST", "/graph/merges"): "editor",
    ("GET", "/jobs"): "reader",
    ("GET", "/jobs/{job_id}"): "reader",
    ("POST", "/jobs/{job_id}/cancel"): "editor",
    ("GET", "/distill"): "editor",
    ("POST", "/distill"): "editor",
}
"""The lowest role that may call a route."""
BODIES = {
    f"{API}/ask": {"question": "Why do tides rise?"},
    f"{API}/search": {"text": "tides"},
    "/v1/chat/completions": {"model": "drag-graph", "messages": [{"role": "user", "content": "Why do tides rise?"}]},
    f"{API}/privacy/check": {"questions": ["Why?"]},
    f"{API}/query": {"statement": "RETURN 1"},
    f"{API}/jobs/distill": {"questions": []},
    f"{API}/jobs/distill/estimate": {"questions": []},
    f"{API}/jobs/refresh": {},
    f"{API}/jobs/export": {"full": True, "format": "subgraphs"},
}
SECRET = "Only the alpha project knows that copper conducts heat."


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service over a real store with the namespaces `alpha`, `beta` and its own, and a key for each role in `alpha`."""
    folder = tmp_path_factory.mktemp("service")
    with (
        DragGraph(folder / "graph.lbug", embedder="lexical", privacy="off") as graph,
        closing(KeyRing(graph.settings.service_records_path)) as ring,
    ):
        graph.in_namespace("alpha").ingest(text=SECRET, name="secret").result()
        graph.in_namespace("beta").ingest(text="Beta has something else.", name="other").result()
        keys = {role: ring.add(role, role, ["alpha"])[0] for role in ROLES}
        keys["beta"] = ring.add("beta", "admin", ["beta"])[0]
        app = service_app(graph, Limits(), ring, local_token="token of this machine")
        with app.state.jobs, TestClient(app, HERE, raise_server_exceptions=False) as client:
            yield client, keys, ring
        app.state.access.close()


def call(service, method, path, key="", namespace="", **values):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    headers |= {"X-Namespace": namespace} if namespace else {}
    json = {"json": BODIES[path]} if path in BODIES else {}
    return service[0].request(*call_of((method, path)), headers=headers, **json, **values)


def routes(app):
    return sorted((method, route.path) for route in iter_route_contexts(app.routes) for method in route.methods)


def test_every_route_has_a_rule(service):
    assert {(method, path) for method, path in routes(service[0].app) if path not in OPEN} == RULES.keys()


@pytest.mark.parametrize("rule", RULES, ids=" ".join)
def test_who_may_call_it(service, rule):
    _, keys, _ = service
    for role in ROLES:
        own = call(service, *rule, keys[role], "alpha")
        if ROLES.index(role) < ROLES.index(RULES[rule]):
            assert (own.status_code, own.json()["error"]["type"]) == (403, "RoleTooLow")
            assert call(service, *rule, keys[role], "beta").status_code == 403
            continue
        assert own.status_code not in {401, 500}, own.text
        assert "RoleTooLow" not in own.text
        others = [call(service, *rule, keys[role], namespace) for namespace in ("beta", "nowhere", "")]
        assert {reply.status_code for reply in others} == {404}
        messages = [reply.json()["error"]["message"] for reply in others]
        for message, name in zip(messages, ("beta", "nowhere", "default"), strict=True):
            assert message.startswith(f"There is no namespace {name!r}.")


@pytest.mark.parametrize("rule", RULES, ids=" ".join)
def test_nobody_calls_it_without_a_valid_key(service, rule):
    client, keys, ring = service
    if ring.key("gone") is None:
        keys["gone"] = ring.add("gone", "admin", ["alpha"])[0]
        ring.revoke("gone")
    wrong = [call(service, *rule, key, "alpha") for key in ("", "wrong", keys["gone"], keys["admin"][:-1], "token of this")]
    assert {(reply.status_code, reply.text, reply.headers["www-authenticate"]) for reply in wrong} == {
        (401, wrong[0].text, "Bearer")
    }
    basic = client.request(*call_of(rule), headers={"Authorization": f"Basic {keys['admin']}"})
    assert basic.status_code in {401, 422}


def call_of(rule):
    return rule[0], re.sub(r"\{\w+\}", "0" * 32, rule[1])


def test_ids_of_another_namespace_look_as_if_they_did_not_exist(service):
    client, keys, _ = service
    alpha = {"Authorization": f"Bearer {keys['admin']}", "X-Namespace": "alpha"}
    beta = {"Authorization": f"Bearer {keys['beta']}", "X-Namespace": "beta"}
    (source,) = client.get(f"{API}/sources", headers=alpha).json()
    answer = client.post(f"{API}/ask", json={"question": "What conducts heat?"}, headers=alpha).json()["answer_id"]
    for path in (f"sources/{source['id']}", f"sources/{source['id']}/subgraph", f"answers/{answer}", f"answers/{answer}/audit"):
        assert client.get(f"{API}/{path}", headers=alpha).status_code == 200
        existing = client.get(f"{API}/{path}", headers=beta)
        missing = client.get(f"{API}/{path}".replace(source["id"], "f" * 32).replace(answer, "f" * 32), headers=beta)
        assert existing.status_code == missing.status_code == 404
        assert existing.text.replace(source["id"], "f" * 32).replace(answer, "f" * 32) == missing.text
    assert client.delete(f"{API}/sources/{source['id']}", headers=beta).status_code == 404
    assert client.get(f"{API}/sources/{source['id']}", headers=alpha).status_code == 200
    found = client.post(f"{API}/search", json={"text": "copper conducts heat"}, headers=beta)
    assert "alpha project" not in found.text


def test_the_token_of_this_machine_opens_every_namespace(service):
    assert call(service, "GET", f"{API}/sources", "token of this machine", "beta").status_code == 200
    assert call(service, "DELETE", f"{API}/sources/{{source_id}}", "token of this machine").status_code == 404


def test_without_keys_only_this_machine_is_open_and_the_first_key_closes_it(tmp_path):
    with (
        DragGraph(tmp_path / "graph.lbug", embedder="lexical", privacy="off", namespace="grün") as graph,
        closing(KeyRing(tmp_path / "records")) as ring,
    ):
        app = service_app(graph, Limits(), ring)
        graph.store.migrate()
        path = f"{API}/sources"
        here, elsewhere = TestClient(app, HERE, client=("127.0.0.1", 5)), TestClient(app, HERE, client=("192.0.2.1", 5))
        assert [client.get(path).status_code for client in (here, elsewhere)] == [200, 401]
        key = {"Authorization": f"Bearer {ring.add('a', 'reader', ['grün'])[0]}"}
        assert here.get(path).status_code == 401
        assert elsewhere.get(path, headers={**key, "X-Namespace": "grün".encode()}).status_code == 200
        ring.revoke("a")
        assert [client.get(path, headers=key).status_code for client in (here, elsewhere)] == [401, 401]
        app.state.access.close()
