"""What is printed of runs: while one ends, and of those in the journal."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from .render import SHORT, console, document, escape, fields, put, table_of

if TYPE_CHECKING:
    from drag_graph.distil.refresh import Due
    from drag_graph.ports.runs import QueryResult, Run, RunReport, RunState

SHOWN_RESULTS = 60
"""Results of a run up to which each is printed."""
_COLOURS = {"complete": "green", "quarantined": "red", "skipped": "yellow", "pending": "default"}


def run(report: "RunReport", *, as_json: bool) -> None:
    """Print what became of each query of a distillation; of many queries, only those of which something is to be said."""
    if as_json:
        _run_document(report)
        return
    totals = report.totals()
    if 0 < totals["queries"] - totals["pending"] <= SHOWN_RESULTS:
        _results_table(report)
    for bad in report.rejected:
        typer.echo(f"line {bad.number} rejected: {bad.problem}", err=True)
    for result in report.results():
        name = f"line {result.line} ({result.input_id or result.id[:SHORT]})"
        if result.error and result.status != "pending":
            typer.echo(f"{name} {result.status}: {result.error}", err=True)
        if result.notes:
            typer.echo(f"{name}: {len(result.notes)} left out or done otherwise (--json lists why)", err=True)
    counts = ", ".join(f"{totals[name]} {name}" for name in ("complete", "quarantined", "skipped", "pending"))
    counts += f", {totals['rejected']} rejected" if totals["rejected"] else ""
    calls = f"{totals['calls'] - totals['cached_calls']} calls"
    calls += f" and {totals['cached_calls']} replies from the tape" if totals["cached_calls"] else ""
    console().print(f"{counts}; {calls}, ${totals['cost_usd']:.4f}, {totals['seconds']:.1f} s")
    if totals["queries"] > 1:
        console().print(f"Each query again: [bold]drag-graph runs show {report.run_id[:SHORT]}[/bold]")


def _run_document(report: "RunReport") -> None:
    """Print the `--json` document result by result, so that it takes no memory."""
    dump = json.JSONEncoder(ensure_ascii=False, default=str).encode
    out = sys.stdout
    out.write(f'{{\n  "run_id": {dump(report.run_id)},\n  "queries": [')
    for n, result in enumerate(report.results()):
        out.write(f"{',' if n else ''}\n    {dump(result.document())}")
    out.write("\n  ]")
    for name, value in report.tail().items():
        out.write(f",\n  {dump(name)}: {dump(value)}")
    out.write("\n}\n")


def _results_table(report: "RunReport") -> None:
    table = table_of("query", "source", "status", "evidence", "triples", "edges", "calls", "cost")
    for result in report.results():
        if result.status != "pending":
            _result_row(table, result)
    put(table)


def _result_row(table: Table, result: "QueryResult") -> None:
    calls = f"{result.calls} ({result.cached_calls} cached)" if result.cached_calls else str(result.calls)
    numbers = (str(result.evidence), str(result.triples), str(result.edges), calls, f"${result.cost_usd:.4f}")
    status = f"[{_COLOURS[result.status]}]{result.status}[/]"
    table.add_row(result.id[:SHORT], escape(result.input_id[:24]), status, *numbers)


def due(stale: "Sequence[Due]", foreseen: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what a refresh would distil again, and what that would take."""
    if as_json:
        document({"stale": [item.document() for item in stale], **foreseen})
        return
    if stale:
        table = table_of("query", "why", "made", "expires")
        for item in stale:
            table.add_row(item.query.id[:SHORT], ", ".join(item.reasons), item.query.created_at, item.query.expires_at)
        put(table)
    fields(foreseen, as_json=False)


def runs(found: Sequence[tuple["Run", "RunState", Mapping[str, int], float]], *, as_json: bool) -> None:
    """Print a line a run."""
    if as_json:
        document(
            [
                {**asdict(run), "state": state, "counts": counts, "cost_usd": round(cost, 6)}
                for run, state, counts, cost in found
            ]
        )
        return
    counted = ("complete", "pending", "quarantined")
    table = table_of("run", "kind", "started", "state", *counted, "cost", "source", wrapped="source")
    for run, state, counts, cost in found:
        numbers = (str(counts[name]) for name in counted)
        source = run.source.rsplit("/", 1)[-1] if run.source.startswith("/") else run.source
        row = (run.id[:SHORT], run.kind, run.started_at, _ended(run, state), *numbers, f"${cost:.4f}", escape(source))
        table.add_row(*row)
    put(table)


def run_shown(
    run: "Run",
    state: "RunState",
    counts: Mapping[str, int],
    cost: float,
    results: Iterator[tuple["QueryResult", str]],
    since: set[str],
    *,
    as_json: bool,
) -> None:
    """Print one run and its results, each with its question; `since` are the ids that another run has completed."""
    if as_json:
        queries = [
            {**result.document(), "question": question, "complete_since": result.id in since} for result, question in results
        ]
        document({**asdict(run), "state": state, "counts": counts, "cost_usd": round(cost, 6), "queries": queries})
        return
    shown = {**{name: value for name, value in asdict(run).items() if name != "job"}, **counts, "cost": f"${cost:.4f}"}
    shown["state"] = _ended(run, state)
    fields(shown, as_json=False)
    table = table_of("line", "query", "question", "status", "calls", "cost", "why", wrapped="why")
    for result, question in results:
        why = "complete since then, by another run" if result.id in since else result.error or ""
        why = "erased since then" if result.erased else why
        calls, paid = str(result.calls), f"${result.cost_usd:.4f}"
        ids = (str(result.line), result.id[:SHORT], escape(f"{result.input_id} {question}".strip()[:32]))
        table.add_row(*ids, f"[{_COLOURS[result.status]}]{result.status}[/]", calls, paid, escape(why))
    put(table)
    if counts["quarantined"]:
        console().print("Asked again by the same command with [bold]--retry-quarantined[/bold].")


def _ended(run: "Run", state: "RunState") -> str:
    if state != "ended":
        return state
    return f"{'stopped' if run.stopped else 'ended'}, exit {run.exit_code}" if run.exit_code else "ended"
