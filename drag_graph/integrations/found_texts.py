"""The result of the retrievers of all libraries: the texts and edges of a search."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from drag_graph.app.application import DragGraph
from drag_graph.errors import MissingExtra

BEST = 10
"""Default number of texts that a retriever returns."""


class FoundText(NamedTuple):
    """The text of a context line without its opening, and its origin."""

    text: str
    score: float
    metadata: dict[str, Any]


def find_texts(graph: DragGraph, text: str, limit: int, search: Mapping[str, Any]) -> list[FoundText]:
    """Return up to `limit` texts and edges for a question, best first. `search` has other arguments of `DragGraph.search`."""
    result = graph.search(text, **search)
    titles = {source.id: source for source in result.sources}
    texts = list[FoundText]()
    for line in sorted(result.lines, key=lambda item: (-item.score, item.n))[:limit]:
        place, source = result.documents.get(line.n, {}), titles.get(line.source_id)
        metadata = {
            "source": place.get("name") or (source.title if source else ""),
            "source_id": line.source_id,
            "kind": line.kind,
            "ref": line.ref,
            "evidence_ids": list(line.evidence_ids),
            "date": place.get("date") or (source.date if source else ""),
            "page": place.get("page"),
            "heading": " > ".join(place.get("heading", ())),
            "start": place.get("start"),
            "end": place.get("end"),
            "score": line.score,
        }
        present = {name: value for name, value in metadata.items() if value not in (None, "", [])}
        texts.append(FoundText(line.text.removeprefix(line.opening), line.score, present))
    return texts


def missing(package: str) -> MissingExtra:
    """Return the error for a library that is not installed."""
    return MissingExtra(f"This integration needs the package {package}.", extra="integrations")
