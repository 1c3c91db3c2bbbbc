"""Progress of long work: a bar on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from .output import AS_JSON

if TYPE_CHECKING:
    from drag_graph.jobs.runner import RunProgress
    from drag_graph.ports.model_roles import OnToken

Show = Callable[[str, "RunProgress"], None]
"""Called with the name of what is counted, and the progress."""


class ProgressDisplay:
    """Callbacks for the methods of the application; each reports the state of the work in its own form."""

    def __init__(self, what: str, show: Show) -> None:
        self._what, self._show = what, show

    def count(self, done: int) -> None:
        """Report the number of finished items."""
        self.stage(self._what, done, None)

    def run(self, run: "RunProgress") -> None:
        """Report the state of a run."""
        self._show(self._what, run)

    def stage(self, what: str, done: int, total: int | None) -> None:
        """Report what is counted, the number of finished items and their total."""
        from drag_graph.jobs.runner import RunProgress

        self._show(what, RunProgress(done, total))


@contextmanager
def streamed() -> "Iterator[OnToken | None]":
    """Show an answer on a terminal while the student writes it; it vanishes when the final answer is printed."""
    stdout = Console(emoji=False)
    if AS_JSON.get() or not stdout.is_terminal:
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
def progress(*, quiet: bool = False, priced: bool = True, what: str = "queries") -> Iterator[ProgressDisplay]:
    """Show rate, cost and remaining time on a terminal, unless `quiet` or with --json. `priced`: whether to show the cost."""
    stderr = Console(stderr=True)
    if quiet or AS_JSON.get() or not stderr.is_terminal:
        yield ProgressDisplay(what, lambda _what, _state: None)
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

        def show(counted: str, state: "RunProgress") -> None:
            waits = f"waiting for {escape(state.waiting_for)}" if state.waiting_for else ""
            bar.update(
                task,
                description=counted.capitalize(),
                completed=state.done,
                total=state.total,
                cost=state.cost_usd,
                waits=waits,
            )

        yield ProgressDisplay(what, show)
