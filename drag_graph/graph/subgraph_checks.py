"""Checks before a store writes, and the checks of `verify`: the same for all stores.

All checks raise SubgraphRefused before anything is sent to an engine.
"""

import json
import logging
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from drag_graph.errors import StoreUnfit, SubgraphRefused
from drag_graph.graph.unite import united
from drag_graph.log import event
from drag_graph.model import Answer, Chunk, Entity, Evidence, Subgraph, TeacherCall, Triple
from drag_graph.ports.graph_store import Problem, Replace, SaveOutcome

CHECKS = {
    "unproven_triples": ("unproven-triple", "the triple has no stored evidence or teacher call"),
    "verify_orphans": ("orphan", "the {0} belongs to no stored source"),
    "verify_answers": ("dangling-answer", "the answer rests on a source that is not stored"),
    "verify_sizes": ("size", "the source does not say rightly which teacher calls, or how many parts, it has"),
    "verify_concepts": ("concept", "no entity refers to the concept, or not as many as it says"),
    "verify_communities": ("community", "no entity is in the community"),
    "verify_vectors": ("vector", "the vector of the {0} is all zeros, so that nothing near it finds it"),
    "verify_duplicates": ("duplicate", "the id is there more than once ({0})"),
}
"""By statement: the name of the check, and what a row (an id, and for some a label or type) means."""
COUNTED = (
    *("Query", "Evidence", "Entity", "TeacherCall", "Chunk", "Document", "Concept", "Community", "Answer"),
    "Correction",
    *("HAS_EVIDENCE", "MENTIONS", "GENERATED_BY", "FROM_CHUNK", "HAS_CHUNK", "TRIPLE", "RELATED", "REFERS_TO", "SAME_AS"),
    *("IN_COMMUNITY", "ANSWERS", "USED"),
)
"""The labels and relationship types of docs/reference/graph.md; an engine may leave out what is not there."""

_MEND = "Nothing was written. Fix the source of this data."


def problem(statement: str, id_: str, *words: object) -> Problem:
    """Return the problem of a row of a statement in `CHECKS`. `words` are the columns after the id."""
    name, message = CHECKS[statement]
    return Problem(name, id_, message.format(*words))


def check(subgraphs: Sequence[Subgraph], namespace: str) -> None:
    """Refuse incomplete or inconsistent subgraphs. Raises SubgraphRefused, naming the source.

    Every triple needs its evidence, teacher call and entities in its subgraph, every evidence its call or chunk (promise 4),
    each part the id of its source, and the source the store's namespace. Ids must be unique within the batch. JSON must be
    able to represent the metadata.
    """
    owners: dict[tuple[str, str], str] = {}
    for subgraph in subgraphs:
        query = subgraph.source
        if query.namespace != namespace:
            raise SubgraphRefused(
                f"Query {query.id} belongs to namespace {query.namespace!r}, but the store to {namespace!r}.", hint=_MEND
            )
        _check_references(subgraph)
        _check_json(f"The metadata of query {query.id}", subgraph.query.metadata if subgraph.document is None else {})
        ids: set[tuple[str, str]] = set()
        for item in _parts(subgraph):
            key = (type(item).__name__, item.id)
            if key in ids or owners.setdefault(key, query.id) != query.id:
                raise SubgraphRefused(f"Query {query.id}: the {key[0]} id {item.id} occurs twice.", hint=_MEND)
            ids.add(key)


def check_answers(answers: Iterable[Answer], namespace: str) -> None:
    """Raise SubgraphRefused, naming the answer, for another namespace or a snapshot that JSON cannot represent."""
    for answer in answers:
        if answer.namespace != namespace:
            raise SubgraphRefused(
                f"Answer {answer.id} belongs to namespace {answer.namespace!r}, but the store to {namespace!r}.", hint=_MEND
            )
        _check_json(f"The snapshot of answer {answer.id}", answer.snapshot)


def check_embedder(recorded: tuple[str, int], wanted: tuple[str, int], place: str) -> None:
    """Raise StoreUnfit if `recorded` is another embedder (name, dimension) than `wanted`."""
    if recorded != wanted:
        raise StoreUnfit(
            f"{place} was filled by the embedder {recorded[0]} ({recorded[1]} dimensions), not by {wanted[0]} ({wanted[1]}).",
            hint=_embedder_hint(recorded[0], wanted[0]),
        )


def outcome_of(there: str | None, subgraph: Subgraph, *, replace: Replace) -> SaveOutcome:
    """Return the outcome of `save` for a subgraph whose source is stored under the settings hash `there` (None: not stored)."""
    if there is None:
        return "gone" if replace is True else "created"
    if replace == "never":
        return "unchanged"
    if replace == "add":
        return "added"
    return "replaced" if replace or there != subgraph.settings_hash else "unchanged"


def added(there: Subgraph, subgraph: Subgraph) -> tuple[SaveOutcome, Subgraph]:
    """Return the outcome of adding a subgraph to the stored one, and the result to store."""
    union = united(there, subgraph)
    is_new = {call.id for call in subgraph.calls} - {call.id for call in there.calls}
    return ("added" if is_new else "unchanged"), union


def _embedder_hint(recorded: str, wanted: str) -> str:
    if recorded.partition("-")[0] != wanted.partition("-")[0] and _flag(recorded) == _flag(wanted):
        return (
            "Another version of drag-graph filled it. Use another store or namespace, and read your files and questions again."
        )
    return f"Use `embedder={_flag(recorded)}`, or another store or namespace."


def _flag(name: str) -> str:
    """Return the value of the setting `embedder` that selects the embedder of that name."""
    if name.startswith("lexical"):
        return "lexical"
    return "minilm" if name.endswith("/all-MiniLM-L6-v2") else name


def dropped(answers: Iterable[Answer], kept: Collection[str]) -> frozenset[str]:
    """Return, and log, the answers that were not kept because something that they rest on is not stored any more."""
    missing = frozenset(answer.id for answer in answers if answer.id not in kept)
    if missing:
        event("answers_dropped", level=logging.WARNING, count=len(missing), reason="erased_or_replaced")
    return missing


def _check_references(subgraph: Subgraph) -> None:
    source_id = subgraph.source_id
    calls = {item.id for item in subgraph.calls}
    chunks = {item.id for item in subgraph.chunks}
    evidence = {item.id for item in subgraph.evidence}
    entities = {item.id for item in subgraph.entities}
    if chunks and subgraph.document is None:
        raise SubgraphRefused(f"Query {source_id} has chunks, which only a document has.", hint=_MEND)
    for statement in subgraph.evidence:
        if bool(statement.call_ids) == bool(statement.chunk_id):
            raise SubgraphRefused(
                f"Query {source_id}: evidence {statement.id} needs either teacher calls or a chunk.", hint=_MEND
            )
        what = f"Query {source_id}: evidence {statement.id}"
        _check_there(what, "teacher call", statement.call_ids, calls)
        _check_there(what, "chunk", [statement.chunk_id] if statement.chunk_id else [], chunks)
    for triple in subgraph.triples:
        what = f"Query {source_id}: triple {triple.id}"
        if not triple.call_ids:
            raise SubgraphRefused(f"{what} has no teacher call.", hint=_MEND)
        _check_there(what, "evidence", [triple.evidence_id], evidence)
        _check_there(what, "teacher call", triple.call_ids, calls)
        _check_there(what, "subject", [triple.subject_id], entities)
        _check_there(what, "object", [triple.object_id], entities)
    for item in _parts(subgraph):
        if item.source_id != source_id:
            raise SubgraphRefused(
                f"Query {source_id}: {type(item).__name__} {item.id} belongs to query {item.source_id}.", hint=_MEND
            )


def _check_there(what: str, kind: str, ids: Iterable[str], there: Collection[str]) -> None:
    for id_ in ids:
        if id_ not in there:
            raise SubgraphRefused(f"{what} has no {kind} {id_}.", hint=_MEND)


def _check_json(what: str, document: Any) -> None:
    try:
        json.dumps(document, allow_nan=False)
    except (ValueError, TypeError) as error:
        raise SubgraphRefused(f"{what} cannot be kept as JSON: {error}.", hint=_MEND) from error


def _parts(subgraph: Subgraph) -> tuple[TeacherCall | Chunk | Evidence | Entity | Triple, ...]:
    return (*subgraph.calls, *subgraph.chunks, *subgraph.evidence, *subgraph.entities, *subgraph.triples)
