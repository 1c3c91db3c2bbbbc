"""The next migration of an embedded store: applied whole or not at all, by one of several at once."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from drag_graph.errors import StoreUnfit
from drag_graph.model import Aggregation
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.stores.shared import migrations as migrate
from drag_graph.testing.builders import make_subgraph

ROOT = Path(__file__).parents[2]
KNOWN = sorted((ROOT / "migrations" / "ladybug").iterdir())
NEXT = "ALTER TABLE Source ADD later STRING;\nCREATE NODE TABLE Later (id STRING PRIMARY KEY);\n"
UPGRADE = """
import os, signal, sys
from pathlib import Path
from drag_graph.stores.shared import migrations as migrate
from drag_graph.stores.ladybug import engine as ladybug_engine
from drag_graph.stores.ladybug.ladybug_store import LadybugStore

known, root = migrate.known, Path(sys.argv[2])
migrate.known = lambda dialect: known(dialect, root)
execute = ladybug_engine.LadybugTransaction.execute

def killed(self, text, parameters=None):
    found = execute(self, text, parameters)
    if sys.argv[3] and text.startswith(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    return found

ladybug_engine.LadybugTransaction.execute = killed
with LadybugStore(Path(sys.argv[1])) as store:
    print(len(store.migrate()))
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "graph.lbug"
    with LadybugStore(path) as store:
        store.migrate()
        store.save([make_subgraph(number) for number in range(3)], Aggregation())
    return path


@pytest.fixture
def root(tmp_path):
    """Return a folder of migrations with one more than the program has."""
    folder = tmp_path / "migrations" / "ladybug"
    folder.mkdir(parents=True)
    for file in KNOWN:
        (folder / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / f"V{len(KNOWN) + 1:04}__later.cypher").write_text(NEXT, encoding="utf-8")
    return folder.parent


def upgrade(path, root, kill=""):
    command = [sys.executable, "-c", UPGRADE, str(path), str(root), kill]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("kill", ["ALTER TABLE Source", "CREATE NODE TABLE Later", "MERGE"])
def test_killed_in_the_middle_it_is_done_by_the_next_one(path, root, kill, monkeypatch):
    process = upgrade(path, root, kill)
    process.communicate(timeout=100)
    if kill != "MERGE":  # how the record of it is written is the statement's affair
        assert process.returncode == -signal.SIGKILL
        with LadybugStore(path) as store:
            assert [item.version for item in store.migrations() if item.applied_at] == list(range(1, len(KNOWN) + 1))
            assert len(store.sources()) == 3
    assert upgrade(path, root).communicate(timeout=100)[0] in ("1\n", "0\n")
    with LadybugStore(path) as store, pytest.raises(StoreUnfit, match=f"schema version {len(KNOWN) + 1}"):
        store.sources()
    known = migrate.known
    monkeypatch.setattr(migrate, "known", lambda dialect: known(dialect, root))
    with LadybugStore(path) as store:
        assert len(store.sources()) == 3
        assert store.verify() == []


def test_of_two_upgraders_at_once_one_does_it_and_both_end_well(path, root):
    processes = [upgrade(path, root) for _ in range(2)]
    assert sorted(process.communicate(timeout=100)[0] for process in processes) == ["0\n", "1\n"]


def test_until_then_a_reader_refuses_it_and_leaves_it_alone(path, root, monkeypatch):
    known = migrate.known
    monkeypatch.setattr(migrate, "known", lambda dialect: known(dialect, root))
    before = path.read_bytes()
    with LadybugStore(path, read_only=True) as store, pytest.raises(StoreUnfit, match="not migrated to this version") as caught:
        store.migrate()
    assert caught.value.hint.startswith("Run `drag-graph db migrate --store /")
    assert path.read_bytes() == before
