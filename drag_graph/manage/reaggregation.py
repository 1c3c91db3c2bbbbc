"""Rebuilding the simple graph under other settings, without calling a model (docs/reference/graph.md)."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from drag_graph.graph.aggregate import aggregate, with_statements
from drag_graph.graph.paging import SUBGRAPHS_PER_PAGE, pages
from drag_graph.model import Aggregation, Subgraph
from drag_graph.ports.graph_store import GraphStore


@dataclass(slots=True)
class Figures:
    """Sizes of some simple graphs. A pruned claim is in no edge, and a multigraph has no claim that is confident enough.

    Two edges that contradict each other count as one contradiction, and so does an edge that contradicts itself.
    """

    edges: int = 0
    pruned_claims: int = 0
    contradictions: int = 0
    multigraphs: int = 0

    def add(self, subgraph: Subgraph) -> None:
        """Add one subgraph."""
        evidence_ids = {item.id for item in subgraph.evidence if item.kept}
        used = {id_ for edge in subgraph.edges for id_ in edge.triple_ids}
        parts = [item for item in subgraph.triples if item.evidence_id in evidence_ids]
        claims = {(item.subject_id, item.object_id, item.predicate_key) for item in parts if item.id not in used}
        self.edges += len(subgraph.edges)
        self.pruned_claims += len(claims)
        self.contradictions += sum(len(edge.contradicts) + (edge.id in edge.contradicts) for edge in subgraph.edges) // 2
        self.multigraphs += subgraph.graph == "multigraph"


@dataclass(slots=True)
class AggregateReport:
    """Result of `reaggregate`. `statements_kept` and `statements_dropped` count the sentences that a teacher had merged."""

    sources: int = 0
    before: Figures = field(default_factory=Figures)
    after: Figures = field(default_factory=Figures)
    statements_kept: int = 0
    statements_dropped: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the `aggregate --json` document."""
        return asdict(self)


def reaggregate(store: GraphStore, source_ids: Iterable[str], choose: Callable[[Subgraph], Aggregation]) -> AggregateReport:
    """Rebuild the simple graphs of these sources as `choose` says, and return their sizes before and after.

    A statement that a teacher merged stays if an edge with the same id rests on the same triples again; all others are joined
    from the triples. Each page of sources is a transaction.
    """
    report = AggregateReport()
    for page in pages(source_ids, SUBGRAPHS_PER_PAGE):
        subgraphs = store.read(page)
        groups: dict[str, tuple[Aggregation, list[str]]] = {}
        for subgraph in subgraphs:
            report.before.add(subgraph)
            target = choose(subgraph).model_copy(update={"statements": {}})
            number, statements = _statements(subgraph, target)
            report.statements_kept += len(statements)
            report.statements_dropped += number - len(statements)
            shared, ids = groups.setdefault(target.model_dump_json(exclude={"statements"}), (target, []))
            shared.statements.update(statements)
            ids.append(subgraph.source_id)
        for target, ids in groups.values():
            store.aggregate(ids, target)
        for subgraph in store.read([item.source_id for item in subgraphs]):
            report.sources += 1
            report.after.add(subgraph)
    return report


def _statements(subgraph: Subgraph, chosen: Aggregation) -> tuple[int, dict[str, str]]:
    """Return the number of statements that a teacher merged, and those whose edges rest on the same triples as before."""
    aggregation = with_statements(subgraph).aggregation
    statements = aggregation.statements if aggregation else {}
    if not statements:
        return 0, {}
    before = {edge.id: edge.triple_ids for edge in subgraph.edges}
    edges, _ = aggregate(subgraph, chosen)
    return len(statements), {
        edge.id: statements[edge.id] for edge in edges if edge.id in statements and before[edge.id] == edge.triple_ids
    }
