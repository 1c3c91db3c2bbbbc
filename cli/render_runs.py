"""Print runs: a report when one ends, and past runs from the journal."""

from typing import TYPE_CHECKING

import typer
from rich.text import Text

from .render import SHORT, console, document, estimate, fields, shorten, table, unread

if TYPE_CHECKING:
    from drag_graph.app.distilling import RefreshEstimate
    from drag_graph.app.runs_group import RunDetails, RunList
    from drag_graph.jobs.distill_job import RunReport
    from drag_graph.ports.run_journal import QueryResult

    from .service_client import JobReport

SHOWN_RESULTS = 60
"""Maximum number of results that are listed one by one when a run ends."""
LONGEST_QUESTION = 32
_COLOURS = {"complete": "green", "quarantined": "red", "skipped": "yellow", "pending": "default"}


def run(report: "RunReport | JobReport", *, as_json: bool) -> None:
    """Print the results of a run; of a long one only problems, notes and totals."""
    if as_json:
        document(report.to_dict())
        return
    totals = report.totals()
    if 0 < totals["queries"] - totals["pending"] <= SHOWN_RESULTS:
        columns = ("query", "source", "status", "evidence", "triples", "edges", "calls", "cost")
        rows = (_result_row(result) for result in report.results() if result.status != "pending")
        table(columns, rows, optional=("evidence", "cost", "calls"))
    for bad in report.rejected:
        typer.echo(f"line {bad.number} rejected: {bad.problem}", err=True)
    noted = 0
    for result in report.results():
        if result.error and result.status != "pending":
            typer.echo(f"line {result.line} ({result.input_id or result.id[:SHORT]}) {result.status}: {result.error}", err=True)
        noted += bool(result.notes)
    unread((result.notes for result in report.results()), "questions")
    counts = ", ".join(f"{totals[name]} {name}" for name in _COLOURS)
    counts += f", {totals['rejected']} rejected" if totals["rejected"] else ""
    calls = f"{totals['calls'] - totals['cached_calls']} calls"
    calls += f" and {totals['cached_calls']} replies from the tape" if totals["cached_calls"] else ""
    console().print(f"{counts}; {calls}, ${totals['cost_usd']:.4f}, {totals['seconds']:.1f} s")
    if totals["queries"] > 1 or noted:
        notes = f" ({noted} with notes)" if noted else ""
        console().print(f"What became of each query{notes}: [bold]drag-graph runs show {report.run_id[:SHORT]}[/bold]")


def _result_row(result: "QueryResult") -> tuple[object, ...]:
    calls = f"{result.calls} ({result.cached_calls} cached)" if result.cached_calls else result.calls
    sizes = (result.evidence, result.triples, result.edges)
    return (result.id[:SHORT], shorten(result.input_id, 24), _status(result), *sizes, calls, f"${result.cost_usd:.4f}")


def _status(result: "QueryResult") -> Text:
    return Text(result.status, _COLOURS[result.status])


def due(estimated: "RefreshEstimate", *, as_json: bool) -> None:
    """Print the queries that a refresh would distill again, and what that would take."""
    if as_json:
        document(estimated.to_dict())
        return
    if estimated.stale:
        queries = ((item.query, ", ".join(item.reasons)) for item in estimated.stale)
        rows = ((query.id[:SHORT], why, query.created_at, query.expires_at) for query, why in queries)
        table(("query", "why", "made", "expires"), rows)
    estimate(estimated.document, as_json=False)


def runs(listed: "RunList", *, as_json: bool) -> None:
    """Print one line for each run."""
    if as_json:
        document(listed.to_dict())
        return
    counted = ("complete", "pending", "quarantined")
    rows = []
    for item in listed.runs:
        source = item.run.source.rsplit("/", 1)[-1] if item.run.source.startswith("/") else item.run.source
        numbers = [item.counts[name] for name in counted]
        rows.append(
            (item.run.id[:SHORT], item.run.kind, item.run.started_at, item.ending, *numbers, f"${item.cost_usd:.4f}", source)
        )
    optional = ("started", "pending", "cost", "kind")
    table(("run", "kind", "started", "state", *counted, "cost", "source"), rows, wrapped="source", optional=optional)


def run_details(details: "RunDetails", *, as_json: bool) -> None:
    """Print one run and its queries, with the notes on what was left out or done otherwise."""
    if as_json:
        document(details.to_dict())
        return
    summary = details.summary
    facts = {name: value for name, value in summary.to_dict().items() if name not in {"job", "counts", "cost_usd", "state"}}
    fields({**facts, **summary.counts, "cost": f"${summary.cost_usd:.4f}", "state": summary.ending}, as_json=False)
    rows = []
    for query in details.queries:
        result = query.result
        name = shorten(f"{result.input_id} {query.question}".strip(), LONGEST_QUESTION)
        why = "Erased since then." if result.erased else result.error or ""
        rows.append((result.line, result.id[:SHORT], name, _status(result), result.calls, f"${result.cost_usd:.4f}", why))
    columns = ("line", "query", "question", "status", "calls", "cost", "why")
    table(columns, rows, wrapped=("question", "why"), optional=("query", "cost", "calls"))
    for query in details.queries:
        for note in query.result.notes:
            console().print(f"line {query.result.line}: {note}", markup=False, highlight=False)
    if summary.counts["quarantined"]:
        console().print("To ask quarantined queries again, run the same command with [bold]--retry-quarantined[/bold].")
