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

    def __init__(self, total: int | None, clock: Callable[[], float] = time.monotonic, *, priced: bool = True) -> None:
        self._total, self._clock, self._priced = total, clock, priced
        self._began = self._told = clock()
        self._done = 0
        self._cost = 0.0
        self._sentence = ""

    def result(self, cost: float) -> None:
        """Count a query; `cost` is what was paid so far, in US dollars."""
        self._done, self._cost = self._done + 1, cost
        if self._clock() - self._told >= EVERY:
            self._tell()

    def wait(self, sentence: str) -> None:
        """Say what is waited for, at once when there was nothing before; '' is nothing."""
        if sentence and (not self._sentence or self._clock() - self._told >= EVERY):
            self._tell(f"; waiting for {sentence}")
        self._sentence = sentence

    def _tell(self, more: str = "") -> None:
        self._told = self._clock()
        of = f" of {self._total}" if self._total is not None else ""
        minutes = (self._told - self._began) / 60
        cost = f" ${self._cost:.4f}," if self._priced else ""
        typer.echo(f"{self._done}{of} queries,{cost} {minutes:.0f} min{more}", err=True)


class Pace:
    """How many queries a second are worked on: those that are stored already come at once and say nothing about the others."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._cost = 0.0
        self._paid = 0

    def count(self, cost: float) -> float | None:
        """Count a query, and return the pace of those that were paid for; None while there is none of these."""
        if cost > self._cost:
            self._cost, self._paid = cost, self._paid + 1
        return self._paid / max(self._clock() - self._began, 1e-3) if self._paid else None


@dataclass(frozen=True, slots=True)
class Shown:
    """To be called after each query with the cost so far in US dollars; `wait` with what is waited for ('': nothing)."""

    result: Callable[[float], None]
    wait: Callable[[str], None]

    def __call__(self, cost: float) -> None:
        """Show that a query is done."""
        self.result(cost)


@contextmanager
def progress(total: int | None, *, quiet: bool, priced: bool = True) -> Iterator[Shown]:
    """Show rate, cost so far and time left on a terminal, else a line a minute. What costs nothing is not `priced`."""
    stderr = Console(stderr=True)
    if quiet or not stderr.is_terminal:
        lines = Lines(total, priced=priced)
        yield Shown(lambda _cost: None, lambda _sentence: None) if quiet else Shown(lines.result, lines.wait)
        return
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            pace = task.fields["pace"] or task.speed
            if not pace:
                return Text("-/s")
            left = "" if task.total is None else f" {_clock_time((task.total - task.completed) / pace)} left"
            return Text(f"{pace:.1f}/s{left}")

    costs = (TextColumn("${task.fields[cost]:.4f}"),) if priced else ()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *costs)
    pace = Pace()
    waits = TextColumn("{task.fields[waits]}")
    with Progress(*columns, TimeElapsedColumn(), Rate(), waits, console=stderr, transient=True) as bar:
        task = bar.add_task("Queries", total=total, cost=0.0, pace=None, waits="")
        yield Shown(
            lambda cost: bar.update(task, advance=1, cost=cost, pace=pace.count(cost)),
            lambda sentence: bar.update(task, waits=sentence and f"waiting for {escape(sentence)}"),
        )


def _clock_time(seconds: float) -> str:
    return f"{int(seconds // 3600)}:{int(seconds // 60) % 60:02d}:{int(seconds) % 60:02d}"
