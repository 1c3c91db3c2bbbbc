"""Trace answers back to evidence and teacher calls."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from drag_graph.app.resources import ResourceUser
from drag_graph.compose.store_opening import recorded_requests
from drag_graph.documents.file_loaders import LARGEST
from drag_graph.model import Answer
from drag_graph.report.audit_document import answer_document, compare_with_store, seen_by_teacher
from drag_graph.report.prov import prov_document


@dataclass(frozen=True, slots=True)
class Audit:
    """The way back from an answer: context lines, edges, triples, evidence, teacher calls."""

    document: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the `audit --json` document."""
        return self.document

    def to_prov(self) -> dict[str, Any]:
        """Return it as W3C PROV-JSON."""
        return prov_document(self.document)

    def to_html(self) -> str:
        """Return it as a page that opens offline."""
        from drag_graph.report.audit_views import why_page

        return why_page(self.document)

    def __str__(self) -> str:
        from drag_graph.report.audit_tree import audit_text

        return audit_text(self.document)


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


class Tracing(ResourceUser):
    """Traces answers."""

    def audit(self, answer: Answer, *, local: bool = False) -> Audit:
        """Trace an answer, stored or not, and compare its copies of the evidence with the store.

        The audit has the facts of the ledger and, unless `local`, of the other sites.
        """
        settings, document = self._resources.settings, answer_document(answer)
        with self._resources.store() as store:
            compare_with_store(document, store)
        compare_with_files(document["documents"])
        if settings.cloud and not local:
            from drag_graph.compose.site_setup import complete_audit

            complete_audit(document, settings)
        with recorded_requests(settings) as sent:
            document["privacy"]["teacher_saw"] = seen_by_teacher(document["calls"], sent)
        return Audit(document)
