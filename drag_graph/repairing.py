"""Checking what only its content can tell, and mending what a check found (`db verify`, `db repair`; docs/graph.md).

The port that the stores implement and the order of the work, without any I/O of its own.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from drag_graph.concepts import Concept, Settled
from drag_graph.errors import ModelError, StoreUnfit
from drag_graph.identity import content_id, query_id
from drag_graph.model import Aggregation, Subgraph
from drag_graph.ports import Embedder, GraphStore, Problem, Vectors
from drag_graph.statistics import components
from drag_graph.steps.moving import repeat_of
from drag_graph.steps.surface import predicate_key

PAGE = 200
"""Queries, or ids, that are worked on in one round trip."""
UNMENDABLE = {
    "checksum": "what it should say is not known: erase its query, or distil it again",
    "vector": "run it again, or distil its query again",
    "duplicate": "a constraint must have been dropped: restore the store from a backup",
}
"""By check: why `repair` leaves it, and what to do."""


class RepairStore(Protocol):
    """The single repairs of one namespace, by id; each is one transaction, and done again does nothing."""

    def relink(self, ids: Sequence[str]) -> None:
        """Link entities and evidence to their queries again where these are stored; remove those whose query is not."""

    def remove_evidence(self, ids: Sequence[str]) -> None:
        """Remove those of this evidence that no stored teacher call made."""

    def remove_triples(self, ids: Sequence[str]) -> None:
        """Remove triples."""

    def remove_edges(self, ids: Sequence[str]) -> None:
        """Remove simple edges."""

    def remove_answers(self, ids: Sequence[str]) -> None:
        """Remove answers."""

    def remove_vectors(self, ids: Sequence[str]) -> None:
        """Take the vectors of evidence and concepts away, and open the clusters of the latter, so that `link` embeds them."""

    def save_query_vectors(self, query_ids: Sequence[str], vectors: Vectors) -> None:
        """Give queries their vectors again, those that are (still) stored."""

    def owners(self, entity_ids: Sequence[str]) -> list[str]:
        """Return the ids of these entities' queries."""

    def aggregation(self, query_id: str, statements: dict[str, str]) -> Aggregation | None:
        """Return how the query's simple edges were made, with these statements, or None where it is not known."""

    def expire(self, query_ids: Sequence[str], now: str) -> None:
        """Mark queries as expired at `now`."""

    def miscounted(self) -> list[str]:
        """Return the queries that do not say rightly which calls and how many parts they have, as `GraphStore.verify` does."""

    def recount(self, query_ids: Sequence[str]) -> None:
        """Have these queries say rightly what they have; other writers wait."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What `repair` did or could not do about one kind of problem."""

    check: str
    number: int
    what: str
    mended: bool = True


def problems(store: GraphStore) -> list[Problem]:
    """Return everything that is wrong with the store: what its own statements find, wrong ids, wrong clusters."""
    found = store.verify()
    if any(item.check != "vector" for item in found):  # what is broken cannot always be read
        return found + list(_cluster_problems(store))
    return [*found, *content_problems(store), *_cluster_problems(store)]


def content_problems(store: GraphStore) -> Iterator[Problem]:
    """Yield a problem for every id that is not the hash of what it is the id of (`drag_graph.identity`); streams."""
    ids = store.exchange.query_ids()
    while page := list(islice(ids, PAGE)):
        for subgraph in store.read(page):
            yield from _wrong_ids(subgraph)


def repair(store: GraphStore, tools: RepairStore, now: str, make_embedder: Callable[[], Embedder]) -> list[Repair]:
    """Mend what can be mended, and return what was done and what could not be.

    Orphans are linked to their query again or removed; evidence without a teacher call, triples without either and answers
    without their query are removed; simple edges of what was touched are made anew under their settings, or where these are not
    known removed, their query being marked as expired; concepts, and what queries say that they have, are counted again, and
    the clusters worked out anew. Questions whose vector is all zeros are embedded again, by the embedder that `make_embedder`
    makes then, if it is the store's; evidence and concepts lose such vectors, and `link` embeds them again. Each round trip
    is a transaction of its own: killed at any point, the next one goes on.
    """
    found = _by_check(store.verify())
    done: list[Repair] = []

    def note(check: str, what: str) -> list[str]:
        ids = found.get(check, [])
        if ids:
            done.append(Repair(check, len(ids), what))
        return ids

    for some in _chunks(note("orphan", "linked to their query again, or removed where it is not stored")):
        tools.relink(some)
    for some in _chunks(note("no-provenance", "evidence removed")):
        tools.remove_evidence(some)
    found |= {"unproven-triple": sorted({*found.get("unproven-triple", ()), *store.unproven_triples()})}
    for some in _chunks(note("unproven-triple", "triples removed")):
        tools.remove_triples(some)
    for some in _chunks(note("dangling-answer", "answers removed")):
        tools.remove_answers(some)
    found["dangling-id"] = _by_check(store.verify()).get("dangling-id", [])
    done += _edges(store, tools, note("dangling-id", "simple edges made anew"), now)
    if note("concept", "concepts removed or counted again"):
        store.concepts.tidy()
    wrong = list(_clusters(store))
    if wrong:
        store.concepts.save_clusters(wrong)
        done.append(Repair("cluster", len(wrong), "clusters worked out anew"))
    done += _vectors(store, tools, found.get("vector", []), make_embedder)
    note("size", "counted again")
    for some in _chunks(tools.miscounted() if done else []):
        tools.recount(some)
    left, said = _by_check(problems(store)), {item.check for item in done if not item.mended}
    return done + [
        Repair(check, len(ids), UNMENDABLE.get(check, "run it again, or erase what it names"), mended=False)
        for check, ids in left.items()
        if check not in said
    ]


def _edges(store: GraphStore, tools: RepairStore, ids: Sequence[str], now: str) -> list[Repair]:
    """Make the simple edges of the queries anew that these broken ones are of.

    Killed at any point, it leaves something that the next one finds: broken edges go in the transaction that makes whole ones,
    or after the query was marked to be distilled again.
    """
    broken, unknown = set(ids), list[str]()
    owners = sorted({owner for some in _chunks(sorted({id_.split("-")[0] for id_ in ids})) for owner in tools.owners(some)})
    for subgraph in store.read(owners):
        edges = {edge.id: edge.statement for edge in subgraph.edges}
        whole = {id_: statement for id_, statement in edges.items() if id_ not in broken}
        aggregation = tools.aggregation(subgraph.query.id, whole)
        if aggregation is None:
            unknown.append(subgraph.query.id)
        else:
            store.aggregate([subgraph.query.id], aggregation)
            broken -= edges.keys()
    tools.expire(unknown, now)
    for some in _chunks(sorted(broken)):
        tools.remove_edges(some)
    if not unknown:
        return []
    return [Repair("dangling-id", len(unknown), "queries whose settings are not known: `drag-graph refresh --expired`")]


def _vectors(
    store: GraphStore, tools: RepairStore, ids: Sequence[str], make_embedder: Callable[[], Embedder]
) -> Iterator[Repair]:
    """Mend the vectors of these questions, evidence and concepts, which are all zeros."""
    texts = {
        subgraph.query.id: subgraph.query.text for some in _chunks(ids) for subgraph in store.read(some) if subgraph.lost_vector
    }
    others = [id_ for id_ in ids if id_ not in texts]
    for some in _chunks(others):
        tools.remove_vectors(some)
    if others:
        yield Repair("vector", len(others), "of evidence and concepts, removed: `drag-graph link` makes them again")
    if texts:
        try:
            embedder = make_embedder()
            _claim(store, embedder)
            for some in _chunks(list(texts)):
                tools.save_query_vectors(some, embedder.embed([texts[id_] for id_ in some]))
        except (ModelError, StoreUnfit) as error:
            yield Repair("vector", len(texts), f"of questions, left as they are: {error}. {error.hint}", mended=False)
        else:
            yield Repair("vector", len(texts), "of questions, made again")


def _claim(store: GraphStore, embedder: Embedder) -> None:
    """Raise StoreUnfit unless the store's vectors are this embedder's."""
    if store.embedder() is None:
        raise StoreUnfit("which embedder filled the store is not known", hint="Distil them again.")
    store.claim_embedder(embedder.name, embedder.dimension)


def _wrong_ids(subgraph: Subgraph) -> Iterator[Problem]:
    query = subgraph.query
    name, own = query.namespace, query.id
    if query_id(name, query.text, query.options) != own:
        yield _wrong(own, "query")
    for item in subgraph.evidence:
        if item.id != content_id(name, "evidence", own, item.text) and not repeat_of(item, name):
            yield _wrong(item.id, "evidence")
    for entity in subgraph.entities:
        if entity.id != content_id(name, "entity", own, entity.name):
            yield _wrong(entity.id, "entity")
    yield from _wrong_edges(subgraph)


def _wrong_edges(subgraph: Subgraph) -> Iterator[Problem]:
    name, own = subgraph.query.namespace, subgraph.query.id
    for triple in subgraph.triples:
        parts = (own, triple.subject_id, predicate_key(triple.predicate), triple.object_id, triple.evidence_id)
        if triple.id != content_id(name, "triple", *parts):
            yield _wrong(triple.id, "triple")
    for edge in subgraph.edges:
        if not f"{edge.id}-".startswith(f"{edge.subject_id}-{edge.object_id}-"):
            yield _wrong(edge.id, "simple edge")


def _wrong(id_: str, what: str) -> Problem:
    return Problem("checksum", id_, f"the {what} is not what its id is the hash of: it was changed")


def _cluster_problems(store: GraphStore) -> Iterator[Problem]:
    for item in _clusters(store):
        said = f"the concept's cluster should be {item.cluster}, by the judgements that stand"
        yield Problem("cluster", item.concept.id, said)


def _clusters(store: GraphStore) -> Iterator[Settled]:
    """Yield concepts whose cluster is not the one that the standing judgements make, with the one they make.

    One that is open, until `link` has come to it, and what it is joined to, is not judged.
    """
    said: dict[str, Concept] = {}
    joined: dict[str, tuple[str, str, float]] = {}
    stream = store.concepts.all()
    while page := list(islice(stream, PAGE)):
        said |= {item.id: item for item in page}
        judgements = store.concepts.same_as([item.id for item in page])
        joined |= {one.id: (one.left, one.right, one.score) for one in judgements if not one.undone_at}
    degrees = Counter(end for left, right, _ in joined.values() for end in (left, right))
    alone = [(id_, id_, 1.0) for id_ in said]
    for group in components([*joined.values(), *alone]):
        members = [said[id_] for id_ in group.members if id_ in said]
        if all(item.cluster for item in members):
            best = min(members, key=lambda item: (-item.entities, item.id)).id
            yield from (Settled(item, best, degrees[item.id]) for item in members if item.cluster != best)


def _by_check(found: Sequence[Problem]) -> dict[str, list[str]]:
    ids: dict[str, set[str]] = defaultdict(set)
    for item in found:
        ids[item.check].add(item.id)
    return {check: sorted(names) for check, names in ids.items()}


def _chunks(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), PAGE):
        yield list(ids[start : start + PAGE])
