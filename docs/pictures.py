"""Take the pictures of the guide again: `make pictures`. It needs Chromium (tests/browser/neo4j_browser.py says which).

Look at them before they are committed. Those of Neo4j Browser are taken by tests/browser/take_pictures.py.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drag_graph import DragGraph

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "browser")]

from guide_pages import blocks_of  # noqa: E402
from neo4j_browser import chromium_page  # noqa: E402
from service_clients import served_client  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
SETTLED = 4_000
"""Time for the graph to find its layout, in milliseconds."""


@contextmanager
def service() -> Iterator[tuple[DragGraph, str]]:
    """Lend a graph of the example questions and the tutorial's documents, and the address of its service."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        documents = [(folder / Path(block.title).name, block.text) for block in blocks_of("docs/tutorial.md") if block.is_file]
        for path, text in documents:
            path.write_text(text, encoding="utf-8")
        teacher = f"curated:{ROOT / 'examples' / 'curated.jsonl'}"
        with (
            DragGraph(folder / "graph.lbug", teacher=teacher, embedder="lexical", student="nearest") as graph,
            served_client(graph) as client,
        ):
            graph.distill(ROOT / "examples" / "questions.jsonl").result()
            graph.ingest([path for path, _ in documents]).result()
            yield graph, str(client.base_url)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with service() as (graph, address):
        why = graph.ask("What does the repair of the footbridge cost?").to_dict()["answer_id"]
        audit = graph.ask(query_id="antibiotic", mode="graph").to_dict()["answer_id"]
        with chromium_page(1000, 760) as page:
            page.goto(address)
            page.get_by_label("Your question").fill("What does the repair of the footbridge cost?")
            page.get_by_label("Your question").press("Enter")
            page.locator("article .facts").wait_for()
            page.mouse.move(0, 0)
            page.screenshot(path=FOLDER / "ask.png")
            for name, answer in {"why": why, "audit": audit}.items():
                file = FOLDER / f"{name}.html"
                file.write_text(graph.answer(answer).audit().to_html(), encoding="utf-8")
                page.goto(file.as_uri())
                file.unlink()
                if name == "audit":
                    page.locator("details.line summary").nth(2).click()
                page.screenshot(path=FOLDER / f"{name}.png")
            page.goto(f"{address}/graph?answer={audit}")
            page.wait_for_timeout(SETTLED)
            page.locator("details summary", has_text="antibiotics").first.click()
            page.screenshot(path=FOLDER / "graph.png")


if __name__ == "__main__":
    main()
