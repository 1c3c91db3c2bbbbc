"""Reorder what was found for a question by the scores of a reranker."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeVar

from drag_graph.ask.context_lines import Candidate
from drag_graph.model import Document, Query, Subgraph
from drag_graph.ports.model_roles import Reranker
from drag_graph.ports.question_gate import Gate

UNNAMED = "a document"
"""The title of every document for a remote student."""
FIRST = 32
"""Number of candidates that a reranker scores."""
Item = TypeVar("Item")


def reranked(
    question: str,
    candidates: Sequence[Item],
    texts: Sequence[str],
    reranker: Reranker,
    *,
    first: int = FIRST,
    withheld: Collection[int] = (),
) -> list[Item]:
    """Return the candidates with the `first` ones reordered, best score first; equal scores keep their order.

    `texts` are those of the candidates. Candidates whose places are in `withheld` are not sent and keep their places. The
    reranker is called once, or not at all if there is nothing to reorder.
    """
    places = [place for place in range(min(first, len(candidates))) if place not in withheld]
    order = list(candidates)
    if len(places) > 1:
        scores = dict(zip(places, reranker.scores(question, [texts[place] for place in places]), strict=True))
        for place, best in zip(places, sorted(places, key=lambda place: -scores[place]), strict=True):
            order[place] = candidates[best]
    return order


def with_public_places(candidates: Sequence[Candidate], gate: Gate) -> list[Candidate]:
    """Return the lines without the titles of their documents, and without headings in which the gate finds a private detail.

    A title is often the name of a file, in which a detector misses names ("anna_schmidt.pdf").
    """
    headings = list(dict.fromkeys(item.place.heading for item in candidates if item.place))
    seen = gate.found_in([" > ".join(heading) for heading in headings], from_user=True)
    private = {heading for heading, finding in zip(headings, seen, strict=True) if finding}
    return [
        replace(item, place=replace(place, title=UNNAMED, heading=() if place.heading in private else place.heading))
        if (place := item.place)
        else item
        for item in candidates
    ]


def private_refs(candidates: Sequence[Candidate], subgraphs: Sequence[Subgraph], gate: Gate) -> set[str]:
    """Return the refs of the lines that no remote model may see.

    These are the document lines in which the gate finds a private detail, and the lines of questions that were stored before
    the gate would have generalised them.
    """
    shown = {item.source_id for item in candidates}
    sources = [graph.source for graph in subgraphs if graph.source_id in shown]
    documents = {source.id for source in sources if isinstance(source, Document)}
    unfiltered = {source.id for source in sources if isinstance(source, Query) and gate.is_unfiltered(source)}
    own = [item for item in candidates if item.source_id in documents]
    findings = gate.found_in([item.text for item in own], from_user=True)
    private = {item.ref for item, seen in zip(own, findings, strict=True) if seen}
    return private | {item.ref for item in candidates if item.source_id in unfiltered}
