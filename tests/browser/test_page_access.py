"""Every page of the service for people who see little, use a keyboard, or hold a phone: axe-core, three widths, two schemes."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from neo4j_browser import chromium_page
from playwright.sync_api import expect
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_has_a_barrier_or_is_wider_than_the_window(service, width, scheme):
    address, ids = service
    found = []
    with chromium_page() as page:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        for path in PATHS:
            page.goto(address + path.format(**ids))
            page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
            found += [
                f"{path}: {one['id']}: {[node['target'] for node in one['nodes']][:3]}"
                for one in Axe().run(page).response["violations"]
            ]
            if page.evaluate("document.documentElement.scrollWidth") > width:
                found.append(f"{path}: wider than {width}")
    assert not found, "\n".join(found)


def test_a_question_is_asked_and_traced_with_the_keyboard_alone(service):
    address, _ = service
    with chromium_page() as page:
        page.goto(address)
        box = page.get_by_label("Your question")
        for _ in range(20):
            if box.evaluate("box => box === document.activeElement"):
                break
            page.keyboard.press("Tab")
        page.keyboard.type("What did the committee decide to repair?")
        page.keyboard.press("Enter")
        expect(page.locator("article .said")).to_contain_text("bridge")
        chip = page.locator("article a[href*='#line-']").first
        for _ in range(40):
            if chip.evaluate("chip => chip === document.activeElement"):
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("details.line[open] mark").first).to_be_visible()
