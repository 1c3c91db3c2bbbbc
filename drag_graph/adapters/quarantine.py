"""Where unusable replies are kept (design, section 8): a file of JSON lines beside the tape, for a person to look into.

A line is `{"source_id", "stage", "model", "error", "raw", "at"}`; `raw` is the model's last words. Nothing reads it back.
"""

import fcntl
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from drag_graph.errors import ReplyError
from drag_graph.ports import TeacherRequest


class Quarantine:
    """The quarantine of one tape. Thread-safe, and safe beside other processes; the file is made with its first line."""

    def __init__(self, tape: Path) -> None:
        self.path = tape.with_name(f"{tape.name}.quarantine.jsonl")

    def keep(self, request: TeacherRequest, model: str, error: ReplyError) -> None:
        """Append the reply that `error` is about. Raises OSError when it cannot be written."""
        document = {
            "source_id": request.query.id,
            "stage": request.stage,
            "model": model,
            "error": str(error),
            "raw": error.raw,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        line = json.dumps(document).encode() + b"\n"
        # Readable to its owner only: what a model says about a question tells the question.
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                line = b"\n" + line  # half a line that a kill has left must not spoil this one
            while line:
                line = line[os.write(file, line) :]
        finally:
            os.close(file)
