"""A worker: a process on a node of the cluster that distils queries. The ledger stays with the keeper."""

import os
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple, cast

from drag_graph.concurrency.interruption import InterruptibleTeacher, Interruption
from drag_graph.concurrency.threads import long_turns
from drag_graph.distill.query_distillation import Distillation, Usage
from drag_graph.errors import ConfigurationError, DragGraphError
from drag_graph.jobs.ray.keeper import Outcome, answer, returns_errors
from drag_graph.ledger.budget import Budget, Reservation
from drag_graph.ledger.tape import Tape
from drag_graph.model import Query
from drag_graph.models.locality import Check, unchecked
from drag_graph.models.model_choice import make_embedder
from drag_graph.models.model_server import Server
from drag_graph.models.teachers.served_teacher import ServedTeacher
from drag_graph.privacy.outgoing import texts_of
from drag_graph.settings import Settings
from drag_graph.version import __version__


class RemoteTape:
    """The methods of `Tape`. When `record` returns, the reply is on the disk of the driver's machine."""

    def __init__(self, keeper: Any) -> None:
        self._keeper = keeper

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return lambda *arguments: answer(self._keeper.tape.remote(method, *arguments))


class RemoteBudget:
    """The methods of `Budget` that a teacher calls."""

    def __init__(self, keeper: Any, worker: int, life: str, limit_usd: float | None) -> None:
        self._keeper = keeper
        self._worker = worker
        self._life = life
        self.limited = limit_usd is not None and isfinite(limit_usd)

    def reserve(self, estimate_usd: float) -> Reservation:
        """See `Budget.reserve`."""
        reserve = self._keeper.reserve.options(concurrency_group="reserving")
        return cast("Reservation", answer(reserve.remote(self._worker, self._life, estimate_usd)))

    def settle(self, reservation: Reservation, actual_usd: float = 0.0) -> None:
        """See `Budget.settle`."""
        answer(self._keeper.settle.remote(reservation, actual_usd))


class Place(NamedTuple):
    """The place of a worker: Ray's id of the node, and the process id."""

    node: str
    pid: int


@dataclass(frozen=True, slots=True)
class Task:
    """The arguments of a worker: the keeper's name, the settings, and facts about the driver."""

    keeper: str
    settings: Settings
    embedder: str
    version: str
    privacy: str = "off"
    """The level and detectors of the gate that the questions passed."""


class Worker:
    """An actor. It loads its models on the first call, so that errors reach the caller."""

    def __init__(self, number: int, task: Task) -> None:
        import ray

        self._task = task
        self._interruption = Interruption()
        self._making = threading.Lock()
        ExitStack().enter_context(long_turns())  # for the lifetime of this process
        self._made: Distillation | None = None
        life = uuid.uuid4().hex
        # By name: Ray stores arguments with a handle where a restart may not find them.
        keeper: Any = ray.get_actor(task.keeper)
        if answer(keeper.announce.remote(number, life)):  # restarted after Ctrl-C
            self._interruption.interrupt()

        def check(call: Mapping[str, Any]) -> None:
            """Let the driver check what leaves this worker: only the driver has the originals of private details."""
            answer(keeper.outgoing.remote(list(texts_of(call))))

        self._privacy: Check = unchecked if task.privacy == "off" else check
        self._tape = RemoteTape(keeper)
        self._budget = RemoteBudget(keeper, number, life, task.settings.budget_usd)

    @returns_errors
    def place(self) -> Place:
        """Return the place of this worker. Raises ConfigurationError if this node differs from the driver."""
        import ray

        self._distillation()
        return Place(ray.get_runtime_context().get_node_id(), os.getpid())

    def interrupt(self) -> None:
        """Make no further calls."""
        self._interruption.interrupt()

    def distill(self, query: Query, edition: str) -> Outcome:
        """See `Distillation.distill`."""
        usage = Usage()
        try:
            result = self._distillation().distill(query, usage, edition)
        except DragGraphError as error:
            return Outcome(None, error.with_traceback(None), usage)
        return Outcome(result, None, usage)

    def _distillation(self) -> Distillation:
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made

    def _make(self) -> Distillation:
        task = self._task
        embedder = make_embedder(task.settings, self._privacy)
        if (__version__, embedder.name) != (task.version, task.embedder):
            raise ConfigurationError(
                f"A node of the Ray cluster has drag-graph {__version__} with the embedder {embedder.name!r}, the driver "
                f"{task.version} with {task.embedder!r}.",
                hint="Install the same version with the same extras on every node, or name the embedder with `embedder=NAME`.",
            )
        # The stand-ins have every method that the teacher calls.
        tape, budget = cast("Tape", self._tape), cast("Budget", self._budget)
        server = Server.of(task.settings.model_for("teacher"), self._privacy, self._interruption.sleep)
        most = task.settings.teacher_max_tokens
        teacher = ServedTeacher(server, tape=tape, budget=budget, max_tokens=most, check=self._interruption.check)
        return Distillation(task.settings, embedder, InterruptibleTeacher(teacher, self._interruption), task.privacy)
