"""The open requests to sites. Everything runs in one event loop, so there are no locks.

A site fetches its work with long polls; the cloud never opens a connection. Work is handed out with every poll until it is
answered or its deadline has passed, so a lost reply to a poll does no harm.
"""

import asyncio
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from drag_graph.sites.wire import LineRef, SiteOrigins, SiteReply, SiteWork

BETWEEN_POLLS = 10.0
"""Seconds without a poll after which a site counts as offline. A site does not poll while it searches."""
MOST_OPEN = 64
"""Maximum number of open requests to one site."""
AWAY = "it is not connected"
BUSY = "too many questions are waiting for it"
LATE = "it did not answer in time"
WITHDRAWN = "it has been removed from the cloud"
Outcome = SiteReply | SiteOrigins | str
"""The reply of a site, or the reason why there is none."""


@dataclass(slots=True)
class SiteTask:
    """An open request to a site. `until` is its deadline by the monotonic clock."""

    site_id: str
    work: SiteWork
    until: float
    outcome: "asyncio.Future[Outcome]"


@dataclass(slots=True)
class _Desk:
    """What is known of a site while the process lives."""

    tasks: dict[str, SiteTask] = field(default_factory=dict)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    polls: int = 0
    polled_at: float = -BETWEEN_POLLS


class WorkBoard:
    """The open requests to all sites."""

    def __init__(self) -> None:
        self._desks: dict[str, _Desk] = {}
        self._is_closed = False

    def is_online(self, site_id: str) -> bool:
        """Whether the site is waiting for work, or was a moment ago."""
        desk = self._desks.get(site_id)
        return desk is not None and (desk.polls > 0 or time.monotonic() - desk.polled_at < BETWEEN_POLLS)

    async def ask(
        self, site_id: str, seconds: float, question: str = "", options: Sequence[str] = (), lines: Sequence[LineRef] = ()
    ) -> Outcome:
        """Ask a site for passages, or for what is behind lines, and wait up to `seconds` for its reply."""
        if not self.is_online(site_id):
            return AWAY
        desk = self._desks[site_id]
        if len(desk.tasks) >= MOST_OPEN:
            return BUSY
        id_ = secrets.token_urlsafe(24)
        work = SiteWork(id=id_, question=question, options=tuple(options), lines=tuple(lines), seconds=seconds)
        task = SiteTask(site_id, work, time.monotonic() + seconds, asyncio.get_running_loop().create_future())
        desk.tasks[id_] = task
        desk.news.set()
        try:
            return await asyncio.wait_for(task.outcome, seconds)
        except TimeoutError:
            return LATE
        finally:
            self.finish(task, LATE)

    async def next(self, site_id: str, seconds: float, disconnection: "asyncio.Future[Any]") -> SiteWork | None:
        """Return the site's oldest open work, or None after `seconds` or on its disconnection."""
        desk = self._desks.setdefault(site_id, _Desk())
        desk.polls += 1
        try:
            until = time.monotonic() + seconds
            while not (disconnection.done() or self._is_closed) and self._desks.get(site_id) is desk:
                desk.news.clear()
                if task := next(iter(desk.tasks.values()), None):
                    return task.work.model_copy(update={"seconds": round(max(0.0, task.until - time.monotonic()), 3)})
                if (remaining := until - time.monotonic()) <= 0:
                    break
                news: asyncio.Future[Any] = asyncio.ensure_future(desk.news.wait())
                await asyncio.wait([news, disconnection], timeout=remaining, return_when=asyncio.FIRST_COMPLETED)
                news.cancel()
            return None
        finally:
            desk.polls -= 1
            desk.polled_at = -BETWEEN_POLLS if disconnection.done() else time.monotonic()

    def open_task(self, site_id: str, work_id: str) -> SiteTask | None:
        """Return the site's own open work with this id, or None."""
        desk = self._desks.get(site_id)
        return desk.tasks.get(work_id) if desk else None

    def finish(self, task: SiteTask, outcome: Outcome) -> None:
        """Record the outcome of a task and close it. Only the first outcome counts."""
        if desk := self._desks.get(task.site_id):
            desk.tasks.pop(task.work.id, None)
        if not task.outcome.done():
            task.outcome.set_result(outcome)

    def forget(self, site_id: str) -> None:
        """Close all tasks and the poll of a site that has been removed."""
        if desk := self._desks.pop(site_id, None):
            desk.news.set()
            for task in list(desk.tasks.values()):
                self.finish(task, WITHDRAWN)

    def close(self) -> None:
        """End all polls."""
        self._is_closed = True
        for desk in self._desks.values():
            desk.news.set()
