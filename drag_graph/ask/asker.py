"""Ask questions: find lines, let the student answer from them, store the answer with its audit. All I/O goes through ports."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from drag_graph import log
from drag_graph.ask.answer_checks import AnswerChecker
from drag_graph.ask.answers import disguised, is_correct, make_answer, no_answer
from drag_graph.ask.ask_result import AnswersReport, AskResult
from drag_graph.ask.audit_snapshot import NO_FILTER, snapshot
from drag_graph.ask.context_lines import Candidate, Selection, block, select_lines, selections
from drag_graph.ask.find_lines import Finder, FoundLines
from drag_graph.ask.reranking import private_refs, reranked, with_public_places
from drag_graph.ask.spans import fill
from drag_graph.ask.student_prompt import Assembly, assemble
from drag_graph.errors import Interrupted, ModelError, ReplyError, StoreError, Withheld
from drag_graph.graph.paging import pages
from drag_graph.identity import sha256_of
from drag_graph.inputs import InputLine
from drag_graph.manage.short_ids import stored_subgraph
from drag_graph.model import Line, Query, Subgraph
from drag_graph.ports.graph_search import EVERYTHING, Restriction
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder, OnToken, Prompt, Reranker, Student, StudentReply
from drag_graph.ports.question_gate import WITHHELD, Disguise, Gate
from drag_graph.settings import Settings

GONE = "one of its sources was erased or replaced while the student answered"
UNKEPT = "keeping answers was switched off"
BATCH = 64
"""Questions looked up, and answers stored, in one round trip."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A question as it is asked and stored; behind a privacy gate also as the user gave it, or why it is withheld."""

    asked: Query
    given: Query | None = None
    withheld: str = ""


@dataclass(eq=False)
class Asker:
    """Answers questions from one store with one student. Each thread needs one of its own.

    Answers are stored unless there is a reason why they are `unkept`. Questions pass the privacy `gate`, if there is one; a
    student `on_this_machine` is then asked the original. A `reranker` reorders what a search finds, which `only` restricts. A
    `checker` judges the sentences of open answers. Where a `quoting` student abstains from an open question, the other one is
    not asked. `instruction` replaces ours for open questions.
    """

    settings: Settings
    store: GraphStore
    embedder: Embedder
    student: Student
    _: KW_ONLY
    unkept: str = ""
    gate: Gate | None = None
    on_this_machine: bool = True
    reranker: Reranker | None = None
    reranks_here: bool = True
    only: Restriction = EVERYTHING
    checker: Student | None = None
    quoting: Student | None = None
    instruction: str = ""

    def __post_init__(self) -> None:
        self._checker = AnswerChecker(self.embedder, self.checker)

    @property
    def _finder(self) -> Finder:
        """The line finder for the next question. It applies the corrections that are stored at that time."""
        return Finder(self.settings, self.store, self.embedder, self.only)

    def ask_stored(self, prefix: str, asked_as: Collection[str] = (), on_token: OnToken | None = None) -> AskResult:
        """Ask a stored query. Takes the arguments of `full_id` and raises its errors."""
        subgraph = stored_subgraph(self.store, prefix, asked_as)
        question = self._admitted(subgraph.query)
        if question.asked.id == subgraph.source_id:  # it came through the gate when it was distilled
            question = _Question(question.asked)
        found = self._finder.of_own(question.asked, [subgraph], "by id")
        return self._keep([self._answer(question, found, on_token)])[0]

    def ask(self, query: Query, on_token: OnToken | None = None) -> AskResult:
        """Ask a question. Raises ReplyError if the student fails on it, Withheld if the privacy gate stops it.

        `on_token` receives each further part of the answer to an open question while the student writes it.
        """
        question = self._admitted(query)
        return self._keep([self._answer(question, self._finder.find(question.asked), on_token)])[0]

    def search(self, query: Query, limit: int) -> tuple[FoundLines, Selection]:
        """Return what is stored for a question, relevant or not, and the lines of the best `limit` sources within the budget.

        Raises Withheld if the privacy gate stops the question.
        """
        asked = self._admitted(query).asked
        found, _ = self._visible(asked, self._finder.everything(asked))
        if self.reranker is not None:
            found = found.with_sources_in_order()
        found = replace(found, sources=found.sources[:limit])
        shown = {source.id for source in found.sources}
        return found, self._select([item for item in found.candidates if item.source_id in shown], fill)

    def several(self, query: Query, number: int) -> list[AskResult]:
        """Answer a question `number` times: with all its lines, then with a different part of them left out each time.

        If nothing relevant is stored, there is one answer. No answer is stored; choose one and call `keep`. Raises the errors
        of `ask`.
        """
        question = self._admitted(query)
        found = self._finder.find(question.asked)
        return [self._answer(question, replace(found, candidates=lines)) for lines in selections(found.candidates, number)]

    def keep(self, result: AskResult) -> AskResult:
        """Store an answer of `several`; return it with `not_kept` set if it could not be stored."""
        return self._keep([result])[0]

    def failed(self, query: Query, problem: str) -> AskResult:
        """Return the empty answer to a question that could not be asked because of `problem`."""
        return self._failed(self._entered(query), problem)

    def ask_all(self, lines: Iterable[InputLine], on_answer: Callable[[float], None] = lambda _cost: None) -> AnswersReport:
        """Ask every line. Unusable lines, and questions on which the student fails, are reported.

        If the store or the student becomes unusable, or on Ctrl-C, the asking ends: `AnswersReport.stopped` has the reason, and
        the remaining questions are reported as not asked. `on_answer` is called after each answer with 0.0, because the cost of
        a student is not counted.
        """
        report = AnswersReport()
        try:
            for batch in pages(lines, BATCH):
                report.rejected += [(line.number, line.problem) for line in batch if line.query is None]
                self._ask_batch([self._entered(line.query) for line in batch if line.query is not None], report, on_answer)
        except (KeyboardInterrupt, Interrupted):
            report.stopped = interrupted()
        return report

    def missing(self, lines: Iterable[InputLine]) -> list[InputLine]:
        """Return the questions for which nothing relevant is stored, without those that are withheld."""
        entered = [(line, self._entered(line.query)) for line in lines if line.query is not None]
        return [line for line, one in entered if not one.withheld and self._finder.find(one.asked).how == "nothing"]

    def _admitted(self, query: Query) -> _Question:
        """Pass a question through the privacy gate. Raises Withheld if the gate stops it."""
        question = self._entered(query)
        if question.withheld:
            raise Withheld(question.withheld)
        return question

    def _entered(self, query: Query) -> _Question:
        """Pass a question through the privacy gate."""
        if self.gate is None:
            return _Question(query)
        try:
            return _Question(self.gate.rewrite_query(query), query)
        except Withheld as error:
            return _Question(query.model_copy(update={"text": WITHHELD, "options": (), "gold": None}), query, str(error))

    def ask_with(self, questions: Iterable[tuple[Query, Sequence[Subgraph] | None]], *, own: bool) -> AnswersReport:
        """Ask each question with the lines of the given subgraphs: none if there are none, those of a search for None.

        Lines of other sources are added only if the subgraphs are the question's `own`. If the run ends early, `stopped` has
        the reason, and `answers` has the answers so far.
        """
        report = AnswersReport()
        try:
            self._ask_each(((_Question(query), subgraphs) for query, subgraphs in questions), report, own=own)
        except KeyboardInterrupt:
            report.stopped = interrupted()
        return report

    def _ask_batch(self, questions: list[_Question], report: AnswersReport, on_answer: Callable[[float], None]) -> None:
        def with_subgraphs() -> Iterator[tuple[_Question, Sequence[Subgraph] | None]]:
            ids = [one.asked.id for one in questions if not one.withheld and not self.only]
            stored = {item.source_id: item for item in self.store.read(ids)} if ids else {}
            for one in questions:
                yield one, [stored[one.asked.id]] if one.asked.id in stored else None

        before = len(report.answers)
        if not report.stopped:
            self._ask_each(with_subgraphs(), report, on_answer)
        left = questions[len(report.answers) - before :]
        report.answers += [self._failed(one, f"not asked: {report.stopped}") for one in left]

    def _ask_each(
        self,
        questions: Iterable[tuple[_Question, Sequence[Subgraph] | None]],
        report: AnswersReport,
        on_answer: Callable[[float], None] = lambda _cost: None,
        *,
        own: bool = True,
    ) -> None:
        """Add the answers to a report and store them. If the run ends early, the report has the reason."""
        results: list[AskResult] = []
        try:
            for question, subgraphs in questions:
                results.append(self._try(question, subgraphs, own=own))
                on_answer(0.0)
        except (ModelError, StoreError) as error:
            report.stopped = error
        finally:
            report.answers += self._kept(results, report)

    def _kept(self, results: list[AskResult], report: AnswersReport) -> list[AskResult]:
        """Store the answers; if the store fails, set `not_kept` of each."""
        try:
            return self._keep(results)
        except StoreError as error:
            report.stopped = error
            return [replace(one, not_kept=str(error)) for one in results]

    def _try(self, question: _Question, subgraphs: Sequence[Subgraph] | None, *, own: bool) -> AskResult:
        """Ask with the lines of these subgraphs; if `subgraphs` is None, with those of a search."""
        if question.withheld:
            return self._failed(question, question.withheld)
        query = question.asked
        try:
            if subgraphs is None:
                found = self._finder.search(query)
            elif own:
                found = self._finder.of_own(query, subgraphs, "same question")
            else:
                found = self._finder.of_subgraphs(subgraphs, "same question")
            return self._answer(question, found)
        except (ReplyError, Withheld) as error:
            log.event("answer", query=query.id, status="failed", reason=type(error).__name__)
            return self._failed(question, str(error))

    def _failed(self, question: _Question, problem: str) -> AskResult:
        empty = no_answer(question.asked, student=self.student.name, created_at=_now()).model_copy(update={"text": ""})
        return AskResult(empty, input_id=_own_id(question), problem=problem)

    def _answer(self, question: _Question, found: FoundLines, on_token: OnToken | None = None) -> AskResult:
        began = time.monotonic()
        query = question.asked
        disguise = self.gate.disguise(query, question.given) if self.gate is not None else None
        known = disguise if self.on_this_machine else None
        mode = self.settings.mode if found.how != "nothing" else "none"
        found, private = self._visible(query, found)
        chosen = self._select(found.candidates, fill if found.how == "search" else select_lines)
        assembly = self._assembled(query, known, found, chosen.lines)
        student_reply = self._abstention(query, found, chosen.lines)
        if student_reply is None:
            # The student writes the original names: they are hidden before anything is passed on.
            student_reply = self.student.answer(assembly.prompt, None if known else on_token)
        privacy = self.gate.facts(disguise) if self.gate is not None else NO_FILTER
        result = self._nothing(question, found, privacy)
        if found.how == "nothing" and not student_reply.text:
            return result
        prompt, reply = disguised(known, query, chosen.lines, assembly.prompt, student_reply)
        facts = dict[str, Any]()
        if not query.options:
            reply, facts = self._checker.checked(reply, prompt.lines)
        if known and on_token:
            on_token(reply.text)
        sources = found.subgraphs_of(prompt.lines)
        audit = snapshot(query.text, prompt.lines, sources, line_order=self.settings.line_order, privacy=privacy)
        answer = make_answer(
            query,
            reply,
            prompt,
            student=self.student.name,
            mode=mode,
            latency_ms=round((time.monotonic() - began) * 1000),
            created_at=_now(),
            snapshot=audit | ({"reply": facts} if facts else {}),
            subgraphs=sources,
        )
        if self.gate is not None:  # a gold answer in prose may hold private details: it is compared, but not stored
            correct = is_correct(question.given or query, student_reply.text, student_reply.label)
            answer = answer.model_copy(update={"correct": correct, "gold": answer.gold if query.options else None})
        dropped = (*((line.text, line.reason) for line in (*chosen.dropped, *assembly.dropped)), *private, *found.dropped)
        return replace(
            result,
            answer=answer,
            probabilities=reply.probabilities,
            context_tokens=self.student.count_tokens(block(prompt.lines)) if prompt.lines else 0,
            reply_tokens=self.student.count_tokens(student_reply.text),
            dropped=dropped,
            weighed=found.weighed,
            # The hash of the original prompt would give away a name, since the rest of the prompt is known.
            prompt_hash="" if known else sha256_of([assembly.prompt.text]),
            disguise=disguise,
        )

    def _nothing(self, question: _Question, found: FoundLines, privacy: Mapping[str, Any]) -> AskResult:
        """Return the result without an answer."""
        empty = no_answer(question.asked, student=self.student.name, created_at=_now())
        return AskResult(
            empty.model_copy(update={"snapshot": snapshot(question.asked.text, (), (), privacy=privacy)}),
            input_id=_own_id(question),
            how=found.how,
            nearest=found.nearest,
            has_unsearchable=found.how == "nothing" and any(one.evidence for one in self.store.concepts.waiting(1).sources),
            is_restricted=bool(self.only),
        )

    def _abstention(self, query: Query, found: FoundLines, lines: tuple[Line, ...]) -> StudentReply | None:
        """Return the reply to an open question that no found line seems to answer, or None if the student is to be asked.

        Small language models answer such questions all the same (docs/measurements/answers.md).
        """
        if query.options or self.quoting is None or self.settings.mode == "none":
            return None
        if found.how == "nothing":
            return StudentReply("", None, 0.0)
        if found.how != "search" or not lines:
            return None
        reply = self.quoting.answer(Prompt(query.text, (), lines, "", 0))
        return reply if reply.abstained else None

    def _select(self, candidates: Sequence[Candidate], select: Callable[..., Selection]) -> Selection:
        """Return the lines that fit into the token budget, chosen by `select_lines` or `fill`."""
        return select(
            candidates,
            count_tokens=self.student.count_tokens,
            token_budget=self.settings.token_budget,
            max_lines=self.settings.max_lines,
        )

    def _assembled(self, query: Query, known: Disguise | None, found: FoundLines, lines: tuple[Line, ...]) -> Assembly:
        """Return the prompt, with the original texts if the student may know them."""
        documents = {graph.source_id for graph in found.subgraphs if graph.document}
        return assemble(
            known.question if known else query.text,
            known.options if known else query.options,
            known.restored_lines(lines) if known else lines,
            count_tokens=self.student.count_tokens,
            context_window=self.student.context_window,
            answer_tokens=self.settings.max_answer_tokens,
            layout=replace(
                self.student.layout(is_open=not query.options),
                instruction=self.instruction,
                best_last=self.settings.line_order == "best-last",
                brief=self.settings.brief,
                quoted=any(line.source_id in documents for line in lines),
            ),
        )

    def _visible(self, query: Query, found: FoundLines) -> tuple[FoundLines, list[tuple[str, str]]]:
        """Return the part of `found` that the student may see, reranked if there is a reranker, and (text, reason) of the rest.

        A remote student sees no document line in which the gate finds a private detail, and no line of a question that was
        stored before the gate would have generalised it. Neither does a remote reranker, but the student may.
        """
        must_hide = self.gate is not None and not (self.on_this_machine and self.reranks_here)
        private = private_refs(found.candidates, found.subgraphs, self.gate) if self.gate and must_hide else set[str]()
        hidden = set[str]() if self.on_this_machine else private
        shown = [item for item in found.candidates if item.ref not in hidden]
        if self.reranker is not None and found.how == "search":
            withheld = set() if self.reranks_here else {place for place, item in enumerate(shown) if item.ref in private}
            texts = [item.plain for item in shown]
            order = reranked(query.text, shown, texts, self.reranker, withheld=withheld)
            shown = [replace(item, score=before.score) for item, before in zip(order, shown, strict=True)]
        if self.gate is not None and not self.on_this_machine:
            shown = with_public_places(shown, self.gate)
        lost = [(item.text, "private") for item in found.candidates if item.ref in hidden]
        return replace(found, candidates=tuple(shown)), lost

    def _keep(self, results: list[AskResult]) -> list[AskResult]:
        """Store the answers that have something to audit, in one transaction."""
        answers = [one.answer for one in results if one.has_sources and not one.problem]
        ids = {answer.id for answer in answers}
        refused = ids if self.unkept or not answers else self.store.save_answers(answers)
        why = self.unkept or GONE
        return [replace(one, not_kept=why) if one.answer.id in refused else one for one in results]


def _own_id(question: _Question) -> str:
    return (question.given or question.asked).input_id


def interrupted() -> Interrupted:
    """Return the error that ends the asking on Ctrl-C."""
    return Interrupted("Interrupted. Answers given so far are kept.", hint="Ask again to continue.")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
