"""The write boundaries of a process: every place where something becomes durable, counted, and the n-th one deadly.

`install` wraps them in a forked child (see `nursery.py`): on both sides of every transaction of the store and after every
statement in it, around every transaction of the ledger, and in the middle of those of the tape, the quarantine and the
full-text index. Passing one
writes its name to a file, with one write, so the file tells afterwards what was passed, also of a process that was killed. At
the `fatal` one, counted among those whose name begins with `name`, the process ends itself by SIGKILL.

With an `instant` the kill comes that many seconds later, from a timer of the kernel: somewhere in the native code of the
engine that the boundary let in, where no Python could stop it.
"""

import ctypes
import os
import signal
import threading
from importlib import import_module

_STORES = "drag_graph.stores"
_ROWS_OF_THE_INDEX = tuple(
    f"INSERT INTO {table} " for table in ("source", "unit", "unit_terms", "passage", "passage_terms", "fact")
)


class _Counter:
    """The boundaries passed so far."""

    def __init__(self, path, fatal):
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._number, self._name, self._instant = fatal or (0, "", None)
        self._passed = 0
        self._lock = threading.Lock()

    def passed(self, name):
        with self._lock:
            self._passed += name.startswith(self._name)
            os.write(self._file, f"{name}\n".encode())
            if self._passed == self._number and name.startswith(self._name):
                if self._instant is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                else:
                    _kill_in(self._instant)


def install(path, fatal=None):
    """Wrap the boundaries. `fatal` is (number from 1, name, instant or None) of the deadly one; without it none is."""
    passed = _Counter(path, fatal).passed
    _wrap_ledger(passed)
    _wrap_ladybug(passed)
    _wrap_neo4j(passed)


def _kill_in(seconds):
    """Have the kernel send SIGKILL to this process after `seconds`: timer_create, as Python's own timer sends SIGALRM only."""

    class Event(ctypes.Structure):
        _fields_ = (("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("notify", ctypes.c_int), ("rest", ctypes.c_byte * 48))

    class Times(ctypes.Structure):
        _fields_ = (("interval", ctypes.c_long * 2), ("value", ctypes.c_long * 2))

    library, timer = ctypes.CDLL(None, use_errno=True), ctypes.c_void_p()
    times = Times((0, 0), (int(seconds), max(1, int(seconds % 1 * 1e9))))
    failed = library.timer_create(1, ctypes.byref(Event(None, signal.SIGKILL, 0)), ctypes.byref(timer))
    failed = failed or library.timer_settime(timer, 0, ctypes.byref(times), None)
    assert not failed, os.strerror(ctypes.get_errno())


class _Instead:
    """A module or object with some of its attributes replaced."""

    def __init__(self, real, **replaced):
        self._real = real
        self.__dict__.update(replaced)

    def __getattr__(self, name):
        return getattr(self._real, name)


def _wrap_ledger(passed):
    database = import_module("drag_graph.ledger.sqlite_file")
    sqlite3 = database.sqlite3

    class Connection(sqlite3.Connection):
        kind = "journal"

        def execute(self, text, *parameters):
            if text == "COMMIT":
                passed(f"{self.kind}: before a commit")
            found = super().execute(text, *parameters)
            if text == "COMMIT":
                passed(f"{self.kind}: committed")
            elif text.startswith("BEGIN"):
                self.kind = "journal"
                passed("journal: begun")
            elif text.startswith("INSERT INTO exchanges"):
                self.kind = "quarantine" if parameters[0][4] is None else "tape"
                passed(f"{self.kind}: half a record written")
            elif text.startswith("INSERT INTO state"):
                passed("index: state written")
            return found

        def executemany(self, text, rows):
            found = super().executemany(text, rows)
            if text.startswith(_ROWS_OF_THE_INDEX):
                self.kind = "index"
                passed("index: rows written")
            return found

    def connect(*args, **more):
        return sqlite3.connect(*args, factory=Connection, **more)

    database.sqlite3 = _Instead(sqlite3, connect=connect)


def _wrap_ladybug(passed):
    engine = import_module(f"{_STORES}.ladybug.engine")
    execute, close = engine.LadybugTransaction.execute, engine.Engine.close
    of_thread = threading.local()

    def executed(self, text, parameters=None):
        if text.startswith("BEGIN"):
            of_thread.writes = not text.endswith("READ ONLY")
            if of_thread.writes:
                passed("store: before a transaction")
        elif text == "COMMIT" and of_thread.writes:
            passed("store: before a commit")
        found = execute(self, text, parameters)
        if of_thread.writes and text != "ROLLBACK":
            passed({"BEGIN TRANSACTION": "store: begun", "COMMIT": "store: committed"}.get(text, "store: statement done"))
        return found

    def closed(self):
        passed("store: before closing")
        close(self)
        passed("store: closed")

    engine.LadybugTransaction.execute = executed
    engine.Engine.close = closed


def _wrap_neo4j(passed):
    connection = import_module(f"{_STORES}.neo4j.connection")
    write = connection.Neo4jConnection.write

    def writing(self, work):
        passed("store: before a transaction")

        def working(open_work):
            passed("store: begun")
            real = open_work._transaction

            def run(text, *parameters):
                result = real.run(text, *parameters)
                passed("store: statement sent")
                return result

            open_work._transaction = _Instead(real, run=run)
            result = work(open_work)
            passed("store: before a commit")
            return result

        result = write(self, working)
        passed("store: committed")
        return result

    connection.Neo4jConnection.write = writing
