"""Jobs of the service: they run one after the other, and each calls one method of the application."""

import logging
import secrets
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from drag_graph import log
from drag_graph.app.run_handle import RunHandle
from drag_graph.compose.store_opening import open_ledger
from drag_graph.errors import ConfigurationError, DragGraphError, Interrupted, StoreLocked
from drag_graph.jobs.runner import RunProgress
from drag_graph.ledger.budget import dollars
from drag_graph.service.access import ServiceAccess
from drag_graph.service.errors import LATER, RequestRefused, body_of
from drag_graph.service.job_table import JobKind, JobState, JobTable, ServiceJob, files_of
from drag_graph.service.job_work import EXPORTED, ExportWork, start_work
from drag_graph.service.keys import KeyRing

RECORDED_EVERY = 1.0
"""Seconds between two records of a running job's progress."""
KEPT = timedelta(hours=24)
"""How long an export can be downloaded."""
GRACE = 15.0
"""Seconds that a job has to finish its calls in flight. After that, the next start resumes it as after a kill."""
PAUSE = 60.0
"""Seconds between two checks for old exports, and after an error of the service's file."""


class JobQueue:
    """Accepts jobs and runs one at a time. Thread-safe. Use it as a context manager: no job runs outside the block.

    Jobs that were queued or running when the process ended continue when the block begins. When the block ends, the running
    job is interrupted and queued again; a call in flight has `GRACE` seconds. Raises StoreLocked if another service already
    runs the jobs of this store.
    """

    def __init__(self, path: Path, access: ServiceAccess, ring: KeyRing, *, most: int) -> None:
        """`path` is the service's file; `most` is the number of jobs that may be queued or running."""
        self.table: JobTable
        """Lists and describes the jobs."""
        self.version = 0
        """Changes with every change of a job."""
        self._path = path
        self._folder = files_of(path)
        self._access, self._ring, self._most = access, ring, most
        self._progress: dict[str, dict[str, Any]] = {}
        self._running: tuple[str, RunHandle[Any] | ExportWork] | None = None
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self.is_stopping = False
        """Whether no job is accepted any more."""

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            try:
                lock = FileLock(self._path.with_name(f"{self._path.name}.lock"), timeout=0, thread_local=False)
                opened.enter_context(lock)
            except Timeout as error:
                hint = "Send your requests to that service, with the namespace in the header X-Namespace, or stop it."
                raise StoreLocked("Another service already runs the jobs of this store.", hint=hint) from error
            self.table = opened.enter_context(closing(JobTable(self._path)))
            self.table.requeue()
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in self._folder.iterdir():
                if not self._is_needed(folder.name):
                    shutil.rmtree(folder)
            self._opened = opened.pop_all()
        self.is_stopping = False
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.pause()
        self._thread.join(GRACE)
        if not self._thread.is_alive():
            self._opened.close()

    def pause(self) -> None:
        """Accept no more jobs, and interrupt the running one, which waits for the next start."""
        with self._lock:
            self.is_stopping = True
            if self._running:
                self._running[1].cancel()
        self._changed()

    def submit(
        self,
        kind: JobKind,
        namespace: str,
        caller: str,
        request: dict[str, Any],
        write: Callable[[Path], None] = lambda _folder: None,
    ) -> ServiceJob:
        """Queue a job and return it. `write` puts its input into the folder that it receives.

        Raises RequestRefused: 429 if too many jobs wait, 503 if the service is stopping.
        """
        if self.is_stopping:
            hint = "Submit the job again after its next start."
            raise RequestRefused(503, "Stopping", "The service is stopping.", hint=hint, headers=LATER)
        id_ = secrets.token_hex(16)
        folder = self._folder / id_
        folder.mkdir(mode=0o700)
        try:
            write(folder)
            is_added = self.table.add(id_, kind, namespace, caller, request, most=self._most)
        except BaseException:
            shutil.rmtree(folder)
            raise
        if not is_added:
            shutil.rmtree(folder)
            message = f"{self._most} jobs are waiting already."
            raise RequestRefused(429, "TooManyJobs", message, hint="Submit it again later.", headers=LATER)
        self._changed()
        return self.table.job(id_)

    def progress(self, job: ServiceJob) -> dict[str, Any]:
        """Return the current progress of a job."""
        return self._progress.get(job.id, job.progress)

    def cancel(self, id_: str, namespace: str) -> ServiceJob:
        """Cancel a job that has not ended; a running one finishes its calls in flight. Raises NotStored."""
        self.table.job(id_, namespace)
        self.table.cancel(id_)
        self._interrupt(id_)
        self._remove_unneeded(id_)
        self._changed()
        return self.table.job(id_)

    def _interrupt(self, id_: str) -> None:
        with self._lock:
            if self._running and self._running[0] == id_:
                self._running[1].cancel()

    def exported_file(self, job: ServiceJob) -> Path | None:
        """Return the file of an export; None if it is too old."""
        file = self._folder / job.id / EXPORTED
        return file if file.exists() and not _is_old(job) else None

    # ---- in the thread of the queue

    def _work(self) -> None:
        while not self.is_stopping:
            try:
                self._remove_old_exports()
                job = self.table.take()
                if job is not None:
                    self._do(job)
                    continue
            except Exception as error:  # noqa: BLE001 - the other jobs go on
                log.event("jobs failed", level=logging.ERROR, reason=type(error).__name__)
            self._wake.wait(PAUSE)
            self._wake.clear()

    def _do(self, job: ServiceJob) -> None:
        self._changed()
        try:
            self._run(job)
        except Exception as error:  # noqa: BLE001 - its end could not be recorded
            if not self.is_stopping:  # else the next start resumes it
                log.event("job failed", level=logging.ERROR, job=job.id, reason=type(error).__name__)
                self.table.finish(job.id, "failed", None, body_of(error)["error"])
        finally:
            self._progress.pop(job.id, None)
            self._remove_unneeded(job.id)
            self._changed()

    def _run(self, job: ServiceJob) -> None:
        report: Any = None
        state: JobState = "done"
        error: dict[str, str] | None = None
        try:
            report = self._started(job).result()
        except Exception as raised:  # noqa: BLE001 - the job failed; the next one begins
            report = getattr(raised, "report", None)
            state, error = self._ended_by(job, raised)
        finally:
            with self._lock:
                self._running = None
        self.table.advance(job.id, self.progress(job), self._cost(job, report))
        if state == "queued":
            self.table.requeue()
        else:
            self.table.finish(job.id, state, report.to_dict() if report is not None else None, error)

    def _started(self, job: ServiceJob) -> RunHandle[Any] | ExportWork:
        graph = self._access.graph_in(job.namespace)
        limit = self._limit(job)
        work = start_work(graph, job, self._folder / job.id, budget_usd=limit, on_progress=self._recorder(job))
        with self._lock:
            self._running = (job.id, work)
            if self.is_stopping or self.table.job(job.id).is_cancelled:
                work.cancel()
        return work

    def _ended_by(self, job: ServiceJob, error: Exception) -> tuple[JobState, dict[str, str] | None]:
        """Return the state of a job that raised an error, and the error for its caller."""
        if isinstance(error, Interrupted):
            if self.table.job(job.id).is_cancelled:
                return "cancelled", None
            if self.is_stopping:
                return "queued", None
            try:
                self._limit(job)
            except ConfigurationError as refused:
                error = refused
        elif not isinstance(error, DragGraphError):
            log.event("job failed", level=logging.ERROR, job=job.id, reason=type(error).__name__)
        return "failed", body_of(error)["error"]

    def _limit(self, job: ServiceJob) -> float | None:
        """Return the job's total limit in US dollars; None for no limit. Raises ConfigurationError if its key is not valid."""
        limits = [job.request.get("budget_usd"), self._access.graph_in(job.namespace).settings.budget_usd]
        key = self._ring.key(job.caller)
        if key is not None:
            if key.state != "valid":
                hint = "Submit the job again with another key."
                raise ConfigurationError(f"The key {key.name!r} is {key.state}.", hint=hint)
            limits.append(None if key.remaining_usd is None else key.remaining_usd + job.spent_usd)
        return min((limit for limit in limits if limit is not None), default=None)

    def _recorder(self, job: ServiceJob) -> Callable[[RunProgress], None]:
        recorded_at = time.monotonic()

        def record(progress: RunProgress) -> None:
            nonlocal recorded_at
            self._progress[job.id] = asdict(progress)
            self.version += 1
            if time.monotonic() - recorded_at >= RECORDED_EVERY:
                recorded_at = time.monotonic()
                self.table.advance(job.id, asdict(progress), job.spent_usd + progress.cost_usd)
                try:
                    self._limit(job)
                except ConfigurationError:  # raised again when the work has ended
                    self._interrupt(job.id)

        return record

    def _cost(self, job: ServiceJob, report: Any) -> float:
        """Return the cost of a job so far in US dollars, including the calls that a kill interrupted."""
        recorded: float = max(self.table.job(job.id).spent_usd, job.spent_usd + self.progress(job).get("cost_usd", 0.0))
        account = getattr(report, "job", "")
        if not account or "job" in job.request:  # an account of other runs, too
            return recorded
        with closing(open_ledger(self._access.graph_in(job.namespace).settings, read_only=True)) as ledger:
            standing = ledger.account(account).standing()
        return max(recorded, dollars(standing.settled + standing.reserved))

    def _remove_old_exports(self) -> None:
        for job in self.table.finished_exports():
            if _is_old(job):
                shutil.rmtree(self._folder / job.id, ignore_errors=True)

    def _remove_unneeded(self, id_: str) -> None:
        if not self._is_needed(id_):
            shutil.rmtree(self._folder / id_, ignore_errors=True)

    def _is_needed(self, id_: str) -> bool:
        """Whether the folder of a job has input that has not been read yet, or an export."""
        try:
            job = self.table.job(id_)
        except DragGraphError:
            return False
        return not job.has_ended or (job.kind == "export" and job.state == "done" and not _is_old(job))

    def _changed(self) -> None:
        self.version += 1
        self._wake.set()


def _is_old(job: ServiceJob) -> bool:
    return datetime.now(UTC) - datetime.fromisoformat(job.finished_at) > KEPT
