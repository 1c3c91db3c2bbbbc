"""Long work that can be waited for, watched and cancelled."""

import asyncio
import threading
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar, cast

from drag_graph.app.resources import Resources
from drag_graph.concurrency.interruption import Interruption

Report = TypeVar("Report")


class RunHandle(Generic[Report]):
    """One run of long work, such as a distillation.

    A method that starts long work waits for it by default and raises the error that stopped it; the error then has the
    unfinished `report`. With `wait=False` the method returns at once, and the work continues in its own thread, even after
    the application is closed. In a coroutine, `await handle` waits for the report.
    """

    def __init__(self, work: Callable[[Interruption], Report], resources: Resources, *, wait: bool = True) -> None:
        """Run `work`, which must stop soon after the interruption that it receives is set. The run keeps `resources` open."""
        self._interruption = Interruption()
        self._work = work
        self._report: Report | None = None
        self._error: BaseException | None = None
        self._ended = threading.Event()
        self._resources = resources
        resources.hold()
        if wait:
            self._run()
            self.result()
        else:
            threading.Thread(target=self._run, name="drag-graph-run", daemon=True).start()

    @property
    def is_done(self) -> bool:
        """Whether the work has ended."""
        return self._ended.is_set()

    def __repr__(self) -> str:
        if not self.is_done:
            return "RunHandle(running)"
        totals = getattr(self._report, "totals", None)
        return f"RunHandle({totals() if callable(totals) else self._error or 'done'})"

    def to_dict(self) -> Any:
        """Wait for the report and return it as its `--json` document."""
        return cast("Any", self.result()).to_dict()

    def cancel(self) -> None:
        """Ask the work to stop. Calls in flight are finished; the same method resumes the work later."""
        self._interruption.interrupt()

    def result(self, timeout: float | None = None) -> Report:
        """Wait up to `timeout` seconds and return the report.

        Raises TimeoutError if the work has not ended by then, and the error that stopped the work early, with the unfinished
        report as its `report`.
        """
        if not self._ended.wait(timeout):
            raise TimeoutError("The run has not ended yet.")
        if self._error is not None:
            raise self._error
        stopped = getattr(self._report, "stopped", None)
        if stopped is not None:
            stopped.report = self._report
            raise stopped
        return cast("Report", self._report)

    def __await__(self) -> Generator[Any, None, Report]:
        return asyncio.to_thread(self.result).__await__()

    def _run(self) -> None:
        try:
            try:
                self._report = self._work(self._interruption)
            finally:
                self._resources.release()
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits for the result
            self._error = error
        self._ended.set()
