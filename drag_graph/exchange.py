"""Subgraphs on their way from one store to another: `export --format subgraphs` and `import` (docs/import.md).

What travels, the port that the stores implement, and when two subgraphs have the same content, without any I/O of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from drag_graph.model import Aggregation, SimpleEdge, Subgraph, Value, sentence_of
from drag_graph.steps.aggregate import distinct
from drag_graph.steps.export import VOLATILE

if TYPE_CHECKING:
    from drag_graph.ports import GraphStore

PAGE = 100
"""Subgraphs that are read in one round trip."""
_PARTS = ("query", "blind", "calls", "evidence", "entities", "triples")


class ExchangeStore(Protocol):
    """What an export of subgraphs asks of one namespace: `GraphStore.exchange`. Raises StoreError as a GraphStore does."""

    def source_ids(self) -> Iterator[str]:
        """Yield the ids of all queries, sorted; streams."""

    def aggregations(self, source_ids: Sequence[str]) -> dict[str, Aggregation | None]:
        """Return how the simple edges of these queries were made (without merged statements), those that are stored.

        None where a store of before did not keep it.
        """


@dataclass(frozen=True, slots=True)
class Head:
    """What the subgraphs of a file have in common: their namespace, and the name and dimension of their vectors' embedder.

    `embedder` is None where nothing filled the namespace yet.
    """

    namespace: str
    embedder: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """A subgraph, and how its simple edges are made of its triples; None where that is not known.

    The aggregation's `statements` are those of edges that say something else than their triples joined.
    """

    subgraph: Subgraph
    aggregation: Aggregation | None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file: its number from 1, and the subgraph or why there is none."""

    number: int
    stored: Stored | None = None
    problem: str = ""


def stored(store: "GraphStore", source_ids: Sequence[str]) -> list[Stored]:
    """Return what a store has of these queries, in their order; ids that are not stored are left out."""
    found = store.read(source_ids)
    made = store.exchange.aggregations([item.query.id for item in found]) if found else {}
    return [Stored(item, _with_statements(made.get(item.query.id), item.edges)) for item in found]


def everything(store: "GraphStore") -> Iterator[Stored]:
    """Yield every subgraph of the namespace, by the ids of their queries; streams."""
    ids = store.exchange.source_ids()
    while page := list(islice(ids, PAGE)):
        yield from stored(store, page)


def difference(there: Stored, given: Stored) -> str:
    """Return, in words, what differs between two subgraphs of one query; "" where the content is the same.

    Times, latencies, costs and vectors are no content (`drag_graph.steps.export`). How their edges are made is compared where
    it is known of both.
    """
    one, other = there.subgraph, given.subgraph
    if one.settings_hash != other.settings_hash:
        return "it was made under other settings"
    for name in _PARTS:
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine != theirs and _lasting(mine) != _lasting(theirs):
            return f"another {name}" if name == "query" else f"other {name}"
    if there.aggregation and given.aggregation and there.aggregation != given.aggregation:
        return "its simple edges are made in another way"
    return ""


def _lasting(value: Any) -> Any:
    """Return a part without what is no content."""
    if isinstance(value, tuple):
        return [_lasting(item) for item in value]
    if isinstance(value, Value):
        return {name: entry for name, entry in vars(value).items() if name not in VOLATILE}
    return value


def _with_statements(aggregation: Aggregation | None, edges: Sequence[SimpleEdge]) -> Aggregation | None:
    if aggregation is None:
        return None
    statements: Mapping[str, str] = {edge.id: edge.statement for edge in edges if edge.statement != _joined(edge)}
    return aggregation.model_copy(update={"statements": statements}) if statements else aggregation


def _joined(edge: SimpleEdge) -> str:
    return "; ".join(distinct(sentence_of(edge.subject, predicate, edge.object) for predicate in edge.predicates))
