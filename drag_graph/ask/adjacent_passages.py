"""Add passages that are adjacent, in their document, to the closest ones (docs/adr/0045).

A passage often does not name its subject, or asks a question that the next passage answers. Pure functions.
"""

from collections.abc import Collection, Sequence

from drag_graph.ask.context_lines import evidence_candidate
from drag_graph.ask.line_weights import Way, Weighed
from drag_graph.graph.expansion import adjacent_passages
from drag_graph.model import Subgraph

PASSAGES = 3
"""Number of closest passages whose neighbours are added."""


def adjacent_lines(lines: Sequence[Weighed], subgraphs: Sequence[Subgraph], without: Collection[str]) -> list[Weighed]:
    """Return the passages adjacent to the closest ones among `lines`, except those whose refs are in `without`.

    The neighbours of the closest passage come first, in the order of the document. They weigh less than the lines themselves.
    `subgraphs` are those of an expansion, which contains the neighbours of its seeds.
    """
    seeds = {line.candidate.ref: way.rank for line in lines for way in line.ways if way.list == "evidence" and way.hop == 0}
    adjacent = {id_: passages for graph in subgraphs for id_, passages in adjacent_passages(graph, seeds).items()}
    found: dict[str, Weighed] = {}
    for rank, id_ in enumerate(sorted(adjacent, key=lambda id_: (seeds[id_], id_))[:PASSAGES], start=1):
        for passage in adjacent[id_]:
            if passage.id not in without:
                line = Weighed(evidence_candidate(passage, len(found)), (Way("adjacent", rank, hop=1),))
                found.setdefault(passage.id, line)
    return list(found.values())
