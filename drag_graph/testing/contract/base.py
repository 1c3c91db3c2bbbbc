"""What the parts of the suite share: the fixtures that an adapter's test module provides, and comparison."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings

from drag_graph.manage.canonical_export import canonical_lines
from drag_graph.ports.graph_store import GraphStore
from drag_graph.report.audit_document import Provenance, provenance_of
from drag_graph.testing.finding import read_answer
from drag_graph.values import Value

OpenStore = Callable[[str], GraphStore]
"""Fixture `open_store`: open the test's database, migrated, with a namespace. The suite closes one before it opens the next."""

Tamper = Callable[[str, str], AbstractContextManager[None]]
"""Fixture `tamper`: do what a name of `FLAWS` or `HISTORY_FLAWS` says to a namespace, behind the back of the store, which is
closed while the context is entered and left. Leaving it takes a flaw of the history back."""

FLAWS = {
    "evidence_gone": "unproven-triple",
    "call_gone": "unproven-triple",
    "orphan": "orphan",
    "provenance_gone": "no-provenance",
    "dangling_edge": "dangling-id",
    "dangling_answer": "dangling-answer",
}
"""Triples' evidence ids, triples' call ids, queries' links to entities, evidence's links to calls, edges' triple ids, answers'
query ids: each lead nowhere. With the check that names it."""

HISTORY_FLAWS = ("newer", "changed")
"""A migration with a version that the code does not know; another checksum of the first migration."""


class Contract:
    """Base of the parts. `examples` is how many random cases a property gets."""

    examples: ClassVar[int] = 30

    @pytest.fixture
    def namespace(self) -> str:
        """Return a namespace of the test's own, so that tests can share a server."""
        return f"contract-{uuid.uuid4().hex[:16]}"

    @pytest.fixture
    def store(self, open_store: OpenStore, namespace: str) -> Iterator[GraphStore]:
        """Yield an open, migrated, empty store."""
        with open_store(namespace) as store:
            yield store

    def settings(self) -> settings:
        """How hypothesis runs a property: the store is shared by the examples, which each have a query of their own."""
        return settings(
            max_examples=self.examples,
            deadline=None,
            database=None,
            # Without explanation: every step of it would be many round trips to a server.
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )


def assert_same(stored: object, wanted: object, tolerance: float = 1e-9) -> None:
    """Assert that two values are equal but for the last bits of their floats."""
    differences = list(_differences(stored, wanted, "", tolerance))
    assert not differences, "stored is not what was wanted:\n" + "\n".join(differences[:20])


def walk(store: GraphStore, answer_id: str) -> dict[tuple[str, str], set[Provenance]]:
    """Return what each shown (kind, ref) of a stored answer stands on in the graph now, without those that stand on nothing."""
    answer = read_answer(store, answer_id)
    lines = answer.lines if answer else ()
    subgraphs = {graph.query.id: graph for graph in store.read(list(dict.fromkeys(line.source_id for line in lines)))}
    standing = {
        (line.kind, line.ref): provenance_of(line.kind, line.evidence_ids or [line.ref], subgraphs[line.source_id])
        for line in lines
        if line.source_id in subgraphs
    }
    return {context_line: rests for context_line, rests in standing.items() if rests}


def records_of(store: GraphStore) -> list[str]:
    """Return everything in the namespace as sorted JSON lines, times included."""
    return list(canonical_lines(store.records(), full=True))


def _differences(stored: Any, wanted: Any, path: str, tolerance: float) -> Iterator[str]:
    if isinstance(wanted, Value) and isinstance(stored, Value):
        stored, wanted = stored.model_dump(), wanted.model_dump()
    if isinstance(wanted, float) and isinstance(stored, float):
        if abs(stored - wanted) > tolerance:
            yield f"{path}: {stored!r}, wanted {wanted!r}"
    elif isinstance(wanted, Mapping) and isinstance(stored, Mapping):
        for key in sorted({*stored, *wanted}, key=str):
            if (key in stored) != (key in wanted):
                yield f"{path}.{key}: {'too much' if key in stored else 'missing'}"
            else:
                yield from _differences(stored[key], wanted[key], f"{path}.{key}", tolerance)
    elif _is_list(wanted) and _is_list(stored):
        yield from _differences(dict(enumerate(stored)), dict(enumerate(wanted)), path, tolerance)
    elif type(stored) is not type(wanted) or stored != wanted:
        yield f"{path}: {_text_of(stored)}, wanted {_text_of(wanted)}"


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _text_of(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}... ({len(text)} characters)"  # noqa: PLR2004
