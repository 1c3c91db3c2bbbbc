"""Contract of `drag_graph.ports.site_registry.SiteRegistry`: the sites of a cloud and their summaries."""

import math
from collections.abc import Sequence

import pytest

from drag_graph.errors import StoreUnfit
from drag_graph.identity import sha256_of
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.site_registry import RegisteredSite, SharedSummary, SiteChanges, site_id
from drag_graph.testing.contract.base import Contract, OpenStore

MANY = 35
"""More summaries than one statement reads or writes."""
CROWD = 60
"""More summaries than a search requests from the vector index of all namespaces."""


def site(store: GraphStore, name: str) -> RegisteredSite:
    """Return a site that is not registered yet."""
    return RegisteredSite(site_id(store.namespace, name), name, sha256_of(name), "2026-01-01T00:00:00+00:00")


def summary(key: str, text: str, degrees: float = 0.0) -> SharedSummary:
    """Return a summary whose vector has this angle."""
    angle = math.radians(degrees)
    return SharedSummary(key, sha256_of(text), text, (math.cos(angle), math.sin(angle)))


def registered(store: GraphStore, name: str, summaries: Sequence[SharedSummary] = ()) -> str:
    """Register a site with summaries and return its id."""
    one = site(store, name)
    assert store.registry.write(SiteChanges(one.id, registered=one))
    if summaries:
        assert store.registry.write(SiteChanges(one.id, summaries=summaries))
    return one.id


class RegistryContract(Contract):
    """Checks of the registry."""

    def test_a_site_is_registered_once(self, store: GraphStore) -> None:
        one = site(store, "ward")
        assert store.registry.write(SiteChanges(one.id, registered=one))
        assert store.registry.sites() == [one] == store.registry.sites([one.id])
        other = RegisteredSite(one.id, one.name, sha256_of("another token"), one.created_at)
        assert not store.registry.write(SiteChanges(other.id, registered=other))
        assert store.registry.sites() == [one]
        store.registry.write(SiteChanges(one.id, seen_at="2026-01-02T00:00:00+00:00", refused=2))
        store.registry.write(SiteChanges(one.id, seen_at="2026-01-03T00:00:00+00:00"))
        (site_read,) = store.registry.sites([one.id])
        assert (site_read.seen_at, site_read.refused) == ("2026-01-03T00:00:00+00:00", 2)
        assert store.registry.sites(["no such site"]) == []

    def test_summaries_are_compared_by_their_hashes(self, store: GraphStore) -> None:
        old, unchanged = summary("a", "about ice"), summary("b", "about fire")
        id_ = registered(store, "ward", [old, unchanged])
        new = summary("a", "about snow")
        assert store.registry.hashes(id_) == {"a": old.hash, "b": unchanged.hash}
        assert store.registry.write(SiteChanges(id_, summaries=[new]))
        assert store.registry.write(SiteChanges(id_, dropped=["b", "unknown"]))
        assert store.registry.hashes(id_) == {"a": new.hash}
        assert [hit.text for hit in store.registry.nearest([1.0, 0.0], 5)] == ["about snow"]
        assert [one.summaries for one in store.registry.sites()] == [1]

    def test_the_nearest_summaries_of_all_sites_come_first(self, store: GraphStore) -> None:
        one = registered(store, "one", [summary(f"s{n}", f"one {n}", n) for n in range(MANY)])
        two = registered(store, "two", [summary("near", "two near", 0.4), summary("far", "two far", 90)])
        assert store.registry.sites([one])[0].summaries == MANY
        hits = store.registry.nearest([1.0, 0.0], 3)
        assert [(hit.site, hit.key) for hit in hits] == [("one", "s0"), ("two", "near"), ("one", "s1")]
        assert [hit.score for hit in hits] == pytest.approx([math.cos(math.radians(n)) for n in (0, 0.4, 1)], abs=1e-5)
        assert {hit.site_id for hit in hits} == {one, two}
        assert [hit.key for hit in store.registry.nearest([1.0, 0.0], 2, without=one)] == ["near", "far"]
        assert [hit.key for hit in store.registry.nearest([1.0, 0.0], 2, without=two)] == ["s0", "s1"]
        assert store.registry.write(SiteChanges(two, summaries=[summary("near", "two moved", 80)]))
        assert store.registry.nearest([0.0, 1.0], 2)[1].text == "two moved"
        assert store.registry.nearest([0.0, 0.0], 3) == store.registry.nearest([1.0, 0.0, 0.0], 3) == []
        assert store.registry.nearest([1.0, 0.0], 0) == []

    def test_a_withdrawn_site_leaves_nothing(self, store: GraphStore) -> None:
        erased_site = registered(store, "gone", [summary(f"s{n}", f"gone {n}") for n in range(MANY)])
        stays = registered(store, "stays", [summary("s", "stays", 10)])
        assert store.erase([erased_site]).counts["Edge"] == 1
        assert not store.erase([erased_site]).counts.get("Edge")
        assert [hit.site for hit in store.registry.nearest([1.0, 0.0], 100)] == ["stays"]
        assert [one.id for one in store.registry.sites()] == [stays]
        assert not store.registry.write(SiteChanges(erased_site, summaries=[summary("s", "back again")]))
        assert [hit.site for hit in store.registry.nearest([1.0, 0.0], 100)] == ["stays"]
        store.registry.write(SiteChanges(erased_site, seen_at="2026-01-02T00:00:00+00:00"))
        assert len(store.registry.sites()) == 1

    def test_namespaces_have_separate_sites(self, open_store: OpenStore, namespace: str) -> None:
        with open_store(f"{namespace}-other") as store:
            theirs = registered(store, "ward", [summary(f"s{n}", f"theirs {n}") for n in range(CROWD)])
        with open_store(namespace) as store:
            assert store.registry.sites() == store.registry.sites([theirs]) == []
            assert not store.erase([theirs]).counts.get("Edge")
            assert store.registry.hashes(theirs) == {}
            assert not store.registry.write(SiteChanges(theirs, summaries=[summary("s", "not ours")]))
            registered(store, "ward", [summary("s", "ours", 50)])
            assert [hit.text for hit in store.registry.nearest([1.0, 0.0], 3)] == ["ours"]
        with open_store(f"{namespace}-other") as store:
            assert store.registry.sites()[0].summaries == CROWD

    def test_summaries_keep_their_embedder(self, store: GraphStore) -> None:
        store.embedder(("of-tests", 2))
        registered(store, "ward", [summary("s", "about ice")])
        with pytest.raises(StoreUnfit):
            store.embedder(("another", 3))
