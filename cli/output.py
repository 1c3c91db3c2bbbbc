"""Where results go: stdout, or the file that -o names, which is never one of the product's own."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from drag_graph.settings import Settings

STANDARD = Path("-")
"""The name that stands for standard input or output."""
OUTPUT_PANEL = "Output"

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="A new file (compressed if it ends in .gz); - is stdout.",
        show_default="-",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Let -o replace a file that is there.", rich_help_panel=OUTPUT_PANEL)]


@contextmanager
def written(output: Path | None, settings: "Settings", *, force: bool = False) -> Iterator[None]:
    """Let what the block prints on stdout go into `output`, in one step when the block ends without an error.

    An exit code is no error: what was printed says why.

    Raises ConfigurationError, before the block runs, for the store, its ledger and their like, and without `force` for any file
    that is there.
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
        except typer.Exit as given:
            ended = given
    sys.stdout.flush()
    typer.echo(f"Wrote {output}", err=True)
    if ended is not None:
        raise ended


def require_harmless(output: Path, own_files: tuple[Path, ...], *, force: bool) -> None:
    """Raise ConfigurationError for the store, its ledger and their like, and without `force` for any file that is there."""
    from drag_graph.errors import ConfigurationError

    target = output.resolve()
    for own in (path.resolve() for path in own_files):
        beside = target.parent == own.parent and target.name.startswith(f"{own.name}.")
        if target == own or own in target.parents or beside or _is_same(target, own):
            raise ConfigurationError(f"{output} belongs to the store or its ledger", hint="Give another place with --output.")
    if target.is_dir():
        raise ConfigurationError(f"{output} is a folder", hint="Name a file in it with --output.")
    if target.is_file() and not force:
        raise ConfigurationError(f"{output} already exists", hint="Give --force to replace it, or name another file.")


def require_picture(output: Path, settings: "Settings", *, force: bool) -> None:
    """Raise ConfigurationError where a picture cannot be drawn to this place, or must not be (`require_harmless`)."""
    from drag_graph.errors import ConfigurationError

    if output.suffix not in {".svg", ".png", ".pdf"} or not output.parent.is_dir():
        raise ConfigurationError(f"{output} can be no picture", hint="Name a .svg, .png or .pdf in a folder that is there.")
    require_harmless(output, settings.own_files, force=force)


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)
