"""Existing triples, such as those of a file (`ingest --triples`, docs/how-to/documents.md).

Each is grounded in a passage: one that contains both ends, else one that contains an end and most words of the rest, where the
document's name and headings count as words of the passage. Any other triple is stored with the best passage, a low confidence
and a call whose prompt version says that it is not grounded.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Self

from drag_graph.distill.triple_extraction import Extraction, RawTriple, unusable
from drag_graph.files import opened
from drag_graph.graph.grounding import Grounds
from drag_graph.graph.inflection import noun
from drag_graph.graph.name_forms import clean, fold, tokens
from drag_graph.identity import content_id, sha256_of
from drag_graph.inputs import LINE_LIMIT
from drag_graph.model import Document, Evidence, TeacherCall

VERSION = "given/1"
UNGROUNDED_VERSION = "given/1, not grounded"
UNGROUNDED_CONFIDENCE = 0.3
"""Maximum confidence of a triple without a passage that says it: below every usual threshold, so it becomes no edge."""
CANDIDATES = 12
"""Passages that are looked at for each triple."""
COMMON = 200
"""Passages that are looked at for each word, so that the time does not grow with the square of the passages."""
LISTED = 1_000
"""Maximum number of unusable lines that are listed; all are counted."""
_MOST_WORDS = 0.5
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class GivenTriple:
    """A line of the file, cleaned."""

    subject: str
    predicate: str
    object: str
    confidence: float


class GivenTriples:
    """Triples by document: one JSON object per line. `model` is the model name of the recorded calls.

    `rejected` has number and reason of the first unusable lines, `rejected_lines` the number of all of them.
    """

    def __init__(self, lines: Iterable[bytes], model: str) -> None:
        self.model = model
        self._triples: dict[str, list[GivenTriple]] = {}
        self.lines = self.rejected_lines = 0
        self.rejected: list[tuple[int, str]] = []
        for number, line in enumerate(lines, start=1):
            if line.strip():
                self._add(number, line)

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Return the triples of a file. Raises InputError if it cannot be read."""
        with opened(path, "Pass a JSONL file.") as content:
            return cls(content, f"file:{path.name}")

    def hash_of(self, name: str) -> str:
        """Return the hash of a document's triples; "" without any."""
        triples = self._about(name)
        return sha256_of([astuple(one) for one in triples]) if triples else ""

    def summary(self) -> dict[str, Any]:
        """Return the numbers of lines, and the unusable ones, as a document."""
        rejected = [{"line": number, "reason": reason} for number, reason in self.rejected]
        return {"lines": self.lines, "rejected_lines": self.rejected_lines, "rejected": rejected}

    def unmatched(self, names: Sequence[str]) -> int:
        """Return the number of lines about documents that are not among these."""
        known = {*names, *(PurePosixPath(name).name for name in names)}
        return sum(len(triples) for name, triples in self._triples.items() if name not in known)

    def read(
        self, document: Document, evidence: Sequence[Evidence], headings: Sequence[str]
    ) -> tuple[Extraction, list[TeacherCall]]:
        """Return a document's triples with their passages, and their calls. `headings` has the text above each passage."""
        ids = {version: self._call_id(document, version) for version in (VERSION, UNGROUNDED_VERSION)}
        passages = _Passages([item.text for item in evidence], headings)
        triples: dict[str, list[RawTriple]] = {version: [] for version in ids}
        for one in self._about(document.name) if evidence else ():
            place, is_grounded = passages.find(one)
            version = VERSION if is_grounded else UNGROUNDED_VERSION
            confidence = one.confidence if is_grounded else min(one.confidence, UNGROUNDED_CONFIDENCE)
            parts = one.subject, one.predicate, one.object
            triples[version].append(RawTriple(*parts, confidence, evidence[place].id, ids[version]))
        calls = [self._call(document, version, ids[version], raw) for version, raw in triples.items() if raw]
        found = (*triples[VERSION], *(ungrounded := triples[UNGROUNDED_VERSION]))
        note = f"{len(ungrounded)} of {len(found)} given triples are in no passage; confidence at most {UNGROUNDED_CONFIDENCE}."
        return Extraction(found, notes=(note,) if ungrounded else ()), calls

    def _about(self, name: str) -> Sequence[GivenTriple]:
        """Return the triples of a document: under its name, which is a path within a folder, or its last part."""
        return self._triples.get(name, ()) or self._triples.get(PurePosixPath(name).name, ())

    def _add(self, number: int, line: bytes) -> None:
        self.lines += 1
        try:
            name, one = _parsed(line)
        except ValueError as error:
            self.rejected_lines += 1
            if len(self.rejected) < LISTED:
                self.rejected.append((number, str(error)))
            return
        self._triples.setdefault(name, []).append(one)

    def _call_id(self, document: Document, version: str) -> str:
        parts = (document.id, "triples", self.model, version, self.hash_of(document.name))
        return content_id(document.namespace, "call", *parts)

    def _call(self, document: Document, version: str, id_: str, raw: Sequence[RawTriple]) -> TeacherCall:
        rows = [[one.subject, one.predicate, one.object, one.confidence, one.evidence_id] for one in raw]
        hashes = {"request_sha256": self.hash_of(document.name), "response_sha256": sha256_of(rows)}
        return TeacherCall(id=id_, source_id=document.id, stage="triples", model=self.model, prompt_version=version, **hashes)


class _Passages:
    """The passages of a document by their words."""

    def __init__(self, texts: Sequence[str], headings: Sequence[str]) -> None:
        self._texts, self._headings = texts, headings
        self._places: dict[str, list[int]] = {}
        self._ground = lru_cache(COMMON)(lambda place: Grounds(texts[place]))
        for place, text in enumerate(texts):
            for word in _words(text):
                places = self._places.setdefault(word, [])
                if len(places) < COMMON:
                    places.append(place)

    def find(self, one: GivenTriple) -> tuple[int, bool]:
        """Return the position of the best passage, and whether the triple is grounded in it."""
        scores: Counter[int] = Counter()
        for word in _words(f"{one.subject} {one.predicate} {one.object}"):
            places = self._places.get(word, ())
            for place in places:
                scores[place] += 1_000 // len(places)  # rare words say more; whole numbers, so that ties are exact
        places = sorted(scores, key=lambda place: (-scores[place], place))[:CANDIDATES]
        for is_enough in (self._has_both, self._has_most):
            for place in places:
                if is_enough(place, one):
                    return place, True
        return (places[0] if places else 0), False

    def _has_both(self, place: int, one: GivenTriple) -> bool:
        return not self._ground(place).problem(one.subject, one.object)

    def _has_most(self, place: int, one: GivenTriple) -> bool:
        ground = self._ground(place)
        if not (ground.share(one.subject) == 1.0 or ground.share(one.object) == 1.0):
            return False
        around = Grounds(f"{self._headings[place]}\n{self._texts[place]}")
        rest = one.object if ground.share(one.subject) == 1.0 else one.subject
        return around.share(f"{rest} {one.predicate}") > _MOST_WORDS


def _words(text: str) -> set[str]:
    return {noun(fold(word)) for word in tokens(text)}


def _parsed(line: bytes) -> tuple[str, GivenTriple]:
    """Return the document's name and the triple of a line. Raises ValueError with the reason."""
    if len(line) > LINE_LIMIT:
        raise ValueError(f"The line is longer than {LINE_LIMIT:,} bytes.")
    try:
        entry = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise ValueError("The line is not JSON.") from error
    names = ("document", "subject", "predicate", "object")
    if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in names):
        raise ValueError("The line needs the texts document, subject, predicate and object.")
    confidence = entry.get("confidence", 1.0)
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0.0 <= confidence <= 1.0:
        raise ValueError("The confidence must be a number from 0 to 1.")
    subject, predicate, object_ = (clean(entry[name]) for name in names[1:])
    if _HALF_CHARACTER.search(f"{subject}{predicate}{object_}"):
        raise ValueError("The line contains half a character.")
    if problem := unusable(subject, predicate, object_):
        raise ValueError(f"{problem[0].upper()}{problem[1:]}.")
    return entry["document"].strip(), GivenTriple(subject, predicate, object_, float(confidence))
