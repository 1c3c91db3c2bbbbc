"""`drag-graph aggregate`."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from drag_graph.model import Aggregation, Subgraph
    from drag_graph.settings import Settings

_ROWS = {
    "edges": "edges",
    "pruned_claims": "claims in no edge",
    "contradictions": "contradictions",
    "multigraphs": "raw multigraphs, where no claim was strong enough",
}


@options.with_settings("strategy", "merge", "threshold", *options.STORE)
def aggregate(
    settings: "Settings",
    query_id: options.QueryId = None,
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", min=1, help="Edges kept; else as many as before.")] = None,
    json: options.Json = False,
) -> None:
    """Make the simple graphs anew from the stored triples, under other settings; nobody is asked and no triple changes.

    What is not given is as in the settings. A sentence that a teacher merged stays where its edge is made of the same triples.

    \b
    Examples:
      drag-graph aggregate --threshold 0.5
      drag-graph aggregate --strategy predicate --merge noisy-or --query-id 9b1c --json
    """
    from drag_graph.compose.model_factories import asked_as
    from drag_graph.compose.session import open_store
    from drag_graph.distill.plans import plan_settings
    from drag_graph.graph.paging import source_ids
    from drag_graph.manage.reaggregation import aggregate_anew
    from drag_graph.manage.short_ids import full_id
    from drag_graph.model import Query

    from . import render

    def wanted(subgraph: "Subgraph") -> "Aggregation":
        query = Query(id=subgraph.source_id, text=subgraph.title) if subgraph.document else subgraph.query
        chosen, now = plan_settings(settings, query).aggregation(), subgraph.aggregation
        return chosen.model_copy(update={"top_k": top_k or (now.top_k if now else chosen.top_k)})

    with open_store(settings, create=False) as graph:
        ids = [full_id(graph, "source", query_id, asked_as=asked_as(settings, query_id))] if query_id else source_ids(graph)
        report = aggregate_anew(graph, ids, wanted)
    if json:
        render.document(report.document())
        return
    rows = [(words, getattr(report.before, name), getattr(report.after, name)) for name, words in _ROWS.items()]
    render.table(("", "before", "after"), rows, title=f"{report.sources} simple graphs made anew")
    if report.statements_kept or report.statements_dropped:
        kept, dropped = report.statements_kept, report.statements_dropped
        render.console().print(f"A teacher's merged sentences: {kept} kept, {dropped} dropped")
