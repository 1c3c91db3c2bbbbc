"""The documents of an audit: which version of each the answer rests on."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

FILE_STATES = {
    "unchanged": "the file is unchanged",
    "changed": "the file has changed since",
    "missing": "the file is missing",
    "not compared": "the file cannot be compared",
}
"""What the comparison of a document with its file found, and the words for it."""
NOT_RECORDED = "version not recorded"
SHORT = 12
"""Digits of a hash that are shown."""


def documents_of(snapshot: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the documents behind the lines of an answer's snapshot, with `file` null and `moved_to` empty.

    Older snapshots have no versions. Then everything but id and name is empty.
    """
    documents = {item["id"]: {**item, "moved_to": "", "file": None} for item in snapshot.get("documents", ())}
    unknown = {"uri": "", "sha256": "", "modified_at": "", "read_at": "", "moved_to": "", "file": None}
    for line in snapshot.get("lines", ()):
        for place in _places(line):
            documents.setdefault(place["id"], {"id": place["id"], "name": place["name"], **unknown})
    return list(documents.values())


def with_paths(lines: Sequence[Mapping[str, Any]], documents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines, with the `path` of each document whose name another document has, too."""
    numbers = Counter(item["name"] for item in documents)
    paths = {item["id"]: path_of(item["uri"]) for item in documents if numbers[item["name"]] > 1}
    named = [deepcopy(dict(line)) if paths else dict(line) for line in lines]
    for line in named if paths else ():
        for place in _places(line):
            place["path"] = paths.get(place["id"], "")
    return named


def path_of(uri: str) -> str:
    """Return the path of a document's file, or its address if it is not a file."""
    parts = urlsplit(uri)
    return url2pathname(parts.path) if parts.scheme == "file" else uri


def file_in_words(document: Mapping[str, Any]) -> str:
    """Describe how a document's file compares with the version that was read; empty if it was not compared."""
    if not document["sha256"]:
        return NOT_RECORDED
    moved = f"the file is now {path_of(document['moved_to'])}" if document["moved_to"] else ""
    return ", ".join(filter(None, (moved, FILE_STATES.get(document["file"] or "", ""))))


def describe_document(document: Mapping[str, Any]) -> str:
    """Return the version of a document as a line of text."""
    if not document["sha256"]:
        return f"document {document['name']}: {NOT_RECORDED}"
    times = f"modified {document['modified_at'] or 'at an unknown time'}, read {document['read_at'] or 'at an unknown time'}"
    facts = [path_of(document["uri"]), f"SHA-256 {document['sha256'][:SHORT]}", times, file_in_words(document)]
    return f"document {document['name']}: {', '.join(fact for fact in facts if fact)}"


def _places(line: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the places in documents behind a line of this store."""
    if "elsewhere" not in line:
        for part in (line.get("evidence"), *(triple["evidence"] for triple in line.get("triples", ()))):
            if part and part.get("document"):
                yield part["document"]
