"""`drag-graph graph …`: looking at the whole graph."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .output import Force, Output, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from drag_graph.manage.statistics import Group
    from drag_graph.settings import Settings

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="The whole graph: its size and weak places, what most queries share, what hangs together.",
)

Limit = Annotated[int, typer.Option("--limit", min=1, help="How many of each to print.")]


LISTED = 12
"""Members of a group in a table: as many as a line or two hold."""


class PictureFormat(StrEnum):
    """What groups are printed as."""

    table = "table"
    json = "json"
    html = "html"


Format = Annotated[PictureFormat, typer.Option("--format", help="table, json, or html: a picture that opens offline.")]


@app.command()
def stats(
    limit: Limit = 10,
    output: Output = None,
    force: Force = False,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Print sizes, degrees, the weakest edges and contradictions.

    Example: drag-graph graph stats --json
    """
    from drag_graph.bootstrap import open_store
    from drag_graph.manage.statistics import statistics

    from . import render

    del debug
    settings = options.settings_of({"store": store, "namespace": namespace})
    with written(output, settings, force=force):
        with open_store(settings, create=False, read_only=True) as graph:
            found = statistics(graph.linked_edges, graph.counts(), limit)
        if json:
            render.document(found)
        else:
            _print_statistics(found)


def _print_statistics(found: dict[str, Any]) -> None:
    from rich.markup import escape

    from . import render

    out = render.console()
    for title, columns, numbers in (
        ("Size", ("label or type", "number"), found["counts"]),
        ("Degrees", ("simple edges", "things"), found["degrees"]),
    ):
        table = render.table_of(*columns, title=title)
        for name, number in numbers.items():
            table.add_row(name, str(number))
        out.print(table)
    heads = ("source", "confidence", "support", "statement", "")
    table = render.table_of(*heads, wrapped="statement", title="Weakest edges")
    for edge in found["weakest_edges"]:
        row = (edge["source_id"][: render.SHORT], f"{edge['confidence']:.2f}", str(edge["support"]))
        table.add_row(*row, escape(edge["statement"]), "disputed" if edge["contradicts"] else "")
    out.print(table)
    opposed = found["contradictions"]
    table = render.table_of("subject", "says", "and says", "object", "why", title=f"Contradictions: {opposed['number']}")
    for item in opposed["examples"]:
        table.add_row(*map(escape, (item["subject"], *item["predicates"], item["object"], item["why"])))
    out.print(table)


@app.command()
def top(
    limit: Limit = 20,
    output: Output = None,
    force: Force = False,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """List the concepts that most sources have edges of, two at least (`drag-graph link` makes them).

    Example: drag-graph graph top --limit 50
    """
    from rich.markup import escape

    from drag_graph.bootstrap import open_store
    from drag_graph.manage.statistics import names_of, shared

    from . import render

    del debug
    settings = options.settings_of({"store": store, "namespace": namespace})
    with written(output, settings, force=force):
        with open_store(settings, create=False, read_only=True) as graph:
            found = shared(graph.linked_edges(), limit)
            names = names_of(graph.linked_edges(), [item.id for item in found]) if found else {}
            counts = graph.counts()
        if json:
            concepts = [{"id": item.id, "name": names[item.id], "sources": item.sources, "edges": item.edges} for item in found]
            render.document({"concepts": concepts})
        elif found:
            table = render.table_of("concept", "sources", "edges")
            for item in found:
                table.add_row(escape(names[item.id]), str(item.sources), str(item.edges))
            render.console().print(table)
        elif not counts["Query"]:
            typer.echo(f"Nothing is stored in namespace {settings.namespace!r}.")
        else:
            linked = "No two sources share a concept." if counts["Concept"] else "Nothing is linked yet: run `drag-graph link`."
            typer.echo(linked)


@app.command()
def components(
    limit: Limit = 10,
    form: Format = PictureFormat.table,
    output: Output = None,
    force: Force = False,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """List what hangs together by simple edges: the connected components, largest first.

    Example: drag-graph graph components --format html -o components.html
    """
    from drag_graph.manage.statistics import components as grouping

    del debug
    settings = options.settings_of({"store": store, "namespace": namespace})
    with written(output, settings, force=force):
        _groups("Connected components", grouping, settings, limit, PictureFormat.json if json else form)


@app.command()
def communities(
    limit: Limit = 10,
    form: Format = PictureFormat.table,
    output: Output = None,
    force: Force = False,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """List groups with more simple edges inside than to the outside (Leiden algorithm), largest first.

    Example: drag-graph graph communities --json
    """
    from drag_graph.manage.statistics import communities as grouping

    del debug
    settings = options.settings_of({"store": store, "namespace": namespace})
    with written(output, settings, force=force):
        _groups("Communities", grouping, settings, limit, PictureFormat.json if json else form)


def _groups(
    title: str,
    grouping: "Callable[[Iterable[tuple[str, str, float]]], list[Group]]",
    settings: "Settings",
    limit: int,
    form: PictureFormat,
) -> None:
    """Print the largest groups."""
    from rich.markup import escape

    from drag_graph.bootstrap import open_store
    from drag_graph.manage.statistics import links, names_of
    from drag_graph.report.groups_page import groups_page, shown_groups

    from . import render

    with open_store(settings, create=False, read_only=True) as graph:
        found = grouping(links(graph.linked_edges()))
        shown = shown_groups(found[:limit]) if form is PictureFormat.html else found[:limit]
        names = names_of(graph.linked_edges(), {id_ for group in shown for id_ in group.members})
        if form is PictureFormat.html:
            render.write(groups_page(f"{title} of {graph.location}", shown, links(graph.linked_edges()), names))
            return
    if form is PictureFormat.json:
        groups = [
            {"members": [{"id": id_, "name": names.get(id_, id_)} for id_ in group.members], "edges": group.edges}
            for group in shown
        ]
        render.document({"number": len(found), "groups": groups})
        return
    table = render.table_of("things", "edges", "which", wrapped="which", title=f"{title}: {len(found)}")
    for group in shown:
        listed = ", ".join(names.get(id_, id_) for id_ in group.members[:LISTED])
        more = ", …" if len(group.members) > LISTED else ""
        table.add_row(str(len(group.members)), str(group.edges), escape(listed + more))
    render.console().print(table)
