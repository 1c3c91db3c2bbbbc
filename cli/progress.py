"""Progress of long work: a bar on a terminal, and a line a minute elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import typer
from rich.console import Console

EVERY = 60.0
"""Seconds between two lines without a terminal."""


class Lines:
    """Progress for a log: at most one line a minute."""

    def __init__(
        self, total: int | None, clock: Callable[[], float] = time.monotonic, *, priced: bool = True, what: str = "queries"
    ) -> None:
        self._total, self._clock, self._priced, self._what = total, clock, priced, what
        self._start = self._printed_at = clock()
        self._done = 0
        self._cost = 0.0
        self._pending = ""

    def result(self, cost: float) -> None:
        """Count a query or document; `cost` is the total so far in US dollars."""
        self._done, self._cost = self._done + 1, cost
        self._print_if_due()

    def stage(self, what: str, done: int, total: int) -> None:
        """Set what is counted, how many are done and how many there are."""
        self._what, self._done, self._total = what, done, total
        self._print_if_due()

    def wait(self, reason: str) -> None:
        """Print what the work waits for, immediately if it did not wait before; "" ends the wait."""
        if reason and (not self._pending or self._clock() - self._printed_at >= EVERY):
            self._print(f"; waiting for {reason}")
        self._pending = reason

    def _print_if_due(self) -> None:
        if self._clock() - self._printed_at >= EVERY:
            self._print()

    def _print(self, more: str = "") -> None:
        self._printed_at = self._clock()
        total = f" of {self._total}" if self._total is not None else ""
        minutes = (self._printed_at - self._start) / 60
        cost = f" ${self._cost:.4f}," if self._priced else ""
        typer.echo(f"{self._done}{total} {self._what},{cost} {minutes:.0f} min{more}", err=True)


@dataclass(frozen=True, slots=True)
class Shown:
    """Call it after each query with the total cost in US dollars, and `wait` with what the work waits for ("": nothing)."""

    result: Callable[[float], None]
    wait: Callable[[str], None]
    stage: Callable[[str, int, int], None]

    def __call__(self, cost: float) -> None:
        """Count one finished query."""
        self.result(cost)


@contextmanager
def progress(total: int | None, *, quiet: bool, priced: bool = True, what: str = "queries") -> Iterator[Shown]:
    """Show rate, cost and remaining time on a terminal, else a line a minute. `priced`: whether to show the cost."""
    stderr = Console(stderr=True)
    if quiet:
        yield Shown(lambda _cost: None, lambda _reason: None, lambda _what, _done, _total: None)
        return
    if not stderr.is_terminal:
        lines = Lines(total, priced=priced, what=what)
        yield Shown(lines.result, lines.wait, lines.stage)
        return
    from rich import progress as bars

    from .render import escape

    class Rate(bars.ProgressColumn):
        def render(self, task: bars.Task) -> str:
            return f"{task.speed:.1f}/s" if task.speed else "-/s"

    columns: list[bars.ProgressColumn | str] = ["{task.description}", bars.BarColumn(), bars.MofNCompleteColumn()]
    columns += ["${task.fields[cost]:.4f}"] if priced else []
    columns += [bars.TimeElapsedColumn(), Rate(), bars.TimeRemainingColumn(), "{task.fields[waits]}"]
    with bars.Progress(*columns, console=stderr, transient=True) as bar:
        task = bar.add_task(what.capitalize(), total=total, cost=0.0, waits="")
        yield Shown(
            lambda cost: bar.update(task, advance=1, cost=cost),
            lambda reason: bar.update(task, waits=reason and f"waiting for {escape(reason)}"),
            lambda what, done, total: bar.update(task, description=what.capitalize(), completed=done, total=total),
        )
