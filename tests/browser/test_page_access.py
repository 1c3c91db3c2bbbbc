"""Accessibility of every page of the service: axe-core at three widths, in two colour schemes."""

import pytest
from neo4j_browser import chromium, page_in
from page_checks import barriers_of
from service_clients import served_client

from drag_graph.app import DragGraph

pytestmark = pytest.mark.browser
TEXT = "The committee decided to repair the bridge. The bridge opened on 2 May 2026. The bridge opened on 9 June 2026."
PATHS = ["/", "/answers", "/answers/{answer}", "/sources", "/sources/{source}", "/sources/{source}/erase"]
PATHS += ["/graph?answer={answer}", "/distill?question=Why+is+the+sky+blue%3F", "/jobs", "/jobs/{job}"]
PATHS += ["/answers?source={source}", "/privacy", "/sign-in", "/nowhere"]
WIDTHS = (360, 800, 1280)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """The address of a service that has a document and an answer, and the ids of both."""
    folder = tmp_path_factory.mktemp("service")
    settings = {"embedder": "lexical", "student": "nearest", "teacher": "ollama/llama3.2", "privacy": "off"}
    with DragGraph(folder / "graph.lbug", **settings) as graph, served_client(graph) as client:
        file = {"files": ("minutes.txt", TEXT.encode(), "text/plain")}
        job = client.post("/api/v1/jobs/ingest", files=file).json()["id"]
        client.get(f"/api/v1/jobs/{job}/events")  # until it has ended
        answer = graph.ask("When did the bridge open?").to_dict()["answer_id"]
        (source,) = (one.source_id for one in graph.show())
        yield str(client.base_url), {"answer": answer, "source": source, "job": job}


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_has_a_barrier_or_is_wider_than_the_window(service, browser, width, scheme):
    address, ids = service
    found = []
    with page_in(browser, width, base_url=address, color_scheme=scheme) as page:
        for path in PATHS:
            page.goto(path.format(**ids))
            page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
            found += barriers_of(page)
    assert not found, "\n".join(found)
