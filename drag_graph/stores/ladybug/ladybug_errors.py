"""What the embedded engine's messages mean, in words for users (ladybug 0.22 has one exception class for everything)."""

import re

from drag_graph.errors import StoreError, StoreLocked, StoreUnavailable, StoreUnfit, SubgraphRefused
from drag_graph.stores.shared import migrations as migrate

_HOLDER = re.compile(r"PID (\d+)")
_OTHER_FILE = "Name another file by --store."
_RESTORE = "Restore it from a backup, or name another file by --store."

LOCK = re.compile(r"Could not set lock")
RECOVERY_PENDING = re.compile(r"recovery is pending")
"""A reader met a file whose writer was killed while it checkpointed it: only a writer can make the file whole."""
CHECKPOINT_RACE = re.compile(r"may be checkpointing")
"""A reader met a file in the middle of another process's checkpoint, or a truncated one."""
TORN_LOG = re.compile(r"WAL file is corrupted|Corrupted wal file|Reading past the end of the file .*\.wal")
"""The log ends in a record that was never completed."""
BROKEN_RECORD = re.compile(r"^Assertion failed in file")
"""What the engine says, on opening, of a log whose torn end happens to look like a record."""
DAMAGED = "the file is damaged"
"""What is said where the engine's reading ended in an exception that is not its own."""
COMMITTED = re.compile(r"committed successfully")
"""A transaction is in the log for good, although what came after it failed."""
WRITE_FAILURE = re.compile(r"Cannot write to file|checkpoint failed|No space left|File too large")
"""The engine could not write to its files, and so must not be closed or written to again."""
MISSING_TABLE = re.compile(r"Table \w+ does not exist")
"""A statement named a table that is not declared: the store was never migrated."""
FOREIGN_TABLES = re.compile(rf"{MISSING_TABLE.pattern}|Cannot find property|Cannot bind|is not a node table")
"""The history of migrations is not there, or is a table of that name that somebody else made."""

_MIGRATE = "{migrate}"
"""In hints: where the command that upgrades the store goes."""
_MEANINGS: tuple[tuple[re.Pattern[str], type[StoreError], str, str], ...] = (
    (
        WRITE_FAILURE,
        StoreUnavailable,
        "could not be written to: the disk is full or a limit is reached",
        "Free some space and run the same again; what was reported as stored is there.",
    ),
    (MISSING_TABLE, StoreUnfit, "is not migrated to this version's schema", f"Run {_MIGRATE}."),
    # The end of a file of a few bytes comes before that of the engine's mark.
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
        "cannot be read yet: its writer was killed in a checkpoint, and its log must be replayed by a writer",
        f"Open it once for writing: {_MIGRATE}.",
    ),
    (CHECKPOINT_RACE, StoreUnfit, "is damaged or truncated", _RESTORE),
    (re.compile(f"{DAMAGED}|{TORN_LOG.pattern}|outside the database file"), StoreUnfit, "is damaged or truncated", _RESTORE),
    (
        re.compile(r"[Pp]ermission denied|Read-only file system|read-only database|READ ONLY"),
        StoreUnfit,
        "may not be written to",
        "Check its permissions, or open it for reading only.",
    ),
    (
        re.compile(r"Unable to cast Python instance|surrogate"),
        SubgraphRefused,
        "cannot keep a text that is not valid Unicode",
        "Remove its lone surrogates (U+D800 to U+DFFF).",
    ),
    (
        re.compile(r"duplicated primary key|violates the uniqueness"),
        SubgraphRefused,
        "has something else under an id",
        "Run `drag-graph db verify`.",
    ),
    (
        re.compile(r"Buffer manager|allocate memory|mmap", re.IGNORECASE),
        StoreUnavailable,
        "needs more memory than there is",
        "Read or write less at once.",
    ),
    (re.compile(r"already exists in catalog"), StoreUnfit, "holds tables of another program", _OTHER_FILE),
)


def translate(message: str, location: str) -> StoreError:
    """Return the error of `drag_graph.errors` for a message of the engine about the store at `location`."""
    if LOCK.search(message):
        holder = _HOLDER.search(message)
        by = f"process {holder[1]}" if holder else "another process"
        return StoreLocked(
            f"{location} is locked by {by}", hint="Wait until it is done or stop it; one process writes at a time."
        )
    for pattern, error, meaning, hint in _MEANINGS:
        if pattern.search(message):
            return error(f"{location} {meaning}", hint=hint.replace(_MIGRATE, migrate.command(location)))
    # The engine's own words may quote what is stored: they are the cause of the error, and no part of its text.
    return StoreError(f"the embedded store {location} refused a statement", hint="Run again with --debug for its reason.")
