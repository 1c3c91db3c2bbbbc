"""`drag-graph graph …`: the whole graph."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import options, render

if TYPE_CHECKING:
    from drag_graph.app.application import DragGraph
    from drag_graph.manage.graph_statistics import Statistics

app = typer.Typer(
    no_args_is_help=True,
    help="The whole graph: sizes, weak edges, contradictions, shared concepts, components.",
)

LISTED = 12
"""Members of a component in a table."""

Limit = Annotated[int, typer.Option("--limit", min=1, help="Maximum number of entries per list.")]
Format = Annotated[
    Literal["table", "json", "html"], typer.Option("--format", help="table, json, or html: a picture that opens offline.")
]


@app.command()
@options.with_settings(*options.STORE, to_file=True)
def stats(graph: "DragGraph", limit: Limit = 10, json: options.Json = False) -> None:
    """Print sizes, degrees, the weakest edges and contradictions.

    Example: drag-graph graph stats --json
    """
    statistics = graph.overview.stats(limit=limit)
    if json:
        render.document(statistics.to_dict())
    else:
        _print_statistics(statistics)


def _print_statistics(statistics: "Statistics") -> None:

    render.table(("label or type", "number"), statistics.counts.items(), title="Size")
    render.table(("edges", "things"), statistics.degrees.items(), title="Degrees")
    weakest = [
        (
            edge.source_id[: render.SHORT],
            f"{edge.confidence:.2f}",
            edge.support,
            edge.statement,
            render.disputed(edge.contradicts),
        )
        for edge in statistics.weakest_edges
    ]
    render.table(("source", "confidence", "support", "statement", ""), weakest, wrapped="statement", title="Weakest edges")
    examples = [(item["subject"], *item["predicates"], item["object"], item["why"]) for item in statistics.examples]
    columns = ("subject", "predicate", "opposed to", "object", "reason")
    render.table(columns, examples, wrapped=columns, title=f"Contradictions: {statistics.contradictions}")


@app.command()
@options.with_settings(*options.STORE, to_file=True)
def top(graph: "DragGraph", limit: Limit = 20, json: options.Json = False) -> None:
    """List the concepts that most sources share. `drag-graph link` creates concepts.

    Example: drag-graph graph top --limit 50
    """
    found = graph.overview.top(limit=limit)
    if json:
        render.document(found.to_dict())
    elif found.concepts:
        rows = [(item.name, item.sources, item.edges) for item in found.concepts]
        render.table(("concept", "sources", "edges"), rows, wrapped="concept")
    elif not (found.counts["Query"] or found.counts["Document"]):
        typer.echo(f"Nothing is stored in namespace {graph.settings.namespace!r}.")
    elif found.counts["Concept"]:
        typer.echo("No concept is shared by two sources.")
    else:
        typer.echo("Nothing is linked yet. Run `drag-graph link`.")


@app.command()
@options.with_settings(*options.STORE, to_file=True)
def components(graph: "DragGraph", limit: Limit = 10, form: Format = "table", json: options.Json = False) -> None:
    """List the connected components of the simple graph, largest first.

    Example: drag-graph graph components --format html -o components.html
    """
    if form == "html" and not json:
        render.write(graph.overview.components_picture(limit=limit).to_html())
        return
    found = graph.overview.components(limit=limit)
    if json or form == "json":
        render.document(found.to_dict())
        return
    rows = []
    for group in found.groups:
        names = ", ".join(found.names.get(id_, id_) for id_ in group.members[:LISTED])
        rows.append((len(group.members), group.edges, names + (", …" if len(group.members) > LISTED else "")))
    render.table(("things", "edges", "members"), rows, wrapped="members", title=f"Connected components: {found.number}")
