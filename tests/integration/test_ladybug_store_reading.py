"""The embedded store opened for reading: without any right to write, beside a writer, and after a writer that was killed."""

import errno
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from drag_graph.errors import StoreError, StoreUnavailable, StoreUnfit
from drag_graph.model import Aggregation
from drag_graph.stores.ladybug import store_files
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.stores.shared import migrations as migrate
from drag_graph.testing.builders import expected, make_answer, make_subgraph
from drag_graph.testing.finding import nearest_queries

ROOT = Path(__file__).parents[2]
PLAIN = Aggregation()

WRITER = """
import sys
import time
from pathlib import Path
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.model import Aggregation
from drag_graph.testing.builders import make_subgraph

path, count, checkpoints = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "checkpoints"
with LadybugStore(path) as store:
    store.migrate()
    for number in range(count):
        store.save([make_subgraph(number)], Aggregation())
        print(number, flush=True)
        if checkpoints:
            store._open()._writer.execute("CHECKPOINT")
            time.sleep(0.1)  # as a distillation waits for its teacher
    if not checkpoints:
        sys.stdin.read()
"""

READER = """
import os, sys
from pathlib import Path
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.errors import StoreError
from drag_graph.graph.paging import settings_hashes
from drag_graph.ports.graph_store import SourceFilter
from drag_graph.testing.finding import nearest_queries, read_answer

def everything(path):
    with LadybugStore(path, read_only=True, timeout=2) as store:
        assert store.migrate() == []
        assert all(row.applied_at for row in store.migrations())
        queries = store.sources()
        assert len(store.read([queries[0].id])) == 1
        (answer,) = store.answers()
        assert read_answer(store, answer.id).id == answer.id
        assert store.sources(SourceFilter(prefix=queries[0].id[:12])) == [queries[0]]
        assert settings_hashes(store, [queries[0].id])
        assert nearest_queries(store, (1.0, 0.0), 1)
        assert store.embedder() == ("test", 2)
        assert store.verify() == []
        assert len(list(store.records())) > len(queries) == store.counts()["Query"]
        return len(queries)

everything(Path(sys.argv[1]))  # loads everything before the rights are gone
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    print(everything(Path(sys.argv[2])))
except StoreError as error:
    print(type(error).__name__, error, error.hint)
"""


def fill(path, count=3):
    graphs = [make_subgraph(number, embedding=(1.0, 0.5)) for number in range(count)]
    with LadybugStore(path) as store:
        store.migrate()
        store.embedder(("test", 2))
        store.save(graphs, PLAIN)
        store.save_answers([make_answer(1, graphs[:1], refs=[("evidence", graphs[0].evidence[0].id)])])
    return graphs


@pytest.fixture
def filled(tmp_path):
    path = tmp_path / "graph.lbug"
    return path, fill(path)


@pytest.fixture
def write():
    """Start a writer in another process; wait until it has stored three queries."""
    started = []

    def start(path, count, what):
        command = [sys.executable, "-c", WRITER, str(path), str(count), what]
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        for number in range(3):
            assert process.stdout.readline() == f"{number}\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def beside(path):
    return sorted(item.name for item in path.parent.iterdir())


@pytest.mark.parametrize("with_log", [False, True], ids=["closed", "killed"])
def test_all_that_reads_needs_no_right_to_write(write, with_log):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "inner"
        folder.mkdir()
        path, warm = folder / "graph.lbug", Path(name) / "warm.lbug"
        fill(path, 1)
        fill(warm)
        if with_log:
            write(path, 3, "holds").kill()
            while store_files.is_being_written(path):
                time.sleep(0.01)
            assert Path(f"{path}.wal").stat().st_size > 0
        before = {item.name: item.read_bytes() for item in folder.iterdir()}
        for item in (*folder.iterdir(), warm):
            item.chmod(0o444)
        folder.chmod(0o555)
        Path(name).chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", READER, str(warm), str(path)], cwd=ROOT, capture_output=True, text=True, timeout=100
        )
        folder.chmod(0o755)
        assert done.stderr == ""
        assert int(done.stdout) == (3 if with_log else 1)
        assert {item.name: item.read_bytes() for item in folder.iterdir()} == before


def test_a_log_that_may_not_be_read_is_named():
    with tempfile.TemporaryDirectory() as name:
        path, warm = Path(name) / "graph.lbug", Path(name) / "warm.lbug"
        Path(name).chmod(0o755)
        fill(path)
        fill(warm)
        warm.chmod(0o444)
        path.chmod(0o644)
        Path(f"{path}.wal").write_bytes(b"")
        Path(f"{path}.wal").chmod(0)
        done = subprocess.run(
            [sys.executable, "-c", READER, str(warm), str(path)], cwd=ROOT, capture_output=True, text=True, timeout=100
        )
        assert done.stdout.startswith(f"StoreUnfit The log {path}.wal of the store is not readable")


def test_all_that_writes_is_refused_in_words(filled):
    path, (graph, *_) = filled
    before = path.read_bytes()
    answer = make_answer(2, [graph], refs=[("evidence", graph.evidence[0].id)])
    with LadybugStore(path, read_only=True) as store:
        for write in (
            lambda: store.save([graph], PLAIN),
            lambda: store.aggregate([graph.query.id], PLAIN),
            lambda: store.save_answers([answer]),
            lambda: store.erase([graph.query.id]),
            lambda: store.embedder(("other", 3)),
        ):
            with pytest.raises(StoreError) as caught:
                write()
            assert caught.value.hint
        store.embedder(("test", 2))
        assert store.read([graph.query.id]) == [expected(graph, PLAIN)]
    assert path.read_bytes() == before


def test_a_pending_migration_is_refused_with_the_command_that_applies_it(filled, monkeypatch):
    path, _ = filled
    steps = migrate.known("ladybug")
    newer = (replace(steps[-1][0], version=len(steps) + 1, name="newer"), steps[-1][1])
    with LadybugStore(path, read_only=True) as store:
        assert store.migrate() == []
    monkeypatch.setattr(migrate, "known", lambda dialect: [*steps, newer])
    with LadybugStore(path, read_only=True) as store:
        for use in (store.migrate, store.sources):
            with pytest.raises(StoreUnfit) as caught:
                use()
            assert caught.value.hint.startswith("Run `drag-graph db migrate --store /")
        assert [bool(row.applied_at) for row in store.migrations()] == [True] * len(steps) + [False]


def test_what_was_reported_as_stored_is_read_whole_beside_a_writer_that_checkpoints(tmp_path, write, monkeypatch):
    path, spare = tmp_path / "graph.lbug", tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spare))
    process = write(path, 10_000, "checkpoints")
    acknowledged = 2
    for _ in range(6):
        with LadybugStore(path, read_only=True, timeout=30) as store:
            first = store.sources(limit=10_000)
            assert {make_subgraph(number).query.id for number in range(acknowledged + 1)} <= {row.id for row in first}
            # Many checkpoints later it is still what it was when it was opened.
            acknowledged = [int(process.stdout.readline()) for _ in range(5)][-1]
            stored = store.read([row.id for row in store.sources(limit=10_000)])
            assert len(stored) == len(first)
            assert all(graph == expected(graph, PLAIN) and len(graph.triples) == 5 for graph in stored)
            assert store.verify() == []
    assert process.poll() is None
    assert list(spare.iterdir()) == []


def test_a_writer_that_comes_while_a_reader_reads_is_told_not_read_wrongly(filled):
    path, graphs = filled
    with LadybugStore(path, read_only=True) as reader:
        records = reader.records()
        next(records)
        command = [sys.executable, "-c", WRITER, str(path), "6", "checkpoints"]
        subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=100)
        for use in (reader.sources, reader.verify, lambda: list(records), lambda: nearest_queries(reader, (1.0, 0.0), 1)):
            with pytest.raises(StoreUnavailable, match="written to while") as caught:
                use()
            assert caught.value.hint == "Run the same command again."
    with LadybugStore(path, read_only=True) as reader:
        assert len(reader.sources()) == 6
        assert reader.read([graphs[0].query.id])


def test_a_copy_for_which_there_is_no_room_is_refused_in_words(tmp_path, write, monkeypatch):
    path = tmp_path / "graph.lbug"
    write(path, 3, "holds")

    def fail(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)

    monkeypatch.setattr(store_files.shutil, "copyfile", fail)
    with pytest.raises(StoreUnavailable, match="No space left") as caught:
        LadybugStore(path, read_only=True, timeout=5).sources()
    assert "Free some space" in caught.value.hint


def test_a_writer_killed_in_a_checkpoint_is_named_and_the_next_writer_makes_the_store_whole(tmp_path, write):
    path = tmp_path / "graph.lbug"
    process = write(path, 10_000, "checkpoints")
    deadline = time.monotonic() + 200
    while not Path(f"{path}.wal.checkpoint").exists():
        assert time.monotonic() < deadline
    process.kill()
    process.wait()
    assert "graph.lbug.wal.checkpoint" in beside(path), "the kill came too late"
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match=r"writer was killed.*can replay its log") as caught:
        LadybugStore(path, read_only=True, timeout=200).sources()
    assert time.monotonic() - began < 100
    assert "drag-graph db migrate" in caught.value.hint
    with LadybugStore(path) as store:
        assert store.migrate() == []
    with LadybugStore(path, read_only=True) as store:
        assert len(store.sources()) >= 3
        assert store.verify() == []


FOREIGN = {
    "other_tables": "CREATE NODE TABLE Person(id STRING PRIMARY KEY); CREATE REL TABLE Knows(FROM Person TO Person)",
    "our_names": "CREATE NODE TABLE Evidence(id STRING PRIMARY KEY, mine STRING)",
    "a_migration_table": "CREATE NODE TABLE Migration(id STRING PRIMARY KEY)",
}


@pytest.mark.parametrize("declared", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("read_only", [False, True], ids=["write", "read"])
def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path, declared, read_only):
    import ladybug

    path = tmp_path / "graph.lbug"
    with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
        connection.execute(declared)
    for use in (LadybugStore.migrate, LadybugStore.migrations, LadybugStore.sources):
        with pytest.raises(StoreUnfit, match="is not a drag-graph store") as caught:
            use(LadybugStore(path, read_only=read_only))
        assert "`store=FILE`" in caught.value.hint
    with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
        found = connection.execute("CALL show_tables() RETURN name").get_all()
    assert len(found) == declared.count("TABLE")


@pytest.mark.parametrize("text", ["x", "hi\n", "a text of one line\n"])
@pytest.mark.parametrize("read_only", [False, True], ids=["write", "read"])
def test_a_tiny_file_is_refused_in_one_clear_sentence(tmp_path, text, read_only):
    path = tmp_path / "graph.lbug"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StoreUnfit) as caught:
        LadybugStore(path, read_only=read_only, timeout=0.3).migrate()
    assert str(caught.value) == f"{path} is not an embedded store."
    assert path.read_text(encoding="utf-8") == text


def test_a_folder_without_room_by_its_nature_is_not_called_a_full_disk():
    with pytest.raises(StoreUnfit) as caught:
        LadybugStore(Path("/proc/graph.lbug")).migrate()
    assert "full" not in str(caught.value)
    assert "/proc" in str(caught.value)
