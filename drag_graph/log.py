"""Structured logs: one event per line with stage, query id, duration and status, never a text or a secret."""

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
"""Seconds after which a notice explains a wait."""


class _Readable(logging.Formatter):
    """`12:00:01 INFO distill stage=evidence query=ab12… duration_ms=31 status=ok`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, _FIELDS, {})
        tail = " ".join(f"{key}={value}" for key, value in fields.items())
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        return f"{clock} {record.levelname} {record.getMessage()} {tail}".rstrip()


class _Json(logging.Formatter):
    """The same as one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        head = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        return json.dumps({**head, **getattr(record, _FIELDS, {})}, ensure_ascii=False, default=str)


def configure(level: str = "warning", *, as_json: bool = False) -> None:
    """Send the project's logs to stderr. The root logger and those of other libraries are not changed."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if as_json else _Readable())
    LOGGER.handlers[:] = [handler]
    LOGGER.setLevel(level.upper())
    LOGGER.propagate = False


def event(name: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event. Its fields are ids, counts, durations and states, not texts."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, name, extra={_FIELDS: fields})


@contextmanager
def timed(stage: str, source_id: str) -> Iterator[None]:
    """Log the duration of a stage and whether it ended with an error, which is passed on."""
    began = time.monotonic()
    status = "error"
    try:
        yield
        status = "ok"
    finally:
        event("stage", stage=stage, query=source_id, duration_ms=round((time.monotonic() - began) * 1000), status=status)


@contextmanager
def slow(sentence: str) -> Iterator[None]:
    """Print a notice on stderr if the block takes longer than a second and `configure` has been called."""
    timer = threading.Timer(SLOW, notice, [sentence, "waiting", " ..."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def notice(sentence: str, name: str = "notice", ending: str = "") -> None:
    """Print a sentence on stderr if `configure` has been called; in JSON logs it is an event of that name."""
    for handler in LOGGER.handlers:
        if isinstance(handler.formatter, _Json):
            event(name, level=logging.WARNING, what=sentence)
        elif isinstance(handler, logging.StreamHandler):
            print(f"{sentence[:1].upper()}{sentence[1:]}{ending}", file=sys.stderr, flush=True)  # noqa: T201
