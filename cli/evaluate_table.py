"""`drag-graph eval table`: the runs that a published table is made of, described in a file (examples/paper)."""

import tomllib
from inspect import unwrap
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .evaluate import Data, Limit, Split, app, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from drag_graph.evaluation.tasks import TaskItem
    from drag_graph.settings import Settings

KEYS = {"title", "tasks", "modes", "settings", "vary"}
_SUMS = ("queries", "stored", "calls", "tokens_in", "tokens_out", "price_usd", "price_usd_low", "price_usd_high")


@app.command()
@options.with_settings(*options.DISTILLING, *options.PANELS["Student"])
def table(
    flags: "Mapping[str, Any]",
    file: Annotated[Path, typer.Argument(help="The table's file, as in examples/paper.", show_default=False)],
    data: Data = None,
    split: Split = "all",
    limit: Limit = None,
    dry_run: options.DryRun = False,
) -> None:
    """Print what the runs of a table take, and make them: all combinations of the values that its file varies.

    Flags win over the file. The runs are ordinary evaluations: the same command goes on where it was interrupted.

    \b
    Examples:
      drag-graph eval table examples/paper/table-02.toml --dry-run
      drag-graph eval table examples/paper/table-02.toml --teacher gguf:qwen.gguf --student gguf:gemma.gguf --limit 50
    """
    from drag_graph.evaluation.tasks import read_task
    from drag_graph.settings import load_settings

    from . import render

    given = _read(file)
    runs = [load_settings(values) for values in _combinations(given, file.stem, flags)]
    namespace = runs[0].namespace
    tasks = {task: read_task(task, namespace=namespace, data=data, split=split, limit=limit).items for task in given["tasks"]}
    asked = len(runs) * len(given["modes"]) * sum(map(len, tasks.values()))
    head = {"table": given["title"], "evaluations": len(runs) * len(tasks), "student_asked": asked}
    render.fields({**head, **_price(runs, tasks)}, as_json=False)
    if dry_run:
        return
    evaluate = unwrap(run)  # the command without its flags: the settings are made
    for settings in runs:
        for task in tasks:
            evaluate(settings, task, data=data, modes=",".join(given["modes"]), split=split, limit=limit)


def _read(file: Path) -> dict[str, Any]:
    from drag_graph.errors import InputError

    try:
        with file.open("rb") as opened:
            found = tomllib.load(opened)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}", hint="Give a file like those in examples/paper.") from error
    if set(found) - KEYS or not {"title", "tasks", "modes"} <= set(found):
        raise InputError(f"{file} is no table: its keys are {', '.join(found)}", hint=f"Keys: {', '.join(sorted(KEYS))}.")
    return found


def _combinations(given: "Mapping[str, Any]", name: str, flags: "Mapping[str, Any]") -> "Iterator[dict[str, Any]]":
    """Yield the settings of each run. What is distilled otherwise goes into a namespace of its own, beside the others."""
    flags = {key: value for key, value in flags.items() if value is not None}
    varied = {key: values for key, values in given.get("vary", {}).items() if key not in flags}
    for values in product(*varied.values()):
        chosen = dict(zip(varied, values, strict=True))
        apart = [str(value) for key, value in chosen.items() if key in options.DISTILLING]
        yield {"namespace": "-".join([name, *apart]), **given.get("settings", {}), **chosen, **flags}


def _price(runs: "Sequence[Settings]", tasks: "Mapping[str, Sequence[TaskItem]]") -> dict[str, Any]:
    """Return the calls, tokens and price of what the teacher is asked; each namespace is distilled once."""
    from drag_graph.compose.model_factories import check_teacher, make_pricing
    from drag_graph.compose.session import known_to_estimate
    from drag_graph.distill.cost_estimate import estimate
    from drag_graph.inputs import InputLine

    items = [item for found in tasks.values() for item in found]
    found = []
    for settings in {settings.namespace: settings for settings in runs}.values():
        check_teacher(settings)
        space = settings.namespace
        queries = (one.query.model_copy(update={"namespace": space, "id": one.query.id_in(space)}) for one in items)
        lines = [InputLine(number, query) for number, query in enumerate(queries, start=1)]
        with known_to_estimate(settings, retry_quarantined=False) as (known, _caution):
            found.append(estimate(settings, lines, make_pricing(settings), known))
    sums = {name: sum(one.get(name) or 0 for one in found) for name in _SUMS}
    priced = all(one.get("price_known", True) for one in found)
    return sums if priced else {name: "unknown" if name.startswith("price") else value for name, value in sums.items()}
