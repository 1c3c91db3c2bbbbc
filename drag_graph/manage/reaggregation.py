"""The simple graph made anew under other settings, without asking anyone (docs/graph.md)."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from drag_graph.graph.aggregate import aggregate
from drag_graph.graph.paging import pages
from drag_graph.manage.subgraph_files import PAGE, with_statements
from drag_graph.model import Aggregation, Subgraph
from drag_graph.ports.graph_store import GraphStore


@dataclass(slots=True)
class Figures:
    """What the simple graphs of some sources are: a pruned claim is in no edge, a multigraph has no strong claim.

    Two edges that contradict each other are one contradiction.
    """

    edges: int = 0
    pruned_claims: int = 0
    contradictions: int = 0
    multigraphs: int = 0

    def add(self, subgraph: Subgraph) -> None:
        """Count one subgraph."""
        kept = {item.id for item in subgraph.evidence if item.kept}
        shown = {id_ for edge in subgraph.edges for id_ in edge.triple_ids}
        parts = [item for item in subgraph.triples if item.evidence_id in kept]
        claims = {(item.subject_id, item.object_id, item.predicate_key) for item in parts if item.id not in shown}
        self.edges += len(subgraph.edges)
        self.pruned_claims += len(claims)
        self.contradictions += sum(len(edge.contradicts) for edge in subgraph.edges) // 2
        self.multigraphs += subgraph.graph == "multigraph"


@dataclass(slots=True)
class AggregateReport:
    """What making simple graphs anew came to; `statements` counts those that a teacher had merged."""

    sources: int = 0
    before: Figures = field(default_factory=Figures)
    after: Figures = field(default_factory=Figures)
    statements_kept: int = 0
    statements_dropped: int = 0

    def document(self) -> dict[str, Any]:
        """Return the `aggregate --json` document."""
        return asdict(self)


def aggregate_anew(store: GraphStore, source_ids: Iterable[str], wanted: Callable[[Subgraph], Aggregation]) -> AggregateReport:
    """Make the simple graphs of these sources anew, a page in a transaction, and return what they were and are.

    A statement that a teacher merged stays where an edge of the same id is made of the same triples again; the others are
    joined anew.
    """
    report = AggregateReport()
    for page in pages(source_ids, PAGE):
        found = store.read(page)
        groups: dict[tuple[Any, ...], tuple[Aggregation, list[str]]] = {}
        for subgraph in found:
            report.before.add(subgraph)
            chosen = wanted(subgraph).model_copy(update={"statements": {}})
            known, fitting = _statements(subgraph, chosen)
            report.statements_kept += len(fitting)
            report.statements_dropped += known - len(fitting)
            same, ids = groups.setdefault((chosen.strategy, chosen.merge, chosen.threshold, chosen.top_k), (chosen, []))
            same.statements.update(fitting)
            ids.append(subgraph.source_id)
        for chosen, ids in groups.values():
            store.aggregate(ids, chosen)
        for subgraph in store.read([item.source_id for item in found]):
            report.sources += 1
            report.after.add(subgraph)
    return report


def _statements(subgraph: Subgraph, chosen: Aggregation) -> tuple[int, dict[str, str]]:
    """Return how many statements a teacher merged, and those whose edges are made of the same triples as before."""
    made = with_statements(subgraph).aggregation
    statements = made.statements if made else {}
    if not statements:
        return 0, {}
    before = {edge.id: edge.triple_ids for edge in subgraph.edges}
    edges, _ = aggregate(subgraph, chosen)
    return len(statements), {
        edge.id: statements[edge.id] for edge in edges if edge.id in statements and before[edge.id] == edge.triple_ids
    }
