"""`drag-graph search`, and restrictions of `search` and `ask`."""

import json

import pytest

from tests.e2e.conftest import EXAMPLES

BUDGET = """# Budget of the Orchid project

The board approved the plan on 2 March 2026. The Orchid project gets 4 million euros.

## Suppliers

| supplier | product | lead time |
|---|---|---|
| Fjordmetall | castings | 10 weeks |
| Alpenglas | lenses | 6 weeks |
"""
MAIL = """From: a@example.org
To: b@example.org
Subject: Delay of the castings
Date: Tue, 14 Apr 2026 10:00:00 +0000

Fjordmetall told us that the castings will arrive two weeks late.
"""
QUESTION = "What is the lead time of the castings?"


@pytest.fixture
def filled(cli, tmp_path, monkeypatch):
    """A store with two documents and a distilled question."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "budget.md").write_text(BUDGET, encoding="utf-8")
    (tmp_path / "docs" / "mail.eml").write_text(MAIL, encoding="utf-8")
    monkeypatch.setenv("DRAG_GRAPH_STORE", str(tmp_path / "graph.lbug"))
    assert cli("ingest", tmp_path / "docs").code == 0
    curated = {"question": QUESTION, "evidence": ["Castings take ten weeks."], "triples": []}
    (tmp_path / "curated.jsonl").write_text(json.dumps(curated), encoding="utf-8")
    assert cli("distill", "-q", QUESTION, "--teacher", f"curated:{tmp_path / 'curated.jsonl'}").code == 0


def names(done):
    assert done.code == 0, done.err
    return [source["name"] for source in done.json["sources"]]


def test_sources_spans_and_edges_come_best_first(cli, filled):
    found = cli("search", "lead time of Fjordmetall", "--json").json
    assert [source["kind"] for source in found["sources"]].count("document") == 2
    best = found["spans"][0]
    assert (best["text"], best["kind"]) == ("Fjordmetall | product: castings | lead time: 10 weeks", "span")
    place = best["document"]
    assert (place["name"], place["heading"]) == ("budget.md", ["Budget of the Orchid project", "Suppliers"])
    assert {entry["list"] for entry in best["lists"]} <= {"query", "vector", "words", "graph"}
    assert all(entry["rank"] >= 1 for entry in best["lists"])
    for part in ("sources", "spans", "edges"):
        scores = [item["score"] for item in found[part]]
        assert scores == sorted(scores, reverse=True)
    assert found["edges"]
    assert "reason" not in found


def test_the_limit_counts_sources(cli, filled):
    found = cli("search", "castings", "--limit", 1, "--json").json
    (source,) = found["sources"]
    assert {item["source_id"] for item in found["spans"] + found["edges"]} == {source["id"]}
    assert cli("search", "castings", "--limit", 0).code == 2


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_output_fits_the_terminal(cli, filled, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    out = cli("search", "lead time of the castings").out
    assert max(map(len, out.splitlines())) <= columns
    printed = " ".join(out.split())
    assert "Fjordmetall | product: castings | lead time: 10 weeks" in printed
    assert printed.index("budget.md") < printed.index("Spans") < printed.index("Edges")
    assert "words (1)" in printed


@pytest.mark.parametrize(
    ("restriction", "expected"),
    [
        (("--source", "budget.md"), {"budget.md"}),
        (("--source", "*.eml", "--source", "BUDGET*"), {"mail.eml", "budget.md"}),
        (("--since", "2026-04", "--until", "2026-04-14"), {"mail.eml"}),
        (("--until", "2020"), set()),
        (("--tag", "suppliers"), set()),
    ],
)
def test_a_search_is_restricted(cli, filled, restriction, expected):
    assert set(names(cli("search", "castings", *restriction, "--json"))) == expected
    asked = cli("ask", "When will the castings arrive?", *restriction, "--relevance", "0.1", "--json").json
    assert {line["document"]["name"] for line in asked["lines"]} == expected
    assert ("selected sources" in asked.get("reason", "")) is not expected


def test_a_source_is_selected_by_the_id_that_is_printed(cli, filled):
    listed = {entry["id"][:12]: entry for entry in cli("show", "--json").json}
    for short in listed:
        found = cli("search", "castings", "--source", short, "--json").json["sources"]
        assert [source["id"][:12] for source in found] == [short]


def test_a_stored_question_counts_only_within_the_restriction(cli, filled, tmp_path):
    alone = cli("ask", QUESTION, "--json").json
    assert [line["text"] for line in alone["lines"]] == ["Castings take ten weeks.", "Castings take ten weeks"]
    restricted = cli("ask", QUESTION, "--source", "*.md", "--json").json
    assert {line["document"]["name"] for line in restricted["lines"]} == {"budget.md"}
    (tmp_path / "questions.jsonl").write_text(json.dumps({"question": QUESTION}), encoding="utf-8")
    (answer,) = cli("ask", "--file", tmp_path / "questions.jsonl", "--source", "*.md", "--json").json["answers"]
    assert answer["lines"] == restricted["lines"]
    itself = cli("ask", QUESTION, "--source", QUESTION, "--json").json
    assert itself["lines"] == alone["lines"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ask", "--query-id", "9b1c", "--tag", "a"), "--query-id excludes --source, --since, --until and --tag."),
        (("ask", QUESTION, "--distill-missing", "--teacher", "curated:x", "--since", "2026"), "cannot distill what is missing"),
        (("ask", QUESTION, "--since", "soon"), "'soon' is not a date"),
        (("search", QUESTION, "--since", "2026", "--until", "2025"), "ends before it begins"),
        (("search", QUESTION, "--source", ""), "is empty"),
        (("search", ""), "unusable"),
    ],
)
def test_what_cannot_be_is_refused(cli, filled, arguments, message):
    done = cli(*arguments)
    assert done.code == 2
    assert message in done.err


def test_nothing_found_is_said_plainly(cli, filled):
    done = cli("search", "castings", "--source", "*.pdf")
    assert (done.code, done.out) == (0, "Nothing was found in the selected sources.\n")
    found = cli("search", "castings", "--source", "*.pdf", "--json").json
    assert found == {"sources": [], "spans": [], "edges": [], "reason": "nothing was found in the selected sources"}
    done = cli("search", "castings", "--namespace", "other")
    assert done.code == 0
    assert done.out.startswith("Nothing is stored in ")


def test_without_a_store_the_search_says_so(cli):
    done = cli("search", "castings", "--store", "none.lbug")
    assert done.code == 3
    assert "There is no store" in done.err


def test_what_writes_leaves_the_index_ready(cli, filled, tmp_path):
    index = tmp_path / "graph.lbug.search"
    before = index.read_bytes()
    assert cli("search", "castings", "--json").code == 0
    assert index.read_bytes() == before, "the search had nothing to add"
    for name in (index.name, f"{index.name}-wal", "graph.lbug.0123456789ab.search"):
        refused = cli("export", "-o", tmp_path / name, "--force")
        assert (refused.code, index.read_bytes()) == (2, before), name


def test_an_unusable_index_fails_no_run(cli, filled, tmp_path):
    index = tmp_path / "graph.lbug.search"
    index.unlink()
    index.mkdir()
    assert cli("link").code == 0
    assert "budget.md" in names(cli("search", "castings", "--json"))


def test_imported_sources_are_found_at_once(cli, filled, tmp_path):
    assert cli("export", "--format", "subgraphs", "-o", tmp_path / "all.jsonl").code == 0
    other = ("--store", tmp_path / "other.lbug")
    assert cli("import", tmp_path / "all.jsonl", *other).code == 0
    again, before = (cli("search", "lead time of Fjordmetall", "--json", *more).json for more in (other, ()))
    assert again["spans"] == before["spans"]


def test_the_audit_lists_the_passages_of_a_span(cli, filled, tmp_path):
    sentences = [
        f"The harbour was dredged by a Dutch company in {year}, and the work was done well." for year in range(2010, 2020)
    ]
    (tmp_path / "docs" / "harbour.txt").write_text(" ".join(sentences), encoding="utf-8")
    assert cli("ingest", tmp_path / "docs").code == 0
    answer = cli("ask", "Who dredged the harbour?", "--mode", "evidence", "--json").json
    audit = cli("audit", answer["answer_id"], "--json").json
    line = audit["lines"][0]
    assert len(line["passages"]) > 1
    assert line["evidence"]["document"]["start"] == line["passages"][0]["start"]
    assert line["evidence"]["document"]["end"] == line["passages"][-1]["end"]
    tree = cli("audit", answer["answer_id"]).out
    prov = cli("audit", answer["answer_id"], "--format", "prov").out
    page = cli("audit", answer["answer_id"], "--format", "html").out
    assert f"<mark>{sentences[0]}" in page
    for passage in line["passages"]:
        assert f"characters {passage['start']}-{passage['end']}" in " ".join(tree.split())
        assert f"drag:evidence/{passage['id']}" in prov


def test_the_examples_can_be_searched(cli, tmp_path):
    assert cli("distill", EXAMPLES / "questions.jsonl", "--teacher", f"curated:{EXAMPLES / 'curated.jsonl'}").code == 0
    found = cli("search", "tides", "--json").json
    assert found["sources"][0]["kind"] == "query"
    assert "tides" in found["spans"][0]["text"]
    assert "tides" in cli("search", "tides").out
