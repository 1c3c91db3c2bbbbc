"""`drag-graph aggregate`."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options, render

if TYPE_CHECKING:
    from drag_graph.app.application import DragGraph

_ROWS = {
    "edges": "simple edges",
    "pruned_claims": "claims in no edge",
    "contradictions": "contradictions",
    "multigraphs": "raw multigraphs, because no claim is confident enough",
}


@options.with_settings("strategy", "merge", "threshold", *options.STORE)
def aggregate(
    graph: "DragGraph",
    query_id: options.QueryId = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", "-k", min=1, max=2**31 - 1, help="Edges to keep. By default as many as before.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Rebuild the simple graph from the stored triples under other settings.

    No model is called and no triple changes. A statement that a teacher wrote is kept if its edge still has the same triples.

    Examples:
      drag-graph aggregate --threshold 0.5
      drag-graph aggregate --strategy predicate --merge noisy-or --query-id 9b1c --json
    """
    report = graph.aggregate(query_id or "", top_k=top_k)
    if json:
        render.document(report.to_dict())
        return
    rows = [(label, getattr(report.before, name), getattr(report.after, name)) for name, label in _ROWS.items()]
    render.table(("", "before", "after"), rows, wrapped="", title=f"{report.sources} simple graphs rebuilt")
    if report.statements_kept or report.statements_dropped:
        kept, dropped = report.statements_kept, report.statements_dropped
        render.console().print(f"Statements written by a teacher: {kept} kept, {dropped} dropped.")
