"""The evaluations of a published table: all combinations of the settings that its file varies (examples/paper)."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from drag_graph.app.evaluation_work import EvaluationPlan, check_modes
from drag_graph.app.resources import Resources
from drag_graph.compose.model_factories import check_teacher, make_pricing
from drag_graph.compose.session import estimate_basis
from drag_graph.distill.cost_estimate import estimate
from drag_graph.errors import InputError
from drag_graph.evaluation.evaluation_run import EvaluationMode
from drag_graph.evaluation.tasks import Split, TaskItem, read_task
from drag_graph.inputs import InputLine

KEYS = {"title", "tasks", "modes", "settings", "vary"}
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
        raise InputError(
            f"Cannot read {file}: {getattr(error, 'strerror', None) or error}.",
            hint="Pass a file like those in examples/paper.",
        ) from error
    if set(contents) - KEYS or not {"title", "tasks", "modes"} <= set(contents):
        hint = f"Keys: {', '.join(sorted(KEYS))}."
        raise InputError(f"{file} does not describe a table: its keys are {', '.join(contents)}.", hint=hint)
    return contents


def combinations(contents: Mapping[str, Any], name: str, flags: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the settings of each run; `flags` win over the file. Settings joined by "+" vary together."""
    varied = {keys: values for keys, values in contents.get("vary", {}).items() if not flags.keys() & set(keys.split("+"))}
    for values in product(*varied.values()):
        varied_values = {key: value for keys, value in zip(varied, values, strict=True) for key in keys.split("+")}
        separate = [str(value) for key, value in varied_values.items() if key not in SHARED]
        yield {"namespace": "-".join([name, *separate]), **contents.get("settings", {}), **varied_values, **flags}


def make_table(
    file: Path, change: Callable[[Mapping[str, Any]], Resources], flags: Mapping[str, Any], **where: Any
) -> EvaluationTable:
    """Read a table; `change` returns the resources under other settings."""
    contents = read_table(file)
    flags = {key: value for key, value in flags.items() if value is not None}
    runs = tuple(change(values) for values in combinations(contents, file.stem, flags))
    return EvaluationTable(contents["title"], tuple(contents["tasks"]), check_modes(contents["modes"]), runs, **where)
