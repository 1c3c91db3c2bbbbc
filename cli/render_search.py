"""How search results are printed."""

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from drag_graph.report.terminal_text import printable

from .render import SHORT, console, document, escape, hanging, lists_of, place_of, table

COLUMNS = ("source", "date", "score", "found by (rank)", "id")


def results(found: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the document of a search: the sources, then the spans and the edges."""
    if as_json:
        document(found)
        return
    if reason := found.get("reason"):
        console().print(f"{escape(reason[:1].upper() + reason[1:])}.")
        return
    rows = [
        (one["name"], one.get("date", ""), f"{one['score']:.2f}", lists_of(one["lists"]), one["id"][:SHORT])
        for one in found["sources"]
    ]
    table(COLUMNS, rows, wrapped=("source", "found by (rank)"), optional=("date", "id"))
    names = {one["id"]: one["name"] for one in found["sources"]}
    for title in ("Spans", "Edges"):
        lines = found[title.lower()]
        if lines:
            console().print(f"[bold]{title}[/bold]")
        for line in lines:
            _line(line, names.get(line["source_id"], ""))


def _line(line: Mapping[str, Any], name: str) -> None:
    """Print a line with its score, then its place, the lists that found it, and its claims."""
    place = place_of(line["document"], headings=True) if "document" in line else printable(name)
    claims = ", ".join(id_[:SHORT] for id_ in line.get("claims", ()))
    origin = f"  ({'; '.join(filter(None, (place, lists_of(line['lists']), claims and f'claim {claims}')))})"
    hanging(f"{line['score']:6.2f} ", Text.assemble(printable(line["text"]), (origin, "dim")))
