"""`drag-graph graph …`: looking at the whole graph."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from . import options

if TYPE_CHECKING:
    from drag_graph.settings import Settings

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="The whole graph: its size and weak places, what most queries share, what hangs together.",
)

LISTED = 12
"""Members of a group in a table: as many as a line or two hold."""

Limit = Annotated[int, typer.Option("--limit", min=1, help="How many of each to print.")]
Format = Annotated[
    Literal["table", "json", "html"], typer.Option("--format", help="table, json, or html: a picture that opens offline.")
]


@app.command()
@options.with_settings(*options.STORE, to_file=True)
def stats(settings: "Settings", limit: Limit = 10, json: options.Json = False) -> None:
    """Print sizes, degrees, the weakest edges and contradictions.

    Example: drag-graph graph stats --json
    """
    from drag_graph.compose.session import open_store
    from drag_graph.manage.graph_statistics import statistics

    from . import render

    with open_store(settings, create=False, read_only=True) as graph:
        found = statistics(graph.linked_edges, graph.counts(), limit)
    if json:
        render.document(found)
    else:
        _print_statistics(found)


def _print_statistics(found: dict[str, Any]) -> None:
    from . import render

    render.table(("label or type", "number"), found["counts"].items(), title="Size")
    render.table(("simple edges", "things"), found["degrees"].items(), title="Degrees")
    weakest = [
        (
            edge["source_id"][: render.SHORT],
            f"{edge['confidence']:.2f}",
            edge["support"],
            edge["statement"],
            render.disputed(edge["contradicts"]),
        )
        for edge in found["weakest_edges"]
    ]
    render.table(("source", "confidence", "support", "statement", ""), weakest, wrapped="statement", title="Weakest edges")
    opposed = found["contradictions"]
    examples = [(item["subject"], *item["predicates"], item["object"], item["why"]) for item in opposed["examples"]]
    render.table(("subject", "says", "and says", "object", "why"), examples, title=f"Contradictions: {opposed['number']}")


@app.command()
@options.with_settings(*options.STORE, to_file=True)
def top(settings: "Settings", limit: Limit = 20, json: options.Json = False) -> None:
    """List the concepts that most sources have edges of, two at least (`drag-graph link` makes them).

    Example: drag-graph graph top --limit 50
    """
    from drag_graph.compose.session import open_store
    from drag_graph.manage.graph_statistics import names_of, shared

    from . import render

    with open_store(settings, create=False, read_only=True) as graph:
        found = shared(graph.linked_edges(), limit)
        names = names_of(graph.linked_edges(), [item.id for item in found]) if found else {}
        counts = graph.counts()
    if json:
        concepts = [{"id": item.id, "name": names[item.id], "sources": item.sources, "edges": item.edges} for item in found]
        render.document({"concepts": concepts})
    elif found:
        render.table(("concept", "sources", "edges"), [(names[item.id], item.sources, item.edges) for item in found])
    elif not counts["Query"]:
        typer.echo(f"Nothing is stored in namespace {settings.namespace!r}.")
    else:
        typer.echo("No two sources share a concept." if counts["Concept"] else "Nothing is linked yet: run `drag-graph link`.")


@app.command()
@options.with_settings(*options.STORE, to_file=True)
def components(settings: "Settings", limit: Limit = 10, form: Format = "table", json: options.Json = False) -> None:
    """List what hangs together by simple edges: the connected components, largest first.

    Example: drag-graph graph components --format html -o components.html
    """
    from drag_graph.compose.session import open_store
    from drag_graph.manage.graph_statistics import components as grouped
    from drag_graph.manage.graph_statistics import links, names_of
    from drag_graph.report.groups_page import groups_page, shown_groups

    from . import render

    with open_store(settings, create=False, read_only=True) as graph:
        found = grouped(links(graph.linked_edges()))
        shown = shown_groups(found[:limit]) if form == "html" and not json else found[:limit]
        names = names_of(graph.linked_edges(), {id_ for group in shown for id_ in group.members})
        if form == "html" and not json:
            title = f"Connected components of {graph.location}"
            render.write(groups_page(title, shown, links(graph.linked_edges()), names))
            return
    if json or form == "json":
        groups = [
            {"members": [{"id": id_, "name": names.get(id_, id_)} for id_ in group.members], "edges": group.edges}
            for group in shown
        ]
        render.document({"number": len(found), "groups": groups})
        return
    rows = []
    for group in shown:
        listed = ", ".join(names.get(id_, id_) for id_ in group.members[:LISTED])
        rows.append((len(group.members), group.edges, listed + (", …" if len(group.members) > LISTED else "")))
    render.table(("things", "edges", "which"), rows, wrapped="which", title=f"Connected components: {len(found)}")
