"""`drag-graph communities | link | aggregate`."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import options, progress, render
from .output import AS_JSON, document, exit_with, refuse, report_of

if TYPE_CHECKING:
    from drag_graph.app.linking import Communities, MergeList
    from drag_graph.jobs.community_job import CommunityReport
    from drag_graph.jobs.link_job import LinkReport
    from drag_graph.manage.reaggregation import AggregateReport

FIRST_WORDS = 160
"""Maximum length of a summary in a table, in characters."""
Format = Annotated[Literal["table", "json", "html"], typer.Option("--format", help="Output format; html is a picture.")]


@options.with_settings("Communities", "workers", "budget_usd", "ledger", "privacy", "embedder", *options.STORE, to_file=True)
def communities(
    graph: "options.Graph",
    show: Annotated[bool, typer.Option("--show", help="Print the stored communities.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of communities to print.")] = 20,
    form: Format = "table",
) -> None:
    """Group what is connected and summarise each group.

    The Leiden algorithm finds the groups; small ones are merged into a neighbour. Run the command after `link`: unchanged
    communities keep their id and summary. Rules write the summaries, or a model that receives the strongest edges. The same
    command resumes an interrupted run.

    Examples:
      drag-graph communities
      drag-graph communities --summariser ollama/llama3.2 --budget-usd 1
      drag-graph communities --show --format html -o communities.html
    """
    form = "json" if AS_JSON.get() else form
    if show:
        _print(graph, limit, form)
    else:
        with progress.progress(quiet=form != "table", what="communities") as meter:
            report = report_of(lambda: graph.communities(on_progress=meter.run))
        _print(graph, limit, form, report)
        exit_with(report)


def _print(graph: "options.Graph", limit: int, form: str, report: "CommunityReport | None" = None) -> None:
    """Print the stored communities, and the numbers of the run."""
    if form == "html":
        render.write(graph.community_picture(limit=limit).to_html())
        return
    stored = graph.stored_communities(report)
    if form == "json":
        document(stored.to_dict())
        return
    if stored.communities:
        _print_table(stored, limit)
    else:
        typer.echo("There are no communities, because no edge is stored." if report else "No communities are stored.")
    if report:
        _print_totals(report)


def _print_table(stored: "Communities", limit: int) -> None:
    rows = (
        (
            item.id[: render.SHORT],
            item.name,
            item.things,
            item.edges,
            item.sources,
            render.shorten(item.summary, FIRST_WORDS) if item.summary else "(not summarised yet)",
        )
        for item in stored.communities[:limit]
    )
    columns = ("id", "name", "things", "edges", "sources", "summary")
    render.table(columns, rows, wrapped=("name", "summary"), title=f"Communities: {len(stored.communities)}")


def _print_totals(report: "CommunityReport") -> None:
    usage = report.usage
    for note in usage.notes:
        typer.echo(note, err=True)
    calls = f"{usage.calls - usage.cached_calls} calls"
    calls += f" and {usage.cached_calls} replies from the tape" if usage.cached_calls else ""
    unchanged = len(report.communities) - report.summarised - report.left_open
    counts = f"{report.made} new, {report.gone} removed, {report.summarised} summarised, {unchanged} unchanged"
    counts += f", {report.left_open} left to the next run" if report.left_open else ""
    render.console().print(f"{counts}; {calls}, ${usage.cost_usd:.4f}")


_ROWS = {
    "edges": "simple edges",
    "pruned_claims": "claims in no edge",
    "contradictions": "contradictions",
    "multigraphs": "raw multigraphs, because no claim is confident enough",
}


@options.with_settings("strategy", "merge", "threshold", *options.STORE)
def aggregate(
    graph: "options.Graph",
    query_id: options.QueryId = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", "-k", min=1, max=2**31 - 1, help="Edges to keep. By default as many as before.")
    ] = None,
) -> None:
    """Rebuild the simple graph from the stored triples under other settings.

    No model is called and no triple changes. A statement that a teacher wrote is kept if its edge still has the same triples.

    Examples:
      drag-graph aggregate --threshold 0.5
      drag-graph aggregate --strategy predicate --merge noisy-or --query-id 9b1c --json
    """
    render.result(graph.aggregate(query_id or "", top_k=top_k), _print_sizes)


def _print_sizes(report: "AggregateReport") -> None:
    rows = [(label, getattr(report.before, name), getattr(report.after, name)) for name, label in _ROWS.items()]
    render.table(("", "before", "after"), rows, wrapped="", title=f"{report.sources} simple graphs rebuilt")
    if report.statements_kept or report.statements_dropped:
        kept, dropped = report.statements_kept, report.statements_dropped
        render.console().print(f"Statements written by a teacher: {kept} kept, {dropped} dropped.")


@options.with_settings("embedder", *options.STORE)
def link(
    graph: "options.Graph",
    text: Annotated[str, typer.Argument(help="With --show: only names that contain this text.", show_default=False)] = "",
    show: Annotated[bool, typer.Option("--show", help="List merges: names judged to be the same thing.")] = False,
    undo: Annotated[str, typer.Option("--undo", help="Undo a merge: its id, or the beginning of its id.")] = "",
    redo: Annotated[str, typer.Option("--redo", help="Restore a merge that was undone.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="With --show: maximum number of merges.")] = 100,
) -> None:
    """Find the same things in different sources, so that questions share evidence.

    Concepts are merged by name, alias and embedding. Run the command after `distill` and `ingest`: it links what is new, even
    while other processes distill or erase. A merge that was undone is not repeated. The same command resumes an interrupted
    run.

    Examples:
      drag-graph link
      drag-graph link --show infarction
      drag-graph link --undo 3f2a
    """
    several = (
        sum(map(bool, (show, undo, redo))) > 1 or (text and not show) or any(id_ and not id_.strip() for id_ in (undo, redo))
    )
    refuse("link", {"Pass only one of --show [TEXT], --undo ID and --redo ID.": bool(several)})
    if show:
        render.result(graph.merges(text, limit=limit), _print_merges)
    elif undo:
        render.result(graph.undo_merge(undo), _print_merges)
    elif redo:
        render.result(graph.redo_merge(redo), _print_merges)
    else:
        with render.waiting("Linking") as say:
            report = graph.link(on_progress=lambda state: say(f"Linking: {state.waiting_for}")).result()
        render.result(report, _print_report)


def _print_report(report: "LinkReport") -> None:
    rows = (
        ("entities linked", report.entities),
        ("concepts created", report.concepts),
        ("vectors of concepts", report.concept_vectors),
        ("vectors of evidence", report.evidence_vectors),
        ("concepts judged", report.judged),
        *((f"merged by {method}", report.merged.get(method, 0)) for method in ("name", "alias", "embedding")),
        ("merges withdrawn", report.withdrawn),
        ("left to the next run", report.left_open),
    )
    if not any(number for _, number in rows):
        typer.echo("Everything is linked.")
        return
    render.table(("result", "number"), rows)
    if report.merged:
        render.console().print("List the merges: [bold]drag-graph link --show[/bold]")


def _print_merges(listed: "MergeList") -> None:
    if not listed.merges:
        typer.echo("There are no such merges.")
    else:
        rows = (
            (one.id[: render.SHORT], one.left_name, one.right_name, one.method, f"{one.score:.3f}", one.undone_at or "-")
            for one in listed.merges
        )
        render.table(("id", "one", "other", "method", "score", "undone"), rows, wrapped=("one", "other"))
