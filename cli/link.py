"""`drag-graph link`."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options, render
from .output import refuse

if TYPE_CHECKING:
    from drag_graph.app.application import DragGraph
    from drag_graph.app.linking import MergeList
    from drag_graph.jobs.link_job import LinkReport


@options.with_settings("embedder", *options.STORE)
def link(
    graph: "DragGraph",
    text: Annotated[str, typer.Argument(help="With --show: only names that contain this text.", show_default=False)] = "",
    show: Annotated[bool, typer.Option("--show", help="List merges: names judged to be the same thing.")] = False,
    undo: Annotated[str, typer.Option("--undo", help="Undo a merge: its id, or the beginning of its id.")] = "",
    redo: Annotated[str, typer.Option("--redo", help="Restore a merge that was undone.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="With --show: maximum number of merges.")] = 100,
    json: options.Json = False,
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
        _print_merges(graph.merges(text, limit=limit), as_json=json)
    elif undo:
        _print_merges(graph.undo_merge(undo), as_json=json)
    elif redo:
        _print_merges(graph.redo_merge(redo), as_json=json)
    else:
        with render.waiting("Linking", quiet=json) as say:
            report = graph.link(on_progress=lambda state: say(f"Linking: {state.waiting_for}")).result()
        _print_report(report, as_json=json)


def _print_report(report: "LinkReport", *, as_json: bool) -> None:

    if as_json:
        render.document(report.to_dict())
        return
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


def _print_merges(listed: "MergeList", *, as_json: bool) -> None:

    if as_json:
        render.document(listed.to_dict())
    elif not listed.merges:
        typer.echo("There are no such merges.")
    else:
        rows = (
            (one.id[: render.SHORT], one.left_name, one.right_name, one.method, f"{one.score:.3f}", one.undone_at or "-")
            for one in listed.merges
        )
        render.table(("id", "one", "other", "method", "score", "undone"), rows, wrapped=("one", "other"))
