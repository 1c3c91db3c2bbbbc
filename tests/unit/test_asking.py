"""What becomes of an answer whose ground is taken away while it is given (`drag_graph.ask.ask`)."""

import pytest

from cli import render
from drag_graph.ask.ask import GONE, Asker
from drag_graph.bootstrap import make_student
from drag_graph.embedders import LexicalEmbedder
from drag_graph.inputs import InputLine
from drag_graph.model import Aggregation
from drag_graph.settings import Settings
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.dict_store import DictStore


class Interrupted:
    """A student that lets something happen before it answers."""

    def __init__(self, student, happens):
        self._student = student
        self._happens = happens

    def __getattr__(self, name):
        return getattr(self._student, name)

    def answer(self, prompt):
        self._happens()
        return self._student.answer(prompt)


@pytest.fixture
def graph():
    return make_subgraph()


@pytest.fixture
def store(graph):
    store = DictStore(namespace=graph.query.namespace)
    store.migrate()
    store.save([graph], Aggregation())
    return store


def asker(store, happens):
    settings, embedder = Settings(namespace=store.namespace, embedder="lexical"), LexicalEmbedder()
    return Asker(settings, store, embedder, Interrupted(make_student(settings, embedder), happens))


def test_an_answer_is_not_kept_whose_query_is_erased_while_it_is_given(store, graph, capsys):
    asked = asker(store, lambda: store.erase([graph.query.id])).ask_stored(graph.query.id)
    assert asked.not_kept == GONE
    assert store.list_answers() == []
    document = asked.document()
    assert document["answer_id"] is None
    assert "erased or replaced" in document["not_kept"]
    render.answer(asked, as_json=False, explain=False)
    said = capsys.readouterr().out
    assert "Not kept" in said
    assert "drag-graph audit" not in said


def test_of_a_file_only_the_others_are_kept(store, graph, capsys):
    other = make_subgraph("other")
    store.save([other], Aggregation())
    lines = [InputLine(number, item.query) for number, item in enumerate((graph, other), start=1)]
    report = asker(store, lambda: store.erase([graph.query.id])).ask_all(lines)
    assert [asked.not_kept for asked in report.answers] == [GONE, ""]
    assert [item.source_ids for item in store.list_answers()] == [(other.query.id,)]
    assert ["not_kept" in answer for answer in report.document()["answers"]] == [True, False]
    render.answers(report, as_json=False)
    assert "not kept" in capsys.readouterr().out


def test_an_answer_is_kept_where_nothing_happens(store, graph):
    asked = asker(store, lambda: None).ask_stored(graph.query.id)
    assert asked.document()["answer_id"] == asked.answer.id == store.list_answers()[0].id
    assert "not_kept" not in asked.document()
