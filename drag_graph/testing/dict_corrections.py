"""Corrections of the store in memory."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from drag_graph.model import Subgraph
from drag_graph.ports.correction_store import Correction, RejectedClaims, StoredClaim
from drag_graph.stores.shared.shared_parts import by_change, correction_record


class _HasCorrections(Protocol):
    subgraphs: dict[str, Subgraph]
    corrections: dict[str, Correction]


class DictCorrections:
    """The `CorrectionStore` port over dictionaries; the port documents the methods."""

    def __init__(self, namespace: str, content: Callable[[], AbstractContextManager[_HasCorrections]]) -> None:
        self._namespace = namespace
        self._content = content

    def read(self) -> list[Correction]:
        with self._content() as content:
            return by_change(iter(content.corrections.values()))

    def rejected(self) -> RejectedClaims:
        return RejectedClaims.of(self.read())

    def write(self, corrections: Sequence[Correction]) -> int:
        with self._content() as content:
            stored = [item for item in corrections if item.source_ids[0] in content.subgraphs]
            content.corrections |= {item.target_id: item for item in stored}
            return len({item.target_id for item in stored})

    def claims(self) -> Iterator[StoredClaim]:
        with self._content() as content:
            triples = [item for graph in content.subgraphs.values() for item in graph.triples]
        for item in triples:
            ends = (item.subject_id, item.subject, item.predicate, item.predicate_key, item.object_id, item.object)
            yield StoredClaim(item.source_id, *ends)

    def records(self) -> Iterator[dict[str, Any]]:
        yield from (correction_record(item, self._namespace) for item in self.read())


def erase_corrections(content: _HasCorrections, source_ids: Collection[str], target_ids: Collection[str]) -> None:
    """Erase the corrections of these targets, and those that rest on any of these sources."""
    content.corrections = {
        id_: item
        for id_, item in content.corrections.items()
        if id_ not in target_ids and not set(source_ids) & set(item.source_ids)
    }
