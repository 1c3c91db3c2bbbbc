"""Take the pictures of the guide again: `make pictures`. It needs Chromium (tests/browser/neo4j_browser.py says which).

Look at them before they are committed. Those of Neo4j Browser are taken by tests/browser/take_pictures.py.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from drag_graph import DragGraph
from drag_graph.service.keys import KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.server import ServicePlace, served

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
DOCUMENTS = {
    "minutes-2026-03-02.txt": (
        "The committee decided to repair the Lenn footbridge. The repair of the Lenn footbridge costs 40,000 euros.\n"
        "The footbridge closes on 4 May 2026. Nordsteel supplies the beams.\n"
    ),
    "letter-2026-04-10.txt": (
        "The price of steel has risen. The repair of the Lenn footbridge costs 52,000 euros. The county pays half of the costs."
    ),
}
"""Those of the tutorial."""
SETTLED = 4_000
"""Time for the graph to find its layout, in milliseconds."""


@contextmanager
def service() -> Iterator[tuple[DragGraph, str]]:
    """Lend a graph of the example questions and the tutorial's documents, and the address of its service."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for document, text in DOCUMENTS.items():
            (folder / document).write_text(text, encoding="utf-8")
        teacher = f"curated:{ROOT / 'examples' / 'curated.jsonl'}"
        with (
            DragGraph(folder / "graph.lbug", teacher=teacher, embedder="lexical", student="nearest") as graph,
            closing(KeyRing(graph.settings.service_records_path)) as ring,
            served(graph, ServicePlace(port=0), Limits(), ring) as running,
        ):
            graph.distill(ROOT / "examples" / "questions.jsonl").result()
            graph.ingest([folder / document for document in DOCUMENTS]).result()
            yield graph, running.address


def main() -> None:
    sys.path.append(str(ROOT / "tests" / "browser"))
    from neo4j_browser import chromium_page

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
