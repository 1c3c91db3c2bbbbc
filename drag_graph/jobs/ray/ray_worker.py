"""A worker: a process that Ray has placed on some node, with everything that distilling a query needs but the ledger's file."""

import os
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from pydantic import SecretStr

from drag_graph.concurrency.interruption import InterruptibleTeacher, Interruption
from drag_graph.concurrency.threads import long_turns
from drag_graph.distill.query_distillation import Distillation, Usage
from drag_graph.errors import ConfigurationError, DragGraphError
from drag_graph.jobs.ray.ray_messages import Events, Outcome, answer, returns_errors
from drag_graph.jobs.ray.remote_ledger import RemoteBudget, RemoteGate, RemoteTape
from drag_graph.ledger.budget import Budget
from drag_graph.ledger.tape import Tape
from drag_graph.model import Query
from drag_graph.models.locality import Check, unchecked
from drag_graph.models.model_choice import make_embedder
from drag_graph.ports.model_roles import Teacher
from drag_graph.settings import Settings, adopt_variables
from drag_graph.version import __version__

MakeTeacher = Callable[[Settings, Tape, Budget, Interruption, Check], Teacher]


class Place(NamedTuple):
    """Where a worker is: Ray's id of the node, and the process number there."""

    node: str
    pid: int


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is made with: the keeper's name, the settings and how to make the teacher, what the driver has and logs.

    `variables` are those of the driver's environment that the model's provider reads.
    """

    keeper: str
    settings: Settings
    make_teacher: MakeTeacher
    embedder: str
    version: str
    log_level: int
    variables: Mapping[str, SecretStr] = field(repr=False)
    privacy: str = "off"
    """The level and detectors of the gate that questions came through."""


class Worker:
    """An actor. What it needs is made when it is first asked for something, so that a problem can be told in words."""

    def __init__(self, number: int, task: Task) -> None:
        import ray

        self._events = Events(task.log_level)
        self._task = task
        self._interruption = Interruption()
        self._making = threading.Lock()
        ExitStack().enter_context(long_turns())  # as a run has it, for as long as this process lives
        self._made: Distillation | None = None
        adopt_variables({name: value.get_secret_value() for name, value in task.variables.items()})
        life = uuid.uuid4().hex
        # By its name: with a handle among them, Ray keeps the arguments where a restart may not find them any more.
        keeper: Any = ray.get_actor(task.keeper)
        if answer(keeper.announce.remote(number, life)):  # a restart after Ctrl-C: nobody else would tell this process
            self._interruption.interrupt()
        self._privacy: Check = unchecked if task.privacy == "off" else RemoteGate(keeper)
        self._tape = RemoteTape(keeper)
        self._budget = RemoteBudget(keeper, number, life, task.settings.budget_usd)

    @returns_errors
    def place(self) -> Place:
        """Return where this is. Raises ConfigurationError where this node cannot do the work of the driver."""
        import ray

        self._distillation()
        return Place(ray.get_runtime_context().get_node_id(), os.getpid())

    def interrupt(self) -> None:
        """Make no further call."""
        self._interruption.interrupt()

    def distill(self, query: Query, edition: str) -> Outcome:
        """See `Distillation.distill`."""
        usage = Usage()
        try:
            result = self._distillation().distill(query, usage, edition)
        except DragGraphError as error:
            return Outcome(None, error.with_traceback(None), usage, self._events.take())
        return Outcome(result, None, usage, self._events.take())

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
                f"a node of the Ray cluster has drag-graph {__version__} with the embedder {embedder.name!r}, the driver "
                f"{task.version} with {task.embedder!r}",
                hint="Install the same version with the same extras on every node, or name the embedder with --embedder.",
            )
        # The teacher uses of the tape and the budget only what the stand-ins have.
        tape, budget = cast("Tape", self._tape), cast("Budget", self._budget)
        teacher = task.make_teacher(task.settings, tape, budget, self._interruption, self._privacy)
        return Distillation(task.settings, embedder, InterruptibleTeacher(teacher, self._interruption), task.privacy)
