"""A model of this machine that words questions anew: when its words are used, and that it can make nothing worse."""

import json

import pytest

from drag_graph.app.resources import Resources
from drag_graph.compose.model_factories import make_reworder
from drag_graph.errors import ConfigurationError, ModelUnavailable
from drag_graph.inputs import make_query
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.ports.private_details import Finding, Kept, Rewritten
from drag_graph.privacy import privacy_gate as opening
from drag_graph.privacy.failsafe_rewriter import GuardedRewriter
from drag_graph.privacy.model_rewriter import Reworder
from drag_graph.privacy.privacy_gate import PrivacyGate
from drag_graph.privacy.vault import Vault
from drag_graph.settings import Settings
from drag_graph.testing.rewriting import ToldRewriter
from drag_graph.testing.server import Fault, Say, ScriptedServer

TOLD = {"Zorblax Quenneville": ("PERSON", "Person A")}
QUESTION = "My pupil Zorblax Quenneville of Mistlethorpe measured 12.5 volts on the cell; which metal did Volta use?"
ASKED = "My pupil Person A of Mistlethorpe measured 12.5 volts on the cell; which metal did Volta use?"
BETTER = "My pupil Person A of a village measured 12.5 volts on the cell; which metal did Volta use?"
OPTIONS = ("zinc", "gold")


def said(question=BETTER, original="Mistlethorpe", placeholder="a village"):
    return Say({"question": question, "replacements": [{"original": original, "placeholder": placeholder}]})


@pytest.fixture
def server():
    with ScriptedServer() as found:
        yield found


@pytest.fixture
def settings(server, tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "local_rewriter", lambda _level: ToldRewriter(TOLD))
    return Settings(
        store=str(tmp_path / "graph.lbug"),
        embedder="lexical",
        privacy="standard",
        rewriter="scripted",
        rewriter_base_url=server.url,
    )


@pytest.fixture
def gate(settings, tmp_path):
    gate = opening.open_gate("standard", tmp_path / "x.vault", reworder=make_reworder(settings))
    yield gate
    gate.close()


def test_what_the_detectors_missed_is_taken_out_in_the_model_s_words(gate, server, tmp_path):
    server.script("rewrite", said())
    query = make_query(QUESTION, list(OPTIONS), input_id="q-1")
    asked = gate.rewrite_query(query)
    assert asked.text == BETTER
    (request,) = server.of("rewrite")
    assert ASKED in request.prompt
    assert "Quenneville" not in request.prompt
    assert "scripted" in gate.fingerprint

    known = gate.disguise(asked, query)
    assert {item["original"]: item["replacement"] for item in known.generalised()} == {
        "Zorblax Quenneville": "Person A", "Mistlethorpe": "a village",
    }  # fmt: skip
    assert gate.facts(known)["generalised"][0] == {"type": "DETAIL", "detector": "model", "number": 1}
    assert gate.rewrite_query(query) == asked
    assert server.count("rewrite") == 1, "the same question is asked in the same words, whatever the model says today"

    vault = Vault(tmp_path / "x.vault")
    (original,) = vault.originals(asked.id)
    reworder = make_reworder(Settings(rewriter="scripted", rewriter_base_url=server.url))
    mark, call = vault.recorded(reworder.call(ASKED))
    assert mark == original.call
    assert json.loads(call["reply"])["question"] == BETTER
    assert call["tokens_out"] > 0
    assert not any(b"Mistlethorpe" in file.read_bytes() for file in tmp_path.iterdir())
    vault.erase([asked.id])
    assert vault.recorded(reworder.call(ASKED)) == (mark, None)


NOT_USED = {
    "nothing": Say({"question": ASKED, "replacements": []}),
    "other words, nothing taken out": Say({"question": BETTER, "replacements": []}),
    "the name stays": said(BETTER + " (Mistlethorpe)"),
    "the name is in its placeholder": said(
        BETTER.replace("a village", "Mistlethorpe village"), placeholder="Mistlethorpe village"
    ),
    "a number is gone": said(BETTER.replace("12.5", "some")),
    "a number is another": said(BETTER.replace("12.5", "12.6")),
    "a placeholder is gone": said(BETTER.replace("Person A of", "from")),
    "another question": said("Where does Person A find 12.5 glaciers, in a village or elsewhere?"),
    "no name is taken out": said(ASKED.replace("metal", "substance"), "metal", "substance"),
    "an option is named": said(BETTER, "Zinc", "a metal"),
    "what stands for a detail is taken out": said(ASKED.replace("Person A", "somebody"), "Person A", "somebody"),
    "something new for a detector": said(BETTER.replace("a village", "x@y.example"), placeholder="x@y.example"),
    "no JSON": Say("I cannot do that."),
    "nonsense": Say({"question": 1}),
    "an answer": Say({"question": "zinc", "replacements": [{"original": "Mistlethorpe", "placeholder": "zinc"}]}),
    "rejected": Fault(400),
}


@pytest.mark.parametrize("reply", NOT_USED.values(), ids=NOT_USED)
def test_else_the_question_is_asked_as_the_detectors_left_it(gate, server, reply):
    server.script("rewrite", *[reply] * 3)
    assert gate.rewrite_query(make_query(QUESTION, list(OPTIONS))).text == ASKED
    assert server.count("rewrite") >= 1


def test_what_is_public_stays_whatever_the_model_says():
    question = "Which metal did Volta use in Pavia?"
    kept = Kept("question", 16, 21, "PERSON", "told", "known to the public")
    reworder = Reworder("x", lambda: None, LexicalEmbedder())
    reply = said("Which metal did Person A use in Pavia?", "Volta", "Person A").text
    assert reworder.checked(question, Rewritten(question, (), (), (kept,)), json.dumps(reply)) is None
    found = reworder.checked(question, Rewritten(question, (), (), ()), json.dumps(reply))
    assert found.findings == (Finding("question", 16, 21, "DETAIL", "model", "Person A"),)


def test_a_model_that_cannot_be_used_ends_the_run(settings, tmp_path):
    away = settings.model_copy(update={"rewriter_base_url": "http://127.0.0.1:9/v1"})
    reworder = make_reworder(away)
    gate = PrivacyGate(GuardedRewriter(ToldRewriter(TOLD)), reworder=reworder)
    with pytest.raises(ModelUnavailable):
        gate.rewrite_query(make_query(QUESTION))


@pytest.mark.parametrize("address", ["", "https://api.example.org/v1"])
def test_a_model_of_another_machine_is_refused(settings, address):
    with (
        pytest.raises(ConfigurationError, match="not on this machine"),
        Resources(settings.model_copy(update={"rewriter": "gpt-4o-mini", "rewriter_base_url": address})).writing(),
    ):
        pass
