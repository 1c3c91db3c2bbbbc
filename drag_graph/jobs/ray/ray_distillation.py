"""The driver's side: sends queries to the workers and waits for the outcomes."""

import threading
import time
from dataclasses import fields
from math import ceil
from typing import Any

from pydantic import SecretStr

from drag_graph.concurrency.interruption import Interruption
from drag_graph.distill.query_distillation import Distillation, Usage
from drag_graph.errors import ConfigurationError, ModelUnavailable
from drag_graph.jobs.ray.cluster import Cluster
from drag_graph.jobs.ray.keeper import Keeper, Outcome, answer
from drag_graph.jobs.ray.ray_worker import Task, Worker
from drag_graph.model import Aggregation, Query, Subgraph
from drag_graph.models.model_choice import is_served
from drag_graph.models.model_server import Server
from drag_graph.models.teachers.served_teacher import ServedTeacher
from drag_graph.ports.model_roles import Embedder
from drag_graph.ports.run_journal import Run
from drag_graph.settings import Settings
from drag_graph.version import __version__

START_SECONDS = 180.0
"""Timeout for starting the processes on the cluster, in seconds."""
CLOSE_SECONDS = 5.0
FILE_THREADS = 16
"""Number of concurrent calls to the keeper, in addition to waiting reservations."""
_A_BYTE = 1
"""Memory that a worker requests. It requests no processor, so another node always has room after the loss of one. Ray spreads
only actors that request something."""
_RESTARTED = {"max_restarts": -1, "max_task_retries": -1}


class RayDistillation(Distillation):
    """Distils on a Ray cluster, with `settings.ray_processes` processes. Thread-safe. Close it after use.

    Raises the errors of `Cluster`, StoreUnfit for the ledger, ConfigurationError if the teacher is not served or a node has
    another version of drag-graph, and ModelUnavailable if the workers do not start.
    """

    def __init__(
        self,
        settings: Settings,
        embedder: Embedder,
        run: Run,
        *,
        privacy: str = "off",
        interruption: Interruption | None = None,
    ) -> None:
        """`privacy` is the level and detectors of the gate that the questions passed."""
        if not is_served(settings.model_for("teacher")):
            raise ConfigurationError(
                "`engine=ray` requires a served model as teacher; files and models of other packages stay on this machine.",
                hint="Leave out `engine=ray`.",
            )
        # Here the teacher only has a part in the settings hashes; it is never called.
        super().__init__(settings, embedder, ServedTeacher(Server(settings.teacher)), privacy)
        self._lock = threading.Lock()
        self._workers: list[Any] = []
        self._keeper: Any = None
        self.interruption = interruption or Interruption()
        self.interruption.notify(self._interrupt)
        self._cluster = Cluster(settings.ray_address)
        try:
            self._start(settings, embedder, run)
        except BaseException:
            self.close()
            raise

    def distill(self, query: Query, usage: Usage, edition: str = "") -> tuple[Subgraph, Aggregation]:
        """See `Distillation.distill`. Also raises ModelUnavailable if the cluster is lost."""
        with self._lock:
            number = min(range(len(self._workers)), key=self._in_flight.__getitem__)
            self._in_flight[number] += 1
        try:
            outcome: Outcome = _waited(self._workers[number].distill.remote(query, edition))
        finally:
            with self._lock:
                self._in_flight[number] -= 1
        for field in fields(Usage):
            setattr(usage, field.name, getattr(outcome.usage, field.name))
        if outcome.error is not None:
            raise outcome.error
        assert outcome.result is not None
        return outcome.result

    def close(self) -> None:
        """End the workers, and disconnect from the cluster or stop it if it is ours. Further calls do nothing.

        Pending calls end with ModelUnavailable.
        """
        import ray

        workers, self._workers = self._workers, []
        keeper, self._keeper = self._keeper, None
        if ray.is_initialized():
            for actor in [*workers, *([keeper] if keeper is not None else [])]:
                ray.kill(actor)
        until = time.monotonic() + CLOSE_SECONDS
        while workers and any(self._in_flight) and time.monotonic() < until:
            time.sleep(0.05)
        self._cluster.close()

    def _start(self, settings: Settings, embedder: Embedder, run: Run) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        remote: Any = ray.remote  # its types lack concurrency groups
        processors = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        number = settings.ray_processes or min(settings.workers, processors)
        self._in_flight = [0] * number
        ledger, vault = settings.ledger_path.absolute(), settings.vault_path.absolute()
        name = f"drag-graph keeper {run.id}"
        self._keeper = (
            # A query makes one call at a time, so no more calls wait than there are queries, twice if workers are lost.
            remote(concurrency_groups={"reserving": 2 * settings.workers + FILE_THREADS})(Keeper)
            .options(
                name=name,
                num_cpus=0,
                max_concurrency=FILE_THREADS,
                scheduling_strategy=NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False),
                **_RESTARTED,
            )
            .remote(ledger, run.job, settings.budget_usd, privacy=settings.privacy or "off", vault=vault)
        )
        until = time.monotonic() + START_SECONDS
        _waited(self._keeper.check.remote(), START_SECONDS)
        # Without secrets that workers do not need.
        needed = settings.model_copy(update={"neo4j_password": SecretStr(""), "student_api_key": SecretStr("")})
        task = Task(name, needed, embedder.name, __version__, self._privacy)
        actor = remote(Worker).options(
            num_cpus=0,
            memory=_A_BYTE,
            max_concurrency=ceil(settings.workers / number) + 2,
            scheduling_strategy="SPREAD",
            **_RESTARTED,
        )
        self._workers = [actor.remote(index, task) for index in range(number)]
        starting = [worker.place.remote() for worker in self._workers]
        for reference in starting:
            _waited(reference, max(until - time.monotonic(), 0.0))

    def _interrupt(self) -> None:
        if self._keeper is not None:
            self._keeper.interrupt.remote()  # before the workers, because restarted workers ask the keeper
        for worker in self._workers:
            worker.interrupt.remote()


def _waited(reference: Any, timeout: float | None = None) -> Any:
    """Wait for an actor across restarts. Raises ModelUnavailable if Ray gives it up, or after `timeout` seconds."""
    import ray

    try:
        return answer(reference, timeout)
    except ray.exceptions.RayTaskError:
        raise  # a bug of drag-graph
    except ray.exceptions.RayError as error:
        is_late = isinstance(error, ray.exceptions.GetTimeoutError)
        what = f"the processes did not start within {START_SECONDS:.0f} s" if is_late else type(error).__name__
        hint = "Check `ray status`, and that drag-graph is installed on every node. The same command resumes the run."
        raise ModelUnavailable(f"The Ray cluster failed: {what}.", hint=hint) from error
