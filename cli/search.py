"""`drag-graph search`."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options, render_search

if TYPE_CHECKING:
    from drag_graph.app.application import DragGraph

    from .service_client import ServiceClient

RERANKER = ("reranker", "reranker_base_url", "token_budget")


@options.with_settings(*RERANKER, *options.PANELS["Privacy"], *options.PANELS["Store"], through_service=True)
def search(
    graph: "DragGraph | ServiceClient",
    text: Annotated[str, typer.Argument(help="A question, or some words.", show_default=False)],
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of sources.")] = 10,
    source: options.Sources = None,
    since: options.Since = "",
    until: options.Until = "",
    tag: options.Tags = None,
    json: options.Json = False,
) -> None:
    """Search what is stored: sources, spans and edges, best first, without a student.

    A span is text of a document. Each result has its score and the lists that found it, with its rank there. Spans and edges
    fill the token budget, as for `ask`, but there is no threshold: the best are shown even if they are irrelevant.

    Examples:
      drag-graph search "lead time of the castings"
      drag-graph search "Orchid budget" --source "*.md" --since 2026-03 --limit 3
      drag-graph search "delayed deliveries" --tag suppliers --json
    """
    found = graph.search(text, limit=limit, sources=source or [], since=since, until=until, tags=tag or [])
    render_search.results(found.to_dict(), as_json=json)
