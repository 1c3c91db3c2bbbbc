"""The work of one evaluation: read a task, distill what is missing, and ask in every mode."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

from drag_graph.ask.asker import UNKEPT, Asker
from drag_graph.compose.session import Session, instruction_of
from drag_graph.distill.plans import chosen
from drag_graph.errors import ConfigurationError
from drag_graph.evaluation import baselines, evaluation_run
from drag_graph.evaluation.environment import file_hash, git_hash, versions
from drag_graph.evaluation.evaluation_run import EvaluationMode, LinesOf
from drag_graph.evaluation.intervals import SEED
from drag_graph.evaluation.tasks import Split, TaskItem, admitted, read_task
from drag_graph.files import write_lines
from drag_graph.graph.paging import SUBGRAPHS_PER_PAGE, iter_sources, pages, settings_hashes
from drag_graph.identity import sha256_of
from drag_graph.inputs import InputLine
from drag_graph.model import Mode
from drag_graph.models.model_choice import NEAREST, is_served
from drag_graph.models.model_server import host_of
from drag_graph.models.teachers.curated_teacher import CuratedTeacher
from drag_graph.ports.model_roles import Student
from drag_graph.version import __version__

FOLDERS = Path(".drag-graph/evaluations")
_SETTINGS = (
    *("top_k", "ranking", "alpha", "rank_relations", "statements", "strategy", "merge", "threshold", "domain"),
    *("embedder", "plan", "number_of_evidence", "blind", "extractor", "line_format", "max_lines", "shared_lines"),
    *("line_order", "brief", "token_budget", "max_answer_tokens", "checker", "relevance", "reranker", "scoring"),
    *("quantisation", "seed", "drop_leaks", "teacher_temperature", "merge_similarity", "abstain"),
)
"""Settings that determine the answers."""
OnProgress = Callable[[str, int, int], None]
"""Called with what is counted, the number of finished items and their total."""


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """What to evaluate: a task, the modes, and where questions, passages and the outcome are."""

    task: str
    modes: tuple[EvaluationMode, ...]
    data: Path | None = None
    evidence: str = ""
    split: Split = "all"
    limit: int | None = None
    documents: Path | None = None
    folder: Path | None = None
    search: bool = False


def check_modes(modes: Sequence[str]) -> tuple[EvaluationMode, ...]:
    """Return the modes without repetitions. Raises ConfigurationError for an unknown one."""
    known = get_args(EvaluationMode)
    unknown = [mode for mode in modes if mode not in known]
    if unknown or not modes:
        message = f"Unknown mode {', '.join(unknown)}." if unknown else "No mode is given."
        raise ConfigurationError(message, hint=f"Choose from {', '.join(known)}.")
    return cast("tuple[EvaluationMode, ...]", tuple(dict.fromkeys(modes)))


class EvaluationWork:
    """One evaluation in an open session."""

    def __init__(self, session: Session, plan: EvaluationPlan, on_progress: OnProgress, check: Callable[[], None]) -> None:
        self._session, self._plan = session, plan
        self._settings = session.settings
        self._on_progress, self._check = on_progress, check

    def run(self) -> tuple[Path, dict[str, Any]]:
        """Return the folder of the outcome, and the summary. Raises what stops the evaluation."""
        plan, session = self._plan, self._session
        if plan.search and (plan.evidence or {"shuffled", "rotated"} & set(plan.modes)):
            hint = "Leave out `search=True`, or `evidence=KEY` and the modes shuffled and rotated."
            raise ConfigurationError("A search takes no lines from distilled questions.", hint=hint)
        task = read_task(
            plan.task,
            namespace=self._settings.namespace,
            data=plan.data,
            evidence=plan.evidence,
            split=plan.split,
            limit=plan.limit,
        )
        items = task.items if session.gate is None else admitted(session.gate, task.items)
        student = session.student()
        passages = baselines.read_passages(plan.documents.expanduser()) if plan.documents else []
        about = self._about(student, items) | ({"documents": sha256_of(passages)} if passages else {})
        folder = plan.folder or FOLDERS / f"{Path(plan.task).stem}-{sha256_of(about)[:10]}"
        other_lines = self._other_lines(student, items, passages)  # before anything is distilled, because it checks the modes
        notes = {"left_out": task.left_out, "versions": versions(), "location": session.store.location}
        notes["distilled"] = self._distill(items, folder)
        notes["graphs"] = self._graphs(items)
        if self._settings.shared_lines:
            session.linker().run()
        about |= {"knowledge": self._knowledge(items)}
        evaluation = evaluation_run.Evaluation(
            folder,
            items,
            plan.modes,
            asker=partial(self._asker, student, frozenset(other_lines)),
            own_lines=evaluation_run.searched_lines if plan.search else evaluation_run.own_subgraphs(session.store.read),
            other_lines=other_lines,
            about=about,
            notes=notes,
            page=evaluation_run.PAGE if self._settings.student == NEAREST else 1,
            workers=self._settings.workers if is_served(self._settings.model_for("student")) else 1,
        )
        return folder, evaluation.run(self._counted("answers", len(items) * len(plan.modes)))

    def _counted(self, stage: str, total: int) -> Callable[[int], None]:
        """Return a function that adds to the number of finished items and reports it."""
        done = 0

        def count(number: int) -> None:
            nonlocal done
            done += number
            self._on_progress(stage, done, total)
            self._check()

        return count

    def _asker(self, student: Student, other_modes: frozenset[str], mode: EvaluationMode) -> Asker:
        if mode in other_modes:
            return self._session.asker(student, mode="evidence", unkept=UNKEPT)
        return self._session.asker(student, mode=cast("Mode", mode))

    def _other_lines(
        self, student: Student, items: Sequence[TaskItem], passages: Sequence[str]
    ) -> dict[EvaluationMode, LinesOf]:
        """Return the lines of the modes that do not show an item's own subgraph. Raises ConfigurationError."""
        modes, store = self._plan.modes, self._session.store
        searches = [name for name in get_args(baselines.Baseline) if name in modes]
        if searches and not passages:
            hint = "Pass a file or folder with `documents=PATH`."
            raise ConfigurationError(f"The mode {searches[0]} needs documents.", hint=hint)
        lines: dict[EvaluationMode, LinesOf] = {}
        if "shuffled" in modes:
            lines["shuffled"] = evaluation_run.shuffled_subgraphs(items, store.read)
        if "rotated" in modes:
            lines["rotated"] = evaluation_run.own_subgraphs(store.read)
        find = partial(baselines.passage_lines, count_tokens=student.count_tokens, token_budget=self._settings.token_budget)
        for name in searches:
            lines[name] = find(name, passages, self._session.embedder)
        return lines

    def _distill(self, items: Sequence[TaskItem], folder: Path) -> dict[str, Any]:
        """Distill what is not stored and return the totals. Without a teacher, something must be stored if a mode shows it."""
        plan, session = self._plan, self._session
        teacher = None
        if plan.search:
            if evaluation_run.STORED & set(plan.modes) and not session.store.sources(limit=1):
                raise ConfigurationError("The store is empty.", hint="Read documents first with `drag-graph ingest FOLDER`.")
            return {}
        if plan.evidence:
            path = folder / "evidence.jsonl"
            write_lines(path, (json.dumps(item.curated(), ensure_ascii=False) for item in items))
            teacher = CuratedTeacher(path)
        elif not self._settings.teacher:
            if evaluation_run.STORED & set(plan.modes) and not settings_hashes(
                session.store, [item.query.id for item in items]
            ):
                hint = "Set `teacher=NAME`, pass `evidence=KEY` with the key of the rows' own evidence, or use `modes=none`."
                raise ConfigurationError(f"No question of {plan.task} has been distilled, and no teacher is set.", hint=hint)
            return {}
        lines = [InputLine(number, item.query) for number, item in enumerate(items, start=1)]
        count = self._counted("questions distilled", len(lines))
        report = session.distiller(f"eval {plan.task}", teacher=teacher).run(iter(lines), on_result=lambda _cost: count(1))
        if report.stopped:
            raise report.stopped
        return report.totals()

    def _graphs(self, items: Sequence[TaskItem]) -> dict[str, float]:
        """Return the mean numbers of entities and edges of the items' own subgraphs; nothing if none is stored."""
        stored = pages((item.query.id for item in items), SUBGRAPHS_PER_PAGE)
        sizes = [(len(graph.entities), len(graph.edges)) for page in stored for graph in self._session.store.read(page)]
        sums = zip(("entities", "edges"), map(sum, zip(*sizes, strict=True)), strict=False)
        return {name: number / len(sizes) for name, number in sums}

    def _about(self, student: Student, items: Sequence[TaskItem]) -> dict[str, Any]:
        """Return what determines the outcome."""
        plan, settings = self._plan, self._settings
        servers = {
            name: host_of(getattr(settings, name))
            for name in ("student_base_url", "teacher_base_url", "reranker_base_url", "checker_base_url")
        }
        return {
            "task": Path(plan.task).stem,
            "split": plan.split,
            "search": plan.search,
            "items": sha256_of([[item.query.id, item.query.gold, item.evidence] for item in items]),
            "store": sha256_of([settings.store, settings.namespace])[:12],
            "teacher": f"the set's own {plan.evidence}" if plan.evidence else settings.teacher,
            "student": student.name,
            "model_sha256": file_hash(settings.student),
            "teacher_sha256": file_hash(settings.teacher),
            "scoring": str(getattr(student, "scoring", "none")),
            "instruction": sha256_of(instruction_of(settings))[:12],
            "settings": {name: chosen(settings, name) for name in _SETTINGS} | servers,
            "seed": SEED,
            "version": __version__,
            "git": git_hash(),
        }

    def _knowledge(self, items: Sequence[TaskItem]) -> str:
        """Return a hash of the stored subgraphs that the lines come from: the items' own, or all if a search finds them."""
        if self._plan.search or self._settings.shared_lines:
            return sha256_of([[one.id, one.settings_hash] for one in iter_sources(self._session.store)])
        return sha256_of(settings_hashes(self._session.store, [item.query.id for item in items]))
