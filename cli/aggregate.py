"""`drag-graph aggregate`."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from drag_graph.model import Aggregation, Subgraph

_ROWS = {
    "edges": "edges",
    "pruned_claims": "claims in no edge",
    "contradictions": "contradictions",
    "multigraphs": "raw multigraphs, where no claim was strong enough",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(aggregate)


def aggregate(
    strategy: options.StrategyFlag = None,
    merge: options.MergeFlag = None,
    threshold: options.Threshold = None,
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", min=1, help="Edges kept; else as many as before.")] = None,
    query_id: Annotated[str | None, typer.Option("--query-id", help="Only this query (its id, or how it begins).")] = None,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Make the simple graphs anew from the stored triples, under other settings; nobody is asked and no triple changes.

    What is not given is as in the settings. A sentence that a teacher merged stays where its edge is made of the same triples.

    \b
    Examples:
      drag-graph aggregate --threshold 0.5
      drag-graph aggregate --strategy predicate --merge noisy-or --query-id 9b1c --json
    """
    from drag_graph.bootstrap import open_store
    from drag_graph.distil.plans import plan_settings
    from drag_graph.manage.aggregating import aggregate_anew
    from drag_graph.manage.resolve_id import full_id
    from drag_graph.ports.store import source_ids

    from . import render

    del debug
    flags = {"strategy": strategy, "merge": merge, "threshold": threshold, "store": store, "namespace": namespace}
    settings = options.settings_of(flags)

    def wanted(subgraph: "Subgraph") -> "Aggregation":
        chosen, now = plan_settings(settings, subgraph.query).aggregation(), subgraph.aggregation
        return chosen.model_copy(update={"top_k": top_k or (now.top_k if now else chosen.top_k)})

    with open_store(settings, create=False) as graph:
        ids = [full_id(graph, "query", query_id)] if query_id else source_ids(graph)
        report = aggregate_anew(graph, ids, wanted)
    if json:
        render.document(report.document())
        return
    table = render.table_of("", "before", "after", title=f"{report.sources} simple graphs made anew")
    for name, words in _ROWS.items():
        table.add_row(words, str(getattr(report.before, name)), str(getattr(report.after, name)))
    out = render.console()
    out.print(table)
    if report.statements_kept or report.statements_dropped:
        out.print(f"A teacher's merged sentences: {report.statements_kept} kept, {report.statements_dropped} dropped")
