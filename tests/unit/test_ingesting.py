"""The run over files: one that fails does not stop the others, and what cannot go on ends it with what is stored kept."""

import pytest

from drag_graph.distill.query_distillation import Usage
from drag_graph.documents.document_files import files_in
from drag_graph.documents.document_reader import DocumentReader, PassagePrivacy
from drag_graph.errors import StoreUnavailable, Withheld
from drag_graph.jobs.ingest_job import Ingester
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.settings import Settings
from drag_graph.testing.dict_store import DictStore

NAMES = ("a.txt", "b.txt", "c.txt")


class Troubled(DocumentReader):
    """Fails on one file."""

    def __init__(self, trouble, **options):
        super().__init__(Settings(**options), LexicalEmbedder(), None, PassagePrivacy())
        self._trouble = trouble

    def read(self, document, text, usage):
        if document.name == "b.txt" and self._trouble:
            raise self._trouble
        return super().read(document, text, usage)


@pytest.fixture
def folder(tmp_path):
    for name in NAMES:
        (tmp_path / name).write_text(f"The file {name[0]} causes effects in the house of the town.")
    return tmp_path


@pytest.fixture
def store():
    with DictStore() as found:
        found.migrate()
        yield found


def run(store, folder, trouble=None, **options):
    ingester = Ingester(store, Troubled(trouble, **options), workers=1, erase=store.erase)
    return ingester.run(files_in([folder]))


@pytest.mark.parametrize("trouble", [MemoryError(), Withheld("it holds something of type PERSON")])
def test_the_trouble_of_one_file_is_its_own(store, folder, trouble):
    report = run(store, folder, trouble)
    assert [(item.name, item.status) for item in report.documents] == [
        ("a.txt", "added"), ("b.txt", "failed"), ("c.txt", "added")
    ]  # fmt: skip
    assert report.documents[1].error in ("The document does not fit into memory.", "privacy: it holds something of type PERSON")
    assert report.exit_code == 1


def test_a_store_that_goes_away_ends_the_run_and_keeps_what_is_there(store, folder):
    report = run(store, folder, StoreUnavailable("gone"))
    assert (report.exit_code, str(report.stopped), report.totals()["pending"]) == (3, "gone", 2)
    assert [item.name for item in report.documents] == ["a.txt"]
    assert run(store, folder).totals()["added"] == 2


def test_other_settings_read_again_what_they_change(store, folder):
    run(store, folder)
    assert run(store, folder).totals()["unchanged"] == 3
    assert run(store, folder, chunk_size=100).totals()["changed"] == 3


def test_what_a_passage_is_of_is_told_by_its_characters(store, folder):
    text = "The Moon causes tides of the oceans on the Earth, and also of the air.\n\nThe Sun helps.\n\nThe Sun helps."
    (folder / "a.txt").write_text(text)
    first = run(store, folder).documents[0]
    (graph,) = store.read([first.id])
    for item in (*graph.chunks, *graph.evidence):
        assert text[item.start : item.end] == item.text
    assert [item.text for item in graph.evidence][-1] == "The Sun helps."
    assert len(graph.evidence) == 2, "what is said twice is evidence once"
    assert {item.chunk_id for item in graph.evidence} <= {chunk.id for chunk in graph.chunks}
    assert graph.document.sha256
    assert graph.document.uri == (folder / "a.txt").as_uri()
    assert Usage() == first.usage


def test_unchanged_documents_are_not_read_again(store, folder, monkeypatch):
    run(store, folder)
    monkeypatch.setattr(store, "read", lambda _ids: pytest.fail("a stored document was read"))
    report = run(store, folder)
    assert [(item.status, item.chunks, item.evidence) for item in report.documents] == [("unchanged", None, None)] * 3
    assert report.totals()["chunks"] == 0
