"""What an answer rests on: it is stored only while all of it is."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from drag_graph.model import Answer, LineKind


@dataclass(frozen=True, slots=True)
class Proof:
    """What an answer says by the lines that it was shown, by id: an answer is stored only while all of it is."""

    evidence_ids: frozenset[str]
    triple_ids: frozenset[str]
    call_ids: frozenset[str]


def proof_of(answer: Answer) -> Proof:
    """Return what the answer's lines rest on, by its snapshot: what `drag_graph.manage.erasing.names_any` looks for.

    An edge rests on its triples, not on its own id: it is made anew whenever its query is aggregated. Of the calls those that
    merged sentences are named, where such an edge was shown: what the others made is evidence and triples.
    """
    evidence = set(own_refs(answer, "evidence"))
    triples, merged = set[str](), False
    for line in _objects(answer.snapshot.get("lines")):
        shown = list(_objects(line.get("triples")))
        triples |= _ids(shown)
        evidence |= _ids(triple.get("evidence") for triple in shown)
        merged |= len(shown) > 1
    calls = (call for call in _objects(answer.snapshot.get("calls")) if call.get("stage") == "statements")
    return Proof(frozenset(evidence), frozenset(triples), frozenset(_ids(calls) if merged else ()))


def own_refs(answer: Answer, kind: LineKind) -> list[str]:
    """Return the ids of the evidence or edges behind the lines of this store, in order and without repetitions.

    Lines that other sites of a cloud released are left out, because their ids mean nothing in this store.
    """
    return list(dict.fromkeys(line.ref for line in answer.lines if line.kind == kind and not line.site))


def _ids(items: Iterable[Any]) -> set[str]:
    return {item["id"] for item in _objects(items) if isinstance(item.get("id"), str)}


def _objects(items: Any) -> Iterator[dict[str, Any]]:
    """Yield those of the items that are objects: a snapshot may have come from anywhere."""
    if isinstance(items, Iterable) and not isinstance(items, str):
        yield from (item for item in items if isinstance(item, dict))
