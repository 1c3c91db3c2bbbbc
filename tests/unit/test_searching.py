"""Searching the whole graph by words, vectors and a walk (`drag_graph.ask.searching`, `drag_graph.ask.find_lines`)."""

import pytest

from drag_graph.ask import retrieval as retrieve
from drag_graph.ask import searching
from drag_graph.ask.find_lines import Finder
from drag_graph.ask.searching import CERTAIN, RULES, UNLINKED, Searcher
from drag_graph.graph.name_forms import concept_id, concept_key
from drag_graph.inputs import make_query
from drag_graph.model import Aggregation
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.ports.concept_store import Changes, Concept
from drag_graph.ports.graph_search import EVERYTHING, Restriction
from drag_graph.settings import Settings
from drag_graph.testing.builders import document_of, make_document, make_subgraph
from drag_graph.testing.dict_store import DictStore

EMBEDDER = LexicalEmbedder()
QUESTION = "Where was the leader of the Orchid project born?"
LED, BORN = "The leader of the Orchid project is Ada Mårtensson.", "Ms Mårtensson came into the world at Narvik."
LETTERS = [f"Somebody wrote letter {n} about the weather." for n in range(16)]


def document(name, chunks, triples=(), **fields):
    made = make_document(name).model_copy(update={"name": name, "date": "", "tags": (), **fields})
    return document_of(made, chunks, triples)


def store_of(*graphs):
    store = DictStore()
    store.migrate()
    vectors = {
        item.id: tuple(map(float, vector))
        for graph in graphs
        for item, vector in zip(graph.evidence, EMBEDDER.embed([one.text for one in graph.evidence]), strict=True)
    }
    store.save(list(graphs), Aggregation(), vectors=vectors)
    return store


def findings(store, question=QUESTION, only=EVERYTHING):
    searcher = Searcher(store, EMBEDDER, only)
    return searcher.findings(searcher.near(make_query(question)), ())


def finder(store, **given):
    return Finder(Settings(embedder="lexical", **given), store, EMBEDDER)


def two_hops(confidence):
    """A document that names the leader and one that names her place of birth, which shares no word with the question."""
    return [
        document("letters.txt", [[text] for text in LETTERS]),
        document("project.txt", [[LED]], [("Orchid project", "is led by", "Mårtensson", confidence, 0)]),
        document("people.txt", [[BORN]], [("Mårtensson", "comes from", "Narvik", confidence, 0)]),
    ]


def linked(store, graphs):
    """Make one concept of the entities of the same name."""
    entities = [entity for graph in graphs for entity in graph.entities]
    ids = {entity.name: concept_id(store.namespace, concept_key(entity.name)) for entity in entities}
    concepts = [Concept(id_, concept_key(name), name) for name, id_ in ids.items()]
    store.concepts.write(Changes(concepts=concepts, links=[(entity.id, ids[entity.name]) for entity in entities]))
    return store


def texts(found):
    return [item.passage.text for item in found.passages]


@pytest.fixture
def linked_hops():
    graphs = two_hops(0.95)
    return linked(store_of(*graphs), graphs)


def test_a_passage_two_facts_away_is_found_by_the_walk_alone(linked_hops, monkeypatch):
    """Neither its words nor its vector are near to the question, as one hit of each is requested."""
    monkeypatch.setattr(retrieve, "NEAREST", 1)
    near = Searcher(linked_hops, EMBEDDER).near(make_query(QUESTION))
    found = findings(linked_hops)
    assert texts(found) == [LED, BORN]
    ranks = found.ranks(near.near)
    assert [name for name, _ in ranks[found.passages[0].passage.id]] == ["vector", "words", "graph"]
    assert ranks[found.passages[1].passage.id] == (("graph", 2),)


@pytest.mark.parametrize(
    ("confidence", "is_linked", "weight"),
    [(CERTAIN, True, 1.0), (CERTAIN, False, 1.0), (CERTAIN - 0.01, True, RULES), (CERTAIN - 0.01, False, UNLINKED)],
)
def test_facts_decide_as_far_as_they_are_certain(monkeypatch, confidence, is_linked, weight):
    weights, by_walk = [], searching.by_walk
    monkeypatch.setattr(searching, "by_walk", lambda *given: weights.append(given[2]) or by_walk(*given))
    graphs = two_hops(confidence)
    found = findings(linked(store_of(*graphs), graphs) if is_linked else store_of(*graphs))
    assert weights == [weight]
    assert {fact.object for fact, _ in found.facts} == {"Mårtensson", "Narvik"}


@pytest.mark.parametrize(("confidence", "expected"), [(CERTAIN, True), (CERTAIN - 0.01, False)])
def test_only_certain_facts_are_embedded(monkeypatch, confidence, expected):
    """The vectors of uncertain ones, which decide little, would take longer than the rest of the search."""
    graphs, embedded = two_hops(confidence), []
    store, embed = store_of(*graphs), EMBEDDER.embed
    monkeypatch.setattr(EMBEDDER, "embed", lambda given: embedded.extend(given) or embed(given))
    found = findings(store)
    assert ("Orchid project is led by Mårtensson" in embedded) is expected
    assert all(score > 0 for _, score in found.facts)


def test_without_facts_the_order_is_that_of_words_and_vectors():
    store = store_of(document("a", [LETTERS[:3], [LED]]), document("b", [[BORN]]))
    found = findings(store)
    assert texts(found)[0] == LED
    assert (found.facts, found.walked) == ([], {})
    assert [item.value for item in found.passages] == sorted((item.value for item in found.passages), reverse=True)


def test_an_empty_store_has_no_findings():
    found = findings(store_of())
    assert (found.passages, found.facts, found.walked) == ((), (), {})
    assert finder(store_of()).search(make_query(QUESTION)).how == "nothing"


def test_sources_that_are_left_out_take_no_part(linked_hops):
    searcher = Searcher(linked_hops, EMBEDDER)
    search = searcher.near(make_query(QUESTION))
    sources = {item.unit.title: item.unit.source_id for item in searcher.findings(search, ()).passages}
    assert BORN in texts(searcher.findings(search, ()))
    found = searcher.findings(search, (), {sources["people.txt"]})
    assert LED in texts(found)
    assert BORN not in texts(found)


def test_a_search_is_restricted_to_sources(linked_hops):
    only = Restriction(sources=("people.txt", "letters.txt"))
    assert {item.unit.title for item in findings(linked_hops, only=only).passages} <= {"people.txt", "letters.txt"}
    assert LED not in texts(findings(linked_hops, only=only))


def test_the_document_of_the_year_that_is_asked_for_comes_first():
    said = "The Orchid project was led by {}."
    store = store_of(
        *(document(f"{year}.txt", [[said.format(who)]], date=f"{year}-05") for year, who in ((2024, "Ada"), (2026, "Bo")))
    )
    for year, who in ((2024, "Ada"), (2026, "Bo")):
        assert texts(findings(store, f"Who led the Orchid project in {year}?"))[0] == said.format(who)


# ---- lines


def test_what_a_document_says_is_found_with_its_place():
    store = store_of(document("a.txt", [[LED, "She has a dog."]], date="2026-03-02"))
    found = finder(store).search(make_query("Who is the leader of the Orchid project?"))
    assert found.how == "search"
    assert [item.text for item in found.candidates] == [LED, "She has a dog."]
    assert {(item.place.title, item.place.date, item.place.chunk_text) for item in found.candidates} == {
        ("a.txt", "2026-03-02", f"{LED} She has a dog.")
    }
    assert [(source.title, source.is_document) for source in found.sources] == [("a.txt", True)]


def test_nothing_is_shown_where_no_passage_is_close():
    store = store_of(document("letters.txt", [LETTERS]))
    found = finder(store).search(make_query("Which enzyme breaks down the sugar of milk?"))
    assert (found.how, found.candidates) == ("nothing", ())


def test_the_closest_passage_is_reported_where_none_is_close_enough():
    store = store_of(document("a.txt", [["The leader has a dog."]]))
    found = finder(store, relevance=1.0).search(make_query("Which leader of the Orchid project was born at sea?"))
    assert found.how == "nothing"
    assert found.nearest.text == "The leader has a dog."
    assert 0 < found.nearest.score < found.nearest.threshold == 1.0


def test_evidence_of_a_similar_question_is_relevant_and_that_of_others_only_if_it_is_close():
    similar, other = "Who is the leader of Orchid?", "What does the weather do?"
    graphs = []
    for number, (text, evidence) in enumerate(
        [(similar, ["Ada is said to lead.", LED]), (other, ["Rain leads.", "The leader of the Orchid project is wet."])]
    ):
        graph = make_subgraph(number, triples=(), evidence=evidence, dropped=())
        query = graph.query.model_copy(update={"text": text})
        vector = tuple(map(float, EMBEDDER.embed([text])[0]))
        graphs.append(graph.model_copy(update={"source": query, "embedding": vector}))
    found = finder(store_of(*graphs)).search(make_query("Who is the leader of the Orchid project?"))
    assert {item.text for item in found.candidates} == {"Ada is said to lead.", LED, "The leader of the Orchid project is wet."}
    assert ("Rain leads.", "not relevant") in found.dropped
    assert {item.place for item in found.candidates} == {None}


def test_edges_of_the_best_facts_follow_in_the_modes_that_show_them(linked_hops):
    query = make_query("Who is the leader of the Orchid project?")
    kinds = {
        mode: {item.kind for item in finder(linked_hops, mode=mode).search(query).candidates if item.text not in LETTERS}
        for mode in ("combined", "evidence", "graph", "none")
    }
    assert kinds == {"combined": {"evidence", "edge"}, "evidence": {"evidence"}, "graph": {"edge"}, "none": set()}
    found = finder(linked_hops).search(query)
    (edge,) = [item for item in found.candidates if item.kind == "edge" and "Orchid" in item.text]
    assert found.weighed[edge.ref].confidence == 0.95


def test_a_passage_that_decides_between_no_options_is_left_out():
    store = store_of(document("a.txt", [["Ada Orchid Ada."], ["Bo lives in Quito with a project leader."]]))
    options = ["Ada Orchid", "Eve Xu"]
    query = make_query("Orchid project leader Quito?", options)
    chosen = finder(store, relevance=0.6).search(query)
    assert [item.text for item in chosen.candidates] == ["Ada Orchid Ada."]
    assert ("Bo lives in Quito with a project leader.", "not relevant") in chosen.dropped


def test_what_does_not_fit_the_budget_is_not_read():
    passages = [f"The leader of the Orchid project has a dog, number {n}." for n in range(14)]
    found = finder(store_of(document("a.txt", [passages])), token_budget=40).search(make_query("Who leads the Orchid project?"))
    assert 0 < len(found.candidates) < 6
    assert sum(reason == "less relevant" for _, reason in found.dropped) == len(passages) - len(found.candidates)
