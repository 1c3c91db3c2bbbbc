"""Calls of several threads made as one: what waits while a call is under way goes into the next one."""

import copy
import threading
from collections.abc import Callable

import numpy as np

from drag_graph.adapters.litellm_errors import RequestRejected
from drag_graph.errors import DragGraphError
from drag_graph.ports import Vectors


class _Job:
    """What one thread asked for; `rows` or `error` is set when it is done."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.rows: Vectors | None = None
        self.error: DragGraphError | None = None

    @property
    def done(self) -> bool:
        return self.rows is not None or self.error is not None


class SharedCalls:
    """Makes the calls of many threads with few calls of `work`: texts to a row each.

    The thread that finds one of the `slots` free takes everything that waits, up to `most` texts (a thread's own texts are not
    divided here), and makes the call for all; nobody waits for company. An error of ours goes to each thread that was part of
    the call, in a copy of its own. Any other error goes to the thread that made the call, and the others try again, as all do
    when a server refuses a request for its size or a text in it: then fewer go together from then on.
    """

    def __init__(self, work: Callable[[list[str]], Vectors], *, most: int, slots: int = 1) -> None:
        self._work = work
        self._most = most
        self._free = slots
        self._waiting: list[_Job] = []
        self._changed = threading.Condition()

    def __call__(self, texts: list[str]) -> Vectors:
        """Return a row a text, in their order. Raises what `work` raises."""
        job = _Job(texts)
        with self._changed:
            self._waiting.append(job)
        while not job.done:
            with self._changed:
                self._changed.wait_for(lambda: job.done or (self._free and job in self._waiting))
                if job.done:
                    break
                jobs = self._take(job)
            self._lead(jobs, job)
        if job.error is not None:
            raise job.error
        assert job.rows is not None
        return job.rows

    def _take(self, own: _Job) -> list[_Job]:
        """Take a slot and the jobs of one call: the thread's own and those that wait longest."""
        jobs, size = [own], len(own.texts)
        for job in self._waiting:
            if job is not own and size + len(job.texts) <= self._most:
                jobs.append(job)
                size += len(job.texts)
        self._waiting = [job for job in self._waiting if job not in jobs]
        self._free -= 1
        return jobs

    def _lead(self, jobs: list[_Job], own: _Job) -> None:
        texts = list(dict.fromkeys(text for job in jobs for text in job.texts))
        again = [job for job in jobs if job is not own]
        try:
            rows = self._work(texts)
            place = {text: row for row, text in enumerate(texts)}
            for job in jobs:
                job.rows = np.stack([rows[place[text]] for text in job.texts])
        except RequestRejected as error:
            if len(jobs) == 1:
                own.error = error
            else:
                self._most, again = max(1, sum(len(job.texts) for job in jobs) // 2), jobs
        except DragGraphError as error:
            for job in jobs:
                job.error = error if job is own else copy.copy(error)
        finally:
            with self._changed:
                self._free += 1
                self._waiting = [job for job in again if not job.done] + self._waiting
                self._changed.notify_all()
