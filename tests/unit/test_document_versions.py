"""An audit names the version of each document, and compares it with the file and with the hashes in its ids."""

import json
import os
from pathlib import Path

import pytest

from drag_graph import DragGraph
from drag_graph.app import answer_tracing
from drag_graph.app.answer_tracing import file_state
from drag_graph.files import sha256_of_file
from drag_graph.model import Answer
from drag_graph.report.audit_document import answer_document
from drag_graph.report.audit_tree import audit_text
from drag_graph.report.audit_views import moment, why_page
from drag_graph.report.prov import prov_document

TEXT = "The gravity of the Moon causes the tides of the oceans."
QUESTION = "What causes the tides of the oceans?"


@pytest.fixture
def graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with DragGraph("graph.lbug", embedder="lexical") as opened:
        yield opened


def written(place, text=TEXT):
    path = Path(place).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def flat(audit):
    return " ".join(str(audit).split())


def test_an_audit_names_the_version_that_was_read(graph):
    path = written("library/moon.txt")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    graph.ingest("library")
    answer = graph.ask(QUESTION)
    for audit in (answer.audit(), graph.audit(answer.id)):
        [document] = audit.to_dict()["documents"]
        assert document["name"] == "moon.txt"
        assert document["uri"] == path.as_uri()
        assert document["sha256"] == sha256_of_file(path)
        assert document["modified_at"] == "2023-11-14T22:13:20+00:00"
        assert document["read_at"] > document["modified_at"]
        assert document["file"] == "unchanged"
    digest, read_at = document["sha256"], document["read_at"]
    version = f"{path}, SHA-256 {digest[:12]}, modified 2023-11-14T22:13:20+00:00, read {read_at}, the file is unchanged"
    assert f"document moon.txt: {version}" in flat(audit)
    page = audit.to_html()
    assert all(word in page for word in (str(path), digest, moment(read_at), "the file is unchanged"))
    [entity] = [one for name, one in audit.to_prov()["entity"].items() if name.startswith("drag:document/")]
    assert {name: entity[f"drag:{name}"] for name in ("uri", "sha256", "read_at", "file")} == {
        name: document[name] for name in ("uri", "sha256", "read_at", "file")
    }


def test_an_audit_says_when_the_file_has_changed_since(graph):
    path = written("library/moon.txt")
    graph.ingest("library")
    answer = graph.ask(QUESTION)
    path.write_text(TEXT.replace("tides", "waves"))
    audit = graph.audit(answer.id)
    assert audit.to_dict()["documents"][0]["file"] == "changed"
    assert "the file has changed since" in flat(audit)
    assert "the file has changed since" in audit.to_html()
    path.unlink()
    assert graph.audit(answer.id).to_dict()["documents"][0]["file"] == "missing"
    assert "the file is missing" in flat(graph.audit(answer.id))


def test_an_audit_follows_a_renamed_file(graph):
    path = written("library/moon.txt")
    graph.ingest("library")
    answer = graph.ask(QUESTION)
    new = path.rename(path.with_name("luna.txt"))
    graph.ingest("library", sync=True)
    [document] = graph.audit(answer.id).to_dict()["documents"]
    assert (document["uri"], document["moved_to"], document["file"]) == (path.as_uri(), new.as_uri(), "unchanged")
    assert f"the file is now {new}, the file is unchanged" in flat(graph.audit(answer.id))
    new.write_text(TEXT.replace("tides", "waves"))
    assert graph.audit(answer.id).to_dict()["documents"][0]["file"] == "changed"


def test_two_files_of_one_name_look_different(graph):
    first = written("north/notes.txt", "The gravity of the Moon causes the tides of the oceans.")
    second = written("south/notes.txt", "The rotation of the Earth delays the tides of the oceans.")
    graph.ingest(["north", "south"])
    audit = graph.ask("What causes and delays the tides of the oceans?").audit()
    assert {item["uri"] for item in audit.to_dict()["documents"]} == {first.as_uri(), second.as_uri()}
    for path in (first, second):
        assert f"{path}, characters 0-" in flat(audit), "in the tree, and not only below it"
        assert f'<p class="place small">{path}</p>' in audit.to_html()


def test_a_text_without_a_file_has_a_version_that_is_not_compared(graph):
    graph.ingest(text=TEXT, name="note")
    audit = graph.ask(QUESTION).audit()
    [document] = audit.to_dict()["documents"]
    assert (document["uri"], document["file"]) == ("text:note", None)
    assert "document note: text:note, SHA-256" in flat(audit)


def test_an_answer_from_before_versions_says_so(graph):
    written("library/moon.txt")
    graph.ingest("library")
    answer = graph.ask(QUESTION).result.answer
    assert answer.snapshot.pop("documents")
    document = answer_document(answer)
    assert [item["name"] for item in document["documents"]] == ["moon.txt"]
    answer_tracing.compare_with_files(document["documents"])
    assert document["documents"][0]["file"] is None
    document["privacy"]["teacher_saw"] = []
    assert "document moon.txt: version not recorded" in audit_text(document)
    assert "version not recorded" in why_page(document)
    assert "drag:sha256" not in json.dumps(prov_document(document))


def test_a_question_without_documents_has_none():
    answer = Answer(id="a", question="q", text="t", student="s")
    assert answer_document(answer)["documents"] == []
    assert "Documents" not in why_page(answer_document(answer))


def test_an_answers_copy_that_was_changed_is_marked(graph):
    written("library/moon.txt")
    graph.ingest("library")
    given = graph.ask(QUESTION)
    assert {line["changed"] for line in answer_document(given.result.answer)["lines"]} == {None}
    forged = json.loads(given.result.answer.model_dump_json().replace("causes the tides", "stops the tides"))
    lines = answer_document(Answer.model_validate(forged))["lines"]
    assert {line["changed"] for line in lines if line["kind"] == "span"} == {True}


@pytest.mark.parametrize(
    ("place", "state"),
    [("moon.txt", "unchanged"), ("gone.txt", "missing"), ("folder", "missing"), ("folder/under/x.txt", "missing")],
)
def test_the_state_of_a_file(tmp_path, place, state):
    path = written(tmp_path / "moon.txt")
    (tmp_path / "folder").mkdir()
    assert file_state((tmp_path / place).as_uri(), sha256_of_file(path)) == state


def test_a_name_with_signs_of_an_address_is_found(tmp_path):
    path = written(tmp_path / "100% #1? ö.txt")
    assert file_state(path.as_uri(), sha256_of_file(path)) == "unchanged"
    assert file_state(path.as_uri(), "0" * 64) == "changed"


def test_what_cannot_be_compared(tmp_path, monkeypatch):
    path = written(tmp_path / "moon.txt")
    digest = sha256_of_file(path)
    assert file_state(path.as_uri().replace("file:///", "file://elsewhere/"), digest) == "not compared"
    assert file_state("https://example.org/moon.txt", digest) is None
    assert file_state(path.as_uri(), "") is None
    monkeypatch.setattr(answer_tracing, "LARGEST", len(TEXT) - 1)
    monkeypatch.setattr(answer_tracing.hashlib, "file_digest", lambda *_: pytest.fail("a large file is read"))
    assert file_state(path.as_uri(), digest) == "not compared"
