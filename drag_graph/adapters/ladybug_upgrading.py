"""Applying a migration to an embedded store (`migrations/ladybug`).

Its statements are one transaction with the record of it, unless there are COPY statements among them. These stand together, and
each has a transaction of its own, as nothing else may be in one with it (`drag_graph.adapters.ladybug_engine`); what stands
before them is one transaction, and what stands behind them, with the record, another. Whatever ends it in between, all that
was in the store is in it, and the next upgrade does the migration again from its beginning: so it begins by dropping what an
earlier one left (DROP TABLE IF EXISTS). An upgrade that fails drops that itself, where it still can; one that is killed cannot.
"""

import logging
import re
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from drag_graph.adapters import ladybug_files as files
from drag_graph.adapters.ladybug_engine import Engine
from drag_graph.errors import ConfigurationError, StoreError, StoreUnavailable, StoreUnfit
from drag_graph.log import event
from drag_graph.ports import Migration

UNCOMPRESSED = "uncompressed"
"""The migration that makes tables anew which earlier versions made (docs/adr/0018-uncompressed.md)."""
ROOM = 3
"""Times what is in the file that must be free for it: the tables again, wider by what compression saved, and a checkpoint."""
PAGE_BYTES = 4096
_REFERENCED = re.compile(r"referenced by relationship table (\w+)")


def apply(engine: Engine, migration: Migration, statements: Sequence[str], *, made_now: bool, patience: float) -> None:
    """Execute a migration's statements and record it.

    In a store that is `made_now` there is nothing that an earlier version made. `patience` is how many seconds to wait for what
    other threads of this process read. Raises StoreUnavailable for a full disk, StoreLocked for readers that do not end,
    StoreUnfit for what somebody has added to tables that are made anew.
    """
    with engine.alone():
        if migration.name == UNCOMPRESSED and made_now:
            _execute(engine, (), migration)
        elif any(map(_copies, statements)):
            _apply_copying(engine, migration, statements, patience)
        else:
            _execute(engine, statements, migration)


def _apply_copying(engine: Engine, migration: Migration, statements: Sequence[str], patience: float) -> None:
    before, copies, behind = _parts(statements)
    began = time.monotonic()
    _drop(engine, before)
    _require_room(engine)
    size = Path(engine.location).stat().st_size
    event("upgrading a store of an earlier version", level=logging.WARNING, location=engine.location, bytes=size)
    is_done = False
    try:
        _execute(engine, before)
        if migration.name == UNCOMPRESSED:
            _require_no_more_columns(engine)
        for text in copies:
            with engine.copying(patience=patience, spare=files.SPARE_BYTES) as session:
                if isinstance(session, StoreError):
                    raise session
                session.execute(text)
        _execute(engine, behind, migration)
        is_done = True
    except StoreError as error:
        found = _REFERENCED.search(str(error.__cause__))
        if found:
            raise _added(engine, f"the relationship table {found[1]}") from error
        raise
    finally:
        if not is_done:
            # What is erased from the store before the next attempt would be in the copies still.
            with suppress(StoreError):
                _drop(engine, before)
    seconds = round(time.monotonic() - began, 1)
    event("upgraded", level=logging.WARNING, location=engine.location, seconds=seconds)
    if migration.name == UNCOMPRESSED:
        _tell_what_was_lost(engine)


def _copies(text: str) -> bool:
    return text.startswith("COPY")


def _parts(statements: Sequence[str]) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Return what stands before the COPY statements, these, and what stands behind them. Raises ConfigurationError."""
    places = [place for place, text in enumerate(statements) if _copies(text)]
    first, end = places[0], places[-1] + 1
    if end - first != len(places):
        raise ConfigurationError("the COPY statements of a migration must stand together", hint="Install drag-graph again.")
    return statements[:first], statements[first:end], statements[end:]


def _drop(engine: Engine, before: Sequence[str]) -> None:
    """Drop what an attempt has left, as the migration itself does first."""
    _execute(engine, [text for text in before if text.startswith("DROP TABLE IF EXISTS")])


def _require_room(engine: Engine) -> None:
    """Raise StoreUnavailable unless the disk has room for the tables once more; room that is free in the file counts."""
    engine.checkpoint()
    with engine.reading() as session:
        pages = sum(-row["num_pages"] if row["is_free"] else row["num_pages"] for row in session.run("applied_migrations_room"))
    used = PAGE_BYTES * pages
    reusable = Path(engine.location).stat().st_size - used
    needed = ROOM * used + files.SPARE_BYTES - reusable
    if engine.free_bytes() < needed:
        raise StoreUnavailable(
            f"{engine.location} is to be made anew, which wants {needed // 1_000_000 + 1} MB of free disk space",
            hint="Free some space, or copy the file to a larger disk, and run the same again; all that was in it is there.",
        )


def _require_no_more_columns(engine: Engine) -> None:
    """Raise StoreUnfit where an old table has a column that the new one lacks: it would be lost."""
    with engine.reading() as session:
        columns = {(row["is_anew"], row["label"], row["name"]) for row in session.run("applied_migrations_columns")}
    for is_anew, label, name in sorted(columns):
        if not is_anew and (True, label, name) not in columns:
            raise _added(engine, f"the column {label}.{name}")


def _added(engine: Engine, what: str) -> StoreUnfit:
    return StoreUnfit(
        f"{engine.location} cannot be made anew with {what}, which is not of drag-graph",
        hint="Keep what is in it elsewhere, take it away, and run the same again; all that was in the store is there.",
    )


def _tell_what_was_lost(engine: Engine) -> None:
    """Count the vectors that are lost. The store is upgraded by now, whatever becomes of that."""
    try:
        with engine.reading() as session:
            found = session.run("verify_vectors_everywhere")
    except StoreError as error:
        said = "what the earlier version lost could not be counted; `drag-graph db verify` in each namespace tells"
        event(said, level=logging.WARNING, location=engine.location, error=str(error))
        return
    if found:
        lost = Counter({"questions": 0, "evidence": 0, "concepts": 0})
        for row in found:
            lost[row["label"]] += row["number"]
        said = "the earlier version lost vectors; `drag-graph db repair` and `link`, on this store and namespace, mend that"
        names = ",".join(sorted({row["namespace"] or "" for row in found}))
        event(said, level=logging.WARNING, location=engine.location, namespaces=names, **lost)


def _execute(engine: Engine, statements: Sequence[str], migration: Migration | None = None) -> None:
    """Execute statements, and record the migration if one is given, in one transaction."""
    with engine.writing() as session:
        for text in statements:
            session.execute(text)
        if migration is not None:
            session.run("record_migration", **asdict(migration))
