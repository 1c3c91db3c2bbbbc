"""The files that show an answer and a graph without a service, in a real Chromium."""

import pytest
from neo4j_browser import chromium_page
from page_checks import messages_of
from page_flows import PRICE, add_bridge, add_facts, write_facts

from drag_graph import DragGraph

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    write_facts(folder / "facts.jsonl")
    settings = {"embedder": "lexical", "student": "nearest", "teacher": f"curated:{folder / 'facts.jsonl'}"}
    with DragGraph(folder / "graph.lbug", **settings) as graph:
        add_facts(graph)
        add_bridge(graph)
        yield graph


@pytest.fixture
def page():
    """A page that loads nothing from a network and logs no error."""
    with chromium_page() as page:
        messages = messages_of(page)
        loaded = []
        page.on("request", lambda request: loaded.append(request.url))
        yield page
        assert messages == []
        assert [url for url in loaded if not url.startswith(("file:", "data:"))] == []


def test_the_file_of_an_answer_opens_the_line_of_a_citation_and_prints_all_lines(graph, page, tmp_path):
    path = tmp_path / "audit.html"
    path.write_text(graph.ask(PRICE).audit().to_html(), encoding="utf-8")
    page.goto(path.as_uri())
    assert page.locator("h1").evaluate("one => getComputedStyle(one).fontWeight") == "650"
    page.locator("details.line").first.evaluate("one => { one.open = false; }")
    page.locator(".chip").first.click()
    assert page.locator(":target").evaluate("one => one.closest('details').open")
    page.locator("details.line").first.evaluate("one => { one.open = false; }")
    page.emulate_media(media="print")
    assert page.locator("details.line .passage").first.bounding_box()["height"] > 0


def test_the_file_of_a_graph_finds_a_thing_by_its_name(graph, page, tmp_path):
    path = tmp_path / "graph.html"
    path.write_text(graph.picture().to_html(), encoding="utf-8")
    page.goto(path.as_uri())
    page.locator("#name").fill("corn")
    page.locator("#name").press("Enter")
    assert page.evaluate("document.querySelector('.stage').cy.$('node:selected').map(one => one.data('name'))") == ["corn"]
    assert page.locator("details.thing[open] .statement").count() == 2
