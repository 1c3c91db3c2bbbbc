"""Asking: find the subgraphs, choose the lines, let the student answer, keep the answer with its audit.

The order of the steps, without I/O of its own: stores and models come in by their ports.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from drag_graph import log
from drag_graph.ask.answer import NOTHING_RELEVANT, make_answer, no_answer
from drag_graph.ask.audit import snapshot
from drag_graph.ask.find import Finder, Found
from drag_graph.ask.fuse import Weighed
from drag_graph.ask.lines import block, select_lines
from drag_graph.ask.prompt import assemble
from drag_graph.errors import DragGraphError, Interrupted, ModelError, ReplyError, StoreError
from drag_graph.identity import sha256_of
from drag_graph.inputs import InputLine, make_query
from drag_graph.manage.resolve_id import stored_subgraph
from drag_graph.model import Answer, Line, Query, Subgraph
from drag_graph.paging import pages
from drag_graph.ports.models import Embedder, Student
from drag_graph.ports.store import GraphStore
from drag_graph.settings import Settings

GONE = "something that it rests on was erased or replaced while it was given"
UNKEPT = "it was not to be kept"
UNAIDED = "nothing relevant is stored: the student answered from what it knows"
UNANSWERED = "nothing relevant is stored, and the student knows nothing by itself"
BATCH = 64
"""Questions of a file that are looked up, and answers that are written, in one round trip."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer with what only the moment of asking knows."""

    answer: Answer
    input_id: str = ""
    probabilities: tuple[float, ...] = ()
    context_tokens: int = 0
    how: str = ""
    dropped: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    weighed: Mapping[str, Weighed] = field(default_factory=dict)
    """What each searched line weighs and why, by ref."""
    prompt_hash: str = ""
    """Hash of the whole prompt, as the student got it."""
    not_kept: str = ""
    """Why an answer that rests on what is stored was not kept."""

    @property
    def kept_as(self) -> str | None:
        """The id that the answer is stored under, or None where it was not kept."""
        return self.answer.id if self.answer.source_ids and not self.not_kept else None

    @property
    def is_answered(self) -> bool:
        """Whether the student said something."""
        return not self.problem and (self.how != "nothing" or self.answer.text != NOTHING_RELEVANT)

    @property
    def is_unaided(self) -> bool:
        """Whether the student answered from what it knows, because nothing relevant is stored."""
        return self.how == "nothing" and self.is_answered

    @property
    def reason(self) -> str:
        """Why there is no answer, or one that rests on no line; '' where there is one."""
        if self.problem:
            return self.problem
        if not self.is_answered:
            return UNANSWERED
        if self.is_unaided:
            return UNAIDED
        if not self.answer.lines and self.answer.mode != "none":
            why = "; ".join(dict.fromkeys(reason for _, reason in self.dropped))
            return f"no line was shown to the student ({why or 'none was found'})"
        if self.answer.options and self.answer.label is None:
            return "the student's reply names none of the options"
        return "" if self.answer.text.strip() else "the student's reply is empty"

    def document(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the `ask --json` document; `explain` adds scores, probabilities and what was dropped.

        A searched line's `score` is its weight; `fused`, `lists` (each with the rank of what led to the line, and the hops),
        `hop`, `confidence` and `support` say what it is made of (docs/asking.md).

        `answer_id` is null where nothing stored was used: such an answer is not kept, for there is nothing to audit. So it is
        where what was used was erased or replaced meanwhile, or the answer was not to be kept; then `not_kept` says so.
        """
        given = self.answer
        lines = [
            {**line.model_dump(include={"n", "kind", "text", "ref"}), **(self._why(line) if explain else {})}
            for line in given.lines
        ]
        extra = {
            "how": self.how,
            "options": list(given.options),
            "probabilities": list(self.probabilities),
            "dropped": [{"text": text, "reason": reason} for text, reason in self.dropped],
            "context_tokens": self.context_tokens,
        }
        return {
            "answer_id": self.kept_as,
            **({"not_kept": self.not_kept} if self.not_kept else {}),
            "source_ids": list(given.source_ids),
            "answer": given.text,
            "label": given.label,
            "confidence": given.confidence,
            "mode": given.mode,
            "student": given.student,
            "lines": lines,
            "prompt_tokens": given.prompt_tokens,
            "latency_ms": given.latency_ms,
            **({"reason": self.reason} if self.reason else {}),
            **(extra if explain else {}),
        }

    def _why(self, line: Line) -> dict[str, Any]:
        found = self.weighed.get(line.ref)
        if found is None:
            return {"score": line.score}
        return {
            "score": line.score,
            "fused": round(found.fused, 6),
            "lists": [{"list": way.list, "rank": way.rank, "hop": way.hop} for way in found.ways],
            "hop": found.hop,
            "confidence": found.confidence,
            "support": found.support,
        }


@dataclass(slots=True)
class AnswersReport:
    """What became of a file of questions. `rejected` are (line number, reason) pairs of lines that are no questions."""

    answers: list[Asked] = field(default_factory=list)
    rejected: list[tuple[int, str]] = field(default_factory=list)
    stopped: DragGraphError | None = None

    @property
    def exit_code(self) -> int:
        """0, 1 when a line was rejected or a student failed on one, or the code of what ended the asking early."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return 1 if self.rejected or any(asked.problem for asked in self.answers) else 0

    def totals(self) -> dict[str, Any]:
        """Return n, answered, unaided of these, and prompt_tokens; where there are gold answers also correct and accuracy."""
        answered = [asked for asked in self.answers if asked.answer.student and asked.is_answered]
        judged = [asked for asked in self.answers if asked.answer.gold is not None]
        totals: dict[str, Any] = {"n": len(self.answers), "answered": len(answered)}
        totals["unaided"] = sum(asked.is_unaided for asked in answered)
        if judged:
            correct = sum(1 for asked in judged if asked.answer.correct)
            totals |= {"correct": correct, "accuracy": round(correct / len(judged), 6)}
        return totals | {"prompt_tokens": sum(asked.answer.prompt_tokens for asked in self.answers)}

    def document(self) -> dict[str, Any]:
        """Return the `ask --file --json` document (docs/design.md, section 6)."""
        answers = [
            {
                **asked.document(),
                "input_id": asked.input_id,
                "correct": asked.answer.correct,
                **({"error": asked.problem} if asked.problem else {}),
            }
            for asked in self.answers
        ]
        rejected = [{"line": number, "reason": reason} for number, reason in self.rejected]
        stopped = str(self.stopped) if self.stopped else None
        return {"answers": answers, "rejected": rejected, "totals": self.totals(), "stopped": stopped}


class Asker:
    """Answers questions from one store with one student; with `keep` false it writes nothing. Not thread-safe."""

    def __init__(
        self, settings: Settings, store: GraphStore, embedder: Embedder, student: Student, *, keep: bool = True
    ) -> None:
        self._settings = settings
        self._store = store
        self._keeps = keep
        self._student = student
        self._finder = Finder(settings, store, embedder)

    def ask_stored(self, prefix: str) -> Asked:
        """Ask the stored query whose id begins with `prefix`. Raises NotStored or ConfigurationError as `full_id` does."""
        subgraph = stored_subgraph(self._store, prefix)
        return self._keep([self._answer(subgraph.query, self._finder.of_own(subgraph.query, [subgraph], "by id"))])[0]

    def ask(self, query: Query) -> Asked:
        """Ask a question. Raises ReplyError when the student fails on it."""
        return self._keep([self._answer(query, self._finder.find(query))])[0]

    def ask_text(self, text: str, options: Sequence[str] = ()) -> Asked:
        """Ask a question as `ask`. Raises QueryInvalid, too, when it is none."""
        return self.ask(
            make_query(text, list(options) or None, namespace=self._settings.namespace, domain=self._settings.domain)
        )

    def ask_all(self, lines: Iterable[InputLine], on_answer: Callable[[float], None] = lambda _cost: None) -> AnswersReport:
        """Ask every line; a bad one, or one that the student fails on, is reported and the others go on.

        A store or a student that cannot be used at all, or Ctrl-C, ends it: what was answered is reported, and
        `AnswersReport.stopped` says why. After a store or student has failed, the questions that are left say so, too.
        `on_answer` is called after each answer with the cost so far in US dollars (0: a student's cost is not counted).
        """
        report = AnswersReport()
        try:
            for batch in pages(lines, BATCH):
                report.rejected += [(line.number, line.problem) for line in batch if line.query is None]
                self._ask_batch([line.query for line in batch if line.query is not None], report, on_answer)
        except KeyboardInterrupt:
            report.stopped = _interrupted()
        return report

    def missing(self, lines: Iterable[InputLine]) -> list[InputLine]:
        """Return the questions for which nothing relevant is stored."""
        return [line for line in lines if line.query is not None and self._finder.find(line.query).how == "nothing"]

    def ask_with(
        self,
        questions: Sequence[tuple[Query, Sequence[Subgraph]]],
        on_answer: Callable[[float], None] = lambda _cost: None,
        *,
        own: bool,
    ) -> AnswersReport:
        """Ask each question with the lines of the subgraphs beside it, or without lines where there is none.

        Where these are the questions' `own`, the answers are kept, and lines that others brought may stand beside them.
        What ends the asking is in `stopped`; the answers are then those given until then, in order.
        """
        report = AnswersReport()
        asked: list[Asked] = []
        try:
            for query, subgraphs in questions:
                asked.append(self._try(query, subgraphs, own=own))
                on_answer(0.0)
        except (ModelError, StoreError) as error:
            report.stopped = error
        except KeyboardInterrupt:
            report.stopped = _interrupted()
        report.answers = self._kept(asked, report) if own else [replace(one, not_kept=UNKEPT) for one in asked]
        return report

    def _ask_batch(self, queries: list[Query], report: AnswersReport, on_answer: Callable[[float], None]) -> None:
        asked: list[Asked] = []
        try:
            stored = {} if report.stopped else {item.source_id: item for item in self._store.read([one.id for one in queries])}
            for query in () if report.stopped else queries:
                asked.append(self._try(query, [stored[query.id]] if query.id in stored else None))
                on_answer(0.0)
        except (ModelError, StoreError) as error:
            report.stopped = error
        finally:
            report.answers += self._kept(asked, report)
        report.answers += [self._failed(query, f"not asked: {report.stopped}") for query in queries[len(asked) :]]

    def _kept(self, asked: list[Asked], report: AnswersReport) -> list[Asked]:
        """Store the answers, or say of each why it cannot be stored."""
        try:
            return self._keep(asked)
        except StoreError as error:
            report.stopped = error
            return [replace(one, not_kept=str(error)) for one in asked]

    def _try(self, query: Query, subgraphs: Sequence[Subgraph] | None, *, own: bool = True) -> Asked:
        """Ask with the lines of these subgraphs, the question's `own` or not; with those of a search where they are None."""
        try:
            if subgraphs is None:
                found = self._finder.search(query)
            elif own:
                found = self._finder.of_own(query, subgraphs, "same question")
            else:
                found = self._finder.of_subgraphs(subgraphs, "same question")
            return self._answer(query, found)
        except ReplyError as error:
            log.event("answer", query=query.id, status="failed", reason=type(error).__name__)
            return self._failed(query, str(error))

    def _failed(self, query: Query, problem: str) -> Asked:
        empty = no_answer(query, student=self._student.name, created_at=_now()).model_copy(update={"text": ""})
        return Asked(empty, input_id=query.input_id, problem=problem)

    def _answer(self, query: Query, found: Found) -> Asked:
        began = time.monotonic()
        mode = self._settings.mode if found.how != "nothing" else "none"
        chosen = select_lines(
            found.candidates,
            count_tokens=self._student.count_tokens,
            token_budget=self._settings.token_budget,
            max_lines=self._settings.max_lines,
        )
        assembly = assemble(
            query.text,
            query.options,
            chosen.lines,
            count_tokens=self._student.count_tokens,
            context_window=self._student.context_window,
            layout=replace(self._student.layout, best_last=self._settings.line_order == "best-last"),
        )
        prompt = assembly.prompt
        reply = self._student.answer(prompt)
        if found.how == "nothing" and not reply.text:
            empty = no_answer(query, student=self._student.name, created_at=_now())
            return Asked(empty, input_id=query.input_id, how=found.how)
        shown = _shown_of(found, prompt.lines)
        answer = make_answer(
            query,
            reply,
            prompt,
            student=self._student.name,
            mode=mode,
            latency_ms=round((time.monotonic() - began) * 1000),
            created_at=_now(),
            snapshot=snapshot(query.text, prompt.lines, shown, line_order=self._settings.line_order),
            subgraphs=shown,
        )
        dropped = (*((line.text, line.reason) for line in (*chosen.dropped, *assembly.dropped)), *found.dropped)
        # Only lines that the context window had no room for change what the selection has counted.
        context = self._student.count_tokens(block(prompt.lines)) if assembly.dropped else chosen.tokens
        asked = Asked(answer, query.input_id, reply.probabilities, context, found.how, dropped, weighed=found.weighed)
        return replace(asked, prompt_hash=sha256_of([prompt.text]))

    def _keep(self, asked: list[Asked]) -> list[Asked]:
        """Store the answers in one transaction; what rests on nothing stored is not kept, for there is nothing to audit."""
        kept = [one.answer for one in asked if one.answer.source_ids and not one.problem]
        ids = {answer.id for answer in kept}
        gone = (self._store.save_answers(kept) if kept else frozenset()) if self._keeps else ids
        why = GONE if self._keeps else UNKEPT
        return [replace(one, not_kept=why) if one.answer.id in gone else one for one in asked]


def _shown_of(found: Found, lines: Sequence[Line]) -> Sequence[Subgraph]:
    """Return what an answer rests on: of searched subgraphs those that gave a line, or the first where none did."""
    if not found.weighed:
        return found.subgraphs
    shown = {line.source_id for line in lines}
    return [graph for graph in found.subgraphs if graph.source_id in shown] or found.subgraphs[:1]


def _interrupted() -> Interrupted:
    return Interrupted("interrupted; what was answered is kept", hint="Ask again to go on.")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
