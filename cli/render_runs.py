"""What is printed of runs: while one ends, and of those in the journal."""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from drag_graph.ports.run_journal import MADE_ANEW

from .render import SHORT, console, document, fields, table

if TYPE_CHECKING:
    from drag_graph.jobs.stale_queries import Due
    from drag_graph.ports.run_journal import QueryResult, Run, RunReport, RunState

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
        columns = ("query", "source", "status", "evidence", "triples", "edges", "calls", "cost")
        table(columns, (_result_row(result) for result in report.results() if result.status != "pending"))
    for bad in report.rejected:
        typer.echo(f"line {bad.number} rejected: {bad.problem}", err=True)
    anew = Counter[str]()
    for result in report.results():
        name = f"line {result.line} ({result.input_id or result.id[:SHORT]})"
        if result.error and result.status != "pending":
            typer.echo(f"{name} {result.status}: {result.error}", err=True)
        if result.notes and result.notes[0].startswith(MADE_ANEW):
            anew[result.notes[0]] += 1
        elif result.notes:
            typer.echo(f"{name}: {len(result.notes)} left out or done otherwise (--json lists why)", err=True)
    for what, number in anew.items():
        typer.echo(f"{number} stored already; {what}", err=True)
    counts = ", ".join(f"{totals[name]} {name}" for name in _COLOURS)
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


def _result_row(result: "QueryResult") -> tuple[object, ...]:
    calls = f"{result.calls} ({result.cached_calls} cached)" if result.cached_calls else result.calls
    sizes = (result.evidence, result.triples, result.edges)
    return (result.id[:SHORT], result.input_id[:24], _status(result), *sizes, calls, f"${result.cost_usd:.4f}")


def _status(result: "QueryResult") -> Text:
    return Text(result.status, _COLOURS[result.status])


def due(stale: "Sequence[Due]", foreseen: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what a refresh would distill again, and what that would take."""
    if as_json:
        document({"stale": [item.document() for item in stale], **foreseen})
        return
    if stale:
        queries = ((item.query, ", ".join(item.reasons)) for item in stale)
        rows = ((query.id[:SHORT], why, query.created_at, query.expires_at) for query, why in queries)
        table(("query", "why", "made", "expires"), rows)
    fields(foreseen, as_json=False)


def runs(found: Sequence[tuple["Run", "RunState", Mapping[str, int], float]], *, as_json: bool) -> None:
    """Print a line a run."""
    if as_json:
        document([_run_facts(*one) for one in found])
        return
    counted = ("complete", "pending", "quarantined")
    rows = []
    for run, state, counts, cost in found:
        source = run.source.rsplit("/", 1)[-1] if run.source.startswith("/") else run.source
        numbers = [counts[name] for name in counted]
        rows.append((run.id[:SHORT], run.kind, run.started_at, _ended(run, state), *numbers, f"${cost:.4f}", source))
    table(("run", "kind", "started", "state", *counted, "cost", "source"), rows, wrapped="source")


def _run_facts(run: "Run", state: "RunState", counts: Mapping[str, int], cost: float) -> dict[str, Any]:
    return {**asdict(run), "state": state, "counts": counts, "cost_usd": round(cost, 6)}


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
        document({**_run_facts(run, state, counts, cost), "queries": queries})
        return
    facts = {name: value for name, value in asdict(run).items() if name != "job"}
    fields({**facts, **counts, "cost": f"${cost:.4f}", "state": _ended(run, state)}, as_json=False)
    rows = []
    for result, question in results:
        why = "complete since then, by another run" if result.id in since else result.error or ""
        why = "erased since then" if result.erased else why
        ids = (result.line, result.id[:SHORT], f"{result.input_id} {question}".strip()[:32])
        rows.append((*ids, _status(result), result.calls, f"${result.cost_usd:.4f}", why))
    table(("line", "query", "question", "status", "calls", "cost", "why"), rows, wrapped="why")
    if counts["quarantined"]:
        console().print("Asked again by the same command with [bold]--retry-quarantined[/bold].")


def _ended(run: "Run", state: "RunState") -> str:
    if state != "ended":
        return state
    return f"{'stopped' if run.stopped else 'ended'}, exit {run.exit_code}" if run.exit_code else "ended"
