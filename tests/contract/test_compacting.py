"""After a compaction nothing that was erased is in a file of the store, and everything else is as it was."""

import errno
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest

from drag_graph.errors import StoreLocked, StoreUnavailable
from drag_graph.model import Aggregation
from drag_graph.stores.ladybug import store_files
from drag_graph.stores.ladybug import store_files as files
from drag_graph.stores.ladybug.engine import Engine
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.testing.builders import make_answer, make_document_subgraph, make_query, make_subgraph
from drag_graph.testing.finding import nearest_queries

ROOT = Path(__file__).parents[2]
PLAIN = Aggregation()
SECRET = "a secret of nobody else"
ODD = ["nul \0 inside", "\ufeffmark", "a\u2028b", "tab\tquote\"'`\\", "[x, y]", "null", "line\nbreak"]


def secret_graph():
    graph = make_subgraph("secret", evidence=[f"{SECRET} said aloud"], dropped=(), triples=[("x", "is", SECRET, 0.9, 0)])
    query = make_query("secret").model_copy(update={"text": f"What is {SECRET}?"})
    return graph.model_copy(update={"source": query.model_copy(update={"id": graph.source_id})})


def filled(path):
    """Return what is stored besides the secret, which is erased."""
    odd = make_subgraph(
        "odd", triples=[(text, "is", ODD[n - 1], 0.9, 0) for n, text in enumerate(ODD)], evidence=ODD, dropped=()
    )
    graphs = [make_subgraph(number, embedding=(1.0, 0.0)) for number in range(20)]
    with LadybugStore(path) as store:
        store.migrate()
        store.embedder(("of-tests", 2))
        store.save([*graphs, odd, make_document_subgraph()], PLAIN)
        store.save_answers([make_answer(1, [odd], refs=[("evidence", odd.evidence[0].id)])])
        before = sorted(map(repr, store.records()))
        secret = secret_graph()
        store.save([secret], PLAIN)
        store.search.prepare()
        store.erase([secret.source_id])
    return before


def files_of(path):
    return sorted(item.name for item in path.parent.rglob("*"))


def holds_secret(path):
    return any(SECRET.encode() in item.read_bytes() for item in path.parent.rglob("*") if item.is_file())


def test_what_was_erased_is_in_no_file(tmp_path):
    path = tmp_path / "with 'quotes' \\ and blanks" / "graph.lbug"
    before = filled(path)
    assert holds_secret(path), "the engine keeps deleted text, or this test is in vain"
    with LadybugStore(path) as store:
        store.compact()
        assert sorted(map(repr, store.records())) == before
        assert all(item.applied_at for item in store.migrations())
        assert store.embedder() == ("of-tests", 2)
        assert store.verify() == []
        assert nearest_queries(store, (1.0, 0.0), 1)[0][1] == pytest.approx(1.0)
        assert not holds_secret(path)
        assert store.save([make_subgraph("later", embedding=(0.6, 0.8))], PLAIN) == ["created"]
    assert not holds_secret(path)
    assert files_of(path) == ["graph.lbug", "graph.lbug.search"]
    with LadybugStore(path) as store:
        assert nearest_queries(store, (0.6, 0.8), 1)[0][0] == make_subgraph("later").source_id
        assert store.verify() == []


KILLED = """
import os, signal, sys
from pathlib import Path
from drag_graph.stores.ladybug import store_files as ladybug_files
from drag_graph.stores.ladybug import engine as ladybug_engine
from drag_graph.stores.ladybug.ladybug_store import LadybugStore

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

place, path = sys.argv[1], Path(sys.argv[2])
replace = Path.replace
if place == "while the tables are written":
    ladybug_engine.files.read_tables = kill
elif place == "before the swap":
    Path.replace = kill
else:
    Path.replace = lambda self, target: (replace(self, target), kill())
with LadybugStore(path) as store:
    store.compact()
"""


@pytest.mark.parametrize("place", ["while the tables are written", "before the swap", "after the swap"])
def test_killed_at_any_step_the_old_file_or_the_new_one_is_whole(tmp_path, place):
    path = tmp_path / "graph.lbug"
    before = filled(path)
    done = subprocess.run([sys.executable, "-c", KILLED, place, str(path)], cwd=ROOT, capture_output=True, timeout=100)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with LadybugStore(path) as store:
        assert sorted(map(repr, store.records())) == before
        assert store.verify() == []
        assert files_of(path) == ["graph.lbug"], "what the killed one has left is taken away"
        store.compact()
        assert sorted(map(repr, store.records())) == before
    assert not holds_secret(path)


def test_it_waits_for_readers_of_its_process_and_gives_up_in_words(tmp_path):
    path = tmp_path / "graph.lbug"
    before = filled(path)
    with LadybugStore(path) as store, LadybugStore(path) as other:
        with other.reading() as session:
            session.run("counts", namespace="default")
            with pytest.raises(StoreLocked, match="This process is still reading"):
                store.compact(patience=0.2)
        assert sorted(map(repr, store.records())) == before
        stop = threading.Event()

        def read():
            while not stop.is_set():
                assert len(other.sources(limit=1000)) == len(before_queries)

        before_queries = store.sources(limit=1000)
        thread = threading.Thread(target=read)
        thread.start()
        store.compact()
        stop.set()
        thread.join()
        assert sorted(map(repr, other.records())) == before


def test_who_reads_waits_only_while_the_files_change_places(tmp_path, monkeypatch):
    path = tmp_path / "graph.lbug"
    before = filled(path)
    with LadybugStore(path) as store:
        queries, write_draft = store.sources(limit=1000), Engine._write_draft

        def reading_meanwhile(engine, draft):
            write_draft(engine, draft)
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(store.sources, limit=1000).result(20) == queries

        monkeypatch.setattr(Engine, "_write_draft", reading_meanwhile)
        store.compact()
        assert sorted(map(repr, store.records())) == before


def test_a_file_that_cannot_be_put_in_place_leaves_the_old_one_open(tmp_path, monkeypatch):
    path = tmp_path / "graph.lbug"
    before = filled(path)

    with LadybugStore(path) as store:
        monkeypatch.setattr(files.os, "fsync", Mock(side_effect=OSError(errno.EMFILE, "Too many open files")))
        with pytest.raises(StoreUnavailable, match="Too many open files"):
            store.compact()
        assert sorted(map(repr, store.records())) == before
        store.save([make_subgraph("one more")], PLAIN)


def test_a_file_that_another_process_has_taken_is_opened_again_by_the_next_write(tmp_path, monkeypatch):
    path = tmp_path / "graph.lbug"
    before = filled(path)
    with LadybugStore(path) as store:
        with monkeypatch.context() as patched:
            patched.setattr(store_files, "lock", lambda _file: False)
            patched.setattr(files, "open_database", Mock(side_effect=StoreLocked("another process has it")))
            with pytest.raises(StoreLocked, match="another process has it"):
                store.compact()
        store.save([make_subgraph("one more")], PLAIN)
        assert set(map(repr, store.records())) > set(before)


def test_without_room_for_a_second_file_nothing_is_done(tmp_path, monkeypatch):
    path = tmp_path / "graph.lbug"
    before = filled(path)
    with LadybugStore(path) as store:
        size = path.stat().st_size
        monkeypatch.setattr("drag_graph.stores.ladybug.engine.Engine.free_bytes", lambda _: size + 16_000_000)
        monkeypatch.setattr("drag_graph.stores.ladybug.engine.COMPACTING_ROOM", 1_000_000)
        with pytest.raises(StoreUnavailable, match="no space"):
            store.compact()
        assert sorted(map(repr, store.records())) == before


def test_a_store_and_a_folder_that_is_made_for_it_are_its_owners(tmp_path):
    path = tmp_path / "new" / "graph.lbug"
    filled(path)
    modes = {name: stat.S_IMODE(item.stat().st_mode) for name, item in (("folder", path.parent), ("file", path))}
    assert modes == {"folder": 0o700, "file": 0o600}
    with LadybugStore(path) as store:
        store.save([make_subgraph("in the log")], PLAIN)
        log = path.with_name("graph.lbug.wal")
        assert stat.S_IMODE(log.stat().st_mode) == 0o600
        store.compact()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
