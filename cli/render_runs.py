"""Print runs: a report when one ends, the outcome for each document, and past runs from the journal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from drag_graph.ports.run_journal import UNREAD

from .render import SHORT, console, estimate, fields, shorten, table, unread

if TYPE_CHECKING:
    from drag_graph.app.distilling import RefreshEstimate
    from drag_graph.app.runs_group import RunDetails, RunList
    from drag_graph.jobs.distill_job import RunReport
    from drag_graph.jobs.ingest_job import IngestReport
    from drag_graph.ports.run_journal import QueryResult

    from .service_client import JobReport

SHOWN_RESULTS = 60
"""Maximum number of results, or of documents, that are listed one by one when a run ends."""
LONGEST_QUESTION = 32
_COLOURS = {"complete": "green", "quarantined": "red", "skipped": "yellow", "pending": "default"}


def run(report: "RunReport | JobReport") -> None:
    """Print the results of a run; of a long one only problems, notes and totals."""
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


def due(estimated: "RefreshEstimate") -> None:
    """Print the queries that a refresh would distill again, and what that would take."""
    if estimated.stale:
        queries = ((item.query, ", ".join(item.reasons)) for item in estimated.stale)
        rows = ((query.id[:SHORT], why, query.created_at, query.expires_at) for query, why in queries)
        table(("query", "why", "made", "expires"), rows)
    estimate(estimated.document)


def runs(listed: "RunList") -> None:
    """Print one line for each run."""
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


def run_details(details: "RunDetails") -> None:
    """Print one run and its queries, with the notes on what was left out or done otherwise."""
    summary = details.summary
    facts = {name: value for name, value in summary.to_dict().items() if name not in {"job", "counts", "cost_usd", "state"}}
    fields({**facts, **summary.counts, "cost": f"${summary.cost_usd:.4f}", "state": summary.ending})
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


MOST_NOTES = 10
"""Maximum number of notes that are printed."""
_OUTCOMES = {
    **dict.fromkeys(("added", "changed", "renamed"), "green"),
    "unchanged": "default",
    "removed": "yellow",
    "failed": "red",
}


def ingested(report: "IngestReport | JobReport") -> None:
    """Print the outcome for each document."""
    document = report.to_dict()
    documents(document["documents"], ("chunks", "evidence", "triples"))
    totals = document["totals"]
    noted = [(item["name"], note) for item in document["documents"] for note in item["notes"]]
    notes = [f"{name}: {note}" for name, note in noted if not note.startswith(UNREAD)]
    unread((item["notes"] for item in document["documents"]), "documents")
    for note in notes[:MOST_NOTES]:
        typer.echo(note, err=True)
    if len(notes) > MOST_NOTES:
        typer.echo(f"Notes left out: {len(notes) - MOST_NOTES}. --json prints all of them.", err=True)
    _print_given(document.get("given_triples"))
    for what, number in document.get("left_out", {}).items():
        if number:
            typer.echo(f"Left out: {what} ({number}).", err=True)
    counts = ", ".join(f"{totals[status]} {status}" for status in (*_OUTCOMES, "pending") if totals[status])
    cost = f"; {totals['calls']} calls, ${totals['cost_usd']:.4f}" if totals["calls"] else ""
    console().print(f"{counts or 'no documents'}{cost}, {totals['seconds']:.1f} s")


def _print_given(given: Mapping[str, Any] | None) -> None:
    """Print the unused lines of the file of triples."""
    for item in given["rejected"][:MOST_NOTES] if given else ():
        typer.echo(f"triples, line {item['line']}: {item['reason']}", err=True)
    if given and given["rejected_lines"] > MOST_NOTES:
        typer.echo(
            f"Unusable lines of the triples file left out: {given['rejected_lines'] - MOST_NOTES}. --json lists them.", err=True
        )
    if given and given["unmatched_lines"]:
        typer.echo(f"Lines of triples about documents that are not among these files: {given['unmatched_lines']}.", err=True)


def documents(listed: Sequence[Mapping[str, Any]], counts: tuple[str, ...]) -> None:
    """Print the errors and, for up to `SHOWN_RESULTS` documents, a row for each."""
    if 0 < len(listed) <= SHOWN_RESULTS:
        rows = (
            (
                item["id"][:SHORT],
                item["name"],
                Text(item["status"], _OUTCOMES[item["status"]]),
                *("-" if item[name] is None else item[name] for name in counts),
            )
            for item in listed
        )
        table(("document", "name", "status", *counts), rows, wrapped="name")
    for item in listed:
        if item["error"]:
            typer.echo(f"{item['name']} {item['status']}: {item['error']}", err=True)
