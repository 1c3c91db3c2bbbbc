"""The root command, and how errors are reported: a message, a hint and an exit code."""

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

from .command_table import CommandTable
from .output import AS_JSON, print_error

EXIT_INTERRUPTED = 130
_UNWRITABLE = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
# Depending on its version, Typer uses its own copy of Click or the installed one. This is the class that it raises.
UsageProblem: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

app = typer.Typer(
    name="drag-graph",
    cls=CommandTable,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Turn a large model's knowledge into a graph that a small local model can use, and trace every answer back to its "
        "sources.\n\n"
        "Examples:\n"
        "  drag-graph distill questions.jsonl --teacher gpt-4o-mini\n"
        '  drag-graph ask "Why do antibiotics not cure a cold?"\n'
        "  drag-graph audit 3f2a"
    ),
)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True)) -> None:
    """Handle the flags that stand before a command."""
    if version:
        from drag_graph.version import __version__

        typer.echo(f"drag-graph {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line and exit with its code. With `--debug`, errors show their traceback."""
    debug = "--debug" in sys.argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape what the terminal's encoding lacks instead of failing
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(debug=debug)
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        code = _output_failed(error)
    finally:
        if not debug:
            sys.excepthook = _explain_fault  # last, because importing Ray sets another one
    sys.exit(code)


@functools.cache
def _command() -> Any:
    """Return the root command. Built once: tests run many commands in one process."""
    return typer.main.get_command(app)


def _run(*, debug: bool) -> int:
    """Run the command, report its error if it raises one, and return the exit code."""
    AS_JSON.set("--json" in sys.argv)  # until the arguments are parsed (`options.with_settings`)
    try:
        code = _command()(standalone_mode=False, prog_name="drag-graph")
    except (typer.Abort, KeyboardInterrupt):
        code = EXIT_INTERRUPTED
    except UsageProblem as error:
        return _usage_failed(error)
    except SystemExit as stop:  # typer exits with code 1 when the reader of our output is gone
        if isinstance(stop.__context__, OSError):
            raise stop.__context__ from None
        return stop.code if isinstance(stop.code, int) else 1
    except DragGraphError as error:
        if debug:
            traceback.print_exception(error)
        return print_error(str(error), error.hint, error.exit_code)
    if code == EXIT_INTERRUPTED:  # Ctrl-C; a run that can be resumed reports its own error
        return print_error("Interrupted; completed work is stored.", "Run the same command again to resume.", code)
    return code if isinstance(code, int) else 0


def _usage_failed(error: Any) -> int:
    """Report a wrong flag or argument and return the exit code. Without arguments, the help has been printed already."""
    if type(error).__name__ != "NoArgsIsHelpError":
        context = getattr(error, "ctx", None)
        hint = f"`{context.command_path if context else 'drag-graph'} --help` lists the arguments and options."
        print_error(error.format_message().replace("Value error, ", ""), hint, error.exit_code)
    return int(error.exit_code)


def _output_failed(error: OSError) -> int:
    """Report that the output cannot be written and return the exit code, 0 if its reader stopped reading as `head` does."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails again when it flushes at exit
    if isinstance(error, BrokenPipeError):
        return 0
    typer.echo(f"Error: The output cannot be written: {error.strerror or type(error).__name__}.", err=True)
    return DragGraphError.exit_code


def _explain_fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Report an unexpected error without its traceback. The process then ends with exit code 1."""
    del error, trace
    hint = "Run the command again with --debug and report what it prints."
    print_error(f"unexpected {kind.__name__}; this is a fault of drag-graph.", hint, 1)
