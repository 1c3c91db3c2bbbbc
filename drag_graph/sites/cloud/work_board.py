"""What edges are asked for, from the question to their replies. All of it happens in one event loop, so there are no locks.

An edge fetches its work by long polls; the cloud never opens a connection. Work is handed out again with each poll until it is
answered or its time is over, so a reply of ours that was lost on the way costs nothing.
"""

import asyncio
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from drag_graph.sites.wire import EdgeOrigins, EdgeReply, EdgeWork, LineRef

BETWEEN_POLLS = 10.0
"""Seconds after which an edge that polls no more is away. It does not poll while it looks for passages."""
MOST_OPEN = 64
"""Questions that wait for one edge at the same time."""
AWAY = "it is not connected"
BUSY = "too many questions wait for it"
LATE = "it did not answer in time"
WITHDRAWN = "it was withdrawn"
Outcome = EdgeReply | EdgeOrigins | str
"""What an edge said, or the reason why there is nothing."""


@dataclass(slots=True)
class EdgeTask:
    """A question to an edge, or lines to audit."""

    edge_id: str
    work: EdgeWork
    until: float
    outcome: "asyncio.Future[Outcome]"


@dataclass(slots=True)
class _Place:
    """What is known of an edge while the process lives."""

    tasks: dict[str, EdgeTask] = field(default_factory=dict)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    polls: int = 0
    polled_at: float = -BETWEEN_POLLS


class WorkBoard:
    """The open questions to edges."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        self._is_closed = False

    def is_online(self, edge_id: str) -> bool:
        """Whether the edge waits for work, or did so a moment ago."""
        place = self._places.get(edge_id)
        return place is not None and (place.polls > 0 or time.monotonic() - place.polled_at < BETWEEN_POLLS)

    async def ask(
        self, edge_id: str, seconds: float, question: str = "", options: Sequence[str] = (), lines: Sequence[LineRef] = ()
    ) -> Outcome:
        """Ask an edge for passages, or for what is behind lines; return what it says in so many seconds."""
        if not self.is_online(edge_id):
            return AWAY
        place = self._places.setdefault(edge_id, _Place())
        if len(place.tasks) >= MOST_OPEN:
            return BUSY
        id_ = secrets.token_urlsafe(24)
        work = EdgeWork(id=id_, question=question, options=tuple(options), lines=tuple(lines), seconds=seconds)
        task = EdgeTask(edge_id, work, time.monotonic() + seconds, asyncio.get_running_loop().create_future())
        place.tasks[id_] = task
        place.news.set()
        try:
            return await asyncio.wait_for(task.outcome, seconds)
        except TimeoutError:
            return LATE
        finally:
            self.finish(task, LATE)

    async def next(self, edge_id: str, seconds: float, gone: "asyncio.Future[Any]") -> EdgeWork | None:
        """Return the edge's oldest open work, or None after so many seconds or when the edge has `gone`."""
        place = self._places.setdefault(edge_id, _Place())
        place.polls += 1
        try:
            until = time.monotonic() + seconds
            while not (gone.done() or self._is_closed) and self._places.get(edge_id) is place:
                place.news.clear()
                if task := next(iter(place.tasks.values()), None):
                    return task.work.model_copy(update={"seconds": round(max(0.0, task.until - time.monotonic()), 3)})
                if (left := until - time.monotonic()) <= 0:
                    break
                news: asyncio.Future[Any] = asyncio.ensure_future(place.news.wait())
                await asyncio.wait([news, gone], timeout=left, return_when=asyncio.FIRST_COMPLETED)
                news.cancel()
            return None
        finally:
            place.polls -= 1
            place.polled_at = -BETWEEN_POLLS if gone.done() else time.monotonic()

    def open_task(self, edge_id: str, work_id: str) -> EdgeTask | None:
        """Return the edge's own open work of that id; None where it was answered, is over, another's, or never was."""
        place = self._places.get(edge_id)
        return place.tasks.get(work_id) if place else None

    def finish(self, task: EdgeTask, outcome: Outcome) -> None:
        """Take the one reply to a task, or the reason why it has none."""
        if place := self._places.get(task.edge_id):
            place.tasks.pop(task.work.id, None)
        if not task.outcome.done():
            task.outcome.set_result(outcome)

    def forget(self, edge_id: str) -> None:
        """Give up all that an edge was asked for, and its poll: it was withdrawn."""
        if place := self._places.pop(edge_id, None):
            place.news.set()
            for task in list(place.tasks.values()):
                if not task.outcome.done():
                    task.outcome.set_result(WITHDRAWN)

    def close(self) -> None:
        """Let all polls end."""
        self._is_closed = True
        for place in self._places.values():
            place.news.set()
