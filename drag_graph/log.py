"""Structured logs: one event a line with stage, query id, duration and status; never a text or a secret."""

import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LOGGER = logging.getLogger("drag_graph")
_FIELDS = "drag_graph_fields"
SLOW = 1.0
"""Seconds after which somebody who waits wants to know for what."""


class _Readable(logging.Formatter):
    """`12:00:01 INFO distill stage=evidence query=ab12… duration_ms=31 status=ok`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, _FIELDS, {})
        tail = " ".join(f"{key}={value}" for key, value in fields.items())
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        return f"{clock} {record.levelname} {record.getMessage()} {tail}".rstrip()


class _Json(logging.Formatter):
    """The same as one JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        head = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        return json.dumps({**head, **getattr(record, _FIELDS, {})}, ensure_ascii=False, default=str)


def configure(level: str = "warning", *, as_json: bool = False) -> None:
    """Send the project's logs to stderr; the root logger and other libraries' loggers are left alone."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if as_json else _Readable())
    LOGGER.handlers[:] = [handler]
    LOGGER.setLevel(level.upper())
    LOGGER.propagate = False


def event(name: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log one event. Fields are ids, counts, durations and states, not texts."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, name, extra={_FIELDS: fields})


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields that an event was logged with."""
    return dict(getattr(record, _FIELDS, {}))


@contextmanager
def timed(stage: str, source_id: str) -> Iterator[None]:
    """Log how long a stage took and whether it ended in an error (which is passed on)."""
    began = time.monotonic()
    status = "error"
    try:
        yield
        status = "ok"
    finally:
        event("stage", stage=stage, query=source_id, duration_ms=round((time.monotonic() - began) * 1000), status=status)


@contextmanager
def slow(sentence: str) -> Iterator[None]:
    """Say what is waited for where the block takes longer than a second: on stderr, once `configure` has been called."""
    timer = threading.Timer(SLOW, _say, [sentence])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _say(sentence: str) -> None:
    for handler in LOGGER.handlers:
        if isinstance(handler.formatter, _Json):
            event("waiting", level=logging.WARNING, what=sentence)
        elif isinstance(handler, logging.StreamHandler):
            print(f"{sentence[:1].upper()}{sentence[1:]} ...", file=sys.stderr, flush=True)  # noqa: T201
