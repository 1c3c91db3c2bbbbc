"""Asking while another process has the embedded store open for writing."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from drag_graph.app import DragGraph
from drag_graph.app.resources import WRITTEN_ELSEWHERE
from drag_graph.inputs import read_queries

EXAMPLES = Path(__file__).parents[2] / "examples"
CURATED = f"curated:{EXAMPLES / 'curated.jsonl'}"
WRITER = """
import sys
from pathlib import Path
from drag_graph.app import DragGraph
from drag_graph.inputs import read_queries
graph = DragGraph(sys.argv[1], embedder="lexical", teacher=sys.argv[2])
with graph._resources.writing() as session:
    print("ready", flush=True)
    lines = read_queries(Path(sys.argv[3]))
    for _ in sys.stdin:
        session.distiller("a test").run(iter([next(lines)]))
        print("stored", flush=True)
"""


@pytest.fixture
def writer(tmp_path):
    """Start a process that has the store open and distills the next question for each line that it reads."""
    place = [str(tmp_path / "graph.lbug"), CURATED, str(EXAMPLES / "questions.jsonl")]
    process = subprocess.Popen([sys.executable, "-c", WRITER, *place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"

    def store_next():
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "stored\n"

    process.store_next = store_next
    yield process
    process.stdin.close()
    process.wait(timeout=60)
    process.stdout.close()


def test_asking_works_at_once_from_the_last_committed_state_and_keeps_answers_later(writer, tmp_path):
    first, second = (line.query for line in list(read_queries(EXAMPLES / "questions.jsonl"))[:2])
    writer.store_next()
    with DragGraph(tmp_path / "graph.lbug", embedder="lexical") as graph:
        began = time.monotonic()
        answer = graph.ask(first.text, first.options)
        assert time.monotonic() - began < 15, "it does not wait for the lock, which takes 30 s"
        assert answer.result.how == "same question"
        assert answer.result.not_kept == WRITTEN_ELSEWHERE
        assert answer.to_dict()["answer_id"] is None
        assert answer.audit().to_dict()["lines"][0]["live"] is True
        assert graph.ask(second.text, second.options).result.how != "same question"
        writer.store_next()
        assert graph.ask(second.text, second.options).result.how == "same question", "the store is opened again"
        writer.stdin.close()
        writer.wait(timeout=60)
        kept = graph.ask(first.text, first.options)
        assert kept.result.not_kept == ""
        assert [one.id for one in graph.answers()] == [kept.id]


def test_several_questions_and_lists_are_read_beside_a_writer(writer, tmp_path):
    writer.store_next()
    with DragGraph(tmp_path / "graph.lbug", embedder="lexical") as graph:
        answers = graph.ask_all(EXAMPLES / "questions.jsonl").result()
        assert {answer.result.not_kept for answer in answers if answer.result.has_sources} == {WRITTEN_ELSEWHERE}
        assert len(graph.show()) == 1


OTHER = """
import sys
from drag_graph.app import DragGraph
with DragGraph(sys.argv[1], embedder="lexical", store_timeout=10) as graph:
    graph.ingest(text="Oxygen causes rust.", name="other")
"""


def test_another_process_writes_while_this_application_is_idle(tmp_path):
    with DragGraph(tmp_path / "graph.lbug", embedder="lexical") as graph:
        graph.ingest(text="The Moon causes tides.", name="note")
        assert graph.ask("What causes tides?").result.not_kept == ""
        subprocess.run([sys.executable, "-c", OTHER, tmp_path / "graph.lbug"], check=True, timeout=60)
        assert len(graph.show()) == 2
        assert graph.ask("What causes rust?").result.not_kept == ""
