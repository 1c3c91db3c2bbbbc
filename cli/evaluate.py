"""`drag-graph eval TASK`, `drag-graph eval compare` and `drag-graph eval picture`."""

import json as json_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

import typer
from typer.core import TyperGroup

from . import options
from .output import Force, require_picture

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from drag_graph.compose.session import Session
    from drag_graph.evaluation.evaluation_run import EvaluationMode, LinesOf
    from drag_graph.evaluation.lightrag import LightRag
    from drag_graph.evaluation.outcome import Record
    from drag_graph.evaluation.tasks import TaskItem
    from drag_graph.model import Mode
    from drag_graph.settings import Settings

FOLDERS = Path(".drag-graph/evaluations")
PANEL = "Evaluation"


class TaskGroup(TyperGroup):
    """`eval TASK …` is `eval run TASK …`: what is no command is a task."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `run` before what begins with no command."""
        if args and args[0] not in {*self.commands, "--help", "-h"}:
            args = ["run", *args]
        return list(super().parse_args(ctx, args))


app = typer.Typer(
    cls=TaskGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Measure what the lines do for a student: drag-graph eval TASK, and drag-graph eval compare A B.",
)

Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="A folder with TASK.jsonl, instead of the Hugging Face hub.", rich_help_panel=PANEL, show_default=False
    ),
]
Evidence = Annotated[
    str, typer.Option("--evidence", help="The key of a row's own evidence, instead of a --teacher.", rich_help_panel=PANEL)
]
Modes = Annotated[
    str,
    typer.Option(
        "--modes",
        help="Of none, evidence, graph, combined; shuffled, rotated, bm25, cosine, lightrag, teacher.",
        rich_help_panel=PANEL,
    ),
]
Documents = Annotated[
    Path | None,
    typer.Option(
        "--documents", help="A folder or file for bm25, cosine and lightrag.", rich_help_panel=PANEL, show_default=False
    ),
]
Split = Annotated[
    Literal["all", "development", "test"], typer.Option("--split", help="Half of the items, by id.", rich_help_panel=PANEL)
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Items, at most.", rich_help_panel=PANEL)]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Where the outcome goes.", rich_help_panel=PANEL, show_default=False)
]


@app.command("run")
@options.with_settings(*options.DISTILLING, *options.PANELS["Student"])
def run(
    settings: "Settings",
    task: Annotated[str, typer.Argument(help="A task, or a FILE.jsonl of questions with answers.")],
    data: Data = None,
    evidence: Evidence = "",
    modes: Modes = "none,evidence,graph,combined",
    split: Split = "all",
    limit: Limit = None,
    documents: Documents = None,
    folder: Folder = None,
    json: options.Json = False,
) -> None:
    """Distill what is missing of a task, ask every item in every mode, and say what the lines did for the student.

    The outcome is a folder: every item, a summary, a table. The same command goes on with an evaluation that was interrupted.

    \b
    Examples:
      drag-graph eval arc_challenge --teacher ollama/llama3.2 --student gguf:gemma.gguf --limit 100
      drag-graph eval questions.jsonl --teacher ollama/llama3.2 --student nearest --modes none,graph
      drag-graph eval compare .drag-graph/evaluations/A .drag-graph/evaluations/B
    """
    from contextlib import ExitStack

    from drag_graph.compose.session import open_session
    from drag_graph.evaluation.baselines import read_passages
    from drag_graph.evaluation.environment import versions
    from drag_graph.evaluation.evaluation_run import PAGE, Evaluation, own
    from drag_graph.evaluation.tasks import admitted, read_task
    from drag_graph.identity import sha256_of

    from . import progress, render

    chosen = _modes(modes)
    given = read_task(task, namespace=settings.namespace, data=data, evidence=evidence, split=split, limit=limit)
    with open_session(settings, asks=True) as session, ExitStack() as opened:
        items = given.items if session.gate is None else admitted(session.gate, given.items)
        student = session.student()
        about = _about(settings, task, split, evidence, student, items)
        passages = read_passages(documents.expanduser()) if documents else []
        about |= {"documents": sha256_of(passages)} if passages else {}
        place = folder or FOLDERS / f"{Path(task).stem}-{sha256_of(about)[:10]}"
        lines_of = _lines_of(session, items, chosen, passages)  # first, as it may refuse
        notes: dict[str, Any] = {"left_out": given.left_out, "versions": versions()}
        if "lightrag" in chosen and documents:
            rag = opened.enter_context(_lightrag(session, documents, place))
            lines_of["lightrag"], notes["lightrag"] = rag.lines_of, rag.took
        notes["distilled"] = _distill(session, settings, items, place, task, evidence=evidence, quiet=json)
        if settings.shared_lines:
            session.linker().run()
        about |= {"knowledge": _knowledge(session, items)}

        def asker(mode: "EvaluationMode") -> Any:
            if mode == "teacher":
                return session.asker(session.teacher_as_student(), mode="none", on_this_machine=False)
            return session.asker(student, mode="evidence" if mode in lines_of else cast("Mode", mode))

        page = PAGE if settings.student == "nearest" else 1
        evaluation = Evaluation(place, items, chosen, asker, own(session.store.read), lines_of, about, notes, page)
        with progress.progress(len(items) * len(chosen), quiet=json, priced=False) as shown:
            summary = evaluation.run(on_item=shown)
    if json:
        render.document({**summary, "folder": str(place)})
    else:
        from drag_graph.evaluation.outcome import table

        left_out = "".join(f", {n} rows {why.replace('_', ' ')} left out" for why, n in given.left_out.items() if n)
        head = f"{task}, {len(items)} items{left_out}, {student.name} ({student_scoring(student)})"
        render.write(f"{head}\n\n{table(summary)}\n{place}")
    if failed := sum(found["failed"] for found in summary["modes"].values()):
        typer.echo(f'{failed} answers failed and count as wrong; "error" in {place / "items.jsonl"} says why.', err=True)
        raise typer.Exit(1)


def student_scoring(student: Any) -> str:
    """Return how a student chooses an option, in a word."""
    return str(getattr(student, "scoring", "its own way"))


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="The folder of an outcome.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Another one, of the same items.", show_default=False)],
    mode: Annotated[str, typer.Option("--mode", help="The mode of both; FIRST,SECOND where they differ.")] = "graph",
    json: options.Json = False,
) -> None:
    """Compare two outcomes item by item: difference, 95 % interval (paired bootstrap), McNemar's p, and what flipped.

    \b
    Examples:
      drag-graph eval compare A B --mode evidence
      drag-graph eval compare A A --mode graph,evidence
    """
    from drag_graph.evaluation.outcome import difference, read_mode

    from . import render

    one, _, other = mode.partition(",")
    found = difference(read_mode(first, one), read_mode(second, other or one))
    if json:
        render.document(found)
        return
    render.write(
        f"{found['n']} items: {100 * found['difference']:+.1f} points, 95 % {100 * found['low']:+.1f} to "
        f"{100 * found['high']:+.1f}; McNemar's p {found['p']:.3f}; {len(found['flipped'])} flipped"
    )
    for flip in found["flipped"]:
        better = "first" if flip["first"]["correct"] else "second"
        ids = ", ".join(str(flip[side]["answer_id"])[:12] for side in ("first", "second"))
        render.write(f"  {better} is right: {flip['question'][:90]}  (audit {ids})")


@app.command()
@options.with_settings()
def picture(
    settings: "Settings",
    folders: Annotated[list[Path], typer.Argument(help="The folders of outcomes.", show_default=False)],
    over: Annotated[str, typer.Option("--over", help="The setting that they differ in: max_lines, top_k, threshold ...")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture; .svg, .png or .pdf.")] = Path("sweep.svg"),
    force: Force = False,
) -> None:
    """Draw the accuracy of each mode over a setting, from outcomes that were asked under different values of it.

    \b
    Examples:
      drag-graph eval picture K3 K5 K10 --over max_lines -o sweep.svg
    """
    from drag_graph.errors import ConfigurationError
    from drag_graph.evaluation.outcome import read_about, read_records
    from drag_graph.evaluation.plots import draw_sweep

    from . import render

    require_picture(output, settings, force=force)
    outcomes: dict[float, list[Record]] = {}
    for folder in folders:
        asked_under = read_about(folder)["settings"]
        if over not in asked_under:
            raise ConfigurationError(f"{over} is no setting of {folder}", hint=f"It has {', '.join(sorted(asked_under))}.")
        value = asked_under[over]
        if not isinstance(value, int | float) or value in outcomes:
            said = f"{folder} was asked under {over} = {value}, which is no number or that of another outcome"
            raise ConfigurationError(said, hint="Give outcomes that differ in it.")
        outcomes[value] = read_records(folder)
    render.write(str(draw_sweep(outcomes, over, output)))


@app.command()
def harness(
    outcome: Annotated[Path, typer.Argument(help="The folder of an outcome.", show_default=False)],
    folder: Annotated[Path, typer.Argument(help="Where the tasks go.", show_default=False)],
    json: options.Json = False,
) -> None:
    """Write an outcome's prompts as tasks of EleutherAI's lm-evaluation-harness, one a mode, for any model to be asked.

    \b
    Examples:
      drag-graph eval harness A tasks
      lm_eval --model hf --model_args pretrained=NAME --include_path tasks --tasks drag_graph_qasc_graph
    """
    from drag_graph.evaluation.harness_tasks import write_tasks

    from . import render

    left_out = write_tasks(outcome, folder)
    if json:
        render.document({"folder": str(folder), "tasks": list(left_out), "left_out": left_out})
        return
    render.write(f"{len(left_out)} tasks: lm_eval --include_path {folder} --tasks {','.join(left_out)} --model ...")
    for name, number in left_out.items():
        if number:
            typer.echo(f"{name} leaves out {number} items that failed.", err=True)


def _modes(given: str) -> "list[EvaluationMode]":
    from drag_graph.errors import ConfigurationError
    from drag_graph.evaluation.evaluation_run import EvaluationMode

    known = get_args(EvaluationMode)
    chosen = list(dict.fromkeys(mode.strip() for mode in given.split(",") if mode.strip()))
    strange = [mode for mode in chosen if mode not in known]
    if strange or not chosen:
        message = f"--modes has {', '.join(strange)}" if strange else "--modes is empty"
        raise ConfigurationError(message, hint=f"Take from {', '.join(known)}.")
    return chosen  # type: ignore[return-value]


def _lines_of(
    session: "Session", items: "Sequence[TaskItem]", modes: "Sequence[EvaluationMode]", passages: list[str]
) -> "dict[EvaluationMode, LinesOf]":
    """Return where the modes that show something else than an item's own subgraph have their lines from."""
    from drag_graph.errors import ConfigurationError
    from drag_graph.evaluation import baselines
    from drag_graph.evaluation.evaluation_run import of_another, own

    found: dict[EvaluationMode, LinesOf] = {}
    for mode in {"teacher", "lightrag"} & set(modes):
        _check_teacher_mode(session.settings, mode)
    if "shuffled" in modes:
        found["shuffled"] = of_another(items, session.store.read)
    if "rotated" in modes:
        found["rotated"] = own(session.store.read)
    searching = [mode for mode in modes if mode in get_args(baselines.Baseline)]
    if searching and not passages:
        raise ConfigurationError(f"--modes has {searching[0]}, and nothing to search", hint="Name a folder with --documents.")
    number = session.settings.max_lines or baselines.PASSAGES
    searched: list[Literal["bm25", "cosine"]] = [name for name in ("bm25", "cosine") if name in modes]
    for name in searched:
        found[name] = baselines.lines_of(name, passages, number, session.embedder)
    return found


def _lightrag(session: "Session", documents: Path, place: Path) -> "AbstractContextManager[LightRag]":
    """Return LightRAG with its index in the folder of the outcome."""
    from contextlib import closing

    from drag_graph.evaluation.baselines import PASSAGES, read_documents
    from drag_graph.evaluation.lightrag import LightRag, teacher_server

    texts, number = read_documents(documents.expanduser()), session.settings.max_lines or PASSAGES
    return closing(
        LightRag(place / "lightrag", texts, teacher_server(session.settings, session.way_out), session.embedder, number)
    )


def _check_teacher_mode(settings: "Settings", mode: str) -> None:
    from drag_graph.errors import ConfigurationError

    if not settings.teacher or settings.teacher.startswith(("tape:", "curated:")):
        chosen = f"{settings.teacher} answers no questions" if settings.teacher else "no teacher is chosen"
        raise ConfigurationError(f"--modes has {mode}, and {chosen}", hint="Give a --teacher that is a model.")
    if settings.budget_usd is not None:
        message = f"what a teacher is asked in the mode {mode} is not counted in --budget-usd"
        raise ConfigurationError(message, hint="Evaluate that mode alone, without --budget-usd.")


def _about(
    settings: "Settings", task: str, split: str, evidence: str, student: Any, items: "Sequence[TaskItem]"
) -> dict[str, Any]:
    """Return what determines the outcome."""
    from drag_graph import __version__
    from drag_graph.evaluation.environment import file_hash, git_hash
    from drag_graph.evaluation.intervals import SEED
    from drag_graph.identity import sha256_of
    from drag_graph.models.provider_errors import host_of

    names = [*options.PANELS["Graph"], "embedder", "plan", "number_of_evidence", "blind", "extractor"]
    names += ["line_format", "max_lines", "shared_lines", "line_order", "brief", "token_budget", "relevance"]
    names += ["scoring", "quantisation", "entity_similarity", "predicate_similarity"]
    servers = {name: host_of(getattr(settings, name)) for name in ("student_base_url", "teacher_base_url")}
    return {
        "task": Path(task).stem,
        "split": split,
        "items": sha256_of([[item.query.id, item.query.gold, item.evidence] for item in items]),
        "store": sha256_of([settings.store, settings.namespace])[:12],
        "teacher": f"the set's own {evidence}" if evidence else settings.teacher,
        "student": student.name,
        "model_sha256": file_hash(settings.student),
        "teacher_sha256": file_hash(settings.teacher),
        "scoring": student_scoring(student),
        "settings": {name: getattr(settings, name) for name in names} | servers,
        "seed": SEED,
        "version": __version__,
        "git": git_hash(),
    }


def _knowledge(session: "Session", items: "Sequence[TaskItem]") -> str:
    """Return a hash of what the items' lines come from: what is stored of them, and with shared lines of all."""
    from drag_graph.graph.paging import iter_sources, settings_hashes
    from drag_graph.identity import sha256_of

    if session.settings.shared_lines:
        return sha256_of([[one.id, one.settings_hash] for one in iter_sources(session.store)])
    return sha256_of(settings_hashes(session.store, [item.query.id for item in items]))


def _distill(
    session: Any, settings: "Settings", items: "Sequence[TaskItem]", place: Path, task: str, *, evidence: str, quiet: bool
) -> dict[str, Any]:
    """Distill what is not stored, and return what this run of it took; without a teacher, what is stored has to do."""
    from drag_graph.inputs import InputLine

    from .distill import distilled

    teacher = None
    if evidence:
        from drag_graph.files import write_lines
        from drag_graph.models.teachers.curated_teacher import CuratedTeacher

        path = place / "evidence.jsonl"
        write_lines(path, (json_.dumps(item.curated(), ensure_ascii=False) for item in items))
        teacher = CuratedTeacher(path)
    elif not settings.teacher:
        from drag_graph.errors import ConfigurationError
        from drag_graph.graph.paging import settings_hashes

        if not settings_hashes(session.store, [item.query.id for item in items]):
            hint = "Give a --teacher, or --evidence with the key of the rows' own evidence."
            raise ConfigurationError(f"nothing of {task} is distilled, and no teacher is chosen", hint=hint)
        return {}
    lines = [InputLine(number, item.query) for number, item in enumerate(items, start=1)]
    return distilled(session, lines, f"eval {task}", quiet=quiet, teacher=teacher).totals()
