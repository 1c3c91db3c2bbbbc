"""`drag-graph refresh`."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from drag_graph.jobs.stale_queries import Due
    from drag_graph.ports.graph_store import GraphStore, Staleness
    from drag_graph.settings import Settings


@options.with_settings(*(name for name in options.DISTILLING if name != "domain"))
def refresh(
    settings: "Settings",
    expired: Annotated[bool, typer.Option("--expired", help="Subgraphs past their time to live.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Subgraphs that a wrong answer was given from.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many.")] = None,
    dry_run: options.DryRun = False,
    retry_quarantined: options.RetryQuarantined = False,
    json: options.Json = False,
) -> None:
    """Distill stored questions again whose subgraphs have expired, or from which wrong answers were given.

    The teacher is asked anew, under the settings given now. Each subgraph is replaced in one transaction, and the answers that
    were given from it keep their audit. A run that was interrupted goes on with the same command.

    \b
    Examples:
      drag-graph refresh --expired --dry-run
      drag-graph refresh --expired --failed --teacher gpt-4o-mini --budget-usd 5
    """
    from drag_graph.compose.model_factories import check_teacher
    from drag_graph.compose.session import open_session
    from drag_graph.errors import ConfigurationError
    from drag_graph.jobs.stale_queries import lines

    from . import progress
    from .distill import finish

    chosen: dict[Staleness, bool] = {"expired": expired, "failed": failed}
    reasons = [reason for reason, wanted in chosen.items() if wanted]
    if not reasons:
        raise ConfigurationError("say what to refresh: --expired, --failed or both", hint="drag-graph refresh --help")
    check_teacher(settings)
    if dry_run:
        _foretell(settings, reasons, limit, as_json=json)
        return
    with open_session(settings, create=False) as session:
        total = sum(1 for _ in _due(session.store, reasons, limit))
        if not total and not json:
            typer.echo(f"Nothing has {' or '.join(reasons)}.")
            return
        with progress.progress(total, quiet=json) as show:
            stale = lines(session.store, _due(session.store, reasons, limit))
            report = session.refresher(reasons, retry_quarantined=retry_quarantined).run(stale, on_result=show)
        finish(report, as_json=json)


def _foretell(settings: "Settings", reasons: "list[Staleness]", limit: int | None, *, as_json: bool) -> None:
    """List what is stale and what its refresh would take."""
    from drag_graph.compose.model_factories import make_pricing
    from drag_graph.compose.session import known_to_estimate, open_store
    from drag_graph.distill.cost_estimate import estimate
    from drag_graph.jobs.stale_queries import lines

    from . import render_runs

    with open_store(settings, create=False, read_only=True) as store, known_to_estimate(settings) as (known, _):
        stale = list(_due(store, reasons, limit))
        foreseen = estimate(settings, lines(store, stale), make_pricing(settings), known)
    render_runs.due(stale, foreseen, as_json=as_json)


def _due(store: "GraphStore", reasons: "list[Staleness]", limit: int | None) -> "Iterator[Due]":
    from datetime import UTC, datetime
    from itertools import islice

    from drag_graph.jobs.stale_queries import due

    return islice(due(store, reasons, datetime.now(UTC).isoformat(timespec="seconds")), limit)
