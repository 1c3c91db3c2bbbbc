"""What a weak claim, and two claims that contradict each other, are to a student and in the audit; edges made anew."""

import json

import pytest

from drag_graph.stores.neo4j.connection import Neo4jConnection
from tests.e2e.conftest import ON_BOTH

TRIPLES = (("reduces", 0), ("increases the risk of", 1))
QUESTION = "What does aspirin do to bleeding?"
REDUCES, INCREASES = "aspirin reduces bleeding", "aspirin increases the risk of bleeding"


@pytest.fixture
def distilled(cli, store, tmp_path):
    """Distill the question with evidence of these confidences for both claims, and return the flags that name the store."""

    def run(reduces, increases, *flags):
        evidence = ["Some say that aspirin reduces bleeding.", "Aspirin increases the risk of bleeding."]
        triples = [
            {"subject": "aspirin", "predicate": name, "object": "bleeding", "confidence": confidence, "evidence": [place]}
            for (name, place), confidence in zip(TRIPLES, (reduces, increases), strict=True)
        ]
        curated = tmp_path / "curated.jsonl"
        curated.write_text(json.dumps({"question": QUESTION, "evidence": evidence, "triples": triples}), encoding="utf-8")
        done = cli("distill", "-q", QUESTION, "--teacher", f"curated:{curated}", "--store", store, *flags, "--json")
        assert done.code == 0, done.err
        return done.json["queries"][0]

    return run


def asked(cli, store, *flags):
    done = cli("ask", QUESTION, "--store", store, "--mode", "graph", "--json", *flags)
    assert done.code == 0, done.err
    return done.json


@pytest.mark.parametrize("merge", ["max", "noisy-or"])
def test_a_weak_claim_does_not_reach_the_student_and_is_in_the_audit(cli, store, distilled, merge):
    distilled(0.1, 0.9, "--merge", merge)
    answer = asked(cli, store)
    assert [line["text"] for line in answer["lines"]] == [INCREASES]
    audit = cli("audit", answer["answer_id"], "--store", store, "--json").json
    (line,) = audit["lines"]
    assert line["live"] is True
    assert (line["edge"]["confidence"], line["edge"]["contradicts"]) == (0.9, [])
    assert [(triple["predicate"], triple["confidence"]) for triple in line["triples"]] == [("increases the risk of", 0.9)]
    ((weak,),) = [line["not_shown"]]
    assert (weak["predicate"], weak["confidence"], weak["evidence"]["text"]) == (
        "reduces",
        0.1,
        "Some say that aspirin reduces bleeding.",
    )
    assert "threshold" in weak["why"]
    assert weak["calls"]
    for form in ("table", "html", "prov"):
        done = cli("audit", answer["answer_id"], "--store", store, "--format", form)
        assert done.code == 0, done.err
        assert ("Some say that aspirin reduces bleeding." in done.out.replace("\n", " ")) or form != "html"


def test_two_claims_that_contradict_each_other_are_two_lines_that_say_so(cli, store, distilled):
    distilled(0.8, 0.8)
    answer = asked(cli, store)
    assert sorted(line["text"] for line in answer["lines"]) == sorted([f"{REDUCES} (disputed)", f"{INCREASES} (disputed)"])
    audit = cli("audit", answer["answer_id"], "--store", store, "--json").json
    first, second = (line["edge"] for line in audit["lines"])
    assert (first["contradicts"], second["contradicts"]) == ([second["id"]], [first["id"]])
    assert [edge["confidence"] for edge in (first, second)] == [0.8, 0.8]
    assert [line["not_shown"] for line in audit["lines"]] == [[], []]
    printed = cli("audit", answer["answer_id"], "--store", store).out
    assert f"contradicted by (confidence 0.80) {second['statement'][:20]}" in printed
    assert second["id"] not in printed
    assert "These contradict each other" in cli("audit", answer["answer_id"], "--store", store, "--format", "html").out
    assert f"drag:edge/{second['id']}" in cli("audit", answer["answer_id"], "--store", store, "--format", "prov").out
    assert "disputed" in cli("show", answer["source_ids"][0], "--store", store).out
    assert "disputed" in cli("show", answer["source_ids"][0], "--store", store, "--format", "text").out
    assert cli("db", "verify", "--store", store).code == 0


@ON_BOTH
def test_edges_are_made_anew_without_asking_anyone(cli, store, distilled):
    query = distilled(0.3, 0.9)
    assert query["edges"] == 1
    done = cli("aggregate", "--store", store, "--threshold", 0.2, "--json")
    assert done.code == 0, done.err
    assert done.json == {
        "sources": 1,
        "before": {"edges": 1, "pruned_claims": 1, "contradictions": 0, "multigraphs": 0},
        "after": {"edges": 2, "pruned_claims": 0, "contradictions": 1, "multigraphs": 0},
        "statements_kept": 0,
        "statements_dropped": 0,
    }
    assert len(asked(cli, store)["lines"]) == 2
    whole = cli("aggregate", "--store", store, "--threshold", 0.2, "--strategy", "whole-pair", "--json").json["after"]
    assert (whole["edges"], whole["contradictions"]) == (1, 1)
    assert asked(cli, store)["lines"][0]["text"].endswith(" (disputed)")
    done = cli("aggregate", "--store", store, "--threshold", 0.95, "--query-id", query["id"][:8])
    assert done.code == 0, done.err
    assert "raw multigraphs" in done.out
    again = cli("aggregate", "--store", store, "--threshold", 0.95, "--json").json
    assert again["before"] == again["after"] == {"edges": 0, "pruned_claims": 2, "contradictions": 0, "multigraphs": 1}
    assert cli("aggregate", "--store", store, "--query-id", "0000").code == 3
    assert cli("db", "verify", "--store", store).code == 0


def test_an_answer_that_is_not_kept_changes_nothing(cli, store, distilled):
    distilled(0.8, 0.8)
    before = cli("export", "--store", store, "--full").out
    answer = asked(cli, store, "--no-keep")
    assert answer["answer_id"] is None
    assert answer["not_kept"]
    assert cli("export", "--store", store, "--full").out == before


@pytest.mark.parametrize("store", ["neo4j"], indirect=True)
def test_who_may_only_read_in_neo4j_asks_without_keeping(cli, store, distilled, monkeypatch):
    """Neo4j Community has no roles. But its server refuses every write of a session that was opened for reading."""
    distilled(0.8, 0.8)
    session = Neo4jConnection._session
    monkeypatch.setattr(Neo4jConnection, "_session", lambda self, access: session(self, "READ"))
    refused = cli("ask", QUESTION, "--store", store)
    assert refused.code == 3
    assert "--no-keep" in refused.err
    answer = asked(cli, store, "--no-keep")
    assert answer["lines"]
    assert answer["not_kept"]


def test_distilling_under_another_threshold_changes_nothing_and_names_the_command_that_does(cli, store, distilled):
    first = distilled(0.3, 0.9)
    assert first["calls"] > 0
    again = distilled(0.3, 0.9, "--threshold", 0.2)
    assert (again["calls"], again["edges"], first["edges"]) == (0, 1, 1)
    assert "drag-graph aggregate" in again["notes"][0]
    assert cli("aggregate", "--store", store, "--threshold", 0.2).code == 0
    assert distilled(0.3, 0.9, "--threshold", 0.2)["notes"] == []
