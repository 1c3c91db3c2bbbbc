"""The root command, and how errors end: one sentence, a next step, the right exit code."""

import errno
import functools
import io
import os
import sys
import traceback
from types import TracebackType
from typing import Any

import typer

from drag_graph.errors import DragGraphError

from . import cloud, db, edge, evaluate, graph, privacy, runs, tape
from .aggregate import aggregate
from .answers import answers, ask, audit, show
from .communities import communities
from .config import config
from .distill import distill
from .evaluate_table import table
from .export import export
from .importing import import_
from .ingest import ingest
from .link import link
from .refresh import refresh

EXIT_INTERRUPTED = 130
_OUTPUT_FAILS = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
# Typer carries a Click of its own or uses the installed one, by version; this is the class that it really raises.
UsageProblem: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

app = typer.Typer(
    name="drag-graph",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Ask a large model once, offline, for evidence about each question; keep it as a graph with a confidence and a "
        "provenance on every edge; give a small local model the few lines it needs; trace every answer back.\n\n"
        "Begin: drag-graph distill questions.jsonl, then drag-graph ask TEXT, then drag-graph audit ANSWER_ID."
    ),
)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True)) -> None:
    """Handle the flags before a command."""
    if version:
        from drag_graph import __version__

        typer.echo(f"drag-graph {__version__}")
        raise typer.Exit


for command in (distill, ingest, refresh, link, communities, ask, answers, audit, show, aggregate, export):
    app.command()(command)
app.command("import")(import_)
evaluate.app.command()(table)
GROUPS = {
    "runs": runs,
    "tape": tape,
    "graph": graph,
    "db": db,
    "eval": evaluate,
    "privacy": privacy,
    "edge": edge,
    "cloud": cloud,
}
for name, group in GROUPS.items():
    app.add_typer(group.app, name=name)
app.command()(config)


def main() -> None:
    """Run the command line and exit with its code; `--debug` shows the traceback of an error."""
    debug = "--debug" in sys.argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal of few characters gets escapes for the others, not an error
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(debug=debug)
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in _OUTPUT_FAILS:
            raise
        code = _output_failed(error)
    finally:
        if not debug:
            sys.excepthook = _explain_fault  # at the end, as Ray sets one of its own when it is loaded
    sys.exit(code)


@functools.cache
def _command() -> Any:
    """Return the command that `app` describes: called itself, Typer makes it anew, which takes 30 ms."""
    return typer.main.get_command(app)


def _run(*, debug: bool) -> int:
    """Run the command and return its exit code; what it raises on purpose is said in a sentence."""
    try:
        code = _command()(standalone_mode=False, prog_name="drag-graph")
    except (typer.Abort, KeyboardInterrupt):
        code = EXIT_INTERRUPTED
    except UsageProblem as error:
        error.message = error.message.replace("Value error, ", "")
        error.show()
        return int(error.exit_code)
    except SystemExit as stop:  # typer ends so, with code 1, when the reader of our output goes away
        if isinstance(stop.__context__, OSError):
            raise stop.__context__ from None
        return stop.code if isinstance(stop.code, int) else 1
    except DragGraphError as error:
        if debug:
            traceback.print_exception(error)
        typer.echo(f"Error: {error}", err=True)
        if error.hint:
            typer.echo(f"Next: {error.hint}", err=True)
        return error.exit_code
    if code == EXIT_INTERRUPTED:  # typer makes this of Ctrl-C; an interrupted run has said it in an error of its own
        typer.echo("Interrupted. What was reported complete is stored; the same command goes on from there.", err=True)
    return code if isinstance(code, int) else 0


def _output_failed(error: OSError) -> int:
    """Say that the output could not be written, unless its reader just went away, as `head` does; return the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try, and fail, again at its end
    if isinstance(error, BrokenPipeError):
        return 0
    typer.echo(f"Error: the output cannot be written: {error.strerror or type(error).__name__}", err=True)
    return DragGraphError.exit_code


def _explain_fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say in words that something unexpected happened; the process then ends with exit code 1."""
    del error, trace
    typer.echo(f"Error: unexpected {kind.__name__}; this is a fault of drag-graph.", err=True)
    typer.echo("Next: run the command again with --debug and report what it prints.", err=True)
