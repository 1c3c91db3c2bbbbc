"""`curated:FILE`: evidence and triples written by people, as the replies of a teacher (docs/reference/json.md).

A line is `{"question", "options"?, "evidence": [str], "triples"?: [{"subject", "predicate", "object", "confidence"?,
"evidence": [int]}]}`. A triple without a confidence counts as certain (1.0). All evidence of a question is served,
whatever the requested number. There are no scores and merged statements, so these replies are empty.
"""

import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drag_graph import log
from drag_graph.errors import InputError, QueryInvalid, ReplyError
from drag_graph.files import opened
from drag_graph.identity import canonical_text, query_id, sha256_of
from drag_graph.inputs import json_object, make_query
from drag_graph.ledger.tape import calls_of, request_key
from drag_graph.model import TeacherCall
from drag_graph.models.teachers.json_repair import clean, printable
from drag_graph.models.teachers.reply_reading import parse_reply, valid_entries
from drag_graph.ports.model_roles import Teacher, TeacherReply, TeacherRequest
from drag_graph.ports.teacher_replies import EvidenceItem, Reply, TripleItem

PROMPT_VERSION = "curated"
CERTAIN = 1.0
_BOM = b"\xef\xbb\xbf"
_LINE_MARKS = re.compile(r"[\t\n\r\x85]+")


@dataclass(frozen=True, slots=True)
class _Entry:
    """The usable texts for a question, by their position in its list, and the triples with this evidence.

    `problems` has a sentence for each unusable part.
    """

    evidence: dict[int, str]
    triples: list[TripleItem]
    problems: list[str]


class CuratedTeacher(Teacher):
    """A file of curated lines. Thread-safe.

    A query is looked up by its text and options, else by its text alone; the first line for a question counts. `problems` has a
    sentence with the line number for each unusable line, evidence or triple. Raises InputError if the file cannot be read, is
    not UTF-8, or has no usable line.
    """

    is_model = False

    def __init__(self, path: Path) -> None:
        self._path = path
        with opened(path, "Use curated:FILE with the path of a JSONL file.") as file:
            content = file.read()
        self._fingerprint = f"{self.name}@{hashlib.sha256(content).hexdigest()}"
        self.problems: list[str] = []
        self._entries: dict[str, _Entry] = {}
        for number, line in enumerate(content.removeprefix(_BOM).splitlines(), start=1):
            if line.strip():
                self._take(number, line)
        if not self._entries:
            reason = self.problems[0].rstrip(".") if self.problems else "it is empty"
            raise InputError(
                f"The curated file {path} has no usable line: {reason}.", hint="docs/reference/json.md describes the format."
            )

    @property
    def name(self) -> str:
        return f"curated:{self._path.name}"

    @property
    def fingerprint(self) -> str:
        """The file name and the hash of its content, so that a changed file is distilled again."""
        return self._fingerprint

    def ask(self, request: TeacherRequest) -> TeacherReply:
        """Return the reply to the request's question. Raises ReplyError if the file has no line for it."""
        exact, loose = _keys(request.query.text, request.query.options)
        entry = self._entries.get(exact) or self._entries.get(loose)
        if entry is None:
            hint = "Add a line for it, or use a model as the teacher."
            raise ReplyError("The curated file has no line for this question.", hint=hint)
        payload = parse_reply(request.schema, _served(entry, request))
        if request.stage == "evidence":
            payload = payload.model_copy(update={"discarded": tuple(entry.problems)})
        return TeacherReply(payload, self._call(request, payload))

    def _call(self, request: TeacherRequest, payload: Reply) -> TeacherCall:
        facts = {
            "prompt_version": PROMPT_VERSION,
            "request_sha256": request_key(self.name, request),
            "response_sha256": sha256_of(payload.model_dump(mode="json")),
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        return calls_of(self.name, request, [facts])[0]

    def _take(self, number: int, line: bytes) -> None:
        """Store the usable parts of a line, and report the others."""
        try:
            document = json_object(line)
            query = make_query(document.get("question"), document.get("options"))
            entry = _entry(clean(document, lambda text: printable(_LINE_MARKS.sub(" ", text))))
            problems = [*entry.problems]
            exact, loose = _keys(query.text, query.options)
            if exact in self._entries:
                problems.append("an earlier line has the same question and counts")
            for key in (exact, loose):
                self._entries.setdefault(key, entry)
        except QueryInvalid as error:
            problems = [str(error)]
        for problem in problems:
            sentence = f"line {number}: {problem}"
            self.problems.append(sentence)
            log.event("the curated file has an unusable part", level=logging.WARNING, file=self._path.name, problem=sentence)


def _keys(text: str, options: tuple[str, ...]) -> tuple[str, str]:
    """Return the key of a question with its options, and that of its text alone."""
    return query_id("", text, options), query_id("", text)


def _entry(document: Mapping[str, Any]) -> _Entry:
    """Return the usable parts of a line and the problems of the others. Raises QueryInvalid without evidence."""
    evidence, triples = document.get("evidence"), document.get("triples") or []
    if not isinstance(evidence, list):
        raise QueryInvalid('The list "evidence" is missing.')
    texts, problems = valid_entries(EvidenceItem, "evidence", evidence)
    if not texts:
        raise QueryInvalid('The list "evidence" contains no text.')
    if not isinstance(triples, list):
        problems.append('"triples" is not a list')
        triples = []
    certain = [{"confidence": CERTAIN, **given} if isinstance(given, Mapping) else given for given in triples]
    items, unusable = valid_entries(TripleItem, "triples", certain)
    entry = _Entry({position: item.text for position, item in texts.items()}, [], [*problems, *unusable])
    for position, item in items.items():
        existing = tuple(number for number in item.evidence if number in texts)
        if existing:
            entry.triples.append(item.model_copy(update={"evidence": existing}))
        else:
            entry.problems.append(f"triples[{position}]: its evidence is not in the list")
    return entry


def _served(entry: _Entry, request: TeacherRequest) -> list[Any]:
    """Return the entries of the reply to a request."""
    if request.stage == "evidence":
        return list(entry.evidence.values())
    if request.stage != "triples":
        return []
    places = {canonical_text(text): place for place, text in reversed(list(enumerate(request.texts)))}
    triples = []
    for item in entry.triples:
        texts = (canonical_text(entry.evidence[number]) for number in item.evidence)
        evidence = sorted({places[text] for text in texts if text in places})
        if evidence:
            triples.append({**item.model_dump(), "evidence": evidence})
    return triples
