"""Translation of the embedded engine's messages into our errors (ladybug 0.22 has one exception class for everything)."""

import re

from drag_graph.errors import StoreError, StoreLocked, StoreUnavailable, StoreUnfit, SubgraphRefused
from drag_graph.stores.shared import migrations as migrate

_HOLDER = re.compile(r"PID (\d+)")
_OTHER_FILE = "Choose another file with `store=FILE`."
_RESTORE = (
    "Restore it from a backup, or run `drag-graph import` with an export and `store=FILE`. "
    "Distilling again costs nothing while the ledger has the recorded replies."
)

LOCK = re.compile(r"Could not set lock")
RECOVERY_PENDING = re.compile(r"recovery is pending")
"""A reader opened a file whose writer was killed during a checkpoint; only a writer can recover it."""
CHECKPOINT_RACE = re.compile(r"may be checkpointing")
"""A reader opened a file during another process's checkpoint, or a truncated file."""
TORN_LOG = re.compile(r"WAL file is corrupted|Corrupted wal file|Reading past the end of the file .*\.wal")
"""The log ends in an incomplete record."""
BROKEN_RECORD = re.compile(r"^Assertion failed in file")
"""The engine's message on opening a log whose torn end happens to look like a record."""
DAMAGED = "the file is damaged"
"""Our message if the engine's reading raised an exception that is not its own."""
CORRUPTION = (
    r"outside the database file|may be corrupted|Reading past the end of the file|Assertion failed in file|codec can't decode"
)
"""Messages of the engine, and of Python, on reading pages with changed bytes."""
COMMITTED = re.compile(r"committed successfully")
"""A transaction was committed, although a later step failed."""
WRITE_FAILURE = re.compile(r"Cannot write to file|checkpoint failed|No space left|File too large")
"""The engine could not write to its files. It must not be closed or written to again."""
MISSING_TABLE = re.compile(r"Table \w+ does not exist")
"""A statement uses an undeclared table: the store was never migrated."""
FOREIGN_TABLES = re.compile(rf"{MISSING_TABLE.pattern}|Cannot find property|Cannot bind|is not a node table")
"""The history of migrations is missing, or another program created a table of that name."""

_MIGRATE = "{migrate}"
"""Placeholder in hints for the command that upgrades the store."""
_MEANINGS: tuple[tuple[re.Pattern[str], type[StoreError], str, str], ...] = (
    (
        WRITE_FAILURE,
        StoreUnavailable,
        "cannot be written to: the disk is full or a limit is reached",
        "Free some space and run the same command again. Everything reported as stored is there.",
    ),
    (MISSING_TABLE, StoreUnfit, "is not migrated to this version's schema", f"Run {_MIGRATE}."),
    # A file of a few bytes ends before the engine's mark does.
    (
        re.compile(r"not a valid Lbug database|past the end of the file .* with size \d at offset"),
        StoreUnfit,
        "is not an embedded store",
        _OTHER_FILE,
    ),
    (
        re.compile(r"different version|storage version", re.IGNORECASE),
        StoreUnfit,
        "was written by another version of the engine",
        "Install the version of ladybug that wrote it.",
    ),
    (
        RECOVERY_PENDING,
        StoreUnavailable,
        "cannot be read yet: its writer was killed during a checkpoint, and only a writer can replay its log",
        f"Open it once for writing: {_MIGRATE}.",
    ),
    (CHECKPOINT_RACE, StoreUnfit, "is damaged or truncated", _RESTORE),
    (re.compile(f"{DAMAGED}|{TORN_LOG.pattern}|{CORRUPTION}"), StoreUnfit, "is damaged or truncated", _RESTORE),
    (
        re.compile(r"[Pp]ermission denied|Read-only file system|read-only database|READ ONLY"),
        StoreUnfit,
        "may not be written to",
        "Check its permissions, or open it for reading only.",
    ),
    (
        re.compile(r"Unable to cast Python instance|surrogate"),
        SubgraphRefused,
        "cannot store text that is not valid Unicode",
        "Remove lone surrogates (U+D800 to U+DFFF) from the input.",
    ),
    (
        re.compile(r"duplicated primary key|violates the uniqueness"),
        SubgraphRefused,
        "already has something else with one of these ids",
        "Run `drag-graph db verify`.",
    ),
    (
        re.compile(r"Buffer manager|allocate memory|mmap", re.IGNORECASE),
        StoreUnavailable,
        "needs more memory than is available",
        "Process fewer items at a time.",
    ),
    (re.compile(r"already exists in catalog"), StoreUnfit, "holds tables of another program", _OTHER_FILE),
)


def translate(message: str, location: str) -> StoreError:
    """Return our error for a message of the engine about the store at `location`."""
    if LOCK.search(message):
        holder = _HOLDER.search(message)
        by = f"process {holder[1]}" if holder else "another process"
        return StoreLocked(
            f"{location} is locked by {by}.", hint="Wait for that process, or stop it: only one process can write at a time."
        )
    for pattern, error, meaning, hint in _MEANINGS:
        if pattern.search(message):
            return error(f"{location} {meaning}.", hint=hint.replace(_MIGRATE, migrate.command(location)))
    # The engine's message may quote stored text, so it is the cause of the error, but not part of its message.
    return StoreError(
        f"The embedded store {location} cannot execute a statement.",
        hint="Check it with `drag-graph db verify --debug`. If that fails too, restore it from a backup.",
    )
