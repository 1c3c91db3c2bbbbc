"""The page of the service in a real Chromium: drop a file, follow its job, ask about it, and delete it."""

import pytest
from neo4j_browser import chromium_page
from playwright.sync_api import expect
from service_clients import served_client

from drag_graph.app import DragGraph

pytestmark = pytest.mark.browser
TEXT = "Kelp forests of the Skagerrak shelter young cod."
DROP = """content => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([content], "kelp.txt", {type: "text/plain"}));
  document.body.dispatchEvent(new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer: transfer}));
}"""


@pytest.fixture
def address(tmp_path):
    with DragGraph(tmp_path / "graph.lbug", embedder="lexical", student="nearest") as graph, served_client(graph) as client:
        yield str(client.base_url)


def test_a_file_is_dropped_read_asked_about_and_deleted(address):
    with chromium_page() as page:
        page.goto(address)
        expect(page.get_by_text("Nothing is stored yet")).to_be_visible()
        page.get_by_role("link", name="Add documents").click()
        page.evaluate(DROP, TEXT)
        page.get_by_label("Tags").fill("sea")
        page.get_by_role("button", name="Add").click()
        expect(page.get_by_text("1 added")).to_be_visible()

        page.get_by_role("link", name="Ask", exact=True).click()
        box = page.get_by_label("Your question")
        box.fill("What do kelp forests shelter?")
        box.press("Enter")
        expect(page.locator("article .said")).to_contain_text("young cod")
        expect(box).to_have_value("")
        box.fill("Where are the kelp forests?")
        box.press("Shift+Enter")
        expect(page.locator("article")).to_have_count(1)
        box.press("Enter")
        expect(page.locator("article .facts")).to_have_count(2)

        page.goto(f"{address}/sources?q=kelp&tags=sea")
        expect(page.locator("mark").first).to_have_text("Kelp")
        page.get_by_role("link", name="kelp.txt").first.click()
        page.get_by_role("link", name="Delete").click()
        expect(page.get_by_text("This will be deleted")).to_be_visible()
        expect(page.get_by_text("2 answers that used it")).to_be_visible()
        page.get_by_role("button", name="Delete for good").click()
        expect(page.get_by_text("Nothing is stored yet")).to_be_visible()
