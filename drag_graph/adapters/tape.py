"""The teacher tape: cache, resume journal and audit source in one append-only file (design, section 7; promises 2 and 9).

The first line names the format and its version. Each further line is one validated reply:

    {"key": <sha256>, "sha256": <checksum of what follows>, "model": <name>, "record": {...}}

`key` is the hash of the canonical request. A line is written with one write, under a lock, and forced to the disk before the
reply is used. A torn last line, as a crash or a full disk leaves it, is cut off by the next writer and ignored by readers.
"""

import fcntl
import hashlib
import json
import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self

from pydantic import ValidationError

from drag_graph import log
from drag_graph.adapters.offset_index import OffsetIndex
from drag_graph.adapters.quarantine import Quarantine
from drag_graph.errors import InputError, ReplyError, StoreUnfit
from drag_graph.identity import content_id, sha256_of
from drag_graph.model import TeacherCall
from drag_graph.ports import TeacherReply, TeacherRequest

FORMAT = "drag-graph teacher tape"
VERSION = 1
_HEADER = json.dumps({"format": FORMAT, "version": VERSION}).encode() + b"\n"
_PART = 1 << 14
_LINE = re.compile(
    rb'\{"key": "([0-9a-f]{64})", "sha256": "([0-9a-f]{64})", ("model": ("(?:[^"\\]|\\.)*"), "record": .*)\}\n', re.DOTALL
)


def canonical_request(model: str, request: TeacherRequest) -> dict[str, Any]:
    """Return what the tape's key and a call's `request_sha256` are hashes of (design, section 7).

    The edition is a part of it only where there is one, so that what was recorded without keeps its key.
    """
    document: dict[str, Any] = {
        "model": model,
        "messages": [dict(message) for message in request.messages],
        "parameters": dict(request.parameters),
        "schema": {"name": request.schema.schema_name, "schema": request.schema.json_schema},
        "prompt_version": request.prompt_version,
    }
    return {**document, "edition": request.edition} if request.edition else document


def request_key(model: str, request: TeacherRequest) -> str:
    """Return the key of a request to `model`: 64 hexadecimal digits."""
    # One request's key is wanted to find it, to book it and to record it, one after the other in one thread.
    kept: tuple[str, TeacherRequest, str] | None = getattr(_last, "key", None)
    if kept is None or kept[1] is not request or kept[0] != model:
        kept = _last.key = (model, request, sha256_of(canonical_request(model, request)))
    return kept[2]


_last = threading.local()


def call_id(request: TeacherRequest, key: str) -> str:
    """Return the id of the teacher call that answers `request`."""
    return content_id(request.query.namespace, "call", request.query.id, request.stage, key)


class Tape:
    """One tape file. Thread-safe, and safe beside other processes that append to the same file.

    The index holds 16 bytes a reply. Raises StoreUnfit when the file is no tape, newer than this code, or cannot be written.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        self._lock = threading.Lock()
        self._offsets = OffsetIndex()
        self._models: dict[str, None] = {}
        self._end = 0
        self._damaged = 0
        self._file = self._open()
        with self._guard("read"):
            self._catch_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def models(self) -> tuple[str, ...]:
        """The models whose replies are on the tape, in order of their first."""
        return tuple(self._models)

    @property
    def damaged(self) -> int:
        """How many lines were found damaged and are ignored."""
        return self._damaged

    @property
    def quarantine(self) -> Quarantine:
        """Where replies that cannot be used are kept: beside the tape."""
        return Quarantine(self.path)

    def close(self) -> None:
        """Release the file; a second call does nothing."""
        self._file.close()

    def find(self, model: str, request: TeacherRequest) -> TeacherReply | None:
        """Return the recorded reply to this very request, or None. Another query's reply to it gets this query's ids."""
        key = request_key(model, request)
        with self._lock, self._guard("read"):
            if key not in self._offsets:
                self._catch_up()
            return self._reply(key, request)

    def record(self, model: str, request: TeacherRequest, reply: TeacherReply, raw: str) -> TeacherReply:
        """Append a validated reply with its request and the model's own words (`raw`); on disk when this returns.

        Returns the reply that counts: this one, or the one that another process has recorded for the same request since.
        """
        document = {
            "request": canonical_request(model, request),
            "reply": reply.payload.model_dump(mode="json"),
            "discarded": list(reply.payload.discarded),
            "raw": raw,
            "call": reply.call.model_dump(mode="json"),
        }
        dumped = [json.dumps(part, ensure_ascii=True, sort_keys=True) for part in (model, document)]
        body = f'"model": {dumped[0]}, "record": {dumped[1]}'.encode()
        key = request_key(model, request)
        line = f'{{"key": "{key}", "sha256": "{hashlib.sha256(body).hexdigest()}", '.encode() + body + b"}\n"
        with self._lock, self._guard("written"), self._alone():
            self._cut_torn_end()
            earlier = self._reply(key, request)
            if earlier is not None:
                return earlier
            self._append(line, key, model)
        return reply

    def _reply(self, key: str, request: TeacherRequest) -> TeacherReply | None:
        record = self._record(key)
        if record is None:
            return None
        try:
            payload = request.schema.model_validate({**record["reply"], "discarded": tuple(record["discarded"])})
            call = TeacherCall.model_validate({**record["call"], "source_id": request.query.id, "id": call_id(request, key)})
        except (ValidationError, KeyError, TypeError):
            _warn(
                "an entry of the teacher tape does not have the expected form and is ignored", query=request.query.id, key=key
            )
            return None
        return TeacherReply(payload, call, cached=True, requests=0)

    def _open(self) -> BinaryIO:
        try:
            if not self._read_only:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: an append is one write of the whole line.
            file = open(self.path, "rb" if self._read_only else "a+b", buffering=0, opener=_private)  # noqa: SIM115
        except FileNotFoundError as error:
            raise InputError(f"there is no teacher tape at {self.path}") from error
        except OSError as error:
            hint = "Choose another file with --tape, or mend its permissions."
            raise StoreUnfit(f"the teacher tape {self.path} cannot be opened: {error.strerror}", hint=hint) from error
        return file

    @contextmanager
    def _guard(self, verb: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            hint = "What was recorded before is kept. Make room or choose another file with --tape, then go on."
            raise StoreUnfit(f"the teacher tape {self.path} cannot be {verb}: {error.strerror}", hint=hint) from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _append(self, line: bytes, key: str, model: str) -> None:
        """Append the line of `key` to a file that is indexed to its end, force it to the disk, and index it."""
        start = self._end
        head = b"" if start else _HEADER
        rest = head + line
        try:
            while rest:  # a write may take only a part, before the next one says why
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError:
            os.ftruncate(self._file.fileno(), start)  # nothing half-written stays
            raise
        if start == 0:
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        self._offsets.add(key, start + len(head))
        self._models.setdefault(model)
        self._end = start + len(head) + len(line)

    def _cut_torn_end(self) -> None:
        """Under the lock nobody is in the middle of a line, so an end without a newline is what a crash left."""
        self._catch_up()
        size = os.fstat(self._file.fileno()).st_size
        if size > self._end:
            _warn("the last line of the teacher tape was torn and is cut off", bytes=size - self._end)
            os.ftruncate(self._file.fileno(), self._end)

    def _catch_up(self) -> None:
        """Index the whole lines that were added since the last look, by us or by another process."""
        size = os.fstat(self._file.fileno()).st_size
        if size <= self._end:
            return
        with open(self.path, "rb") as lines:  # noqa: PTH123 - a cursor of its own
            lines.seek(self._end)
            for line in lines:
                if not line.endswith(b"\n"):
                    if self._end == 0 and not _HEADER.startswith(line):
                        self._check_header(line)  # somebody else's file is not ours to cut
                    break
                if self._end == 0:
                    self._check_header(line)
                elif line.strip():
                    self._index(line, self._end)
                self._end += len(line)

    def _index(self, line: bytes, offset: int) -> None:
        match = _LINE.fullmatch(line)
        if match is None:
            self._damage("has no readable frame")
            return
        self._offsets.add(match[1].decode(), offset)
        self._models.setdefault(json.loads(match[4]))

    def _record(self, key: str) -> Mapping[str, Any] | None:
        """Return the first undamaged record of `key`."""
        for offset in self._offsets.offsets(key):
            match = _LINE.fullmatch(self._line(offset))
            if match is not None and hashlib.sha256(match[3]).hexdigest() == match[2].decode():
                if match[1].decode() != key:
                    continue  # another key with the same beginning
                document: Mapping[str, Any] = json.loads(b"{" + match[3] + b"}")["record"]
                return document
            self._damage("does not match its checksum")
            self._offsets.discard(key, offset)
        return None

    def _line(self, offset: int) -> bytes:
        """Return the line at `offset`, or what there is of it."""
        parts: list[bytes] = []
        while part := os.pread(self._file.fileno(), _PART, offset):
            end = part.find(b"\n") + 1
            parts.append(part[: end or len(part)])
            if end:
                break
            offset += len(part)
        return b"".join(parts)

    def _damage(self, what: str) -> None:
        self._damaged += 1
        _warn(f"a line of the teacher tape {what} and is ignored", damaged=self._damaged)

    def _check_header(self, line: bytes) -> None:
        try:
            header = json.loads(line)
            found, version = header["format"], int(header["version"])
        except (ValueError, KeyError, TypeError):
            found, version = None, 0
        if found != FORMAT:
            raise StoreUnfit(f"{self.path} is not a teacher tape", hint="Choose another file with --tape.")
        if version > VERSION:
            hint = "Update drag-graph, or choose another file with --tape."
            raise StoreUnfit(
                f"the teacher tape {self.path} has version {version}; this drag-graph reads up to {VERSION}", hint=hint
            )


def _warn(message: str, **fields: Any) -> None:
    log.event(message, level=logging.WARNING, **fields)


def _private(path: str, flags: int) -> int:
    """Open a file that, if it is new, only its owner can read: it holds questions."""
    return os.open(path, flags, 0o600)


class TapeTeacher:
    """`tape:FILE`: replays recorded replies, offline. Its name is that of the recorded model, so that a replay is the same run.

    On a tape of several models, `model` chooses one; without it each is tried, in order of their first reply.
    """

    def __init__(self, path: Path, *, model: str = "") -> None:
        self._tape = Tape(path, read_only=True)
        if not self._tape.models:
            self._tape.close()
            raise InputError(f"the teacher tape {path} holds no reply yet")
        self._models = (model,) if model else self._tape.models

    @property
    def name(self) -> str:
        return self._models[0] if len(self._models) == 1 else f"tape:{self._tape.path.name}"

    @property
    def fingerprint(self) -> str:
        return self.name

    @property
    def is_model(self) -> bool:
        return True

    def ask(self, request: TeacherRequest) -> TeacherReply:
        """Return the recorded reply. Raises ReplyError when the tape has none to this request."""
        for model in self._models:
            reply = self._tape.find(model, request)
            if reply is not None:
                return reply
        raise ReplyError(
            f"the teacher tape {self._tape.path} has no reply for the stage {request.stage!r} of query {request.query.id}",
            hint="It was recorded with other questions or settings: replay it with the same, or give a model as teacher.",
        )

    def close(self) -> None:
        self._tape.close()
