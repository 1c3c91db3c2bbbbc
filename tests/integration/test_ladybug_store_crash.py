"""What was reported as stored survives: kill -9 at any instant, a full disk, an exception in the middle (promise 1)."""

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drag_graph.errors import StoreError
from drag_graph.model import Aggregation
from drag_graph.stores.ladybug import engine as ladybug_engine
from drag_graph.stores.ladybug import store_files as ladybug_files
from drag_graph.stores.ladybug import subgraphs
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.testing.builders import expected, make_answer, make_subgraph, random_subgraphs

ROOT = Path(__file__).parents[2]
PLAIN = Aggregation()
KILLS = 8

WRITER = """
import sys
from pathlib import Path
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.errors import StoreError
from drag_graph.model import Aggregation
from drag_graph.testing.builders import make_answer, make_subgraph

path, first, settings_hash = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
try:
    with LadybugStore(path) as store:
        store.migrate()
        for number in range(first, first + 100_000):
            batch = [make_subgraph(number, settings_hash=settings_hash), make_subgraph(number % 7, settings_hash=f"{number}")]
            store.save(batch, Aggregation())
            store.save_answers([make_answer(number, batch[:1], refs=[("evidence", batch[0].evidence[0].id)])])
            print(number, flush=True)
except StoreError as error:
    print(type(error).__name__, error, flush=True)
"""


def writer(path, first=0, settings_hash="settings-1", before=""):
    return subprocess.Popen(
        [sys.executable, "-c", before + WRITER, str(path), str(first), settings_hash],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_whole(store, acknowledged):
    """Assert that the acknowledged saves are there and that nothing is half there."""
    stored = store.read([row.id for row in store.sources(limit=1_000_000)])
    for graph in stored:
        assert graph == expected(graph, PLAIN)
        assert len(graph.evidence) == 4
        assert len(graph.triples) == 5
    assert {make_subgraph(number).query.id for number in acknowledged} <= {graph.query.id for graph in stored}
    answers = {answer.id for answer in store.answers(limit=1_000_000)}
    assert {make_answer(number, [make_subgraph(number)]).id for number in acknowledged} <= answers
    assert store.verify() == []


def test_acknowledged_saves_survive_kill_9_and_none_is_half_there(tmp_path):
    path = tmp_path / "graph.lbug"
    chance = random.Random(2)
    acknowledged = []
    for kill in range(KILLS):
        process = writer(path, first=10 + kill * 1000)
        # The first one is killed while it makes the store, the others somewhere in their writing.
        lines = [process.stdout.readline() for _ in range(chance.randrange(1, 12) if kill else 0)]
        time.sleep(chance.random() * (0.02 if kill else 0.4))
        process.send_signal(signal.SIGKILL)
        rest, errors = process.communicate()
        assert process.returncode == -signal.SIGKILL, errors
        acknowledged += [int(line) for line in (*lines, *rest.splitlines(keepends=True)) if line.endswith("\n")]
    assert len(acknowledged) > KILLS
    with LadybugStore(path) as store:
        store.migrate()
        assert_whole(store, acknowledged)
        assert store.save([make_subgraph("after")], PLAIN) == ["created"]


LIMITED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
"""


@pytest.mark.parametrize("limit", [700_000, pytest.param(1_500_000, marks=pytest.mark.long)])
def test_a_file_size_limit_is_said_in_words_and_loses_nothing(tmp_path, limit):
    path = tmp_path / "graph.lbug"
    process = writer(path, before=LIMITED.format(limit=limit))
    said, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    assert errors == ""
    *acknowledged, last = said.splitlines()
    assert last.startswith("StoreUnavailable")
    assert len(acknowledged) > 10
    with LadybugStore(path) as store:
        store.migrate()
        assert_whole(store, map(int, acknowledged))
    assert [item.name for item in tmp_path.iterdir()] == ["graph.lbug"]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 24 MB, where this user may mount one; else the whole is tried with a pretended size only."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)], capture_output=True)
    yield folder, mounted.returncode == 0
    if mounted.returncode == 0:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_said_in_words_and_loses_nothing(small_disk, monkeypatch):
    folder, real = small_disk
    path = folder / "graph.lbug"
    graphs = random_subgraphs(40, seed=7)
    big = [graph.model_copy(update={"embedding": tuple([0.5] * 20_000)}) for graph in graphs]
    acknowledged = []
    if not real:
        free = iter(range(200, -1, -8))
        monkeypatch.setattr(ladybug_engine.Engine, "_lacking_space", lambda self: next(free, 0) < 64)
    store = LadybugStore(path)
    store.migrate()

    def save_all():
        for graph in big:
            store.save([graph], PLAIN)
            acknowledged.append(graph)

    with pytest.raises(StoreError, match="disk") as caught:
        save_all()
    assert caught.value.exit_code == 3
    assert "Free some space" in caught.value.hint
    assert 0 < len(acknowledged) < len(big)
    # Reading goes on, and a second attempt says the same.
    assert store.read([acknowledged[0].query.id]) == [expected(acknowledged[0], PLAIN)]
    if real:
        with pytest.raises(StoreError, match="disk"):
            store.save([big[-1]], PLAIN)
    store.close()
    monkeypatch.undo()
    if real:
        subprocess.run(["mount", "-o", "remount,size=400m", str(folder)], check=True)
    with LadybugStore(path) as store:
        wanted = [expected(graph, PLAIN) for graph in acknowledged]
        assert store.read([graph.query.id for graph in acknowledged]) == wanted
        assert store.save(big, PLAIN).count("unchanged") == len(acknowledged)


def test_a_new_store_on_a_full_disk_is_refused_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(ladybug_files, "SPARE_BYTES", 1 << 62)
    with pytest.raises(StoreError, match="disk"):
        LadybugStore(tmp_path / "graph.lbug").migrate()
    assert not list(tmp_path.iterdir())


class UnexpectedError(Exception):
    """Something that no code of ours expects."""


@pytest.mark.parametrize("error", [UnexpectedError, KeyboardInterrupt], ids=lambda error: error.__name__)
@pytest.mark.parametrize("place", ["before_writing", "before_aggregating", "after_aggregating"])
def test_any_exception_in_a_save_rolls_everything_back(tmp_path, monkeypatch, error, place):
    old, other = make_subgraph(0), make_subgraph("other")
    new = make_subgraph(0, settings_hash="settings-2", triples=[("a", "is", "b", 0.9, 0)])
    with LadybugStore(tmp_path / "graph.lbug") as store:
        store.migrate()
        store.save([old], PLAIN)
        store.save_answers([make_answer(1, [old], refs=[("evidence", old.evidence[0].id)])])
        before = sorted(map(repr, store.records()))

        def fail(*_, **__):
            raise error

        with monkeypatch.context() as patch:
            if place == "before_writing":
                patch.setattr(subgraphs, "subgraph_rows", fail)
            elif place == "before_aggregating":
                patch.setattr(subgraphs, "edge_rows", fail)
            else:
                run = ladybug_engine.LadybugTransaction.run

                def run_then_fail(self, name, /, **parameters):
                    found = run(self, name, **parameters)
                    return fail() if name == "mark_graphs" else found

                patch.setattr(ladybug_engine.LadybugTransaction, "run", run_then_fail)
            with pytest.raises(error):
                store.save([other, new], PLAIN)
            if place != "before_writing":
                with pytest.raises(error):
                    store.aggregate([old.query.id], Aggregation(threshold=0.0, strategy="predicate"))
        assert sorted(map(repr, store.records())) == before
        assert store.save([other, new], PLAIN) == ["created", "replaced"]
        assert store.verify() == []


def test_an_error_of_the_engine_in_a_save_rolls_everything_back(tmp_path):
    """Two queries whose evidence has one id: the primary key refuses the second."""
    one, two = make_subgraph(1), make_subgraph(2)
    stolen = one.evidence[0].model_copy(update={"source_id": two.query.id, "call_ids": (two.calls[0].id,)})
    clash = two.model_copy(update={"evidence": (stolen,), "triples": ()})
    with LadybugStore(tmp_path / "graph.lbug") as store:
        store.migrate()
        store.save([one], PLAIN)
        before = sorted(map(repr, store.records()))
        with pytest.raises(StoreError) as caught:
            store.save([make_subgraph(3), clash], PLAIN)
        assert "\n" not in str(caught.value)
        assert sorted(map(repr, store.records())) == before
        assert store.save([make_subgraph(3)], PLAIN) == ["created"]


def _beginning_of_a_record(log):
    return log + log[:333]


def _rubbish(log):
    return log + bytes(range(256)) * 2


def _one_byte(log):
    return log + b"\x01"


def _zeros(log):
    return log + bytes(5000)


def _cut(log):
    return log[:-1]


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A store whose writer was killed, and what it had acknowledged."""
    path = tmp_path_factory.mktemp("killed") / "graph.lbug"
    process = writer(path)
    lines = [process.stdout.readline() for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    return path, [int(line) for line in (*lines, *rest.splitlines(keepends=True)) if line.endswith("\n")]


@pytest.mark.parametrize("tear", [_beginning_of_a_record, _rubbish, _one_byte, _zeros, _cut], ids=lambda tear: tear.__name__)
def test_a_log_with_a_torn_end_is_replayed_up_to_it_and_kept(tmp_path, killed, tear):
    there, acknowledged = killed
    path = Path(shutil.copy(there, tmp_path))
    torn = tear(Path(f"{there}.wal").read_bytes())
    Path(f"{path}.wal").write_bytes(torn)
    with LadybugStore(path) as store:
        # The last transaction is the torn one where the log was cut.
        assert_whole(store, acknowledged[:-1] if tear is _cut else acknowledged)
    assert Path(f"{path}.wal.torn").read_bytes() == torn
    with LadybugStore(path) as store:
        assert_whole(store, acknowledged[:-1])
