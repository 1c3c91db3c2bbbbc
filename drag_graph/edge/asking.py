"""Asking at an edge: the student's answer where it is sure, else the cloud's (DGRAG, section 3.3; docs/edges.md)."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from drag_graph.ask.answer import is_correct
from drag_graph.ask.ask import Asker, interrupted
from drag_graph.ask.asked import AnswersReport, Asked
from drag_graph.edge.certainty import Verdict
from drag_graph.edge.client import CloudClient
from drag_graph.edge.local import verdict_on
from drag_graph.errors import CloudError, ModelError, ReplyError, StoreError, Withheld
from drag_graph.inputs import InputLine
from drag_graph.model import Line, Query
from drag_graph.ports.models import Embedder
from drag_graph.ports.wire import CloudAnswer

FROM_CLOUD = "its lines are other edges'"


class EdgeAsker:
    """Answers questions at one edge, and asks the cloud about those that its own answer is not sure of. Not thread-safe."""

    def __init__(self, asker: Asker, embedder: Embedder, client: CloudClient, candidates: int, agreement: float) -> None:
        self._asker = asker
        self._embedder = embedder
        self._client = client
        self._candidates = candidates
        self._agreement = agreement

    def ask(self, query: Query) -> Asked:
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
        if not said.answer.strip():
            why = said.problem or "it has no answer"
            return replace(self._asker.keep(best), edge=_told(verdict, said, problem=f"the cloud gave none: {why}"))
        return _of_cloud(best, said, query, _told(verdict, said))

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


def _of_cloud(best: Asked, said: CloudAnswer, query: Query, told: dict[str, Any]) -> Asked:
    """Return the cloud's answer in the place of the local one; each line names the edge that it is from."""
    lines = tuple(Line(n=one.n, kind=one.kind, text=one.text, ref=one.ref, source_id=one.edge) for one in said.lines)
    answer = best.answer.model_copy(
        update={
            "text": said.answer,
            "label": said.label,
            "confidence": said.confidence,
            "student": f"{said.student} at the cloud",
            "lines": lines,
            "source_ids": (),
            "prompt_tokens": said.prompt_tokens,
            "latency_ms": round(1000 * said.seconds),
            "correct": is_correct(query, said.answer, said.label),
            "snapshot": {},
        }
    )
    elsewhere = {
        one.n: {"edge": one.edge, **({"document": one.document.model_dump()} if one.document else {})} for one in said.lines
    }
    asked = replace(best, answer=answer, how="cloud", not_kept=FROM_CLOUD, edge=told, elsewhere=elsewhere)
    return replace(asked, probabilities=(), context_tokens=0, dropped=(), weighed={}, prompt_hash="")
