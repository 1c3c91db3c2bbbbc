"""What is printed of linking."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from .render import SHORT, console, document, escape, put, table_of

if TYPE_CHECKING:
    from drag_graph.link.run import LinkReport
    from drag_graph.ports.concepts import Merge


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


def merges(found: Sequence["Merge"], *, as_json: bool) -> None:
    """Print judgements that concepts are the same thing."""
    if as_json:
        document({"merges": [_document(merge) for merge in found]})
        return
    if not found:
        typer.echo("No such merge is stored.")
        return
    table = table_of("id", "one", "other", "method", "score", "undone", wrapped="other")
    for merge in found:
        item = merge.same_as
        names = escape(merge.left), escape(merge.right)
        table.add_row(item.id[:SHORT], *names, item.method, f"{item.score:.3f}", item.undone_at or "-")
    put(table)


def _document(merge: "Merge") -> dict[str, object]:
    item = merge.same_as
    return {
        "id": item.id,
        "left": {"id": item.left, "name": merge.left},
        "right": {"id": item.right, "name": merge.right},
        "method": item.method,
        "score": item.score,
        "created_at": item.created_at,
        "undone_at": item.undone_at or None,
    }
