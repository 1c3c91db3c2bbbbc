"""Take the pictures of docs/how-to/neo4j.md in the real Neo4j Browser.

    drag-graph distill examples/questions.jsonl --teacher curated:examples/curated.jsonl --store bolt://127.0.0.1:7687
    drag-graph ask --file examples/questions.jsonl --store bolt://127.0.0.1:7687
    python tests/browser/take_pictures.py --namespace default

NEO4J_PASSWORD is the server's. Look at them before they are committed: Browser lays a graph out as it likes.
"""

import argparse
import os

import neo4j
from neo4j_browser import FOLDER, SAVED_QUERIES, STYLE, Neo4jBrowser, chromium_page

SETTLED = 6_000
"""How long a layout is given to come to rest, in milliseconds."""

OVERVIEW = 90
"""How far the graph is pulled to the left, in pixels: Browser centres it as if the overview did not lie over it."""

PICTURES = {
    "explore-a-query": ("02 Explore a query", "antibiotic", (1560, 860)),
    "parallel-edges": ("03 Parallel edges", "insect", (900, 480)),
    "audit-an-answer": ("07 Audit an answer", "antibiotic", (1560, 860)),
    "audit-line-by-line": ("08 Audit line by line", "antibiotic", (1680, 620)),
}
"""The saved query, the example question, and the size in pixels."""

IDS = """
MATCH (e:Evidence)<-[:HAS_EVIDENCE]-(q:Query {namespace: $namespace, input_id: $input_id})<-[:ANSWERS]-(a:Answer)
RETURN $namespace AS namespace, q.id AS source_id, a.id AS answer_id, e.id AS evidence_id
ORDER BY a.created_at DESC, e.rank
LIMIT 1
"""


def parameters(uri, password, **values):
    """The parameters of the saved queries for one of the example questions."""
    with neo4j.GraphDatabase.driver(uri, auth=("neo4j", password)) as driver:
        (record,) = driver.execute_query(IDS, values).records
    return ", ".join(f"{name}: '{value}'" for name, value in record.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--http", default="127.0.0.1:7474")
    parser.add_argument("--bolt", default="bolt://127.0.0.1:7687")
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--only", choices=PICTURES, action="append")
    given = parser.parse_args()
    password = os.environ["NEO4J_PASSWORD"]
    for name in given.only or PICTURES:
        saved, question, size = PICTURES[name]
        values = parameters(given.bolt, password, namespace=given.namespace, input_id=question)
        with chromium_page(*size) as page:
            browser = Neo4jBrowser(page)
            browser.connect(given.http, given.bolt, "neo4j", password)
            browser.drop(STYLE)
            browser.drop(SAVED_QUERIES)
            browser.run(f":params {{{values}}}")
            browser.open_saved_queries()
            browser.run_saved("00 Tidy pictures")
            frame = browser.run_saved(saved)
            page.click('[data-testid="navigationFavorites"]')
            frame.locator('button[title="Fullscreen"]').click()
            fit = frame.locator('[aria-label="zoom-to-fit"]')
            page.wait_for_timeout(SETTLED)
            if fit.count():
                fit.click()
                page.wait_for_timeout(SETTLED // 3)
                page.mouse.move(160, size[1] - 40)
                page.mouse.down()
                page.mouse.move(160 - OVERVIEW, size[1] - 40, steps=10)
                page.mouse.up()
            page.mouse.move(0, 0)
            frame.screenshot(path=FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
