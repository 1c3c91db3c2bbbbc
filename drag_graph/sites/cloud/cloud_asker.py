"""A question to the cloud: whom to ask, what came back in time, and what the cloud's model makes of it.

Nothing that an edge does can make a question fail: what it did not send, or sent wrong, is named in the answer.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from drag_graph import log
from drag_graph.ask.context_lines import Candidate, select_lines
from drag_graph.ask.retrieval import closeness
from drag_graph.ask.student_prompt import assemble
from drag_graph.errors import DragGraphError, ModelError
from drag_graph.graph.edge_text import one_line, plain_words
from drag_graph.ports.model_roles import Embedder, Prompt, Student, StudentReply
from drag_graph.ports.site_registry import EdgeRegistry, RegisteredEdge
from drag_graph.settings import Settings
from drag_graph.sites.cloud.work_board import WorkBoard
from drag_graph.sites.wire import (
    AskedEdge,
    CloudAnswer,
    CloudLine,
    CloudQuestion,
    EdgeReply,
    MissingEdge,
    ReleasedPassage,
    receipt_of,
)

IMPOSSIBLE = "{} of its passages cannot be from where it says"
REPEATED = "{} of its passages came twice"


@dataclass(slots=True)
class _Contribution:
    """What one edge had to do with a question."""

    edge: RegisteredEdge
    summaries: int = 0
    passages: tuple[ReleasedPassage, ...] = ()
    withheld: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)


class CloudAsker:
    """Answers questions of edges from what other edges release. `ask` runs in the event loop of the board."""

    def __init__(
        self, settings: Settings, registry: EdgeRegistry, embedder: Embedder, student: Student, board: WorkBoard
    ) -> None:
        self._settings = settings
        self._registry = registry
        self._embedder = embedder
        self._student = student
        self._board = board
        self._models = ThreadPoolExecutor(settings.workers, "student")
        """Threads of their own: a slow model must not keep edges waiting that only report."""

    @property
    def seconds(self) -> float:
        """How long edges have to answer."""
        return self._settings.asked_seconds

    def close(self) -> None:
        """Let nobody ask any more."""
        self._models.shutdown(wait=False, cancel_futures=True)

    async def ask(self, question: CloudQuestion, asker: RegisteredEdge) -> CloudAnswer:
        """Answer an edge's question, within the deadline for edges and the time of the cloud's model. Raises StoreError."""
        began = time.monotonic()
        contributions = await asyncio.to_thread(self._chosen, question.question, asker)
        await asyncio.gather(*(self._collect(one, question) for one in contributions))
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._models, self._answer, question, contributions, asker)
        seconds = round(time.monotonic() - began, 3)
        log.event(
            "question",
            edges=len(contributions),
            missing=len(answer.missing),
            lines=len(answer.lines),
            duration_ms=1000 * seconds,
        )
        return answer.model_copy(update={"seconds": seconds})

    def _chosen(self, text: str, asker: RegisteredEdge) -> list[_Contribution]:
        """Return the other edges that own the best summaries, in the order of these."""
        vector = [float(number) for number in self._embedder.embed([text])[0]]
        hits = self._registry.nearest(vector, self._settings.asked_summaries, without=asker.id)
        ids = list(dict.fromkeys(hit.edge_id for hit in hits))[: self._settings.asked_edges]
        known = {edge.id: edge for edge in self._registry.edges(ids)}
        return [_Contribution(known[id_], sum(hit.edge_id == id_ for hit in hits)) for id_ in ids if id_ in known]

    async def _collect(self, one: _Contribution, question: CloudQuestion) -> None:
        """Ask an edge and wait for it until the deadline."""
        began = time.monotonic()
        outcome = await self._board.ask(one.edge.id, self.seconds, question.question, question.options)
        one.seconds = round(time.monotonic() - began, 3)
        if not isinstance(outcome, EdgeReply):
            one.problems.append(str(outcome))
            return
        one.withheld = outcome.withheld
        if outcome.problem:
            one.problems.append(one_line(outcome.problem))
        _take(one, outcome.passages)

    def _answer(self, question: CloudQuestion, contributions: Sequence[_Contribution], asker: RegisteredEdge) -> CloudAnswer:
        """Let the cloud's model answer from what came."""
        problem, prompt, reply = "", None, StudentReply("", None, 0.0)
        origin = {_ref(one, item): (one, item) for one in contributions for item in one.passages}
        try:
            prompt = self._prompt(question, origin)
            reply = self._student.answer(prompt)
        except DragGraphError as error:  # what a model or its server does must not take the lines away from who asked
            problem = f"the cloud's model failed: {error}" if isinstance(error, ModelError) else str(error)
        lines = [] if prompt is None else [(line, *origin[line.ref]) for line in prompt.lines]
        shown = [one.edge.id for _, one, _ in lines]
        return CloudAnswer(
            answer=reply.text,
            label=reply.label,
            confidence=reply.confidence,
            student=self._student.name,
            lines=tuple(
                CloudLine(
                    n=line.n,
                    edge=one.edge.name,
                    receipt=receipt_of(one.edge.token_sha256, asker.name, item),
                    **{**item.model_dump(), "text": line.text},
                )
                for line, one, item in lines
            ),
            asked=tuple(_asked(one, shown.count(one.edge.id)) for one in contributions),
            missing=tuple(MissingEdge(edge=one.edge.name, reason=reason) for one in contributions for reason in one.problems),
            problem=problem,
            prompt_tokens=0 if prompt is None else prompt.tokens,
        )

    def _prompt(self, question: CloudQuestion, origin: Mapping[str, tuple[_Contribution, ReleasedPassage]]) -> Prompt:
        """Return the prompt, of the lines that are closest to the question, whoever sent them."""
        plain = {ref: plain_words(item.text) for ref, (_, item) in origin.items()}
        vectors = self._embedder.embed([question.question, *plain.values()])
        scores = closeness(question.question, list(plain.values()), (float(cosine) for cosine in vectors[1:] @ vectors[0]))
        selection = select_lines(
            list(_candidates(origin, plain, dict(zip(plain, scores, strict=True)))),
            count_tokens=self._student.count_tokens,
            token_budget=self._settings.token_budget,
            max_lines=self._settings.max_lines,
        )
        assembly = assemble(
            question.question,
            question.options,
            selection.lines,
            count_tokens=self._student.count_tokens,
            context_window=self._student.context_window,
            layout=replace(self._student.layout, best_last=self._settings.line_order == "best-last", quoted=True),
        )
        return assembly.prompt


def _candidates(
    origin: Mapping[str, tuple[_Contribution, ReleasedPassage]], plain: Mapping[str, str], scores: Mapping[str, float]
) -> Iterable[Candidate]:
    """Yield passages as lines. Each is one physical line, so that no text begins a section of the prompt."""
    for rank, (ref, (one, item)) in enumerate(origin.items()):
        yield Candidate(item.kind, ref, one.edge.id, one_line(item.text), plain[ref], rank, scores[ref])


def _take(one: _Contribution, passages: Sequence[ReleasedPassage]) -> None:
    """Keep what can be true of what an edge sent, and name the rest."""
    possible = [item for item in passages if item.is_possible]
    once = {(item.kind, item.ref): item for item in reversed(possible)}
    one.passages = tuple(item for item in possible if once[item.kind, item.ref] is item)
    if dropped := len(passages) - len(possible):
        one.problems.append(IMPOSSIBLE.format(dropped))
    if repeated := len(possible) - len(one.passages):
        one.problems.append(REPEATED.format(repeated))


def _ref(one: _Contribution, item: ReleasedPassage) -> str:
    """Return what tells a line from those of other edges."""
    return f"{one.edge.id}:{item.kind}:{item.ref}"


def _asked(one: _Contribution, lines: int) -> AskedEdge:
    return AskedEdge(
        edge=one.edge.name,
        summaries=one.summaries,
        passages=len(one.passages),
        withheld=one.withheld,
        lines=lines,
        seconds=one.seconds,
    )
