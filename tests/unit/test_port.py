"""What a new engine has to implement stays small (CONTRIBUTING.md)."""

import inspect
import re
from pathlib import Path

import pytest

from drag_graph.ports.community_store import CommunityStore
from drag_graph.ports.concept_store import ConceptStore
from drag_graph.ports.graph_search import GraphSearch
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.site_registry import SiteRegistry
from drag_graph.testing.dict_communities import DictCommunities
from drag_graph.testing.dict_concepts import DictConcepts
from drag_graph.testing.dict_registry import DictRegistry
from drag_graph.testing.dict_search import DictSearch
from drag_graph.testing.dict_store import DictStore

MOST = 35
ENGINES = Path(__file__).parents[2] / "CONTRIBUTING.md"
PARTS = {
    GraphStore: DictStore,
    ConceptStore: DictConcepts,
    CommunityStore: DictCommunities,
    GraphSearch: DictSearch,
    SiteRegistry: DictRegistry,
}
BESIDE = {DictStore: {"content"}, DictConcepts: {"records"}, DictCommunities: {"records"}}
"""What the parts of the store in memory lend each other."""


def methods(of):
    return {name for name, _ in inspect.getmembers(of, inspect.isfunction) if not name.startswith("_")}


def test_an_engine_implements_at_most_this_many_methods():
    assert sum(len(methods(port)) for port in PARTS) == MOST


@pytest.mark.parametrize("port", PARTS, ids=lambda port: port.__name__)
def test_the_store_in_memory_implements_exactly_the_port(port):
    own = PARTS[port]
    assert methods(own) - BESIDE.get(own, set()) == methods(port)


def test_the_page_for_a_new_engine_names_every_method():
    section = ENGINES.read_text(encoding="utf-8").partition("## Add an engine")[2]
    table = re.findall(r"^\|.*\|$", section, re.MULTILINE)
    named = set(
        re.findall(r"`(?:search\.|concepts\.|communities\.|registry\.)?(\w+)`", " ".join(row.split("|")[2] for row in table))
    )
    assert named == set().union(*map(methods, PARTS))
