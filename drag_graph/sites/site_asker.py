"""Asking at an edge: the student's answer where it is sure, else the cloud's (DGRAG, section 3.3; docs/edges.md)."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from drag_graph.ask.answers import is_correct
from drag_graph.ask.ask_result import AnswersReport, AskResult
from drag_graph.ask.asker import Asker, interrupted
from drag_graph.errors import CloudError, ModelError, ReplyError, StoreError, Withheld
from drag_graph.identity import content_id
from drag_graph.inputs import InputLine
from drag_graph.model import Answer, Line, Query
from drag_graph.ports.model_roles import Embedder
from drag_graph.sites.agreement import Verdict
from drag_graph.sites.cloud_client import CloudClient
from drag_graph.sites.local_candidates import verdict_on
from drag_graph.sites.wire import CloudAnswer


class EdgeAsker:
    """Answers questions at one edge, and asks the cloud about those that its own answer is not sure of. Not thread-safe."""

    def __init__(self, asker: Asker, embedder: Embedder, client: CloudClient, candidates: int, agreement: float) -> None:
        self._asker = asker
        self._embedder = embedder
        self._client = client
        self._candidates = candidates
        self._agreement = agreement

    def ask(self, query: Query) -> AskResult:
        """Ask a question. Where the cloud cannot help, the local answer says why. Raises ReplyError, and Withheld."""
        answers = self._asker.several(query, self._candidates)
        verdict = verdict_on(answers, self._embedder, self._agreement)
        best = answers[verdict.best]
        if verdict.is_sure:
            return replace(self._asker.keep(best), edge=_told(verdict))
        asked = best.answer
        try:
            said = self._client.ask(asked.question, asked.options)
        except (CloudError, Withheld) as error:
            return replace(self._asker.keep(best), edge=_told(verdict, problem=str(error)))
        if not (said.answer.strip() and said.lines):
            why = said.problem or ("it has no answer" if said.lines else "no edge has released a line for it")
            return replace(self._asker.keep(best), edge=_told(verdict, said, problem=f"the cloud gave none: {why}"))
        return self._asker.keep(_of_cloud(best, said, query, _told(verdict, said)))

    def ask_all(self, lines: Iterable[InputLine], on_answer: Callable[[float], None] = lambda _cost: None) -> AnswersReport:
        """Ask every line, as `Asker.ask_all` does."""
        report = AnswersReport()
        try:
            for line in lines:
                if line.query is None:
                    report.rejected.append((line.number, line.problem))
                    continue
                try:
                    report.answers.append(self.ask(line.query))
                except (ReplyError, Withheld) as error:
                    report.answers.append(self._asker.failed(line.query, str(error)))
                on_answer(0.0)
        except (ModelError, StoreError) as error:
            report.stopped = error
        except KeyboardInterrupt:
            report.stopped = interrupted()
        return report


def _told(verdict: Verdict, said: CloudAnswer | None = None, problem: str = "") -> dict[str, Any]:
    """Return what `ask --json` says under `edge`."""
    told: dict[str, Any] = {"sure": verdict.is_sure, "agreement": verdict.agreement, "lacking": verdict.lacking}
    told |= {"why": verdict.why, "asked_cloud": said is not None, "problem": problem}
    if said is not None:
        told |= said.model_dump(mode="json", include={"asked", "missing", "seconds"})
    return told


def _of_cloud(best: AskResult, said: CloudAnswer, query: Query, told: dict[str, Any]) -> AskResult:
    """Return the cloud's answer in the place of the local one; each line names the edge that it is from."""
    fields = {"n", "kind", "text", "ref", "source_id", "edge"}
    lines = tuple(Line(**one.model_dump(include=fields)) for one in said.lines)
    local, shown = best.answer, [f"{line.edge}:{line.kind}:{line.ref}:{line.text}" for line in lines]
    answer = local.model_copy(
        update={
            "id": content_id(local.namespace, "answer", local.id, said.student, said.answer, *shown),
            "text": said.answer,
            "label": said.label,
            "confidence": said.confidence,
            "mode": "combined",
            "student": f"{said.student} at the cloud",
            "lines": lines,
            "source_ids": (),
            "prompt_tokens": said.prompt_tokens,
            "latency_ms": round(1000 * said.seconds),
            "correct": is_correct(query, said.answer, said.label),
            "snapshot": _snapshot(local, said, told),
        }
    )
    asked = replace(best, answer=answer, how="cloud", edge=told)
    return replace(asked, probabilities=(), context_tokens=0, dropped=(), weighed={}, prompt_hash="")


def _snapshot(local: Answer, said: CloudAnswer, told: dict[str, Any]) -> dict[str, Any]:
    """Return what the audit of a cloud's answer needs: of each line what its edge said, and the cloud's receipt for it."""
    lines = []
    for one in said.lines:
        line = one.model_dump(mode="json", include={"n", "kind", "text", "ref", "source_id"})
        there = one.model_dump(mode="json", include={"edge", "document", "generalised", "receipt"})
        lines.append({**line, "edge": None, "triples": [], "elsewhere": there})
    return {"question": local.question, "lines": lines, "calls": [], "privacy": local.snapshot["privacy"], "cloud": told}
