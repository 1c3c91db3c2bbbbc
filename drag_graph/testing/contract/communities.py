"""The part of the suite about communities: `GraphStore.communities`, and what saving and erasing do to them."""

from dataclasses import asdict, replace

import pytest

from drag_graph.communities.leiden import WholeGraph, partition
from drag_graph.model import Aggregation, Subgraph
from drag_graph.ports.community_store import Community, CommunityChanges
from drag_graph.ports.graph_store import GraphStore
from drag_graph.testing.builders import make_subgraph, random_subgraphs
from drag_graph.testing.contract.base import Contract, assert_same, records_of
from drag_graph.testing.dict_store import DictStore

PLAIN = Aggregation()
BEETLE = "the lazarus beetle"


def _graphs(namespace: str) -> list[Subgraph]:
    """Return two sources that say something about one thing, and one of its own."""
    facts = [("sun", "warms", "earth", 0.9, 0), ("earth", "carries", "life", 0.9, 1)]
    other = [("sun", "warms", "earth", 0.8, 0), ("earth", "feeds", BEETLE, 0.9, 1)]
    own = [("lead", "is", "a metal", 0.9, 0)]
    return [make_subgraph(n, namespace=namespace, triples=triples) for n, triples in enumerate((facts, other, own))]


def _fill(store: GraphStore, namespace: str) -> tuple[list[Subgraph], Community, Community]:
    """Save three sources, the first two in one community and the third in another, with summaries; return all."""
    graphs = _graphs(namespace)
    store.save(graphs, PLAIN)
    entities = [[item.id for item in graph.entities] for graph in graphs]
    shared = Community(
        f"{namespace}-1", "hash 1", things=4, edges=4, sources=2, level=0, entities=tuple(sorted(entities[0] + entities[1]))
    )
    alone = Community(f"{namespace}-2", "hash 2", things=2, edges=1, sources=1, level=0, entities=tuple(sorted(entities[2])))
    joined = [(entity, item.id) for item in (shared, alone) for entity in item.entities]
    store.communities.write(CommunityChanges(communities=[shared, alone], joined=joined))
    triples = [
        replace(shared, name="Sun", summary=f"Of the sun and {BEETLE}.", summariser="rules", vector=[1.0, 0.0]),
        replace(alone, name="Lead", summary="Of metals.", summariser="rules", vector=[0.5, 0.75]),
    ]
    assert store.communities.write(CommunityChanges(summarised=triples)) == len(triples)
    return graphs, triples[0], triples[1]


class CommunityContract(Contract):
    """`CommunityStore`, and that no summary outlives what it rested on."""

    def test_what_was_written_is_read_and_exported(self, store: GraphStore, namespace: str) -> None:
        assert list(store.communities.read()) == []
        model = DictStore(namespace=namespace)
        model.migrate()
        for each in (store, model):
            _, shared, alone = _fill(each, namespace)
            communities = list(each.communities.read())
            assert communities == [shared, alone]
            assert [item.entities for item in communities] == [shared.entities, alone.entities]
        assert records_of(store) == records_of(model)
        counts = store.counts()
        assert (counts["Community"], counts["IN_COMMUNITY"]) == (2, len(shared.entities) + len(alone.entities))
        assert store.verify() == []

    def test_another_hash_takes_the_summary_away_and_the_same_keeps_it(self, store: GraphStore, namespace: str) -> None:
        _, shared, alone = _fill(store, namespace)
        grown = replace(shared, member_hash="hash 3", things=5)
        store.communities.write(CommunityChanges(communities=[grown, replace(alone, edges=7)]))
        assert list(store.communities.read()) == [replace(grown, name="", summary="", summariser=""), replace(alone, edges=7)]
        assert [hit.id for hit in store.communities.nearest([1.0, 0.0], 5)] == [alone.id]

    def test_an_entity_is_in_one_community_and_an_empty_one_goes(self, store: GraphStore, namespace: str) -> None:
        _, shared, alone = _fill(store, namespace)
        moves = [(entity, shared.id) for entity in alone.entities]
        store.communities.write(CommunityChanges(joined=moves, gone=[alone.id]))
        assert [item.id for item in store.communities.read()] == [shared.id, alone.id], "nobody left, so nobody joined or went"
        changes = CommunityChanges(left=alone.entities, joined=[*moves, ("nobody", shared.id)], gone=[alone.id, shared.id])
        for _ in range(2):
            store.communities.write(changes)
            (community,) = store.communities.read()
            assert community.entities == tuple(sorted(shared.entities + alone.entities))

    def test_contents_are_the_edges_inside(self, store: GraphStore, namespace: str) -> None:
        graphs, shared, _ = _fill(store, namespace)
        outside = graphs[1].entities[0].id
        edges = list(store.linked_edges(shared.id))
        wanted = [edge for edge in store.linked_edges() if edge.source_id != graphs[2].source_id]
        assert_same([asdict(edge) for edge in edges], [asdict(edge) for edge in sorted(wanted, key=lambda edge: edge.id)])
        assert list(store.communities.read([shared.id, "nobody"])) == [shared]
        store.communities.write(CommunityChanges(left=[outside]))
        assert {edge.id for edge in store.linked_edges(shared.id)} == {
            edge.id for edge in wanted if outside not in (edge.source_entity, edge.target_entity)
        }
        assert list(store.linked_edges("nobody")) == []

    def test_the_nearest_summaries_are_found(self, store: GraphStore, namespace: str) -> None:
        _, shared, alone = _fill(store, namespace)
        assert [(hit.id, hit.name) for hit in store.communities.nearest([1.0, 0.1], 5)] == [
            (shared.id, "Sun"),
            (alone.id, "Lead"),
        ]
        (best,) = store.communities.nearest([0.5, 0.75], 1)
        assert (best.id, best.summary) == (alone.id, "Of metals.")
        assert best.score == pytest.approx(1.0, abs=1e-6)
        assert store.communities.nearest([0.0, 0.0], 5) == []
        assert store.communities.nearest([1.0, 0.0, 0.0], 5) == []
        assert store.communities.nearest([1.0, 0.0], 0) == []
        moved = [replace(alone, vector=[1.0, 0.0]), replace(shared, vector=[0.0, 1.0])]
        assert store.communities.write(CommunityChanges(summarised=moved))
        assert [hit.id for hit in store.communities.nearest([1.0, 0.1], 1)] == [alone.id], "the one that is near now"

    def test_a_summary_goes_with_any_of_its_sources(self, store: GraphStore, namespace: str) -> None:
        graphs, shared, alone = _fill(store, namespace)
        assert store.erase([graphs[1].source_id]).counts["Community"] == 1
        assert BEETLE not in "\n".join(records_of(store))
        reset = replace(shared, member_hash="", name="", summary="", summariser="")
        assert list(store.communities.read()) == [reset, alone]
        assert store.communities.write(CommunityChanges(summarised=[shared])) == 0, "what was made before is not written after"
        assert BEETLE not in "\n".join(records_of(store))
        assert store.erase([graphs[2].source_id]).counts["Community"] == 1
        assert [item.id for item in store.communities.read()] == [shared.id], "nothing is in the other any more"
        assert store.verify() == []

    def test_a_replaced_source_stays_in_its_community_without_its_summary(self, store: GraphStore, namespace: str) -> None:
        graphs, shared, alone = _fill(store, namespace)
        triples = [("sun", "warms", "earth", 0.8, 0)]
        edition = make_subgraph(1, namespace=namespace, triples=triples, settings_hash="another")
        assert store.save([edition], PLAIN) == ["replaced"]
        communities = list(store.communities.read())
        assert communities == [replace(shared, member_hash="", name="", summary="", summariser=""), alone]
        removed_ids = {item.id for item in graphs[1].entities} - {item.id for item in edition.entities}
        assert removed_ids
        assert set(communities[0].entities) == set(shared.entities) - removed_ids
        assert BEETLE not in "\n".join(records_of(store))
        assert store.save([graphs[2]], PLAIN) == ["unchanged"]
        assert list(store.communities.read())[1] == alone

    def test_the_partition_is_that_of_the_model(self, store: GraphStore, namespace: str) -> None:
        model = DictStore(namespace=namespace)
        model.migrate()
        for each in (store, model):
            each.save(random_subgraphs(8, namespace=namespace, seed=31), PLAIN)
        partition_of_store, wanted = (
            partition(WholeGraph.of(each.linked_edges()), resolution=1.0, min_size=3) for each in (store, model)
        )
        assert wanted
        assert partition_of_store == wanted
