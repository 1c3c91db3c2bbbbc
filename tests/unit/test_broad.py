"""Lines for a broad question: edges of communities with similar summaries (`drag_graph.ask.find_lines`)."""

import pytest

from drag_graph.ask.asker import Asker
from drag_graph.ask.find_lines import ENOUGH, Finder, FoundLines
from drag_graph.inputs import make_query
from drag_graph.model import Aggregation
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.model_choice import make_student
from drag_graph.ports.community_store import Community, CommunityChanges
from drag_graph.settings import Settings
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.dict_store import DictStore
from drag_graph.testing.finding import audit_document

EMBEDDER = LexicalEmbedder()
SUMMARY = "About seafaring: vessels, harbours, sailors and their voyages across oceans."
BROAD = "Tell a tale of sailors, harbours and voyages across oceans."
SAID = (("anchor", "holds", "hull"), ("rudder", "steers", "keel"), ("mast", "carries", "canvas"))


def settings(**given):
    return Settings(embedder="lexical", **given)


@pytest.fixture
def store():
    """Three sources, each about something on a ship, and a community of all of them that says so."""
    store = DictStore()
    store.migrate()
    graphs = [
        make_subgraph(subject, triples=[(subject, predicate, object_, 0.9, 0)], evidence=[f"{subject} {object_}."], dropped=())
        for subject, predicate, object_ in SAID
    ]
    store.save(graphs, Aggregation())
    describe(store, SUMMARY, [entity.id for graph in graphs for entity in graph.entities])
    return store


def describe(store, summary, entities):
    vector = [float(number) for number in EMBEDDER.embed([summary])[0]]
    made = Community("ships", "hash", "ships", summary, "rules", vector=vector)
    store.communities.write(CommunityChanges([made], joined=[(entity, "ships") for entity in entities]))
    assert store.communities.write(CommunityChanges(summarised=[made])) == 1


def search(store, question, **given):
    return Finder(settings(**given), store, EMBEDDER).search(make_query(question))


BY_MODE = [("combined", {"edge", "evidence"}), ("evidence", {"evidence"}), ("graph", {"edge"})]


@pytest.mark.parametrize(("mode", "kinds"), BY_MODE)
def test_a_broad_question_is_shown_what_its_community_says(store, mode, kinds):
    found = search(store, BROAD, mode=mode)
    assert found.how == "search"
    assert {item.kind for item in found.candidates} == kinds
    assert len({item.source_id for item in found.candidates}) == len(SAID)
    assert {name for line in found.weighed.values() for name, _ in line.ranks} == {"community"}


def test_the_answer_to_a_broad_question_is_kept_and_audited(store):
    chosen = settings()
    asked = Asker(chosen, store, EMBEDDER, make_student(chosen, EMBEDDER)).ask(make_query(BROAD))
    assert asked.stored_id
    lines = audit_document(store, asked.stored_id)["lines"]
    assert {triple["subject"] for line in lines for triple in line["triples"]} == {subject for subject, *_ in SAID}


def test_what_is_shown_by_a_community_is_not_said_to_be_left_out(store):
    text = search(store, BROAD).candidates[0].text
    finder, vector = Finder(settings(), store, EMBEDDER), [float(number) for number in EMBEDDER.embed([BROAD])[0]]
    found = finder._with_broad(FoundLines("nothing", dropped=((text, "not relevant"), ("other", "not relevant"))), vector)
    assert text in {item.text for item in found.candidates}
    assert [item for item in found.dropped if item[1] == "not relevant"] == [("other", "not relevant")]


def test_sources_that_are_to_be_left_out_are_not_shown_by_a_community(store):
    every = {item.source_id for item in search(store, BROAD).candidates}
    gone, *others = sorted(every)
    found = Finder(settings(), store, EMBEDDER).search(make_query(BROAD), without={gone})
    assert {item.source_id for item in found.candidates} == set(others)
    assert others


def test_a_community_about_something_else_is_left_out(store):
    assert search(store, "Which enzyme breaks down lactose in milk?").how == "nothing"
    describe(store, "Bread, yeast and ovens.", [])
    assert search(store, BROAD).how == "nothing"


def test_communities_are_not_looked_at_where_enough_is_found_for_the_question_itself(store, monkeypatch):
    asked = []
    monkeypatch.setattr(type(store.communities), "nearest", lambda *_args: asked.append(1) or [])
    said = [
        "The anchor holds the hull.",
        "An anchor holds a hull.",
        "Every hull is what an anchor holds.",
        "A hull is held by its anchor.",
    ]
    graph = make_subgraph("holding", triples=(), evidence=said, dropped=())
    vector = tuple(float(number) for number in EMBEDDER.embed(["What holds the hull?"])[0])
    store.save([graph.model_copy(update={"embedding": vector})], Aggregation())
    assert len(search(store, "What holds the hull?").candidates) >= ENOUGH
    assert not asked
    assert search(store, BROAD).how == "nothing"
    assert asked
