"""Output for people: tables, fields and answers that fit the terminal. With `--json`, one document on stdout."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape as escape_markup
from rich.table import Table
from rich.text import Text

from drag_graph.report.terminal_text import printable

from .output import AS_JSON, document

SHORT = 12
"""Characters of an id in a table. Every command accepts a short id."""

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00")
UNLIMITED = 100_000
"""Width of a pipe: a tree cuts what is longer."""
GAP = 2
"""Blanks between two columns."""
LEAST_TEXT = 16
"""Least width of a column that wraps."""
LONG_TEXT = 60
"""Width up to which a text in a pipe widens the column of all rows."""


def unread(notes: Iterable[Sequence[str]], what: str) -> None:
    """Print once how many documents or questions have passages that the rules did not read."""
    from drag_graph.ports.run_journal import UNREAD

    if count := sum(any(note.startswith(UNREAD) for note in of_one) for of_one in notes):
        typer.echo(
            f"{UNREAD}. Passages of {count} {what} are in other languages. To read them with a model, use --extractor NAME.",
            err=True,
        )


def escape(text: str) -> str:
    """Return a text that the console prints as it is, without markup and control characters."""
    return escape_markup(printable(text))


def shorten(text: str, length: int) -> str:
    """Return a text on one line; a text of more than `length` characters ends in an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


def console() -> Console:
    """Return the console for results on stdout. In a pipe or file it wraps no line, unless COLUMNS is set."""
    from drag_graph.process_environment import process_environment

    out = Console(highlight=False, emoji=False)
    if out.is_terminal or "COLUMNS" in process_environment():
        return out
    return Console(highlight=False, emoji=False, soft_wrap=True, width=UNLIMITED)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    wrapped: str | tuple[str, ...] = "",
    optional: tuple[str, ...] = (),
    title: str = "",
) -> None:
    """Print a table. On a terminal it fits the width: the columns in `wrapped` wrap, and others that do not fit are left out.

    Columns in `optional` are left out first, starting with the last one. In a pipe or file every row is one line, with
    all its text. Cells are escaped unless they are a rich Text.
    """
    out = console()
    values = [list(row) for row in rows]
    cells = [[cell if isinstance(cell, Text) else Text(printable(str(cell))) for cell in row] for row in values]
    wraps = {columns.index(name) for name in ((wrapped,) if isinstance(wrapped, str) else wrapped) if name in columns}
    numeric = [bool(values) and all(isinstance(row[n], int | float) for row in values) for n in range(len(columns))]
    if out.soft_wrap:
        _print_lines(columns, cells, wraps, numeric, title)
        return
    cells = [[_local_time(cell) for cell in row] for row in cells]
    widths = [max(map(_width, (Text(name), *(row[n] for row in cells)))) for n, name in enumerate(columns)]
    wraps |= {n for n, width in enumerate(widths) if width > LONG_TEXT}
    least = [min(width, LEAST_TEXT) if n in wraps else width for n, width in enumerate(widths)]
    fitting = _fitting(least, wraps, [columns.index(name) for name in optional if name in columns], out.width)
    drawn = Table(title=title or None, title_justify="left", box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    drawn.padding = (0, GAP - 1, 0, 0)
    for n in fitting:
        layout: dict[str, Any] = {"justify": "right" if numeric[n] else "left", "no_wrap": n not in wraps}
        drawn.add_column(columns[n], min_width=least[n], overflow="fold", **layout)
    for row in cells:
        drawn.add_row(*(row[n] for n in fitting))
    out.print(drawn)
    if hidden := [name for n, name in enumerate(columns) if name and n not in fitting]:
        out.print(f"[dim]Too narrow for: {', '.join(hidden)}. Widen the window, or use --json.[/dim]")


def _fitting(least: Sequence[int], wraps: set[int], optional: list[int], available: int) -> list[int]:
    """Return the places of the columns that fit with their least widths."""
    fitting = ({0} | wraps) - {*optional}
    for n in (*(n for n in range(len(least)) if n not in optional), *optional):
        wider = fitting | {n}
        if sum(least[place] for place in wider) + GAP * (len(wider) - 1) <= available:
            fitting = wider
    return sorted(fitting)


def _local_time(cell: Text) -> Text:
    """Return a moment as local time to the minute, and any other cell as it is."""
    if not _MOMENT.fullmatch(cell.plain):
        return cell
    return Text(datetime.fromisoformat(cell.plain).astimezone().strftime("%Y-%m-%d %H:%M"), cell.style)


def _width(cell: Text) -> int:
    return max((line.cell_len for line in cell.split()), default=0)


def _print_lines(
    columns: Sequence[str], rows: Sequence[Sequence[Text]], wraps: set[int], numeric: Sequence[bool], title: str
) -> None:
    """Print a row a line. A long text widens only its own line."""
    lines = [list(columns), *([" ".join(cell.plain.split("\n")) for cell in row] for row in rows)]
    for n, right in enumerate(numeric):
        width = max(map(cell_len, (line[n] for line in lines)))
        width = min(width, LONG_TEXT) if n in wraps else width
        for line in lines:
            padding = " " * (width - cell_len(line[n]))
            line[n] = padding + line[n] if right else line[n] + padding
    if title:
        write(title)
    for line in lines:
        write("  ".join(line).rstrip())
    write("")


def write(text: str) -> None:
    """Print a text that ends with one newline."""
    sys.stdout.write(text.removesuffix("\n") + "\n")


def hanging(label: str, text: Text) -> None:
    """Print a text after a label. On a terminal its further lines begin below its first; in a pipe it has one line."""
    out = console()
    if out.soft_wrap:
        out.print(Text.assemble(f"{label} ", text))
        return
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(label, text)
    out.print(grid)


def place_of(document: Mapping[str, Any], *, headings: bool = False) -> str:
    """Return where in which document a line stands: name, page, and with `headings` their path and the date."""
    path = " > ".join([document["name"], *(document.get("heading", ()) if headings else ())])
    page = f"page {document['page']}" if "page" in document else ""
    return printable(", ".join(filter(None, (path, page, document.get("date", "") if headings else ""))))


def lists_of(lists: Iterable[Mapping[str, Any]]) -> str:
    """Return the lists that found something, with its rank in each."""
    return ", ".join(f"{item['list']} ({item['rank']})" for item in lists)


def result(value: Any, show: Callable[[Any], None]) -> None:
    """Print a result of the application: with --json its document, else as `show` does."""
    if AS_JSON.get():
        document(value.to_dict())
    else:
        show(value)


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner on a terminal; yields a function that replaces its text."""
    stderr = Console(stderr=True)
    if AS_JSON.get() or not stderr.is_terminal:
        yield lambda _step: None
        return
    with stderr.status(what) as status:
        yield status.update


def fields(values: Mapping[str, Any]) -> None:
    """Print a flat document as two columns."""
    if AS_JSON.get():
        document(values)
        return
    out, widest = console(), max(map(len, values), default=0)
    if out.soft_wrap:
        for name, value in values.items():
            write(f"{name:<{widest}}  {printable(_plain(value))}".rstrip())
        return
    drawn = Table(show_header=False, box=None, pad_edge=False)
    drawn.add_column(no_wrap=True)
    drawn.add_column(overflow="fold")
    for name, value in values.items():
        drawn.add_row(f"[bold]{name}[/bold]", escape(_plain(value)))
    out.print(drawn)


def _plain(value: Any) -> str:
    """Return a value of a document as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping) and value.keys() == {"from", "to"}:
        return f"{value['from']} to {value['to']}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(entry)}" for key, entry in value.items()) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(entry) for entry in value) or "none"
    return "-" if value in (None, "") else str(value)


_ESTIMATED = (
    *("teacher", "privacy", "plan", "number_of_evidence", "top_k", "table", "evaluations", "student_asked", "queries"),
    *("stored", "quarantined", "rejected", "added", "changed", "unchanged", "removed", "failed", "chunks", "evidence", "calls"),
    *("recorded_calls", "cached_calls", "tokens_in", "tokens_out", "price_usd", "steps", "break_even", "how", "caution"),
)
"""The values of an estimate that are printed for people, by their key in the document."""
_LABELS = {
    "number_of_evidence": "evidence per query",
    "top_k": "kept per query",
    "student_asked": "answers of the student",
    "stored": "already stored",
    "rejected": "rejected lines",
    "recorded_calls": "calls replayed from the tape",
    "cached_calls": "calls replayed from the tape",
    "price_usd": "price",
    "break_even": "cheaper than asking the teacher after",
    "how": "how this was estimated",
}
"""Labels that differ from their keys."""


def estimate(values: Mapping[str, Any]) -> None:
    """Print the estimate of a dry run."""
    if AS_JSON.get():
        document(values)
        return
    for line in values.get("rejected_lines", ()):
        typer.echo(f"line {line['line']} rejected: {line['reason']}", err=True)
    known = values.get("price_known", True) and values["price_usd"] != "unknown"
    price = f"${values['price_usd']:.4f}" if known else "unknown"
    if known and values.get("price_usd_high"):
        price += f" (${values['price_usd_low']:.4f} to ${values['price_usd_high']:.4f})"
    shown = {"calls": 0, **{name: value for name, value in values.items() if value}, "price_usd": price}
    if values.get("steps"):
        shown["steps"] = [f"{name} {one['calls']} (${one['price_usd']:.4f})" for name, one in values["steps"].items()]
    if values.get("break_even"):
        shown["break_even"] = f"{values['break_even']} answers per question"
    fields({_LABELS.get(name, name.replace("_", " ")): shown[name] for name in _ESTIMATED if name in shown})
