"""What `DragGraph.ask`, `audit` and `show` promise, on a small embedded store."""

import json

import pytest

from cli import render_answers
from drag_graph import DragGraph
from drag_graph.errors import ConfigurationError, StoreUnfit
from drag_graph.report.audit_tree import audit_text

QUESTION = "What drives the turbine of the old mill?"
EVIDENCE = ["Steam drives the turbine.", "Water turns the wheel of the mill."]
CURATED = {
    "question": QUESTION,
    "evidence": EVIDENCE,
    "triples": [{"subject": "steam", "predicate": "drives", "object": "the turbine", "evidence": [0]}],
}


@pytest.fixture
def graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "curated.jsonl").write_text(json.dumps(CURATED), encoding="utf-8")
    with DragGraph("graph.lbug", teacher="curated:curated.jsonl", embedder="lexical") as opened:
        opened.distill([QUESTION])
        yield opened


def replaced_in(folder, old, new):
    """Change bytes of a closed store."""
    for file in folder.glob("graph.lbug*"):
        if file.is_file():
            file.write_bytes(file.read_bytes().replace(old.encode(), new.encode()))


def test_an_audit_marks_a_text_that_was_changed_in_the_store(graph, tmp_path):
    answer = graph.ask(QUESTION)
    graph.close()
    replaced_in(tmp_path, "Steam drives the turbine.", "Steam drives the furnace.")
    with DragGraph("graph.lbug", embedder="lexical", namespace="default") as changed:
        old = changed.audit(answer.id)
        assert old.to_dict()["lines"][0]["changed"] is True
        assert "text changed in the store" in str(old)
        assert "text changed in the store" in old.to_html()
        asked_later = changed.ask(QUESTION, keep=False).audit()
        assert "text changed in the store" in str(asked_later), "although the answer was given after the change"


def test_an_untouched_text_has_no_mark(graph):
    audit = graph.ask(QUESTION).audit()
    assert {line["changed"] for line in audit.to_dict()["lines"]} == {False}
    assert "text changed" not in str(audit)


def test_an_answer_without_lines_names_the_nearest_one_and_the_threshold(graph, capsys):
    answer = graph.ask("What drives the turbine there, please?", relevance=0.99)
    assert answer.result.how == "nothing"
    nearest = answer.to_dict()["nearest"]
    assert answer.to_dict(explain=True)["nearest"] == nearest
    assert (nearest["text"], nearest["threshold"]) == (QUESTION, 0.99)
    assert 0 < nearest["score"] < 0.99
    render_answers.answer(answer.to_dict(), "", explain=False)
    printed = capsys.readouterr().out
    assert f"Nearest line, score {nearest['score']:.2f}, below the threshold of 0.99 (--relevance): {QUESTION}" in printed
    assert "nearest" not in graph.ask(QUESTION).to_dict(explain=True)
    render_answers.answer(graph.ask(QUESTION).to_dict(explain=True), "", explain=True)
    assert "Nearest line" not in capsys.readouterr().out


def test_the_hint_of_a_store_that_cannot_be_written_depends_on_the_method(graph, monkeypatch):
    graph.close()
    from drag_graph.stores.ladybug import store_files

    require = store_files.require_file

    def refuse(path, *, read_only):
        require(path, read_only=read_only)
        if not read_only:
            raise StoreUnfit(f"{path} may not be written", hint="Check its permissions.")

    monkeypatch.setattr(store_files, "require_file", refuse)
    with DragGraph("graph.lbug", teacher="curated:curated.jsonl", embedder="lexical") as reader:
        with pytest.raises(StoreUnfit) as raised:
            reader.ask(QUESTION)
        assert "`drag-graph ask --no-keep`" in raised.value.hint
        with pytest.raises(StoreUnfit) as raised:
            reader.distill([QUESTION], replace=True)
        assert "--no-keep" not in raised.value.hint
        assert reader.ask(QUESTION, keep=False).lines


def test_the_folder_of_documents_does_not_decide_between_equal_lines(tmp_path, monkeypatch):
    """Ids of documents are hashes of their paths, so ties that ids break depend on the folder."""
    texts = {"a.txt": "Steam drives the turbine.", "b.txt": "Wood drives the turbine.", "c.txt": "Wind drives the turbine."}
    seen = set()
    for number in range(6):
        folder = tmp_path / f"folder{number}"
        folder.mkdir()
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        monkeypatch.chdir(folder)
        with DragGraph("graph.lbug", embedder="lexical") as graph:
            graph.ingest(folder)
            answer = graph.ask("What drives the turbine?")
            seen.add((answer.text, tuple(line.text for line in answer.lines)))
    assert len(seen) == 1


def test_an_answer_that_is_not_kept_can_be_audited(graph):
    answer = graph.ask(QUESTION, keep=False)
    assert answer.to_dict()["answer_id"] is None
    audit = answer.audit()
    assert audit.to_dict()["answer"] == answer.text
    assert str(audit) == audit_text(audit.to_dict())


def test_a_call_can_override_settings_but_not_the_store(graph):
    assert {line.kind for line in graph.ask(QUESTION, mode="graph").lines} == {"edge"}
    assert graph.ask(QUESTION, mode="evidence", max_lines=1).lines[0].kind == "evidence"
    with pytest.raises(ConfigurationError, match="cannot change 'store'"):
        graph.ask(QUESTION, store="other.lbug")
    with pytest.raises(ConfigurationError, match="either a question or a query id"):
        graph.ask()


def test_several_questions_and_lists(graph):
    answers = graph.ask_all([QUESTION, "What is the capital of Peru?"]).result()
    assert [bool(answer.lines) for answer in answers] == [True, False]
    assert len(answers) == answers.totals["n"] == 2
    with pytest.raises(ConfigurationError, match="single text"):
        graph.ask_all(QUESTION)
    listed = graph.answers()
    assert [one.id for one in listed] == [answers[0].id]
    assert listed.to_dict()[0]["question"] == QUESTION
    (source,) = graph.show()
    shown = graph.show(source.source_id[:8])
    assert shown.to_dict()["source"]["text"] == QUESTION
    assert "EVIDENCE" in str(shown)
    assert graph.ask(query_id=source.source_id[:8]).id == answers[0].id
