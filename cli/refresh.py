"""`drag-graph refresh`."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from drag_graph.distil.refresh import Due
    from drag_graph.ports.store import GraphStore, Staleness
    from drag_graph.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(refresh)


def refresh(
    expired: Annotated[bool, typer.Option("--expired", help="Subgraphs past their time to live.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Subgraphs that a wrong answer was given from.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many.")] = None,
    teacher: options.Teacher = None,
    teacher_base_url: options.TeacherBaseUrl = None,
    plan: options.PlanFlag = None,
    number_of_evidence: options.NumberOfEvidence = None,
    blind: options.Blind = None,
    extractor: options.ExtractorFlag = None,
    workers: options.Workers = None,
    engine: options.EngineFlag = None,
    ray_address: options.Address = None,
    ray_processes: options.Processes = None,
    budget_usd: options.BudgetUsd = None,
    dry_run: options.DryRun = False,
    retry_quarantined: options.RetryQuarantined = False,
    ledger: options.Ledger = None,
    top_k: options.TopK = None,
    ranking: options.RankingFlag = None,
    alpha: options.Alpha = None,
    rank_relations: options.RankRelations = None,
    statements: options.StatementsFlag = None,
    strategy: options.StrategyFlag = None,
    merge: options.MergeFlag = None,
    threshold: options.Threshold = None,
    embedder: options.Embedder = None,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    verbose: options.Verbose = False,
    log_json: options.LogJson = None,
    debug: options.Debug = False,
) -> None:
    """Distil stored questions again whose subgraphs have expired, or from which wrong answers were given.

    The teacher is asked anew, under the settings given now. Each subgraph is replaced in one transaction, and the answers that
    were given from it keep their audit. A run that was interrupted goes on with the same command.

    \b
    Examples:
      drag-graph refresh --expired --dry-run
      drag-graph refresh --expired --failed --teacher gpt-4o-mini --budget-usd 5
    """
    from drag_graph.bootstrap import check_teacher

    given = options.given(locals())
    settings = options.settings_of(given, verbose=verbose)
    options.check_engine(settings, given)
    reasons = _reasons(expired=expired, failed=failed)
    check_teacher(settings)
    if dry_run:
        _foretell(settings, reasons, limit, as_json=json)
    else:
        _run(settings, reasons, limit, retry_quarantined=retry_quarantined, as_json=json)


def _reasons(*, expired: bool, failed: bool) -> "list[Staleness]":
    from drag_graph.errors import ConfigurationError

    chosen: dict[Staleness, bool] = {"expired": expired, "failed": failed}
    reasons = [reason for reason, wanted in chosen.items() if wanted]
    if not reasons:
        raise ConfigurationError("say what to refresh: --expired, --failed or both", hint="drag-graph refresh --help")
    return reasons


def _foretell(settings: "Settings", reasons: "list[Staleness]", limit: int | None, *, as_json: bool) -> None:
    """List what is stale and what its refresh would take."""
    from drag_graph.bootstrap import known_to_estimate, make_pricing, open_store
    from drag_graph.distil.estimate import estimate
    from drag_graph.distil.refresh import lines

    from . import render_runs

    with open_store(settings, create=False, read_only=True) as store, known_to_estimate(settings) as (known, _):
        stale = list(_due(store, reasons, limit))
        foreseen = estimate(settings, lines(store, stale), make_pricing(settings), known)
    render_runs.due(stale, foreseen, as_json=as_json)


def _run(
    settings: "Settings", reasons: "list[Staleness]", limit: int | None, *, retry_quarantined: bool, as_json: bool
) -> None:
    from drag_graph.bootstrap import open_session
    from drag_graph.distil.refresh import lines

    from . import progress, render_runs

    with open_session(settings, create=False) as session:
        total = sum(1 for _ in _due(session.store, reasons, limit))
        if not total and not as_json:
            typer.echo(f"Nothing has {' or '.join(reasons)}.")
            return
        with progress.progress(total, quiet=as_json) as show:
            stale = lines(session.store, _due(session.store, reasons, limit))
            report = session.refresher(reasons, retry_quarantined=retry_quarantined).run(stale, on_result=show)
        render_runs.run(report, as_json=as_json)
        code = report.exit_code
    if report.stopped:
        raise report.stopped
    raise typer.Exit(code)


def _due(store: "GraphStore", reasons: "list[Staleness]", limit: int | None) -> "Iterator[Due]":
    from datetime import UTC, datetime
    from itertools import islice

    from drag_graph.distil.refresh import due

    return islice(due(store, reasons, datetime.now(UTC).isoformat(timespec="seconds")), limit)
