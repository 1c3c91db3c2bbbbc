"""Where results go: stdout, or the file given with -o. The store and its files are never overwritten."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from drag_graph.app.run_handle import RunHandle
    from drag_graph.settings import Settings

    from .service_client import JobReport

AS_JSON: ContextVar[bool] = ContextVar("as_json", default=False)
"""Whether the command has --json, so that an error is printed as a JSON object as well."""
STANDARD = Path("-")
"""The file name that means standard input or output."""
STORE_SUFFIX = ".lbug"
_ARGUMENT = re.compile(r"`([a-z_]+)=([^`]+)`")


output_option = partial(typer.Option, rich_help_panel="Output")
Output = Annotated[Path | None, output_option("--output", "-o", help="Write to a new file. - is stdout.", show_default="-")]
Force = Annotated[bool, output_option("--force", help="Replace an existing file.")]


def document(value: Any) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def print_error(message: str, hint: str, exit_code: int) -> int:
    """Print an error and its hint on stderr, and with --json an object on stdout as well. Return the exit code."""
    _print_to_stderr(message, hint)
    if AS_JSON.get():
        document({"error": with_flags(message), "hint": with_flags(hint), "exit_code": exit_code})
    return exit_code


def with_flags(text: str) -> str:
    """Replace the Python arguments in a message, such as `privacy=off` or `batch=True`, with their flags."""

    def flag(argument: re.Match[str]) -> str:
        from .options import flag_of

        name, value = argument.groups()
        flag = flag_of(name)
        return f"`{flag}`" if value == "True" else f"`{flag} {value}`"

    return _ARGUMENT.sub(flag, text)


def _print_to_stderr(message: str, hint: str) -> None:
    typer.echo(f"Error: {with_flags(message)}", err=True)
    if hint:
        typer.echo(f"Hint: {with_flags(hint)}", err=True)


def refuse(command: str, problems: Mapping[str, bool]) -> None:
    """Raise ConfigurationError with the first message whose condition holds."""
    from drag_graph.errors import ConfigurationError

    for message, holds in problems.items():
        if holds:
            raise ConfigurationError(message, hint=f"See `drag-graph {command} --help`.")


def report_of(start: "Callable[[], RunHandle[Any] | JobReport]") -> Any:
    """Start long work, wait for it and return its report, even if an error stopped the work early (`exit_with`)."""
    from drag_graph.errors import DragGraphError

    try:
        return start().result()
    except DragGraphError as error:
        report = getattr(error, "report", None)
        if report is None:
            raise
        return report


def exit_with(report: Any) -> NoReturn:
    """End a command whose report has been printed: with the error that stopped the run, else with the report's exit code."""
    if stopped := report.stopped:
        _print_to_stderr(str(stopped), stopped.hint)
        sys.exit(stopped.exit_code)  # not typer.Exit, whose 130 means Ctrl-C without a report
    raise typer.Exit(report.exit_code)


@contextmanager
def stdout_to(output: Path | None, settings: "Settings", *, force: bool = False) -> Iterator[None]:
    """Redirect stdout to the file `output`, which appears in one step when the block ends without an error.

    The file is also written when the block ends with an exit code. None and `-` leave stdout alone.

    Raises ConfigurationError before the block runs if `output` is one of our own files, or exists and `force` is not given.
    """
    if output is None or output == STANDARD:
        yield
        return
    from drag_graph.files import replacing

    require_harmless(output, settings.own_files, force=force)
    ended: typer.Exit | None = None
    with replacing(output) as file, redirect_stdout(file):
        try:
            yield
        except typer.Exit as stop:
            ended = stop
    sys.stdout.flush()
    typer.echo(f"Wrote {output}", err=True)
    if ended is not None:
        raise ended


def require_harmless(output: Path, own_files: tuple[Path, ...], *, force: bool) -> None:
    """Raise ConfigurationError if `output` is one of our own files, a folder, or exists and `force` is not given."""
    from drag_graph.errors import ConfigurationError

    target = output.resolve()
    for own in (path.resolve() for path in own_files):
        is_sibling = target.parent == own.parent and target.name.startswith(f"{own.name}.")
        is_same = target.exists() and own.exists() and target.samefile(own)
        if target == own or own in target.parents or is_sibling or is_same:
            raise ConfigurationError(f"{output} belongs to the store or its ledger.", hint="Choose another file with --output.")
    if target.is_dir():
        raise ConfigurationError(f"{output} is a folder.", hint="Name a file in it with --output.")
    if target.suffix == STORE_SUFFIX:
        raise ConfigurationError(f"{output} has the name of an embedded store.", hint="Choose another file with --output.")
    if target.is_file() and not force:
        raise ConfigurationError(f"{output} already exists.", hint="Add --force to replace it, or choose another file.")


def require_picture(output: Path, settings: "Settings", *, force: bool) -> None:
    """Raise ConfigurationError if `output` is not the name of a picture in an existing folder, or must not be replaced."""
    from drag_graph.errors import ConfigurationError

    if output.suffix not in {".svg", ".png", ".pdf"} or not output.parent.is_dir():
        hint = "Name a .svg, .png or .pdf file in an existing folder."
        raise ConfigurationError(f"Cannot draw a picture to {output}.", hint=hint)
    require_harmless(output, settings.own_files, force=force)
