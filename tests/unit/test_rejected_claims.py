"""What is left of a subgraph, of a unit and of a search without the claims that a person marked wrong."""

import pytest
from search_units import fact, passage, unit

from drag_graph.ask.corrected_store import CorrectedStore
from drag_graph.graph.rejected_claims import without_rejected
from drag_graph.model import Aggregation
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.ports.correction_store import Correction, RejectedClaims, claim_of
from drag_graph.testing.builders import document_of, expected, make_document, make_subgraph
from drag_graph.testing.dict_store import DictStore

EMBEDDER = LexicalEmbedder()
TRIPLES = (
    ("mitosis", "produces", "daughter cells", 0.9, 0),
    ("mitosis", "needs", "daughter cells", 0.8, 1),
    ("mitosis", "is", "division", 0.9, 1),
    ("mitosis", "costs", "energy", 0.9, 2),
)


def rejecting(*triples):
    return RejectedClaims(frozenset(map(claim_of, triples)), frozenset(item.source_id for item in triples))


def triple_of(graph, predicate):
    return next(item for item in graph.triples if item.predicate == predicate)


@pytest.fixture(params=["pair", "whole-pair", "predicate"])
def graph(request):
    return expected(make_subgraph(triples=TRIPLES), Aggregation(strategy=request.param))


def test_an_edge_keeps_its_other_claims(graph):
    wrong = triple_of(graph, "needs")
    left = without_rejected(graph, rejecting(wrong), is_whole=True)
    assert {name for edge in left.edges for name in edge.predicates} == {"produces", "is", "costs"}
    (edge,) = [edge for edge in left.edges if edge.object == "daughter cells"]
    before = next(one for one in graph.edges if one.id == edge.id)
    assert (edge.statement, edge.support, edge.rank) == ("mitosis produces daughter cells", 1, before.rank)
    assert edge.evidence_ids == (triple_of(graph, "produces").evidence_id,)
    assert left.kept_evidence == graph.kept_evidence, "the statement of the wrong claim also says something else"


def test_an_edge_goes_with_its_only_claim_and_evidence_that_says_nothing_else_too(graph):
    wrong = triple_of(graph, "costs")
    left = without_rejected(graph, rejecting(wrong), is_whole=True)
    assert "energy" not in {edge.object for edge in left.edges}
    assert {item.id for item in graph.kept_evidence} - {item.id for item in left.kept_evidence} == {wrong.evidence_id}
    part = without_rejected(graph, rejecting(wrong), is_whole=False)
    assert (part.edges, part.evidence) == (left.edges, graph.evidence)


def test_a_merged_sentence_goes_with_one_of_its_claims():
    subgraph = make_subgraph(triples=TRIPLES)
    first = triple_of(subgraph, "needs")
    pair = f"{first.subject_id}-{first.object_id}"
    graph = expected(subgraph, Aggregation(statements={pair: "Mitosis needs and produces daughter cells."}))
    left = without_rejected(graph, rejecting(first), is_whole=True)
    assert "needs" not in " ".join(edge.statement for edge in left.edges)


@pytest.mark.parametrize("strategy", ["pair", "whole-pair"])
def test_an_edge_is_not_disputed_by_a_claim_that_is_wrong(strategy):
    opposed = (("a", "increases", "b", 0.9, 0), ("a", "decreases", "b", 0.9, 1))
    graph = expected(make_subgraph(triples=opposed), Aggregation(strategy=strategy))
    assert all(edge.contradicts for edge in graph.edges)
    (edge,) = without_rejected(graph, rejecting(triple_of(graph, "decreases")), is_whole=True).edges
    assert (edge.predicates, edge.contradicts) == (("increases",), ())


def test_raw_triples_are_left_out(graph):
    raw = expected(make_subgraph(triples=TRIPLES), Aggregation(threshold=1.0))
    assert raw.graph == "multigraph"
    left = without_rejected(raw, rejecting(triple_of(raw, "is")), is_whole=True)
    assert {name for edge in left.usable_edges for name in edge.predicates} == {"produces", "needs", "costs"}


def test_another_source_is_left_alone(graph):
    other = make_subgraph("other", triples=TRIPLES)
    assert without_rejected(graph, rejecting(*other.triples), is_whole=True) is graph


def test_a_passage_of_a_document_stays():
    document = make_document("a")
    graph = expected(document_of(document, [["Mitosis needs time."]], [("mitosis", "needs", "time", 0.9, 0)]), Aggregation())
    left = without_rejected(graph, rejecting(*graph.triples), is_whole=True)
    assert (left.edges, left.triples, left.kept_evidence) == ((), (), graph.kept_evidence)


class Found:
    """A search that returns these units and facts."""

    def __init__(self, *units):
        self._units = units

    def units(self, ids, vectors):
        return list(self._units)

    def around(self, nodes, limit):
        return [fact for unit in self._units for fact in unit.facts]


@pytest.mark.parametrize("is_document", [False, True])
def test_units_and_the_walk_lack_wrong_facts(is_document):
    facts = [fact("u", "a", "b"), fact("u", "a", "c")]
    passages = [passage(f"evidence of {facts[0].id}", "wrong words"), passage(f"evidence of {facts[1].id}", "right words")]
    store = DictStore()
    store.migrate()
    corrected = CorrectedStore(store)
    corrected.__dict__["rejected"] = rejecting(facts[0])
    search = corrected.search
    search._search = Found(unit("u", *passages, source="source of u", is_document=is_document, facts=facts))
    (left,) = search.units(["u"], ())
    assert left.facts == (facts[1],)
    assert len(left.passages) == (2 if is_document else 1)
    assert ("wrong" in left.terms) == is_document
    assert search.around(["a"], 10) == [facts[1]]


def test_no_list_has_evidence_that_is_only_wrong():
    store = DictStore()
    store.migrate()
    texts = [f"Mitosis {predicate} {object_}." for _, predicate, object_, _, _ in TRIPLES[:3]]
    graph = make_subgraph(triples=TRIPLES, evidence=texts, dropped=())
    vectors = dict(zip([item.id for item in graph.evidence], EMBEDDER.embed(texts).tolist(), strict=True))
    store.save([graph], Aggregation(), vectors=vectors)
    vector = EMBEDDER.embed_queries(["mitosis"])[0].tolist()
    wrong = triple_of(graph, "costs")
    assert wrong.evidence_id in CorrectedStore(store).search.candidates(vector, ["mitosis"], 10).found.unit_of
    correction = Correction(
        target_id=claim_of(wrong),
        kind="claim",
        verdict="wrong",
        author="ann",
        created_at="2026-01-01T00:00:00+00:00",
        text="mitosis costs energy",
        source_ids=(graph.source_id,),
    )
    store.corrections.write([correction])
    found = CorrectedStore(store).search.candidates(vector, ["mitosis"], 10).found
    for ids in (found.by_vector, found.by_words, found.unit_of):
        assert len(ids) == len(texts) - 1
        assert wrong.evidence_id not in ids
    left = CorrectedStore(store).search.subgraphs([], [(wrong.subject_id, wrong.object_id)])
    assert [edge for part in left for edge in part.edges] == []


class StreamingStore(DictStore):
    """Fails if something is read while a stream of edges is open: it might wait for what waits for the stream."""

    is_streaming = False

    def linked_edges(self, community_id=""):
        self.is_streaming = True
        yield from super().linked_edges(community_id)
        self.is_streaming = False

    def read(self, source_ids):
        assert not self.is_streaming
        return super().read(source_ids)


def test_edges_of_all_sources_are_corrected_and_nothing_is_read_within_their_stream():
    store = StreamingStore()
    store.migrate()
    graphs = [make_subgraph(number, triples=TRIPLES) for number in range(2)]
    store.save(graphs, Aggregation(strategy="predicate"))
    corrected = CorrectedStore(store)
    corrected.__dict__["rejected"] = rejecting(triple_of(graphs[0], "needs"))
    left = [(edge.source_id, *edge.predicates) for edge in corrected.linked_edges()]
    assert (graphs[0].source_id, "needs") not in left
    assert (graphs[1].source_id, "needs") in left
    assert len(left) == 7
