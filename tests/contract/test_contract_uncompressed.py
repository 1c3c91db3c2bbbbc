"""Embedded stores that earlier versions made are upgraded to ones that lose no vectors, with all that is in them."""

import random
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from earlier import KEPT, LOST, VERSION, content, earlier, graph, make, sparse

from drag_graph import migrate
from drag_graph.adapters import ladybug_engine, ladybug_store, ladybug_upgrading
from drag_graph.adapters.ladybug_store import LadybugStore
from drag_graph.errors import ConfigurationError, StoreLocked, StoreUnavailable, StoreUnfit
from drag_graph.log import fields_of
from drag_graph.model import Aggregation
from drag_graph.ports import Migration

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
WATCHED = """
import os, signal
from drag_graph.adapters import ladybug_engine

execute = ladybug_engine.Session.execute


def watched(self, text, parameters=None):
    if text.startswith({begins!r}) and not {after}:
        {act}
    found = execute(self, text, parameters)
    if text.startswith({begins!r}) and {after}:
        {act}
    return found


ladybug_engine.Session.execute = watched
"""
KILL = "os.kill(os.getpid(), signal.SIGKILL)"
KNOWN = [item.version for item, _ in migrate.known("ladybug")]
NEWER = KNOWN[VERSION:]


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
    assert fields["namespaces"] == "default,odd,other"


def test_what_was_lost_may_stay_uncounted(path, monkeypatch, caplog):
    """The store is upgraded by then, and nothing that is only said makes it fail."""
    run = ladybug_engine.Session.run

    def fail(self, name, /, **parameters):
        if name == "verify_vectors_everywhere":
            raise StoreUnavailable("no memory is left")
        return run(self, name, **parameters)

    monkeypatch.setattr(ladybug_engine.Session, "run", fail)
    assert upgrade(path) == NEWER
    (fields,) = [fields_of(record) for record in caplog.records if "db verify" in record.getMessage()]
    assert fields["error"] == "no memory is left"


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


def test_without_the_upgrade_they_would_be_lost(path):
    """What the tests above say rests on a store that does lose vectors."""
    with earlier(), LadybugStore(path) as store:
        store.save([graph(30, store.namespace)], Aggregation())
    with earlier(), LadybugStore(path) as store:
        assert kept(store, [30]) == []


def test_a_store_of_this_version_is_made_right_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(ladybug_upgrading, "_apply_copying", lambda *_: pytest.fail("there is nothing to be made anew"))
    assert upgrade(tmp_path / "new.lbug") == KNOWN


def test_until_then_it_is_refused(path):
    before = path.read_bytes()
    with LadybugStore(path, read_only=True) as store, pytest.raises(StoreUnfit, match="not migrated to this version") as caught:
        store.migrate()
    assert caught.value.hint.startswith("Run `drag-graph db migrate --store /")
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
        code += f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size * 8 // 10},) * 2)\n"
    out, errors = start(path, code).communicate(timeout=100)
    assert out.splitlines()[1].startswith("StoreUnavailable"), errors
    assert ("is to be made anew" in out) == (full == "said")
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
    assert content(path) == before, "what was copied is gone, as it would outlive what is erased"
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


def test_it_says_so_where_a_process_has_to_start_again(path, monkeypatch):
    before = content(path)
    monkeypatch.setattr(ladybug_engine, "_abandoned", ["here", "there"])
    with pytest.raises(StoreUnavailable, match="after 2 copies that failed") as caught:
        upgrade(path)
    assert caught.value.hint == "Start again."
    assert content(path) == before


@pytest.mark.parametrize(
    ("added", "taken", "what"),
    [
        ("ALTER TABLE Query ADD note STRING", "ALTER TABLE Query DROP note", "the column Query.note"),
        ("ALTER TABLE USED ADD note STRING", "ALTER TABLE USED DROP note", "the column USED.note"),
        ("CREATE REL TABLE LIKES (FROM Query TO Query)", "DROP TABLE LIKES", "the relationship table LIKES"),
    ],
)
def test_what_somebody_has_added_is_named_and_kept(path, monkeypatch, added, taken, what):
    monkeypatch.setattr(ladybug_engine, "_abandoned", [])
    change(path, added)
    before = content(path)
    with pytest.raises(StoreUnfit, match=what) as caught:
        upgrade(path)
    assert "run the same again" in caught.value.hint
    assert content(path) == before
    assert ladybug_engine._abandoned == []
    change(path, taken)
    assert upgrade(path) == NEWER


def change(path, text):
    with earlier(), LadybugStore(path) as store, store.writing() as session:
        session.execute(text)


LATER = (
    "DROP TABLE IF EXISTS Later_anew",
    "CREATE NODE TABLE Later_anew (id STRING PRIMARY KEY)",
    "COPY Later_anew FROM (MATCH (n:Query) RETURN n.id)",
    "ALTER TABLE Later_anew RENAME TO Later",
)


def test_a_later_migration_that_copies_has_a_transaction_for_each_copy(path, monkeypatch):
    upgrade(path)
    later, said = Migration(KNOWN[-1] + 1, "later", "1", "2026-11-21"), []
    execute = ladybug_engine.Session.execute
    with LadybugStore(path) as store:
        apply = partial(ladybug_upgrading.apply, store.ready(), later, made_now=False, patience=1.0)
        with pytest.raises(ConfigurationError, match="must stand together"):
            apply((*LATER, LATER[2]))
        monkeypatch.setattr(ladybug_engine.Session, "execute", lambda *args: said.append(args[1]) or execute(*args))
        apply(LATER)
        assert not any("everywhere" in text for text in said)
        place = said.index(LATER[2])
        assert said[place - 1 : place + 2] == ["BEGIN TRANSACTION", LATER[2], "COMMIT"]
    assert len(content(path)["Later"][1]) == len(content(path)["Query"][1])


def check_left(path, before):
    """Hold that a killed upgrade left all that was there, and that the next one ends it; return what was left to it."""
    with LadybugStore(path) as store:  # by which the engine makes the file whole
        pending = [item.version for item in store.migrations() if not item.applied_at]
    found = content(path)
    assert {name: rows for name, rows in found.items() if name in before or pending != NEWER} == before
    assert upgrade(path) == pending
    assert content(path) == before
    with LadybugStore(path) as store:
        assert kept(store, [*KEPT]) == [*KEPT]
    return pending


@pytest.mark.parametrize(
    ("begins", "after", "left"),
    [
        ("COPY Query_anew", True, NEWER),
        ("COPY MENTIONS_anew", False, NEWER),
        ("ALTER TABLE USED_anew", True, NEWER),
        ("RETURN 'Concept.id'", False, NEWER[1:]),
    ],
)
def test_killed_at_a_step_it_is_finished_by_the_next_one(path, monkeypatch, begins, after, left):
    """Which wants no more room than the first one, whatever that has left."""
    before, size = content(path), path.stat().st_size
    monkeypatch.setattr(ladybug_engine.Engine, "free_bytes", lambda _: 9_000_000)
    with pytest.raises(StoreUnavailable) as caught:
        upgrade(path)
    enough = 1_000_000 * int(re.search(r"(\d+) MB", str(caught.value))[1])
    assert enough < ladybug_upgrading.ROOM * size, "there is free room in this file, and it counts"
    process = start(path, WATCHED.format(begins=begins, after=after, act=KILL))
    process.communicate(timeout=100)
    assert process.returncode == -signal.SIGKILL
    monkeypatch.setattr(ladybug_engine.Engine, "free_bytes", lambda _: enough)
    assert check_left(path, before) == left


def copying(path):
    """Start an upgrade, and return its process once it copies."""
    process = start(path, WATCHED.format(begins="COPY Query_anew", after=False, act="print('copying', flush=True)"))
    assert [process.stdout.readline() for _ in range(2)] == ["open\n", "copying\n"]
    return process


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_killed_at_a_great_many_times_too(path, made):
    before, chance = content(path), random.Random(5)
    process, began = copying(path), time.monotonic()
    assert process.communicate()[0] == f"{len(NEWER)}\n"
    took = time.monotonic() - began
    left = []
    for _ in range(120):
        shutil.copyfile(made, path)
        process = copying(path)
        time.sleep(chance.random() * took)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        left.append(check_left(path, before))
    assert left.count(NEWER) > len(left) / 4
