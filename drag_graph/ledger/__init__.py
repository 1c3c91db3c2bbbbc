"""The ledger: one SQLite file per store with the teacher tape, runs, quarantine, spending and batches."""

from collections.abc import Collection, Iterator
from pathlib import Path

from drag_graph.ledger.batch_records import BatchRecords, give_up
from drag_graph.ledger.journal import Journal
from drag_graph.ledger.ledger_erasing import erase, recorded_queries
from drag_graph.ledger.ledger_file import LedgerFile
from drag_graph.ledger.spending import Account
from drag_graph.ledger.tape import Tape
from drag_graph.ledger.tape_files import exported, imported
from drag_graph.ports.run_journal import RecordedQuery

__all__ = ["Ledger"]


class Ledger(LedgerFile):
    """An open ledger. Thread-safe, and safe next to other processes.

    Without a path its content is temporary. With `read_only` the file must exist and may be write-protected.

    All its methods and parts raise StoreUnfit if the file cannot be used.
    """

    def __init__(self, path: Path | None = None, *, read_only: bool = False) -> None:
        super().__init__(path, read_only=read_only)
        self.tape = Tape(self)
        self.journal = Journal(self)

    def account(self, job: str) -> Account:
        """Return the spending of a job."""
        return Account(self, job)

    def batches(self, job: str, model: str) -> BatchRecords:
        """Return the batches of a job. Raises StoreLocked if another process works on them."""
        return BatchRecords(self, job, model)

    def give_up(self, batch_id: str) -> int:
        """Delete the requests of a batch whose replies are lost; return how many."""
        return give_up(self, batch_id)

    def queries(self, namespace: str) -> list[RecordedQuery]:
        """Return the queries whose texts are recorded."""
        return recorded_queries(self, namespace)

    def erase(self, source_ids: Collection[str], namespace: str, *, keep_recorded: bool = False) -> dict[str, int]:
        """Erase requests, replies and results of these queries; see `drag_graph.ledger.ledger_erasing`."""
        return erase(self, source_ids, namespace, keep_recorded=keep_recorded)

    def rows(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield a name for each row, and its texts by column."""
        with self.reading() as rows:
            tables = [name for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
            for table in tables:
                cursor = rows.execute(f"SELECT * FROM {table}")  # noqa: S608 - a name from our own schema
                names = [column[0] for column in cursor.description]
                for number, row in enumerate(cursor, start=1):
                    texts = {name: value for name, value in zip(names, row, strict=True) if isinstance(value, str)}
                    yield f"{table} {number}", texts

    def export_tape(self) -> Iterator[str]:
        """Yield the replies as JSON lines."""
        return exported(self)

    def import_tape(self, file: Path) -> int:
        """Add the replies of an exported tape; return how many are new."""
        with file.open("rb") as lines:
            return imported(self, lines, str(file))
