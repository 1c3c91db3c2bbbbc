"""How an audit is printed."""

import json
from typing import TYPE_CHECKING

from rich.text import Text

from .render import console, write

if TYPE_CHECKING:
    from drag_graph.app.answer_audit import Audit


def audit(value: "Audit", form: str) -> None:
    """Print an audit as `table` (a tree), `json`, `prov` or `html`."""
    from drag_graph.report.audit_tree import audit_notes, audit_tree

    if form == "html":
        write(value.to_html())
    elif form == "table":
        out = console()
        out.print(audit_tree(value.document))
        for note in audit_notes(value.document):
            out.print(Text(note))
    else:
        write(json.dumps(value.to_prov() if form == "prov" else value.to_dict(), ensure_ascii=False, indent=2))
