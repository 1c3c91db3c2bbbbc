"""Distill one query: question -> evidence -> ranking -> triples -> canonical graph.

Pure orchestration; all I/O goes through ports. Both plans run the same stages: `lean` combines requests,
`paper` follows the published steps.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from drag_graph import log
from drag_graph.distill import canonical_subgraph as canonical
from drag_graph.distill import evidence_ranking as rank
from drag_graph.distill import evidence_step as evidence
from drag_graph.distill import merged_statements as statements
from drag_graph.distill import triple_extraction as extract
from drag_graph.distill.entity_merging import thresholds_for
from drag_graph.distill.plans import PlanSettings, plan_settings
from drag_graph.errors import AwaitsBatch, DragGraphError, MalformedReply, ReplyError, Spent
from drag_graph.graph.aggregate import claims_of, edges_of
from drag_graph.graph.grounding import TOLERANCE
from drag_graph.identity import sha256_of
from drag_graph.model import Aggregation, Evidence, Query, Subgraph, TeacherCall, Triple
from drag_graph.ports.model_roles import Embedder, Teacher, TeacherReply, TeacherRequest
from drag_graph.ports.vectors import Vectors
from drag_graph.settings import Settings

DAYS_TO_LIVE = {"medical": 30}
DEFAULT_DAYS_TO_LIVE = 90


@dataclass(slots=True)
class Usage:
    """The calls, tokens and cost of one query; `cost_usd` counts only what was paid now."""

    calls: int = 0
    cached_calls: int = 0
    cost_usd: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    notes: list[str] = field(default_factory=list)
    """One sentence for each item that was discarded or handled differently than requested."""

    def add(self, other: "Usage") -> None:
        """Add the numbers of `other`, without its notes."""
        self._pay(Spent(other.calls, other.tokens_in, other.tokens_out, other.cost_usd))
        self.cached_calls += other.cached_calls

    def ask(self, teacher: Teacher, request: TeacherRequest) -> TeacherReply:
        """Ask the teacher, and count its calls, including those of a failed exchange."""
        try:
            reply = teacher.ask(request)
        except DragGraphError as error:
            if error.spent is not None:
                self._pay(error.spent)
            raise
        if reply.cached:
            self.calls += 1
            self.cached_calls += 1
        else:
            for call in reply.calls[len(reply.calls) - reply.requests :]:
                self._pay(Spent(1, call.tokens_in, call.tokens_out, call.cost_usd))
        return reply

    def _pay(self, spent: Spent) -> None:
        self.calls += spent.calls
        self.tokens_in += spent.tokens_in
        self.tokens_out += spent.tokens_out
        self.cost_usd += spent.cost_usd


class Distillation:
    """Distils one query. Thread-safe; settings are fixed at construction."""

    def __init__(self, settings: Settings, embedder: Embedder, teacher: Teacher, privacy: str = "off") -> None:
        """`privacy` is the level and detectors of the gate that rewrote the questions."""
        self._settings = settings
        self._privacy = privacy
        self._embedder = embedder
        self._teacher = teacher
        self._thresholds = thresholds_for(embedder.name, settings.merge_similarity)
        self._seed = {} if settings.seed is None else {"seed": settings.seed}

    def settings_hash(self, query: Query) -> str:
        """Return the hash of everything that determines the query's subgraph, except its text."""
        settings, plan = self._settings, plan_settings(self._settings, query)
        versions = {
            "evidence": evidence.PROMPT_VERSIONS[plan.plan],
            "scores": rank.PROMPT_VERSIONS[plan.plan],
            "triples": extract.PROMPT_VERSIONS[plan.plan],
            "relations": rank.RELATIONS_PROMPT_VERSIONS[plan.plan] if plan.rank_relations else "",
            "statements": statements.PROMPT_VERSION if plan.statements == "teacher" else "",
            "patterns": extract.PATTERNS_MODEL,
        }
        # The source records how edges are merged. It affects requests only if a teacher merges statements.
        excluded = ("complexity", *(("strategy", "merge", "threshold") if plan.statements == "joined" else ()))
        return sha256_of(
            {
                "plan": {name: value for name, value in asdict(plan).items() if name not in excluded},
                "blind": settings.blind,
                "extractor": settings.extractor,
                "merging": asdict(self._thresholds),
                "grounding": TOLERANCE,
                "versions": versions,
                "teacher": self._teacher.fingerprint,
                "embedder": self._embedder.name,
                "domain": query.domain,
                "privacy": self._privacy,
                **self._seed,
                **({} if settings.teacher_temperature is None else {"temperature": settings.teacher_temperature}),
                **({"drop_leaks": True} if settings.drop_leaks else {}),
            }
        )

    def aggregation(self, query: Query) -> Aggregation:
        """Return how the edges of the query's subgraph are merged, without merged statements."""
        return plan_settings(self._settings, query).aggregation()

    def distill(self, query: Query, usage: Usage, edition: str = "") -> tuple[Subgraph, Aggregation]:
        """Return the query's subgraph without edges, and how the store must aggregate it.

        `edition` is the creation time of the subgraph to replace. With it, models are asked again instead of replaying the tape
        (docs/decisions/0002-ids-and-editions.md). `usage` is updated with every call, also if an error is raised.

        Raises ReplyError if a reply stays unusable (the query must be quarantined), ModelError if the teacher cannot be used,
        and BudgetReached.
        """
        plan = plan_settings(self._settings, query)
        query = query.model_copy(update={"complexity": plan.complexity})
        asking = _Asking(self._teacher, usage, edition if self._teacher.is_model else "", self._seed)
        ranked, vector = self._evidence(query, asking, plan)
        if not self._teacher.is_model:
            asking.note_left_out(ranked)
        extraction = self._triples(query, ranked, asking)
        with log.timed("graph", query.id):
            graph = canonical.build(query, extraction.triples, self._embedder.embed, self._thresholds)
        usage.notes += [f"discarded: {reason}" for reason in (*extraction.discarded, *graph.discarded)]
        usage.notes += [f"doubtful, but kept because people wrote it: {reason}" for reason in extraction.doubted]
        triples = self._ranked(query, graph, asking, plan)
        aggregation = plan.aggregation()
        if plan.statements == "teacher":
            aggregation = _merged_statements(query, ranked, triples, aggregation, asking)
        now = _made_at(edition)
        days = self._settings.days_to_live or DAYS_TO_LIVE.get(query.domain, DEFAULT_DAYS_TO_LIVE)
        subgraph = Subgraph(
            source=query,
            settings_hash=self.settings_hash(query),
            blind=self._settings.blind,
            embedding=vector,
            created_at=now.isoformat(timespec="seconds"),
            expires_at=(now + timedelta(days=days)).isoformat(timespec="seconds"),
            evidence=tuple(sorted(ranked, key=lambda item: item.position)),
            entities=graph.entities,
            triples=triples,
            calls=tuple(sorted(asking.calls.values(), key=lambda call: call.id)),
        )
        return subgraph, aggregation

    def _evidence(self, query: Query, asking: "_Asking", plan: PlanSettings) -> tuple[tuple[Evidence, ...], tuple[float, ...]]:
        """Return the ranked evidence, best first, and the query's vector."""
        blind, number = self._settings.blind, plan.number_of_evidence
        temperature = self._settings.teacher_temperature
        request = partial(evidence.request, query, plan=plan.plan, blind=blind, temperature=temperature)
        reply = asking.ask(request(number=number))
        asking.discard(reply.payload.discarded)
        # All evidence from people is kept. Surplus evidence of a model is dropped.
        most = number if self._teacher.is_model else None
        embedded: list[Vectors] = []

        def embed(texts: Sequence[str]) -> Vectors:
            """Embed question and evidence once: the same vectors find repetitions and rank."""
            embedded.append(self._embedder.embed([query.text, *texts]))
            return embedded[-1][1:]

        read = partial(evidence.read, query=query, number=most, embed=embed, drop_leaks=self._settings.drop_leaks)
        items = read(reply)
        short = evidence.missing(items, number, plan.plan)
        if short:
            more = asking.ask(request(number=short, earlier=items))
            asking.discard(more.payload.discarded)
            items = read(more, earlier=items)
        candidates = rank.candidates(items)
        if not candidates:
            raise MalformedReply("The teacher gave no usable evidence.", hint="Use another teacher, or rephrase the question.")
        scores: dict[str, float] = {}
        if plan.needs_scores:
            reply = asking.ask(rank.request(query, [item.text for item in candidates], plan.plan, blind=blind))
            scores = asking.scores(reply, [[item.id] for item in candidates])
        vectors = embedded[-1]
        with log.timed("ranking", query.id):
            ranked = rank.rank(items, rank.cosines(vectors[0], vectors[1:]), scores, plan)
        return ranked, tuple(vectors[0].tolist())

    def _ranked(
        self, query: Query, graph: canonical.CanonicalGraph, asking: "_Asking", plan: PlanSettings
    ) -> tuple[Triple, ...]:
        """Return the triples best first; the teacher orders them if the plan asks for it and there are several."""
        scores: dict[str, float] = {}
        relations = rank.relations(graph.triples)
        if plan.rank_relations and len(relations) > 1:
            try:
                reply = asking.ask(rank.request(query, list(relations), plan.plan, "relations", blind=self._settings.blind))
                scores = asking.scores(reply, list(relations.values()))
            except ReplyError:
                asking.note("The teacher's order of the relations was unusable; they are ranked by confidence.")
        return rank.rank_triples(graph.triples, graph.nearness, scores, plan)

    def _triples(self, query: Query, ranked: Sequence[Evidence], asking: "_Asking") -> extract.Extraction:
        """Return the raw triples: the teacher's, or with `auto` those of `patterns` if the teacher has none."""
        extraction = extract.Extraction()
        if self._settings.extractor != "patterns":
            try:
                extraction = self._teacher_triples(query, ranked, asking)
            except ReplyError:
                if self._settings.extractor == "teacher":
                    raise
                asking.note("The teacher's triples were unusable; `patterns` extracted them.")
            if extraction.triples or self._settings.extractor == "teacher":
                return extraction
        by_rules, call = extract.from_patterns(query, ranked, created_at=datetime.now(UTC).isoformat(timespec="seconds"))
        for note in by_rules.notes:
            asking.note(note)
        if by_rules.triples:
            asking.calls[call.id] = call
        return extraction + by_rules

    def _teacher_triples(self, query: Query, ranked: Sequence[Evidence], asking: "_Asking") -> extract.Extraction:
        extraction, waits = extract.Extraction(), None
        for batch in extract.batches(ranked, self._settings.plan):
            request = extract.request(query, batch, self._settings.plan, blind=self._settings.blind)
            try:
                extraction += extract.read(asking.ask(request), batch, by_people=not self._teacher.is_model)
            except AwaitsBatch as error:  # independent requests can go into one batch
                waits = error
        if waits is not None:
            raise waits
        return extraction


def _made_at(edition: str) -> datetime:
    """Return the current time; for a new edition the next full second.

    Times are in seconds, and a wrong answer to the old edition in the same second must not count against the new one.
    """
    now = datetime.now(UTC)
    return now.replace(microsecond=0) + timedelta(seconds=1) if edition else now


class _Asking:
    """Asks the teacher about one query, and collects the records of the calls."""

    def __init__(self, teacher: Teacher, usage: Usage, edition: str, parameters: Mapping[str, int]) -> None:
        """`parameters` are added to those of each request."""
        self._teacher = teacher
        self._usage = usage
        self._edition = edition
        self._parameters = parameters
        self.calls: dict[str, TeacherCall] = {}

    def note(self, sentence: str) -> None:
        self._usage.notes.append(sentence)

    def discard(self, reasons: Iterable[str]) -> None:
        notes = (f"discarded: {reason}" for reason in reasons)
        self._usage.notes += [note for note in notes if note not in self._usage.notes]  # evidence from people may be read twice

    def note_left_out(self, evidence: Sequence[Evidence]) -> None:
        """Note the dropped evidence of people, whose triples are not requested."""
        texts = {item.text for item in evidence if item.kept}
        for item in sorted(evidence, key=lambda item: item.position):
            if item.text not in texts:
                self.note(f'left out, with triples that rest only on it: "{item.text}" {item.reason}')
                texts.add(item.text)

    def scores(self, reply: TeacherReply, ids: Sequence[Sequence[str]]) -> dict[str, float]:
        """Return the scores of a reply by id, in its order; `ids` are those of each statement of the request."""
        scores, discarded = rank.read_scores(reply, len(ids))
        self.discard(discarded)
        return {id_: score for place, score in scores.items() for id_ in ids[place]}

    def ask(self, request: TeacherRequest) -> TeacherReply:
        with log.timed(request.stage, request.source.id):
            parameters = {**request.parameters, **self._parameters}
            reply = self._usage.ask(self._teacher, replace(request, edition=self._edition, parameters=parameters))
        self.calls.update((call.id, call) for call in reply.calls)
        return reply


def _merged_statements(
    query: Query, ranked: Sequence[Evidence], triples: Sequence[Triple], aggregation: Aggregation, asking: _Asking
) -> Aggregation:
    """Return the aggregation with the teacher's sentence for each edge of several triples (the paper's appendix H)."""
    claims = claims_of(triples, ranked, asking.calls.values(), aggregation.merge)
    edges, _ = edges_of(query.id, claims, aggregation)
    several = statements.mergeable(edges)
    if not several:
        return aggregation
    try:
        merged, _ = statements.read(asking.ask(statements.request(query, several, triples)), several)
    except ReplyError:
        # The paper calls this step optional.
        asking.note("The teacher's merged sentences were unusable; the sentences are joined.")
        return aggregation
    return aggregation.model_copy(update={"statements": merged})
