"""Figures of the web page in Chromium: the list of many sources, and the memory of a page that asks many questions.

    python bench/page.py [--sources 10000] [--loads 20] [--asks 200]

Needs Chromium on PATH and the extra `dev` (Playwright). The service of bench/service.py runs in a process of its own. Prints
the time to first byte and first paint of the first and the last page of `/sources`: median, fastest and slowest load. Then
prints the time between two frames while a node of a picture with 500 edges is dragged for five seconds, and the JavaScript heap
and the nodes of a page after garbage collection, before and after questions.
"""

import argparse
import math
import random
import shutil
import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from service import DATA, QUESTIONS, SETTINGS, service

from drag_graph import DragGraph
from drag_graph.compose.store_opening import open_store
from drag_graph.model import Aggregation
from drag_graph.service.source_page_routes import LISTED
from drag_graph.testing.builders import document_of, make_document, make_document_subgraph

BATCH = 500
"""Number of sources saved in one transaction."""
TIMES = """() => new Promise(done => new PerformanceObserver(list => {
  const [paint] = list.getEntriesByName("first-contentful-paint"), [load] = performance.getEntriesByType("navigation");
  if (paint) done([load.responseStart, paint.startTime]);
}).observe({type: "paint", buffered: true}))"""
LARGE = make_document("large")
EDGES, DRAG_SECONDS = 500, 5
COUNT_FRAMES = """() => {
  window.frames_at = [];
  const count = (now) => { window.frames_at.push(now); requestAnimationFrame(count); };
  requestAnimationFrame(count);
}"""


def fill(store: Path, sources: int) -> None:
    """Save this number of small documents, and one with 500 statements about 250 things."""
    draw = random.Random(27)
    pairs = [draw.sample(range(EDGES // 2), 2) for _ in range(EDGES)]
    triples = [(f"part {one}", f"joins {n}", f"part {other}", 0.9, n // 20) for n, (one, other) in enumerate(pairs)]
    sentences = [f"Part {one} joins {n} part {other}." for n, (one, other) in enumerate(pairs)]
    texts = [[" ".join(sentences[start : start + 20])] for start in range(0, EDGES, 20)]
    with DragGraph(store, **SETTINGS) as graph, open_store(graph.settings, create=True, read_only=False) as opened:
        for start in range(0, sources, BATCH):
            page = [make_document_subgraph(number, edges=1) for number in range(start, min(start + BATCH, sources))]
            opened.save(page, Aggregation())
        opened.save([document_of(LARGE, texts, triples)], Aggregation())


def first_paint(page: Page, address: str, loads: int) -> None:
    """Print the time to first byte and first paint of an address."""
    times = []
    for _ in range(loads + 1):
        page.goto(address)
        times.append(page.evaluate(TIMES))
    columns = [sorted(column) for column in zip(*times[1:], strict=True)]
    first, paint = (f"{statistics.median(column):.0f} ms ({column[0]:.0f} to {column[-1]:.0f})" for column in columns)
    print(f"{address.rpartition('/')[2]}: first byte {first}, first paint {paint}")


def drag(page: Page, address: str) -> None:
    """Print the time between two frames while a node is dragged."""
    page.goto(address)
    page.wait_for_timeout(10_000)  # for the layout
    place = page.evaluate("document.querySelector('.stage').cy.nodes()[0].renderedPosition()")
    number = page.evaluate("document.querySelector('.stage').cy.edges().length")
    box = page.locator("#picture").bounding_box()
    assert box is not None
    left, top = box["x"] + place["x"], box["y"] + place["y"]
    page.mouse.move(left, top)
    page.mouse.down()
    page.evaluate(COUNT_FRAMES)
    began = time.monotonic()
    while (passed := time.monotonic() - began) < DRAG_SECONDS:
        page.mouse.move(left + 150 * math.sin(3 * passed), top + 100 * math.sin(5 * passed))
    page.mouse.up()
    times = sorted(after - before for before, after in pairwise(page.evaluate("window.frames_at")))
    most = times[len(times) * 95 // 100]
    print(f"{number} edges: median frame {statistics.median(times):.0f} ms, 95 % within {most:.0f} ms")


def memory(page: Page, address: str, asks: int) -> None:
    """Print the heap and the nodes of the page before and after questions."""
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable")

    def facts() -> tuple[float, int]:
        tools.send("HeapProfiler.collectGarbage")
        values = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
        return values["JSHeapUsedSize"] / 1e6, int(values["Nodes"])

    page.goto(address)
    for number in range(asks + 1):
        if number in {1, asks // 2, asks}:
            print("{0} asks: {1[0]:.2f} MB, {1[1]} nodes".format(number, facts()))
        if number < asks:
            box = page.get_by_label("Your question")
            box.fill(QUESTIONS[number % len(QUESTIONS)])
            box.press("Enter")
            page.locator("article .facts").nth(number).wait_for()


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=int, default=10_000)
    parser.add_argument("--loads", type=int, default=20)
    parser.add_argument("--asks", type=int, default=200)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = shutil.which("chromium")
        page = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"]).new_page()
        page.set_default_timeout(120_000)
        many, few = Path(folder) / "many.lbug", Path(folder) / "few.lbug"
        fill(many, args.sources)
        with service(many) as (_, place):
            for query in ("", f"?offset={args.sources - LISTED}"):
                first_paint(page, f"http://{place}/sources{query}", args.loads)
            drag(page, f"http://{place}/graph?source={LARGE.id}")
        with DragGraph(few, **SETTINGS) as graph:
            graph.ingest(DATA / "files").result()
        with service(few) as (_, place):
            memory(page, f"http://{place}/", args.asks)


if __name__ == "__main__":
    main()
