"""A session: an open store with the models and the privacy gate that the settings choose, and the work on them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast
from weakref import WeakSet

from drag_graph.ask.asker import Asker
from drag_graph.compose.model_factories import (
    file_teacher,
    make_batch_teacher,
    make_embedder,
    make_student,
    make_teacher,
    opened_gate,
    privacy_level,
    student_is_here,
)
from drag_graph.compose.store_opening import open_store
from drag_graph.concurrency.interruption import InterruptibleTeacher, Interruption
from drag_graph.distill.cost_estimate import EstimateBasis
from drag_graph.distill.query_distillation import Distillation
from drag_graph.errors import ConfigurationError, StoreError, StoreUnavailable
from drag_graph.graph.paging import settings_hashes
from drag_graph.jobs.batch_rounds import Rounds
from drag_graph.jobs.distill_job import Distiller, Distills
from drag_graph.jobs.link_job import Linker, OnProgress
from drag_graph.jobs.stale_queries import KIND, source_of
from drag_graph.ledger import Ledger
from drag_graph.model import Mode
from drag_graph.models.locality import Check, unchecked
from drag_graph.models.model_choice import FILES, student_of
from drag_graph.ports.graph_store import GraphStore, Replace, Staleness
from drag_graph.ports.model_roles import Embedder, Student, Teacher
from drag_graph.ports.run_journal import Run, start_run
from drag_graph.ports.setting_types import Role
from drag_graph.settings import Settings

if TYPE_CHECKING:
    from drag_graph.jobs.ray import RayDistillation
    from drag_graph.models.teachers.batch_teacher import BatchTeacher
    from drag_graph.privacy.privacy_gate import PrivacyGate

MakeTeacher = Callable[[Settings, Run, Interruption, Ledger, Check | None], Teacher]
RECENT_RUNS = 50
"""Number of runs among which a refresh looks for one to resume."""


class Session:
    """An open store with its models, and the work on them. A context manager.

    `student` returns a shared student. `claimed` are stores in which the embedder is known to be recorded. A session that does
    not own its store leaves it open.
    """

    def __init__(
        self,
        settings: Settings,
        store: GraphStore,
        embedder: Embedder,
        gate: "PrivacyGate | None" = None,
        *,
        student: Callable[[], Student] | None = None,
        owns_store: bool = True,
        claimed: "WeakSet[GraphStore] | None" = None,
    ) -> None:
        self.settings = settings
        self.store = store
        self.embedder = embedder
        self.gate = gate
        self._make_student = student or (lambda: make_student(settings, embedder, self.outgoing_check))
        self._claimed: WeakSet[GraphStore] = WeakSet() if claimed is None else claimed
        self._ledger: Ledger | None = None
        self._ray: RayDistillation | None = None
        self._opened = ExitStack()
        if owns_store:
            self._opened.callback(store.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._opened.close()

    def teacher_of(self, run: Run, interruption: Interruption, role: Role = "teacher") -> Teacher:
        """Return the model of a role for a run. It is closed with the session."""
        return InterruptibleTeacher(self._opened_teacher(partial(make_teacher, role=role), run, interruption), interruption)

    def _opened_teacher(self, make: MakeTeacher, run: Run, interruption: Interruption) -> Teacher:
        teacher = make(self.settings, run, interruption, self.ledger, self.outgoing_check)
        self._opened.callback(teacher.close)
        return teacher

    @property
    def ledger(self) -> Ledger:
        """The store's ledger."""
        if self._ledger is None:
            self._ledger = self._opened.enter_context(Ledger(self.settings.ledger_path))
        return self._ledger

    def distiller(
        self,
        source: str = "",
        *,
        teacher: Teacher | None = None,
        retry_quarantined: bool = False,
        replace: Replace = False,
        interruption: Interruption | None = None,
    ) -> Distiller:
        """Return a run of the distillation, with the teacher of the settings unless another is given.

        `source` names the origin of the questions. Runs with the same source share their results and their budget.
        """
        options: dict[str, Any] = {"retry_quarantined": retry_quarantined, "interruption": interruption}
        return self._distiller("distill", source, teacher, replace=replace, **options)[0]

    def batch_distiller(
        self,
        source: str = "",
        *,
        wait: bool = True,
        retry_quarantined: bool = False,
        interruption: Interruption | None = None,
    ) -> Rounds:
        """Return a run like `distiller` whose requests go to the provider's batch API (docs/adr/0013).

        Without `wait` it ends once its requests are submitted. Raises ConfigurationError if the teacher has no batch API.
        """
        options: dict[str, Any] = {"retry_quarantined": retry_quarantined, "interruption": interruption}
        distiller, teacher = self._distiller("distill", source, None, make=make_batch_teacher, **options)
        return Rounds(
            distiller,
            cast("BatchTeacher", teacher),
            wait=wait,
            longest_wait=self.settings.batch_poll_seconds,
        )

    def refresher(
        self,
        reasons: Sequence[Staleness],
        *,
        teacher: Teacher | None = None,
        retry_quarantined: bool = False,
        interruption: Interruption | None = None,
    ) -> Distiller:
        """Return a run like `distiller` for the queries that are stale for these reasons (`drag_graph.jobs.stale_queries`)."""
        earlier = [run for run, *_ in self.ledger.journal.runs(self.settings.namespace, RECENT_RUNS) if run.store == self.place]
        source = source_of(reasons, earlier, datetime.now(UTC))
        return self._distiller(KIND, source, teacher, retry_quarantined=retry_quarantined, interruption=interruption)[0]

    @property
    def place(self) -> str:
        """The store's address, as runs record it."""
        return self.store.location if self.settings.uses_neo4j else str(Path(self.settings.store).expanduser().resolve())

    def _distiller(
        self,
        kind: str,
        source: str,
        teacher: Teacher | None,
        *,
        retry_quarantined: bool,
        interruption: Interruption | None,
        replace: Replace = False,
        make: MakeTeacher | None = None,
    ) -> tuple[Distiller, Teacher | None]:
        """Return a run and its teacher; None on Ray, whose processes have their own."""
        if self.gate is not None and kind != KIND:  # the source may be a question or the name of a file
            source = self.gate.mark(source)
        run = start_run(
            kind=kind,
            namespace=self.settings.namespace,
            store=self.place,
            source=source,
            teacher=self.settings.teacher if teacher is None else teacher.name,
            plan=self.settings.plan,
        )
        self.store.embedder((self.embedder.name, self.embedder.dimension))
        interruption = interruption or Interruption()
        if self.settings.engine == "ray":
            distills = self._on_ray(run, interruption, by_others=teacher is not None or make is not None)
        else:
            teacher = teacher or self._opened_teacher(make or make_teacher, run, interruption)
            distills = Distillation(self.settings, self.embedder, InterruptibleTeacher(teacher, interruption), self.fingerprint)
        distiller = Distiller(
            self.store,
            distills,
            self.ledger.journal,
            run,
            workers=self.settings.workers,
            retry_quarantined=retry_quarantined,
            replace=replace,
            interruption=interruption,
            admit=self.gate.admit if self.gate else lambda lines: lines,
        )
        return distiller, teacher

    @property
    def fingerprint(self) -> str:
        """The gate's level and detectors; `off` without a gate."""
        return self.gate.fingerprint if self.gate else "off"

    @property
    def outgoing_check(self) -> Check | None:
        """The privacy gate's check of outgoing texts. None if a gate is required but missing: then nothing is sent."""
        if self.gate is None:
            return unchecked if privacy_level(self.settings) == "off" else None
        return self.gate.outgoing

    def _on_ray(self, run: Run, interruption: Interruption, *, by_others: bool) -> Distills:
        if by_others:
            raise ConfigurationError("--engine ray does not support batches.", hint="Leave out --engine ray or --batch.")
        from drag_graph.jobs.ray import RayDistillation

        settings = self.settings.model_copy(update={"privacy": privacy_level(self.settings)})
        distills = self._ray = RayDistillation(
            settings, self.embedder, run, privacy=self.fingerprint, interruption=interruption
        )
        self._opened.callback(distills.close)
        return distills

    def linker(self, on_progress: OnProgress | None = None, interruption: Interruption | None = None) -> Linker:
        """Return the run that links the stored sources. Raises StoreUnfit if another embedder filled the store."""
        self._check_embedder()
        return Linker(
            self.store.concepts, self.store.namespace, self.embedder, _now, on_progress=on_progress, interruption=interruption
        )

    def student(self) -> Student:
        """Return the student of the settings."""
        return self._make_student()

    def teacher_as_student(self) -> Student:
        """Return the teacher's model as a student, with automatic scoring."""
        return student_of(self.settings.model_for("teacher"), self.settings, self.embedder, self.outgoing_check)

    def asker(
        self,
        student: Student | None = None,
        *,
        unkept: str = "",
        mode: Mode | None = None,
        on_this_machine: bool | None = None,
    ) -> Asker:
        """Return an asker with the student and mode of the settings unless others are given.

        Answers are stored unless there is a reason why they are `unkept`. A student `on_this_machine` is asked the original
        question; by default this depends on the settings.

        Raises StoreUnfit if another embedder filled the store, or if answers cannot be stored because it can only be read.
        """
        self._check_embedder(writes=not unkept)
        settings = self.settings.model_copy(update={"mode": mode}) if mode else self.settings
        is_here = student_is_here(settings) if on_this_machine is None else on_this_machine
        return Asker(
            settings,
            self.store,
            self.embedder,
            student or self.student(),
            unkept=unkept,
            gate=self.gate,
            on_this_machine=is_here,
        )

    def _check_embedder(self, *, writes: bool = True) -> None:
        """Raise StoreUnfit if another embedder filled the store, or if a store opened for writing can only be read."""
        own, recorded = (self.embedder.name, self.embedder.dimension), self.store.embedder()
        if recorded is not None and (recorded != own or (writes and self.store not in self._claimed)):
            self.store.embedder(own)
            self._claimed.add(self.store)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def open_session(
    settings: Settings, *, create: bool = True, read_only: bool = False, asks: bool = False, role: Role = "teacher"
) -> Session:
    """Open the privacy gate, the store and the embedder. Raises StoreError or ConfigurationError.

    Without `create`, a missing embedded store is an error. `asks`: the student takes part, which counts for the privacy level.
    """
    settings = settings.model_copy(update={"privacy": privacy_level(settings, role=role, asks=asks)})
    with ExitStack() as opened:
        gate = opened.enter_context(opened_gate(settings))
        embedder = make_embedder(settings, gate.outgoing if gate else unchecked)
        session = Session(settings, open_store(settings, create=create, read_only=read_only), embedder, gate)
        session._opened.push(opened.pop_all())  # noqa: SLF001 - the session closes them
    return session


@contextmanager
def estimate_basis(
    settings: Settings, *, role: Role = "teacher", retry_quarantined: bool = False
) -> Iterator[tuple[EstimateBasis, str]]:
    """Lend what a dry run may use of the store and the tape, and a message about what it cannot use.

    Nothing is created or written. A store that does not exist or cannot be reached counts as empty. Without a working privacy
    gate nothing counts as stored or recorded.
    """
    with ExitStack() as opened:
        settings = settings.model_copy(update={"privacy": privacy_level(settings, role=role)})
        try:
            gate = opened.enter_context(opened_gate(settings, keep=False))
        except ConfigurationError as error:
            note = f"Questions are counted as written, and none as stored. {error}"
            yield EstimateBasis(make_embedder(settings), privacy="no working gate"), note
            return
        embedder = make_embedder(settings, gate.outgoing if gate else unchecked)
        path = settings.ledger_path
        ledger = opened.enter_context(Ledger(path, read_only=True)) if path.exists() else None
        model = settings.model_for(role).name
        if model.startswith(FILES):
            teacher = file_teacher(model)
            opened.callback(teacher.close)
            basis = EstimateBasis(embedder, fingerprint=teacher.fingerprint)
        else:
            basis = EstimateBasis(embedder, tape=ledger.tape if ledger is not None else None)
        if gate is not None:
            basis = replace(basis, admit=gate.admit, privacy=gate.fingerprint)
        if ledger is not None and not retry_quarantined:
            basis = replace(basis, quarantined=ledger.journal.quarantined)
        try:
            # A dry run must not wait long for a server that is down.
            soon = settings.model_copy(update={"store_timeout": min(settings.store_timeout, 5.0)})
            store = opened.enter_context(open_store(soon, create=False, migrate=False, read_only=True))
            store.sources(limit=1)
        except StoreUnavailable as error:
            absent = not settings.uses_neo4j and not Path(settings.store).expanduser().exists()
            yield basis, "" if absent else f"No question counts as stored. {error}"
        except StoreError as error:  # for example older than this code; only a distillation migrates it
            yield basis, f"No question counts as stored. {error}"
        else:
            yield replace(basis, stored=partial(settings_hashes, store)), ""
