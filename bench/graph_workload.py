"""The workload of `graph.py`.

A query has 15 evidence texts of 26 words, 22 directed triples over 13.7 entities and 16 ordered pairs, 31 % of the pairs with
parallel edges, 3 teacher calls and a vector of 384 numbers. Seeded: a number always gives the same.
"""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from drag_graph.identity import content_id, query_id
from drag_graph.model import FRAMINGS, Aggregation, Entity, Evidence, Query, Stage, Subgraph, TeacherCall, Triple

EVIDENCE = 15
WORDS = 26
TRIPLES = 22
PAIRS = 16
PARALLEL = (2, 2, 2, 2, 3)
"""Edges of each of the 5 pairs (31 %) that have several; the other 11 have one."""
DIMENSION = 384
AGGREGATION = Aggregation()
SETTINGS = "bench-settings"
TIME = "2026-01-02T03:04:05+00:00"
_STAGES: tuple[Stage, ...] = ("evidence", "scores", "triples")
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo")
_VOCABULARY = [a + b + c for a in _SYLLABLES for b in _SYLLABLES for c in _SYLLABLES]
_PREDICATES = ("is_a", "causes", "prevents", "contains", "produces", "regulates", "differs_from", "is_part_of")


def vector_of(number: int) -> list[float]:
    """Return the unit vector of query `number`: one of 384 normal numbers."""
    vector = np.random.default_rng(number).standard_normal(DIMENSION)
    return [float(x) for x in (vector / np.linalg.norm(vector)).astype(np.float32)]


def id_of(number: int, namespace: str) -> str:
    """Return the id of query `number`."""
    return query_id(namespace, _text(number))


def subgraph(number: int, namespace: str) -> Subgraph:
    """Return query `number` with all that hangs on it, without simple edges, as the pipeline would save it."""
    chance = random.Random(number)
    text = _text(number)
    query = Query(id=query_id(namespace, text), namespace=namespace, text=text, complexity=0.6, input_id=f"line-{number}")
    calls = [_call(query, stage, chance) for stage in _STAGES]
    evidence = [_evidence(query, position, calls[0].id, chance) for position in range(EVIDENCE)]
    names = chance.sample(_VOCABULARY, 13 + (chance.random() < 0.7))
    entities = [Entity(id=content_id(namespace, "entity", query.id, name), source_id=query.id, name=name) for name in names]
    return Subgraph(
        source=query,
        settings_hash=SETTINGS,
        embedding=tuple(vector_of(number)),
        created_at=TIME,
        expires_at="2036-01-02T03:04:05+00:00",
        evidence=tuple(evidence),
        entities=tuple(sorted(entities, key=lambda item: item.name)),
        triples=tuple(_triples(query, entities, evidence, calls[2].id, chance)),
        calls=tuple(sorted(calls, key=lambda call: call.id)),
    )


def subgraphs(numbers: Sequence[int], namespace: str) -> list[Subgraph]:
    """Return the queries of these numbers."""
    return [subgraph(number, namespace) for number in numbers]


def _text(number: int) -> str:
    words = " ".join(random.Random(-number - 1).choices(_VOCABULARY, k=12))
    return f"Which of these is true of {words} ({number})?"


def _call(query: Query, stage: Stage, chance: random.Random) -> TeacherCall:
    return TeacherCall(
        id=content_id(query.namespace, "call", query.id, stage),
        source_id=query.id,
        stage=stage,
        model="bench/teacher",
        prompt_version="1",
        request_sha256=f"{chance.getrandbits(256):064x}",
        response_sha256=f"{chance.getrandbits(256):064x}",
        tokens_in=800,
        tokens_out=600,
        cost_usd=0.0021,
        latency_ms=2100,
        created_at=TIME,
    )


def _evidence(query: Query, position: int, call_id: str, chance: random.Random) -> Evidence:
    return Evidence(
        id=content_id(query.namespace, "evidence", query.id, str(position)),
        source_id=query.id,
        text=" ".join(chance.choices(_VOCABULARY, k=WORDS)),
        framing=FRAMINGS[position % len(FRAMINGS)],
        position=position,
        cosine=round(chance.uniform(0.2, 0.9), 6),
        llm_score=float(chance.randint(5, 10)),
        score=round(chance.uniform(0.4, 1.0), 6),
        rank=position,
        call_ids=(call_id,),
        created_at=TIME,
    )


def _triples(
    query: Query, entities: Sequence[Entity], evidence: Sequence[Evidence], call_id: str, chance: random.Random
) -> list[Triple]:
    everything = [(s, o) for s in entities for o in entities if s is not o]
    # Each entity is an end of some pair, or it would not be there.
    pairs = [(entities[n], entities[(n + 1) % len(entities)]) for n in range(len(entities))]
    rest = [pair for pair in everything if pair not in pairs]
    pairs += chance.sample(rest, PAIRS - len(pairs))
    ends: list[tuple[Entity, Entity]] = []
    for place, pair in enumerate(pairs):
        ends += [pair] * (PARALLEL[place] if place < len(PARALLEL) else 1)
    chance.shuffle(ends)
    made: list[Triple] = []
    for rank, (subject, object_) in enumerate(ends):
        predicate = chance.choice(_PREDICATES)
        made.append(
            Triple(
                id=content_id(query.namespace, "triple", query.id, str(rank)),
                source_id=query.id,
                subject_id=subject.id,
                subject=subject.name,
                predicate=predicate,
                predicate_key=predicate,
                object_id=object_.id,
                object=object_.name,
                confidence=round(chance.uniform(0.6, 1.0), 3),
                evidence_id=evidence[chance.randrange(EVIDENCE)].id,
                call_ids=(call_id,),
                rank=rank,
            )
        )
    return made


def shape(graphs: Sequence[Subgraph]) -> dict[str, Any]:
    """Return the measured shape of some subgraphs, means a query."""
    number = len(graphs)
    pairs = [{(t.subject_id, t.object_id) for t in graph.triples} for graph in graphs]
    parallel = sum(
        sum(t.subject_id == s and t.object_id == o for t in graph.triples) > 1
        for graph, found in zip(graphs, pairs, strict=True)
        for s, o in found
    )
    return {
        "evidence": sum(len(graph.evidence) for graph in graphs) / number,
        "words": sum(len(item.text.split()) for graph in graphs for item in graph.evidence) / (number * EVIDENCE),
        "triples": sum(len(graph.triples) for graph in graphs) / number,
        "entities": round(sum(len(graph.entities) for graph in graphs) / number, 2),
        "pairs": sum(map(len, pairs)) / number,
        "pairs_with_parallels": round(parallel / sum(map(len, pairs)), 3),
    }
