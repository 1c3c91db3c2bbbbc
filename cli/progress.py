"""How far long work is: a bar on a terminal, and a line a minute where there is none."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import typer
from rich.console import Console

EVERY = 60.0
"""Seconds between two lines where there is no terminal."""


class Lines:
    """What somebody finds later who has sent the output to a file: how far it was, at most once a minute."""

    def __init__(
        self, total: int | None, clock: Callable[[], float] = time.monotonic, *, priced: bool = True, what: str = "queries"
    ) -> None:
        self._total, self._clock, self._priced, self._what = total, clock, priced, what
        self._began = self._spoke_at = clock()
        self._done = 0
        self._cost = 0.0
        self._sentence = ""

    def result(self, cost: float) -> None:
        """Count a query or document; `cost` is what was paid so far, in US dollars."""
        self._done, self._cost = self._done + 1, cost
        if self._clock() - self._spoke_at >= EVERY:
            self._print()

    def wait(self, sentence: str) -> None:
        """Say what is waited for, at once when there was nothing before; '' is nothing."""
        if sentence and (not self._sentence or self._clock() - self._spoke_at >= EVERY):
            self._print(f"; waiting for {sentence}")
        self._sentence = sentence

    def _print(self, more: str = "") -> None:
        self._spoke_at = self._clock()
        of = f" of {self._total}" if self._total is not None else ""
        minutes = (self._spoke_at - self._began) / 60
        cost = f" ${self._cost:.4f}," if self._priced else ""
        typer.echo(f"{self._done}{of} {self._what},{cost} {minutes:.0f} min{more}", err=True)


@dataclass(frozen=True, slots=True)
class Shown:
    """To be called after each query with the cost so far in US dollars; `wait` with what is waited for ('': nothing)."""

    result: Callable[[float], None]
    wait: Callable[[str], None]

    def __call__(self, cost: float) -> None:
        """Show that a query is done."""
        self.result(cost)


@contextmanager
def progress(total: int | None, *, quiet: bool, priced: bool = True, what: str = "queries") -> Iterator[Shown]:
    """Show rate, cost so far and time left on a terminal, else a line a minute. What costs nothing is not `priced`."""
    stderr = Console(stderr=True)
    if quiet or not stderr.is_terminal:
        lines = Lines(total, priced=priced, what=what)
        yield Shown(lambda _cost: None, lambda _sentence: None) if quiet else Shown(lines.result, lines.wait)
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
            lambda sentence: bar.update(task, waits=sentence and f"waiting for {escape(sentence)}"),
        )
