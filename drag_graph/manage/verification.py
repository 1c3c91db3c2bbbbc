"""Checking a store, and rebuilding what can be derived from the rest (`db verify`, `db repair`; docs/graph.md).

The database finds some problems by itself (`GraphStore.verify`). Those within a subgraph are found here, for all stores: wrong
ids, missing provenance, and dangling references of simple edges.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from drag_graph.errors import ConfigurationError, DragGraphError, ModelError, StoreLocked, StoreUnfit
from drag_graph.graph.aggregate import with_statements
from drag_graph.graph.paging import iter_sources, pages, read_undamaged, source_ids
from drag_graph.manage.content_ids import wrong_ids
from drag_graph.model import Subgraph
from drag_graph.ports.community_store import CommunityChanges
from drag_graph.ports.concept_store import Changes
from drag_graph.ports.graph_store import GraphStore, Problem, Reduction
from drag_graph.ports.model_roles import Embedder

PAGE = 100
"""Sources, or ids, per round trip."""
REPLACE_QUERY = (
    "distill its question again (`drag-graph distill --replace`), or import it again (`drag-graph import --replace`)"
)
REPLACE_DOCUMENT = (
    "erase its document (`drag-graph db erase`) and ingest the file again, or import it again (`drag-graph import --replace`)"
)
CURES = {
    "size": "{replace}",
    "unproven-triple": "{replace}",
    "no-provenance": "{replace}",
    "unreadable": "{replace}, or erase it (`drag-graph db erase`)",
    "checksum": "the original text is not known: {replace}",
    "vector": "run `drag-graph db repair` again; if that does not help, {replace}",
    "concept": "run `drag-graph link`",
    "duplicate": "a constraint is missing: restore the store from a backup",
}
"""By check: how to fix what `repair` cannot."""
REMOVED = {
    "orphan": f"removed, because no stored source is linked to them; if their source is stored, {REPLACE_QUERY}",
    "dangling-answer": "answers removed, because their sources are not stored",
    "community": "communities removed, because they have no members",
}


@dataclass(frozen=True, slots=True)
class Repair:
    """Result of `repair` for one kind of problem; `mended` is False if it could not fix it."""

    check: str
    number: int
    what: str
    mended: bool = True


def problems(store: GraphStore, verified: Sequence[Problem] | None = None) -> list[Problem]:
    """Return the problems of a store, each with the command that fixes it; `verified` is a result of `store.verify()`."""
    verified = store.verify() if verified is None else verified
    content = list(_content_problems(store))
    of_documents = {item.id for item, is_document in content if is_document}
    of_documents |= {source.id for source in iter_sources(store) if source.is_document} if verified else set()
    matches = [*verified, *(item for item, _ in content)]
    return [replace(item, message=f"{item.message}; {_cure(item, of_documents)}") for item in dict.fromkeys(matches)]


def _cure(item: Problem, of_documents: Collection[str]) -> str:
    advice = CURES.get(item.check, "run `drag-graph db repair`")
    return advice.format(replace=REPLACE_DOCUMENT if item.id in of_documents else REPLACE_QUERY)


def _content_problems(store: GraphStore) -> Iterator[tuple[Problem, bool]]:
    """Yield the problems within subgraphs, and whether each belongs to a document; streams."""
    for sources in pages(iter_sources(store), PAGE):
        is_document = {source.id: source.is_document for source in sources}
        graphs, damaged = read_undamaged(store, list(is_document))
        for id_, error in damaged:
            yield Problem("unreadable", id_, f"the source cannot be read: {error.message}"), is_document[id_]
        for graph in graphs:
            yield from ((item, is_document[graph.source_id]) for item in _wrong_parts(graph))


def _wrong_parts(subgraph: Subgraph) -> Iterator[Problem]:
    for id_, kind in wrong_ids(subgraph):
        yield Problem("checksum", id_, f"the {kind} was changed: its id is not the hash of its content")
    calls, evidence = {item.id for item in subgraph.calls}, {item.id for item in subgraph.evidence}
    triples = {item.id for item in subgraph.triples}
    for item in subgraph.evidence:
        if not item.chunk_id and not calls.issuperset(item.call_ids):
            yield Problem("no-provenance", item.id, "the evidence has no stored teacher call")
    for triple in subgraph.triples:
        if triple.evidence_id not in evidence or not calls.issuperset(triple.call_ids):
            yield Problem("unproven-triple", triple.id, "the triple has no stored evidence or teacher call")
    for edge in subgraph.edges:
        if not (triples.issuperset(edge.triple_ids) and evidence.issuperset(edge.evidence_ids) and edge.triple_ids):
            yield Problem(
                "dangling-id", edge.id, "the simple edge refers to a triple or evidence that is not stored, or to none"
            )


def repair(store: GraphStore, make_embedder: Callable[[], Embedder]) -> list[Repair]:
    """Rebuild what can be derived from the rest, and return what was done and what is left.

    Orphans and answers without their source are removed. Simple edges with dangling references are derived again, and concepts
    counted again. Zero vectors of questions are computed again, if `make_embedder` returns the store's embedder; those of
    evidence and concepts are removed, so that `link` computes them. Each round trip is a transaction: a repair that was killed
    can be run again.
    """
    verified = store.verify()
    ids_by_check = _by_check(verified)
    done, reasons = list[Repair](), dict[str, str]()
    for check, what in REMOVED.items():
        if ids := ids_by_check.get(check):
            done.append(Repair(check, sum(_removed(store, check, page) for page in pages(ids, PAGE)), what))
    done += _edges(store)
    if ids := ids_by_check.get("concept"):
        for page in pages(ids, PAGE):
            store.concepts.write(Changes(recounted=page))
        _recheck_sources(store)
        done.append(Repair("concept", len(ids), "concepts counted again"))
    if ids := ids_by_check.get("vector"):
        done += _vectors(store, ids, make_embedder, reasons)
    # Verifying reads all vectors: once is enough if nothing was written.
    return [*done, *_remaining(problems(store, None if done else verified), reasons)]


def _removed(store: GraphStore, check: str, ids: Sequence[str]) -> int:
    if check == "community":
        store.communities.write(CommunityChanges(gone=ids))
        return len(ids)
    erased = store.erase(ids)
    return sum(erased.counts.values()) + len(erased.answer_ids)


def _remaining(remaining: Sequence[Problem], reasons: Mapping[str, str]) -> Iterator[Repair]:
    """Yield the remaining problems; `reasons` says, by id, why a vector could not be repaired."""
    numbers = Counter((item.check, reasons.get(item.id, item.message.partition("; ")[2])) for item in remaining)
    yield from (Repair(check, number, what, mended=False) for (check, what), number in sorted(numbers.items()))


def _edges(store: GraphStore) -> Iterator[Repair]:
    """Derive the simple edges of sources again that have dangling references."""
    number = 0
    for page in pages(source_ids(store), PAGE):
        graphs, _ = read_undamaged(store, page)
        for graph in graphs:
            broken = {item.id for item in _wrong_parts(graph) if item.check == "dangling-id"}
            if broken and graph.aggregation is not None:
                statements = (with_statements(graph).aggregation or graph.aggregation).statements
                statements_left = {id_: text for id_, text in statements.items() if id_ not in broken}
                store.aggregate([graph.source_id], graph.aggregation.model_copy(update={"statements": statements_left}))
                number += len(broken)
    if number:
        yield Repair("dangling-id", number, "simple edges derived again")


def _vectors(
    store: GraphStore, ids: Sequence[str], make_embedder: Callable[[], Embedder], reasons: dict[str, str]
) -> Iterator[Repair]:
    """Repair zero vectors. `reasons` receives, by id, why one could not be repaired."""
    questions = [graph.source_id for page in pages(ids, PAGE) for graph in store.read(page)]
    other_ids = sorted({*ids} - {*questions})
    try:
        if other_ids:
            # Exclusive, so that a linker never judges a concept that has just lost its vector.
            with store.concepts.exclusive():
                for page in pages(other_ids, PAGE):
                    store.concepts.write(Changes(lost_vectors=page))
                    store.communities.write(CommunityChanges(lost_vectors=page))
            _recheck_sources(store)
            what = "vectors of evidence, concepts and summaries removed: run `drag-graph link` and `drag-graph communities`"
            yield Repair("vector", len(other_ids), what)
    except StoreLocked as error:
        reasons |= dict.fromkeys(other_ids, f"vectors of evidence and concepts were not removed: {_sentences(error)}")
    number = 0
    try:
        if questions:
            embedder = _embedder_of(store, make_embedder())
            for graph in (graph for page in pages(questions, PAGE) for graph in store.read(page) if graph.lost_vector):
                (vector,) = embedder.embed([graph.title])
                mended = with_statements(graph).model_copy(update={"embedding": tuple(vector.tolist())})
                number += not store.erase((), [Reduction(graph, mended)]).stale
    except (ConfigurationError, ModelError, StoreUnfit) as error:
        reasons |= dict.fromkeys(questions, f"vectors of questions were not computed: {_sentences(error)}")
    if number:
        yield Repair("vector", number, "vectors of questions computed again")


def _recheck_sources(store: GraphStore) -> None:
    """Mark sources as not linked if a part of them is not."""
    for page in pages(source_ids(store), PAGE):
        store.concepts.write(Changes(sources=page))


def _embedder_of(store: GraphStore, embedder: Embedder) -> Embedder:
    """Return the embedder. Raises StoreUnfit unless it filled the store."""
    if store.embedder() is None:
        raise StoreUnfit("The store does not record which embedder filled it.", hint=f"For each query, {REPLACE_QUERY}.")
    store.embedder((embedder.name, embedder.dimension))
    return embedder


def _sentences(error: DragGraphError) -> str:
    return " ".join(filter(None, (f"{str(error).removesuffix('.')}.", error.hint)))


def _by_check(found: Sequence[Problem]) -> dict[str, list[str]]:
    ids: dict[str, set[str]] = defaultdict(set)
    for item in found:
        ids[item.check].add(item.id)
    return {check: sorted(names) for check, names in ids.items()}
