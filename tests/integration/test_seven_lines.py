"""The seven lines of Python that the README begins with: as a script, from eight threads, and in a notebook."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from nbclient import NotebookClient

LINES = """\
from drag_graph import DragGraph

graph = DragGraph("medical.lbug", teacher="curated:medical.jsonl", student="nearest")
graph.distill(["Why do antibiotics not cure a cold?"])
answer = graph.ask("Do antibiotics help against viruses?")
print(answer.text, answer.lines)
print(answer.audit())
"""
CURATED = {
    "question": "Why do antibiotics not cure a cold?",
    "evidence": ["A cold is caused by viruses.", "Antibiotics do not help against viruses: they act on bacteria alone."],
    "triples": [
        {"subject": "antibiotics", "predicate": "act on", "object": "bacteria", "evidence": [1]},
        {"subject": "viruses", "predicate": "cause", "object": "colds", "evidence": [0]},
    ],
}
ANSWER = CURATED["evidence"][1].rstrip(".")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "medical.jsonl").write_text(json.dumps(CURATED), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_as_a_script(folder):
    done = subprocess.run([sys.executable, "-c", LINES], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith(f"{ANSWER}")
    assert f"  1. {ANSWER}" in done.stdout
    assert "Do antibiotics help against viruses?\n-> " in done.stdout
    assert "curated:medical.jsonl" in done.stdout, "the audit names the teacher"


def test_from_eight_threads(folder):
    shared = {}
    head, tail = LINES.split("answer = ")
    exec(head, shared)

    def ask(_number):
        own = dict(shared)
        exec(f"answer = {tail.splitlines()[0]}\naudit = answer.audit()", own)
        return own["answer"].text, repr(own["answer"].lines), str(own["audit"])

    with ThreadPoolExecutor(8) as pool:
        results = set(pool.map(ask, range(16)))
    shared["graph"].close()
    assert len(results) == 1
    assert results.pop()[0].startswith(ANSWER)


def test_in_a_notebook_the_answer_is_a_table_of_its_lines(folder):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(LINES), nbformat.v4.new_code_cell("answer")])
    NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    printed, shown = (cell["outputs"] for cell in book["cells"])
    assert "".join(output["text"] for output in printed).startswith(ANSWER)
    table = shown[0]["data"]["text/html"]
    assert table.count("<tr>") >= 2
    assert ANSWER in table
    assert "<script" not in table


def test_what_a_notebook_shows_is_escaped(folder):
    from drag_graph import DragGraph

    wicked = {"question": "Is <b>this</b> bold?", "evidence": ["<script>alert(1)</script> is shown as text."]}
    (folder / "wicked.jsonl").write_text(json.dumps(wicked), encoding="utf-8")
    with DragGraph("wicked.lbug", teacher="curated:wicked.jsonl", embedder="lexical") as graph:
        graph.distill([wicked["question"]])
        page = graph.ask(wicked["question"])._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<b>this" not in page
