"""Answer a site's question: choose the sites to ask, collect what they release, and let the cloud's model answer from it.

No site can make a question fail: the answer names what a site did not send, or sent wrongly.
"""

import asyncio
import hmac
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
from drag_graph.ports.site_registry import RegisteredSite, SiteRegistry, SummaryHit, site_id
from drag_graph.settings import Settings
from drag_graph.sites import wire
from drag_graph.sites.cloud.work_board import WITHDRAWN, WorkBoard

NOT_GIVEN = "the cloud did not give this site that line, or the token of the line's site has changed"
MISCOUNTED = "its reply was refused: it does not have as many lines as requested"
COMPARED = 50
"""Number of nearest summaries whose words are compared with those of a question."""


@dataclass(slots=True)
class _Contribution:
    """The part of one site in a question."""

    site: RegisteredSite
    summaries: int = 0
    passages: tuple[wire.ReleasedPassage, ...] = ()
    withheld: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def ref(self, item: wire.ReleasedPassage) -> str:
        """Return an id of a line that is unique among all sites."""
        return f"{self.site.id}:{item.kind}:{item.ref}"

    def summary(self, lines: int) -> wire.AskedSite:
        """Return the facts for the answer; `lines` of its passages are in the prompt."""
        return wire.AskedSite(
            site=self.site.name,
            summaries=self.summaries,
            passages=len(self.passages),
            withheld=self.withheld,
            lines=lines,
            seconds=self.seconds,
        )


Origins = Mapping[str, tuple[_Contribution, wire.ReleasedPassage]]


def closest(question: str, hits: Sequence[SummaryHit]) -> list[SummaryHit]:
    """Return summaries by their closeness to a question, the closest first: by vectors and by rare words, as in a search."""
    scores = closeness(question, [hit.text for hit in hits], (hit.score for hit in hits))
    return [hit for _, hit in sorted(zip(scores, hits, strict=True), key=lambda one: -one[0])]


class CloudAsker:
    """Answers questions and audits of sites from what other sites release. It runs in the event loop of the board."""

    def __init__(
        self, settings: Settings, registry: SiteRegistry, embedder: Embedder, student: Student, board: WorkBoard
    ) -> None:
        self._settings = settings
        self._registry = registry
        self._embedder = embedder
        self._student = student
        self._board = board
        self._models = ThreadPoolExecutor(settings.workers, "student")
        """Separate threads, so that a slow model does not delay the requests of other sites."""

    def close(self) -> None:
        """Accept no further questions."""
        self._models.shutdown(wait=False, cancel_futures=True)

    async def ask(self, question: wire.CloudQuestion, asker: RegisteredSite) -> wire.CloudAnswer:
        """Answer a site's question, within the deadline of the sites and the time of the cloud's model. Raises StoreError."""
        began = time.monotonic()
        contributions = await asyncio.to_thread(self._choose_sites, question.question, asker)
        await asyncio.gather(*(self._collect(one, question) for one in contributions))
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._models, self._answer, question, contributions, asker)
        seconds = round(time.monotonic() - began, 3)
        facts = {"sites": len(contributions), "missing": len(answer.missing), "lines": len(answer.lines)}
        log.event("question", **facts, duration_ms=1000 * seconds)
        return answer.model_copy(update={"seconds": seconds})

    async def origins(self, lines: Sequence[wire.GivenLine], asker: RegisteredSite) -> wire.SiteOrigins:
        """Return what the sites release of the evidence behind these lines, within their deadline. Raises StoreError.

        A line that the asker was not given is refused without a request to its site. Nothing is stored.
        """
        ids = {site_id(self._settings.namespace, line.site) for line in lines}
        sites = {site.name: site for site in await asyncio.to_thread(self._registry.sites, ids)}
        replies = {line: wire.SiteReply(problem=problem) for line in lines if (problem := _refusal(sites, asker, line))}
        by_site: dict[str, list[wire.GivenLine]] = {}
        for line in dict.fromkeys(lines):
            if line not in replies:
                by_site.setdefault(line.site, []).append(line)
        collected = await asyncio.gather(*(self._audit(sites[name].id, requested) for name, requested in by_site.items()))
        for requested, site_replies in zip(by_site.values(), collected, strict=True):
            replies |= zip(requested, site_replies, strict=True)
        log.event("audit", sites=len(by_site), lines=len(lines), refused=len(lines) - sum(map(len, by_site.values())))
        return wire.SiteOrigins(lines=tuple(replies[line] for line in lines))

    def _choose_sites(self, text: str, asker: RegisteredSite) -> list[_Contribution]:
        """Return the other sites with the closest summaries, the closest first."""
        vector = [float(number) for number in self._embedder.embed_queries([text])[0]]
        nearest = self._registry.nearest(vector, max(COMPARED, self._settings.asked_summaries), without=asker.id)
        hits = closest(text, nearest)[: self._settings.asked_summaries]
        ids = list(dict.fromkeys(hit.site_id for hit in hits))[: self._settings.asked_edges]
        sites = {site.id: site for site in self._registry.sites(ids)}
        return [_Contribution(sites[id_], sum(hit.site_id == id_ for hit in hits)) for id_ in ids if id_ in sites]

    async def _collect(self, contribution: _Contribution, question: wire.CloudQuestion) -> None:
        """Ask a site, and wait for its reply until the deadline."""
        began = time.monotonic()
        seconds = self._settings.asked_seconds
        outcome = await self._board.ask(contribution.site.id, seconds, question.question, question.options)
        contribution.seconds = round(time.monotonic() - began, 3)
        if not isinstance(outcome, wire.SiteReply):
            contribution.problems.append(str(outcome))
            return
        contribution.withheld = outcome.withheld
        if outcome.problem:
            contribution.problems.append(one_line(outcome.problem))
        # A passage that is sent twice is shown once.
        contribution.passages = tuple({(item.kind, item.ref): item for item in outcome.passages}.values())

    async def _audit(self, id_: str, lines: Sequence[wire.GivenLine]) -> Sequence[wire.SiteReply]:
        """Ask a site what is behind lines that it released."""
        refs = [wire.LineRef(source_id=line.source_id, kind=line.kind, ref=line.ref) for line in lines]
        outcome = await self._board.ask(id_, self._settings.asked_seconds, lines=refs)
        if not isinstance(outcome, wire.SiteOrigins):
            return [wire.SiteReply(problem=str(outcome))] * len(lines)
        if len(outcome.lines) != len(lines):
            return [wire.SiteReply(problem=MISCOUNTED)] * len(lines)
        return [reply.model_copy(update={"problem": one_line(reply.problem)}) for reply in outcome.lines]

    def _answer(
        self, question: wire.CloudQuestion, contributions: Sequence[_Contribution], asker: RegisteredSite
    ) -> wire.CloudAnswer:
        """Let the cloud's model answer from the released passages."""
        problem, prompt, reply = "", None, StudentReply("", None, 0.0)
        origins = {one.ref(item): (one, item) for one in contributions for item in one.passages}
        try:
            prompt = self._prompt(question, origins)
            reply = self._student.answer(prompt)
        except DragGraphError as error:  # a failing model must not cost the asking site its lines
            problem = f"the cloud's model failed: {error}" if isinstance(error, ModelError) else str(error)
        lines = [] if prompt is None else [(line, *origins[line.ref]) for line in prompt.lines]
        used = [one.site.id for _, one, _ in lines]
        return wire.CloudAnswer(
            answer=reply.text,
            label=reply.label,
            confidence=reply.confidence,
            student=self._student.name,
            lines=tuple(
                wire.CloudLine(
                    n=line.n,
                    site=one.site.name,
                    receipt=wire.receipt_of(one.site.token_sha256, asker.name, item),
                    **{**item.model_dump(), "text": line.text},
                )
                for line, one, item in lines
            ),
            asked=tuple(one.summary(used.count(one.site.id)) for one in contributions),
            missing=tuple(
                wire.MissingSite(site=one.site.name, reason=reason) for one in contributions for reason in one.problems
            ),
            problem=problem,
            prompt_tokens=0 if prompt is None else prompt.tokens,
        )

    def _prompt(self, question: wire.CloudQuestion, origins: Origins) -> Prompt:
        """Return the prompt with the lines that are closest to the question, from any site."""
        plain = {ref: plain_words(item.text) for ref, (_, item) in origins.items()}
        asked, vectors = self._embedder.embed_queries([question.question])[0], self._embedder.embed(list(plain.values()))
        scores = closeness(question.question, list(plain.values()), (float(cosine) for cosine in vectors @ asked))
        selection = select_lines(
            list(_candidates(origins, plain, scores)),
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
            answer_tokens=self._settings.max_answer_tokens,
            layout=replace(
                self._student.layout(is_open=not question.options),
                best_last=self._settings.line_order == "best-last",
                quoted=True,
            ),
        )
        return assembly.prompt


def _candidates(origins: Origins, plain: Mapping[str, str], scores: Iterable[float]) -> Iterable[Candidate]:
    """Yield passages as lines. Each is one physical line, so that no text can begin a section of the prompt."""
    for rank, ((ref, (one, item)), score) in enumerate(zip(origins.items(), scores, strict=True)):
        yield Candidate(item.kind, ref, one.site.id, one_line(item.text), plain[ref], rank, score)


def _refusal(sites: Mapping[str, RegisteredSite], asker: RegisteredSite, line: wire.GivenLine) -> str:
    """Return why the site of a line is not asked about it, or ''."""
    if line.site not in sites:
        return WITHDRAWN
    receipt = wire.receipt_of(sites[line.site].token_sha256, asker.name, line)
    return "" if hmac.compare_digest(line.receipt, receipt) else NOT_GIVEN
