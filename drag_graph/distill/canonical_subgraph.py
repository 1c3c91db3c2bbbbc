"""Turn raw triples into the entities and triples of one subgraph.

Spelling variants and coreferent names become one entity, and predicates get a shared key. Self loops and repetitions are
discarded with a reason. All texts are embedded in one call, including the sentences of triples, whose similarity to the
question ranks them later.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from drag_graph.distill.entity_merging import COMPARED, Thresholds, merge_entities, merge_predicates, predicate_text
from drag_graph.distill.evidence_ranking import cosines
from drag_graph.distill.triple_extraction import RawTriple
from drag_graph.graph.contradictions import pointed_at, sounds_like_pronoun, with_opposition
from drag_graph.graph.name_forms import canonical_name, clean, predicate_key, spaced
from drag_graph.identity import content_id, triple_id
from drag_graph.model import Entity, Source, Triple, sentence_of
from drag_graph.ports.vectors import Vectors

Embed = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True, slots=True)
class CanonicalGraph:
    """Entities ordered by name, triples by id, and the reasons for discarded raw triples.

    `nearness` maps a triple's id to the cosine between its sentence and the title of the source.
    """

    entities: tuple[Entity, ...] = ()
    triples: tuple[Triple, ...] = ()
    nearness: dict[str, float] = field(default_factory=dict)
    discarded: tuple[str, ...] = ()


def build(
    source: Source, raw: Sequence[RawTriple], embed: Embed, thresholds: Thresholds, *, ranks: bool = True
) -> CanonicalGraph:
    """Return the canonical graph of one source.

    The result depends on the order of `raw` only within one evidence, where it decides the referent of a pronoun. `embed` is
    called at most once. Without `ranks`, `nearness` is empty.
    """
    resolved, discarded = resolve_references(raw)
    if not resolved:
        return CanonicalGraph(discarded=tuple(discarded))
    names = _frequent_first(name for triple in resolved for name in (triple.subject, triple.object))
    predicates = _frequent_first(triple.predicate for triple in resolved)
    sentences = sorted({_sentence(triple) for triple in resolved}) if ranks else []
    framed = [predicate_text(text, thresholds.frame) for text in predicates[:COMPARED]]
    vectors = embed([source.title, *names[:COMPARED], *framed, *sentences])
    first = 1 + len(names[:COMPARED])
    second = first + len(framed)
    entity_of = _entities(source, resolved, names, merge_entities(names, vectors[1:first], thresholds.entity))
    key_of = _keys(resolved, predicates, merge_predicates(predicates, vectors[first:second], thresholds.predicate))
    near = dict(zip(sentences, cosines(vectors[0], vectors[second:]), strict=True))
    by_id: dict[str, Triple] = {}
    nearness: dict[str, float] = {}
    for one in sorted(resolved, key=_stable):
        subject, object_ = entity_of[one.subject], entity_of[one.object]
        if subject.id == object_.id:
            discarded.append(f'"{_sentence(one)}": both ends are the entity "{subject.name}"')
            continue
        triple = _triple(source, one, subject, object_, key_of[one.predicate])
        if triple.id in by_id:
            discarded.append(f'"{_sentence(one)}": repeats a triple of the same evidence')
            triple = max(by_id[triple.id], triple, key=lambda item: item.confidence)
        by_id[triple.id] = triple
        if ranks:
            nearness[triple.id] = max(near[_sentence(one)], nearness.get(triple.id, -1.0))
    triples = with_opposition(sorted(by_id.values(), key=lambda triple: triple.id))
    used = {id_ for triple in triples for id_ in (triple.subject_id, triple.object_id)}
    entities = {entity.id: entity for entity in entity_of.values() if entity.id in used}
    named = tuple(sorted(entities.values(), key=lambda entity: (entity.name, entity.id)))
    return CanonicalGraph(named, triples, nearness, tuple(discarded))


def _frequent_first(texts: Iterable[str]) -> list[str]:
    """Return the distinct texts, the most frequent ones first: only those are compared by vector in a long document."""
    counts = Counter(texts)
    return sorted(counts, key=lambda text: (-counts[text], text))


def resolve_references(raw: Sequence[RawTriple]) -> tuple[list[RawTriple], list[str]]:
    """Resolve pronouns; return the triples, and the reasons for discarded ones.

    A pronoun refers to the last subject of the same evidence. Of "this disease" the pointing word is removed.
    """
    last: dict[str, str] = {}
    resolved: list[RawTriple] = []
    discarded: list[str] = []
    for triple in raw:
        referent = last.get(triple.evidence_id, "")
        names = (clean(end) for end in (triple.subject, triple.object))
        ends = [referent if sounds_like_pronoun(name) else pointed_at(name) or name for name in names]
        if not all(ends):
            discarded.append(f'"{_sentence(triple)}": a pronoun without a referent in its evidence')
            continue
        last[triple.evidence_id] = ends[0]
        resolved.append(replace(triple, subject=ends[0], object=ends[1], predicate=clean(triple.predicate)))
    return resolved, discarded


def _stable(triple: RawTriple) -> tuple[str, ...]:
    return (triple.evidence_id, triple.subject, triple.predicate, triple.object, f"{triple.confidence:.6f}", triple.call_id)


def _sentence(triple: RawTriple) -> str:
    return sentence_of(triple.subject, triple.predicate, triple.object)


def _entities(source: Source, raw: Sequence[RawTriple], names: Sequence[str], groups: list[list[int]]) -> dict[str, Entity]:
    """Return the entity of each name."""
    counts = Counter(name for triple in raw for name in (triple.subject, triple.object))
    types: dict[str, Counter[str]] = {}
    for triple in raw:
        for name, type_ in ((triple.subject, triple.subject_type), (triple.object, triple.object_type)):
            if type_:
                types.setdefault(name, Counter())[type_] += 1
    entities = {}
    for group in groups:
        variants = [names[position] for position in group]
        name = canonical_name({variant: counts[variant] for variant in variants})
        votes: Counter[str] = Counter()
        for variant in variants:
            votes.update(types.get(variant, {}))
        entity = Entity(
            id=content_id(source.namespace, "entity", source.id, name),
            source_id=source.id,
            name=name,
            type=min(votes, key=lambda type_: (-votes[type_], type_)) if votes else "",
            variants=tuple(sorted({*variants} - {name})),
        )
        entities.update(dict.fromkeys(variants, entity))
    return entities


def _keys(raw: Sequence[RawTriple], predicates: Sequence[str], groups: list[list[int]]) -> dict[str, str]:
    """Return the key of each predicate: the most frequent key of its group, then the shortest."""
    counts = Counter(predicate_key(triple.predicate) for triple in raw)
    keys = {}
    for group in groups:
        own = sorted({predicate_key(predicates[position]) for position in group})
        key = min(own, key=lambda item: (-counts[item], len(item), item))
        keys.update({predicates[position]: key for position in group})
    return keys


def _triple(source: Source, raw: RawTriple, subject: Entity, object_: Entity, key: str) -> Triple:
    """Return the triple. Its id contains the plain form of the predicate, so "is" and "was" in one evidence are one triple."""
    own_key = predicate_key(raw.predicate)
    return Triple(
        id=triple_id(source.namespace, source.id, (subject.id, object_.id), own_key, raw.evidence_id),
        source_id=source.id,
        subject_id=subject.id,
        subject=subject.name,
        predicate=spaced(raw.predicate) if "_" in raw.predicate else raw.predicate,
        predicate_key=key,
        object_id=object_.id,
        object=object_.name,
        confidence=raw.confidence,
        evidence_id=raw.evidence_id,
        call_ids=(raw.call_id,),
    )
