"""Asking: find the subgraphs, choose the lines, let the student answer, keep the answer with its audit (design, section 5).

The order of the steps, without I/O of its own: stores and models come in by their ports.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from drag_graph import log
from drag_graph.errors import DragGraphError, Interrupted, ModelError, ReplyError
from drag_graph.inputs import InputLine, make_query
from drag_graph.lookup import stored_subgraph
from drag_graph.model import Answer, Query, Subgraph
from drag_graph.ports import Embedder, GraphStore, Student
from drag_graph.settings import Settings
from drag_graph.steps import retrieve
from drag_graph.steps.answer import make_answer, no_answer
from drag_graph.steps.audit import snapshot
from drag_graph.steps.prompt import assemble
from drag_graph.steps.serialise import block, candidate_lines, scored, select_lines

BATCH = 64
"""Questions of a file that are looked up, and answers that are written, in one round trip."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer with what only the moment of asking knows."""

    answer: Answer
    source_id: str = ""
    probabilities: tuple[float, ...] = ()
    context_tokens: int = 0
    how: str = ""
    dropped: tuple[tuple[str, str], ...] = ()
    problem: str = ""

    def document(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the `ask --json` document (design, section 6); `explain` adds scores, probabilities and what was dropped.

        `answer_id` is null where nothing stored was used: such an answer is not kept, for there is nothing to audit.
        """
        given = self.answer
        lines = [
            {**line.model_dump(include={"n", "kind", "text", "ref"}), **({"score": line.score} if explain else {})}
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
            "answer_id": given.id if given.query_ids else None,
            "query_ids": list(given.query_ids),
            "answer": given.text,
            "label": given.label,
            "confidence": given.confidence,
            "mode": given.mode,
            "student": given.student,
            "lines": lines,
            "prompt_tokens": given.prompt_tokens,
            "latency_ms": given.latency_ms,
            **(extra if explain else {}),
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
        """Return n, answered and prompt_tokens; where there are gold answers also correct and accuracy."""
        answered = [asked for asked in self.answers if asked.answer.student and asked.how != "nothing" and not asked.problem]
        judged = [asked for asked in self.answers if asked.answer.correct is not None]
        totals: dict[str, Any] = {"n": len(self.answers), "answered": len(answered)}
        if judged:
            correct = sum(1 for asked in judged if asked.answer.correct)
            totals |= {"correct": correct, "accuracy": round(correct / len(judged), 6)}
        return totals | {"prompt_tokens": sum(asked.answer.prompt_tokens for asked in self.answers)}

    def document(self) -> dict[str, Any]:
        """Return the `ask --file --json` document (design, section 6)."""
        answers = [
            {
                **asked.document(),
                "source_id": asked.source_id,
                "correct": asked.answer.correct,
                **({"error": asked.problem} if asked.problem else {}),
            }
            for asked in self.answers
        ]
        rejected = [{"line": number, "reason": reason} for number, reason in self.rejected]
        stopped = str(self.stopped) if self.stopped else None
        return {"answers": answers, "rejected": rejected, "totals": self.totals(), "stopped": stopped}


class Asker:
    """Answers questions from one store with one student. Not thread-safe; use one for each thread."""

    def __init__(self, settings: Settings, store: GraphStore, embedder: Embedder, student: Student) -> None:
        self._settings = settings
        self._store = store
        self._embedder = embedder
        self._student = student

    def ask_stored(self, prefix: str) -> Asked:
        """Ask the stored query whose id begins with `prefix`. Raises NotStored or ConfigurationError as `full_id` does."""
        subgraph = stored_subgraph(self._store, prefix)
        return self._keep([self._answer(subgraph.query, [subgraph], "by id")])[0]

    def ask_text(self, text: str, options: Sequence[str] = ()) -> Asked:
        """Ask a question. Raises QueryInvalid when it is none, ReplyError when the student fails on it."""
        query = make_query(text, list(options) or None, namespace=self._settings.namespace, domain=self._settings.domain)
        return self._keep([self._answer(query, *self._find(query, self._store.read([query.id])))])[0]

    def ask_all(self, lines: Iterable[InputLine], on_answer: Callable[[float], None] = lambda _cost: None) -> AnswersReport:
        """Ask every line; a bad one, or one that the student fails on, is reported and the others go on.

        A student that cannot be used at all, or Ctrl-C, ends it: what was answered is kept, and `AnswersReport.stopped` says
        why. `on_answer` is called after each answer with the cost so far in US dollars (0: a student's cost is not counted).
        """
        report = AnswersReport()
        try:
            for batch in _batches(lines):
                report.rejected += [(line.number, line.problem) for line in batch if line.query is None]
                self._ask_batch([line.query for line in batch if line.query is not None], report, on_answer)
        except ModelError as error:
            report.stopped = error
        except KeyboardInterrupt:
            report.stopped = Interrupted("interrupted; what was answered is kept", hint="Ask again to go on.")
        return report

    def _ask_batch(self, queries: list[Query], report: AnswersReport, on_answer: Callable[[float], None]) -> None:
        stored = {subgraph.query.id: subgraph for subgraph in self._store.read([query.id for query in queries])}
        asked: list[Asked] = []
        try:
            for query in queries:
                asked.append(self._try(query, [stored[query.id]] if query.id in stored else []))
                on_answer(0.0)
        finally:
            report.answers += self._keep(asked)

    def _try(self, query: Query, own: list[Subgraph]) -> Asked:
        try:
            return self._answer(query, *self._find(query, own))
        except ReplyError as error:
            log.event("answer", query=query.id, status="failed", reason=type(error).__name__)
            empty = no_answer(query, student=self._student.name, created_at=_now()).model_copy(update={"text": ""})
            return Asked(empty, source_id=query.source_id, problem=str(error))

    def _find(self, query: Query, own: list[Subgraph]) -> tuple[list[Subgraph], str]:
        """Return the subgraphs to answer from, and how they were found."""
        if own:
            return own, "same question"
        if self._settings.mode == "none":
            return [], "no context"
        vector = self._embedder.embed([query.text])[0]
        near = self._store.nearest_queries([float(value) for value in vector], retrieve.NEIGHBOURS)
        threshold = retrieve.relevance_threshold(self._embedder.name, self._settings.relevance)
        found = self._store.read([query_id for query_id, _ in retrieve.relevant(near, threshold)])
        same = retrieve.same_question(found, query.text)
        if same:
            return same, "same words"
        return found, "nearest" if found else "nothing"

    def _answer(self, query: Query, subgraphs: list[Subgraph], how: str) -> Asked:
        if how == "nothing":
            empty = no_answer(query, student=self._student.name, created_at=_now())
            return Asked(empty, source_id=query.source_id, how=how)
        began = time.monotonic()
        mode = self._settings.mode
        candidates = candidate_lines(subgraphs, mode, self._settings.line_format)
        if how == "nearest" and candidates:
            vectors = self._embedder.embed([query.text, *(item.plain for item in candidates)])
            cosines = vectors[1:] @ vectors[0]
            scores = {item.ref: round(float(cosine), 6) for item, cosine in zip(candidates, cosines, strict=True)}
            candidates = scored(candidates, scores)
        chosen = select_lines(
            candidates,
            count_tokens=self._student.count_tokens,
            token_budget=self._settings.token_budget,
        )
        assembly = assemble(
            query.text,
            query.options,
            chosen.lines,
            count_tokens=self._student.count_tokens,
            context_window=self._student.context_window,
        )
        prompt = assembly.prompt
        reply = self._student.answer(prompt)
        answer = make_answer(
            query,
            reply,
            prompt,
            student=self._student.name,
            mode=mode,
            latency_ms=round((time.monotonic() - began) * 1000),
            created_at=_now(),
            snapshot=snapshot(query.text, prompt.lines, subgraphs),
            subgraphs=subgraphs,
        )
        dropped = tuple((line.text, line.reason) for line in (*chosen.dropped, *assembly.dropped))
        # Only lines that the context window had no room for change what the selection has counted.
        context = self._student.count_tokens(block(prompt.lines)) if assembly.dropped else chosen.tokens
        return Asked(answer, query.source_id, reply.probabilities, context, how, dropped)

    def _keep(self, asked: list[Asked]) -> list[Asked]:
        """Store the answers in one transaction; what rests on nothing stored is not kept, for there is nothing to audit."""
        kept = [one.answer for one in asked if one.answer.query_ids and not one.problem]
        if kept:
            self._store.save_answers(kept)
        return asked


def _batches(lines: Iterable[InputLine]) -> Iterator[list[InputLine]]:
    stream = iter(lines)
    while batch := list(islice(stream, BATCH)):
        yield batch


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
