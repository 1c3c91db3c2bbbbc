"""One `DragGraph` for many threads: answers next to a writer are those that are given alone, from a committed state."""

import os
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from drag_graph.app import DragGraph, resources
from drag_graph.app.questions import question_lines
from drag_graph.inputs import read_queries

THREADS = 32
EXAMPLES = Path(__file__).parents[2] / "examples"
CURATED = f"curated:{EXAMPLES / 'curated.jsonl'}"
NEW = [
    "Which gas do plants take in from the air?",
    "What is it that causes the tides of the oceans on our Earth?",
    "Why do antibiotics not cure a cold?",
    "Does iron rust in dry air?",
]


@pytest.fixture(params=["embedded", "neo4j"])
def place(request, tmp_path):
    """Return the arguments of a `DragGraph` on a store of its own."""
    shared = {"embedder": "lexical", "teacher": CURATED, "namespace": uuid.uuid4().hex, "ledger": str(tmp_path / "the.ledger")}
    if request.param == "embedded":
        return {"store": str(tmp_path / "graph.lbug"), **shared}
    uri, user, password = request.getfixturevalue("neo4j_lts")
    return {"store": uri, "neo4j_username": user, "neo4j_password": password, **shared}


def distill(graph, queries):
    with graph._resources.writing() as session:
        report = session.distiller("a test").run(question_lines(queries, graph.settings))
    assert not report.stopped


def questions(graph, number):
    return [line.query for line in read_queries(EXAMPLES / "questions.jsonl", namespace=graph.settings.namespace)][:number]


def shown(answer):
    result = answer.result
    return answer.text, answer.confidence, tuple((line.text, round(line.score, 6)) for line in answer.lines), result.how


def texts_shown(answer):
    """Return what an answer shows but scores: the text index weighs words by how often it holds them, one commit ahead."""
    return answer.text, tuple(sorted(line.text for line in answer.lines)), answer.result.how


def ask_together(graph, texts, write, shown=shown):
    """Ask every text in each of many threads while another thread writes; return the answers by text."""
    ready = threading.Barrier(THREADS + 1)
    answers = {text: [] for text in texts}

    def ask(number):
        ready.wait()
        for text in texts[number % len(texts) :] + texts[: number % len(texts)]:
            answers[text].append(shown(graph.ask(text)))

    def write_meanwhile():
        ready.wait()
        write()

    with ThreadPoolExecutor(THREADS + 1) as pool:
        for done in [*[pool.submit(ask, number) for number in range(THREADS)], pool.submit(write_meanwhile)]:
            done.result()
    return answers


def test_answers_next_to_a_writer_in_another_namespace_are_those_given_alone(place):
    with DragGraph(**place) as graph:
        asked = questions(graph, 6)
        distill(graph, asked)
        texts = [*NEW, *(query.text for query in asked[:2])]
        alone = {text: shown(graph.ask(text)) for text in texts}
        assert any(lines for _, _, lines, _ in alone.values())
        other = graph.in_namespace(uuid.uuid4().hex)
        answers = ask_together(graph, texts, lambda: distill(other, questions(other, 12)))
    assert {text: set(given) for text, given in answers.items()} == {text: {given} for text, given in alone.items()}
    assert all(len(given) == THREADS for given in answers.values())


def test_answers_next_to_a_writer_in_the_same_namespace_are_of_a_committed_state(place):
    with DragGraph(**place) as graph:
        states = graph.in_namespace(uuid.uuid4().hex)
        queries = questions(states, 8)
        texts = [*NEW[:2], queries[1].text]
        possible = {text: set() for text in texts}
        for query in queries:
            distill(states, [query])
            for text in texts:
                possible[text].add(texts_shown(states.ask(text)))
        assert max(len(answers) for answers in possible.values()) > 1
        queries = questions(graph, 8)
        distill(graph, queries[:1])
        answers = ask_together(graph, texts, lambda: [distill(graph, [query]) for query in queries[1:]], texts_shown)
    assert all(set(given) <= possible[text] for text, given in answers.items())


def test_models_are_loaded_once(place, monkeypatch):
    made = []
    make = resources.make_embedder
    monkeypatch.setattr(resources, "make_embedder", lambda *args: made.append(os.getpid()) or make(*args))
    with DragGraph(**place) as graph:
        distill(graph, questions(graph, 1))
        ask_together(graph, NEW[:1], lambda: graph.in_namespace("another").answers())
    assert len(made) == 1
