"""`graph.privacy` and `graph.tape`, and their commands."""

import json

import pytest
from typer.testing import CliRunner

from cli.app import app
from drag_graph.app.application import DragGraph
from drag_graph.errors import ConfigurationError, InputError, MissingExtra
from drag_graph.identity import query_id
from drag_graph.model import Answer
from drag_graph.models import spacy_model
from drag_graph.ports.private_details import Finding
from drag_graph.privacy import privacy_gate
from drag_graph.privacy.gate_reports import revealed
from drag_graph.privacy.vault import Original, Vault
from drag_graph.testing.rewriting import ToldRewriter

NAME = "Zorblax Quenneville"
QUESTION = f"Why does {NAME} cough?"
ASKED = "Why does Person A cough?"


@pytest.fixture
def levels(monkeypatch):
    opened = []

    def rewriter(level):
        opened.append(level)
        return ToldRewriter({NAME: ("PERSON", "Person A")})

    monkeypatch.setattr(privacy_gate, "local_rewriter", rewriter)
    return opened


@pytest.fixture
def graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with DragGraph(tmp_path / "graph.lbug") as opened:
        yield opened


def test_a_check_shows_what_would_be_sent(graph, levels):
    report = graph.privacy.check([QUESTION, "Why?"], privacy="strict", why=True)
    assert levels == ["strict"]
    assert [entry["outgoing"] for entry in report.queries] == [ASKED, "Why?"]
    assert report
    assert report.totals == {"queries": 2, "changed": 1, "refused": 0, "rejected": 0, "findings": {"PERSON": 1}}
    assert json.loads(json.dumps(report.to_dict()))["queries"][0]["original"] == QUESTION
    assert f"<mark>{NAME}</mark>" in report.to_html()
    assert graph.privacy.check(["Why?"])
    assert levels[-1] == "standard"
    with pytest.raises(ConfigurationError, match="'off'") as caught:
        graph.privacy.check(["Why?"], privacy="off")
    assert "`privacy=standard`" in caught.value.hint


def test_a_check_never_advises_to_switch_the_gate_off(graph, monkeypatch):
    monkeypatch.setattr(spacy_model, "MODELS", ("no_such_model",))
    with pytest.raises(MissingExtra, match="No English spaCy model") as caught:
        graph.privacy.check(["Why?"])
    assert "spacy download" in caught.value.hint
    assert "off" not in caught.value.hint


def test_the_level_has_the_flag_of_all_commands(tmp_path, monkeypatch, levels):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "questions.jsonl").write_text(json.dumps({"question": QUESTION}) + "\n{}\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["privacy", "check", "questions.jsonl", "--privacy", "strict", "--json"])
    assert done.exit_code == 1, "a line is unusable"
    assert levels == ["strict"]
    assert json.loads(done.stdout)["totals"]["rejected"] == 1


def test_an_answer_is_revealed_once_for_each_text(tmp_path):
    """A question that was distilled with an id and asked without one was printed twice."""
    finding = Finding("question", 9, 28, "PERSON", "test", "Person A")
    answer = Answer(
        id="a1", question=ASKED, namespace="default", text="Person A smokes.", confidence=1, mode="none", student="s"
    )
    asked_id = query_id("default", ASKED, ())
    vault = Vault(tmp_path / "graph.lbug.vault")
    for own_id in ("", "q-1", ""):
        vault.keep(
            asked_id, "default", Original(QUESTION, (), (finding,), own_id=own_id, metadata=f'{{"n": "{own_id}"}}'), "standard"
        )
    (original,) = revealed(answer, vault)
    assert (original["own_id"], original["question"], original["answer"]) == ("q-1", QUESTION, f"{NAME} smokes.")
    vault.close()


def test_a_scan_finds_details_in_files_and_prints_no_text(graph, levels, tmp_path):
    file = tmp_path / "export.jsonl"
    file.write_text(json.dumps({"question": QUESTION, "note": "mail x@example.org"}) + "\n", encoding="utf-8")
    report = graph.privacy.scan([file])
    assert [(item["field"], item["type"]) for item in report.findings] == [("question", "PERSON"), ("note", "EMAIL")]
    assert report.totals == [{"place": str(file), "type": kind, "number": 1} for kind in ("EMAIL", "PERSON")]
    assert NAME not in json.dumps(report.to_dict())
    with pytest.raises(InputError, match="Cannot read"):
        graph.privacy.scan([tmp_path / "missing"])


def test_a_tape_is_exported_and_imported(graph, tmp_path):
    tape = tmp_path / "teacher.tape"
    tape.write_text('{"format": "drag-graph teacher tape", "version": 2}\n', encoding="utf-8")
    assert graph.tape.import_(tape).to_dict() == {"new": 0, "ledger": str(tmp_path / "graph.lbug.ledger")}
    assert [json.loads(line)["version"] for line in graph.tape.export()] == [2]
    assert list(graph.tape.quarantined()) == []


def test_the_configuration_and_an_estimate_name_the_model_that_guards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = json.loads(CliRunner().invoke(app, ["config", "--json"]).stdout)
    assert values["name_model"]["value"].startswith("en_core_web_sm")
    command = ["distill", "-q", "Why?", "--teacher", "gpt-4o-mini", "--embedder", "lexical", "--dry-run", "--json"]
    estimate = json.loads(CliRunner().invoke(app, command).stdout)
    assert estimate["privacy"].startswith("standard; ")
    assert values["name_model"]["value"] in estimate["privacy"]
    monkeypatch.setattr(spacy_model, "MODELS", ("no_such_model",))
    values = json.loads(CliRunner().invoke(app, ["config", "--json"]).stdout)
    assert values["name_model"]["value"].startswith("none: No English spaCy model")
    assert json.loads(CliRunner().invoke(app, command).stdout)["privacy"] == "no working gate"
