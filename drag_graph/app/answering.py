"""Methods that answer questions and trace answers: ask, ask_all, answers, audit, show."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, overload

from drag_graph.app.answer_results import AnswerList, GivenAnswer, GivenAnswers, SourceList, StoredAnswer, StoredSubgraph
from drag_graph.app.answer_tracing import Audit, Tracing
from drag_graph.app.questions import Questions, as_questions, one_question, question_lines, restriction, source_of
from drag_graph.app.resources import Resources, ResourceUser
from drag_graph.app.run_handle import RunHandle
from drag_graph.ask.ask_result import AnswersReport, AskResult
from drag_graph.ask.asker import UNKEPT, Asker
from drag_graph.ask.follow_up import FollowUp, Turn, whole_question
from drag_graph.compose.model_factories import asked_as, check_teacher, privacy_level, student_is_here
from drag_graph.compose.session import Session
from drag_graph.concurrency.interruption import Interruption
from drag_graph.errors import ConfigurationError, StoreError, StoreUnfit
from drag_graph.inputs import InputLine
from drag_graph.jobs.runner import OnProgress, ProgressMeter
from drag_graph.manage.short_ids import SourceState, full_id, newest_sources, stored_subgraph
from drag_graph.model import Answer
from drag_graph.models.model_choice import NEAREST
from drag_graph.models.students.open_answers import is_abstention
from drag_graph.ports.graph_search import EVERYTHING, Restriction
from drag_graph.ports.model_roles import OnToken
from drag_graph.report.audit_document import stored_answer

if TYPE_CHECKING:
    from drag_graph.sites.site_asker import SiteAsker

AnswerState = Literal["right", "wrong", "unmarked", "abstained"]
_FILTERED = 10_000


class Answering(ResourceUser):
    """Ask questions, list and audit answers, show what is stored."""

    def ask(
        self,
        question: str | None = None,
        options: Sequence[str] = (),
        *,
        query_id: str | None = None,
        keep: bool = True,
        distill_missing: bool = False,
        local: bool = False,
        sources: Sequence[str] = (),
        since: str = "",
        until: str = "",
        tags: Sequence[str] = (),
        instruction: str = "",
        on_token: OnToken | None = None,
        **settings: Any,
    ) -> GivenAnswer:
        """Answer a question from what is stored, and keep the answer for the audit.

        `query_id` asks a stored query instead: its id, the beginning of its id, or the input's own id. `keep=False` only needs
        read access to the store. With `distill_missing` the teacher is asked first if nothing relevant is stored. A site asks
        its cloud if the local answer is not sure, unless `local`. `sources`, `since`, `until` and `tags` restrict the search as
        they do for `search`. `instruction` replaces that of `system_prompt`. `on_token` receives each further part of the
        answer to an open question while the student writes it; the returned text can differ from it, because wrong citations
        are removed. `settings` override those of the object.

        If another process is writing to an embedded store, the answer comes from its last committed state and is not kept.

        Raises ReplyError if the student fails on the question, Withheld if the privacy gate does not let it pass.
        """
        if (question is None) == (query_id is None):
            raise ConfigurationError("Pass either a question or a query id.", hint="See `drag-graph ask --help`.")
        resources, only = self._resources.changed(settings), restriction(sources, since, until, tags)
        if query_id is not None:
            if distill_missing or options or only:
                other = "distill_missing" if distill_missing else "options" if options else "Restrictions of the search"
                raise ConfigurationError(f"{other} and a query id exclude each other.", hint="Pass the question instead.")
            names = asked_as(resources.settings, query_id)
            with _asking(resources, keep=keep, local=True, instruction=instruction) as asking:
                return GivenAnswer(asking.asker.ask_stored(query_id, names, on_token), Tracing(resources))
        line = InputLine(1, one_question(question or "", options, resources.settings))
        chosen: dict[str, Any] = {"local": local, "distill_missing": distill_missing, "only": only, "instruction": instruction}
        with _asking(resources, keep=keep, **chosen) as asking:
            result = asking.ask(line, f"-q {question}", on_token)
            return GivenAnswer(result, Tracing(resources), asking.not_distilled)

    def ask_all(
        self,
        questions: Questions,
        *,
        keep: bool = True,
        distill_missing: bool = False,
        local: bool = False,
        sources: Sequence[str] = (),
        since: str = "",
        until: str = "",
        tags: Sequence[str] = (),
        on_progress: OnProgress | None = None,
        wait: bool = True,
        **settings: Any,
    ) -> RunHandle[GivenAnswers]:
        """Answer several questions: texts, queries, or a JSONL or CSV file given as a Path. Otherwise as `ask`.

        A line that is not a question, or on which the student fails, is reported, and the others are answered.
        """
        resources, only = self._resources.changed(settings), restriction(sources, since, until, tags)
        questions = as_questions(questions)
        lines = list(question_lines(questions, resources.settings))
        origin = source_of(questions)

        def run(interruption: Interruption) -> GivenAnswers:
            meter = ProgressMeter(len(lines), on_progress)

            def count(cost_usd: float) -> None:
                meter.count(cost_usd)
                interruption.check()

            with _asking(resources, keep=keep, local=local, distill_missing=distill_missing, only=only) as asking:
                report = asking.ask_all(lines, origin, count)
                return GivenAnswers(report, Tracing(resources), asking.not_distilled)

        return RunHandle(run, resources, wait=wait)

    def follow_up(self, question: str, turns: Sequence[Turn], **settings: Any) -> FollowUp:
        """Let the student rewrite a question so that it can be understood without the `turns` of the conversation before it.

        An unusable rewriting is replaced by the previous question and this one. `nearest` cannot rewrite, and a conversation
        does not leave this machine unless `privacy` is off; the question then stays as it is. The result has the reason. Raises
        ModelError if the student cannot be used.
        """
        resources = self._resources.changed(settings)
        if not turns:
            return FollowUp(question)
        if resources.settings.student == NEAREST:
            return FollowUp(question, f"the student {NEAREST} cannot rewrite questions")
        if not student_is_here(resources.settings) and privacy_level(resources.settings, asks=True) != "off":
            return FollowUp(question, "with privacy on, a conversation is not sent to a student on another machine")
        with resources.in_use():
            return whole_question(question, turns, resources.gated_student())

    def answers(
        self, query_id: str | None = None, *, limit: int = 50, text: str = "", state: AnswerState | None = None
    ) -> AnswerList:
        """List stored answers, of one query if an id is given, newest first. `limit` is at least 1.

        `text` is in the question or the answer. `state` is what a person marked ("right", "wrong", or "unmarked"), or
        "abstained". Both look at the newest 10,000 answers.
        """
        if limit < 1:
            raise ConfigurationError(f"The limit is {limit}.", hint="Pass 1 or more.")
        with self._resources.store() as store:
            names = asked_as(self._resources.settings, query_id) if query_id else frozenset()
            source_id = full_id(store, "source", query_id, asked_as=names) if query_id else ""
            answers = store.answers(source_id, limit=_FILTERED if text or state else limit + 1)
            if text or state:
                marks = {item.target_id: item.verdict for item in store.corrections.read() if not item.undone_at}
                answers = [one for one in answers if _matches(one, text.casefold(), state, marks.get(one.id))]
            return AnswerList(tuple(answers[:limit]), _location(store), len(answers) > limit)

    def answer(self, answer_id: str) -> StoredAnswer:
        """Return a stored answer by its id, the beginning of its id, or the input's id of its question.

        Raises NotStored if there is no such answer.
        """
        with self._resources.store() as store:
            stored = stored_answer(store, answer_id, asked_as(self._resources.settings, answer_id))
        return StoredAnswer(stored, Tracing(self._resources))

    def audit(self, answer: str | GivenAnswer, *, local: bool = False) -> Audit:
        """Trace an answer back: context line, edge, triples, evidence, teacher call.

        `answer` is what `ask` returned, its id, the beginning of its id, or the input's id of its question. At a site, the
        other sites that released lines are asked what is behind them, unless `local`.

        Raises NotStored if there is no such answer.
        """
        if isinstance(answer, GivenAnswer):
            return answer.audit()
        return self.answer(answer).audit(local=local)

    @overload
    def show(self, source_id: str) -> StoredSubgraph: ...

    @overload
    def show(
        self,
        source_id: None = None,
        *,
        limit: int = 50,
        offset: int = 0,
        name: str = "",
        state: SourceState | None = None,
        since: str = "",
        until: str = "",
        tags: Sequence[str] = (),
    ) -> SourceList: ...

    def show(
        self,
        source_id: str | None = None,
        *,
        limit: int = 50,
        offset: int = 0,
        name: str = "",
        state: SourceState | None = None,
        since: str = "",
        until: str = "",
        tags: Sequence[str] = (),
    ) -> StoredSubgraph | SourceList:
        """Return the subgraph of a query or document; without an id, list what is stored, newest first.

        `source_id` is an id, the beginning of an id, or the input's own id. A list can be restricted to sources with `name` as
        a part of their name or question, of one `state`, and by `since`, `until` and `tags` as for `search`.
        """
        only = restriction((), since, until, tags)
        with self._resources.store() as store:
            if source_id is not None:
                names = asked_as(self._resources.settings, source_id)
                subgraph = stored_subgraph(store, source_id, names, kind="source")
                return StoredSubgraph(subgraph, store.corrections.rejected())
            subgraphs, total, errors = newest_sources(store, limit, offset, name=name, state=state, only=only)
            return SourceList(tuple(subgraphs), total, _location(store), tuple(errors))


class _Asking:
    """Asks in one session: locally or at a site, after distilling what is missing if that is wanted."""

    def __init__(self, session: Session, asker: Asker, *, local: bool, distill_missing: bool) -> None:
        self._session = session
        self.asker = asker
        self._at_site = bool(session.settings.cloud) and not local
        self._distill_missing = distill_missing
        self.not_distilled: tuple[str, ...] = ()

    def ask(self, line: InputLine, source: str, on_token: OnToken | None = None) -> AskResult:
        """Answer one question; `source` is the name of the run that distills what is missing.

        At a site, `on_token` receives the whole answer, because several are compared first.
        """
        assert line.query is not None
        self._distill([line], source, lambda _line: "")
        if not self._at_site:
            return self.asker.ask(line.query, on_token)
        with self._asker() as asker:
            result = asker.ask(line.query)
        if on_token is not None:
            on_token(result.answer.text)
        return result

    def ask_all(self, lines: list[InputLine], source: str, on_answer: Callable[[float], None]) -> AnswersReport:
        """Answer all lines."""
        self._distill(lines, source, lambda number: f"line {number}: ")
        with self._asker() as asker:
            return asker.ask_all(lines, on_answer)

    @contextmanager
    def _asker(self) -> Iterator["Asker | SiteAsker"]:
        if not self._at_site:
            yield self.asker
            return
        from drag_graph.compose.site_setup import open_site_asker

        with open_site_asker(self._session, self.asker) as asker:
            yield asker

    def _distill(self, lines: list[InputLine], source: str, place: Callable[[int], str]) -> None:
        """Distill the questions for which nothing relevant is stored. Raises what stops the run."""
        missing = self.asker.missing(lines) if self._distill_missing else []
        if not missing:
            return
        report = self._session.distiller(source).run(iter(missing))
        if report.stopped:
            raise report.stopped
        failed = [result for result in report.results() if result.status == "quarantined"]
        self.not_distilled = tuple(f"{place(result.line)}{result.error}" for result in failed)


@contextmanager
def _asking(
    resources: Resources,
    *,
    keep: bool,
    local: bool = False,
    distill_missing: bool = False,
    only: Restriction = EVERYTHING,
    instruction: str = "",
) -> Iterator[_Asking]:
    settings = resources.settings
    if only and distill_missing:
        hint = "Leave out `distill_missing=True`, or the restrictions."
        raise ConfigurationError("A restricted search cannot distill what is missing.", hint=hint)
    if only and settings.cloud and not local:
        hint = "Add `local=True` to ask this site alone."
        raise ConfigurationError("The cloud cannot be asked about some sources only.", hint=hint)
    if distill_missing:
        if not keep:
            hint = "Leave out `distill_missing=True`, or keep the answers."
            raise ConfigurationError("`distill_missing=True` requires that answers are kept.", hint=hint)
        check_teacher(settings)
    if settings.cloud and not local:  # the cloud passes questions on to other sites
        resources = resources.changed({"privacy": settings.privacy or "standard"})
    with ExitStack() as stack:
        try:
            session, unkept = stack.enter_context(resources.asking(keep=keep, create=distill_missing))
            asker = session.asker(unkept=unkept, only=only, instruction=instruction)
        except StoreUnfit as error:
            if keep and _is_readable(resources):
                error.hint = f"{error.hint} `drag-graph ask --no-keep` works with read-only access to the store.".strip()
            raise
        yield _Asking(session, asker, local=local, distill_missing=distill_missing)


def _is_readable(resources: Resources) -> bool:
    """Return whether asking works without keeping the answers."""
    with suppress(StoreError), resources.reading(asks=True) as session:
        session.asker(unkept=UNKEPT)
        return True
    return False


def _matches(answer: Answer, text: str, state: AnswerState | None, mark: str | None) -> bool:
    """Return whether an answer with this mark has a text and a state."""
    is_abstaining = state == "abstained" and not answer.options and is_abstention(answer.text)
    has_state = is_abstaining or state in (None, mark or "unmarked")
    return has_state and text in f"{answer.question}\n{answer.text}".casefold()


def _location(store: Any) -> str:
    return f"{store.location}, namespace {store.namespace}"
