"""The simple graph, in plain Python: the definition that every store's Cypher is held to (docs/decisions/0003-claims.md).

Triples of one ordered pair and predicate key are merged into a claim, claims below the threshold are pruned, and what is
left of a pair becomes its edges. Only triples whose evidence was kept take part.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from drag_graph.model import Aggregation, Evidence, GraphKind, Merge, SimpleEdge, Subgraph, TeacherCall, Triple, sentence_of

TOLERANCE = 1e-9
"""Tolerance below the threshold, because floats are summed in no fixed order."""


@dataclass(frozen=True, slots=True)
class Part:
    """The parts of a triple that an edge keeps."""

    rank: int
    id: str
    predicate: str
    evidence_id: str


@dataclass(frozen=True, slots=True)
class Claim:
    """All kept triples of one ordered pair and predicate key: `parts` by (rank, id), `opposes` as in `Triple`."""

    subject_id: str
    subject: str
    object_id: str
    object: str
    key: str
    confidence: float
    opposes: frozenset[str]
    parts: tuple[Part, ...]

    def contradicts(self, other: "Claim") -> bool:
        """Return whether two claims of one pair contradict each other; a triple that came later may be alone in saying so."""
        return self.key != other.key and (other.key in self.opposes or self.key in other.opposes)


def aggregate(subgraph: Subgraph, aggregation: Aggregation) -> tuple[list[SimpleEdge], GraphKind]:
    """Return the simple edges of a subgraph's triples, best first, and what its graph is made of."""
    claims = claims_of(subgraph.triples, subgraph.evidence, subgraph.calls, aggregation.merge)
    return edges_of(subgraph.source_id, claims, aggregation)


def claims_of(
    triples: Iterable[Triple], evidence: Iterable[Evidence], calls: Iterable[TeacherCall], merge: Merge
) -> list[Claim]:
    """Return the claims of the triples whose evidence was kept."""
    kept_ids = {item.id for item in evidence if item.kept}
    models = {call.id: call.model for call in calls}
    groups: dict[tuple[str, str, str], list[Triple]] = defaultdict(list)
    for triple in sorted(triples, key=lambda item: (item.rank, item.id)):
        if triple.evidence_id in kept_ids:
            groups[triple.subject_id, triple.object_id, triple.predicate_key].append(triple)
    return [
        Claim(
            group[0].subject_id,
            group[0].subject,
            group[0].object_id,
            group[0].object,
            key,
            _confidence(group, models, merge),
            frozenset(other for item in group for other in item.opposes),
            tuple(Part(item.rank, item.id, item.predicate, item.evidence_id) for item in group),
        )
        for (_, _, key), group in groups.items()
    ]


def edges_of(source_id: str, claims: Iterable[Claim], aggregation: Aggregation) -> tuple[list[SimpleEdge], GraphKind]:
    """Prune claims, put those of a pair together and rank the edges: return them, best first, and what the graph is made of.

    Under `pair`, each claim that contradicts another one of its pair is an edge of its own, and the others are one edge. Under
    `whole-pair`, all claims of a pair are one edge, which names itself if they contradict each other. Edges of one subject
    contradict each other, too, if they have claims with different numbers or dates. The kind is `evidence_only` without any
    claim, `multigraph` where pruning leaves nothing (then there are no edges), else `simple`. An edge's rank is its place by
    (best rank of its triples, confidence descending, id).
    """
    all_claims = list(claims)
    if not all_claims:
        return [], "evidence_only"
    pairs: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    for claim in all_claims:
        if claim.confidence >= aggregation.threshold - TOLERANCE:
            pairs[claim.subject_id, claim.object_id].append(claim)
    edges, members = list[SimpleEdge](), dict[str, list[Claim]]()
    for claims_of_pair in pairs.values():
        disputed = {
            claim.key: [edge_id(other) for other in claims_of_pair if claim.contradicts(other)] for claim in claims_of_pair
        }
        groups: dict[str, list[Claim]] = defaultdict(list)
        for claim in sorted(claims_of_pair, key=lambda item: (item.parts[0].rank, item.parts[0].id)):
            groups[claim.key if _is_alone(disputed[claim.key], aggregation) else ""].append(claim)
        for key, group in groups.items():
            edges.append(edge_of(source_id, group, disputed[key] if key else [], aggregation))
            members[edges[-1].id] = group
    edges.sort(key=lambda edge: (edge.rank, -edge.confidence, edge.id))
    best = edges[: aggregation.top_k]
    rivals = _rivals_by_number([(edge.id, claim) for edge in best for claim in members[edge.id]])
    ranks = {edge.id: rank for rank, edge in enumerate(best)}
    ranked = [
        edge.model_copy(
            update={
                "rank": rank,
                "contradicts": tuple(sorted(ranks.keys() & {*edge.contradicts, *others}, key=ranks.__getitem__)),
            }
        )
        for rank, edge in enumerate(best)
        for others in [rivals[edge.id]]
    ]
    return ranked, "simple" if ranked else "multigraph"


def _rivals_by_number(claims: Sequence[tuple[str, Claim]]) -> dict[str, set[str]]:
    """Return the edges that each edge contradicts by a number or a date. Claims come with the id of their edge."""
    edge_of = {(claim.subject_id, f"{claim.key} {claim.object}"): id_ for id_, claim in claims}
    rivals: dict[str, set[str]] = defaultdict(set)
    for id_, claim in claims:
        for name in claim.opposes:
            other = edge_of.get((claim.subject_id, name), id_)
            if other != id_:
                rivals[id_].add(other)
                rivals[other].add(id_)
    return rivals


def with_statements(subgraph: Subgraph) -> Subgraph:
    """Return a stored subgraph whose aggregation has the statements of edges that differ from their joined triples."""
    if subgraph.aggregation is None:
        return subgraph
    statements = {edge.id: edge.statement for edge in subgraph.edges} | subgraph.aggregation.statements
    plain = subgraph.aggregation.model_copy(update={"statements": {}})
    joined = {edge.id: edge.statement for edge in aggregate(subgraph, plain)[0]}
    replaced = {id_: text.strip() for id_, text in statements.items() if joined.get(id_, text.strip()) != text.strip()}
    return subgraph.model_copy(update={"aggregation": plain.model_copy(update={"statements": replaced})})


def edge_id(claim: Claim) -> str:
    """Return the id of an edge that is one claim; that of several claims of a pair is `SUBJECT-OBJECT`."""
    return f"{claim.subject_id}-{claim.object_id}-{claim.key}"


def merge_confidence(confidences: Sequence[float], merge: Merge) -> float:
    """Merge one or more confidences in [0, 1] into one in [0, 1].

    `noisy-or` is 1 - prod(1 - c): the chance that at least one of independent sources is right.
    """
    if merge == "max":
        return max(confidences)
    merged = fmean(confidences) if merge == "mean" else 1.0 - math.prod(1.0 - confidence for confidence in confidences)
    return min(1.0, max(0.0, merged))


def joined_statement(subject: str, predicates: Iterable[str], object_: str) -> str:
    """Return one clause per predicate, joined by `; ` and without repetitions."""
    return "; ".join(dict.fromkeys(sentence_of(subject, predicate, object_) for predicate in predicates))


def not_shown(subgraph: Subgraph) -> tuple[Triple, ...]:
    """Return the triples in no edge, by (rank, id): pruned, cut, or of dropped evidence."""
    used = {id_ for edge in subgraph.usable_edges for id_ in edge.triple_ids}
    return tuple(sorted((item for item in subgraph.triples if item.id not in used), key=lambda item: (item.rank, item.id)))


def _confidence(group: Sequence[Triple], models: Mapping[str, str], merge: Merge) -> float:
    """Merge what each teacher says of a claim, where an evidence counts once, and then what several teachers say."""
    best: dict[str, dict[str, float]] = defaultdict(dict)
    for triple in group:
        for teacher in {models.get(call_id, call_id) for call_id in triple.call_ids}:
            best_by_evidence = best[teacher]
            best_by_evidence[triple.evidence_id] = max(best_by_evidence.get(triple.evidence_id, 0.0), triple.confidence)
    merged = [merge_confidence(sorted(best_by_evidence.values()), merge) for best_by_evidence in best.values()]
    return merged[0] if len(merged) == 1 else merge_confidence(sorted(merged), "noisy-or")


def _is_alone(rivals: Sequence[str], aggregation: Aggregation) -> bool:
    """Return whether a claim with these rivals is an edge of its own."""
    return bool(rivals) if aggregation.strategy == "pair" else aggregation.strategy == "predicate"


def edge_of(source_id: str, claims: Sequence[Claim], contradicts: Sequence[str], aggregation: Aggregation) -> SimpleEdge:
    """Return claims of one pair as an edge: one clause a claim. Its rank is that of its best triple for now."""
    first, keys = claims[0], {claim.key for claim in claims}
    id_ = edge_id(first) if _is_alone(contradicts, aggregation) else f"{first.subject_id}-{first.object_id}"
    disputes_itself = any((claim.opposes & keys) - {claim.key} for claim in claims)
    parts = sorted((part for claim in claims for part in claim.parts), key=lambda item: (item.rank, item.id))
    predicates = tuple(dict.fromkeys(claim.parts[0].predicate for claim in claims))
    return SimpleEdge(
        id=id_,
        source_id=source_id,
        subject_id=first.subject_id,
        subject=first.subject,
        object_id=first.object_id,
        object=first.object,
        statement=aggregation.statements.get(id_) or joined_statement(first.subject, predicates, first.object),
        predicates=predicates,
        confidence=max(claim.confidence for claim in claims),
        support=len(parts),
        triple_ids=tuple(part.id for part in parts),
        evidence_ids=tuple(dict.fromkeys(part.evidence_id for part in parts)),
        contradicts=(*contradicts, id_) if disputes_itself else tuple(contradicts),
        rank=parts[0].rank,
    )
