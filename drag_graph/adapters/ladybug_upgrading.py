"""Applying a migration to an embedded store (`migrations/ladybug`).

Its statements are one transaction with the record of it, unless there are COPY statements among them. Of these each has a
transaction of its own, as nothing else may be in one with it (`drag_graph.adapters.ladybug_engine`); what stands before them is
one transaction, and what stands behind them, with the record, another. Whatever ends it in between, all that was in the store
is in it, and the next upgrade does the migration again from its beginning: so it begins by removing what an earlier one left.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from drag_graph.adapters import ladybug_files as files
from drag_graph.adapters.ladybug_engine import Engine
from drag_graph.errors import StoreLocked, StoreUnavailable
from drag_graph.log import event
from drag_graph.ports import Migration

UNCOMPRESSED = "uncompressed"
"""The migration that makes tables anew which earlier versions made (docs/adr/0018-uncompressed.md)."""
ROOM = 3
"""Times the size of the file that must be free for it: the tables again, wider by what compression saved, and a checkpoint."""


def apply(engine: Engine, migration: Migration, statements: Sequence[str], *, made_now: bool, patience: float) -> None:
    """Execute a migration's statements and record it.

    In a store that is `made_now` there is nothing that an earlier version made. `patience` is how many seconds to wait for what
    other threads of this process read. Raises StoreUnavailable for a full disk, StoreLocked for readers that do not end.
    """
    with engine.alone():
        if migration.name == UNCOMPRESSED and made_now:
            _execute(engine, (), migration)
        elif migration.name == UNCOMPRESSED:
            _make_anew(engine, migration, statements, patience)
        else:
            _execute(engine, statements, migration)


def _make_anew(engine: Engine, migration: Migration, statements: Sequence[str], patience: float) -> None:
    size, began = Path(engine.location).stat().st_size, time.monotonic()
    if engine.free_bytes() < ROOM * size + files.SPARE_BYTES:
        needed = (ROOM * size + files.SPARE_BYTES) // 1_000_000 + 1
        raise StoreUnavailable(
            f"{engine.location} is to be made anew, which wants {needed} MB of free disk space",
            hint="Free some space and run the same again; the store is as it was.",
        )
    event("upgrading a store of an earlier version", level=logging.WARNING, location=engine.location, bytes=size)
    copies = [text for text in statements if text.startswith("COPY")]
    first = statements.index(copies[0])
    _execute(engine, statements[:first])
    for text in copies:
        with engine.copying(patience=patience, spare=files.SPARE_BYTES) as session:
            if session is None:
                raise StoreLocked(
                    f"{engine.location} cannot be upgraded while this process reads it",
                    hint="Run `drag-graph db migrate` by itself.",
                )
            session.execute(text)
    _execute(engine, statements[first + len(copies) :], migration)
    seconds = round(time.monotonic() - began, 1)
    event("upgraded", level=logging.WARNING, location=engine.location, seconds=seconds)
    _tell_what_was_lost(engine)


def _tell_what_was_lost(engine: Engine) -> None:
    with engine.reading() as session:
        lost = {row["label"]: row["number"] for row in session.run("verify_vectors_everywhere")}
    if any(lost.values()):
        said = "the earlier version lost vectors; `drag-graph db repair` in each namespace mends that"
        event(said, level=logging.WARNING, location=engine.location, **lost)


def _execute(engine: Engine, statements: Sequence[str], migration: Migration | None = None) -> None:
    """Execute statements, and record the migration if one is given, in one transaction."""
    with engine.writing() as session:
        for text in statements:
            session.execute(text)
        if migration is not None:
            session.run("record_migration", **asdict(migration))
