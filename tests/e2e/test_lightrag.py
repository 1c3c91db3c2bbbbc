"""LightRAG as a rival in an evaluation, where its package is installed (extra `rivals`): its real code, a scripted teacher."""

import json

import pytest

from drag_graph.testing.server import Fault, Say, ScriptedServer

pytest.importorskip("lightrag")

FACT = "Bees make honey from nectar."
READ = """\
entity<|#|>Bees<|#|>Organism<|#|>Bees are insects that make honey.
entity<|#|>Honey<|#|>Product<|#|>Honey is made from nectar.
relation<|#|>Bees<|#|>Honey<|#|>making<|#|>Bees make honey.
<|COMPLETE|>
"""


def reply(request):
    asks_for_keywords = "high_level_keywords" in request.prompt
    return Say({"high_level_keywords": ["honey"], "low_level_keywords": ["Bees"]} if asks_for_keywords else READ)


@pytest.fixture
def evaluate(cli, tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "one.txt").write_text(FACT)
    task = tmp_path / "task.jsonl"
    task.write_text(json.dumps({"question": "What do bees make?", "options": ["silk", "honey"], "answer": 1, "facts": FACT}))

    def run(server, *flags):
        teacher = ("--teacher", "scripted", "--teacher-base-url", server.url)
        place = ("--documents", tmp_path / "library", "--folder", tmp_path / "outcome", "--store", tmp_path / "graph.lbug")
        return cli("eval", task, "--evidence", "facts", *teacher, *place, *flags, "--json")

    return run


def test_its_context_is_shown_and_what_it_took_is_told(evaluate, tmp_path):
    with ScriptedServer() as server:
        server.always("student", reply)
        done = evaluate(server, "--modes", "lightrag")
        assert done.code == 0, done.err
        asked = server.count()
        again = evaluate(server, "--modes", "lightrag")
        assert server.count() == asked
    [item] = [json.loads(line) for line in (tmp_path / "outcome" / "items.jsonl").read_text().splitlines()]
    assert {FACT, "Bees: Bees are insects that make honey."} <= set(item["lines"])
    assert any("Bees make honey." in line for line in item["lines"])
    assert item["correct"]
    took = done.json["lightrag"]
    assert took["indexing"]["documents"] == 1
    assert took["indexing"]["failed"] == 0
    assert took["indexing"]["calls"] + took["asking"]["calls"] == asked
    assert took["indexing"]["tokens_in"] > took["asking"]["tokens_in"] > 0
    assert again.json["lightrag"] == took


def test_a_teacher_that_cannot_be_used_is_said(evaluate):
    with ScriptedServer() as server:
        server.always("student", lambda _: Fault(401))
        done = evaluate(server, "--modes", "lightrag")
    assert done.code == 4
    assert "Traceback" not in done.err
