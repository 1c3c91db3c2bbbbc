"""Progress of long work: a bar on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from drag_graph.jobs.runner import RunProgress
    from drag_graph.ports.model_roles import OnToken


@dataclass(frozen=True, slots=True)
class State:
    """How far the work is. `what` is counted; `total` is None if it is unknown; `waiting_for` is "" unless the work waits."""

    what: str
    done: int = 0
    total: int | None = None
    cost_usd: float = 0.0
    waiting_for: str = ""


class ProgressDisplay:
    """Callbacks for the methods of the application; each reports the state of the work in its own form."""

    def __init__(self, what: str, show: Callable[[State], None]) -> None:
        self._state, self._show = State(what), show

    def count(self, done: int) -> None:
        """Report the number of finished items."""
        self._set(replace(self._state, done=done))

    def run(self, run: "RunProgress") -> None:
        """Report the state of a run."""
        self._set(State(self._state.what, run.done, run.total, run.cost_usd, run.waiting_for))

    def stage(self, what: str, done: int, total: int) -> None:
        """Report what is counted, the number of finished items and their total."""
        self._set(State(what, done, total))

    def _set(self, state: State) -> None:
        self._state = state
        self._show(state)


@contextmanager
def streamed(*, quiet: bool) -> "Iterator[OnToken | None]":
    """Show an answer on a terminal while the student writes it; it vanishes when the final answer is printed."""
    stdout = Console(emoji=False)
    if quiet or not stdout.is_terminal:
        yield None
        return
    from rich.live import Live
    from rich.text import Text

    from drag_graph.report.terminal_text import printable

    with Live(console=stdout, transient=True, refresh_per_second=8) as live:
        text = ""

        def show(part: str) -> None:
            nonlocal text
            text += part
            live.update(Text(printable(text), "dim"))

        yield show


@contextmanager
def progress(*, quiet: bool, priced: bool = True, what: str = "queries") -> Iterator[ProgressDisplay]:
    """Show rate, cost and remaining time on a terminal. `priced`: whether to show the cost."""
    stderr = Console(stderr=True)
    if quiet or not stderr.is_terminal:
        yield ProgressDisplay(what, lambda _state: None)
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
        task = bar.add_task(what.capitalize(), total=None, cost=0.0, waits="")

        def show(state: State) -> None:
            waits = f"waiting for {escape(state.waiting_for)}" if state.waiting_for else ""
            name = state.what.capitalize()
            bar.update(task, description=name, completed=state.done, total=state.total, cost=state.cost_usd, waits=waits)

        yield ProgressDisplay(what, show)
