"""Requests that schemathesis makes from the schema of the service: no reply has a status 5xx or violates the schema."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from service_clients import QUESTION, filled_graph, served_client

from drag_graph.privacy import privacy_gate
from drag_graph.testing.rewriting import ToldRewriter

QUIET = {"deadline": None, "database": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    import schemathesis

    with filled_graph(tmp_path_factory.mktemp("service")) as graph, pytest.MonkeyPatch.context() as patched:
        patched.setattr(privacy_gate, "local_rewriter", lambda _level: ToldRewriter({}))
        graph.ask(QUESTION)
        with served_client(graph) as client:
            yield schemathesis.openapi.from_url(f"{client.base_url}/openapi.json")


def violations(schema, mode, examples):
    """Send examples for each operation that has parameters, and return their number of operations."""
    from schemathesis import GenerationMode, checks
    from schemathesis.specs.openapi import checks as openapi_checks

    wanted = [
        checks.not_a_server_error,
        openapi_checks.content_type_conformance,
        openapi_checks.response_schema_conformance,
        openapi_checks.status_code_conformance,
    ]
    sent = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if not (operation.body or any(True for _ in operation.iter_parameters())):
            continue

        @settings(max_examples=examples, phases=[Phase.explicit, Phase.generate], **QUIET)
        @given(case=operation.as_strategy(generation_mode=GenerationMode(mode)))
        def send(case):
            case.call_and_validate(checks=wanted)

        send()
        sent += 1
    return sent


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_no_request_breaks_the_service(schema, mode):
    assert violations(schema, mode, 3) >= 10


@pytest.mark.long
@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_no_request_of_many_breaks_the_service(schema, mode):
    assert violations(schema, mode, 40) >= 10
