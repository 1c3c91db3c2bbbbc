"""Many subgraphs saved at once go in by COPY: the same as by statements, whole or not at all, whatever stops it."""

import multiprocessing
import random
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from drag_graph.adapters import ladybug_engine, ladybug_store
from drag_graph.adapters.ladybug_store import LadybugStore
from drag_graph.errors import StoreError
from drag_graph.model import Aggregation
from drag_graph.testing.builders import expected, make_subgraph, random_subgraphs

ROOT = Path(__file__).parents[2]
PLAIN = Aggregation()
BATCH = 8
"""Queries that go in by COPY together here."""
STATEMENTS = 9
"""COPY statements of one `save`."""


@pytest.fixture(autouse=True)
def copied_from(monkeypatch):
    copy_small(monkeypatch)


def copy_small(patch):
    """Let small batches be copied, and databases be abandoned that keep few of the process's addresses."""
    import ladybug

    patch.setattr(ladybug_store, "COPIED_FROM", BATCH)
    patch.setattr(ladybug_engine, "_abandoned", [])
    patch.setattr(ladybug, "Database", partial(ladybug.Database, max_db_size=1 << 36))


@pytest.fixture
def copies(monkeypatch):
    """How many COPY statements there were, in a list of their names."""
    names = []
    run = ladybug_engine.Session.run

    def counted(self, name, /, **parameters):
        found = run(self, name, **parameters)
        if name.endswith("_copy"):
            names.append(name)
        return found

    monkeypatch.setattr(ladybug_engine.Session, "run", counted)
    return names


def batch(number):
    """Return the subgraphs of batch `number`."""
    return [make_subgraph(f"{number}-{place}", embedding=(0.6, 0.8)) for place in range(BATCH)]


def everything(store):
    return sorted(map(repr, store.records()))


AGGREGATIONS = [
    Aggregation(strategy="pair", merge="max"),
    Aggregation(strategy="pair", merge="noisy-or", threshold=0.9),
    Aggregation(strategy="predicate", merge="mean", threshold=0.5, top_k=3),
]


@pytest.mark.parametrize("aggregation", AGGREGATIONS, ids=lambda item: f"{item.strategy}-{item.merge}")
def test_copied_is_the_same_as_written_by_statements(tmp_path, monkeypatch, copies, aggregation):
    graphs = random_subgraphs(30, seed=5)
    found = []
    for name, least in (("copied", BATCH), ("written", len(graphs) + 1)):
        monkeypatch.setattr(ladybug_store, "COPIED_FROM", least)
        with LadybugStore(tmp_path / name) as store:
            store.migrate()
            assert set(store.save(graphs, aggregation)) == {"created"}
            assert store.verify() == []
            found.append((everything(store), store.read([graph.query.id for graph in graphs]), store.counts()))
        assert len(copies) == STATEMENTS
    assert found[0] == found[1]


def test_what_is_not_all_new_is_written_by_statements(tmp_path, copies):
    with LadybugStore(tmp_path / "graph.lbug") as store:
        store.migrate()
        store.save(batch(0), PLAIN)
        assert len(copies) == STATEMENTS
        changed = [make_subgraph("0-0", settings_hash="settings-2"), *batch(1)]
        assert store.save(changed, PLAIN) == ["replaced", *["created"] * BATCH]
        assert store.save(batch(1), PLAIN) == ["unchanged"] * BATCH
        assert store.save(batch(2)[:-1], PLAIN) == ["created"] * (BATCH - 1)
        assert len(copies) == STATEMENTS
        assert store.save([*batch(1), *batch(3)], PLAIN) == ["unchanged"] * BATCH + ["created"] * BATCH
        assert len(copies) == 2 * STATEMENTS
        assert store.verify() == []


def test_without_arrow_all_is_written_by_statements(tmp_path, monkeypatch, copies):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with LadybugStore(tmp_path / "graph.lbug") as store:
        store.migrate()
        assert store.save(batch(0), PLAIN) == ["created"] * BATCH
        assert copies == []


def test_what_arrow_cannot_hold_is_refused_in_the_same_words(tmp_path, copies):
    graphs = batch(0)
    item = graphs[3].evidence[0].model_copy(update={"text": "\ud800"})
    graphs[3] = graphs[3].model_copy(update={"evidence": (item, *graphs[3].evidence[1:])})
    with LadybugStore(tmp_path / "graph.lbug") as store:
        store.migrate()
        with pytest.raises(StoreError, match="not valid Unicode"):
            store.save(graphs, PLAIN)
        assert copies == []
        assert store.counts()["Query"] == 0


def test_near_a_full_disk_all_is_written_by_statements(tmp_path, monkeypatch, copies):
    monkeypatch.setattr(ladybug_engine, "COPY_SPARE_BYTES", 1 << 62)
    with LadybugStore(tmp_path / "graph.lbug") as store:
        store.migrate()
        assert store.save(batch(0), PLAIN) == ["created"] * BATCH
        assert copies == []


class UnexpectedError(Exception):
    """Something that no code of ours expects."""


def fail_after(monkeypatch, number, error):
    """Let a save fail after that many COPY statements; after all of them, at the commit."""
    execute = ladybug_engine.Session.execute
    done = []

    def run_then_fail(self, text, parameters=None):
        if text == "COMMIT" and len(done) == STATEMENTS:
            raise error
        found = execute(self, text, parameters)
        if text.startswith("COPY"):
            done.append(text)
            if len(done) == number < STATEMENTS:
                raise error
        return found

    monkeypatch.setattr(ladybug_engine.Session, "execute", run_then_fail)


@pytest.mark.parametrize(("number", "error"), [(1, KeyboardInterrupt), (5, UnexpectedError), (STATEMENTS, KeyboardInterrupt)])
def test_any_exception_in_a_copy_leaves_nothing_and_a_store_that_works(tmp_path, monkeypatch, number, error):
    path = tmp_path / "graph.lbug"
    with LadybugStore(path) as store:
        store.migrate()
        store.save([make_subgraph("before")], PLAIN)
        before = everything(store)
        with monkeypatch.context() as patch:
            fail_after(patch, number, error)
            with pytest.raises(error):
                store.save(batch(0), PLAIN)
        assert everything(store) == before
        for round_ in range(2):
            assert store.save(batch(round_), PLAIN) == ["created"] * BATCH
            assert store.save([make_subgraph(round_)], PLAIN) == ["created"]
        assert_whole(store, 2)
    with LadybugStore(path) as store:
        assert_whole(store, 2)


def assert_whole(store, batches=None):
    """Assert that what is there is right, and that each batch is there as a whole or not at all."""
    stored = store.read([row.id for row in store.list_queries(limit=1_000_000)])
    for graph in stored:
        assert graph == expected(graph, PLAIN)
        assert (len(graph.evidence), len(graph.triples)) == (4, 5)
    of_batch = {}
    for graph in stored:
        number, dash, _ = graph.query.text.split("(")[-1].rstrip(")?.").partition("-")
        if dash:
            of_batch[number] = of_batch.get(number, 0) + 1
    assert set(of_batch.values()) <= {BATCH}
    if batches is not None:
        assert len(of_batch) == batches
    assert store.verify() == []
    return of_batch.keys(), {graph.query.id for graph in stored}


def clash(store, graphs):
    """Return the graphs with an evidence id that is another query's, which the primary key refuses."""
    stored = store.read([store.list_queries()[0].id])[0]
    last = graphs[-1]
    stolen = stored.evidence[0].model_copy(update={"source_id": last.query.id, "call_id": last.calls[0].id})
    return [*graphs[:-1], last.model_copy(update={"evidence": (stolen,), "triples": ()})]


def test_an_error_of_the_engine_in_a_copy_is_said_and_leaves_nothing(tmp_path, copies):
    path = tmp_path / "graph.lbug"
    with LadybugStore(path) as store:
        store.migrate()
        store.save([make_subgraph("before")], PLAIN)
        before = everything(store)
        for _ in range(ladybug_engine.MOST_ABANDONED + 1):
            del copies[:]
            with pytest.raises(StoreError) as caught:
                store.save(clash(store, batch(0)), PLAIN)
            assert "\n" not in str(caught.value)
            assert everything(store) == before
        # After so many no further one is tried.
        assert copies == []
        assert store.save(batch(0), PLAIN) == ["created"] * BATCH
        assert copies == []
        assert_whole(store, 1)
    with LadybugStore(path) as store:
        assert_whole(store, 1)
        assert store.save(batch(1), PLAIN) == ["created"] * BATCH
        # This holds for the process.
        assert copies == []


def test_closing_waits_for_a_copy_that_is_under_way(tmp_path, monkeypatch):
    begun, ended = threading.Event(), threading.Event()
    run = ladybug_engine.Session.run

    def slow(self, name, /, **parameters):
        found = run(self, name, **parameters)
        if name.endswith("_copy"):
            begun.set()
            time.sleep(0.05)
        return found

    monkeypatch.setattr(ladybug_engine.Session, "run", slow)
    store = LadybugStore(tmp_path / "graph.lbug")
    store.migrate()
    saved = []

    def save():
        saved.append(store.save(batch(0), PLAIN))
        ended.set()

    thread = threading.Thread(target=save)
    thread.start()
    assert begun.wait(30)
    store.close()
    assert ended.wait(30)
    thread.join()
    assert saved == [["created"] * BATCH]
    with LadybugStore(tmp_path / "graph.lbug") as again:
        assert_whole(again, 1)


def test_a_reader_hinders_a_copy_and_not_a_save(tmp_path, copies):
    with LadybugStore(tmp_path / "graph.lbug") as store:
        store.migrate()
        store.save(batch(0), PLAIN)
        del copies[:]
        reading = store.records()
        next(reading)
        assert store.save(batch(1), PLAIN) == ["created"] * BATCH
        assert copies == []
        reading.close()
        assert store.save(batch(2), PLAIN) == ["created"] * BATCH
        assert len(copies) == STATEMENTS
        assert_whole(store, 3)


def test_readers_of_this_process_see_whole_batches_only(tmp_path, copies):
    ended = threading.Event()
    seen, failed = [], []

    def read():
        while not ended.is_set():
            try:
                counted = store.counts()
                seen.append(counted["Query"])
                assert counted["Query"] % BATCH == 0
                assert counted["Evidence"] == 4 * counted["Query"]
                assert counted["TRIPLE"] == 5 * counted["Query"]
            except BaseException as error:  # noqa: BLE001 - looked at below
                failed.append(error)
                return
            time.sleep(0.002)

    with LadybugStore(tmp_path / "graph.lbug") as store:
        store.migrate()
        threads = [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        for number in range(6):
            store.save(batch(number), PLAIN)
        ended.set()
        for thread in threads:
            thread.join()
        assert failed == []
        assert len(set(seen)) > 2
        assert len(copies) > STATEMENTS
        assert_whole(store, 6)


WRITER = """
import sys
from pathlib import Path
from drag_graph.adapters import ladybug_store
from drag_graph.adapters.ladybug_store import LadybugStore
from drag_graph.errors import StoreError
from drag_graph.model import Aggregation
from drag_graph.testing.builders import make_answer, make_subgraph

path, first, ladybug_store.COPIED_FROM = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
size = ladybug_store.COPIED_FROM
try:
    with LadybugStore(path) as store:
        store.migrate()
        for number in range(first, first + 100_000):
            graphs = [make_subgraph(f"{number}-{place}", embedding=(0.6, 0.8)) for place in range(size)]
            store.save(graphs, Aggregation())
            if number % 3 == 0:
                store.save([make_subgraph(number), make_subgraph("again", settings_hash=f"{number}")], Aggregation())
                store.save_answers([make_answer(number, graphs[:1], refs=[("evidence", graphs[0].evidence[0].id)])])
            print(number, flush=True)
except StoreError as error:
    print(type(error).__name__, error, flush=True)
"""


def writer(path, first=0, before=""):
    command = [sys.executable, "-c", before + WRITER, str(path), str(first), str(BATCH)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def assert_acknowledged(store, numbers):
    batches, ids = assert_whole(store)
    assert {str(number) for number in numbers} <= batches
    assert {make_subgraph(number).query.id for number in numbers if number % 3 == 0} <= ids


def kill_many_times(path, kills, seed):
    """Kill writers somewhere in their work, one after the other on one file, and look at it now and then."""
    chance = random.Random(seed)
    acknowledged = []
    for kill in range(kills):
        process = writer(path, first=kill * 1000)
        lines = [process.stdout.readline() for _ in range(chance.randrange(0, 6))]
        time.sleep(chance.random() * (0.15 if lines else 0.6))
        process.send_signal(signal.SIGKILL)
        rest, errors = process.communicate()
        assert process.returncode == -signal.SIGKILL, errors
        acknowledged += [int(line) for line in (*lines, *rest.splitlines(keepends=True)) if line.endswith("\n")]
        if kill % 8 == 7 or kill == kills - 1:
            with LadybugStore(path) as store:
                store.migrate()
                assert_acknowledged(store, acknowledged)
    assert len(acknowledged) > kills
    with LadybugStore(path) as store:
        assert store.save(batch("after"), PLAIN) == ["created"] * BATCH


def test_copied_batches_survive_kill_9_and_none_is_half_there(tmp_path):
    kill_many_times(tmp_path / "graph.lbug", kills=5, seed=1)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(10))
def test_copied_batches_survive_many_kills(tmp_path, seed):
    kill_many_times(tmp_path / "graph.lbug", kills=24, seed=100 + seed)


LIMITED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
"""


def test_a_file_size_limit_met_in_a_copy_loses_nothing(tmp_path):
    path = tmp_path / "graph.lbug"
    process = writer(path, before=LIMITED.format(limit=6_000_000))
    said, errors = process.communicate(timeout=200)
    assert (process.returncode, errors) == (0, "")
    *acknowledged, last = said.splitlines()
    assert last.startswith("StoreUnavailable")
    assert acknowledged
    with LadybugStore(path) as store:
        store.migrate()
        assert_acknowledged(store, map(int, acknowledged))
        assert store.save(batch("after"), PLAIN) == ["created"] * BATCH
    assert [item.name for item in tmp_path.iterdir()] == ["graph.lbug"]


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(40))
def test_many_failures_of_every_kind_between_saves_leave_what_was_saved(tmp_path, seed):
    """Each in a process of its own, as abandoned databases keep their memory."""
    child = multiprocessing.get_context("spawn").Process(target=fail_many_times, args=(tmp_path / "graph.lbug", seed))
    child.start()
    child.join()
    assert child.exitcode == 0


def fail_many_times(path, seed):
    chance = random.Random(seed)
    batches = failed = 0
    with pytest.MonkeyPatch.context() as patch:
        copy_small(patch)
        patch.setattr(ladybug_engine, "MOST_ABANDONED", 100)
        for _ in range(3):
            with LadybugStore(path) as store:
                store.migrate()
                store.save([make_subgraph("before")], PLAIN)
                for _ in range(5):
                    before = everything(store)
                    fail_once(store, batch(batches), chance)
                    failed += 1
                    assert everything(store) == before
                    assert len(ladybug_engine._abandoned) == failed
                    for _ in range(chance.randrange(3)):
                        store.save(batch(batches), PLAIN)
                        batches += 1
                    if chance.random() < 0.5:
                        store.save([make_subgraph("again", settings_hash=f"{chance.random()}")], PLAIN)
                    if chance.random() < 0.3:
                        store.erase_query(make_subgraph("before").query.id)
                        store.save([make_subgraph("before")], PLAIN)
                assert_whole(store, batches)
            with LadybugStore(path) as store:
                assert_whole(store, batches)


def fail_once(store, graphs, chance):
    """Let a save of these graphs fail, in one of many ways."""
    kind = chance.choice([None, UnexpectedError, KeyboardInterrupt])
    if kind is None:
        with pytest.raises(StoreError):
            store.save(clash(store, graphs), PLAIN)
        return
    with pytest.MonkeyPatch.context() as patch:
        fail_after(patch, chance.randrange(1, STATEMENTS + 1), kind)
        with pytest.raises(kind):
            store.save(graphs, PLAIN)
