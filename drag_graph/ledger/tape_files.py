"""The tape as a file of JSON lines, for `tape export`, `tape import` and `--teacher tape:FILE`.

The first line names the format and its version. Each further line is one exchange, sorted by key, keys sorted:

    {"calls": [{…, "raw": …, "sent": {…}}], "key": …, "model": …, "prompt_version": …, "reply": {…}, "source_ids": […],
     "stage": …}
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from drag_graph.errors import InputError, ReplyError, StoreUnfit
from drag_graph.files import opened
from drag_graph.ledger.ledger_file import LedgerFile
from drag_graph.ledger.tape import FACTS, NAMES, Tape, add_exchange, dumped, encodable
from drag_graph.ports.model_roles import Teacher, TeacherReply, TeacherRequest

FORMAT = "drag-graph teacher tape"
VERSION = 2
_PAGE = 100
_EXCHANGES = """
SELECT key, id, model, stage, prompt_version, reply FROM exchanges WHERE key > ? AND reply IS NOT NULL ORDER BY key LIMIT ?
"""


def exported(database: LedgerFile) -> Iterator[str]:
    """Yield the lines of the file. The same replies always give the same bytes."""
    yield dumped({"format": FORMAT, "version": VERSION})
    after = ""
    while True:
        with database.reading() as rows:
            page = rows.execute(_EXCHANGES, (after, _PAGE)).fetchall()
            lines = [_line(rows, row) for row in page]
        yield from lines
        if len(page) < _PAGE:
            return
        after = page[-1][0]


def _line(rows: sqlite3.Connection, row: tuple[Any, ...]) -> str:
    key, id_, model, stage, prompt_version, reply = row
    statement = f"SELECT {FACTS}, sent, raw FROM calls WHERE exchange_id = ? ORDER BY n"  # noqa: S608 - names of columns
    calls = [dict(zip((*NAMES, "sent", "raw"), call, strict=True)) for call in rows.execute(statement, (id_,))]
    source_ids = rows.execute("SELECT source_id FROM asked WHERE exchange_id = ? ORDER BY source_id", (id_,))
    document = {
        "key": key,
        "model": model,
        "stage": stage,
        "prompt_version": prompt_version,
        "reply": json.loads(reply),
        "calls": [{**call, "sent": json.loads(call["sent"])} for call in calls],
        "source_ids": [source_id for (source_id,) in source_ids],
    }
    return dumped(document)


def imported(database: LedgerFile, lines: Iterable[bytes], place: str) -> int:
    """Add the replies of a file to a ledger; return how many are new.

    Raises StoreUnfit for another format or version and InputError for an unusable line; nothing is added then.
    """
    stream = iter(lines)
    _check_header(next(stream, b""), place)
    new = 0
    with database.writing(durable=True) as rows:
        for number, line in enumerate(stream, start=2):
            try:
                entry = json.loads(line)
                row = [str(entry[name]) for name in ("key", "model", "stage", "prompt_version")]
                calls = [(call, dumped(call["sent"]), encodable(call["raw"])) for call in entry["calls"]]
                reply, source_ids = dumped(entry["reply"]), [str(id_) for id_ in entry["source_ids"]]
                if not calls:
                    raise KeyError("calls")
                recorded = rows.execute("SELECT id FROM exchanges WHERE key = ? AND reply IS NOT NULL", row[:1]).fetchone()
                id_ = recorded[0] if recorded else add_exchange(rows, [*row, reply, None], calls)
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                hint = "Export the tape again: the file was cut off or edited."
                raise InputError(f"{place}, line {number} is not an entry of a teacher tape.", hint=hint) from error
            new += recorded is None
            rows.executemany("INSERT OR IGNORE INTO asked VALUES (?, ?)", [(source_id, id_) for source_id in source_ids])
    return new


def _check_header(line: bytes, place: str) -> None:
    try:
        header = json.loads(line)
        format_, version = header["format"], int(header["version"])
    except (ValueError, LookupError, TypeError):
        format_, version = None, 0
    if format_ != FORMAT:
        hint = "Export one from a ledger: drag-graph tape export -o teacher.tape"
        raise StoreUnfit(f"{place} is not an exported teacher tape.", hint=hint)
    if version != VERSION:
        hint = "Update drag-graph, or export the tape again with this version."
        raise StoreUnfit(
            f"The teacher tape {place} has version {version}, but this drag-graph reads version {VERSION}.", hint=hint
        )


class TapeTeacher(Teacher):
    """`tape:FILE`: replays exported replies, offline. It has the name of the recorded model, so a replay is the same run.

    If the tape has several models, each is tried in alphabetical order.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._database = path, LedgerFile()
        with opened(path, "Use tape:FILE with an exported tape.") as lines:
            imported(self._database, lines, str(path))
        self._tape = Tape(self._database)
        self._models = self._tape.models
        if not self._models:
            raise InputError(f"The tape {path} contains no reply.")

    @property
    def name(self) -> str:
        return self._models[0] if len(self._models) == 1 else f"tape:{self._path.name}"

    def ask(self, request: TeacherRequest) -> TeacherReply:
        """Return the recorded reply. Raises ReplyError if the tape has none to this request."""
        for model in self._models:
            reply = self._tape.find(model, request)
            if reply is not None:
                return reply
        raise ReplyError(
            f"The tape {self._path} has no reply for the stage {request.stage!r} of query {request.source.id}: it was recorded "
            "with other questions or settings.",
            hint="Use the settings of the recorded run, or a model as teacher.",
        )

    def close(self) -> None:
        self._database.close()
