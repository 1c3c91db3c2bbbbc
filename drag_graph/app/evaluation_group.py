"""`graph.evaluation`: accuracy on questions with known answers, and the evaluations of a published table (examples/paper)."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

from drag_graph.app.evaluation_work import EvaluationPlan, EvaluationWork, OnProgress, check_modes
from drag_graph.app.resources import Resources, ResourceUser
from drag_graph.app.run_handle import RunHandle
from drag_graph.compose.model_factories import check_teacher, make_pricing
from drag_graph.compose.session import estimate_basis
from drag_graph.concurrency.interruption import Interruption
from drag_graph.distill.cost_estimate import estimate
from drag_graph.errors import ConfigurationError, InputError
from drag_graph.evaluation import outcome
from drag_graph.evaluation.evaluation_run import EvaluationMode
from drag_graph.evaluation.judge import Criterion, Judgement, graded, judged
from drag_graph.evaluation.plots import draw_sweep
from drag_graph.evaluation.tasks import Split, TaskItem, read_task
from drag_graph.inputs import InputLine
from drag_graph.models.model_choice import NEAREST, is_served
from drag_graph.ports.model_roles import Student

TABLE_KEYS = {"title", "tasks", "modes", "settings", "vary"}
SHARED = frozenset({"student", "scoring", "mode", "line_format", "max_lines", "shared_lines", "line_order", "brief"}) | {
    *("student_base_url", "token_budget", "relevance", "reranker", "reranker_base_url")
}
"""Settings of the student: evaluations that differ in nothing else use the same distilled graphs."""
_SUMS = ("queries", "stored", "calls", "tokens_in", "tokens_out", "price_usd", "price_usd_low", "price_usd_high")


@dataclass(frozen=True)
class EvaluationTable:
    """The evaluations that one table consists of."""

    title: str
    tasks: tuple[str, ...]
    modes: tuple[EvaluationMode, ...]
    runs: tuple[Resources, ...]
    """One for each combination of the varied settings. Graphs that are distilled differently are in separate namespaces."""
    data: Path | None = None
    split: Split = "all"
    limit: int | None = None

    def plans(self) -> Iterator[tuple[Resources, EvaluationPlan]]:
        """Yield every evaluation with its settings."""
        for resources in self.runs:
            for task in self.tasks:
                yield resources, EvaluationPlan(task, self.modes, data=self.data, split=self.split, limit=self.limit)

    def estimate(self) -> dict[str, Any]:
        """Return the number of evaluations and answers, and the calls, tokens and price of the teachers."""
        answers = len(self.runs) * len(self.modes) * sum(map(len, self._items.values()))
        evaluations = len(self.runs) * len(self.tasks)
        return {"table": self.title, "evaluations": evaluations, "student_asked": answers, **self._price()}

    @cached_property
    def _items(self) -> dict[str, list[TaskItem]]:
        namespace = self.runs[0].settings.namespace
        where = {"data": self.data, "split": self.split, "limit": self.limit}
        return {task: read_task(task, namespace=namespace, **where).items for task in self.tasks}  # type: ignore[arg-type]

    def _price(self) -> dict[str, Any]:
        """Add up what the teachers cost. Each namespace is distilled once."""
        items = [item for group in self._items.values() for item in group]
        estimates = []
        for settings in {one.settings.namespace: one.settings for one in self.runs}.values():
            check_teacher(settings)
            space = settings.namespace
            queries = (one.query.model_copy(update={"namespace": space, "id": one.query.id_in(space)}) for one in items)
            lines = [InputLine(number, query) for number, query in enumerate(queries, start=1)]
            with estimate_basis(settings) as (basis, _caution):
                estimates.append(estimate(settings, lines, make_pricing(settings), basis))
        sums = {name: sum(one.get(name) or 0 for one in estimates) for name in _SUMS}
        if all(one.get("price_known", True) for one in estimates):
            return sums
        return {name: "unknown" if name.startswith("price") else value for name, value in sums.items()}


def read_table(file: Path) -> dict[str, Any]:
    """Return the contents of a table's file. Raises InputError."""
    try:
        with file.open("rb") as opened:
            contents = tomllib.load(opened)
    except (OSError, tomllib.TOMLDecodeError) as error:
        message = f"Cannot read {file}: {getattr(error, 'strerror', None) or error}."
        raise InputError(message, hint="Pass a file like those in examples/paper.") from error
    if set(contents) - TABLE_KEYS or not {"title", "tasks", "modes"} <= set(contents):
        hint = f"Keys: {', '.join(sorted(TABLE_KEYS))}."
        raise InputError(f"{file} does not describe a table: its keys are {', '.join(contents)}.", hint=hint)
    return contents


def combinations(contents: Mapping[str, Any], name: str, flags: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the settings of each run; `flags` win over the file. Settings joined by "+" vary together."""
    varied = {keys: values for keys, values in contents.get("vary", {}).items() if not flags.keys() & set(keys.split("+"))}
    for values in product(*varied.values()):
        varied_values = {key: value for keys, value in zip(varied, values, strict=True) for key in keys.split("+")}
        separate = [str(value) for key, value in varied_values.items() if key not in SHARED]
        yield {"namespace": "-".join([name, *separate]), **contents.get("settings", {}), **varied_values, **flags}


MODES: tuple[EvaluationMode, ...] = ("none", "evidence", "graph", "combined")


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """The outcome of an evaluation: a folder with every item, and the summary of all modes."""

    folder: Path
    summary: dict[str, Any]

    @property
    def modes(self) -> dict[str, dict[str, Any]]:
        """Figures by mode: accuracy, its interval, tokens and seconds."""
        return dict(self.summary["modes"])

    @property
    def failed(self) -> int:
        """Number of answers that failed. They count as wrong."""
        return sum(one["failed"] for one in self.modes.values())

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Return the figures as text: column names, and a row a mode."""
        return outcome.summary_rows(self.summary)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary with its folder."""
        return {**self.summary, "folder": str(self.folder)}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The accuracy of one mode of an outcome less that of another, on their common items."""

    first: tuple[Path, str]
    second: tuple[Path, str]
    locations: tuple[str, str]
    """The stores that have the answers of each, "" if unknown."""
    difference: outcome.Difference
    judgement: Judgement | None = None
    """The verdicts of a judge on pairs of answers."""
    graded_by: str = ""
    """The judge that decided which answers are correct."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, the items that flipped, and the verdicts of a judge."""
        sides = {
            name: {"folder": str(folder), "mode": mode, "store": location, "accuracy": accuracy}
            for name, (folder, mode), location, accuracy in zip(
                ("first", "second"), (self.first, self.second), self.locations, self.difference.accuracies, strict=True
            )
        }
        judgement = {"judgement": self.judgement.to_dict()} if self.judgement else {}
        graded = {"graded_by": self.graded_by} if self.graded_by else {}
        return {**sides, **self.difference.to_dict(), **judgement, **graded}


class EvaluationGroup(ResourceUser):
    """Run, compare and draw evaluations."""

    def run(
        self,
        task: str,
        *,
        modes: Sequence[str] = MODES,
        data: Path | None = None,
        evidence: str = "",
        split: Split = "all",
        limit: int | None = None,
        documents: Path | None = None,
        folder: Path | None = None,
        search: bool = False,
        on_progress: OnProgress = lambda _stage, _done, _total: None,
        wait: bool = True,
        **settings: Any,
    ) -> RunHandle[EvaluationResult]:
        """Ask the student every question of a task in every mode.

        `task` is the name of a public set or a file of questions with answers; `data` is a folder with TASK.jsonl. Questions
        that are not stored are distilled first, by the teacher or from the rows' own evidence under the key `evidence`. The
        modes bm25 and cosine show plain pieces of `documents`. With `search`, nothing is distilled, and the lines come from a
        search of all that is stored, such as ingested documents. The outcome goes to `folder`; the same call resumes it.
        """
        plan = EvaluationPlan(task, check_modes(modes), data, evidence, split, limit, documents, folder, search)
        return _start(self._resources.changed(settings), plan, on_progress, wait=wait)

    def compare(
        self,
        first: Path,
        second: Path,
        *,
        mode: str = "graph",
        second_mode: str = "",
        judge: str = "",
        criterion: Criterion = "agreement",
        on_progress: OnProgress = lambda _stage, _done, _total: None,
        **settings: Any,
    ) -> Comparison:
        """Compare two outcomes, or two modes of one, item by item: `first` less `second`.

        `judge` is a language model that compares the answers under the criterion, or decides which are `correct`; a served
        judge is at `student_base_url`. Raises InputError, and ModelError.
        """
        second_mode = second_mode or mode
        ours, theirs = outcome.read_mode(first, mode), outcome.read_mode(second, second_mode)
        judgement, grades = None, bool(judge) and criterion == "correct"
        if judge:
            with self._judge({**settings, "student": judge}) as (student, workers):
                how: Any = {"workers": workers, "on_verdict": partial(on_progress, "verdicts")}
                if grades:
                    ours, theirs = (
                        graded(side, student, **how) for side in zip(*outcome.common_items(ours, theirs), strict=True)
                    )
                else:
                    judgement = judged(ours, theirs, student, criterion=criterion, **how)
        locations = (outcome.read_location(first), outcome.read_location(second))
        difference = outcome.compare_records(ours, theirs)
        return Comparison((first, mode), (second, second_mode), locations, difference, judgement, judge if grades else "")

    @contextmanager
    def _judge(self, settings: dict[str, Any]) -> Iterator[tuple[Student, int]]:
        """Yield the judge, and the number of answers that it reads at the same time."""
        if settings["student"] == NEAREST:
            raise ConfigurationError(f"`judge={NEAREST}` only quotes.", hint="Use gguf:FILE or a served model.")
        resources = self._resources.changed({**settings, "scoring": "auto"})
        is_in_parallel = is_served(resources.settings.model_for("student"))
        if not is_in_parallel:  # `auto` would score the texts of the options
            resources = resources.changed({"scoring": "letter"})
        with resources.in_use():
            yield resources.gated_student(), resources.settings.workers if is_in_parallel else 1

    def picture(self, folders: Sequence[Path], over: str, output: Path) -> Path:
        """Draw the accuracy of each mode over a setting in which the outcomes differ. Raises MissingExtra and InputError."""
        outcomes: dict[float, list[outcome.Record]] = {}
        for folder in folders:
            settings = outcome.read_about(folder)["settings"]
            if over not in settings:
                hint = f"Choose from {', '.join(sorted(settings))}."
                raise ConfigurationError(f"{over} is not a setting of {folder}.", hint=hint)
            value = settings[over]
            if not isinstance(value, int | float) or value in outcomes:
                reason = "another outcome has the same value" if value in outcomes else "it is not a number"
                raise ConfigurationError(f"Cannot draw {over} = {value} of {folder}: {reason}.", hint="Pass other outcomes.")
            outcomes[value] = outcome.read_records(folder)
        return draw_sweep(outcomes, over, output)

    def table(
        self, file: Path, *, data: Path | None = None, split: Split = "all", limit: int | None = None, **settings: Any
    ) -> EvaluationTable:
        """Read the file of a table: evaluations under all combinations of some settings. `settings` win over the file."""
        contents = read_table(file)
        flags = {key: value for key, value in settings.items() if value is not None}
        runs = tuple(map(self._resources.changed, combinations(contents, file.stem, flags)))
        modes = check_modes(contents["modes"])
        return EvaluationTable(contents["title"], tuple(contents["tasks"]), modes, runs, data=data, split=split, limit=limit)

    def run_table(
        self, table: EvaluationTable, on_progress: OnProgress = lambda _stage, _done, _total: None
    ) -> Iterator[EvaluationResult]:
        """Run the evaluations of a table and yield each result. The same call resumes an interrupted table."""
        for resources, plan in table.plans():
            yield _start(resources, plan, on_progress).result()


def _start(
    resources: Resources, plan: EvaluationPlan, on_progress: OnProgress, *, wait: bool = True
) -> RunHandle[EvaluationResult]:
    def work(interruption: Interruption) -> EvaluationResult:
        with resources.writing(asks=True) as session:
            return EvaluationResult(*EvaluationWork(session, plan, on_progress, interruption.check).run())

    return RunHandle(work, resources, wait=wait)
