"""The audit of an answer."""

from dataclasses import dataclass
from typing import Any

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
