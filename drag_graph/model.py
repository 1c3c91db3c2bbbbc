"""The domain model (docs/reference/graph.md): frozen, validated values without any I/O.

Ids are content hashes (`drag_graph.identity`). Times are UTC ISO 8601 strings with seconds, costs are US dollars, latencies
are whole milliseconds. Numbers and texts have the limits of `drag_graph.values`.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from drag_graph.identity import document_id, query_id
from drag_graph.values import Confidence, Cosine, Count, Finite, Ids, Relevance, Text, Value

Domain = Literal["general", "medical", "technical", "privacy"]
Framing = Literal["definitional", "contrastive", "causal", "procedural", "exemplar", "unspecified"]
Mode = Literal["none", "evidence", "graph", "combined"]
Scoring = Literal["auto", "letter", "option-text", "option-text-norm", "option-text-mutual-info", "reply"]
"""How a student chooses an option; `auto` depends on the kind of student."""
GraphKind = Literal["simple", "multigraph", "evidence_only"]
Strategy = Literal["pair", "whole-pair", "predicate"]
Merge = Literal["max", "mean", "noisy-or"]
Stage = Literal["evidence", "scores", "triples", "relations", "statements", "summary", "rewrite"]
LineKind = Literal["evidence", "edge", "span"]

DOMAINS: tuple[Domain, ...] = ("general", "medical", "technical", "privacy")
ENTITY_TYPES = (
    "person", "organization", "location", "event", "time", "quantity", "substance", "organism", "object", "process", "concept",
    "other",
)  # fmt: skip
"""Types of entities; any other type that a teacher uses becomes `other`."""
FRAMINGS: tuple[Framing, ...] = ("definitional", "contrastive", "causal", "procedural", "exemplar")
LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DEFAULT_NAMESPACE = "default"
MOST_EDGES, ALL_EDGES = 2**31 - 1, 1_000_000
"""The largest `top_k` (Neo4j slices lists by 32-bit integers), and one without effect."""


def labelled(options: Iterable[str]) -> list[str]:
    """Return the options, each after its letter."""
    return [f"{label}. {option}" for label, option in zip(LABELS, options, strict=False)]


class Query(Value):
    """A question with up to 26 options. `complexity` is from 0 to 1, `metadata` has the unknown keys of the input line.

    `gold` is the correct answer if the input has one: an option's index or a text. It is never sent to a teacher or stored.
    """

    id: str
    namespace: str = DEFAULT_NAMESPACE
    text: Text
    options: Annotated[tuple[Text, ...], Field(max_length=26)] = ()
    domain: Domain = "general"
    complexity: Confidence = 0.0
    input_id: str = ""
    gold: int | str | tuple[str, ...] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def title(self) -> str:
        """The question."""
        return self.text

    def id_in(self, namespace: str) -> str:
        """Return the id that this question has in a namespace."""
        return query_id(namespace, self.text, self.options)


class Document(Value):
    """An ingested file: its address, the hash of its bytes, and the time of its last modification.

    `date` is the day, month or year that the document is from, if it says so (ISO 8601); `tags` are the user's. `input_id` is
    the address that the id is the hash of, if it is not `uri`: the file was renamed (docs/decisions/0012-documents.md).
    """

    id: str
    namespace: str = DEFAULT_NAMESPACE
    name: Text
    uri: str = ""
    sha256: str = ""
    media_type: str = ""
    modified_at: str = ""
    date: Annotated[str, StringConstraints(pattern=r"^(\d{4}(-\d{2}(-\d{2})?)?)?$")] = ""
    tags: Ids = ()
    input_id: str = ""

    @property
    def title(self) -> str:
        """The name."""
        return self.name

    def id_in(self, namespace: str) -> str:
        """Return the id that this document has in a namespace."""
        return document_id(namespace, self.input_id or self.uri)


class Chunk(Value):
    """A part of a document: characters `start` to `end`; `position` is its index among the chunks.

    `heading` is the path of headings above it, outermost first; `page` counts from 1.
    """

    id: str
    source_id: str
    position: Count
    start: Count
    end: Count
    text: Text
    page: Annotated[int, Field(ge=1)] | None = None
    heading: tuple[str, ...] = ()


class TeacherCall(Value):
    """One request to a model, a file or the `patterns` extractor; `follows` is the id of the call that it repeats."""

    id: str
    source_id: str
    stage: Stage
    model: str
    prompt_version: str
    request_sha256: str
    response_sha256: str
    tokens_in: Count = 0
    tokens_out: Count = 0
    cost_usd: Annotated[Finite, Field(ge=0.0)] = 0.0
    latency_ms: Count = 0
    created_at: str = ""
    follows: str = ""


class Evidence(Value):
    """One factual statement and how it was ranked.

    `position` is its place in the teacher's reply, `rank` its place after ranking (0 is best). `reason` says why a
    statement that is not `kept` was dropped; it is empty for a kept one. `score` lies in [0, 1] under the weighted
    strategy (`drag_graph.distill.evidence_ranking`).

    It was made by one or more teacher calls (`call_ids`), or it is a passage of a document: the characters from `start` up to
    `end` of the document, in the chunk `chunk_id`. Never both, and never neither.
    """

    id: str
    source_id: str
    text: Text
    framing: Framing = "unspecified"
    position: Count
    cosine: Cosine = 0.0
    llm_score: Relevance | None = None
    score: Finite = 0.0
    rank: Count = 0
    kept: bool = True
    reason: str = ""
    call_ids: Ids = ()
    chunk_id: str = ""
    start: Count = 0
    end: Count = 0
    created_at: str = ""

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if bool(self.call_ids) == bool(self.chunk_id):
            raise ValueError("an evidence has teacher calls or a chunk, not both")
        return self


class Entity(Value):
    """A node of one source's graph. `variants` are the surface forms merged into `name`, sorted; `type` may be empty."""

    id: str
    source_id: str
    name: Text
    type: str = ""
    variants: tuple[str, ...] = ()


class Triple(Value):
    """One edge of the multigraph, extracted from one piece of evidence by one or more calls (promise 4).

    `opposes` is fixed when the triple is made: the predicate keys of the same ordered pair that contradict it,
    and the claims of the same subject with another number or date, each as its predicate key, a space and the object's name.
    """

    id: str
    source_id: str
    subject_id: str
    subject: Text
    predicate: Text
    predicate_key: Text
    object_id: str
    object: Text
    confidence: Confidence
    evidence_id: Text
    call_ids: Annotated[Ids, Field(min_length=1)]
    rank: Count = 0
    opposes: tuple[str, ...] = ()

    @property
    def claim(self) -> str:
        """The name of its claim among those of the subject, as in `opposes`."""
        return f"{self.predicate_key} {self.object}"


class SimpleEdge(Value):
    """Compatible claims about one ordered pair (strategy `pair`), all of its claims (`whole-pair`), or one claim (`predicate`).

    A claim is all kept triples with the same pair and predicate key. `predicates` and `statement` have one entry per claim.
    `confidence` is that of the best claim, `support` the number of triples, `rank` the order (0 is best), `contradicts` the ids
    of contradicting edges of the same subject. It includes the edge's own id if claims of the edge contradict each other.
    """

    id: str
    source_id: str
    subject_id: str
    subject: Text
    object_id: str
    object: Text
    statement: Text
    predicates: tuple[str, ...]
    confidence: Confidence
    support: Annotated[int, Field(ge=1)]
    triple_ids: tuple[str, ...]
    evidence_ids: tuple[str, ...]
    contradicts: tuple[str, ...] = ()
    rank: Count = 0


class Aggregation(Value):
    """How the multigraph is merged and pruned. Triples never change.

    Claims whose merged confidence is below `threshold` are dropped. `top_k` is the number of edges that remain.
    `statements` has, by edge id, a teacher's sentence that replaces the joined clauses.
    """

    strategy: Strategy = "pair"
    merge: Merge = "max"
    threshold: Confidence = 0.7
    top_k: Annotated[int, Field(ge=1, le=MOST_EDGES)] = 15
    statements: dict[str, str] = Field(default_factory=dict)

    def of_documents(self) -> "Aggregation":
        """Return the same aggregation without a limit on the edges, for documents."""
        return self.model_copy(update={"top_k": ALL_EDGES})


def _kind_of(source: Any) -> str:
    """Return the tag of a source or its JSON: only documents have a name."""
    return "document" if isinstance(source, Document) or (isinstance(source, dict) and "name" in source) else "query"


Source = Annotated[Annotated[Query, Tag("query")] | Annotated[Document, Tag("document")], Discriminator(_kind_of)]


class Subgraph(Value):
    """The knowledge from one source: a distilled query or an ingested document.

    `embedding` is the source's unit vector or empty. Context lines come from the `graph`: `simple` edges; the raw `multigraph`
    if pruning would leave nothing; or `evidence_only` without triples. `blind`: the teacher did not see the options. A store
    fills `edges`, by `aggregation` (without statements).
    """

    source: Source
    settings_hash: str
    status: Literal["complete"] = "complete"
    graph: GraphKind = "simple"
    blind: bool = False
    embedding: tuple[Finite, ...] = ()
    created_at: str = ""
    expires_at: str = ""
    chunks: tuple[Chunk, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    entities: tuple[Entity, ...] = ()
    triples: tuple[Triple, ...] = ()
    edges: tuple[SimpleEdge, ...] = ()
    calls: tuple[TeacherCall, ...] = ()
    aggregation: Aggregation | None = None

    @property
    def source_id(self) -> str:
        """The id of the source."""
        return self.source.id

    @property
    def query(self) -> Query:
        """The query. Raises TypeError if the source is a document."""
        if isinstance(self.source, Document):
            raise TypeError(f"{self.source.id} is a document, not a query")
        return self.source

    @property
    def document(self) -> Document | None:
        """The document, or None for a query."""
        return self.source if isinstance(self.source, Document) else None

    @property
    def title(self) -> str:
        """The question, or the document's name."""
        return self.source.title

    @property
    def kept_evidence(self) -> tuple[Evidence, ...]:
        """The evidence that ranking kept, best first."""
        return tuple(sorted((item for item in self.evidence if item.kept), key=lambda item: item.rank))

    @property
    def usable_edges(self) -> tuple[SimpleEdge, ...]:
        """The edges for context lines, best first: simple edges, or each triple of kept evidence as an edge."""
        if self.graph == "simple":
            return tuple(sorted(self.edges, key=lambda edge: (edge.rank, edge.id)))
        if self.graph == "multigraph":
            kept_ids = {item.id for item in self.evidence if item.kept}
            triples = sorted(self.triples, key=lambda item: (item.rank, item.id))
            return edges_of_triples([triple for triple in triples if triple.evidence_id in kept_ids])
        return ()


def edges_of_triples(triples: Sequence[Triple]) -> tuple[SimpleEdge, ...]:
    """Return each triple as an edge with the triple's id."""
    rivals: dict[str, set[str]] = {}
    same: dict[tuple[str, str], list[Triple]] = {}
    for triple in triples:
        for name in (f"{triple.object_id} {triple.predicate_key}", triple.claim):
            same.setdefault((triple.subject_id, name), []).append(triple)
    for one in triples:
        names = [name for key in one.opposes for name in (f"{one.object_id} {key}", key)]
        for other in (it for name in names for it in same.get((one.subject_id, name), ())):
            rivals.setdefault(one.id, set()).add(other.id)
            rivals.setdefault(other.id, set()).add(one.id)
    shared = {"id", "source_id", "subject_id", "subject", "object_id", "object", "confidence", "rank"}
    return tuple(
        SimpleEdge(
            **triple.model_dump(include=shared),
            statement=sentence_of(triple.subject, triple.predicate, triple.object),
            predicates=(triple.predicate,),
            support=1,
            triple_ids=(triple.id,),
            evidence_ids=(triple.evidence_id,),
            contradicts=tuple(sorted(rivals.get(triple.id, ()))),
        )
        for triple in triples
    )


def sentence_of(subject: str, predicate: str, object_: str) -> str:
    """Return a triple as a clause; underscores of the predicate become spaces."""
    return f"{subject} {predicate.replace('_', ' ')} {object_}"


class Line(Value):
    """A context line. `ref` is the id of its evidence or edge, or of the best evidence of a span.

    A span is the text of a document from the first to the last of the passages `evidence_ids`, after `opening`: title,
    headings and date. `score` is the weight in retrieval, `site` the cloud's site that released the line ('' for this store).
    """

    n: Annotated[int, Field(ge=1)]
    kind: LineKind
    text: Text
    ref: Text
    source_id: str
    score: Finite = 0.0
    opening: str = ""
    evidence_ids: tuple[Text, ...] = ()
    site: str = ""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Line({self.n}, {self.kind!r}, {self.text!r})"


class Answer(Value):
    """A student's answer with its context lines.

    `confidence` (0 to 1) depends on the student. `label` is an option's letter, `snapshot` the audit at the time of answering.
    """

    id: str
    namespace: str = DEFAULT_NAMESPACE
    question: Text
    options: tuple[Text, ...] = ()
    source_ids: tuple[str, ...] = ()
    text: str
    label: str | None = None
    gold: str | None = None
    correct: bool | None = None
    confidence: Confidence = 0.0
    mode: Mode = "combined"
    student: str
    lines: tuple[Line, ...] = ()
    prompt_tokens: Count = 0
    latency_ms: Count = 0
    created_at: str = ""
    snapshot: dict[str, Any] = Field(default_factory=dict)
