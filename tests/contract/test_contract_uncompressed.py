"""Embedded stores that earlier versions made are upgraded to ones that lose no vectors, with all that is in them."""

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from earlier import KEPT, LOST, VERSION, content, earlier, graph, make, sparse

from drag_graph import migrate
from drag_graph.adapters import ladybug_engine, ladybug_store, ladybug_upgrading
from drag_graph.adapters.ladybug_store import LadybugStore
from drag_graph.errors import StoreLocked, StoreUnavailable, StoreUnfit
from drag_graph.log import fields_of
from drag_graph.model import Aggregation

ROOT = Path(__file__).parents[2]
UPGRADE = """
import sys
from pathlib import Path
from drag_graph.adapters.ladybug_store import LadybugStore
from drag_graph.errors import StoreError

try:
    with LadybugStore(Path(sys.argv[1])) as store:
        print("open", flush=True)
        print(len(store.migrate()), flush=True)
except StoreError as error:
    print(type(error).__name__, error, flush=True)
"""
KNOWN = [item.version for item, _ in migrate.known("ladybug")]
NEWER = KNOWN[VERSION:]
KILLS = 4


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("earlier") / "old.lbug"
    make(path)
    return path


@pytest.fixture
def path(made, tmp_path):
    return Path(shutil.copyfile(made, tmp_path / "old.lbug"))


def start(path, before=""):
    command = [sys.executable, "-c", before + UPGRADE, str(path)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def upgrade(path):
    with LadybugStore(path) as store:
        return [item.version for item in store.migrate()]


def kept(store, numbers):
    """Return the numbers of the queries whose vectors are as they were made."""
    wanted = {graph(number, store.namespace).query.id: sparse(number) for number in numbers}
    found = {item.query.id: item.embedding for item in store.read(list(wanted))}
    return [number for number, id_ in zip(numbers, wanted, strict=True) if found[id_] == wanted[id_]]


def test_everything_is_kept_but_what_was_lost_already_and_nothing_is_lost_any_more(path, caplog):
    before = content(path)
    assert upgrade(path) == NEWER
    assert content(path) == before
    assert [item.name for item in path.parent.iterdir()] == ["old.lbug"]
    # As many as the earlier version had lost, and those of no words are none of them.
    told = [fields_of(record) for record in caplog.records if "db repair" in record.getMessage()]
    with LadybugStore(path) as store:
        assert kept(store, [*KEPT, *LOST]) == [*KEPT]
        evidence = 2 * sum(len(graph(number, "default").evidence) for number in LOST)
        concepts = 2 * sum(len(graph(number, "default").entities) for number in LOST) + 1
    (fields,) = told
    assert (fields["questions"], fields["evidence"], fields["concepts"]) == (2 * len(LOST), evidence, concepts)


def test_later_vectors_of_all_kinds_are_kept(path):
    upgrade(path)
    for number in range(30, 33):
        with LadybugStore(path) as store:
            item = graph(number, store.namespace)
            store.save([item], Aggregation())
            store.concepts.save_vectors("Evidence", [item.evidence[0].id], np.asarray([sparse(100 + number)]))
            concept = next(store.concepts.all()).id
            store.concepts.save_vectors("Concept", [concept], np.asarray([sparse(200 + number)]))
        with LadybugStore(path) as store:
            assert kept(store, [*KEPT, *range(30, number + 1)]) == [*KEPT, *range(30, number + 1)]
            assert store.concepts.vectors([concept])[concept] == pytest.approx(sparse(200 + number), abs=1e-7)
            near = store.search.candidates(sparse(100 + number), [], 5).evidence
            assert near[0].score == pytest.approx(1.0)


def test_so_are_those_of_many_queries_at_once(path, monkeypatch):
    """Which are copied into the tables, where `pyarrow` is there."""
    upgrade(path)
    monkeypatch.setattr(ladybug_store, "COPIED_FROM", 8)
    for numbers in (range(30, 40), range(40, 50)):
        with LadybugStore(path) as store:
            assert set(store.save([graph(number, store.namespace) for number in numbers], Aggregation())) == {"created"}
    with LadybugStore(path) as store:
        assert kept(store, [*KEPT, *range(30, 50)]) == [*KEPT, *range(30, 50)]
        assert {item.check for item in store.verify() if item.check not in ("vector", "concept")} == set()
        store.erase_query(graph(3, store.namespace).query.id)
        assert graph(3, store.namespace).query.id not in store.match_ids("query", "", limit=100)


def test_without_the_upgrade_they_would_be_lost(path, monkeypatch):
    """What the tests above say rests on a store that does lose vectors."""
    with earlier(), LadybugStore(path) as store:
        store.save([graph(30, store.namespace)], Aggregation())
    with earlier(), LadybugStore(path) as store:
        assert kept(store, [30]) == []


def test_a_store_of_this_version_is_made_right_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(ladybug_upgrading, "_make_anew", lambda *_: pytest.fail("there is nothing to be made anew"))
    assert upgrade(tmp_path / "new.lbug") == KNOWN


def test_until_then_it_is_refused(path):
    before = path.read_bytes()
    with LadybugStore(path, read_only=True) as store, pytest.raises(StoreUnfit, match="older than this version") as caught:
        store.migrate()
    assert caught.value.hint == "Run `drag-graph db migrate`."
    assert path.read_bytes() == before
    with LadybugStore(path) as store, pytest.raises(StoreUnfit, match="not migrated"):
        store.list_queries()


def test_of_two_upgraders_at_once_one_does_it_and_both_end_well(path):
    before = content(path)
    processes = [start(path) for _ in range(2)]
    ended = [process.communicate(timeout=100)[0].split() for process in processes]
    assert sorted(ended) == [["open", "0"], ["open", str(len(NEWER))]]
    assert content(path) == before


def test_a_reader_of_another_process_is_told_not_read_wrongly(path):
    with earlier(), LadybugStore(path, read_only=True) as reader:
        assert len(reader.list_queries()) == 22
        assert start(path).communicate(timeout=100)[0].split() == ["open", str(len(NEWER))]
        for use in (reader.list_queries, lambda: list(reader.records())):
            with pytest.raises(StoreUnavailable, match="written to while"):
                use()


@pytest.mark.parametrize("full", ["said", "met"])
def test_a_full_disk_leaves_it_as_it_was(path, full):
    before, size = content(path), path.stat().st_size
    if full == "said":
        code = "from drag_graph.adapters.ladybug_engine import Engine\nEngine.free_bytes = lambda _: 9_000_000\n"
    else:
        code = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        code += f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size + 200_000},) * 2)\n"
    out, errors = start(path, code).communicate(timeout=100)
    assert out.splitlines()[1].startswith("StoreUnavailable"), errors
    with earlier(), LadybugStore(path) as store:
        assert store.migrate() == []
        assert kept(store, [*KEPT]) == [*KEPT]
    after = content(path)
    assert {name: after[name] for name in before} == before
    assert upgrade(path) == NEWER
    assert content(path) == before


def test_an_error_of_nobodys_leaves_it_as_it_was(path, monkeypatch):
    """The database is not used any more after it, and the same process can go on."""
    monkeypatch.setattr(ladybug_engine, "_abandoned", [])
    before = content(path)
    execute = ladybug_engine.Session.execute

    def fail(self, text, parameters=None):
        found = execute(self, text, parameters)
        if text.startswith("COPY MENTIONS"):
            raise KeyError(text)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(ladybug_engine.Session, "execute", fail)
        with pytest.raises(KeyError):
            upgrade(path)
    assert upgrade(path) == NEWER
    assert content(path) == before


def test_it_waits_for_readers_of_its_process_and_gives_up_in_words(path):
    with earlier():
        reader = LadybugStore(path)
        records = reader.records()
        next(records)
    with reader, LadybugStore(path, timeout=0.3) as store:
        with pytest.raises(StoreLocked, match="while this process reads it"):
            store.migrate()
        records.close()
        assert [item.version for item in store.migrate()] == NEWER


def check_killed(path, chance, before, took):
    """Kill an upgrade at any time; all is there, before and after the next one."""
    process = start(path)
    assert process.stdout.readline() == "open\n"
    time.sleep(chance.random() * took)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    applied = upgrade(path)
    assert applied == NEWER[len(NEWER) - len(applied) :]
    assert content(path) == before
    with LadybugStore(path) as store:
        assert kept(store, [*KEPT]) == [*KEPT]
    return applied


def measured(path):
    """Return how many seconds an upgrade takes."""
    process = start(path)
    process.stdout.readline()
    began = time.monotonic()
    assert process.stdout.readline() == f"{len(NEWER)}\n"
    process.communicate()
    return time.monotonic() - began


def test_killed_at_any_time_it_is_finished_by_the_next_one(path, made):
    before, took, chance = content(path), measured(path), random.Random(4)
    for _ in range(KILLS):
        shutil.copyfile(made, path)
        check_killed(path, chance, before, took)


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_killed_at_a_great_many_times_too(path, made):
    before, took, chance = content(path), measured(path), random.Random(5)
    left = []
    for _ in range(120):
        shutil.copyfile(made, path)
        left.append(check_killed(path, chance, before, took))
    assert NEWER in left
