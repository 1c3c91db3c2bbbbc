"""The page of the graph in a real Chromium, from the service and as a file."""

import json

import pytest
from neo4j_browser import chromium_page
from service_clients import served_client

from drag_graph import DragGraph

pytestmark = pytest.mark.browser

FACTS = [("The river", "feeds", "the mill"), ("mill", "grinds", "corn"), ("</script><svg onload=alert(1)>", "marks", "corn")]
NAMES = ("subject", "predicate", "object")
SHOWN = "selector => document.querySelector('.stage').cy.$(selector).map(one => one.data('name'))"


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    lines = [
        {
            "question": f"Question {number}?",
            "evidence": [" ".join(fact)],
            "triples": [dict(zip(NAMES, fact, strict=True), evidence=[0], confidence=0.7 + number / 10)],
        }
        for number, fact in enumerate(FACTS)
    ]
    (folder / "facts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with DragGraph(folder / "graph.lbug", embedder="lexical", teacher=f"curated:{folder / 'facts.jsonl'}") as graph:
        graph.distill([line["question"] for line in lines]).result()
        graph.link().result()
        yield graph


@pytest.fixture
def page():
    """A page that collects what its console says: a refused style or script among it."""
    with chromium_page() as page:
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        yield page
        assert said == []


def named(page, selector):
    return set(page.evaluate(SHOWN, selector))


def test_choosing_expanding_and_filtering(graph, page):
    (source,) = (one.source_id for one in graph.show() if one.title == "Question 0?")
    with served_client(graph) as client:
        page.goto(f"{client.base_url}/graph?source={source}")
        thing = page.locator("details.thing[data-name*=mill]")
        thing.locator("summary").press("Enter")
        (mill,) = named(page, "node:selected")
        assert "mill" in mill
        assert len(named(page, "node")) == 2
        thing.locator("[data-expand]").click()
        page.get_by_text("1 more things, 1 more statements").wait_for()
        assert "corn" in named(page, "node")
        assert page.locator("details.thing").count() == 3

        page.wait_for_function("!document.querySelector('.stage').cy.animated()")
        place = page.evaluate("document.querySelector('.stage').cy.nodes('[name = \"corn\"]').renderedPosition()")
        page.locator("#picture").click(position=place)
        assert page.locator("details.thing[open]").get_attribute("data-name") == "corn"
        page.locator("#confidence").fill("0.75")
        assert named(page, "node:visible") == {mill, "corn"}
        assert page.locator("details.thing:visible").count() == 2


def test_a_file_works_without_a_service(graph, page, tmp_path):
    file = tmp_path / "graph.html"
    file.write_text(graph.picture().to_html(), encoding="utf-8")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.locator("#name").fill("corn")
    page.locator("#name").press("Enter")
    assert named(page, "node:selected") == {"corn"}
    assert page.locator("details.thing[open] .statement").count() == 2
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
