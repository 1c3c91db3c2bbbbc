"""How search results are printed."""

from typing import TYPE_CHECKING

from rich.text import Text

from drag_graph.report.terminal_text import printable

from .render import SHORT, console, document, escape, hanging, lists_of, place_of, table

if TYPE_CHECKING:
    from drag_graph.app.searching import SearchResult
    from drag_graph.model import Line

COLUMNS = ("source", "date", "score", "found by (rank)", "id")


def results(found: "SearchResult", *, as_json: bool) -> None:
    """Print the sources, then the spans and the edges."""
    if as_json:
        document(found.to_dict())
        return
    if found.reason:
        console().print(f"{escape(found.reason[:1].upper() + found.reason[1:])}.")
        return
    rows = [(one.title, one.date, f"{one.score:.2f}", lists_of(one.ranks), one.id[:SHORT]) for one in found.sources]
    table(COLUMNS, rows, wrapped=("source", "found by (rank)"), optional=("date", "id"))
    names = {one.id: one.title for one in found.sources}
    for title, lines in (("Spans", found.spans), ("Edges", found.edges)):
        if lines:
            console().print(f"[bold]{title}[/bold]")
        for line in lines:
            _line(found, line, names.get(line.source_id, ""))


def _line(found: "SearchResult", line: "Line", name: str) -> None:
    """Print a line after its score, then where it is from, what found it, and which claims it is."""
    place = place_of(found.documents[line.n], headings=True) if line.n in found.documents else printable(name)
    lists = lists_of(found.lists(line))
    claims = ", ".join(id_[:SHORT] for id_ in found.claims.get(line.ref, ()))
    origin = f"  ({'; '.join(filter(None, (place, lists, claims and f'claim {claims}')))})"
    hanging(f"{line.score:6.2f} ", Text.assemble(printable(line.text.removeprefix(line.opening)), (origin, "dim")))
