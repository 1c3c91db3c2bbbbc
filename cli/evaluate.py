"""`drag-graph eval TASK`, and its subcommands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from . import options, progress, render
from .output import AS_JSON, Force, document, require_picture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from drag_graph.app.evaluation_group import Comparison, EvaluationResult


class TaskGroup(TyperGroup):
    """A group whose default command is `run`: `eval TASK` means `eval run TASK`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert `run` unless the arguments begin with a command."""
        if args and args[0] not in {*self.commands, "--help", "-h"}:
            args = ["run", *args]
        return list(super().parse_args(ctx, args))


app = typer.Typer(cls=TaskGroup, no_args_is_help=True)

FEW_ITEMS = 10
"""With fewer items than this, a bootstrap interval is meaningless: with one item, it has no width."""
Data = Annotated[Path | None, typer.Option("--data", help="Folder with TASK.jsonl, instead of the Hugging Face hub.")]
Evidence = Annotated[str, typer.Option("--evidence", help="Key of a row's own evidence, instead of a --teacher.")]
Modes = Annotated[
    str, typer.Option("--modes", help="Comma-separated: none, evidence, graph, combined, shuffled, rotated, bm25, cosine.")
]
Documents = Annotated[Path | None, typer.Option("--documents", help="File or folder for bm25 and cosine.")]
Search = Annotated[bool, typer.Option("--search", help="Take the lines from a search of the store. Nothing is distilled.")]
Split = Annotated[Literal["all", "development", "test"], typer.Option("--split", help="Which half of the items to use.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Maximum number of items.")]
Folder = Annotated[Path | None, typer.Option("--folder", help="Folder for the outcome.")]
Outcome = Annotated[Path, typer.Argument(help="Folder of an outcome.", show_default=False)]


@app.command("run")
@options.with_settings(*options.DISTILLING, "Student")
def run(
    graph: "options.Graph",
    task: Annotated[str, typer.Argument(help="A public question set, or a FILE.jsonl of questions with answers.")],
    data: Data = None,
    evidence: Evidence = "",
    modes: Modes = "none,evidence,graph,combined",
    split: Split = "all",
    limit: Limit = None,
    documents: Documents = None,
    search: Search = False,
    folder: Folder = None,
) -> None:
    """Ask a student every question of a task in several modes, and measure its accuracy.

    Questions that are not stored are distilled first, unless the lines come from a --search. The outcome is a folder with
    every item, a summary and a table. Run the same command again to resume an interrupted evaluation.

    Examples:
      drag-graph eval arc_challenge --teacher ollama/llama3.2 --student gguf:gemma.gguf --limit 100
      drag-graph eval questions.jsonl --teacher ollama/llama3.2 --student nearest --modes none,graph
      drag-graph eval questions.jsonl --search --documents FOLDER --modes none,combined,bm25
      drag-graph eval compare .drag-graph/evaluations/A .drag-graph/evaluations/B
    """
    with progress.progress(priced=False, what="answers") as meter:
        result = graph.evaluation.run(
            task,
            modes=[mode.strip() for mode in modes.split(",") if mode.strip()],
            data=data,
            evidence=evidence,
            split=split,
            limit=limit,
            documents=documents,
            search=search,
            folder=folder,
            on_progress=meter.stage,
        ).result()
    render.result(result, _print_result)
    _report_failures(result)


def _print_result(result: "EvaluationResult") -> None:
    summary = result.summary
    left_out = "".join(f", {n} {why.replace('_', ' ')} rows left out" for why, n in summary["left_out"].items() if n)
    title = f"{summary['task']}, {summary['n']} items{left_out}; student {summary['student']}"
    title += f" ({summary['scoring']})" if summary["scoring"] != "none" else ""
    render.table(*result.rows(), title=title)
    _warn_if_few(summary["n"])
    render.write(str(result.folder))


def _warn_if_few(items: int) -> None:
    if items < FEW_ITEMS:
        typer.echo(f"Fewer than {FEW_ITEMS} items are too few for a conclusion, even if the intervals are narrow.", err=True)


def _report_failures(result: "EvaluationResult") -> None:
    if result.failed:
        where = result.folder / "items.jsonl"
        typer.echo(f'Failed answers, which count as wrong: {result.failed}. See "error" in {where}.', err=True)
        raise typer.Exit(1)


@app.command()
@options.with_settings("student_base_url", "workers", "privacy")
def compare(
    graph: "options.Graph",
    first: Outcome,
    second: Annotated[Path, typer.Argument(help="Folder of another outcome of the same items.", show_default=False)],
    mode: Annotated[str, typer.Option("--mode", help="The mode to compare; FIRST,SECOND for two modes.")] = "graph",
    judge: Annotated[
        str, typer.Option("--judge", help="Model that judges the answers: gguf:FILE, or a model at --student-base-url.")
    ] = "",
    criterion: Annotated[
        Literal["agreement", "correct", "comprehensiveness", "diversity", "empowerment", "overall"],
        typer.Option("--criterion", help="What the judge compares. With `correct`, it decides which answers are correct."),
    ] = "agreement",
) -> None:
    """Compare two outcomes item by item: the accuracy of the first less that of the second.

    Prints the difference with its 95 % interval (paired bootstrap), McNemar's p, and the items for which only one answer is
    correct. A --judge also reads each pair of answers twice, in both orders; if its two verdicts differ, the pair is a tie.
    With the criterion `correct`, the judge instead grades each answer as right or wrong.

    Examples:
      drag-graph eval compare A B --mode evidence
      drag-graph eval compare A A --mode graph,evidence --judge gguf:qwen.gguf
      drag-graph eval compare A A --mode graph,none --judge gguf:qwen.gguf --criterion correct
    """
    one, _, other = mode.partition(",")
    with progress.progress(quiet=not judge, priced=False, what="verdicts") as meter:
        comparison = graph.evaluation.compare(
            first, second, mode=one, second_mode=other, judge=judge, criterion=criterion, on_progress=meter.stage
        )
    render.result(comparison, _print_comparison)


def _print_comparison(comparison: "Comparison") -> None:
    """Print both accuracies, their difference, the verdicts of a judge, and the items that flipped."""
    figures = comparison.difference
    sides = (comparison.first, comparison.second)
    for name, (folder, side), store, accuracy in zip(
        ("First", "Second"), sides, comparison.locations, figures.accuracies, strict=True
    ):
        where = f", answers in {store}" if store else ""
        render.write(f"{name}: {folder}, mode {side}, {100 * accuracy:.1f} % correct{where}")
    if comparison.graded_by:
        render.write(f"Graded by {comparison.graded_by}")
    interval = f"{100 * figures.low:+.1f} to {100 * figures.high:+.1f}"
    render.write(
        f"First less second: {100 * figures.difference:+.1f} points on {figures.n} items "
        f"(95 % interval {interval}, McNemar's p {figures.p:.3f})"
    )
    _warn_if_few(figures.n)
    if comparison.judgement:
        judged, verdicts = comparison.judgement, comparison.judgement.figures
        interval = f"{100 * verdicts['low']:+.1f} to {100 * verdicts['high']:+.1f}"
        render.write(
            f"Judge {judged.judge} ({judged.rubric}): the first wins {verdicts['wins']}, loses {verdicts['losses']}, ties "
            f"{verdicts['ties']} of {verdicts['n']} (wins less losses {100 * verdicts['difference']:+.1f} %, 95 % interval "
            f"{interval}, sign test p {verdicts['p']:.3f}; {verdicts['swayed']} ties because the order decided)"
        )
    names = ("first", "second")
    rows = [
        (ours.question, names[theirs.correct], *((side.answer_id or "not stored")[: render.SHORT] for side in (ours, theirs)))
        for ours, theirs in figures.flipped
    ]
    columns = ("question", "correct", "audit of first", "audit of second")
    render.table(columns, rows, wrapped="question", title=f"Items flipped: {len(rows)}")


@app.command()
@options.with_settings(has_json=False)
def picture(
    graph: "options.Graph",
    folders: Annotated[list[Path], typer.Argument(help="Folders of outcomes.", show_default=False)],
    over: Annotated[str, typer.Option("--over", help="The setting in which they differ: max_lines, top_k, threshold ...")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture: .svg, .png or .pdf.")] = Path("sweep.svg"),
    force: Force = False,
) -> None:
    """Draw the accuracy of each mode over a setting in which outcomes differ.

    Examples:
      drag-graph eval picture K3 K5 K10 --over max_lines -o sweep.svg
    """
    require_picture(output, graph.settings, force=force)
    render.write(str(graph.evaluation.picture(folders, over, output)))


@app.command()
@options.with_settings(*options.DISTILLING, "Student")
def table(
    graph: "options.Graph",
    flags: "Mapping[str, Any]",
    file: Annotated[Path, typer.Argument(help="The table's file, as in examples/paper.", show_default=False)],
    data: Data = None,
    split: Split = "all",
    limit: Limit = None,
    dry_run: options.DryRun = False,
) -> None:
    """Run the evaluations of a published table: all combinations of the settings that its file varies.

    Prints the expected calls, tokens and price first. Flags override the file. Run the same command again to resume.

    Examples:
      drag-graph eval table examples/paper/table-02.toml --dry-run
      drag-graph eval table examples/paper/table-02.toml --teacher gguf:qwen.gguf --student gguf:gemma.gguf --limit 50
    """
    evaluations = graph.evaluation.table(file, data=data, split=split, limit=limit, **flags)
    as_json = AS_JSON.get()
    if dry_run or not as_json:
        render.estimate(evaluations.estimate())
    if dry_run:
        return
    results = []
    with progress.progress(priced=False, what="answers") as meter:
        for result in graph.evaluation.run_table(evaluations, meter.stage):
            results.append(result)
            if not as_json:
                _print_result(result)
    if as_json:
        document([result.to_dict() for result in results])
    for result in results:
        _report_failures(result)
