"""Ask and audit at a site: the student's answer if it is sure, else the cloud's (DGRAG, section 3.3; docs/how-to/sites.md)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drag_graph.ask.answers import is_correct
from drag_graph.ask.ask_result import AnswersReport, AskResult
from drag_graph.ask.asker import Asker, interrupted
from drag_graph.errors import CloudError, Interrupted, ModelError, ReplyError, StoreError, Withheld
from drag_graph.identity import content_id
from drag_graph.inputs import InputLine
from drag_graph.model import Answer, Line, Query
from drag_graph.ports.model_roles import Embedder, Student
from drag_graph.sites.agreement import LACKING, LocalAnswer, Verdict, judge
from drag_graph.sites.cloud_client import CloudClient
from drag_graph.sites.model_gate import compare
from drag_graph.sites.wire import CloudAnswer, GivenLine, SiteReply


@dataclass(eq=False)
class SiteAsker:
    """Answers questions at a site, and asks the cloud if the local answer is uncertain. Not thread-safe.

    `judging` is the student if it judges its own answers; None if a formula judges them.
    """

    asker: Asker
    embedder: Embedder
    client: CloudClient
    candidates: int
    agreement: float
    judging: Student | None = None

    def ask(self, query: Query) -> AskResult:
        """Ask a question. If the cloud cannot help, the local answer states the reason. Raises ReplyError and Withheld."""
        answers = self.asker.several(query, self.candidates)
        verdict = verdict_on(answers, self.embedder, self.agreement, self.judging)
        best, reply, problem = answers[verdict.best], None, ""
        if not verdict.is_sure:
            try:
                reply = self.client.ask(best.answer.question, best.answer.options)
            except (CloudError, Withheld) as error:
                problem = str(error)
            else:
                if reply.answer.strip() and reply.lines:
                    return self.asker.keep(_cloud_result(best, reply, query, _facts(verdict, reply)))
                problem = reply.problem or ("it has no answer" if reply.lines else "no site has released a line for it")
        snapshot = {**best.answer.snapshot, "site": _facts(verdict, reply, problem)}
        return self.asker.keep(replace(best, answer=best.answer.model_copy(update={"snapshot": snapshot})))

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
                    report.answers.append(self.asker.failed(line.query, str(error)))
                on_answer(0.0)
        except (ModelError, StoreError) as error:
            report.stopped = error
        except (KeyboardInterrupt, Interrupted):
            report.stopped = interrupted()
        return report


def verdict_on(answers: Sequence[AskResult], embedder: Embedder, threshold: float, judging: Student | None = None) -> Verdict:
    """Judge the answers of `Asker.several`. An answer without context lines counts as lacking information.

    Answers to an open question are judged by `judging`, if it is given and its reply is usable; else by the formula.
    """
    candidates = [LocalAnswer(_text_of(one), one.answer.label, one.probabilities) for one in answers]
    if all(one.label or one.probabilities for one in candidates):  # the texts are not compared
        return judge(candidates, np.zeros((len(candidates), 1), np.float32), threshold)
    verdict = judge(candidates, embedder.embed([one.text or "-" for one in candidates]), threshold)
    if judging is None or verdict.lacking >= LACKING or len(candidates) == 1:
        return verdict
    judgement = compare(judging, answers[0].answer.question, [one.text for one in candidates])
    if judgement is None:
        return verdict
    similarity, best = judgement
    return Verdict.of(best, similarity or 0.0, 1.0 if similarity is None else verdict.lacking, threshold)


def _text_of(result: AskResult) -> str:
    """Return an answer, or "" if it comes from no context line, chooses no option or says that information is missing."""
    is_missing = result.abstained or (bool(result.answer.options) and result.answer.label is None)
    return "" if result.is_unaided or not result.is_answered or is_missing else result.answer.text


def lines_of_sites(audit: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of an audit document that other sites have released."""
    return [line for line in audit["lines"] if "elsewhere" in line]


def ask_sites(audit: dict[str, Any], client: CloudClient) -> None:
    """Add to each line of an audit document that another site has released what is behind it, under `origin`.

    If the cloud or the site does not answer, `origin` has the reason.
    """
    lines = lines_of_sites(audit)
    names = ("source_id", "kind", "ref")
    given = [
        GivenLine(**{name: line[name] for name in names}, site=line["elsewhere"]["site"], receipt=line["elsewhere"]["receipt"])
        for line in lines
    ]
    try:
        origins = client.audit(given)
    except CloudError as error:
        origins = [SiteReply(problem=str(error)[:500])] * len(lines)
    for line, origin in zip(lines, origins, strict=True):
        line["elsewhere"]["origin"] = origin.model_dump(mode="json")


def _facts(verdict: Verdict, reply: CloudAnswer | None = None, problem: str = "") -> dict[str, Any]:
    """Return what `ask --json` and the audit have under `site`."""
    facts: dict[str, Any] = {"sure": verdict.is_sure, "agreement": verdict.agreement, "lacking": verdict.lacking}
    facts |= {"why": verdict.why, "asked_cloud": reply is not None, "problem": problem}
    if reply is not None:
        facts |= reply.model_dump(mode="json", include={"asked", "missing", "seconds"})
    return facts


def _cloud_result(local: AskResult, reply: CloudAnswer, query: Query, facts: dict[str, Any]) -> AskResult:
    """Return the cloud's answer as a result; each line names the site that released it."""
    fields = {"n", "kind", "text", "ref", "source_id", "site"}
    lines = tuple(Line(**line.model_dump(include=fields)) for line in reply.lines)
    contents = [f"{line.site}:{line.kind}:{line.ref}:{line.text}" for line in lines]
    answer = local.answer.model_copy(
        update={
            "id": content_id(local.answer.namespace, "answer", local.answer.id, reply.student, reply.answer, *contents),
            **reply.model_dump(include={"label", "confidence", "prompt_tokens"}),
            "text": reply.answer,
            "mode": "combined",
            "student": f"{reply.student} at the cloud",
            "lines": lines,
            "source_ids": (),
            "latency_ms": round(1000 * reply.seconds),
            "correct": is_correct(query, reply.answer, reply.label),
            "snapshot": _snapshot(local.answer, reply, facts),
        }
    )
    result = replace(local, answer=answer, how="cloud")
    return replace(result, probabilities=(), context_tokens=0, dropped=(), weighed={}, nearest=None, prompt_hash="")


def _snapshot(local: Answer, reply: CloudAnswer, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what the audit of a cloud's answer needs: what each line's site released, and the cloud's receipt for it."""
    lines = []
    for item in reply.lines:
        line = item.model_dump(mode="json", include={"n", "kind", "text", "ref", "source_id"})
        elsewhere = item.model_dump(mode="json", include={"site", "document", "generalised", "receipt"})
        lines.append({**line, "edge": None, "triples": [], "elsewhere": elsewhere})
    return {"question": local.question, "lines": lines, "calls": [], "privacy": local.snapshot["privacy"], "site": facts}
