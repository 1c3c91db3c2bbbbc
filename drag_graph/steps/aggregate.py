"""The aggregation of the multigraph in plain Python: the reference that every store's Cypher is held to (docs/adr/0003).

The stores do the same in one Cypher statement; property-based tests of the contract suite compare the two. Only triples whose
evidence was kept take part.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from drag_graph.model import Aggregation, Evidence, GraphKind, Merge, SimpleEdge, Strategy, Triple, sentence_of

TOLERANCE = 1e-9
"""How far below the threshold a merged confidence may lie and still count as at it: floats are summed in no fixed order."""

Item = TypeVar("Item", bound=Hashable)


def aggregate(
    triples: Iterable[Triple], evidence: Iterable[Evidence], aggregation: Aggregation
) -> tuple[list[SimpleEdge], GraphKind]:
    """Merge, then prune, then rank (design, section 3): return the simple edges, best first, and what the graph is made of.

    The kind is `evidence_only` without any triple to merge, `multigraph` where pruning leaves nothing (then there are no
    edges), else `simple`. An edge's rank is its place by (best rank of its triples, confidence descending, id).
    """
    kept = {item.id for item in evidence if item.kept}
    groups: dict[str, list[Triple]] = defaultdict(list)
    for triple in sorted(triples, key=lambda item: (item.rank, item.id)):
        if triple.evidence_id in kept:
            groups[edge_id(triple, aggregation.strategy)].append(triple)
    if not groups:
        return [], "evidence_only"
    merged = [_merge(id_, group, aggregation) for id_, group in groups.items()]
    strong = [edge for edge in merged if edge.confidence >= aggregation.threshold - TOLERANCE]
    strong.sort(key=lambda edge: (edge.rank, -edge.confidence, edge.id))
    ranked = [edge.model_copy(update={"rank": rank}) for rank, edge in enumerate(strong[: aggregation.top_k])]
    return ranked, "simple" if ranked else "multigraph"


def edge_id(triple: Triple, strategy: Strategy) -> str:
    """Return the id of the simple edge that `triple` goes into."""
    pair = f"{triple.subject_id}-{triple.object_id}"
    return pair if strategy == "pair" else f"{pair}-{triple.predicate_key}"


def merge_confidence(confidences: Sequence[float], merge: Merge) -> float:
    """Merge one or more confidences in [0, 1] into one in [0, 1].

    `noisy-or` is 1 - prod(1 - c): the chance that at least one of independent sources is right.
    """
    return min(1.0, max(0.0, _MERGES[merge](confidences)))


def joined_statement(triples: Iterable[Triple]) -> str:
    """Return the distinct sentences of `triples`, which are in order of (rank, id), joined by `; `."""
    return "; ".join(distinct(sentence_of(item.subject, item.predicate, item.object) for item in triples))


def distinct(items: Iterable[Item]) -> tuple[Item, ...]:
    """Return the items without repetitions, each where it came first."""
    return tuple(dict.fromkeys(items))


def _merge(id_: str, group: Sequence[Triple], aggregation: Aggregation) -> SimpleEdge:
    """Merge triples of one edge, which are in order of (rank, id); the edge's rank is that of its best triple for now."""
    first = group[0]
    return SimpleEdge(
        id=id_,
        source_id=first.source_id,
        subject_id=first.subject_id,
        subject=first.subject,
        object_id=first.object_id,
        object=first.object,
        statement=aggregation.statements.get(id_) or joined_statement(group),
        predicates=distinct(item.predicate for item in group),
        confidence=merge_confidence([item.confidence for item in group], aggregation.merge),
        support=len(group),
        triple_ids=tuple(item.id for item in group),
        evidence_ids=distinct(item.evidence_id for item in group),
        rank=first.rank,
    )


def _mean(confidences: Sequence[float]) -> float:
    return math.fsum(confidences) / len(confidences)


def _noisy_or(confidences: Sequence[float]) -> float:
    return 1.0 - math.prod(1.0 - confidence for confidence in confidences)


_MERGES: Mapping[Merge, Callable[[Sequence[float]], float]] = {"max": max, "mean": _mean, "noisy-or": _noisy_or}
