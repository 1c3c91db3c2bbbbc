"""`drag-graph graph …`: looking at the whole graph."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options

if TYPE_CHECKING:
    from drag_graph.ports import GraphStore
    from drag_graph.statistics import Group

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The whole graph: its size and weak places, what most queries share, what hangs together.",
)

Limit = Annotated[int, typer.Option("--limit", min=1, help="How many of each to print.")]


class PictureFormat(StrEnum):
    """What groups are printed as."""

    table = "table"
    json = "json"
    html = "html"


Format = Annotated[PictureFormat, typer.Option("--format", help="table, json, or html: a picture that opens offline.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to a file instead of stdout.", show_default=False)]


@app.command()
def stats(
    limit: Limit = 10,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Print sizes, degrees, the weakest edges, contradictions, and evidence that nothing rests on.

    Example: drag-graph graph stats --json
    """
    from rich.markup import escape

    from drag_graph.bootstrap import open_store
    from drag_graph.statistics import statistics

    from . import render

    del debug
    settings = options.settings_of({"store": store, "namespace": namespace})
    with open_store(settings, create=False, read_only=True) as graph:
        found = statistics(graph.statistics, graph.counts(), limit)
    if json:
        render.document(found)
        return
    out = render.console()
    table = render.table_of("label or type", "number", title="Size")
    for name, number in found["counts"].items():
        table.add_row(name, str(number))
    out.print(table)
    table = render.table_of("simple edges", "entities", title="Degrees")
    for degree, number in found["degrees"].items():
        table.add_row(degree, str(number))
    out.print(table)
    table = render.table_of("query", "confidence", "support", "statement", wrapped="statement", title="Weakest edges")
    for edge in found["weakest_edges"]:
        row = (edge["source_id"][: render.SHORT], f"{edge['confidence']:.2f}", str(edge["support"]))
        table.add_row(*row, escape(edge["statement"]))
    out.print(table)
    opposed, unused = found["contradictions"], found["unused_evidence"]
    table = render.table_of("subject", "says", "and says", "object", "why", title=f"Contradictions: {opposed['number']}")
    for item in opposed["examples"]:
        table.add_row(*map(escape, (item["subject"], *item["predicates"], item["object"], item["why"])))
    out.print(table)
    table = render.table_of("query", "text", wrapped="text", title=f"Evidence that nothing rests on: {unused['number']}")
    for item in unused["examples"]:
        table.add_row(item["source_id"][: render.SHORT], escape(item["text"]))
    out.print(table)
    if found["broken"]:
        out.print(f"[red]Broken, and left out: {found['broken']} triples or simple edges. Run `drag-graph db verify`.[/red]")


@app.command()
def top(
    limit: Limit = 20,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """List the concepts that most queries share, two at least (`drag-graph link` makes them).

    Example: drag-graph graph top --limit 50
    """
    from dataclasses import asdict

    from rich.markup import escape

    from drag_graph.bootstrap import open_store

    from . import render

    del debug
    settings = options.settings_of({"store": store, "namespace": namespace})
    with open_store(settings, create=False, read_only=True) as graph:
        found = graph.statistics.shared(limit)
        counts = graph.counts()
    if json:
        render.document({"concepts": [asdict(item) for item in found]})
        return
    if not found:
        nothing = "No two queries share a concept." if counts["Concept"] else "Nothing is linked yet: run `drag-graph link`."
        if not counts["Query"]:
            nothing = f"Nothing is stored in namespace {settings.namespace!r}."
        render.console().print(nothing)
        return
    table = render.table_of("concept", "queries", "entities")
    for item in found:
        table.add_row(escape(item.name), str(item.queries), str(item.entities))
    render.console().print(table)


@app.command()
def components(
    limit: Limit = 10,
    form: Format = PictureFormat.table,
    output: Output = None,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """List what hangs together by simple edges: the connected components, largest first.

    Example: drag-graph graph components --format html -o components.html
    """
    from drag_graph.statistics import components as found_in

    del debug
    settings = {"store": store, "namespace": namespace}
    _groups("Connected components", found_in, settings, limit, PictureFormat.json if json else form, output)


@app.command()
def communities(
    limit: Limit = 10,
    form: Format = PictureFormat.table,
    output: Output = None,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """List groups with more simple edges inside than to the outside (label propagation), largest first.

    Example: drag-graph graph communities --json
    """
    from drag_graph.statistics import communities as found_in

    del debug
    settings = {"store": store, "namespace": namespace}
    _groups("Communities", found_in, settings, limit, PictureFormat.json if json else form, output)


Grouping = Callable[[Iterable[tuple[str, str, float]]], list["Group"]]


def _groups(
    title: str, grouping: Grouping, flags: dict[str, Any], limit: int, form: PictureFormat, output: Path | None
) -> None:
    """Print the largest groups."""
    import json

    from rich.markup import escape

    from drag_graph.bootstrap import open_store
    from drag_graph.service.groups_page import groups_page, shown_groups

    from . import render

    with open_store(options.settings_of(flags), create=False, read_only=True) as graph:
        found = grouping(graph.statistics.edges())
        shown = found[:limit]
        if form is PictureFormat.html:
            shown = shown_groups(shown)
            names = _names(graph, shown)
            render.write(groups_page(f"{title} of {graph.location}", shown, graph.statistics.edges(), names), output)
            return
        names = _names(graph, shown)
    if form is PictureFormat.json:
        groups = [
            {"members": [{"id": id_, "name": names.get(id_, id_)} for id_ in group.members], "edges": group.edges}
            for group in shown
        ]
        render.write(json.dumps({"number": len(found), "groups": groups}, ensure_ascii=False, indent=2), output)
        return
    table = render.table_of("things", "edges", "which", wrapped="which", title=f"{title}: {len(found)}")
    for group in shown:
        listed = ", ".join(names.get(id_, id_) for id_ in group.members[:12])
        more = "" if len(group.members) <= 12 else ", …"  # noqa: PLR2004 - as many as a line or two hold
        table.add_row(str(len(group.members)), str(group.edges), escape(listed + more))
    render.console().print(table)


def _names(graph: "GraphStore", groups: list["Group"]) -> dict[str, str]:
    return graph.statistics.names([member for group in groups for member in group.members])
