"""What is printed of linking."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from .render import SHORT, console, document, escape, put, table_of

if TYPE_CHECKING:
    from drag_graph.link.run import LinkReport
    from drag_graph.ports.concepts import SameAs


def report(done: "LinkReport", *, as_json: bool) -> None:
    """Print what a run of `link` did."""
    if as_json:
        document(done.document())
        return
    rows = (
        ("entities linked", done.entities),
        ("concepts made", done.concepts),
        ("vectors of concepts", done.concept_vectors),
        ("vectors of evidence", done.evidence_vectors),
        ("concepts judged", done.judged),
        *((f"merged by {method}", done.merged.get(method, 0)) for method in ("name", "alias", "embedding")),
        ("merges withdrawn", done.withdrawn),
        ("left to the next run", done.left_open),
    )
    if not any(number for _, number in rows):
        typer.echo("Nothing is new: all is linked.")
        return
    table = table_of("what", "number")
    for name, number in rows:
        table.add_row(name, str(number))
    put(table)
    if done.merged:
        console().print("See them with [bold]drag-graph link --show[/bold]")


def merges(found: Sequence["SameAs"], *, as_json: bool) -> None:
    """Print judgements that concepts are the same thing."""
    if as_json:
        document({"merges": [_document(item) for item in found]})
        return
    if not found:
        typer.echo("No such merge is stored.")
        return
    table = table_of("id", "one", "other", "method", "score", "undone", wrapped="other")
    for item in found:
        names = escape(item.left_name), escape(item.right_name)
        table.add_row(item.id[:SHORT], *names, item.method, f"{item.score:.3f}", item.undone_at or "-")
    put(table)


def _document(item: "SameAs") -> dict[str, object]:
    return {
        "id": item.id,
        "left": {"id": item.left, "name": item.left_name},
        "right": {"id": item.right, "name": item.right_name},
        "method": item.method,
        "score": item.score,
        "created_at": item.created_at,
        "undone_at": item.undone_at or None,
    }
