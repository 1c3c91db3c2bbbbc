"""The full-text index of an embedded store is never older than the store (`drag_graph.stores.ladybug.text_index`)."""

import json
import os
import shutil
import sqlite3
import threading
from contextlib import closing
from types import SimpleNamespace

import pytest

from drag_graph.graph.search_terms import search_terms
from drag_graph.ledger import sqlite_file
from drag_graph.model import Aggregation
from drag_graph.stores.ladybug import ladybug_search, text_index
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.testing.builders import document_of, make_document

AGGREGATION = Aggregation()


def document(name, *texts, **fields):
    made = make_document(name).model_copy(update={"name": name})
    return document_of(made, [[text] for text in texts]).model_copy(update=fields)


def found(store, text="pump"):
    """The texts of the passages with these words, best first."""
    hits = store.search.candidates((), search_terms(text), 50).found
    assert set(hits.by_words) == set(hits.unit_of)
    passages = {one.id: one.text for unit in store.search.units([*hits.units_by_words], [[]]) for one in unit.passages}
    return [passages[id_] for id_ in hits.by_words]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "graph.lbug"


@pytest.fixture
def index(path):
    return path.with_name("graph.lbug.search")


@pytest.fixture
def store(path):
    with LadybugStore(path) as store:
        store.migrate()
        store.save([document("first", "A pump is red.", "A valve is blue.")], AGGREGATION)
        yield store


@pytest.fixture
def closed(store, index):
    """The path of a store with an index, which nobody has open."""
    assert found(store) == ["A pump is red."]
    store.close()
    assert index.stat().st_size
    return store.location


def test_an_index_is_made_by_the_first_search_and_kept(store, index, monkeypatch):
    assert not index.exists()
    assert found(store) == ["A pump is red."]
    assert index.stat().st_mode & 0o777 == 0o600
    store.close()
    monkeypatch.setattr(text_index, "_add", lambda *_args: pytest.fail("the index was made again"))
    with LadybugStore(store.location) as again:
        assert found(again) == ["A pump is red."]


def test_what_was_written_before_a_kill_is_found(closed, index):
    """A process that dies between the writing of the store and that of the index leaves an old index."""
    old = index.read_bytes()
    with LadybugStore(closed) as store:
        store.save([document("second", "A pump is green.")], AGGREGATION)
        store.erase([document("first").source_id])
        assert found(store) == ["A pump is green."]
    for end in ("-wal", "-shm"):
        index.with_name(index.name + end).unlink(missing_ok=True)
    index.write_bytes(old)
    with LadybugStore(closed) as store:
        assert found(store) == ["A pump is green."]
        assert found(store, "valve") == []


def test_what_replaces_a_source_replaces_its_terms(store):
    assert found(store) == ["A pump is red."]
    store.save([document("first", "A pump is green.", settings_hash="others")], AGGREGATION, replace=True)
    assert found(store) == ["A pump is green."]
    assert found(store, "valve") == []


def test_a_kill_while_the_index_is_written_leaves_the_old_one(closed, index, monkeypatch):
    with LadybugStore(closed) as store:
        store.save([document("second", "A pump is green.")], AGGREGATION)
        child = os.fork()
        if not child:
            try:
                monkeypatch.setattr(text_index, "_renew_nodes", lambda *_args: os._exit(9))
                monkeypatch.setattr(text_index, "_add_terms", lambda *_args: os._exit(9))
                store.search.prepare()
            finally:  # a forked child must not close the store: the engine's threads are not in it
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        assert sorted(found(store)) == ["A pump is green.", "A pump is red."]


@pytest.mark.parametrize("content", [b"", b"no database" * 1000, "cut", "middle", "other program", "other version"])
def test_a_file_that_is_no_index_of_this_version_is_made_again(closed, index, content):
    match content:
        case bytes():
            index.write_bytes(content)
        case "cut":
            index.write_bytes(index.read_bytes()[:5000])
        case "middle":
            data = index.read_bytes()
            index.write_bytes(data[:100] + b"\xff" * 8000 + data[8100:])
        case _:
            with closing(sqlite3.connect(index)) as connection:
                connection.execute(f"PRAGMA {'application_id' if content == 'other program' else 'user_version'} = 77")
                connection.commit()
    with LadybugStore(closed) as store:
        assert found(store) == ["A pump is red."]
    with closing(sqlite3.connect(index)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("content", [None, b"", b"no database", "old"])
def test_a_store_that_is_only_read_is_searched_without_a_usable_index(closed, index, content):
    old = index.read_bytes()
    index.unlink()
    with LadybugStore(closed) as store:
        store.save([document("second", "A pump is green.")], AGGREGATION)
    if content is not None:
        index.write_bytes(old if content == "old" else content)
    before = index.read_bytes() if index.exists() else None
    with LadybugStore(closed, read_only=True) as store:
        assert sorted(found(store)) == ["A pump is green.", "A pump is red."]
    assert (index.read_bytes() if index.exists() else None) == before


@pytest.mark.parametrize("is_old", [False, True])
def test_a_store_in_a_folder_without_write_permission_is_searched(closed, index, monkeypatch, is_old):
    if is_old:
        old = index.read_bytes()
        with LadybugStore(closed) as store:
            store.save([document("second", "A pump is green.")], AGGREGATION)
        index.write_bytes(old)
    monkeypatch.setattr(sqlite_file.os, "access", lambda _path, mode: not mode & os.W_OK)  # root may write everywhere
    before = set(index.parent.iterdir())
    with LadybugStore(closed, read_only=True) as store:
        assert sorted(found(store)) == ["A pump is green."] * is_old + ["A pump is red."]
        assert set(index.parent.iterdir()) == before


def test_an_index_that_cannot_be_written_is_kept_in_memory(store, index):
    index.mkdir()
    (index / "in the way").touch()
    assert found(store) == ["A pump is red."]
    store.save([document("second", "A pump is green.")], AGGREGATION)
    assert sorted(found(store)) == ["A pump is green.", "A pump is red."]


def test_a_copy_of_a_store_without_its_index_is_searched(closed, tmp_path):
    copy = tmp_path / "copy.lbug"
    shutil.copyfile(closed, copy)
    with LadybugStore(copy) as store:
        assert found(store) == ["A pump is red."]


def test_each_namespace_has_an_index_of_its_own(closed, index):
    with LadybugStore(closed, namespace="other") as other:
        other.migrate()
        assert found(other) == []
    assert len(list(index.parent.glob("graph.lbug*.search"))) == 2


def test_compacting_after_an_erasure_deletes_the_text(closed, index):
    with LadybugStore(closed) as store:
        store.erase([document("first").source_id])
        store.compact()
        assert not index.exists()
        assert found(store) == []
    assert b"valve" not in index.read_bytes()


def test_a_unit_is_read_whole_beside_a_writer(store, monkeypatch):
    """Another document takes the number of a unit while its passages are about to be read."""
    first, second = document("first", "A pump is red.", "A valve is blue."), document("second", "A pump is green.")
    store.search.prepare()

    def write():
        store.erase([first.source_id])
        store.save([second], AGGREGATION)
        store.search.prepare()

    writer, dumps = threading.Thread(target=write), json.dumps

    def delayed(value):
        if value == [1] and not writer.ident:
            writer.start()
            writer.join(1)
        return dumps(value)

    monkeypatch.setattr(ladybug_search, "json", SimpleNamespace(dumps=delayed, loads=json.loads))
    (unit,) = store.search.units([first.chunks[0].id], [[]])
    assert (unit.text, [one.text for one in unit.passages]) == ("A pump is red.", ["A pump is red."])
    writer.join()
    assert found(store) == ["A pump is green."]


def test_the_rarest_terms_count_where_there_are_many(store, monkeypatch):
    """A term that most passages have would be read for all of them and decide nothing."""
    texts = [f"The pump P{n} leaks." for n in range(12)]
    store.save([document("many", *texts)], AGGREGATION)
    assert len(found(store, "pump leaks P7 valve")) == len(texts) + 2
    monkeypatch.setattr(text_index, "MOST_POSTINGS", 13)
    assert set(found(store, "pump leaks P7 valve")) == {texts[7], "A valve is blue."}
    assert len(found(store, "leaks")) == len(texts), "the rarest one counts, however frequent it is"


def test_damaged_pages_are_found_out_and_searched_around(closed, index):
    with LadybugStore(closed) as store:
        assert found(store)
    content = bytearray(index.read_bytes())
    content[4096:-4096] = bytes(len(content) - 8192)
    index.write_bytes(content)
    with LadybugStore(closed) as store:
        assert found(store) == ["A pump is red."]
    with closing(sqlite3.connect(index)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_log_that_was_left_behind_is_deleted_with_the_index(closed, index):
    leftover = index.with_name(f"{index.name}-wal")
    leftover.write_bytes(b"what was erased")
    with LadybugStore(closed) as store:
        store.compact()
    assert not leftover.exists()


def test_a_reader_that_began_before_an_erasure_does_not_bring_the_text_back(closed, index):
    """While the store is compacted, somebody makes the index from an older state."""
    with LadybugStore(closed) as store:
        compact = store.ready().compact
        with store.reading() as session:
            before = session.run("index_sources", namespace=store.namespace)

        def late(patience):
            compact(patience)
            index.write_bytes(b"A pump is red.")

        store.ready().compact = late
        store.erase([row["id"] for row in before])
        store.compact()
        assert not index.exists()
