"""What became of asking: an answer with what only the moment of asking knows, and the report of a file of questions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from drag_graph.ask.answers import NOTHING_RELEVANT
from drag_graph.ask.audit_snapshot import document_of
from drag_graph.ask.line_weights import Weighed
from drag_graph.errors import DragGraphError
from drag_graph.model import Answer, Line
from drag_graph.ports.question_gate import Disguise

UNAIDED = "nothing relevant is stored: the student answered from what it knows"
UNANSWERED = "nothing relevant is stored, and the student knows nothing by itself"


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
    disguise: Disguise | None = None
    """What was generalised for the question."""
    is_reidentified: bool = False
    edge: Mapping[str, Any] = field(default_factory=dict)
    """At an edge of a cloud: whether the local answer was sure, and what the cloud said (docs/edges.md)."""

    @property
    def kept_as(self) -> str | None:
        """The id that the answer is stored under, or None where it was not kept."""
        return self.answer.id if self.rests_on_something and not self.not_kept else None

    @property
    def rests_on_something(self) -> bool:
        """Whether there is something to audit: what is stored, or lines that other edges of a cloud have released."""
        return bool(self.answer.source_ids or self.answer.lines)

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

    def reidentified(self) -> "Asked":
        """Return it with the names of persons put back, to be shown and never kept."""
        if self.disguise is None:
            return self
        return replace(self, answer=self.disguise.restored_answer(self.answer), is_reidentified=True)

    @property
    def documents(self) -> dict[int, dict[str, Any]]:
        """The passages of documents that lines rest on, by the line's number."""
        lines = self.answer.snapshot.get("lines", ())
        return {line["n"]: place for line in lines if (place := document_of(line))}

    def document(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the `ask --json` document; `explain` adds scores, probabilities and what was dropped.

        A searched line's `score` is its weight; `fused`, `lists` (each with the rank of what led to the line, and the hops),
        `hop`, `confidence` and `support` say what it is made of (docs/asking.md).

        A line that rests on a document has its `document`: id, name, and the characters from `start` up to `end` of its text.
        One that another edge of a cloud has released names that `edge`.

        `answer_id` is null where nothing stored was used: such an answer is not kept, for there is nothing to audit. So it is
        where what was used was erased or replaced meanwhile, or the answer was not to be kept; then `not_kept` says so.
        """
        given = self.answer
        places = self.documents
        lines = [
            {
                **line.model_dump(include={"n", "kind", "text", "ref"}),
                **({"document": places[line.n]} if line.n in places else {}),
                **({"edge": line.edge} if line.edge else {}),
                **(self._why(line) if explain else {}),
            }
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
            **({"edge": self.edge} if self.edge else {}),
            **({"generalised": self.disguise.generalised()} if self.disguise and self.is_reidentified else {}),
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
        judged = [asked for asked in self.answers if asked.answer.correct is not None or asked.answer.gold is not None]
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
