"""Results of asking and tracing: answers, audits, lists."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

from drag_graph.app.answer_tracing import Audit, Tracing
from drag_graph.ask.ask_result import AnswersReport, AskResult
from drag_graph.errors import DragGraphError, StoreError
from drag_graph.graph.rejected_claims import claims_of_edges
from drag_graph.model import Answer, Line, Subgraph
from drag_graph.ports.correction_store import RejectedClaims
from drag_graph.report.audit_document import subgraph_text


class ContextLines(tuple[Line, ...]):
    """Context lines that print as numbered texts."""

    __slots__ = ()

    def __str__(self) -> str:
        return "".join(f"\n  {line.n}. {line.text}" for line in self) or "(no context lines)"


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer as `ask` returns it."""

    result: AskResult
    _tracing: Tracing = field(repr=False, compare=False)
    not_distilled: tuple[str, ...] = ()
    """Why the teacher's evidence for the question is missing, if `distill_missing` could not get it."""

    @property
    def id(self) -> str:
        """The id, by which `audit` finds a stored answer."""
        return self.result.answer.id

    @property
    def text(self) -> str:
        """The answer; for a question with options, the option's text."""
        return self.result.answer.text

    @property
    def label(self) -> str | None:
        """The letter of the chosen option."""
        return self.result.answer.label

    @property
    def confidence(self) -> float:
        """From 0 to 1; its meaning depends on the student."""
        return self.result.answer.confidence

    @property
    def lines(self) -> "ContextLines":
        """The context lines, best first. Printed, they are numbered texts, one per line."""
        return ContextLines(self.result.answer.lines)

    @property
    def sentences(self) -> list[dict[str, Any]]:
        """The sentences of an open answer: `text`, numbers of `lines`, and whether they are `supported` (None: not checked)."""
        return list(self.result.facts.get("sentences", ()))

    @property
    def abstained(self) -> bool:
        """Whether the answer says that the sources do not answer the question."""
        return self.result.abstained

    @property
    def reason(self) -> str:
        """Why there is no answer, or one without context lines; empty otherwise."""
        return self.result.reason

    def audit(self) -> Audit:
        """Trace the answer back to evidence and teacher calls. Raises NotStored if there is nothing to audit."""
        return self._tracing.audit(self.result.answer)

    def reidentified(self) -> "GivenAnswer":
        """Return it with the names that the privacy gate took out, for display only."""
        return replace(self, result=self.result.reidentified())

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the `ask --json` document; `explain` adds scores, probabilities and dropped lines."""
        return self.result.to_dict(explain=explain)

    def __str__(self) -> str:
        return f"{self.label}. {self.text}" if self.label else self.text

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{line.n}</td><td>{line.kind}</td><td style='text-align:left'>{escape(line.text)}</td></tr>"
            for line in self.lines
        )
        answer = self.result.answer
        facts = f"confidence {self.confidence:.2f}, mode {answer.mode}, student {answer.student}"
        reason = f"<p>{escape(self.reason[:1].upper() + self.reason[1:])}.</p>" if self.reason else ""
        heads = "".join(f"<th style='text-align:left'>{name}</th>" for name in ("", "kind", "context line"))
        reason += "".join(f"<p>{escape(note)}</p>" for note in self.result.notes)
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
        return f"<p>{escape(answer.question)}</p><p><b>{escape(str(self))}</b> ({escape(facts)})</p>{reason}{table}"


@dataclass(frozen=True, slots=True)
class GivenAnswers(Sequence[GivenAnswer]):
    """The answers to several questions, in their order, and what became of the other lines of a file."""

    report: AnswersReport
    _tracing: Tracing = field(repr=False, compare=False)
    not_distilled: tuple[str, ...] = ()

    @property
    def stopped(self) -> DragGraphError | None:
        """The error that ended the asking early."""
        return self.report.stopped

    @property
    def exit_code(self) -> int:
        """The exit code of the command line: 1 if a line was rejected, or a question failed or could not be distilled."""
        return self.report.exit_code or min(len(self.not_distilled), 1)

    @property
    def totals(self) -> dict[str, Any]:
        """Counts, and the accuracy if there are gold answers."""
        return self.report.totals()

    def reidentified(self) -> "GivenAnswers":
        """Return them with the names that the privacy gate took out, for display only."""
        results = [result.reidentified() for result in self.report.answers]
        return replace(self, report=replace(self.report, answers=results))

    def to_dict(self) -> dict[str, Any]:
        """Return the `ask --file --json` document."""
        return self.report.to_dict()

    def __len__(self) -> int:
        return len(self.report.answers)

    def __getitem__(self, place: Any) -> Any:
        results = self.report.answers[place]
        if isinstance(results, list):
            return [GivenAnswer(result, self._tracing) for result in results]
        return GivenAnswer(results, self._tracing)


@dataclass(frozen=True, slots=True)
class AnswerList:
    """Stored answers, newest first; `has_more` if there are older ones, `location` names store and namespace."""

    answers: tuple[Answer, ...]
    location: str
    has_more: bool

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the `answers --json` document."""
        return [answer.model_dump(mode="json", exclude={"snapshot"}) for answer in self.answers]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer in the store."""

    answer: Answer
    _tracing: Tracing = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return its entry of the `answers --json` document."""
        return self.answer.model_dump(mode="json", exclude={"snapshot"})

    def audit(self, *, local: bool = False) -> Audit:
        """Trace it back, as `DragGraph.audit` does."""
        return self._tracing.audit(self.answer, local=local)


@dataclass(frozen=True, slots=True)
class StoredSubgraph:
    """A stored query or document with its evidence, triples and edges, and the claims that a person marked wrong."""

    subgraph: Subgraph
    rejected: RejectedClaims

    def to_dict(self) -> dict[str, Any]:
        """Return the `show ID --json` document."""
        document = self.subgraph.model_dump(mode="json")
        claims = claims_of_edges(self.subgraph, self.subgraph.edges)
        for edge in document["edges"]:
            edge["claims"] = claims[edge["id"]]
            edge["wrong_claims"] = [id_ for id_ in claims[edge["id"]] if id_ in self.rejected.ids]
        for triple, item in zip(document["triples"], self.subgraph.triples, strict=True):
            triple["wrong"] = item in self.rejected
        return document

    def summary(self) -> dict[str, Any]:
        """Return its entry of the `show --json` document."""
        return summary_of(self.subgraph)

    def __str__(self) -> str:
        return subgraph_text(self.subgraph, self.rejected.ids)


@dataclass(frozen=True, slots=True)
class SourceList:
    """Stored queries and documents, newest first: one page of `total`. `errors` has an error for each unreadable one."""

    subgraphs: tuple[Subgraph, ...]
    total: int
    location: str
    errors: tuple[StoreError, ...] = ()

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the `show --json` document."""
        return [summary_of(subgraph) for subgraph in self.subgraphs]

    def __iter__(self) -> Iterator[Subgraph]:
        return iter(self.subgraphs)

    def __len__(self) -> int:
        return len(self.subgraphs)


def summary_of(subgraph: Subgraph) -> dict[str, Any]:
    """Return the entry of a source in `show`. As in a run's report, `evidence` is the number of kept pieces."""
    document = subgraph.document
    named = ("id", "name", "uri") if document else ("id", "text", "options", "domain")
    return {
        "kind": "document" if document else "query",
        **{name: getattr(subgraph.source, name) for name in named},
        **{name: getattr(subgraph, name) for name in ("graph", "status", "settings_hash")},
        "evidence": len(subgraph.kept_evidence),
        **{part: len(getattr(subgraph, part)) for part in ("triples", "edges")},
        "created_at": subgraph.created_at,
    }
