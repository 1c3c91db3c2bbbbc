"""Checking what only its content can tell, and mending what a check found (`db verify`, `db repair`; docs/graph.md).

The port that the stores implement and the order of the work, without any I/O of its own.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol, TypeAlias

from drag_graph.concepts import Changes, Concept
from drag_graph.errors import ConfigurationError, DragGraphError, ModelError, StoreLocked, StoreUnfit
from drag_graph.manage.ids import wrong_ids
from drag_graph.manage.statistics import components
from drag_graph.model import Aggregation
from drag_graph.ports import Embedder, GraphStore, Problem, Vectors

PAGE = 200
"""Queries, or ids, that are worked on in one round trip."""
Owner: TypeAlias = Literal["question", "evidence", "concept"]
"""What has a vector."""
ANEW = "erase its query (`drag-graph db erase --query-id`), then distil it again: the tape pays for it"
"""A query that is stored under the same settings is not distilled again."""
UNMENDABLE = {
    "checksum": f"what it should say is not known: {ANEW}",
    "vector": f"run it again; if that does not help, {ANEW}",
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

    def dangling_edges(self) -> list[str]:
        """Return the simple edges that name a triple or evidence that is not stored, or none, as `GraphStore.verify` does."""

    def lost_vectors(self) -> dict[Owner, list[str]]:
        """Return the ids of what has words and a vector that is all zeros, as `GraphStore.verify` does."""

    def remove_vectors(self, owner: Literal["evidence", "concept"], ids: Sequence[str]) -> int:
        """Take away those of these vectors that are (still) all zeros, so that `link` makes them; return how many.

        The clusters of such concepts are open then. For concepts, other linkers are to be kept out (`ConceptStore.exclusive`).
        """

    def save_query_vectors(self, source_ids: Sequence[str], vectors: Vectors) -> int:
        """Give those of these queries their vectors whose own is (still) all zeros; return how many."""

    def owners(self, entity_ids: Sequence[str]) -> list[str]:
        """Return the ids of these entities' queries."""

    def aggregation(self, source_id: str, statements: dict[str, str]) -> Aggregation | None:
        """Return how the query's simple edges were made, with these statements, or None where it is not known."""

    def expire(self, source_ids: Sequence[str], now: str) -> None:
        """Mark queries as expired at `now`."""

    def miscounted(self) -> list[str]:
        """Return the queries that do not say rightly which calls and how many parts they have, as `GraphStore.verify` does."""

    def recount(self, source_ids: Sequence[str]) -> None:
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
    return _with_content(store, store.verify())


def _with_content(store: GraphStore, found: list[Problem]) -> list[Problem]:
    """Return what the store's own statements found, and the wrong ids and clusters."""
    if any(item.check != "vector" for item in found):  # what is broken cannot always be read
        return found + list(_cluster_problems(store))
    return [*found, *content_problems(store), *_cluster_problems(store)]


def content_problems(store: GraphStore) -> Iterator[Problem]:
    """Yield a problem for every id that is not the hash of what it is the id of (`drag_graph.identity`); streams."""
    ids = store.source_ids()
    while page := list(islice(ids, PAGE)):
        for subgraph in store.read(page):
            yield from (_wrong(id_, kind) for id_, kind in wrong_ids(subgraph))


def repair(store: GraphStore, tools: RepairStore, now: str, make_embedder: Callable[[], Embedder]) -> list[Repair]:
    """Mend what can be mended, and return what was done and what could not be.

    Orphans are linked to their query again or removed; evidence without a teacher call, triples without either and answers
    without their query are removed; simple edges of what was touched are made anew under their settings, or where these are not
    known removed, their query being marked as expired; concepts, and what queries say that they have, are counted again, and
    the clusters worked out anew. Questions whose vector is all zeros are embedded again, by the embedder that `make_embedder`
    makes then, if it is the store's; evidence and, while nobody links, concepts lose such vectors, and `link` embeds them
    again. Each round trip is a transaction of its own: killed at any point, the next one goes on.
    """
    first = store.verify()
    found = _by_check(first)
    done, why = list[Repair](), dict[str, str]()

    def note(check: str, what: str) -> list[str]:
        ids = found.get(check, [])
        if ids:
            done.append(Repair(check, len(ids), what))
        return ids

    for some in _chunks(note("orphan", "linked to their query again, or removed where it is not stored")):
        tools.relink(some)
    for some in _chunks(note("no-provenance", "evidence removed")):
        tools.remove_evidence(some)
    unproven = (problem.id for problem in store.verify() if problem.check == "unproven-triple")
    found |= {"unproven-triple": sorted({*found.get("unproven-triple", ()), *unproven})}
    for some in _chunks(note("unproven-triple", "triples removed")):
        tools.remove_triples(some)
    for some in _chunks(note("dangling-answer", "answers removed")):
        tools.remove_answers(some)
    found["dangling-id"] = tools.dangling_edges()  # of what went just now, too
    done += _edges(store, tools, note("dangling-id", "simple edges made anew"), now)
    if wrong := note("concept", "concepts removed or counted again: `drag-graph link` judges them again"):
        _concepts(store, wrong)
    done += _clusters_anew(store)
    if "vector" in found:
        done += _vectors(store, tools, make_embedder, why)
    note("size", "counted again")
    for some in _chunks(tools.miscounted() if done else []):
        tools.recount(some)
    left = store.verify() if first or done else []
    return [*done, *_left(_with_content(store, left), why)]


def _concepts(store: GraphStore, ids: Sequence[str]) -> None:
    """Count concepts again, and find the sources that have entities without one."""
    for some in _chunks(ids):
        store.concepts.write(Changes(recounted=some))
    _recheck_sources(store)


def _recheck_sources(store: GraphStore) -> None:
    """Let `link` come to the sources of which something is not linked (any more)."""
    for some in _chunks(list(store.source_ids())):
        store.concepts.write(Changes(sources=some))


def _left(found: Sequence[Problem], why: Mapping[str, str]) -> Iterator[Repair]:
    """Yield what is wrong still; `why` says, by id, why a vector is."""
    for check, ids in _by_check(found).items():
        usual = UNMENDABLE.get(check, "run it again, or erase what it names")
        reasons = Counter(why.get(id_, usual) if check == "vector" else usual for id_ in ids)
        yield from (Repair(check, number, what, mended=False) for what, number in reasons.items())


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
    store: GraphStore, tools: RepairStore, make_embedder: Callable[[], Embedder], why: dict[str, str]
) -> Iterator[Repair]:
    """Mend vectors that are all zeros. Of those that stay so, `why` is told by id."""
    lost = tools.lost_vectors()
    number = sum(tools.remove_vectors("evidence", some) for some in _chunks(lost["evidence"]))
    if number:
        _recheck_sources(store)
    try:
        for some in _chunks(lost["concept"]):
            # So that a linker never judges a concept that has just lost its vector, and settles it without.
            with store.concepts.exclusive():
                number += tools.remove_vectors("concept", some)
    except StoreLocked as error:
        why |= dict.fromkeys(lost["concept"], f"of concepts, left as they are: {_said(error)}")
    if number:
        yield Repair("vector", number, "of evidence and concepts, removed: `drag-graph link` makes them again")
    number, embedder = 0, None
    try:
        for some in _chunks(lost["question"]):
            texts = {subgraph.query.id: subgraph.query.text for subgraph in store.read(some) if subgraph.lost_vector}
            if texts:
                embedder = embedder or _of_the_store(store, make_embedder())
                number += tools.save_query_vectors(list(texts), embedder.embed(list(texts.values())))
    except (ConfigurationError, ModelError, StoreUnfit) as error:
        why |= dict.fromkeys(lost["question"], f"of questions, left as they are: {_said(error)}")
    if number:
        yield Repair("vector", number, "of questions, made again")


def _of_the_store(store: GraphStore, embedder: Embedder) -> Embedder:
    """Return the embedder. Raises StoreUnfit unless the store's vectors are its."""
    if store.embedder() is None:
        raise StoreUnfit("which embedder filled the store is not known", hint=f"For each of them: {ANEW}.")
    store.claim_embedder(embedder.name, embedder.dimension)
    return embedder


def _said(error: DragGraphError) -> str:
    return ". ".join(filter(None, (str(error), error.hint)))


def _wrong(id_: str, what: str) -> Problem:
    return Problem("checksum", id_, f"the {what} is not what its id is the hash of: it was changed")


def _clusters_anew(store: GraphStore) -> Iterator[Repair]:
    wrong = list(_clusters(store))
    if wrong:
        store.concepts.write(Changes(clusters=wrong))
        yield Repair("cluster", len(wrong), "clusters worked out anew")


def _cluster_problems(store: GraphStore) -> Iterator[Problem]:
    for item, cluster in _clusters(store):
        yield Problem("cluster", item.id, f"the concept's cluster should be {cluster}, by the judgements that stand")


def _clusters(store: GraphStore) -> Iterator[tuple[Concept, str]]:
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
    alone = [(id_, id_, 1.0) for id_ in said]
    for group in components([*joined.values(), *alone]):
        members = [said[id_] for id_ in group.members if id_ in said]
        if all(item.cluster for item in members):
            best = min(members, key=lambda item: (-item.entities, item.id)).id
            yield from ((item, best) for item in members if item.cluster != best)


def _by_check(found: Sequence[Problem]) -> dict[str, list[str]]:
    ids: dict[str, set[str]] = defaultdict(set)
    for item in found:
        ids[item.check].add(item.id)
    return {check: sorted(names) for check, names in ids.items()}


def _chunks(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), PAGE):
        yield list(ids[start : start + PAGE])
