"""The ledger's file: its tables, and locks that tell a running process from one that was killed."""

from pathlib import Path

from filelock import FileLock, Timeout

from drag_graph.ledger.sqlite_file import FileKind, SqliteFile

LEDGER = FileKind(
    name="ledger",
    schema=Path(__file__).with_name("ledger.sql").read_text(encoding="utf-8"),
    hint="Free disk space, correct the permissions, or choose another file with `ledger=FILE`. Complete queries are stored.",
    restore=(
        "Restore {path} from a backup, or move it away to start a new one. Recorded replies, runs and spending are lost then; "
        "the graph store is not affected."
    ),
    application=0x6472616C,
    version=2,
)


class LedgerFile(SqliteFile):
    """An open ledger file; see `SqliteFile`."""

    def __init__(self, path: Path | None = None, *, read_only: bool = False) -> None:
        self._locks: dict[str, FileLock] = {}
        super().__init__(LEDGER, path, read_only=read_only)

    def close(self) -> None:
        """Release the locks and the file; further calls do nothing."""
        for name in list(self._locks):
            self.unlock(name)
        super().close()

    def lock(self, name: str) -> bool:
        """Acquire a lock until `unlock` or the end of the process. Return False if another process holds it."""
        if self.path is None:
            return True
        lock = _file_lock(self._lock_path(name))
        with self.errors():
            try:
                lock.acquire()
            except Timeout:
                return False
        self._locks[name] = lock
        return True

    def unlock(self, name: str) -> None:
        """Release a lock and remove its file."""
        lock = self._locks.pop(name, None)
        if lock is not None:
            self._lock_path(name).unlink(missing_ok=True)
            lock.release()

    def is_locked(self, name: str) -> bool:
        """Whether a living process holds the lock."""
        if self.path is None or name in self._locks:
            return True
        path = self._lock_path(name)
        if not path.exists():
            return False
        lock = _file_lock(path)
        try:
            lock.acquire()
        except OSError as error:
            return isinstance(error, Timeout)
        path.unlink(missing_ok=True)  # its process was killed
        lock.release()
        return False

    def _lock_path(self, name: str) -> Path:
        path = self.path or Path()
        return path.with_name(f"{path.name}-{name}.lock")


def _file_lock(path: Path) -> FileLock:
    return FileLock(path, timeout=0, mode=0o600, thread_local=False)
