"""The requests that go into batches, on disk beside the tape: they may be many, and are needed when the replies are there.

A file of noted requests becomes that of a batch when it gets a token for a name; it is erased when the batch is collected.
The folder is locked by the job that uses it, so that no two runs of a job make and collect its batches at once.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from drag_graph.errors import StoreLocked, StoreUnfit
from drag_graph.model import Query
from drag_graph.ports import TeacherRequest
from drag_graph.wire import REPLIES


@dataclass(frozen=True, slots=True)
class Noted:
    """A request and its key."""

    key: str
    request: TeacherRequest


class Spool:
    """The files of one job in `folder`. Raises StoreLocked when another process has them, StoreUnfit when they are unusable."""

    def __init__(self, folder: Path, job: str) -> None:
        self._folder, self._job = folder, job[:16]
        self._noted: BinaryIO | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = os.open(folder / f"{self._job}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._unfit(error) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._lock)
            hint = "Let it finish, or stop it with Ctrl-C: this command then goes on with its batches."
            raise StoreLocked("another process waits for the batches of this very command", hint=hint) from error

    def close(self) -> None:
        """Give the lock back; what was noted and not kept is gone."""
        self.clear()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def note(self, key: str, request: TeacherRequest) -> None:
        """Add a request to those noted."""
        with self._in_words():
            if self._noted is None:
                self._noted = open(self._noting, "w+b", opener=_private)  # noqa: SIM115
            self._noted.write(_line(key, request))

    def noted(self) -> Iterator[Noted]:
        """Yield what was noted."""
        if self._noted is None:
            return
        self._noted.seek(0)
        for line in self._noted:
            yield _noted(json.loads(line))

    def clear(self) -> None:
        """Forget what was noted."""
        if self._noted is not None:
            self._noted.close()
            self._noting.unlink(missing_ok=True)
            self._noted = None

    @contextmanager
    def writing(self, token: str) -> Iterator[Callable[[Noted], None]]:
        """Give the function that adds a request to a batch's file; the file is on the disk for good afterwards."""
        path = self.path(token)
        with ExitStack() as opened:
            with self._in_words():
                file = opened.enter_context(open(path, "wb", opener=_private))

            def write(noted: Noted) -> None:
                with self._in_words():
                    file.write(_line(noted.key, noted.request))

            yield write
            with self._in_words():
                file.flush()
                os.fsync(file.fileno())
                folder = os.open(self._folder, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)

    def requests(self, token: str) -> Iterator[Noted]:
        """Yield the requests of a batch; none where somebody has erased its file."""
        try:
            with self.path(token).open("rb") as lines:
                for line in lines:
                    yield _noted(json.loads(line))
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError) as error:
            raise self._unfit(error) from error

    def upload(self, lines: Iterator[bytes]) -> tuple[Path, int]:
        """Write the file that the provider gets; return where it is and how many lines it has."""
        path, number = self._folder / f"{self._job}-upload.jsonl", 0
        with self._in_words():
            file = open(path, "wb", opener=_private)  # noqa: SIM115
        with file:
            for line in lines:
                with self._in_words():
                    file.write(line)
                number += 1
        return path, number

    def drop(self, token: str) -> None:
        """Erase the files of a batch; a second call does nothing."""
        self.path(token).unlink(missing_ok=True)

    def has(self, token: str) -> bool:
        """Return whether the file of a batch is there."""
        return self.path(token).exists()

    def path(self, token: str) -> Path:
        """Return where the requests of a batch are kept."""
        return self._folder / f"{self._job}-{token}.jsonl"

    def tidy(self, tokens: set[str]) -> None:
        """Erase what a kill has left of this job, but for the files of these batches."""
        kept = {self.path(token).name for token in tokens} | {f"{self._job}.lock"}
        for path in self._folder.glob(f"{self._job}*"):
            if path.name not in kept:
                path.unlink(missing_ok=True)

    @property
    def _noting(self) -> Path:
        return self._folder / f"{self._job}-noted.jsonl"

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._unfit(error) from error

    def _unfit(self, error: Exception) -> StoreUnfit:
        reason = getattr(error, "strerror", None) or type(error).__name__
        hint = "Make room or mend the permissions; what is complete is stored, and batches stay at the provider."
        return StoreUnfit(f"the requests of batches in {self._folder} cannot be kept: {reason}", hint=hint)


def _line(key: str, request: TeacherRequest) -> bytes:
    document = {
        "key": key,
        "query": request.query.model_dump(mode="json"),
        "stage": request.stage,
        "schema": request.schema.schema_name,
        "messages": [dict(message) for message in request.messages],
        "prompt_version": request.prompt_version,
        "parameters": dict(request.parameters),
        "count": request.count,
        "texts": request.texts,
        "edition": request.edition,
    }
    return json.dumps(document).encode() + b"\n"


def _noted(document: dict[str, Any]) -> Noted:
    key = document.pop("key")
    query = Query.model_validate(document.pop("query"))
    schema = REPLIES[document.pop("schema")]
    messages, texts = tuple(document.pop("messages")), tuple(document.pop("texts"))
    return Noted(key, TeacherRequest(query=query, schema=schema, messages=messages, texts=texts, **document))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
