"""`drag-graph communities` by the command line, on both engines: made, kept, found, drawn, erased."""

import json
from html import unescape

import pytest

from drag_graph.testing.server import Say, ScriptedServer
from tests.e2e.conftest import ON_BOTH

BEETLE = "lazarus beetle"


def line(question, *triples):
    evidence = [" ".join(triple) + "." for triple in triples]
    parts = [
        {"subject": one, "predicate": how, "object": other, "evidence": [place], "confidence": 0.9}
        for place, (one, how, other) in enumerate(triples)
    ]
    return {"question": question, "evidence": evidence, "triples": parts}


LINES = [
    line("What carries genes?", ("DNA", "carries", "genes"), ("DNA", "is in", "the nucleus"), ("genes", "make", "proteins")),
    line("What is in the nucleus?", ("the nucleus", "contains", "DNA"), ("the nucleus", "is part of", "the cell")),
    line("Where do beetles live?", (BEETLE, "lives on", "Mount Obscure"), (BEETLE, "eats", "moss")),
    line("What is lead?", ("lead", "is", "a metal"), ("a metal", "conducts", "heat")),
]


@pytest.fixture
def distill(cli, store, tmp_path, monkeypatch):
    """Distill lines that people wrote."""
    monkeypatch.setenv("DRAG_GRAPH_STORE", str(store))

    def distil_(lines):
        curated, questions = tmp_path / "curated.jsonl", tmp_path / "questions.jsonl"
        curated.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        questions.write_text("\n".join(json.dumps({"question": one["question"]}) for one in lines), encoding="utf-8")
        done = cli("distill", questions, "--teacher", f"curated:{curated}", "--json")
        assert done.code == 0, done.err
        for path in (curated, questions):
            path.unlink()
        assert cli("link").code == 0
        return [query["id"] for query in done.json["queries"]]

    yield distil_
    assert cli("db", "erase", "--where", "domain=general", "--yes", "--no-compact").code == 0
    counts = cli("db", "status", "--json").json["counts"]
    assert (counts["Community"], counts["IN_COMMUNITY"]) == (0, 0)


@pytest.fixture
def server():
    with ScriptedServer() as opened:
        opened.always("summaries", _told)
        yield opened


def _told(request):
    """Say the lines of the graph back."""
    graph = request.prompt.split("<graph>")[-1].split("</graph>")[0]
    return Say({"summaries": [{"name": "Part", "summary": " ".join(graph.split())}]})


def by_model(server):
    return ("communities", "--min-size", "3", "--summariser", "scripted", "--summariser-base-url", server.url)


@ON_BOTH
def test_communities_are_made_once_and_only_what_changed_is_summarised_again(cli, distill, server):
    distill(LINES)
    first = cli(*by_model(server), "--json")
    assert first.code == 0, first.err
    assert (first.json["totals"]["made"], first.json["totals"]["calls"], server.count("summaries")) == (3, 3, 3)
    largest = first.json["communities"][0]
    assert (largest["things"], largest["edges"], largest["sources"]) == (5, 5, 2), "joined by what they share"
    exported = cli("export").out
    again = cli(*by_model(server), "--json").json
    assert (again["totals"]["calls"], again["totals"]["summarised"], server.count()) == (0, 0, 3)
    assert again["communities"] == first.json["communities"]
    assert cli("export").out == exported

    changed = line(LINES[3]["question"], ("lead", "is", "a metal"), ("a metal", "reflects", "light"))
    distill([changed])
    third = cli(*by_model(server), "--json").json
    assert (third["totals"]["summarised"], server.count()) == (1, 4)
    assert [item["id"] for item in third["communities"]] == [item["id"] for item in first.json["communities"]]
    other = [item for item in third["communities"] if item not in first.json["communities"]]
    assert [("reflects" in item["summary"], "conducts" in item["summary"]) for item in other] == [(True, False)]
    assert cli("db", "verify").code == 0


def test_communities_by_rules_are_shown_and_drawn(cli, distill, tmp_path):
    distill(LINES)
    printed = cli("communities", "--min-size", "3")
    assert printed.code == 0, printed.err
    assert "Communities: 3" in printed.out
    assert "3 new, 0 removed, 3 summarised, 0 unchanged; 0 calls" in printed.out
    shown = cli("communities", "--show", "--json").json["communities"]
    assert {item["summariser"] for item in shown} == {"rules/1"}
    assert any(BEETLE in item["name"] for item in shown)
    page = tmp_path / "c.html"
    assert cli("communities", "--show", "--format", "html", "-o", page).code == 0
    html = unescape(page.read_text(encoding="utf-8"))
    assert "<title>Communities of" in html
    assert all(item["name"] in html for item in shown)
    counts = cli("db", "status", "--json").json["counts"]
    assert (counts["Community"], counts["IN_COMMUNITY"]) == (3, counts["Entity"])


def test_what_was_erased_is_in_no_summary_and_in_no_file(cli, distill, server, tmp_path):
    ids = distill(LINES)
    assert cli(*by_model(server)).code == 0
    kept = lambda: [path for path in tmp_path.rglob("*") if path.is_file()]  # noqa: E731
    assert any(BEETLE.encode() in path.read_bytes() for path in kept()), "it was all there"
    done = cli("db", "erase", "--query-id", ids[2], "--yes", "--json")
    assert (done.json["erased"]["Community"], done.json["recorded"]["replies"]) == (1, 1)
    assert not [path for path in kept() if BEETLE.encode() in path.read_bytes()]
    left = cli("communities", "--show", "--json").json["communities"]
    assert len(left) == 2
    assert all(item["summary"] for item in left)

    done = cli("db", "erase", "--query-id", ids[1], "--yes", "--json")
    assert (done.json["erased"]["Community"], done.json["recorded"]["replies"]) == (1, 1), "one that two sources made"
    left = cli("communities", "--show", "--json").json["communities"]
    assert sorted(bool(item["summary"]) for item in left) == [False, True]
    assert "(not summarised yet)" in cli("communities", "--show").out
    assert cli("db", "verify").code == 0
    again = cli(*by_model(server), "--json").json
    assert (again["totals"]["summarised"], again["totals"]["made"]) == (1, 0)
    assert not [item for item in again["communities"] if "the cell" in item["summary"]]


def test_a_reply_that_is_unusable_a_budget_and_what_cannot_be(cli, distill, server):
    distill(LINES)
    server.script("summaries", *[Say("Rather some marmalade.")] * 3)
    done = cli(*by_model(server), "--workers", "1")
    assert done.code == 1
    assert "is summarised by rules: The teacher's reply is unusable" in done.err
    assert cli(*by_model(server)).code == 0
    assert cli("communities", "--summariser", "curated:x").code == 2
    priced = ("--summariser", "gpt-4o-mini", "--summariser-base-url", server.url, "--budget-usd")
    assert cli("communities", *priced, "0.000001").code == 5
    assert cli("communities", *priced, "1").code == 0


@pytest.mark.parametrize("store", ["embedded"], indirect=True)
def test_an_empty_store_has_none(cli, store, tmp_path):
    assert cli("communities", "--store", store).code == 3
    empty = tmp_path / "f.jsonl"
    empty.write_text('{"format": "drag-graph subgraphs", "version": 2, "namespace": "default", "embedder": null}\n')
    with empty.open("a") as file:
        file.write('{"end": "drag-graph subgraphs", "subgraphs": 0}\n')
    assert cli("import", empty, "--store", store).code == 0
    assert "There are no communities" in cli("communities", "--store", store).out


@pytest.mark.parametrize("store", ["embedded"], indirect=True)
def test_documents_keep_their_communities_while_they_change_and_take_them_along(cli, store, tmp_path, monkeypatch):
    monkeypatch.setenv("DRAG_GRAPH_STORE", str(store))
    texts = {
        "a.md": "Aspirin inhibits an enzyme. The enzyme produces prostaglandins. Aspirin reduces fever.\n",
        "b.md": "The lazarus beetle eats moss. The lazarus beetle lives on Mount Obscure.\n",
    }
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    assert cli("ingest", folder).code == 0
    first = cli("communities", "--min-size", "2", "--json").json
    (folder / "a.md").write_text(texts["a.md"].replace("reduces fever", "treats headaches"), encoding="utf-8")
    assert cli("ingest", folder).code == 0
    second = cli("communities", "--min-size", "2", "--json").json
    assert (second["totals"]["made"], second["totals"]["summarised"]) == (0, 1)
    assert {item["id"] for item in second["communities"]} == {item["id"] for item in first["communities"]}
    (folder / "b.md").unlink()
    assert cli("ingest", folder, "--sync").code == 0
    (left,) = cli("communities", "--show", "--json").json["communities"]
    assert "headaches" in left["summary"]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and BEETLE.encode() in path.read_bytes()]
