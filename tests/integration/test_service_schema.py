"""Requests that schemathesis makes from the schema of the service: no reply has a status 5xx or violates the schema."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance
from service_clients import QUESTION, filled_graph, served_client

from drag_graph.privacy import gate_opening
from drag_graph.testing.rewriting import ToldRewriter

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
QUIET = {"deadline": None, "database": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    with filled_graph(tmp_path_factory.mktemp("service")) as graph, pytest.MonkeyPatch.context() as patched:
        patched.setattr(gate_opening, "local_rewriter", lambda _level: ToldRewriter({}))
        graph.ask(QUESTION)
        with served_client(graph) as client:
            yield schemathesis.openapi.from_url(f"{client.base_url}/openapi.json")


def violations(schema, mode, examples):
    """Send examples for each operation that has parameters, and return their number of operations."""
    sent = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if not (operation.body or any(True for _ in operation.iter_parameters())):
            continue

        @settings(max_examples=examples, phases=[Phase.explicit, Phase.generate], **QUIET)
        @given(case=operation.as_strategy(generation_mode=mode))
        def send(case):
            case.call_and_validate(checks=CHECKS)

        send()
        sent += 1
    return sent


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_no_request_breaks_the_service(schema, mode):
    assert violations(schema, mode, 3) >= 10


@pytest.mark.long
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_no_request_of_many_breaks_the_service(schema, mode):
    assert violations(schema, mode, 40) >= 10
