"""Open questions through the application: instruction, citations, support, cuts, refusals, and parts of the answer."""

import json

import pytest
from typer.testing import CliRunner

from cli.app import app
from drag_graph import DragGraph
from drag_graph.errors import ConfigurationError, InputError
from drag_graph.testing.server import Say, ScriptedServer

MEMO = """# Kitchen of the mill

The kitchen uses 40 kg of flour a day. Anna Berg bakes the bread before 6 am.

The oven was built by Hartmann in 1931.
"""
QUESTION = "How much flour does the kitchen use?"


@pytest.fixture
def server():
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def settings(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memo.md").write_text(MEMO, encoding="utf-8")
    with DragGraph("graph.lbug", embedder="lexical") as graph:
        graph.ingest(["memo.md"])
    return {"embedder": "lexical", "student": "openai/scripted", "student_base_url": server.url, "privacy": "off"}


@pytest.fixture
def graph(settings):
    with DragGraph("graph.lbug", **settings) as opened:
        yield opened


def supports(answer):
    return [(one["text"], one["supported"]) for one in answer.sentences]


def test_the_student_has_the_lines_and_the_instruction(graph, server):
    server.script("student", Say("It uses 40 kg of flour a day [1]."))
    answer = graph.ask(QUESTION)
    assert answer.text == "It uses 40 kg of flour a day [1]."
    assert supports(answer) == [("It uses 40 kg of flour a day [1].", True)]
    assert answer.to_dict()["sentences"][0]["lines"] == [1]
    (request,) = server.of("student")
    assert "cite the number of its line" in request.prompt
    assert "40 kg of flour" in request.prompt
    assert request.body["max_tokens"] == 256


@pytest.mark.parametrize("made_up", ["Anna Berg comes from Oslo.", "The oven cost 900 euros.", "It was built in 1947 [1]."])
def test_an_unsupported_sentence_is_marked_everywhere(graph, server, made_up, capsys):
    server.script("student", Say(f"The kitchen uses 40 kg of flour a day [1]. {made_up}"))
    answer = graph.ask(QUESTION)
    assert [supported for _, supported in supports(answer)] == [True, False]
    (note,) = answer.result.notes
    assert made_up in note
    audit = graph.audit(answer.id)
    assert audit.to_dict()["sentences"] == answer.sentences
    assert note in str(audit).replace("\n", " ")
    assert f'<span class="unsupported">{made_up.partition(" [")[0]}' in audit.to_html()
    assert made_up in answer._repr_html_()


def test_a_citation_of_no_line_is_removed_and_noted(graph, server):
    server.script("student", Say("The kitchen uses 40 kg of flour a day [1, 77]."))
    answer = graph.ask(QUESTION)
    assert answer.text == "The kitchen uses 40 kg of flour a day [1]."
    assert answer.to_dict()["removed_citations"] == [77]
    assert "77" in answer.result.notes[-1]


def test_an_abstention_is_told_in_json_and_text(graph, server):
    server.script("student", Say("The lines do not mention how much it is."))
    answer = graph.ask(QUESTION)
    assert answer.abstained
    assert answer.reason == "the sources do not answer this"
    assert graph.audit(answer.id).to_dict()["abstained"] is True


def test_a_cut_answer_is_marked(graph, server):
    server.script("student", Say("The kitchen uses 40 kg of", finish_reason="length"))
    answer = graph.ask(QUESTION, max_answer_tokens=8)
    assert server.of("student")[0].body["max_tokens"] == 8
    assert answer.to_dict()["truncated"] is True
    assert "cut off" in " ".join(answer.result.notes)
    assert "cut off" in str(graph.audit(answer.id))


def test_parts_arrive_before_the_answer(graph, server):
    server.script("student", Say("It uses 40 kg [1]."))
    parts = []
    answer = graph.ask(QUESTION, on_token=parts.append)
    assert "".join(parts) == answer.text
    assert len(parts) > 1


def test_a_file_replaces_the_instruction(graph, server, tmp_path):
    (tmp_path / "latin.txt").write_text("Reply in Latin.\n", encoding="utf-8")
    server.script("student", Say("Quadraginta."))
    graph.ask(QUESTION, system_prompt="latin.txt")
    assert "Reply in Latin." in server.of("student")[0].prompt
    assert "cite the number" not in server.of("student")[0].prompt


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\xff"])
def test_an_unusable_instruction_is_named(graph, tmp_path, content):
    if content is not None:
        (tmp_path / "prompt.txt").write_bytes(content)
    with pytest.raises(InputError, match=r"prompt\.txt"):
        graph.ask(QUESTION, system_prompt="prompt.txt")


@pytest.mark.parametrize(("verdict", "supported"), [("A", True), ("B", False)])
def test_a_local_model_checks_each_sentence(graph, server, verdict, supported):
    server.script("student", Say("The kitchen uses 40 kg of flour a day [1]."), Say(verdict))
    answer = graph.ask(QUESTION, checker="openai/scripted", checker_base_url=server.url)
    assert [one["supported"] for one in answer.sentences] == [supported]
    asked = server.of("student")[1].prompt
    assert "uses 40 kg of flour a day" in asked
    assert "A. yes\nB. no" in asked


def test_the_checker_must_be_on_this_machine(graph):
    with pytest.raises(ConfigurationError, match="not on this machine"):
        graph.ask(QUESTION, checker="gpt-4o-mini")


def test_the_command_line_has_the_same(settings, server, tmp_path, monkeypatch):
    for name, value in settings.items():
        monkeypatch.setenv(f"DRAG_GRAPH_{name.upper()}", value)
    monkeypatch.setenv("DRAG_GRAPH_STORE", "graph.lbug")
    server.script("student", Say("The oven cost 900 euros.", finish_reason="length"))
    told = CliRunner().invoke(app, ["ask", QUESTION, "--max-answer-tokens", "9"])
    assert "Not supported by the lines: The oven cost 900 euros. (in no line: 900)" in told.output.replace("\n", " ")
    assert "cut off" in told.output
    server.script("student", Say("The lines do not answer the question."))
    told = json.loads(CliRunner().invoke(app, ["ask", QUESTION, "--json"]).stdout)
    assert (told["abstained"], told["truncated"]) == (True, False)
