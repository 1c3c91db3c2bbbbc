"""The page of an answer in a real Chromium: from a citation to its line, corrections, and the offline file."""

import pytest
from neo4j_browser import chromium_page
from service_clients import QUESTION, TEXTS, filled_graph, served_client

pytestmark = pytest.mark.browser
SIZES = [(400, "dark", False), (1100, "light", True), (2560, "dark", False)]
"""Width, colours, and whether scripts run."""


@pytest.fixture
def browser():
    with chromium_page() as page:
        yield page.context.browser


def test_a_citation_leads_to_its_line_and_a_claim_is_corrected_with_and_without_scripts(browser, tmp_path):
    with filled_graph(tmp_path) as graph, served_client(graph) as client:
        given = graph.ask(QUESTION)
        for width, scheme, has_scripts in SIZES:
            size = {"width": width, "height": 900}
            page = browser.new_page(viewport=size, color_scheme=scheme, java_script_enabled=has_scripts)
            page.goto(f"{client.base_url}/answers/{given.id}")
            page.locator(".chip").first.click()
            line = page.locator("details.line", has=page.locator(":target"))
            assert line.locator("mark").first.inner_text() == TEXTS["steam.txt"]
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            fix = line.locator(".fix").first
            fix.locator("summary").click()
            fix.locator("input[name=note]").fill(f"At {width}")
            fix.locator("button[value=wrong]").click()
            assert f"At {width}" in page.locator(".claims .bad").first.inner_text()
            page.close()
        path = tmp_path / "audit.html"
        path.write_text(graph.audit(given.id).to_html(), encoding="utf-8")
    page = browser.new_page()
    problems = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("request", lambda request: problems.append(request.url) if not request.url.startswith(("file:", "data:")) else None)
    page.goto(path.as_uri())
    assert page.locator("h1").evaluate("one => getComputedStyle(one).fontWeight") == "650"
    page.locator("details.line").first.evaluate("one => { one.open = false; }")
    page.locator(".chip").first.click()
    assert page.locator(":target").evaluate("one => one.closest('details').open")
    page.locator("details.line").first.evaluate("one => { one.open = false; }")
    page.emulate_media(media="print")
    assert page.locator("details.line .passage").first.bounding_box()["height"] > 0
    assert problems == []
