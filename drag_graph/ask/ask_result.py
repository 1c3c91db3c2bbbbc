"""The result of asking one question, and the report on a file of questions."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from drag_graph.ask.answer_checks import ABSTAINS, REFUSES
from drag_graph.ask.answer_notes import notes_on
from drag_graph.ask.answers import NOTHING_RELEVANT
from drag_graph.ask.audit_snapshot import places_of
from drag_graph.ask.context_lines import Weighed
from drag_graph.errors import DragGraphError
from drag_graph.model import Answer, Line
from drag_graph.ports.question_gate import Disguise

NOTHING, RESTRICTED = "nothing relevant is stored", " in the selected sources"
UNAIDED = ": the student answered from its own knowledge"
UNSEARCHABLE = "; some evidence is found only by its words before `drag-graph link`"
UNANSWERED = ", so there is no answer"


@dataclass(frozen=True, slots=True)
class NearestLine:
    """The best match of a question for which nothing is relevant: its text, its score, and the threshold that it missed."""

    text: str
    score: float
    threshold: float


@dataclass(frozen=True, slots=True)
class AskResult:
    """An answer together with facts that are known only when it is given."""

    answer: Answer
    input_id: str = ""
    probabilities: tuple[float, ...] = ()
    """Of the options, in their order."""
    context_tokens: int = 0
    reply_tokens: int = 0
    """Number of tokens that the student wrote, under its own tokenizer."""
    how: str = ""
    """How the context lines were found, such as `same question` or `search`."""
    dropped: tuple[tuple[str, str], ...] = ()
    """Text and reason of each line that was found but not shown."""
    problem: str = ""
    """Why the question could not be asked."""
    weighed: Mapping[str, Weighed] = field(default_factory=dict)
    """The weight of each searched line and its components, by ref."""
    nearest: NearestLine | None = None
    has_unsearchable: bool = False
    """Whether evidence is stored that search finds only by its words yet, because it has no vector."""
    is_restricted: bool = False
    """Whether only some of the sources were searched."""
    prompt_hash: str = ""
    """Hash of the whole prompt, as the student received it."""
    not_kept: str = ""
    """Why an answer that has sources was not stored."""
    disguise: Disguise | None = None
    """Generalised parts of the question."""
    is_reidentified: bool = False

    @property
    def stored_id(self) -> str | None:
        """The id under which the answer is stored, or None."""
        return self.answer.id if self.has_sources and not self.not_kept else None

    @property
    def has_sources(self) -> bool:
        """Whether there is something to audit: stored sources, or lines that other sites of a cloud have released."""
        return bool(self.answer.source_ids or self.answer.lines)

    @property
    def is_answered(self) -> bool:
        """Whether the student answered."""
        return not self.problem and (self.how != "nothing" or self.answer.text != NOTHING_RELEVANT)

    @property
    def is_unaided(self) -> bool:
        """Whether the student answered from its own knowledge, because nothing relevant is stored."""
        return self.how == "nothing" and self.is_answered

    @property
    def reason(self) -> str:
        """Why there is no answer, or one without context lines; empty otherwise."""
        if self.problem:
            return self.problem
        if not self.is_answered or self.is_unaided:
            nothing = NOTHING + RESTRICTED * self.is_restricted
            return f"{nothing}{UNAIDED if self.is_answered else UNANSWERED}{UNSEARCHABLE * self.has_unsearchable}"
        if not self.answer.lines and self.answer.mode != "none":
            why = "; ".join(dict.fromkeys(reason for _, reason in self.dropped))
            return f"no line was shown to the student ({why or 'none was found'})"
        if self.abstained or self.facts.get("refused"):
            return ABSTAINS if self.abstained else REFUSES
        if self.answer.options and self.answer.label is None:
            return "the student's reply does not name an option"
        return "" if self.answer.text.strip() else "the student's reply is empty"

    def reidentified(self) -> "AskResult":
        """Return it with the names of persons restored, for display only."""
        if self.disguise is None:
            return self
        return replace(self, answer=self.disguise.restored_answer(self.answer), is_reidentified=True)

    @property
    def site(self) -> Mapping[str, Any]:
        """At a site of a cloud: whether the local answer was sure, and what the cloud replied (docs/how-to/sites.md)."""
        site: Mapping[str, Any] = self.answer.snapshot.get("site", {})
        return site

    @property
    def facts(self) -> Mapping[str, Any]:
        """Of an open answer: its sentences with their support, and whether it was cut off (`AnswerChecker.checked`)."""
        facts: Mapping[str, Any] = self.answer.snapshot.get("reply", {})
        return facts

    @property
    def abstained(self) -> bool:
        """Whether the answer to an open question is that the sources do not answer it."""
        gave_none = self.how == "nothing" and not self.is_answered and not self.answer.options
        return bool(self.facts.get("abstained")) or gave_none

    @property
    def notes(self) -> list[str]:
        """What a reader of the answer should know: unsupported sentences, a cut, a quotation, removed citations."""
        return notes_on(self.facts)

    @property
    def documents(self) -> dict[int, dict[str, Any]]:
        """The document passages behind context lines, by line number."""
        return places_of(self.answer.snapshot)

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the `ask --json` document; `explain` adds scores, probabilities and dropped lines.

        The `score` of a searched line is its weight; `lists` are those that found it. `answer_id` is null if
        the answer was not stored; `not_kept` then gives the reason, unless there is nothing to audit.
        """
        answer = self.answer
        document = {
            "answer_id": self.stored_id,
            **({"not_kept": self.not_kept} if self.not_kept else {}),
            "source_ids": list(answer.source_ids),
            "answer": answer.text,
            **answer.model_dump(include={"label", "confidence", "mode", "student"}),
            "lines": self._lines(explain=explain),
            "truncated": False,
            **self.facts,
            "abstained": self.abstained,
            "prompt_tokens": answer.prompt_tokens,
            "latency_ms": answer.latency_ms,
            **({"reason": self.reason} if self.reason else {}),
            **({"nearest": asdict(self.nearest)} if self.nearest else {}),
            **({"site": self.site} if self.site else {}),
            **({"generalised": self.disguise.generalised()} if self.disguise and self.is_reidentified else {}),
        }
        if explain:
            document |= {
                "how": self.how,
                "options": list(answer.options),
                "probabilities": list(self.probabilities),
                "dropped": [{"text": text, "reason": reason} for text, reason in self.dropped],
                "context_tokens": self.context_tokens,
            }
        return document

    def _lines(self, *, explain: bool) -> list[dict[str, Any]]:
        places = self.documents
        return [
            {
                **line.model_dump(include={"n", "kind", "text", "ref"}),
                **({"document": places[line.n]} if line.n in places else {}),
                **({"site": line.site} if line.site else {}),
                **(self._score(line) if explain else {}),
            }
            for line in self.answer.lines
        ]

    def _score(self, line: Line) -> dict[str, Any]:
        weighed = self.weighed.get(line.ref)
        if weighed is None:
            return {"score": line.score}
        return {
            "score": line.score,
            "lists": [{"list": name, "rank": rank} for name, rank in weighed.ranks],
            "confidence": weighed.confidence,
            "support": weighed.support,
        }


@dataclass(slots=True)
class AnswersReport:
    """The answers to a file of questions. `rejected` has number and reason of each line that is not a question."""

    answers: list[AskResult] = field(default_factory=list)
    rejected: list[tuple[int, str]] = field(default_factory=list)
    stopped: DragGraphError | None = None
    """The error that ended the asking early."""

    @property
    def exit_code(self) -> int:
        """0; 1 if a line was rejected or a question failed; or the code of the error that stopped the asking."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return 1 if self.rejected or any(result.problem for result in self.answers) else 0

    def totals(self) -> dict[str, Any]:
        """Return counts (n, answered, unaided, prompt_tokens) and, if there are gold answers, correct, judged and accuracy."""
        answered = [result for result in self.answers if result.answer.student and result.is_answered]
        judged = [result for result in self.answers if result.answer.correct is not None or result.answer.gold is not None]
        totals: dict[str, Any] = {"n": len(self.answers), "answered": len(answered)}
        totals["unaided"] = sum(result.is_unaided for result in answered)
        if self.rejected:
            totals["rejected"] = len(self.rejected)
        if judged:
            correct = sum(1 for result in judged if result.answer.correct)
            totals |= {"correct": correct, "judged": len(judged), "accuracy": round(correct / len(judged), 6)}
        return totals | {"prompt_tokens": sum(result.answer.prompt_tokens for result in self.answers)}

    def to_dict(self) -> dict[str, Any]:
        """Return the `ask --file --json` document (docs/reference/json.md)."""
        answers = [
            {
                **result.to_dict(),
                "input_id": result.input_id,
                "correct": result.answer.correct,
                **({"error": result.problem} if result.problem else {}),
            }
            for result in self.answers
        ]
        rejected = [{"line": number, "reason": reason} for number, reason in self.rejected]
        stopped = str(self.stopped) if self.stopped else None
        return {"answers": answers, "rejected": rejected, "totals": self.totals(), "stopped": stopped}
