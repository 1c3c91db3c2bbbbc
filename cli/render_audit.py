"""How an audit is printed."""

import json
from typing import Any

from rich.text import Text

from .render import console, write


def audit(document: dict[str, Any], form: str) -> None:
    """Print the document of an audit as `table` (a tree), `json`, `prov` or `html`."""
    if form == "html":
        from drag_graph.report.audit_views import why_page

        write(why_page(document))
    elif form == "table":
        from drag_graph.report.audit_tree import audit_notes, audit_tree

        out = console()
        out.print(audit_tree(document))
        for note in audit_notes(document):
            out.print(Text(note))
    else:
        from drag_graph.report.prov import prov_document

        write(json.dumps(prov_document(document) if form == "prov" else document, ensure_ascii=False, indent=2))
