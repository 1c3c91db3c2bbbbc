"""Valid subgraphs and answers for tests: by hand (`make_subgraph`, `make_answer`) or at random (`random_subgraphs`)."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from drag_graph.graph.aggregate import aggregate
from drag_graph.graph.contradictions import with_opposition
from drag_graph.graph.name_forms import predicate_key
from drag_graph.identity import chunk_id, content_id, document_id, query_id, triple_id
from drag_graph.model import (
    FRAMINGS,
    Aggregation,
    Answer,
    Chunk,
    Document,
    Entity,
    Evidence,
    Line,
    LineKind,
    Query,
    Stage,
    Subgraph,
    TeacherCall,
    Triple,
)
from drag_graph.ports.graph_store import StoredSource

Spec = tuple[str, str, str, float, int]
"""(subject, predicate, object, confidence, position of its evidence): one triple of `make_subgraph`."""

STAGES: tuple[Stage, ...] = ("evidence", "triples")
CREATED_AT = "2026-01-02T03:04:05+00:00"
EXPIRES_AT = "2026-04-02T03:04:05+00:00"

HOSTILE_NAMES = (
    "}) DETACH DELETE n //",
    "x'}) WITH 1 AS one DETACH DELETE n RETURN one //",
    "\"quoted\" 'twice'",
    "`back` `tick``s`",
    "$x $namespace ${y}",
    "back\\slash \\' \\u0041",
    "line\nbreak\ttab",
    "naïve Ωmega 漢字 \uff21 🧪👩‍🔬",
    "null",
    "[1,2]; {a: 1} | <b>&amp;</b> -- /* */",
    "x" * 2000,
)
"""Names that an engine must store as they are: injection, quoting, line ends, characters beyond the basic plane, length."""

DEFAULT_TRIPLES: tuple[Spec, ...] = (
    ("mitosis", "is_a", "cell division", 0.95, 0),
    ("mitosis", "produces", "daughter cells", 0.9, 0),
    ("mitosis", "yields", "daughter cells", 0.8, 1),
    ("daughter cells", "are_identical_to", "parent cell", 0.75, 1),
    ("parent cell", "undergoes", "mitosis", 0.4, 2),
)


def make_query(number: int | str = 0, *, namespace: str = "default", options: Sequence[str] = ("one", "two")) -> Query:
    """Return a query whose text is made of `number`."""
    text = f"Which process makes two cells of one ({number})?"
    return Query(
        id=query_id(namespace, text, options),
        namespace=namespace,
        text=text,
        options=tuple(options),
        domain="medical",
        complexity=0.625,
        input_id=f"line-{number}",
        metadata={"subject": "biology", "tags": ["a", 'b"'], "level": 3, "deep": {"x": None}},
    )


def make_subgraph(
    number: int | str = 0,
    *,
    namespace: str = "default",
    triples: Sequence[Spec] = DEFAULT_TRIPLES,
    evidence: Sequence[str] | int = 4,
    dropped: Iterable[int] = (3,),
    ranks: Sequence[int] | None = None,
    settings_hash: str = "settings-1",
    embedding: Sequence[float] = (),
    extra_entities: Sequence[str] = (),
    blind: bool = False,
    teachers: Sequence[int] | None = None,
) -> Subgraph:
    """Return a valid subgraph of the query of that number, as the pipeline would save it (without edges).

    `evidence` are the texts, or how many; those at the positions `dropped` are not kept. `ranks` gives the triples' ranks,
    by default their order; `teachers` which of several teachers read them. Equal arguments make equal subgraphs.
    """
    query = make_query(number, namespace=namespace)
    first, *readers = (_call(query, stage, settings_hash) for stage in STAGES)
    readers += [_call(query, "triples", settings_hash, f"-{number}") for number in range(1, max(teachers or (0,)) + 1)]
    calls = tuple(sorted((first, *readers), key=lambda call: call.id))
    texts = [f"Statement {index} about ({number})." for index in range(evidence)] if isinstance(evidence, int) else evidence
    statements = _evidence(query, texts, frozenset(dropped), first.id)
    names = sorted({name for spec in triples for name in (spec[0], spec[2])} | set(extra_entities))
    entities = {name: _entity(query, name) for name in names}
    edges = [
        _triple(
            query,
            spec,
            entities,
            statements,
            call_id=readers[teachers[index] if teachers else 0].id,
            index=index,
            rank=ranks[index] if ranks else index,
        )
        for index, spec in enumerate(triples)
    ]
    return Subgraph(
        source=query,
        settings_hash=settings_hash,
        blind=blind,
        embedding=tuple(embedding),
        created_at=CREATED_AT,
        expires_at=EXPIRES_AT,
        evidence=tuple(statements),
        entities=tuple(entities[name] for name in names),
        triples=with_opposition(sorted(edges, key=lambda item: (item.rank, item.id))),
        calls=calls,
    )


def make_document(number: int | str = 0, *, namespace: str = "default") -> Document:
    """Return a document whose name is made of `number`."""
    uri = f"file:///library/report-{number}.txt"
    return Document(
        id=document_id(namespace, uri),
        namespace=namespace,
        name=f"Report {number}",
        uri=uri,
        sha256=content_id("", "bytes", uri) * 2,
        media_type="text/plain",
        modified_at=CREATED_AT,
        date="2026-03-02",
        tags=("reports",),
    )


def make_document_subgraph(
    number: int | str = 0, *, edges: int = 20, names: Sequence[str] = (), namespace: str = "default", **options: Any
) -> Subgraph:
    """Return a valid subgraph of a document, with more edges than a query keeps: one a chunk, read from its only passage.

    `names` are those of the first entities. `options` are those of `make_subgraph` that evidence and triples leave open.
    """
    things = [*names, *(f"part {n} of {number}" for n in range(len(names), edges + 1))]
    triples = [(things[n], "joins", things[n + 1], 0.9, n) for n in range(edges)]
    texts = [[f"{things[n]} joins {things[n + 1]}."] for n in range(edges)]
    return document_of(make_document(number, namespace=namespace), texts, triples, **options)


def document_of(
    document: Document,
    chunks: Sequence[Sequence[str]],
    triples: Sequence[Spec] = (),
    *,
    heading: Sequence[str] = (),
    **options: Any,
) -> Subgraph:
    """Return a valid subgraph of a document whose chunks consist of these passages; `options` are those of `make_subgraph`."""
    namespace = document.namespace
    texts = [text for passages in chunks for text in passages]
    subgraph = make_subgraph(
        f"document {document.id}", namespace=namespace, triples=triples, evidence=texts, dropped=(), **options
    )
    entities = {item.id: content_id(namespace, "entity", document.id, item.name) for item in subgraph.entities}
    own, start, parts, evidence = {"source_id": document.id}, 0, list[Chunk](), list[Evidence]()
    left = iter(subgraph.evidence)
    for position, passages in enumerate(chunks):
        text = " ".join(passages)
        id_ = chunk_id(namespace, document.id, position, text)
        end = start + len(text)
        parts.append(Chunk(id=id_, **own, position=position, start=start, end=end, text=text, heading=tuple(heading)))
        for passage in passages:
            places = {"chunk_id": id_, "start": start, "end": start + len(passage)}
            blank = {"call_ids": (), "framing": "unspecified", "llm_score": None}
            evidence.append(next(left).model_copy(update={**own, **places, **blank}))
            start += len(passage) + 1
    calls = [
        call.model_copy(update={**own, "model": "patterns/of-tests", "follows": ""})
        for call in subgraph.calls
        if call.stage == "triples"
    ]
    return subgraph.model_copy(
        update={
            "source": document,
            "expires_at": "",
            "chunks": tuple(parts),
            "evidence": tuple(evidence),
            "calls": tuple(calls),
            "entities": tuple(item.model_copy(update={**own, "id": entities[item.id]}) for item in subgraph.entities),
            "triples": tuple(
                item.model_copy(update={**own, "subject_id": entities[item.subject_id], "object_id": entities[item.object_id]})
                for item in subgraph.triples
            ),
        }
    )


def as_distilled(subgraph: Subgraph) -> Subgraph:
    """Return the subgraph with the ids that distilling gives: hashes of what it holds, so that equal triples are one."""
    query, repeats = subgraph.source, Counter[str]()
    evidence: dict[str, Evidence] = {}
    for item in subgraph.evidence:
        again = ("repeat", str(repeats[item.text])) if repeats[item.text] else ()
        repeats[item.text] += 1
        id_ = content_id(query.namespace, "evidence", query.id, item.text, *again)
        evidence[item.id] = item.model_copy(update={"id": id_})
    triples: dict[str, Triple] = {}
    for triple in subgraph.triples:
        source = evidence[triple.evidence_id].id
        ends = (triple.subject_id, triple.object_id)
        id_ = triple_id(query.namespace, query.id, ends, predicate_key(triple.predicate), source)
        triples.setdefault(id_, triple.model_copy(update={"id": id_, "evidence_id": source}))
    return subgraph.model_copy(update={"evidence": tuple(evidence.values()), "triples": tuple(triples.values())})


def expected(subgraph: Subgraph, aggregation: Aggregation) -> Subgraph:
    """Return what a store must give back for `subgraph`: aggregated by the reference, every tuple in the port's order.

    The evidence is ordered by position, entities by name, triples by (rank, id), edges by rank, calls by id. The right answer
    (`Query.gold`) is not stored.
    """
    own = aggregation.of_documents() if subgraph.document else aggregation
    edges, kind = aggregate(subgraph, own)
    return subgraph.model_copy(
        update={
            "source": subgraph.query.model_copy(update={"gold": None}) if subgraph.document is None else subgraph.source,
            "chunks": tuple(sorted(subgraph.chunks, key=lambda item: (item.position, item.id))),
            "graph": kind,
            "edges": tuple(edges),
            "aggregation": own.model_copy(update={"statements": {}}),
            "evidence": tuple(sorted(subgraph.evidence, key=lambda item: (item.position, item.id))),
            "entities": tuple(sorted(subgraph.entities, key=lambda item: (item.name, item.id))),
            "triples": tuple(sorted(subgraph.triples, key=lambda item: (item.rank, item.id))),
            "calls": tuple(sorted(subgraph.calls, key=lambda item: item.id)),
        }
    )


def stored_source_of(subgraph: Subgraph) -> StoredSource:
    """Return the entry of a subgraph in `GraphStore.sources`."""
    document = subgraph.document
    own = {name: getattr(document, name) for name in ("uri", "sha256", "input_id", "tags")} if document else {}
    times = subgraph.created_at, subgraph.expires_at
    date = document.date if document else subgraph.created_at[:10]
    ids = subgraph.source_id, document is not None, subgraph.settings_hash
    return StoredSource(*ids, *times, title=subgraph.title, date=date, **own)


def make_answer(
    number: int | str,
    subgraphs: Sequence[Subgraph],
    *,
    namespace: str = "default",
    refs: Sequence[tuple[LineKind, str]] = (),
    created_at: str = CREATED_AT,
    **fields: Any,
) -> Answer:
    """Return an answer to the first subgraph's query that rests on all of them.

    `refs` are (kind, ref) of its lines; each line belongs to the subgraph whose evidence, edge or triple the ref is.
    """
    owner: dict[str, str] = {}
    for graph in subgraphs:
        owner |= dict.fromkeys([item.id for item in graph.edges] + [item.id for item in graph.triples], graph.source_id)
        owner |= dict.fromkeys([item.id for item in graph.evidence], graph.source_id)
    lines = tuple(
        Line(n=n, kind=kind, text=f"line {n} of {number}", ref=ref, source_id=owner[ref], score=0.5 / n)
        for n, (kind, ref) in enumerate(refs, start=1)
    )
    question = subgraphs[0].title if subgraphs else f"Something new ({number})?"
    values: dict[str, Any] = {
        "id": content_id(namespace, "answer", str(number), question, created_at),
        "namespace": namespace,
        "question": question,
        "options": ("one", "two"),
        "source_ids": tuple(graph.source_id for graph in subgraphs),
        "text": "mitosis }) DETACH DELETE n // 'ü'",
        "label": "A",
        "gold": "A",
        "correct": True,
        "confidence": 0.625,
        "mode": "combined",
        "student": "nearest",
        "lines": lines,
        "prompt_tokens": 123,
        "latency_ms": 45,
        "created_at": created_at,
        "snapshot": {"question": question, "lines": [{"n": 1, "triples": [], "edge": None}], "privacy": {"filter": "none"}},
    }
    return Answer(**{**values, **fields})


def random_subgraphs(count: int, *, namespace: str = "default", seed: int = 0) -> list[Subgraph]:
    """Return `count` valid subgraphs of random size and content, the same ones for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - test data, no secret
    result = []
    for number in range(count):
        evidence = chance.randint(1, 6)
        names = [f"thing {index} of {number}" for index in range(chance.randint(2, 6))]
        triples = []
        for _ in range(chance.randint(0, 12)):
            subject, object_ = chance.sample(names, 2)
            confidence = chance.choice((0.0, 0.5, 0.7, 1.0, round(chance.random(), 3)))
            triples.append(
                (subject, chance.choice(("causes", "is_a", "part_of")), object_, confidence, chance.randrange(evidence))
            )
        dropped_indexes = [index for index in range(evidence) if chance.random() < 0.25]  # noqa: PLR2004 - a quarter of them
        result.append(
            make_subgraph(
                f"{seed}/{number}",
                namespace=namespace,
                triples=triples,
                evidence=evidence,
                dropped=dropped_indexes,
                settings_hash=f"settings-{seed}",
                extra_entities=names[:1],
                blind=chance.random() < 0.5,  # noqa: PLR2004 - half of them
            )
        )
    return result


def _call(query: Query, stage: Stage, settings_hash: str, other: str = "") -> TeacherCall:
    return TeacherCall(
        id=content_id(query.namespace, "call", query.id, stage + other, settings_hash),
        source_id=query.id,
        stage=stage,
        model=f"teacher/of-tests{other}",
        prompt_version="1",
        request_sha256=content_id("", "request", query.id, stage + other),
        response_sha256=content_id("", "response", query.id, stage + other, settings_hash),
        tokens_in=120,
        tokens_out=340,
        cost_usd=0.00125,
        latency_ms=678,
        created_at=CREATED_AT,
        follows=content_id(query.namespace, "call", query.id, "evidence", settings_hash) if stage != "evidence" else "",
    )


def _evidence(query: Query, texts: Sequence[str], dropped: frozenset[int], call_id: str) -> list[Evidence]:
    """Rank from the last position to the first, so that position and rank are never the same thing."""
    return [
        Evidence(
            id=content_id(query.namespace, "evidence", query.id, str(position), text),
            source_id=query.id,
            text=text,
            framing=FRAMINGS[position % len(FRAMINGS)],
            position=position,
            cosine=0.5 - position / 16,
            llm_score=None if position % 3 == 2 else 1.0 + position % 10,  # noqa: PLR2004 - some have none
            score=0.75 - position / 64,
            rank=len(texts) - 1 - position,
            kept=position not in dropped,
            reason="near-duplicate of 0" if position in dropped else "",
            call_ids=(call_id,),
            created_at=CREATED_AT,
        )
        for position, text in enumerate(texts)
    ]


def _entity(query: Query, name: str) -> Entity:
    id_ = content_id(query.namespace, "entity", query.id, name)
    return Entity(id=id_, source_id=query.id, name=name, type="process", variants=tuple(sorted({name.upper(), f"the {name}"})))


def _triple(
    query: Query, spec: Spec, entities: dict[str, Entity], evidence: Sequence[Evidence], *, call_id: str, index: int, rank: int
) -> Triple:
    subject, predicate, object_, confidence, position = spec
    return Triple(
        id=content_id(query.namespace, "triple", query.id, str(index), subject, predicate, object_),
        source_id=query.id,
        subject_id=entities[subject].id,
        subject=subject,
        predicate=predicate,
        predicate_key=predicate.casefold().replace(" ", "_"),
        object_id=entities[object_].id,
        object=object_,
        confidence=confidence,
        evidence_id=evidence[position].id,
        call_ids=(call_id,),
        rank=rank,
    )
