"""`graph.runs` and `graph.tape`: past runs, and recorded teacher replies."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from drag_graph.app.resources import ResourceUser
from drag_graph.compose.store_opening import open_ledger
from drag_graph.errors import NotStored
from drag_graph.ledger import Ledger
from drag_graph.ports.run_journal import STATUSES, QueryResult, Run, RunState, Status


@dataclass(frozen=True, slots=True)
class TapeImport:
    """Result of importing a tape: the number of new replies, and the ledger that contains them."""

    new: int
    ledger: Path

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON document."""
        return {"new": self.new, "ledger": str(self.ledger)}


class TapeGroup(ResourceUser):
    """Export and import recorded replies, and list the unusable ones."""

    def export(self) -> Iterator[str]:
        """Yield the recorded replies as JSON lines, without line ends. `teacher="tape:FILE"` replays a file of them offline."""
        with open_ledger(self._resources.settings, read_only=True) as ledger:
            yield from ledger.export_tape()

    def import_(self, file: str | os.PathLike[str]) -> TapeImport:
        """Add the replies of an exported tape; distilling then reuses them at no cost.

        Raises InputError for an unusable line and StoreUnfit for another format; nothing is added then.
        """
        path = self._resources.settings.ledger_path
        with Ledger(path) as ledger:
            return TapeImport(ledger.import_tape(Path(file)), path)

    def quarantined(self, query_id: str = "") -> Iterator[dict[str, str]]:
        """Yield the unusable replies (of one query), oldest first, each with the error and the model's last text."""
        with open_ledger(self._resources.settings, read_only=True) as ledger:
            yield from ledger.tape.quarantined(query_id)


@dataclass(frozen=True)
class RunSummary:
    """A run, its state, the number of its queries by status, and its cost in US dollars."""

    run: Run
    state: RunState
    counts: dict[str, int]
    cost_usd: float

    @property
    def ending(self) -> str:
        """The state for people: "running", "died", or how the run ended."""
        if self.state != "ended" or not self.run.exit_code:
            return self.state
        return f"{'stopped' if self.run.stopped else 'ended'}, exit {self.run.exit_code}"

    def to_dict(self) -> dict[str, Any]:
        """Return its entry of the `runs --json` document."""
        return {**asdict(self.run), "state": self.state, "counts": self.counts, "cost_usd": round(self.cost_usd, 6)}


@dataclass(frozen=True)
class RunList:
    """Runs, newest first."""

    runs: tuple[RunSummary, ...]

    def __iter__(self) -> Iterator[RunSummary]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the document that `runs --json` prints."""
        return [run.to_dict() for run in self.runs]


@dataclass(frozen=True)
class RunQuery:
    """What became of one query of a run."""

    result: QueryResult
    question: str

    def to_dict(self) -> dict[str, Any]:
        """Return its entry of the `runs show --json` document."""
        return {**self.result.document(), "question": self.question}


@dataclass(frozen=True)
class RunDetails:
    """A run with its queries, in the order of the input."""

    summary: RunSummary
    queries: tuple[RunQuery, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the document that `runs show --json` prints."""
        return {**self.summary.to_dict(), "queries": [query.to_dict() for query in self.queries]}


class RunsGroup(ResourceUser):
    """List past runs and show what became of each query."""

    def list(self, *, limit: int = 20) -> RunList:
        """Return the last runs of `distill` and `refresh`, newest first."""
        settings = self._resources.settings
        with open_ledger(settings, read_only=True) as ledger:
            runs = ledger.journal.runs(settings.namespace, limit)
            return RunList(tuple(RunSummary(run, ledger.journal.state(run), counts, cost) for run, counts, cost in runs))

    def show(self, run_id: str, *, statuses: Sequence[Status] = STATUSES) -> RunDetails:
        """Return a run, given its id or the beginning of its id, with its queries of these statuses."""
        settings = self._resources.settings
        with open_ledger(settings, read_only=True) as ledger:
            journal = ledger.journal
            run = journal.run(run_id, settings.namespace)
            queries = tuple(
                RunQuery(result, journal.questions(run.id, [result.line]).get(result.line, ""))
                for result in journal.results(run.id, statuses)
            )
            return RunDetails(RunSummary(run, journal.state(run), *journal.summary(run.id)), queries)

    def give_up(self, batch_id: str) -> int:
        """Give up a batch whose replies are lost, and return the number of its requests.

        It counts as paid in full. The next run of the command that made it repeats the requests.
        """
        with open_ledger(self._resources.settings) as ledger:
            number = ledger.give_up(batch_id)
        if not number:
            raise NotStored(f"No run waits for a batch {batch_id!r}.", hint="The run that waits for it names its id.")
        return number
