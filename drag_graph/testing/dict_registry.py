"""The edges and summaries of the store in memory."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from drag_graph.ports.site_registry import RegisteredEdge, SharedSummary, SummaryHit, summary_id


@dataclass
class Edges:
    """The edges of a namespace, and their summaries by edge and key."""

    known: dict[str, RegisteredEdge] = field(default_factory=dict)
    summaries: dict[str, dict[str, SharedSummary]] = field(default_factory=dict)


class _HasEdges(Protocol):
    edges: Edges


class DictRegistry:
    """The `EdgeRegistry` port over dictionaries; see there for what each method promises."""

    def __init__(self, namespace: str, content: Callable[[], AbstractContextManager[_HasEdges]]) -> None:
        self._namespace = namespace
        self._content = content

    def edges(self, edge_ids: Collection[str] | None = None) -> list[RegisteredEdge]:
        with self._content() as content:
            there = content.edges
            found = [edge for id_, edge in there.known.items() if edge_ids is None or id_ in edge_ids]
            counted = [replace(edge, summaries=len(there.summaries[edge.id])) for edge in found]
        return sorted(counted, key=lambda edge: edge.name)

    def register(self, edge: RegisteredEdge) -> bool:
        with self._content() as content:
            if edge.id in content.edges.known:
                return False
            content.edges.known[edge.id], content.edges.summaries[edge.id] = edge, {}
            return True

    def touch(self, edge_id: str, seen_at: str, *, refused: int = 0) -> None:
        with self._content() as content:
            if edge := content.edges.known.get(edge_id):
                content.edges.known[edge_id] = replace(edge, seen_at=seen_at, refused=edge.refused + refused)

    def withdraw(self, edge_id: str) -> bool:
        with self._content() as content:
            content.edges.summaries.pop(edge_id, None)
            return content.edges.known.pop(edge_id, None) is not None

    def sync(self, edge_id: str, hashes: Mapping[str, str]) -> tuple[list[str], int]:
        with self._content() as content:
            there = content.edges.summaries.get(edge_id, {})
            gone = there.keys() - hashes.keys()
            for key in gone:
                del there[key]
            missing = sorted(key for key, hash_ in hashes.items() if key not in there or there[key].hash != hash_)
            return missing, len(gone)

    def upload(self, edge_id: str, summaries: Sequence[SharedSummary]) -> bool:
        with self._content() as content:
            if edge_id not in content.edges.known:
                return False
            content.edges.summaries[edge_id] |= {item.key: item for item in summaries}
            return True

    def nearest(self, vector: Sequence[float], k: int, *, without: str = "") -> list[SummaryHit]:
        with self._content() as content:
            named = {id_: edge.name for id_, edge in content.edges.known.items()}
            every = [(id_, item) for id_, items in content.edges.summaries.items() for item in items.values()]
        hits = [
            (
                summary_id(self._namespace, id_, item.key),
                SummaryHit(id_, named[id_], item.key, item.text, _cosine(item, vector)),
            )
            for id_, item in every
            if id_ != without and any(vector) and any(item.embedding) and len(item.embedding) == len(vector)
        ]
        hits.sort(key=lambda pair: (-pair[1].score, pair[0]))
        return [hit for _, hit in hits[: max(0, k)]]


def _cosine(item: SharedSummary, vector: Sequence[float]) -> float:
    one, other = np.asarray(item.embedding), np.asarray(vector)
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
