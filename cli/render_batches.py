"""What is shown while batches are waited for: a bar on a terminal, else lines."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from rich.console import Console

from .progress import Lines


class Shown(NamedTuple):
    """`result` is called after each query with the cost so far in US dollars, `wait` with what is waited for ('': nothing)."""

    result: Callable[[float], None]
    wait: Callable[[str], None]


@contextmanager
def progress(total: int | None, *, quiet: bool) -> Iterator[Shown]:
    """Show a bar of the queries with the cost so far, and what is waited for, for how long."""
    stderr = Console(stderr=True)
    if quiet:
        yield Shown(lambda _cost: None, lambda _sentence: None)
        return
    if not stderr.is_terminal:
        lines = Lines(total)
        yield Shown(lines.result, lines.wait)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(20), MofNCompleteColumn(), TextColumn("${task.fields[cost]:.4f}"), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=stderr, transient=True) as bar:
        task = bar.add_task("Queries", total=total, cost=0.0)

        def wait(sentence: str) -> None:
            bar.update(task, description=f"Waiting for {sentence}" if sentence else "Queries")

        yield Shown(lambda cost: bar.update(task, advance=1, cost=cost), wait)
