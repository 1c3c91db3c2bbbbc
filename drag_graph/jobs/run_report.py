"""The outcome of a run, read from the journal."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from drag_graph.errors import DragGraphError
from drag_graph.inputs import InputLine
from drag_graph.ledger.journal import Journal
from drag_graph.ports.run_journal import STATUSES, SUMS, QueryResult, Run, RunResults


class RunReport:
    """The outcome of a run. `stopped` is why it ended early; `rejected` are the lines that are not queries.

    Results and sums stay in the journal, so that memory does not grow with the run. `cost_usd` is the cost of this process so
    far, in US dollars.
    """

    def __init__(self, run: Run, journal: Journal) -> None:
        self.run = run
        self.rejected: list[InputLine] = []
        self.stopped: DragGraphError | None = None
        self.seconds = 0.0
        self.cost_usd = 0.0
        self.own_ids: dict[int, str] = {}
        """The lines' own ids that the privacy gate keeps from the journal, by line number."""
        self.journal: RunResults = journal
        """The source of the results."""

    @property
    def run_id(self) -> str:
        """The run's id, for `drag-graph runs show`."""
        return self.run.id

    @property
    def job(self) -> str:
        """The job that the run belongs to. Its runs share a budget."""
        return self.run.job

    @property
    def queries(self) -> list[QueryResult]:
        """All results in the input's order, at once."""
        return list(self.results())

    def results(self) -> Iterator[QueryResult]:
        """Yield the results in the input's order."""
        for result in self.journal.results(self.run_id):
            yield replace(result, input_id=self.own_ids.get(result.line, result.input_id))

    @property
    def exit_code(self) -> int:
        """0 all done, 1 some quarantined or rejected, or the code of what stopped the run."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return 1 if self.rejected or "quarantined" in self.journal.sums(self.run_id) else 0

    def totals(self) -> dict[str, Any]:
        """Return counts by status, calls, tokens, cost in US dollars and seconds."""
        sums = self.journal.sums(self.run_id)
        counts: dict[str, Any] = {status: sums[status]["queries"] if status in sums else 0 for status in STATUSES}
        totals: dict[str, Any] = {name: sum(part[name] for part in sums.values()) for name in ("queries", *SUMS)}
        head = {"queries": totals.pop("queries"), **counts, "rejected": len(self.rejected)}
        return {**head, **totals, "cost_usd": round(float(totals["cost_usd"]), 6), "seconds": round(self.seconds, 3)}

    def to_dict(self) -> dict[str, Any]:
        """Return the `distill --json` document (docs/reference/json.md)."""
        return {
            "run_id": self.run_id,
            "queries": [result.document() for result in self.results()],
            "rejected": [{"line": line.number, "reason": line.problem} for line in self.rejected],
            "totals": self.totals(),
            "stopped": str(self.stopped) if self.stopped else None,
        }
