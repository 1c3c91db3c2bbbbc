"""Tasks on the pages of the service. Each receives a device (page_devices.py) and a graph in an empty namespace."""

import json
import re
from contextlib import closing
from pathlib import Path

from page_devices import becomes, settle
from playwright.sync_api import expect

from drag_graph.service.keys import KeyRing

EXAMPLES = Path(__file__).parents[2] / "examples"
MINUTES = "The committee decided to repair the Lenn footbridge. The repair of the Lenn footbridge costs 40,000 euros."
LETTER = "The price of steel has risen. The repair of the Lenn footbridge costs 52,000 euros."
PRICE = "What does the repair of the footbridge cost?"
COLD = "Why do antibiotics not cure a common cold?"
CURES = ["Colds are caused by viruses", "Colds last too short a time", "Antibiotics lower fever", "Antibiotics need vitamins"]
HOSTILE = "</script><svg onload=alert(1)>"
FACTS = [
    {"subject": "The river", "predicate": "feeds", "object": "the mill", "subject_type": "location", "confidence": 0.7},
    {"subject": "mill", "predicate": "grinds", "object": "corn", "confidence": 0.8},
    {"subject": HOSTILE, "predicate": "marks", "object": "corn", "confidence": 0.9},
]


def write_facts(path):
    """Write the curated file of the teacher: the examples, and one fact for each of three questions."""
    lines = [
        {
            "question": f"Question {number}?",
            "evidence": [f"{fact['subject']} {fact['predicate']} {fact['object']}"],
            "triples": [{**fact, "evidence": [0]}],
        }
        for number, fact in enumerate(FACTS)
    ]
    path.write_text((EXAMPLES / "curated.jsonl").read_text() + "".join(json.dumps(line) + "\n" for line in lines))


def add_bridge(graph):
    """Store two documents that contradict each other."""
    graph.ingest(text=MINUTES, name="minutes-2026-03-02.txt", tags=["bridge"]).result()
    graph.ingest(text=LETTER, name="letter-2026-04-10.txt", tags=["bridge"]).result()


def add_facts(graph):
    """Store the facts, and link their entities."""
    graph.distill([f"Question {number}?" for number in range(len(FACTS))]).result()
    graph.link().result()


def link(place, name):
    return place.get_by_role("link", name=name, exact=True)


def button(place, name):
    return place.get_by_role("button", name=name, exact=True)


def ask(device, graph):
    """Answers are streamed with citations. A follow-up question and pasted options work."""
    graph.distill([{"question": COLD, "options": CURES}]).result()
    add_bridge(graph)
    page = device.page
    page.goto("/")
    box = page.get_by_label("Your question")
    device.write(box, PRICE)
    with page.expect_response("**/ask") as reply:
        device.press(button(page, "Ask"))
    assert reply.value.headers["content-type"].startswith("text/event-stream")
    expect(page.locator("article .said")).to_contain_text("52,000 euros")
    expect(page.locator("article .facts")).to_contain_text("nearest")
    expect(box).to_have_value("")
    expect(box).to_be_focused()
    page.keyboard.type("And who")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("decided it?")
    expect(page.locator("article")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("article .facts")).to_have_count(2)

    device.press(page.locator("details.how > summary"))
    device.choose(page.get_by_label("The student reads"), "Passages only")
    device.paste(page.get_by_label("Options, one per line"), "\n".join(CURES))
    device.write(box, COLD)
    page.keyboard.press("Enter")
    expect(page.locator("article .said").first).to_contain_text(CURES[0])
    device.press(page.locator("article .chip").first)
    expect(page.locator("details.line[open] mark").first).to_be_visible()


def unanswered(device, graph):
    """If no lines are found, the page offers the teacher and shows its price."""
    add_bridge(graph)
    page = device.page
    page.goto("/")
    device.write(page.get_by_label("Your question"), COLD)
    page.keyboard.press("Enter")
    steps = page.locator("article .next")
    expect(steps).to_contain_text("Nothing relevant is stored")
    expect(link(steps, "Add documents")).to_be_visible()
    device.press(link(steps, re.compile("Ask the teacher")))
    expect(page.get_by_role("row", name="Questions to ask 1")).to_be_visible()
    assert graph.show(state="query").total == 0


def why(device, graph):
    """A citation leads to its line, passages, contradiction, claims, triples, evidence and call."""
    graph.distill([{"question": COLD, "options": CURES}]).result()
    add_bridge(graph)
    graph.ask(PRICE)
    graph.ask(COLD, options=CURES, mode="graph")
    page = device.page
    page.goto("/answers")
    device.press(link(page, PRICE))
    device.press(page.locator(".chip").first)
    line = page.locator("details.line", has=page.locator(":target"))
    expect(line.locator("mark").first).to_have_text(LETTER)
    expect(line.locator(".sides")).to_contain_text("minutes-2026-03-02.txt · 2026-03-02")
    device.press(link(line, "letter-2026-04-10.txt").first)
    expect(page.locator(".passage")).to_have_text(LETTER)
    device.press(link(page, "Answers that used this source"))
    device.press(link(page, "Show all answers"))
    device.press(link(page, COLD))
    line = page.locator("details.line:not([open])").first
    device.press(line.locator("summary").first)
    expect(page.get_by_role("columnheader", name="Evidence").first).to_be_visible()
    line = page.locator("details.line[open]").last
    expect(line).to_contain_text("claim ")
    expect(line.locator("table", has_text="Model")).to_contain_text("curated:facts.jsonl")
    device.press(page.locator("details.record > summary", has_text="Calls of models"))
    expect(page.locator("details.record[open]")).to_contain_text("curated:facts.jsonl")


def explore(device, graph):
    """The user chooses, expands, filters and zooms the things of a source, in its picture and in its list."""
    add_facts(graph)
    (source,) = (one.source_id for one in graph.show() if one.title == "Question 0?")
    page = device.page
    page.goto(f"/sources/{source}")
    device.press(link(page, "Show them as a graph"))
    stage = "document.querySelector('.stage').cy"
    expect(page.locator("#picture")).to_be_visible()
    settle(page)
    device.pick("mill")
    thing = page.locator("details.thing[open]")
    expect(thing).to_have_attribute("data-name", "mill")
    assert becomes(page, f"{stage}.$('node:selected').map(one => one.data('name'))", ["mill"])
    device.press(link(thing, "Show neighbours"))
    expect(page.get_by_text("1 more thing, 1 more statement")).to_be_visible()
    things = page.locator("details.thing:visible")
    expect(things).to_have_count(3)
    device.press(button(thing, "mill grinds corn"))
    expect(page.locator("li.chosen").first).to_contain_text("mill grinds corn")
    assert becomes(page, f"{stage}.$('edge:selected').length", 1)
    device.pick("corn")
    expect(thing).to_have_count(1)  # for a moment two are open
    expect(thing).to_have_attribute("data-name", "corn")

    device.slide(page.get_by_label("Minimum confidence"), 0.75)
    expect(things).to_have_count(2)
    assert set(page.evaluate(f"{stage}.$('node:visible').map(one => one.data('name'))")) == {"mill", "corn"}
    before = page.evaluate(f"{stage}.zoom()")
    device.press(button(page, "Zoom out"))
    assert becomes(page, f"{stage}.zoom() < {before}", True)

    device.write(page.get_by_label("Show sources about"), "mill corn river")
    device.press(button(page, "Show"))
    device.choose(page.get_by_label("Source", exact=True), "Question 1?")
    expect(things).to_have_count(2)
    device.choose(page.get_by_label("Source", exact=True), "All")
    device.choose(page.get_by_label("Kind"), "location")
    expect(things).to_have_count(2)
    device.write(page.get_by_label("Find a thing"), "river")
    page.keyboard.press("Enter")
    expect(page.locator("details.thing[open] .statement")).to_have_text("river feeds mill")


def merge(device, graph):
    """Two names of one thing are merged, and the merge is undone."""
    add_facts(graph)
    page = device.page
    page.goto("/")
    device.press(link(page, "Graph"))
    expect(page.get_by_text(HOSTILE, exact=True).first).to_be_visible()
    number = page.locator("details.thing").count()
    device.press(page.locator("summary", has_text="Merge two names"))
    device.write(page.get_by_label("Name", exact=True).last, "corn")
    device.write(page.get_by_label("Other name"), "The river")
    device.press(button(page, "Merge"))
    expect(page.locator("details.thing")).to_have_count(number - 1)
    device.press(page.locator("details.thing > summary", has_text=re.compile("corn|river")).first)
    device.press(button(page, re.compile("Undo: ")))
    expect(page.locator("details.thing")).to_have_count(number)


def search(device, graph):
    """Sources are found by words and by tag."""
    add_bridge(graph)
    graph.ingest(text="Kelp forests shelter young cod.", name="kelp.txt", tags=["sea"]).result()
    page = device.page
    page.goto("/")
    device.press(link(page, "Knowledge"))
    device.write(page.get_by_label("Search in names and passages"), "steel")
    device.press(button(page, "Search"))
    expect(page.locator("mark").first).to_have_text("steel")
    device.press(link(page, "letter-2026-04-10.txt"))
    device.press(link(page, "Knowledge"))
    device.press(page.locator("summary", has_text="Filter"))
    device.choose(page.get_by_label("Show", exact=True), "Documents")
    device.write(page.get_by_label("With one of these tags"), "sea")
    device.press(button(page, "Filter"))
    expect(page.get_by_role("heading", name="1 source found")).to_be_visible()
    expect(link(page, "kelp.txt")).to_be_visible()


def documents(device, graph):
    """A job reads a file that was dropped or chosen, an answer uses it, and a list precedes its deletion."""
    path = Path(graph.settings.store).with_name("kelp.txt")
    path.write_text("Kelp forests of the Skagerrak shelter young cod.")
    page = device.page
    page.goto("/")
    expect(page.get_by_text("Nothing is stored yet")).to_be_visible()
    device.press(link(page, "Add documents"))
    device.give(page.get_by_label("Files"), path)
    device.write(page.get_by_label("Tags"), "sea")
    device.press(button(page, "Add"))
    expect(page.get_by_text("1 added")).to_be_visible()
    graph.ask("What do kelp forests shelter?")
    device.press(link(page, "kelp.txt"))
    expect(page.locator(".tag")).to_have_text("sea")
    device.press(link(page, "Delete …"))
    expect(page.get_by_text("This will be deleted")).to_be_visible()
    expect(page.get_by_text("1 answer that used it")).to_be_visible()
    device.press(button(page, "Delete for good"))
    expect(page.get_by_text("Nothing is stored yet")).to_be_visible()


def distil(device, graph):
    """Questions are pasted, their price is shown first, and the job and its page report the failure."""
    graph.ingest(text=MINUTES, name="minutes.txt").result()
    page = device.page
    page.goto("/sources")
    device.press(link(page, "Ask a teacher for evidence"))
    options = " ".join(f"{letter}) {text}" for letter, text in zip("ABCD", CURES, strict=True))
    device.paste(page.get_by_label("Questions, one per line"), f"{COLD} {options}\nWho is nobody?")
    device.press(button(page, "See calls and price"))
    expect(page.get_by_role("row", name="Questions to ask 2")).to_be_visible()
    assert graph.show(state="query").total == 0
    device.write(page.get_by_label("Budget"), "0.5")
    device.press(button(page, "Ask now"))
    expect(page.get_by_text("1 complete, 1 failed")).to_be_visible()
    expect(page.get_by_text("The curated file has no line")).to_be_visible()
    device.press(link(page, "All jobs"))
    for kind, number in {"Export": 0, "Ask a teacher": 1}.items():
        device.choose(page.get_by_label("Kind"), kind)
        device.press(button(page, "Filter"))
        expect(page.locator(".list > li")).to_have_count(number)


def correct(device, graph):
    """An answer is found and marked, the mark is undone, and one of its claims is marked wrong."""
    add_bridge(graph)
    graph.ask(PRICE)
    graph.ask("Who decided to repair the footbridge?")
    page = device.page
    page.goto("/answers")
    device.write(page.get_by_label("Text"), "cost")
    device.press(button(page, "Filter"))
    expect(page.locator(".list > li")).to_have_count(1)
    device.press(link(page, PRICE))
    answer = page.get_by_role("region", name="Answer")
    device.press(answer.locator("summary"))
    device.press(button(answer, "It is right"))
    expect(answer).to_contain_text("Marked right by")
    device.press(link(page, "Answers"))
    device.choose(page.get_by_label("State"), "Marked right")
    device.press(button(page, "Filter"))
    device.press(link(page, PRICE))
    device.press(answer.locator("summary"))
    device.press(button(answer, "Undo the mark"))
    expect(answer).to_contain_text("undone by")

    fix = page.locator("details.line[open] .fix").first
    device.press(fix.locator("summary"))
    device.write(fix.get_by_label("Note"), "Too old")
    device.press(button(fix, "It is wrong"))
    expect(page.locator(".claims .bad").first).to_contain_text("Too old")


def privacy(device, graph):
    """The page shows each replacement in a question, and the calls that have left the machine by day."""
    page = device.page
    page.goto("/")
    device.press(link(page, "Privacy"))
    device.write(page.get_by_label("Question"), "Does anna.berg@clinic.example take antibiotics?")
    device.press(button(page, "Check"))
    result = page.get_by_role("region", name="Result")
    expect(result.locator("mark")).to_have_text("anna.berg@clinic.example")
    expect(result.locator(".compare > div").last).not_to_contain_text("anna")
    expect(result.get_by_role("row").last).to_contain_text("anna.berg@clinic.example")
    expect(page.locator(".days tbody tr")).to_have_text(re.compile("2026-01-02.*gpt-4o-mini.*1,234 tokens", re.DOTALL))


def sign_in(device, graph):
    """A reader signs in and sees only what the role allows."""
    add_bridge(graph)
    answer = graph.ask(PRICE)
    with closing(KeyRing(graph.settings.service_records_path)) as ring:
        key, _ = ring.add(f"key-{graph.settings.namespace}", "reader", [graph.settings.namespace])
    page = device.page
    page.goto("/")
    device.write(page.get_by_label("Key"), "dgk_wrong")
    device.press(button(page, "Sign in"))
    expect(page.get_by_role("alert")).to_contain_text("not valid")
    device.write(page.get_by_label("Key"), key)
    device.press(button(page, "Sign in"))
    device.press(link(page, PRICE))
    expect(page.locator("h1")).to_have_text(PRICE)
    expect(page.get_by_text("Right or wrong?")).to_have_count(0)
    device.press(link(page, "Show its graph"))
    expect(page.locator("details.thing").first).to_be_visible()
    expect(page.get_by_text("Merge two names")).to_have_count(0)
    device.press(link(page, "Knowledge"))
    expect(page.get_by_text("Add documents")).to_have_count(0)
    device.press(link(page, "letter-2026-04-10.txt"))
    expect(page.locator(".passage")).to_be_visible()
    expect(link(page, "Delete …")).to_have_count(0)
    for path in ("/distill", f"/sources/{answer.lines[0].source_id}/erase"):
        page.goto(path)
        expect(page.locator("h1")).to_contain_text("is required")
    device.press(link(page, "Go to the first page"))
    device.press(button(page, "Sign out"))
    expect(page.get_by_label("Key")).to_be_visible()


FLOWS = (ask, unanswered, why, explore, merge, search, documents, distil, correct, privacy, sign_in)
