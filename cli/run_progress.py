"""Show the progress of a run of the application."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from .progress import Shown, progress

if TYPE_CHECKING:
    from drag_graph.jobs.runner import RunProgress


@contextmanager
def followed(*, quiet: bool, priced: bool = True, what: str = "queries") -> Iterator[Callable[["RunProgress"], None]]:
    """Lend an `on_progress` callback that shows the progress of a run, from the first call on."""
    with ExitStack() as opened:
        shown: list[Shown] = []
        done = 0

        def show(state: "RunProgress") -> None:
            nonlocal done
            if not shown:
                shown.append(opened.enter_context(progress(state.total, quiet=quiet, priced=priced, what=what)))
            if state.done > done:
                done = state.done
                shown[0](state.cost_usd)
            else:
                shown[0].wait(state.waiting_for)

        yield show
