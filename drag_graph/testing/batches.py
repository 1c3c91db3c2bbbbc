"""Files and batches of the scripted server, as OpenAI's interface has them: uploaded, made, worked through, read.

    server.batches.script(Course("expired", share=0.5))   # what becomes of the next batch
    server.batches.on("created", kill)                    # called at that instant: file, create, created, retrieve, content

A line is answered as the chat endpoint would, when the batch ends, and logged like a request there; what is not answered
is not charged. A batch moves on by one state each time that it is looked at.
"""

import json
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from typing import Any
from urllib.parse import parse_qs, urlsplit

Event = Callable[[], None]
LineAnswer = Callable[[Mapping[str, Any]], tuple[int, Any]]


@dataclass(frozen=True, slots=True)
class Course:
    """What becomes of a batch: the state that it ends in, after `looks` looks at it, with this share of its lines answered.

    `lasts` is its term in seconds, which is only told.
    """

    end: str = "completed"
    looks: int = 2
    share: float = 1.0
    codes: tuple[str, ...] = ()
    lasts: int = 86400


@dataclass(slots=True)
class _Batch:
    document: dict[str, Any]
    course: Course
    looks: int = 0


@dataclass(slots=True)
class BatchDesk:
    """The batches of one server. `hold` keeps all in progress while it is set; `page` is the length of a page of their list.

    With `there` false the server knows nothing of files and batches. `alter` may change the lines of a file of replies.
    """

    answer: LineAnswer
    hold: threading.Event = field(default_factory=threading.Event)
    page: int = 100
    there: bool = True
    alter: Callable[[list[bytes]], list[bytes]] = field(default=list)
    files: dict[str, bytes] = field(default_factory=dict)
    _batches: dict[str, _Batch] = field(default_factory=dict)
    _courses: deque[Course] = field(default_factory=deque)
    _events: dict[str, Event] = field(default_factory=dict)
    _faults: dict[str, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def script(self, *courses: Course) -> None:
        """Queue what becomes of the next batches; the default is that they are completed."""
        self._courses.extend(courses)

    def on(self, event: str, function: Event) -> None:
        """Have `function` called at the next such event, before the reply is sent; `create` is before the batch is made."""
        self._events[event] = function

    def fail(self, event: str, *statuses: int) -> None:
        """Answer the next requests at that event with these HTTP statuses (after the deed, for `created`)."""
        self._faults[event].extend(statuses)

    @property
    def made(self) -> list[dict[str, Any]]:
        """The batches, oldest first."""
        return [batch.document for batch in self._batches.values()]

    @property
    def sizes(self) -> list[int]:
        """How many requests each batch has, oldest first."""
        return [batch.document["request_counts"]["total"] for batch in self._batches.values()]

    def serves(self, path: str) -> bool:
        """Return whether a request of this path is one for the desk."""
        parts = urlsplit(path).path.strip("/").split("/")
        return parts[:1] == ["v1"] and len(parts) > 1 and parts[1] in {"files", "batches"}

    def reply(self, method: str, path: str, content_type: str, body: bytes) -> tuple[int, Any]:
        """Return the HTTP status and the document, or the bytes, of the reply."""
        parts = urlsplit(path).path.strip("/").split("/")[1:] if self.there else []
        query = parse_qs(urlsplit(path).query)
        match method, parts:
            case "POST", ["files"]:
                return self._event("file") or self._upload(content_type, body)
            case "GET", ["files", id_, "content"]:
                return self._event("content") or ((200, self.files[id_]) if id_ in self.files else _not_found())
            case "POST", ["batches"]:
                early = self._event("create")
                batch = early or self._create(json.loads(body))
                return self._event("created") or batch
            case "GET", ["batches", id_]:
                return self._event("retrieve") or self._look(id_)
            case "GET", ["batches"]:
                return self._event("list") or self._list(query.get("after", [""])[0])
            case _:
                return _not_found()

    def _event(self, name: str) -> tuple[int, Any] | None:
        function = self._events.pop(name, None)
        if function is not None:
            function()
        if self._faults[name]:
            return self._faults[name].popleft(), {"error": {"message": "scripted fault", "code": None}}
        return None

    def _upload(self, content_type: str, body: bytes) -> tuple[int, Any]:
        message = BytesParser().parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
        content = b""
        for part in message.get_payload():
            if part.get_param("name", header="Content-Disposition") == "file":  # type: ignore[union-attr]
                content = part.get_payload(decode=True)  # type: ignore[union-attr,assignment]
        return 200, self._file(content, "batch")

    def _file(self, content: bytes, purpose: str) -> dict[str, Any]:
        with self._lock:
            id_ = f"file-{len(self.files) + 1}"
            self.files[id_] = content
        about = {"bytes": len(content), "created_at": int(time.time()), "filename": "x.jsonl", "purpose": purpose}
        return {"id": id_, "object": "file", "status": "processed", **about}

    def _create(self, body: Mapping[str, Any]) -> tuple[int, Any]:
        if body["input_file_id"] not in self.files:
            return 400, {"error": {"message": "no such file", "code": None}}
        with self._lock:
            id_, now = f"batch_{len(self._batches) + 1}", int(time.time())
            total = len(self.files[body["input_file_id"]].splitlines())
            course = self._courses.popleft() if self._courses else Course()
            document = {
                "id": id_,
                "object": "batch",
                "status": "validating",
                "created_at": now,
                "expires_at": now + course.lasts,
                "request_counts": {"total": total, "completed": 0, "failed": 0},
                "output_file_id": None,
                "error_file_id": None,
                "errors": None,
                **{name: body.get(name) for name in ("input_file_id", "endpoint", "completion_window", "metadata")},
            }
            self._batches[id_] = _Batch(document, course)
        return 200, dict(document)

    def _look(self, id_: str) -> tuple[int, Any]:
        with self._lock:
            batch = self._batches.get(id_)
            if batch is None:
                return _not_found()
            if batch.document["status"] in {"validating", "in_progress"}:
                batch.looks += not self.hold.is_set()
                batch.document["status"] = "in_progress"
                if batch.looks >= batch.course.looks and not self.hold.is_set():
                    self._finish(batch)
            return 200, dict(batch.document)

    def _list(self, after: str) -> tuple[int, Any]:
        with self._lock:
            newest = [batch.document for batch in reversed(self._batches.values())]
        ids = [document["id"] for document in newest]
        begin = ids.index(after) + 1 if after else 0
        data = newest[begin : begin + self.page]
        return 200, {"object": "list", "data": data, "has_more": begin + self.page < len(newest)}

    def _finish(self, batch: _Batch) -> None:
        course, document = batch.course, batch.document
        lines = [json.loads(line) for line in self.files[document["input_file_id"]].splitlines()]
        answered = 0 if course.end == "failed" else round(len(lines) * course.share)
        output: list[dict[str, Any]] = []
        errors: list[dict[str, Any]] = []
        for number, line in enumerate(lines if course.end != "failed" else []):
            head = {"id": f"line-{number}", "custom_id": line["custom_id"]}
            if number >= answered:
                if course.end != "completed":
                    errors.append({**head, "response": None, "error": {"code": f"batch_{course.end}", "message": "x"}})
                continue
            status, body = self.answer(line["body"])
            response = {"status_code": status, "request_id": "x", "body": body}
            (output if status == 200 else errors).append({**head, "response": response, "error": None})  # noqa: PLR2004
        for name, results in (("output_file_id", output), ("error_file_id", errors)):
            if results:
                output_lines = [json.dumps(line).encode() + b"\n" for line in reversed(results)]  # in no order, as promised
                document[name] = self._file(b"".join(self.alter(output_lines)), "batch_output")["id"]
        document["request_counts"] = {"total": len(lines), "completed": len(output), "failed": len(errors)}
        if course.codes:
            document["errors"] = {"object": "list", "data": [{"code": code, "message": "x"} for code in course.codes]}
        document["status"] = course.end


def _not_found() -> tuple[int, Any]:
    return 404, {"error": {"message": "no such thing", "code": None}}
