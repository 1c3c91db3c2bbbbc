"""The teacher tape: every validated reply and its calls, by the hash of the request.

An *exchange* is a request with its calls: usually one, several if a reply was cut off, unusable or refused and the request was
repeated. Its key is that of the request; each call has the hash of the messages sent.
"""

import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from drag_graph import log
from drag_graph.errors import InputError, ReplyError, StoreUnfit
from drag_graph.files import opened
from drag_graph.identity import content_id, sha256_of
from drag_graph.ledger.ledger_file import LedgerFile
from drag_graph.model import TeacherCall
from drag_graph.ports.model_roles import Teacher, TeacherReply, TeacherRequest
from drag_graph.ports.teacher_replies import Reply

FACTS = "request_sha256, response_sha256, tokens_in, tokens_out, cost_usd, latency_ms, created_at"
NAMES = FACTS.split(", ")
_QUARANTINE = """
SELECT source_id, stage, model, error, raw, created_at FROM exchanges JOIN asked ON asked.exchange_id = exchanges.id
LEFT JOIN calls ON calls.exchange_id = exchanges.id AND n = (SELECT max(n) FROM calls WHERE exchange_id = exchanges.id)
WHERE error IS NOT NULL AND (?1 = '' OR source_id = ?1) ORDER BY exchanges.id
"""

_BY_DAY = """
SELECT substr(created_at, 1, 10) AS day, model, stage, count(*), sum(tokens_in), sum(cost_usd)
FROM calls JOIN exchanges ON exchanges.id = exchange_id GROUP BY day, model, stage ORDER BY day DESC, model, stage
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request as sent, with the reply's text, tokens, cost and latency."""

    messages: Sequence[Mapping[str, str]]
    parameters: Mapping[str, Any]
    text: str
    tokens_in: int
    tokens_out: int
    cost_usd: float
    latency_ms: int = 0
    created_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def sent(self) -> dict[str, Any]:
        """Return the messages and parameters as a JSON document."""
        return {"messages": [dict(message) for message in self.messages], "parameters": dict(self.parameters)}

    def facts(self, model: str) -> dict[str, Any]:
        """Return the recorded values of the call."""
        return {
            "request_sha256": sha256_of({"model": model, **self.sent()}),
            "response_sha256": sha256_of(self.text),
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "cost_usd": self.cost_usd,
            "latency_ms": self.latency_ms,
            "created_at": self.created_at,
        }


def request_key(model: str, request: TeacherRequest) -> str:
    """Return the key of a request to a model: 64 hexadecimal digits. Only a refreshed request's key includes its edition."""
    document = {
        "model": model,
        "messages": [dict(message) for message in request.messages],
        "parameters": dict(request.parameters),
        "schema": {"name": request.schema.schema_name, "schema": request.schema.json_schema},
        "prompt_version": request.prompt_version,
        **({"edition": request.edition} if request.edition else {}),
    }
    return sha256_of(document)


def call_id(request: TeacherRequest, key: str) -> str:
    """Return the id of the teacher call that answers `request`."""
    return content_id(request.source.namespace, "call", request.source.id, request.stage, key)


def calls_of(model: str, request: TeacherRequest, facts: Sequence[Mapping[str, Any]]) -> tuple[TeacherCall, ...]:
    """Return the calls of an exchange, each followed by the next; the last one answers the request."""
    key = request_key(model, request)
    common = {"source_id": request.source.id, "stage": request.stage, "model": model, "prompt_version": request.prompt_version}
    last = len(facts) - 1
    ids = [call_id(request, key if n == last else f"{key}/{n}") for n in range(len(facts))]
    before = ["", *ids]
    return tuple(
        TeacherCall.model_validate({**common, **call, "id": ids[n], "follows": before[n]}) for n, call in enumerate(facts)
    )


class Tape:
    """The replies of one ledger. Thread-safe, and safe next to other processes. Methods raise StoreUnfit."""

    def __init__(self, database: LedgerFile) -> None:
        self._database = database

    def __len__(self) -> int:
        with self._database.reading() as rows:
            return int(rows.execute("SELECT count(*) FROM exchanges WHERE reply IS NOT NULL").fetchone()[0])

    @property
    def models(self) -> tuple[str, ...]:
        """The models with recorded replies."""
        with self._database.reading() as rows:
            found = rows.execute("SELECT model FROM exchanges WHERE reply IS NOT NULL GROUP BY model ORDER BY model")
            return tuple(model for (model,) in found)

    def find(self, model: str, request: TeacherRequest) -> TeacherReply | None:
        """Return the recorded reply to this request, or None. A reply recorded for another query gets this query's ids."""
        with self._database.reading() as rows:
            id_, reply = _recorded(rows, model, request)
            noted = {source_id for (source_id,) in rows.execute("SELECT source_id FROM asked WHERE exchange_id = ?", (id_,))}
        # The reply now belongs to this query as well, and is erased with the last query that uses it.
        if reply is not None and not noted.issuperset(_sources(request)) and not self._database.read_only:
            with self._database.writing() as rows:
                if rows.execute("SELECT 1 FROM exchanges WHERE id = ?", (id_,)).fetchone():
                    _note_asked(rows, request, id_)
        return reply

    def record(self, model: str, request: TeacherRequest, payload: Reply, attempts: Sequence[Attempt]) -> TeacherReply:
        """Record a validated reply with its calls, durably.

        Returns the reply that counts: this one, or the one that another process recorded for the same request meanwhile.
        """
        document = {**payload.model_dump(mode="json"), "discarded": list(payload.discarded)}
        with self._database.writing(durable=True) as rows:
            id_, earlier = _recorded(rows, model, request)
            if earlier is None:
                for table, column in (("exchanges", "id"), ("calls", "exchange_id"), ("asked", "exchange_id")):
                    rows.execute(f"DELETE FROM {table} WHERE {column} = ?", (id_,))  # noqa: S608 - names of our own schema
                id_ = _add(rows, model, request, attempts, reply=dumped(document))
            _note_asked(rows, request, id_)
        facts = [attempt.facts(model) for attempt in attempts]
        return earlier or _reply_of(model, request, payload, facts, requests=len(attempts))

    def quarantine(self, model: str, request: TeacherRequest, error: ReplyError, attempts: Sequence[Attempt]) -> None:
        """Record an unusable reply with its calls, for inspection."""
        with self._database.writing() as rows:
            _note_asked(rows, request, _add(rows, model, request, attempts, error=encodable(str(error))))

    def quarantined(self, source_id: str = "") -> Iterator[dict[str, str]]:
        """Yield the unusable replies (of one source), oldest first; `raw` is the model's last text."""
        names = ("source_id", "stage", "model", "error", "raw", "at")
        with self._database.reading() as rows:
            entries = rows.execute(_QUARANTINE, (source_id,)).fetchall()
        yield from (dict(zip(names, entry, strict=True)) for entry in entries)

    def totals_by_day(self) -> list[tuple[str, str, str, int, int, float]]:
        """Return day, model, stage, and the number, tokens sent and cost in US dollars of the calls, newest day first."""
        with self._database.reading() as rows:
            return rows.execute(_BY_DAY).fetchall()

    def sent(self, request_sha256: str) -> dict[str, Any] | None:
        """Return the messages and parameters of a call, or None if they are not recorded."""
        with self._database.reading() as rows:
            row = rows.execute("SELECT sent FROM calls WHERE request_sha256 = ? LIMIT 1", (request_sha256,)).fetchone()
            return json.loads(row[0]) if row else None


def _recorded(rows: sqlite3.Connection, model: str, request: TeacherRequest) -> tuple[int, TeacherReply | None]:
    """Return the id and the reply of the recorded exchange. Without an exchange the id is 0; an unusable reply is None."""
    key = request_key(model, request)
    row = rows.execute("SELECT id, reply FROM exchanges WHERE key = ? AND reply IS NOT NULL", (key,)).fetchone()
    if row is None:
        return 0, None
    calls = rows.execute(f"SELECT {FACTS} FROM calls WHERE exchange_id = ? ORDER BY n", row[:1]).fetchall()  # noqa: S608
    try:
        values = json.loads(row[1])
        payload = request.schema.model_validate({**values, "discarded": tuple(values["discarded"])})
        facts = [dict(zip(NAMES, call, strict=True)) for call in calls]
        return row[0], _reply_of(model, request, payload, facts, cached=True)
    except (ValidationError, ValueError, LookupError, TypeError):
        message = "a recorded reply does not have the expected form and is ignored"
        log.event(message, level=logging.WARNING, query=request.source.id, stage=request.stage)
        return row[0], None


def _add(
    rows: sqlite3.Connection,
    model: str,
    request: TeacherRequest,
    attempts: Sequence[Attempt],
    *,
    reply: str | None = None,
    error: str | None = None,
) -> int:
    row = (request_key(model, request), model, request.stage, request.prompt_version, reply, error)
    calls = [(attempt.facts(model), dumped(attempt.sent()), encodable(attempt.text)) for attempt in attempts]
    return add_exchange(rows, row, calls)


def add_exchange(
    rows: sqlite3.Connection, row: Sequence[str | None], calls: Sequence[tuple[Mapping[str, Any], str, str]]
) -> int:
    """Insert an exchange (key, model, stage, prompt version, reply, error) and its calls; return its id."""
    statement = "INSERT INTO exchanges (key, model, stage, prompt_version, reply, error) VALUES (?, ?, ?, ?, ?, ?)"
    id_ = rows.execute(statement, row).lastrowid
    for n, (facts, sent, raw) in enumerate(calls):
        values = (id_, n, *(facts[name] for name in NAMES), sent, raw)
        statement = f"INSERT INTO calls (exchange_id, n, {FACTS}, sent, raw) VALUES ({', '.join('?' * len(values))})"  # noqa: S608
        rows.execute(statement, values)
    return int(id_ or 0)


def _sources(request: TeacherRequest) -> tuple[str, ...]:
    return request.sources or (request.source.id,)


def _note_asked(rows: sqlite3.Connection, request: TeacherRequest, exchange_id: int) -> None:
    pairs = [(source_id, exchange_id) for source_id in _sources(request)]
    rows.executemany("INSERT OR IGNORE INTO asked VALUES (?, ?)", pairs)


def _reply_of(
    model: str,
    request: TeacherRequest,
    payload: Reply,
    facts: Sequence[Mapping[str, Any]],
    *,
    cached: bool = False,
    requests: int = 0,
) -> TeacherReply:
    *earlier, call = calls_of(model, request, facts)
    return TeacherReply(payload, call, cached=cached, requests=requests, earlier=tuple(earlier))


def dumped(document: Mapping[str, Any]) -> str:
    """Return a JSON document in canonical form."""
    return encodable(json.dumps(document, ensure_ascii=False, sort_keys=True))


def encodable(text: str) -> str:
    """Return the text with lone surrogates, which UTF-8 cannot encode, escaped as in JSON."""
    return text.encode("utf-8", "backslashreplace").decode()


FORMAT = "drag-graph teacher tape"
VERSION = 2
_PAGE = 100
_EXCHANGES = """
SELECT key, id, model, stage, prompt_version, reply FROM exchanges WHERE key > ? AND reply IS NOT NULL ORDER BY key LIMIT ?
"""


def exported(database: LedgerFile) -> Iterator[str]:
    """Yield the lines of a tape file (`tape export`). The same replies always give the same bytes.

    The first line names the format and its version. Each further line is one exchange, sorted by key, keys sorted:

        {"calls": [{…, "raw": …, "sent": {…}}], "key": …, "model": …, "prompt_version": …, "reply": {…}, "source_ids": […],
         "stage": …}
    """
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
