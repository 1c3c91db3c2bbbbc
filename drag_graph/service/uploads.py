"""Files that callers upload: their names and media types."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from starlette.datastructures import UploadFile

from drag_graph.documents.file_loaders import KINDS, MEDIA_TYPES, is_supported
from drag_graph.service.errors import RequestRefused

LONGEST_NAME = 200
"""Bytes; file systems allow 255."""
_UNSPECIFIC = {"", "application/octet-stream"}
_TEXTS = {"application/json", "application/xhtml+xml", "application/vnd.ms-excel", "application/x-ndjson"}
"""Media types that programs declare for text files, next to text/...; Windows calls CSV files an Excel type."""


def check_uploads(files: Sequence[UploadFile]) -> None:
    """Raise RequestRefused (422 or 415) for a name with a path, a repeated name, or a file that is not a document."""
    seen: set[str] = set()
    for file in files:
        name = file.filename or ""
        check_name(name)
        if name.casefold() in seen:
            raise RequestRefused(422, "NameRepeated", f"Two files have the name {name!r}.", hint="Rename one of them.")
        seen.add(name.casefold())
        declared = (file.content_type or "").partition(";")[0].strip().lower()
        if not is_supported(name) or not _fits(declared, PurePosixPath(name).suffix.lower()):
            message = f"The file {name!r} is not supported, or its media type {declared[:80]!r} does not match its extension."
            raise RequestRefused(415, "MediaTypeRefused", message, hint=f"Supported: {KINDS}.")


def check_name(name: str) -> None:
    """Raise RequestRefused (422) for a name that is empty, hidden, too long or not printable, or has a path."""
    is_plain = name.isprintable() and not set(name) & {"/", "\\", ":"} and not name.startswith(".") and name == name.strip()
    if not name or not is_plain or len(name.encode("utf-8", "replace")) > LONGEST_NAME:
        message = f"{name[:80]!r} is not a usable file name."
        raise RequestRefused(422, "NameRefused", message, hint="Send a name without a path, such as report.pdf.")


def _fits(declared: str, ending: str) -> bool:
    expected = MEDIA_TYPES.get(ending, declared)
    is_text = expected.startswith(("text/", "application/jsonl", "message/"))
    return declared in {*_UNSPECIFIC, expected} or (is_text and (declared.startswith("text/") or declared in _TEXTS))
