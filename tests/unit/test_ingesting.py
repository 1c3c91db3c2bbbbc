"""The run over files: one that fails does not stop the others, and what cannot go on ends it with what is stored kept."""

import pytest

from drag_graph.distill.query_distillation import Usage
from drag_graph.documents.document_files import files_in
from drag_graph.documents.document_reader import DocumentReader, PassagePrivacy
from drag_graph.documents.file_loaders import load_text
from drag_graph.errors import Interrupted, StoreUnavailable, Withheld
from drag_graph.graph.paging import iter_sources
from drag_graph.jobs.ingest_job import Ingester
from drag_graph.manage.verification import problems
from drag_graph.model import Document
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.settings import Settings
from drag_graph.testing.builders import make_answer
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


def synced(store, folder, tags=None):
    ingester = Ingester(store, Troubled(None), workers=1, erase=store.erase, tags=tags)
    report = ingester.run(files_in([folder]), [folder])
    return {item.name: item.status for item in report.documents}


def document_named(store, name):
    return next(graph.document for item in iter_sources(store) for graph in store.read([item.id]) if graph.title == name)


def test_a_renamed_file_keeps_its_document_and_its_answers(store, folder):
    run(store, folder)
    before = document_named(store, "a.txt")
    (graph,) = store.read([before.id])
    store.save_answers([make_answer(1, [graph], refs=[("evidence", graph.evidence[0].id)])])
    (folder / "sub").mkdir()
    (folder / "a.txt").rename(folder / "sub" / "new.txt")
    assert synced(store, folder) == {"b.txt": "unchanged", "c.txt": "unchanged", "sub/new.txt": "renamed"}
    after = document_named(store, "sub/new.txt")
    assert (after.id, after.uri, after.input_id) == (before.id, (folder / "sub" / "new.txt").as_uri(), before.uri)
    assert len(store.answers(before.id)) == 1
    assert problems(store) == [], "its id is still the hash of an address that it says"
    assert set(synced(store, folder).values()) == {"unchanged"}

    (folder / "a.txt").write_text("Another file at the old place causes trouble in the town.")
    assert synced(store, folder)["a.txt"] == "added"
    assert document_named(store, "a.txt").id != before.id
    assert set(synced(store, folder).values()) == {"unchanged"}
    assert problems(store) == []

    (folder / "a.txt").unlink()
    assert synced(store, folder)["a.txt"] == "removed"
    (folder / "sub" / "new.txt").rename(folder / "a.txt")
    assert synced(store, folder)["a.txt"] == "renamed"
    assert document_named(store, "a.txt") == before


def test_of_files_with_the_same_content_each_keeps_its_document(store, folder):
    for name in ("b.txt", "c.txt"):
        (folder / name).write_bytes((folder / "a.txt").read_bytes())
    run(store, folder)
    ids = {name: document_named(store, name).id for name in NAMES}
    (folder / "sub").mkdir()
    for name in NAMES:
        (folder / name).rename(folder / "sub" / name)
    assert synced(store, folder) == {f"sub/{name}": "renamed" for name in NAMES}
    assert {name: document_named(store, f"sub/{name}").id for name in NAMES} == ids


def test_a_copy_is_a_document_of_its_own(store, folder):
    run(store, folder)
    (folder / "copy.txt").write_bytes((folder / "a.txt").read_bytes())
    assert synced(store, folder)["copy.txt"] == "added"


def test_a_renamed_file_that_has_changed_is_another_document(store, folder):
    run(store, folder)
    (folder / "a.txt").rename(folder / "new.txt")
    (folder / "new.txt").write_text("Salt causes the rust of iron in the sea of the north.")
    assert synced(store, folder) == {"a.txt": "removed", "b.txt": "unchanged", "c.txt": "unchanged", "new.txt": "added"}


def test_tags_are_changed_without_reading_again_and_stay_where_none_are_given(store, folder, monkeypatch):
    assert set(synced(store, folder, ["b", "a", "a"]).values()) == {"added"}
    assert document_named(store, "a.txt").tags == ("a", "b")
    monkeypatch.setattr(Troubled, "read", lambda *_: pytest.fail("a file was read again"))
    assert set(synced(store, folder).values()) == {"unchanged"}
    erased = []
    report = Ingester(store, Troubled(None), erase=erased.extend, tags=["c"]).run(files_in([folder]), [folder])
    assert {(item.status, *item.usage.notes) for item in report.documents} == {("unchanged", "Its tags are: c.")}
    assert not erased, "nothing has to be removed from the file of the store"
    assert set(synced(store, folder, ["c"]).values()) == {"unchanged"}
    assert document_named(store, "a.txt").tags == ("c",)
    monkeypatch.undo()
    (folder / "a.txt").write_text("The file a now causes other effects in the house of the town.")
    assert synced(store, folder)["a.txt"] == "changed"
    assert document_named(store, "a.txt").tags == ("c",), "a changed file keeps its tags"
    assert synced(store, folder, [])["a.txt"] == "unchanged"
    assert document_named(store, "a.txt").tags == ()


def test_a_text_that_repeats_itself_is_noted(store, tmp_path):
    (tmp_path / "x.txt").write_text("x" * 100_000)
    (result,) = run(store, tmp_path).documents
    assert result.usage.notes == ["84 chunks have only 2 different passages: the text repeats itself or has no words."]


def test_reading_a_long_document_ends_when_it_is_interrupted():
    def check():
        raise Interrupted("now")

    reader = DocumentReader(Settings(), LexicalEmbedder(), None, PassagePrivacy(), check=check)
    loaded = load_text(
        "\n\n".join(f"The number {n} causes effects of the kind {n * n} in the house of the town." for n in range(300))
    )
    with pytest.raises(Interrupted):
        reader.read(Document(id="d", name="d", uri="d"), loaded, Usage())


def test_the_rules_read_the_sentences_of_a_row_and_not_its_headers(store, tmp_path):
    (tmp_path / "steps.csv").write_text(
        "part,has,remark\nEngine,two pistons that drive the wheel,The Moon causes the tides.\nPump,the valve of a boat,none\n"
    )
    (result,) = run(store, tmp_path).documents
    (graph,) = store.read([result.id])
    assert {(item.subject, item.predicate, item.object) for item in graph.triples} == {("Moon", "causes", "tides")}
    assert graph.evidence[0].text == "Engine | has: two pistons that drive the wheel | remark: The Moon causes the tides."
