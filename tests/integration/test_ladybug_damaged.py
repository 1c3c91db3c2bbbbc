"""What is done to the file of an embedded store is told in words.

Each case is a process of its own, as the engine reads a broken file without looking: where bytes are changed it may end the
whole process in native code (a signal). That cannot be caught here, and is the only thing that is excepted.
"""

import os
import random
import sys
import traceback

import pytest

from drag_graph.errors import DragGraphError, StoreUnfit
from drag_graph.model import Aggregation
from drag_graph.stores.ladybug.ladybug_errors import translate
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.testing.builders import make_subgraph

IN_WORDS, READ, TRACEBACK = 0, 1, 3
SUBGRAPH = make_subgraph(0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "graph.lbug"
    with LadybugStore(path) as store:
        store.migrate()
        store.save([SUBGRAPH], Aggregation())
    return path.read_bytes()


def flipped(data, seed, number):
    chance, changed = random.Random(seed), bytearray(data)
    for _ in range(number):
        changed[chance.randrange(len(changed))] ^= 0xFF
    return bytes(changed)


def opened(path):
    """Read and check the store in a process of its own; return how that ended: a status, or less than 0 for a signal."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = TRACEBACK
    try:
        with LadybugStore(path, read_only=True, timeout=0.1) as store:
            store.read([SUBGRAPH.source_id])
            store.verify()
        status = READ
    except DragGraphError as error:
        status = IN_WORDS if str(error) else TRACEBACK
    except BaseException:  # noqa: BLE001 - all of them are what is looked for
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(status)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_file_that_was_cut_off_gives_no_traceback(tmp_path, whole, share):
    path = tmp_path / "graph.lbug"
    path.write_bytes(whole[: int(len(whole) * share)])
    assert opened(path) != TRACEBACK


@pytest.mark.parametrize("number", [1, pytest.param(30, marks=pytest.mark.long), 3000])
def test_changed_bytes_give_no_traceback(tmp_path, whole, number):
    path = tmp_path / "graph.lbug"
    for seed in range(3):
        path.write_bytes(flipped(whole, seed, number))
        assert opened(path) != TRACEBACK


@pytest.mark.parametrize(
    "message",
    [
        "Runtime exception: Cannot read PIP page 268436238 from disk: out of bounds. The database file may be corrupted.",
        "Runtime exception: Reading past the end of the file graph.lbug with size 7434240 at offset 1287443379",
        'Assertion failed in file "src/storage/table/column_chunk_data.cpp" on line 1080: UNREACHABLE_CODE',
        "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
    ],
)
def test_a_damaged_file_is_called_damaged_and_the_hint_says_what_to_restore(message):
    """Trial 5: these messages were reported as a refused statement."""
    error = translate(message, "graph.lbug")
    assert isinstance(error, StoreUnfit)
    assert str(error) == "graph.lbug is damaged or truncated."
    assert "backup" in error.hint
    assert "drag-graph import" in error.hint
