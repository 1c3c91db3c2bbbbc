"""What becomes of an answer whose ground is taken away while it is given (`drag_graph.ask.asker`)."""

from collections import Counter

import pytest

from cli import render_answers
from drag_graph.app.answer_results import GivenAnswers
from drag_graph.ask.asker import BATCH, GONE, Asker
from drag_graph.ask.find_lines import Finder
from drag_graph.errors import StoreUnavailable
from drag_graph.inputs import InputLine, make_query
from drag_graph.model import Aggregation
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.model_choice import make_student
from drag_graph.settings import Settings
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.dict_store import DictStore
from drag_graph.testing.finding import audit_document


class Interrupted:
    """A student that lets something happen before it answers."""

    def __init__(self, student, happens):
        self._student = student
        self._happens = happens

    def __getattr__(self, name):
        return getattr(self._student, name)

    def answer(self, prompt, on_token=None):
        self._happens()
        return self._student.answer(prompt, on_token)


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
    assert store.answers() == []
    document = asked.to_dict()
    assert document["answer_id"] is None
    assert "erased or replaced" in document["not_kept"]
    render_answers.answer(asked.to_dict(), "", explain=False)
    said = capsys.readouterr().out
    assert "Not kept" in said
    assert "drag-graph audit" not in said


def test_of_a_file_only_the_others_are_kept(store, graph, capsys):
    other = make_subgraph("other")
    store.save([other], Aggregation())
    lines = [InputLine(number, item.query) for number, item in enumerate((graph, other), start=1)]
    report = asker(store, lambda: store.erase([graph.query.id])).ask_all(lines)
    assert [asked.not_kept for asked in report.answers] == [GONE, ""]
    assert [item.source_ids for item in store.answers()] == [(other.query.id,)]
    assert ["not_kept" in answer for answer in report.to_dict()["answers"]] == [True, False]
    render_answers.answers(GivenAnswers(report, None))
    assert "not kept" in capsys.readouterr().out


def test_an_answer_is_kept_where_nothing_happens(store, graph):
    asked = asker(store, lambda: None).ask_stored(graph.query.id)
    assert asked.to_dict()["answer_id"] == asked.answer.id == store.answers()[0].id
    assert "not_kept" not in asked.to_dict()


class Leaving(DictStore):
    """A store that goes away once `gone_before` is set to the method that is called next."""

    gone_before = ""

    def _here(self, name):
        if self.gone_before == name:
            raise StoreUnavailable("the store went away")

    def read(self, source_ids):
        self._here("read")
        return super().read(source_ids)

    def save_answers(self, answers):
        self._here("save_answers")
        return super().save_answers(answers)


@pytest.mark.parametrize(("method", "kept"), [("read", BATCH), ("save_answers", 0)])
def test_of_a_file_all_is_reported_when_the_store_goes_away(capsys, method, kept):
    """While the second batch is asked, or before the first is kept: what was answered is there, the rest says why."""
    graphs = [make_subgraph(number) for number in range(BATCH + 2)]
    store = Leaving(namespace=graphs[0].query.namespace)
    store.migrate()
    store.save(graphs, Aggregation())
    lines = [InputLine(number, item.query) for number, item in enumerate(graphs, start=1)]
    report = asker(store, lambda: setattr(store, "gone_before", method)).ask_all(lines)
    assert (report.exit_code, str(report.stopped)) == (3, "the store went away")
    assert [bool(asked.answer.text) for asked in report.answers] == [True] * BATCH + [False] * 2
    assert [asked.not_kept for asked in report.answers[:BATCH]] == ["" if kept else "the store went away"] * BATCH
    assert len(store.answers(limit=1000)) == kept
    document = report.to_dict()
    assert [answer["error"] for answer in document["answers"][BATCH:]] == ["not asked: the store went away"] * 2
    assert document["totals"]["answered"] == BATCH
    render_answers.answers(GivenAnswers(report, None))
    assert "not asked" in capsys.readouterr().out


def test_a_question_that_nothing_answers_counts_as_not_right(store):
    query = make_query("What is the capital of Peru?", None, namespace=store.namespace).model_copy(update={"gold": "Lima"})
    report = asker(store, lambda: None).ask_all([InputLine(1, query)])
    assert report.answers[0].answer.correct is None
    assert report.totals() | {"prompt_tokens": 0} == {
        "n": 1,
        "answered": 0,
        "unaided": 0,
        "correct": 0,
        "judged": 1,
        "accuracy": 0.0,
        "prompt_tokens": 0,
    }


def test_the_order_of_the_lines_is_recorded_and_makes_another_answer(store, graph):
    embedder = LexicalEmbedder()
    asked = {}
    for order in ("best-first", "best-last"):
        settings = Settings(namespace=store.namespace, embedder="lexical", line_order=order)
        student = make_student(settings, embedder)
        asked[order] = Asker(settings, store, embedder, student).ask_stored(graph.query.id).answer
    assert asked["best-first"].lines == asked["best-last"].lines
    assert asked["best-first"].id != asked["best-last"].id
    assert {order: audit_document(store, answer.id)["line_order"] for order, answer in asked.items()} == {
        order: order for order in asked
    }


def test_an_open_question_that_nothing_answers_says_why(store):
    asked = asker(store, lambda: None).ask(make_query("Who invented the zip fastener?", namespace=store.namespace))
    assert "nothing relevant is stored" in asked.to_dict()["reason"]


def test_an_open_question_is_answered_in_words_whatever_the_lines_are_written_as(store, graph):
    answers = []
    for form in ("sentence", "arrow", "json"):
        settings, embedder = (
            Settings(namespace=store.namespace, embedder="lexical", mode="graph", line_format=form),
            LexicalEmbedder(),
        )
        one = Asker(settings, store, embedder, make_student(settings, embedder))
        answers.append(one.ask(graph.query.model_copy(update={"options": (), "gold": None})).answer.text)
    assert len(set(answers)) == 1
    assert "{" not in answers[0]


def test_the_own_lines_take_no_place_of_those_that_others_brought():
    asked = make_subgraph("downhill").query.text
    texts = {"downhill": [f"{asked} {n}" for n in range(18)], "away": [f"{asked} Others said: thing {n}" for n in range(9)]}
    graphs = [make_subgraph(name, evidence=said, triples=(), dropped=()) for name, said in texts.items()]
    embedder = LexicalEmbedder()
    graphs = [graph.model_copy(update={"embedding": tuple(map(float, embedder.embed([graph.title])[0]))}) for graph in graphs]
    store = DictStore()
    store.migrate()
    store.save(graphs, Aggregation())
    settings = Settings(embedder="lexical", mode="evidence", shared_lines=6, relevance=0.0, token_budget=10_000)
    found = Finder(settings, store, embedder).of_own(graphs[0].query, [graphs[0]], "by id")
    by_source = Counter(item.source_id for item in found.candidates)
    assert by_source == {graphs[0].source_id: 18, graphs[1].source_id: 6}
