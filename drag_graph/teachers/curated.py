"""`curated:FILE`: evidence and triples that people wrote, served as a teacher's replies (docs/design.md, sections 6 and 7).

A line is `{"question", "options"?, "evidence": [str], "triples"?: [{"subject", "predicate", "object", "confidence"?,
"evidence": [int]}]}`. What people state without a confidence counts as certain (1.0). All their evidence is served,
whatever number was asked for; scores and merged statements they gave none of, so those replies are empty.
"""

import hashlib
import json
import logging
import re
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from drag_graph import log
from drag_graph.errors import InputError, QueryInvalid, ReplyError
from drag_graph.identity import canonical_text, query_id, sha256_of
from drag_graph.inputs import json_object, make_query
from drag_graph.ledger.tape import call_id, request_key
from drag_graph.model import TeacherCall
from drag_graph.ports.models import TeacherReply, TeacherRequest
from drag_graph.ports.replies import Reply, TripleItem, Words, reason_of
from drag_graph.teachers.replies.json import clean

PROMPT_VERSION = "curated"
CERTAIN = 1.0
_MOST_PROBLEMS = 1000
_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff")
_LINE_MARKS = re.compile(r"[\t\n\r\x85]+")
_words = TypeAdapter(Words)


class CuratedTeacher:
    """A file of curated lines. The file is streamed; only positions of its lines are held. Thread-safe.

    A query is found by its text and options, else by its text alone; of two lines for one question the first counts.
    Raises InputError when the file cannot be read, is no UTF-8 text, or has no usable line.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise InputError(f"there is no curated file at {path}", hint="Give the path of a JSONL file after `curated:`.")
        self._path = path
        self._lock = threading.Lock()
        self._positions: dict[str, int] | None = None
        self._fingerprint = ""
        self._problems: list[str] = []

    @property
    def name(self) -> str:
        return f"curated:{self._path.name}"

    @property
    def fingerprint(self) -> str:
        """The file's name and the hash of its content: after a change of the file its questions are distilled again."""
        with self._lock:
            if not self._fingerprint:
                with self._path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                self._fingerprint = f"{self.name}@{digest}"
            return self._fingerprint

    @property
    def is_model(self) -> bool:
        return False

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence for each line, evidence or triple of the file that cannot be used, with its line's number."""
        self._index()
        return tuple(self._problems)

    def ask(self, request: TeacherRequest) -> TeacherReply:
        """Return what the file has for the request's question. Raises ReplyError when it has no entry for it."""
        query, index = request.query, self._index()
        position = index.get(query_id("", query.text, query.options), index.get(query_id("", query.text)))
        if position is None:
            hint = "Add a line for it to the file, or give a model as teacher."
            raise ReplyError("the curated file has no entry for this question", hint=hint)
        try:
            with self._path.open("rb") as file:
                file.seek(position)
                document = json.loads(file.readline().removeprefix(_BOM))
            payload = request.schema.parse(_served(_one_line(document), request))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"the curated file {self._path} was changed while it was in use") from error
        return TeacherReply(payload, self._call(request, payload))

    def close(self) -> None:
        """Nothing is held open."""

    def _call(self, request: TeacherRequest, payload: Reply) -> TeacherCall:
        key = request_key(self.name, request)
        return TeacherCall(
            id=call_id(request, key),
            source_id=request.query.id,
            stage=request.stage,
            model=self.name,
            prompt_version=PROMPT_VERSION,
            request_sha256=key,
            response_sha256=sha256_of(payload.model_dump(mode="json")),
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _index(self) -> dict[str, int]:
        with self._lock:
            if self._positions is None:
                self._positions = self._read_positions()
            return self._positions

    def _read_positions(self) -> dict[str, int]:
        positions: dict[str, int] = {}
        first_problem = ""
        for number, position, line in self._lines():
            try:
                keys, problems = _keys_of(line)
            except QueryInvalid as error:
                keys, problems = (), [str(error)]
            if keys and keys[0] in positions:
                problems.append("an earlier line has the same question and counts")
            for key in keys:
                positions.setdefault(key, position)
            for problem in problems:
                first_problem = first_problem or f"line {number}: {problem}"
                self._report(f"line {number}: {problem}")
        if not positions:
            reason = first_problem or "it is empty"
            raise InputError(
                f"the curated file {self._path} has no usable line ({reason})", hint="See docs/teachers.md for its form."
            )
        return positions

    def _lines(self) -> Iterator[tuple[int, int, bytes]]:
        position = 0
        try:
            with self._path.open("rb") as file:
                for number, raw in enumerate(file, start=1):
                    start, position = position, position + len(raw)
                    if number == 1 and (raw.startswith(_OTHER_BOMS) or b"\x00" in raw):
                        hint = "Save it as UTF-8, one JSON object a line."
                        raise InputError(f"the curated file {self._path} is not UTF-8 text", hint=hint)
                    line = raw.removeprefix(_BOM) if number == 1 else raw
                    if line.strip():
                        yield number, start, line
        except OSError as error:
            raise InputError(f"the curated file {self._path} cannot be read: {error.strerror}") from error

    def _report(self, problem: str) -> None:
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(problem)
            log.event("the curated file has an unusable part", level=logging.WARNING, file=self._path.name, problem=problem)


def _keys_of(line: bytes) -> tuple[tuple[str, ...], list[str]]:
    """Return the keys under which a line is found, and what of it cannot be used. Raises QueryInvalid when nothing can."""
    document = json_object(line)
    query = make_query(document.get("question"), document.get("options"))
    document = _one_line(document)
    evidence = document.get("evidence")
    if not isinstance(evidence, list):
        raise QueryInvalid('no list "evidence"')
    usable, problems = _usable_evidence(evidence)
    if not usable:
        raise QueryInvalid('the list "evidence" holds no text')
    problems += _triples(document, usable)[1]
    return (query_id("", query.text, query.options), query_id("", query.text)), problems


def _one_line(value: Any) -> Any:
    """Return a JSON value whose strings hold no control characters: they would reach the terminal that shows them."""
    if isinstance(value, str):
        return clean(_LINE_MARKS.sub(" ", value))
    if isinstance(value, list):
        return [_one_line(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _one_line(entry) for key, entry in value.items()}
    return value


def _usable_evidence(evidence: list[Any]) -> tuple[dict[int, str], list[str]]:
    """Return the usable texts by their position in the file's list, and what is wrong with the others."""
    usable, problems = {}, []
    for position, text in enumerate(evidence):
        try:
            usable[position] = _words.validate_python(text)
        except ValidationError as error:
            problems.append(f"evidence[{position}]: {reason_of(error)}")
    return usable, problems


def _triples(document: Mapping[str, Any], usable: Mapping[int, str]) -> tuple[list[TripleItem], list[str]]:
    """Return the usable triples of a line with positions in the file's list, and what is wrong with the others."""
    given = document.get("triples") or []
    if not isinstance(given, list):
        return [], ['"triples" is not a list']
    items, problems = [], []
    for position, entry in enumerate(given):
        try:
            item = TripleItem.model_validate({"confidence": CERTAIN, **entry} if isinstance(entry, Mapping) else entry)
        except ValidationError as error:
            problems.append(f"triples[{position}]: {reason_of(error)}")
            continue
        existing = tuple(number for number in item.evidence if number in usable)
        if existing:
            items.append(item.model_copy(update={"evidence": existing}))
        else:
            problems.append(f"triples[{position}]: its evidence is not in the list")
    return items, problems


def _served(document: Mapping[str, Any], request: TeacherRequest) -> dict[str, Any]:
    """Return the reply to the request's stage as a JSON document."""
    usable, _ = _usable_evidence(document["evidence"])
    if request.stage == "evidence":
        return {"evidence": [{"text": text} for text in usable.values()]}
    if request.stage == "triples":
        places = {canonical_text(text): place for place, text in reversed(list(enumerate(request.texts)))}
        found = []
        for item in _triples(document, usable)[0]:
            texts = (canonical_text(usable[number]) for number in item.evidence)
            known = sorted({places[text] for text in texts if text in places})
            if known:
                found.append({**item.model_dump(), "evidence": known})
        return {"triples": found}
    return {request.schema.schema_name: []}
