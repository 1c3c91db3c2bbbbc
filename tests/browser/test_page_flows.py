"""Tasks on the pages in a real Chromium: each pair of task, width, colour scheme and input device occurs."""

from contextlib import ExitStack
from itertools import combinations, product

import pytest
from neo4j_browser import chromium, page_in
from page_checks import barriers_of, messages_of
from page_devices import Keyboard, Mouse
from page_flows import FLOWS, correct, merge, search, sign_in, why, write_facts
from service_clients import served_client

from drag_graph import DragGraph
from drag_graph.errors import ReplyError
from drag_graph.inputs import make_query
from drag_graph.ledger import Ledger
from drag_graph.ledger.tape import Attempt
from drag_graph.ports.model_roles import TeacherRequest
from drag_graph.ports.teacher_replies import EvidenceReply

pytestmark = pytest.mark.browser
WIDTHS = (400, 1100, 2560)
SCHEMES = ("light", "dark")
DEVICES = (Mouse, Keyboard)
TABLE = [
    (flow, width, SCHEMES[(row + column) % 2], DEVICES[(row // 2 + (column + 1) // 2) % 2])
    for row, flow in enumerate(FLOWS)
    for column, width in enumerate(WIDTHS)
]
REFUSED = "Failed to load resource: the server responded with a status of 40"


@pytest.fixture(scope="module")
def services(tmp_path_factory):
    """The graphs and addresses of two services. In the second, flows may add keys."""
    found = []
    with ExitStack() as stack:
        for name in ("open", "keyed"):
            folder = tmp_path_factory.mktemp(name)
            write_facts(folder / "facts.jsonl")
            settings = {"embedder": "lexical", "student": "nearest", "teacher": f"curated:{folder / 'facts.jsonl'}"}
            graph = stack.enter_context(DragGraph(folder / "graph.lbug", privacy="standard", **settings))
            found.append((graph, str(stack.enter_context(served_client(graph)).base_url)))
        record_call(found[0][0])
        yield found


def record_call(graph):
    """Record a call that left this machine."""
    attempt = Attempt([], {}, "", tokens_in=1234, tokens_out=5, cost_usd=0.25, created_at="2026-01-02T03:04:05+00:00")
    request = TeacherRequest(make_query("Is this private?"), "evidence", EvidenceReply, (), "v1")
    with Ledger(graph.settings.ledger_path) as ledger:
        ledger.tape.quarantine("gpt-4o-mini", request, ReplyError("no"), [attempt])


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


def name_of(value):
    return getattr(value, "__name__", str(value)).lower()


def test_every_pair_occurs():
    for one, other in combinations(range(4), 2):
        factors = FLOWS, WIDTHS, SCHEMES, DEVICES
        assert {(row[one], row[other]) for row in TABLE} == {*product(factors[one], factors[other])}


def run(services, browser, flow, device, name, *, width=WIDTHS[1], **values):
    """Run a flow in its own namespace, and return the barriers of its last page."""
    graph, address = services[flow is sign_in]
    values["extra_http_headers"] = {} if flow is sign_in else {"X-Namespace": name}
    with graph.in_namespace(name) as own, page_in(browser, width, base_url=address, **values) as page:
        messages = messages_of(page)
        flow(device(page), own)
        assert [text for text in messages if flow is not sign_in or not text.startswith(REFUSED)] == []
        return [] if "java_script_enabled" in values else barriers_of(page)  # axe is a script


@pytest.mark.parametrize(("flow", "width", "scheme", "device"), TABLE, ids=name_of)
def test_a_flow_ends_without_a_barrier(services, browser, flow, width, scheme, device):
    assert run(services, browser, flow, device, f"{flow.__name__}-{width}", width=width, color_scheme=scheme) == []


@pytest.mark.parametrize("flow", [why, merge, search, correct], ids=name_of)
def test_a_flow_works_without_scripts(services, browser, flow):
    run(services, browser, flow, Mouse, f"{flow.__name__}-plain", java_script_enabled=False)
