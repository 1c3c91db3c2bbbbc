"""Compare the documents of an audit with their files."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from drag_graph.documents.file_loaders import LARGEST


def compare_with_files(documents: Iterable[dict[str, Any]]) -> None:
    """Set `file` of each document of an audit: a key of `FILE_STATES`, or None if it is no file or has no recorded version."""
    for item in documents:
        item["file"] = file_state(item["moved_to"] or item["uri"], item["sha256"])


def file_state(uri: str, sha256: str) -> str | None:
    """Compare the file at an address with the hash of what was read. A file above the limit of `ingest` is not read."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or not sha256:
        return None
    path = Path(url2pathname(parts.path))
    try:
        if parts.netloc not in {"", "localhost"} or (path.is_file() and path.stat().st_size > LARGEST):
            return "not compared"
        if not path.is_file():
            return "missing"
        with path.open("rb") as file:
            return "unchanged" if hashlib.file_digest(file, "sha256").hexdigest() == sha256 else "changed"
    except OSError:
        return "not compared"
