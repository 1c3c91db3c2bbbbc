"""The style sheet and the saved queries in the real Neo4j Browser, as the server serves it, with the distilled examples."""

import re
from collections import Counter

import neo4j
import pytest
from neo4j_browser import FOLDER, SAVED_QUERIES, STYLE, Neo4jBrowser, chromium_page, title
from playwright.sync_api import expect

from drag_graph.stores.neo4j.neo4j_store import Neo4jStore

pytestmark = [pytest.mark.browser, pytest.mark.neo4j]

FILES = sorted((FOLDER / "queries").glob("*.cypher"))
TITLES = [title(path) for path in FILES]


@pytest.fixture(scope="module")
def subgraph(neo4j_lts, neo4j_examples):
    """The subgraph of the example about insects."""
    uri, user, password = neo4j_lts
    with Neo4jStore(uri, username=user, password=password, namespace=neo4j_examples) as store:
        (found,) = (item for item in store.read([query.id for query in store.sources()]) if item.query.input_id == "insect")
        return found


@pytest.fixture(scope="module")
def answer(neo4j_lts, neo4j_examples, subgraph):
    uri, user, password = neo4j_lts
    with Neo4jStore(uri, username=user, password=password, namespace=neo4j_examples) as store:
        (found,) = store.answers(subgraph.query.id)
        return found


@pytest.fixture
def browser(neo4j_lts):
    """A connected page; what Browser remembers is new each time."""
    uri, user, password = neo4j_lts
    with neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver:
        (setting,) = driver.execute_query("SHOW SETTINGS 'server.http.advertised_address' YIELD value").records
    with chromium_page() as page:
        opened = Neo4jBrowser(page)
        opened.connect(setting["value"], uri, user, password)
        yield opened


def rules():
    """The properties of each rule of the style sheet, by its selector."""
    found = re.findall(r"^([\w.]+) \{\n(.*?)^\}", STYLE.read_text(), re.DOTALL | re.MULTILINE)
    return {selector: dict(re.findall(r"([\w-]+): (.+);", body)) for selector, body in found}


def drawn(frame):
    """How many nodes have which fill and radius, and how many relationships which fill."""
    frame.locator("g.node").first.wait_for()
    nodes = frame.locator("g.node circle.b-outline").evaluate_all(
        "all => all.map(one => [one.getAttribute('fill'), Number(one.getAttribute('r'))])"
    )
    edges = frame.locator("g.relationship path.b-outline").evaluate_all("all => all.map(one => one.getAttribute('fill'))")
    return Counter(map(tuple, nodes)), Counter(edges)


def expected(counts):
    """The same from the style sheet, for counts by selector."""
    style = rules()
    nodes, edges = Counter(), Counter()
    for selector, count in counts.items():
        rule = style[selector]
        if selector.startswith("node."):
            nodes[rule["color"], float(rule["diameter"].removesuffix("px")) / 2] += count
        else:
            edges[rule["color"]] += count
    return nodes, edges


def set_parameters(browser, namespace, **parameters):
    values = ", ".join(f"{name}: '{value}'" for name, value in {"namespace": namespace, **parameters}.items())
    expect(browser.run(f":params {{{values}}}")).to_contain_text("Successfully set your parameters")


def test_the_archive_is_imported_as_a_folder_of_favorites(browser):
    browser.drop(SAVED_QUERIES)
    browser.open_saved_queries()
    listed = browser.page.locator('[data-testid="savedScriptListItem"]')
    expect(listed).to_have_count(len(FILES))
    assert listed.all_inner_texts() == TITLES
    # Nothing of a title is cut off.
    assert listed.locator('[data-testid^="scriptTitle"]').evaluate_all(
        "all => all.every(one => one.scrollWidth <= one.clientWidth)"
    )


def test_dropping_and_pasting_the_style_sheet_do_the_same(browser):
    browser.drop(STYLE)
    expect(browser.frame).to_contain_text("node.TeacherCall")
    saved = "() => JSON.parse(localStorage['neo4j.grass'])"
    browser.page.wait_for_function("() => JSON.parse(localStorage['neo4j.grass'] || 'null')")
    dropped = browser.page.evaluate(saved)
    unquoted = {selector: {name: value.strip('"') for name, value in rule.items()} for selector, rule in rules().items()}
    assert dropped == unquoted
    browser.run(":style reset")
    browser.page.wait_for_function("() => JSON.parse(localStorage['neo4j.grass'] || 'null') === null")
    browser.run(f":style {STYLE.read_text()}")
    browser.page.wait_for_function("() => JSON.parse(localStorage['neo4j.grass'] || 'null')")
    assert browser.page.evaluate(saved) == dropped


def test_explore_a_query_from_the_favorites(browser, neo4j_examples, subgraph):
    """The whole way of the page in docs: import both files, tidy, set the parameters, run, and see it in the right colours."""
    browser.drop(STYLE)
    browser.drop(SAVED_QUERIES)
    browser.open_saved_queries()
    expect(browser.run_saved("00 Tidy pictures")).to_contain_text('"autoComplete": false')
    set_parameters(browser, neo4j_examples, source_id=subgraph.query.id)
    frame = browser.run_saved("02 Explore a query")
    kept = [item for item in subgraph.evidence if item.kept]
    counts = {"node.Query": 1, "node.Evidence": len(kept), "node.Entity": len(subgraph.entities)}
    counts |= {"relationship.HAS_EVIDENCE": len(kept), "relationship.RELATED": len(subgraph.edges)}
    assert drawn(frame) == expected(counts)
    captions = " ".join(frame.locator("g.node text.caption").all_text_contents())
    for word in ("nymph", "grasshoppers", "life cycle"):
        assert word in captions
    assert any(text.startswith("0.95 ") for text in frame.locator("g.relationship text").all_text_contents())


def test_without_tidying_browser_adds_the_rest(browser, neo4j_examples, subgraph):
    """Why the page asks for it: the same query, with triples and mentions added by Browser, is drawn too."""
    browser.drop(STYLE)
    set_parameters(browser, neo4j_examples, source_id=subgraph.query.id)
    frame = browser.run((FOLDER / "queries" / "02-explore-a-query.cypher").read_text())
    everything = (
        len(subgraph.triples) + len(subgraph.edges) + len(subgraph.entities) + sum(item.kept for item in subgraph.evidence)
    )
    expect(frame.locator("g.relationship path.b-outline")).to_have_count(everything)
    expect(browser.page.get_by_text("Something went wrong")).to_have_count(0)


def test_audit_an_answer_is_drawn(browser, neo4j_examples, answer):
    browser.drop(STYLE)
    browser.run(":config autoComplete: false")
    set_parameters(browser, neo4j_examples, answer_id=answer.id)
    frame = browser.run((FOLDER / "queries" / "07-audit-an-answer.cypher").read_text())
    _, edges = drawn(frame)
    style = rules()
    shown = Counter(line.kind for line in answer.lines)
    assert edges[style["relationship.USED"]["color"]] == shown["evidence"]
    assert edges[style["relationship.RELATED"]["color"]] == shown["edge"]
    assert edges[style["relationship.TRIPLE"]["color"]] >= shown["edge"]
    expect(frame.locator("g.node text.caption", has_text=answer.text.split()[0]).first).to_be_visible()


def test_start_here_sets_all_parameters(browser, neo4j_examples):
    """With the one change that it asks for: the name of the namespace."""
    text = (FOLDER / "queries" / "00-start-here.cypher").read_text()
    frame = browser.run(text.replace("'default'", f"'{neo4j_examples}'"))
    expect(frame).to_contain_text("Successfully set your parameters")
    for name in ("source_id", "answer_id", "evidence_id"):
        expect(frame).to_contain_text(re.compile(rf'"{name}": "[0-9a-f]+"'))
    # Now every other saved query has what it needs.
    browser.drop(SAVED_QUERIES)
    browser.open_saved_queries()
    for name in TITLES[2:]:
        frame = browser.run_saved(name)
        expect(frame.locator('[data-testid="frame-loaded-contents"]')).to_be_visible()
        expect(frame).not_to_contain_text("ERROR")
