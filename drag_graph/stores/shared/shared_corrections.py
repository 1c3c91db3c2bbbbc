"""Corrections, with the statements that have the same names and rows in every dialect."""

from collections.abc import Callable, Collection, Iterator, Sequence
from operator import attrgetter
from typing import Any

from drag_graph.ports.correction_store import Correction, RejectedClaims, StoredClaim
from drag_graph.stores.shared.export_records import node
from drag_graph.stores.shared.transaction import Access, NamespacePart, Row, Run, Transaction


class SharedCorrections(NamespacePart):
    """The `CorrectionStore` port; see there for what each method promises. `stream` is that of the store."""

    def __init__(self, access: Access, stream: Callable[[str], Iterator[Row]]) -> None:
        super().__init__(access)
        self._stream = stream

    def read(self) -> list[Correction]:
        return by_change(Correction(**row) for row in self._rows("read_corrections"))

    def rejected(self) -> RejectedClaims:
        rows = self._rows("rejected_claims")
        sources = (id_ for row in rows for id_ in row["source_ids"])
        return RejectedClaims(frozenset(row["id"] for row in rows), frozenset(sources))

    def write(self, corrections: Sequence[Correction]) -> int:
        rows = [_row(self._namespace, item) for item in {item.target_id: item for item in corrections}.values()]

        def work(session: Transaction) -> int:
            session.changed_vectors = ()
            return len(self._each(session.run, "save_corrections", rows))

        return self._access.in_writing(work) if rows else 0

    def claims(self) -> Iterator[StoredClaim]:
        for row in self._stream("stored_claims"):
            # A row is a claim or all claims of a source, depending on the engine.
            yield from (StoredClaim(**claim) for claim in row.get("claims", [row]))

    def erase(self, run: Run, sources: Sequence[str], answer_ids: Collection[str]) -> None:
        """Erase the corrections of erased sources and answers."""
        if sources or answer_ids:
            self._run(run, "erase_corrections", source_ids=list(sources), target_ids=list(answer_ids))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the corrections as `GraphStore.records` does."""
        yield from (correction_record(item, self._namespace) for item in self.read())


def correction_record(item: Correction, namespace: str) -> dict[str, Any]:
    """Return the record of a correction; that it was undone is content, when is a time."""
    undone = {"undone": bool(item.undone_at)}
    return node("Correction", item.id_in(namespace), {**item.to_dict(), "namespace": namespace, **undone})


def by_change(corrections: Iterator[Correction]) -> list[Correction]:
    """Return corrections, most recently changed first, ties by the id of their target."""
    return sorted(sorted(corrections, key=attrgetter("target_id")), key=attrgetter("changed_at"), reverse=True)


def _row(namespace: str, item: Correction) -> Row:
    return {**item.model_dump(mode="json"), "id": item.id_in(namespace), "source_id": item.source_ids[0]}
