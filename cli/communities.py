"""`drag-graph communities`: the parts of the whole graph, and what each is about."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from . import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from drag_graph.jobs.community_job import CommunityReport
    from drag_graph.ports.community_store import Community
    from drag_graph.ports.graph_store import GraphStore
    from drag_graph.settings import Settings

FIRST_WORDS = 160
"""Characters of a summary in a table."""
_FIELDS = ("id", "name", "level", "things", "edges", "sources", "summary", "summariser", "member_hash")

Format = Annotated[
    Literal["table", "json", "html"], typer.Option("--format", help="table, json, or html: a picture that opens offline.")
]


@options.with_settings(
    *options.PANELS["Communities"], "workers", "budget_usd", "ledger", "privacy", "embedder", *options.STORE, to_file=True
)
def communities(
    settings: "Settings",
    show: Annotated[bool, typer.Option("--show", help="Print what is stored; nothing is made.")] = False,
    find: Annotated[str, typer.Option("--find", help="Print the communities nearest to a text.", metavar="TEXT")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count communities and calls; ask nobody, write nothing.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many to print: the largest, or nearest.")] = 20,
    form: Format = "table",
    json: options.Json = False,
) -> None:
    """Find the communities of the whole graph, and say what each is about: the Leiden algorithm, small ones merged.

    Run it after `link`, as often as you like: what did not change keeps its id and its summary, and nobody is asked. Summaries
    are made by rules, or by a model that is shown the strongest edges. An interrupted run goes on with the same command.

    \b
    Examples:
      drag-graph communities
      drag-graph communities --summariser ollama/llama3.2 --budget-usd 1
      drag-graph communities --show --format html -o communities.html
      drag-graph communities --find "What is sold by pharmacies?"
    """
    from drag_graph.compose.community_setup import for_communities, make_communities
    from drag_graph.compose.model_factories import make_pricing
    from drag_graph.compose.session import open_session, open_store
    from drag_graph.errors import ConfigurationError
    from drag_graph.jobs.summary_estimate import foresee

    from . import progress, render
    from .output import exit_with

    form = "json" if json else form
    if show + bool(find.strip()) + dry_run > 1:
        raise ConfigurationError("give one of --show, --find and --dry-run, or none", hint="drag-graph communities --help")
    if show:
        with open_store(settings, create=False, read_only=True) as store:
            _print(store, limit, form)
        return
    with open_session(for_communities(settings), create=False, read_only=bool(find) or dry_run) as session:
        if find.strip():
            wanted = session.gate.generalised(find) if session.gate else find
            _print_found(session.store, session.embedder.embed([wanted])[0].tolist(), limit, form)
        elif dry_run:
            plan = make_communities(session, is_dry=True).plan()
            edges, pricing = session.store.linked_edges(), make_pricing(session.settings) if session.settings.teacher else None
            foreseen = foresee(plan, edges, session.store.namespace, session.settings.teacher, pricing)
            render.estimate(foreseen, as_json=form == "json")
        else:
            run = make_communities(session)
            with progress.progress(None, quiet=form != "table") as shown:
                report = run.run(on_summary=shown)
            _print(session.store, limit, form, report)
            exit_with(report)


def _print(store: "GraphStore", limit: int, form: str, report: "CommunityReport | None" = None) -> None:
    """Print the stored communities, and what a run did."""
    from . import render

    found = sorted(store.communities.read(), key=lambda item: (-item.things, item.id))
    if form == "json":
        totals = report.totals() if report else {"communities": len(found)}
        render.document({"communities": [_document(item) for item in found], "totals": totals})
        return
    if form == "html":
        render.write(_picture(store, found[:limit]))
        return
    if found:
        rows = (
            (item.id[: render.SHORT], item.name, item.things, item.edges, item.sources, _told(item)) for item in found[:limit]
        )
        columns = ("id", "name", "things", "edges", "sources", "summary")
        render.table(columns, rows, wrapped=("name", "summary"), title=f"Communities: {len(found)}")
    else:
        typer.echo("There are no communities: no simple edge is stored." if report else "No community is stored.")
    if report:
        _print_totals(report)


def _document(item: "Community") -> dict[str, Any]:
    return {name: getattr(item, name) for name in _FIELDS}


def _told(item: "Community") -> str:
    from drag_graph.communities.summaries import cut

    return cut(item.summary, FIRST_WORDS) if item.summary else "(to be made by the next run)"


def _print_totals(report: "CommunityReport") -> None:
    from . import render

    for note in report.usage.notes:
        typer.echo(note, err=True)
    usage = report.usage
    calls = f"{usage.calls - usage.cached_calls} calls"
    calls += f" and {usage.cached_calls} replies from the tape" if usage.cached_calls else ""
    unchanged = len(report.communities) - report.summarised - report.left_open
    counts = f"{report.made} new, {report.gone} gone, {report.summarised} summarised, {unchanged} unchanged"
    counts += f", {report.left_open} left to the next run" if report.left_open else ""
    render.console().print(f"{counts}; {calls}, ${usage.cost_usd:.4f}")


def _print_found(store: "GraphStore", vector: "Sequence[float]", limit: int, form: str) -> None:
    from dataclasses import asdict

    from . import render

    found = store.communities.nearest(vector, limit)
    if form == "json":
        render.document({"communities": [asdict(hit) for hit in found]})
    elif found:
        rows = ((hit.id[: render.SHORT], f"{hit.score:.3f}", hit.name, hit.summary) for hit in found)
        render.table(("id", "cosine", "name", "summary"), rows, wrapped=("name", "summary"))
    else:
        typer.echo("No community has a summary: run `drag-graph communities`.")


def _picture(store: "GraphStore", found: "Sequence[Community]") -> str:
    from drag_graph.manage.graph_statistics import Group, links, names_of
    from drag_graph.report.groups_page import groups_page, shown_groups

    thing_of: dict[str, str] = {}
    for edge in store.linked_edges():
        thing_of |= {edge.source_entity: edge.source, edge.target_entity: edge.target}
    groups = [
        Group(tuple(sorted({thing_of[entity] for entity in item.entities if entity in thing_of})), item.edges, item.name)
        for item in found
    ]
    shown = shown_groups([group for group in groups if group.members])
    names = names_of(store.linked_edges(), {id_ for group in shown for id_ in group.members})
    return groups_page(f"Communities of {store.location}", shown, links(store.linked_edges()), names)
