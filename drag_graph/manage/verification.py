"""Checking a store, and mending what can be made again from what is there (`db verify`, `db repair`; docs/graph.md).

What only the database can tell, it tells (`GraphStore.verify`). What a subgraph tells of itself is checked here, once for all
stores: ids, provenance, and what its simple edges name.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from drag_graph.errors import ConfigurationError, DragGraphError, ModelError, StoreLocked, StoreUnfit
from drag_graph.graph.aggregate import with_statements
from drag_graph.graph.paging import pages, read_undamaged, source_ids
from drag_graph.manage.content_ids import wrong_ids
from drag_graph.manage.graph_statistics import components
from drag_graph.model import Subgraph
from drag_graph.ports.concept_store import Changes, Concept
from drag_graph.ports.graph_store import GraphStore, Problem
from drag_graph.ports.model_roles import Embedder

PAGE = 100
"""Sources, or ids, that are worked on in one round trip."""
ANEW = "distill its question again (`drag-graph distill --replace`), or import it again (`drag-graph import --replace`)"
CURES = {
    "size": ANEW,
    "unproven-triple": ANEW,
    "no-provenance": ANEW,
    "unreadable": f"{ANEW}, or erase it (`drag-graph db erase`)",
    "checksum": f"what it should say is not known: {ANEW}",
    "vector": f"run it again; if that does not help, {ANEW}",
    "concept": "run `drag-graph link`",
    "cluster": "run `drag-graph link`",
    "duplicate": "a constraint must have been dropped: restore the store from a backup",
}
"""By check: what to do about what `repair` leaves."""
REMOVED = {
    "orphan": f"removed, as no stored source is linked to them; if they were of one that is stored, {ANEW}",
    "dangling-answer": "answers removed, as what they rest on is not stored",
    "community": "communities removed, as nothing is in them",
}


@dataclass(frozen=True, slots=True)
class Repair:
    """What `repair` did or could not do about one kind of problem."""

    check: str
    number: int
    what: str
    mended: bool = True


def problems(store: GraphStore, verified: Sequence[Problem] | None = None) -> list[Problem]:
    """Return what is wrong with the store, each with the command that cures it; `verified` is what its `verify` just found."""
    verified = store.verify() if verified is None else verified
    found = [*verified, *content_problems(store), *_cluster_problems(store)]
    return [replace(item, message=f"{item.message}; {cure(item.check)}") for item in dict.fromkeys(found)]


def cure(check: str) -> str:
    """Return what to do about a problem."""
    return CURES.get(check, "run `drag-graph db repair`")


def content_problems(store: GraphStore) -> Iterator[Problem]:
    """Yield what is wrong within subgraphs; streams. One that cannot be read is a problem by itself."""
    for page in pages(source_ids(store), PAGE):
        found, damaged = read_undamaged(store, page)
        for id_, error in damaged:
            yield Problem("unreadable", id_, f"the source cannot be read: {error.message}")
        for subgraph in found:
            yield from _wrong_parts(subgraph)


def _wrong_parts(subgraph: Subgraph) -> Iterator[Problem]:
    for id_, kind in wrong_ids(subgraph):
        yield Problem("checksum", id_, f"the {kind} is not what its id is the hash of: it was changed")
    calls, evidence = {item.id for item in subgraph.calls}, {item.id for item in subgraph.evidence}
    triples = {item.id for item in subgraph.triples}
    for item in subgraph.evidence:
        if not item.chunk_id and not calls.issuperset(item.call_ids):
            yield Problem("no-provenance", item.id, "the evidence was made by no stored teacher call")
    for triple in subgraph.triples:
        if triple.evidence_id not in evidence or not calls.issuperset(triple.call_ids):
            yield Problem("unproven-triple", triple.id, "the triple has no stored evidence or teacher call")
    for edge in subgraph.edges:
        if not (triples.issuperset(edge.triple_ids) and evidence.issuperset(edge.evidence_ids) and edge.triple_ids):
            said = "the simple edge names a triple or an evidence that is not stored, or none"
            yield Problem("dangling-id", edge.id, said)


def repair(store: GraphStore, make_embedder: Callable[[], Embedder]) -> list[Repair]:
    """Mend what can be made again from what is there, and return what was done and what is left.

    Orphans and answers without their source are removed; simple edges that name what is not there are made anew, as they were
    made; concepts are counted again; vectors that are all zeros are made anew (questions, by the embedder that `make_embedder`
    makes then, if it is the store's) or removed (evidence and concepts), so that `link` makes them. Each round trip is a
    transaction of its own: killed at any point, the next one goes on.
    """
    verified = store.verify()
    found = _by_check(verified)
    done, why = list[Repair](), dict[str, str]()
    for check, what in REMOVED.items():
        if ids := found.get(check):
            number = sum(store.mend(check, some) for some in pages(ids, PAGE))
            done.append(Repair(check, number, what))
    done += _edges(store)
    if ids := found.get("concept"):
        for some in pages(ids, PAGE):
            store.concepts.write(Changes(recounted=some))
        _recheck_sources(store)
        done.append(Repair("concept", len(ids), "concepts counted again"))
    if wrong := list(_clusters(store)):
        store.concepts.write(Changes(clusters=wrong))
        done.append(Repair("cluster", len(wrong), "clusters worked out anew"))
    if ids := found.get("vector"):
        done += _vectors(store, ids, make_embedder, why)
    # It goes through all vectors: once is enough where nothing was written.
    return [*done, *_left(problems(store, None if done else verified), why)]


def _left(found: Sequence[Problem], why: Mapping[str, str]) -> Iterator[Repair]:
    """Yield what is wrong still; `why` says, by id, why a vector is."""
    for check, ids in _by_check(found).items():
        reasons = Counter(why.get(id_, cure(check)) for id_ in ids)
        yield from (Repair(check, number, what, mended=False) for what, number in reasons.items())


def _edges(store: GraphStore) -> Iterator[Repair]:
    """Make the simple edges of sources anew that name what is not there."""
    number = 0
    for page in pages(source_ids(store), PAGE):
        try:
            found = store.read(page)
        except StoreUnfit:
            continue  # `content_problems` names it
        for subgraph in found:
            broken = {item.id for item in _wrong_parts(subgraph) if item.check == "dangling-id"}
            if broken and subgraph.aggregation is not None:
                statements = (with_statements(subgraph).aggregation or subgraph.aggregation).statements
                whole = {id_: text for id_, text in statements.items() if id_ not in broken}
                store.aggregate([subgraph.source_id], subgraph.aggregation.model_copy(update={"statements": whole}))
                number += len(broken)
    if number:
        yield Repair("dangling-id", number, "simple edges made anew")


def _vectors(
    store: GraphStore, ids: Sequence[str], make_embedder: Callable[[], Embedder], why: dict[str, str]
) -> Iterator[Repair]:
    """Mend vectors that are all zeros. Of those that stay so, `why` says the reason by id."""
    questions = [graph.source_id for some in pages(ids, PAGE) for graph in store.read(some)]
    number = 0
    try:
        # So that a linker never judges a concept that has just lost its vector.
        with store.concepts.exclusive():
            number = sum(store.mend("vector", some) for some in pages(sorted({*ids} - {*questions}), PAGE))
    except StoreLocked as error:
        why |= dict.fromkeys({*ids} - {*questions}, f"of evidence and concepts, left as they are: {_sentences(error)}")
    if number:
        _recheck_sources(store)
        yield Repair(
            "vector",
            number,
            "of evidence, concepts and summaries, removed: `drag-graph link` and `communities` make them again",
        )
    number = 0
    try:
        if questions:
            embedder = _of_the_store(store, make_embedder())
            for graph in (graph for some in pages(questions, PAGE) for graph in store.read(some) if graph.lost_vector):
                (vector,) = embedder.embed([graph.title])
                mended = with_statements(graph).model_copy(update={"embedding": tuple(vector.tolist())})
                number += store.reduce(graph, mended, ()) is not None
    except (ConfigurationError, ModelError, StoreUnfit) as error:
        why |= dict.fromkeys(questions, f"of questions, left as they are: {_sentences(error)}")
    if number:
        yield Repair("vector", number, "of questions, made again")


def _recheck_sources(store: GraphStore) -> None:
    """Let `link` come to the sources of which something is not linked (any more)."""
    for some in pages(list(source_ids(store)), PAGE):
        store.concepts.write(Changes(sources=some))


def _of_the_store(store: GraphStore, embedder: Embedder) -> Embedder:
    """Return the embedder. Raises StoreUnfit unless the store's vectors are its."""
    if store.embedder() is None:
        raise StoreUnfit("no record says which embedder filled the store", hint=f"For each of them: {ANEW}.")
    store.embedder((embedder.name, embedder.dimension))
    return embedder


def _sentences(error: DragGraphError) -> str:
    return ". ".join(filter(None, (str(error), error.hint)))


def _cluster_problems(store: GraphStore) -> Iterator[Problem]:
    for item, cluster in _clusters(store):
        yield Problem("cluster", item.id, f"the concept's cluster should be {cluster}, by the judgements that stand")


def _clusters(store: GraphStore) -> Iterator[tuple[Concept, str]]:
    """Yield concepts whose cluster is not the one that the standing judgements make, with the one they make.

    One that is open, until `link` has come to it, and what it is joined to, is not judged.
    """
    concepts: dict[str, Concept] = {}
    joined: dict[str, tuple[str, str, float]] = {}
    for page in pages(store.concepts.read(), PAGE):
        concepts |= {item.id: item for item in page}
        judgements = store.concepts.same_as([item.id for item in page])
        joined |= {one.id: (one.left, one.right, one.score) for one in judgements if not one.undone_at}
    loops = [(id_, id_, 1.0) for id_ in concepts]
    for group in components([*joined.values(), *loops]):
        members = [concepts[id_] for id_ in group.members if id_ in concepts]
        if all(item.cluster for item in members):
            best = min(members, key=lambda item: (-item.entities, item.id)).id
            yield from ((item, best) for item in members if item.cluster != best)


def _by_check(found: Sequence[Problem]) -> dict[str, list[str]]:
    ids: dict[str, set[str]] = defaultdict(set)
    for item in found:
        ids[item.check].add(item.id)
    return {check: sorted(names) for check, names in ids.items()}
