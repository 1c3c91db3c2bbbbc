"""Numbered schema changes: `migrations/<dialect>/V0001__name.cypher`, applied forward, never edited.

A file holds one or more statements, each closed by a semicolon at the end of a line; whole-line `//` comments are for
people. The history is kept in the graph as (:Migration {version, name, checksum, applied_at}), written by the adapter.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from drag_graph.errors import ConfigurationError, StoreUnfit
from drag_graph.identity import sha256_of
from drag_graph.ports.graph_store import Migration
from drag_graph.stores.shared.cypher_files import Dialect, folder_beside_or_inside

Step: TypeAlias = tuple[Migration, tuple[str, ...]]
"""A migration and its statements, in order."""

_COMMENT = re.compile(r"^[ \t]*//.*$", re.MULTILINE)
_END = re.compile(r";[ \t]*(?:\n|\Z)")


def checksum(text: str) -> str:
    """Return the SHA-256 of a migration's text, whatever its line ends, trailing spaces and byte order mark."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return sha256_of("\n".join(line.rstrip() for line in lines).strip())


def known(dialect: Dialect, root: Path | None = None) -> list[Step]:
    """Return the migrations that the code has for `dialect`, in order, from `migrations/` (or from `root`).

    Raises ConfigurationError if there are none.
    """
    folder = (root or folder_beside_or_inside("migrations")) / dialect
    steps = [_read(path) for path in sorted(folder.glob("*.cypher"))]
    if not steps:
        raise ConfigurationError(f"{folder}: there are no migrations.", hint="Install drag-graph again.")
    return steps


def plan(known: Sequence[Step], applied: Sequence[Migration]) -> list[Step]:
    """Return the steps that are still to be applied, in order.

    Raises StoreUnfit when the store is newer than the code, when an applied file was changed since, or when the store's
    history has a gap.
    """
    by_version = {migration.version: migration for migration, _ in known}
    history = sorted(applied, key=lambda migration: migration.version)
    newest = max(by_version, default=0)
    if history and history[-1].version > newest:
        raise StoreUnfit(
            f"The store is at schema version {history[-1].version}, this drag-graph knows only up to {newest}.",
            hint="Install the drag-graph that wrote the store, or a newer one.",
        )
    for expected, migration in enumerate(history, start=1):
        if migration.version != expected:
            raise StoreUnfit(f"The store's migration history lacks version {expected}.", hint="Restore it from a backup.")
        ours = by_version[migration.version]
        if (ours.name, ours.checksum) != (migration.name, migration.checksum):
            raise StoreUnfit(
                f"Migration {file_name(ours)} differs from the one that was applied to the store as {file_name(migration)}.",
                hint="Restore the file. A change of schema needs a new file with the next number.",
            )
    return list(known[len(history) :])


def status(dialect: Dialect, applied: Callable[[], Sequence[Migration]]) -> list[Migration]:
    """Return all known migrations in order, with `applied_at` where the store has them. Raises as `plan` does."""
    steps = known(dialect)
    history = list(applied())
    plan(steps, history)
    times = {migration.version: migration.applied_at for migration in history}
    return [replace(migration, applied_at=times.get(migration.version, "")) for migration, _ in steps]


def run(
    dialect: Dialect, applied: Callable[[], Sequence[Migration]], apply: Callable[[Migration, tuple[str, ...]], None]
) -> list[Migration]:
    """Apply what is pending and return it (empty when the store is up to date). Raises as `plan` does.

    `applied` reads the store's history (empty for a store that has none yet). `apply` executes the statements and records
    the migration, which carries its `applied_at`; it does so in one transaction where the engine can. Two
    upgraders at once may both apply a migration, so on an engine without such transactions each statement must be repeatable.
    """
    done = []
    for migration, statements in plan(known(dialect), list(applied())):
        stamped = replace(migration, applied_at=datetime.now(UTC).isoformat(timespec="seconds"))
        apply(stamped, statements)
        done.append(stamped)
    return done


def command(store: str) -> str:
    """Return the command that upgrades the store at this address, as a shell takes it; for hints."""
    return f"`drag-graph db migrate --store {shlex.quote(store)}`"


def require(dialect: Dialect, applied: Callable[[], Sequence[Migration]], location: str, store: str) -> None:
    """Raise StoreUnfit where a migration is pending, with the command that applies it; and as `plan` does.

    `location` names the store in a message, `store` is the value of `--store`.
    """
    history = list(applied())
    if plan(known(dialect), history):
        if not history:
            raise StoreUnfit(
                f"{location} holds nothing of drag-graph yet.", hint=f"Run `drag-graph distill`, or {command(store)}."
            )
        raise StoreUnfit(f"{location} is not migrated to this version's schema.", hint=f"Run {command(store)}.")


def file_name(migration: Migration) -> str:
    """Return the name of the file that a migration is read from."""
    return f"V{migration.version:04d}__{migration.name}.cypher"


def _read(path: Path) -> Step:
    number, _, name = path.stem.removeprefix("V").partition("__")
    text = path.read_text(encoding="utf-8-sig")
    code = _COMMENT.sub("", text.replace("\r\n", "\n"))
    statements = tuple(part.strip() for part in _END.split(code) if part.strip())
    return Migration(int(number), name, checksum(text)), statements
