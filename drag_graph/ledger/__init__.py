"""The ledger: one SQLite file a store with the teacher tape, runs, quarantine, spending and batches."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Self

from drag_graph.ledger.batch_records import BatchRecords, give_up
from drag_graph.ledger.journal import Journal
from drag_graph.ledger.ledger_erasing import ErasedRecords, erase, recorded_queries
from drag_graph.ledger.spending import Account
from drag_graph.ledger.sqlite_file import Database
from drag_graph.ledger.tape import Tape
from drag_graph.ledger.tape_files import exported, imported
from drag_graph.ports.run_journal import RecordedQuery

__all__ = ["ErasedRecords", "Ledger"]


class Ledger:
    """An open ledger; `path` None keeps it for this object alone. Thread-safe, and safe beside other processes.

    With `read_only` it has to be there, and is read without the right to write.

    Everything that it gives raises StoreUnfit when the file cannot be used.
    """

    def __init__(self, path: Path | None = None, *, read_only: bool = False) -> None:
        self.path = path
        self.database = Database(path, read_only=read_only)
        self.tape = Tape(self.database)
        self.journal = Journal(self.database)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file; a second call does nothing."""
        self.database.close()

    def account(self, job: str) -> Account:
        """Return the spending of a job."""
        return Account(self.database, job)

    def batches(self, job: str, model: str) -> BatchRecords:
        """Return the batches of a job. Raises StoreLocked where another process is at work on them."""
        return BatchRecords(self.database, job, model)

    def give_up(self, batch_id: str) -> int:
        """Forget the requests of a batch whose replies cannot be had; return how many these were."""
        return give_up(self.database, batch_id)

    def queries(self, namespace: str) -> list[RecordedQuery]:
        """Return the queries of which there are words to erase."""
        return recorded_queries(self.database, namespace)

    def erase(self, source_ids: Collection[str], namespace: str, *, keep_recorded: bool = False) -> ErasedRecords:
        """Erase what was asked, answered and noted for these queries; see `drag_graph.ledger.ledger_erasing`."""
        return erase(self.database, source_ids, namespace, keep_recorded=keep_recorded)

    def rows(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Yield the texts of every row of every table, by the table's name and the row's number there."""
        with self.database.reading() as rows:
            tables = [name for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
            for table in tables:
                found = rows.execute(f"SELECT * FROM {table}")  # noqa: S608 - a name of our own schema
                names = [column[0] for column in found.description]
                for number, row in enumerate(found, start=1):
                    texts = {name: value for name, value in zip(names, row, strict=True) if isinstance(value, str)}
                    yield table, f"{table} {number}", texts

    def export_tape(self) -> Iterator[str]:
        """Yield the replies as lines of JSON."""
        return exported(self.database)

    def import_tape(self, file: Path) -> int:
        """Add the replies of an exported tape; return how many were new."""
        with file.open("rb") as lines:
            return imported(self.database, lines, str(file))
