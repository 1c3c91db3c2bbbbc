"""Lines beside the closest passages of documents: those just before and after them (docs/adr/0045).

A passage often does not say what it is about, or asks what the next one answers. Pure.
"""

from collections.abc import Iterable, Sequence

from drag_graph.ask.fuse import Way, Weighed, by_weight
from drag_graph.ask.lines import LineFormat, candidate_lines
from drag_graph.model import Subgraph
from drag_graph.ports.search import beside

PASSAGES = 3
"""How many of the closest passages bring those beside them."""


def lines_beside(found: Iterable[Weighed], subgraphs: Sequence[Subgraph], line_format: LineFormat) -> list[Weighed]:
    """Return the passages beside the closest ones that were found, in the order of these, that were not found themselves.

    What stands beside a passage is in the `subgraphs` if it was gone on from (`drag_graph.ports.search.Expansion`).
    """
    lines = by_weight(found)
    ranks = {line.candidate.ref: 0 for line in lines}
    closest = [line.candidate for line in lines if any(way.list == "evidence" and way.hop == 0 for way in line.ways)]
    graphs = {graph.source_id: graph for graph in subgraphs}
    for rank, passage in enumerate([item for item in closest if item.kind == "evidence"][:PASSAGES], start=1):
        for item in beside(graphs[passage.source_id], passage.ref):
            ranks.setdefault(item.id, rank)
    return [
        Weighed(candidate, (Way("beside", ranks[candidate.ref], hop=1),))
        for candidate in candidate_lines(subgraphs, "evidence", line_format)
        if ranks.get(candidate.ref)
    ]
