"""Parts of subgraphs: an edge is there only with all of its proof."""

import pytest

from drag_graph.graph.proof import proven_part
from drag_graph.model import Aggregation
from drag_graph.testing.builders import expected, make_document_subgraph, make_subgraph

GRAPH = expected(make_subgraph(dropped=()), Aggregation())
EVERY = [item.id for item in GRAPH.evidence]


def without(part, id_):
    return tuple(item for item in getattr(GRAPH, part) if item.id != id_)


def test_a_whole_subgraph_keeps_its_edges_and_their_triples():
    part = proven_part(GRAPH, EVERY)
    assert part.edges == GRAPH.edges
    assert {triple.id for triple in part.triples} == {id_ for edge in GRAPH.edges for id_ in edge.triple_ids}
    assert part.evidence == GRAPH.evidence


@pytest.mark.parametrize("part", ["triples", "evidence", "calls"])
def test_an_edge_without_a_triple_evidence_or_call_is_left_out(part):
    edge = next(edge for edge in GRAPH.edges if edge.support > 1)
    triple = next(triple for triple in GRAPH.triples if triple.id == edge.triple_ids[-1])
    gone = {"triples": triple.id, "evidence": triple.evidence_id, "calls": triple.call_ids[0]}[part]
    left = proven_part(GRAPH.model_copy(update={part: without(part, gone)}), EVERY)
    assert edge.id not in {other.id for other in left.edges}
    assert {id_ for other in left.edges for id_ in other.triple_ids} == {one.id for one in left.triples}


def test_a_raw_graph_keeps_its_complete_triples():
    raw = expected(make_subgraph(dropped=()), Aggregation(threshold=1.0))
    assert raw.graph == "multigraph"
    assert proven_part(raw, EVERY).triples == raw.triples
    lost = raw.model_copy(update={"evidence": raw.evidence[1:]})
    assert proven_part(lost, EVERY).triples == tuple(one for one in raw.triples if one.evidence_id != raw.evidence[0].id)


def test_only_the_evidence_that_is_needed_is_left_with_its_chunks():
    graph = expected(make_document_subgraph(edges=5), Aggregation())
    first = [edge for edge in graph.edges if edge.evidence_ids == (graph.evidence[0].id,)]
    left = proven_part(graph.model_copy(update={"edges": tuple(first)}), [graph.evidence[3].id])
    assert left.evidence == (graph.evidence[0], graph.evidence[3])
    assert left.chunks == (graph.chunks[0], graph.chunks[3])
