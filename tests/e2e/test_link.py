"""`drag-graph link`: joining what queries share, looking at it, taking it back."""

import json
from pathlib import Path

import pytest

from drag_graph import DragGraph
from tests.e2e.conftest import ON_BOTH


def line(question, *triples):
    evidence = [" ".join(triple) + "." for triple in triples]
    parts = [
        {"subject": one, "predicate": how, "object": other, "evidence": [place], "confidence": 0.9}
        for place, (one, how, other) in enumerate(triples)
    ]
    return {"question": question, "evidence": evidence, "triples": parts}


LINES = [
    line("What carries genes?", ("DNA", "carries", "genes"), ("deoxyribonucleic acid (DNA)", "is", "a molecule")),
    line("What is in the nucleus?", ("the nucleus", "contains", "DNA"), ("Nucleus", "is part of", "the cell")),
    line("What does a cell have?", ("cells", "have", "a nucleus"), ("deoxyribonucleic acid", "is in", "cells")),
]


@pytest.fixture
def filled(cli, store, tmp_path, monkeypatch):
    """A store with a few questions about the same things."""
    path = tmp_path / "curated.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)), encoding="utf-8")
    questions = tmp_path / "questions.jsonl"
    questions.write_text("\n".join(json.dumps({"question": one["question"]}) for one in LINES), encoding="utf-8")
    monkeypatch.setenv("DRAG_GRAPH_STORE", str(store))
    assert cli("distill", questions, "--teacher", f"curated:{path}").code == 0
    yield
    if isinstance(store, Path):
        return
    for entry in cli("show", "--json").json:  # what it leaves in a shared server
        assert cli("db", "erase", "--query-id", entry["id"], "--yes").code == 0


@ON_BOTH
def test_link_show_undo_and_redo(cli, filled):
    before = cli("export").out
    first = cli("link", "--json")
    assert first.code == 0, first.err
    assert first.json["entities"] > first.json["concepts"] > 0
    assert first.json["merged"]["alias"] == 1
    linked = cli("export").out
    assert set(before.splitlines()) < set(linked.splitlines())
    assert "Everything is linked" in cli("link").out
    assert cli("export").out == linked
    (merge,) = cli("link", "--show", "deoxy", "--json").json["merges"]
    assert {merge["left"]["name"], merge["right"]["name"]} == {"DNA", "deoxyribonucleic acid"}
    assert (merge["method"], merge["score"], merge["undone_at"]) == ("alias", 1.0, None)
    assert merge["id"][:12] in cli("link", "--show").out

    undone = cli("link", "--undo", merge["id"][:8], "--json").json["merges"]
    assert undone[0]["undone_at"]
    assert cli("export").out != linked
    assert "Everything is linked" in cli("link").out, "it is not made again"
    assert cli("link", "--redo", f" {merge['id'].upper()} ").code == 0
    assert cli("export").out == linked
    assert cli("db", "verify").code == 0


@ON_BOTH
def test_a_merge_by_hand_lasts_and_the_cypher_of_a_picture_finds_its_edges(cli, filled):
    with DragGraph() as graph:
        graph.link().result()
        (made,) = graph.merge("genes", "the cell").merges
        assert (made.method, made.score, made.undone_at) == ("person", 1.0, "")
        graph.link().result()
        assert [one.id for one in graph.merges("genes").merges] == [made.id]
        assert graph.undo_merge(made.id).merges[0].undone_at
        assert not graph.redo_merge(made.id).merges[0].undone_at
        picture = graph.picture()
        rows = graph.store.query(picture.to_cypher(graph.settings.namespace), limit=1000).rows
        assert len(rows) == len(picture.edges) > 0
        assert graph.store.verify().problems == ()


def test_a_stored_question_is_shown_what_others_brought_too(cli, filled, tmp_path):
    assert cli("link").code == 0
    ask = ("ask", LINES[0]["question"], "--mode", "graph", "--relevance", "0.05", "--json")
    alone = cli(*ask).json
    both = cli(*ask, "--shared-lines", "2").json
    own = [(line["text"], line["ref"]) for line in alone["lines"]]
    assert [(line["text"], line["ref"]) for line in both["lines"]][: len(own)] == own, "one's own come first"
    added = [line["text"] for line in both["lines"][len(own) :]]
    assert 1 <= len(added) <= 2
    assert all("DNA" in text or "deoxyribonucleic" in text or "cell" in text for text in added), added
    assert both["source_ids"][0] == alone["source_ids"][0]
    assert len(both["source_ids"]) > 1, "the answer rests on those that brought them"
    assert both["answer_id"] != alone["answer_id"]
    audit = cli("audit", both["answer_id"], "--json").json
    assert [line["text"] for line in audit["lines"]] == [line["text"] for line in both["lines"]]
    assert cli(*ask, "--shared-lines", "2", "--mode", "none").json["lines"] == []
    (limited,) = cli(*ask, "--shared-lines", "2", "--max-lines", "1").json["lines"]
    assert limited["ref"] == own[0][1], "what is the own comes before"


def test_what_cannot_be_is_refused_in_words(cli, filled, tmp_path):
    assert cli("link", "--undo", "abc", "--show").code == 2
    assert cli("link", "heart").code == 2
    assert cli("link", "--undo", " ").code == 2
    gone = cli("link", "--undo", "zzz")
    assert gone.code == 3
    assert "link --show" in gone.err
    assert "There are no such merges" in cli("link", "--show", "nobody").out
    assert cli("link", "--store", tmp_path / "nothing.lbug").code == 3
