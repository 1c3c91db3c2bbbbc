"""`DragGraph.search`, restrictions of `ask` and `ask_all`, and the index that writers leave ready."""

import asyncio

import pytest

from drag_graph.app import AsyncDragGraph, DragGraph
from drag_graph.ask.asker import Asker
from drag_graph.errors import ConfigurationError, StoreUnfit
from drag_graph.model import Aggregation, Query
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.students.nearest_student import NearestStudent
from drag_graph.settings import Settings
from drag_graph.stores.ladybug.ladybug_store import LadybugStore

TEXTS = {
    "steam.txt": "Steam drives the turbine of the harbour crane.",
    "wood.txt": "Wood drives the turbine of the old mill. It is cut in the forest every winter by the miller and his sons.",
    "crane.txt": "The harbour crane lifts stones.",
}
QUESTION = "What drives the turbine?"


@pytest.fixture
def graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with DragGraph("graph.lbug", embedder="lexical", student="nearest") as graph:
        for name, text in TEXTS.items():
            graph.ingest(text=text, name=name)
        yield graph


def tag(graph, name, *tags, date=""):
    """Replace a stored document by one with tags and a date."""
    with graph._resources.store(read_only=False) as store:
        (stored,) = [one for one in store.read([item.id for item in store.sources()]) if one.title == name]
        changed = stored.model_copy(update={"source": stored.source.model_copy(update={"tags": tags, "date": date})})
        embedder, evidence = LexicalEmbedder(), changed.kept_evidence
        vectors = dict(zip([item.id for item in evidence], embedder.embed([item.text for item in evidence]), strict=True))
        store.save([changed], Aggregation(), replace=True, vectors=vectors)


def names(found):
    return {source.title for source in found.sources}


def test_a_search_has_sources_spans_and_edges(graph):
    found = graph.search(QUESTION)
    assert names(found) == set(TEXTS)
    assert {line.kind for line in found.spans} == {"span"}
    assert {line.kind for line in found.edges} == {"edge"}
    assert found.reason == ""
    document = found.to_dict()
    assert [item["name"] for item in document["sources"]] == [source.title for source in found.sources]
    assert all(item["text"] in TEXTS[item["document"]["name"]] for item in document["spans"])


def test_a_search_loads_no_student(graph):
    other = {"student": "gguf:missing.gguf", "scoring": "letter", "mode": "none"}
    with DragGraph("graph.lbug", embedder="lexical", **other) as with_another_student:
        assert with_another_student.search(QUESTION).to_dict() == graph.search(QUESTION).to_dict()


@pytest.mark.parametrize(
    ("restriction", "expected"),
    [
        ({"sources": ["steam.txt", "crane*"]}, {"steam.txt", "crane.txt"}),
        ({"since": "2026-03"}, {"steam.txt"}),
        ({"until": "2025"}, {"wood.txt"}),
        ({"tags": ["power", "unknown"]}, {"steam.txt", "wood.txt"}),
        ({"tags": ["power"], "until": "2025"}, {"wood.txt"}),
        ({"tags": ["power"], "sources": "crane.txt"}, set()),
    ],
)
def test_a_restriction_holds_for_every_line(graph, restriction, expected):
    tag(graph, "steam.txt", "power", date="2026-03-02")
    tag(graph, "wood.txt", "power", "old", date="2024")
    found = graph.search(QUESTION, **restriction)
    assert names(found) == expected
    ids = {source.id for source in found.sources}
    assert {line.source_id for line in found.lines} == ids, "not even the walk over the graph leaves the selected sources"
    asked = graph.ask(QUESTION, **restriction, relevance=0.1)
    assert {line.source_id for line in asked.lines} == ids
    assert asked.result.is_restricted
    (answer,) = graph.ask_all([QUESTION], **restriction, relevance=0.1).result().report.answers
    assert [line.ref for line in answer.answer.lines] == [line.ref for line in asked.lines]


def test_the_walk_does_not_leave_the_selected_sources(graph):
    """Concepts lead from one source to another."""
    graph.ingest(text="Steam drives the crane.", name="engine.txt").result()
    graph.ingest(text="The crane lifts stones.", name="stones.txt").result()
    graph.link().result()
    found = graph.search("What does steam drive?", sources=["engine.txt"])
    assert {line.source_id for line in found.lines} == {source.id for source in found.sources}
    assert names(found) == {"engine.txt"}


def test_an_answer_without_lines_says_that_only_some_sources_were_searched(graph):
    reason = graph.ask(QUESTION, sources=["nothing*"]).reason
    assert reason == "nothing relevant is stored in the selected sources, so there is no answer"
    assert graph.search(QUESTION, sources=["nothing*"]).reason == "nothing was found in the selected sources"


def test_a_restriction_excludes_what_it_cannot_restrict(graph):
    with pytest.raises(ConfigurationError, match="Restrictions of the search and a query id exclude each other"):
        graph.ask(query_id="9b1c", tags=["power"])
    with pytest.raises(ConfigurationError, match="cannot distill"):
        graph.ask(QUESTION, tags=["power"], distill_missing=True)
    with pytest.raises(ConfigurationError, match="cloud cannot be asked about some sources only"):
        graph.ask(QUESTION, tags=["power"], cloud="https://cloud.example")
    assert graph.ask(QUESTION, sources=["wood.txt"], cloud="https://cloud.example", local=True, privacy="off").lines


def test_asynchronous_methods_take_the_same_arguments(graph):
    async def search():
        async with AsyncDragGraph("graph.lbug", embedder="lexical", student="nearest") as other:
            found = await other.search(QUESTION, limit=1, sources=["wood*"])
            return found, await other.ask(QUESTION, sources=["wood*"])

    found, answer = asyncio.run(search())
    assert names(found) == {"wood.txt"}
    assert {line.source_id for line in answer.lines} == {source.id for source in found.sources}


class Longest:
    """A reranker that prefers long texts."""

    name = "longest"

    def scores(self, question, texts):
        return [float(len(text)) for text in texts]


def test_a_reranker_decides_the_order_of_sources_and_spans(graph):
    settings = Settings(store="graph.lbug", embedder="lexical", mode="evidence")
    embedder = LexicalEmbedder()
    with graph._resources.store() as store:
        asker = Asker(settings, store, embedder, NearestStudent(embedder), reranker=Longest())
        found, selection = asker.search(Query(id="q", text=QUESTION), 2)
    assert found.sources[0].title == "wood.txt"
    assert {line.source_id for line in selection.lines} == {source.id for source in found.sources}
    assert [source.score for source in found.sources] == sorted((source.score for source in found.sources), reverse=True)


def test_a_limit_is_positive(graph):
    with pytest.raises(ConfigurationError, match="The limit is 0"):
        graph.search(QUESTION, limit=0)


def test_evidence_without_vectors_is_found_by_its_words(graph):
    with graph._resources.store(read_only=False) as store:
        (stored,) = [one for one in store.read([item.id for item in store.sources()]) if one.title == "crane.txt"]
        store.save([stored], Aggregation(), replace=True, vectors={})
    best = graph.search("harbour crane lifts stones").spans[0]
    assert "lifts stones" in best.text
    assert graph.ask("What lifts stones in the harbour?", ["the crane lifts stones", "nobody"]).lines


def test_a_problem_of_the_index_fails_no_run(graph, monkeypatch, caplog):
    def refuse(_store):
        raise StoreUnfit("The index is on fire.")

    monkeypatch.setattr(LadybugStore, "prepare_search", refuse)
    report = graph.ingest(text="The mill burns wood.", name="mill.txt").result()
    assert report.exit_code == 0
    assert "mill.txt" in names(graph.search("mill"))


def test_every_namespace_has_its_index(graph, tmp_path):
    graph.in_namespace("other").ingest(text="Ice drives nothing.", name="ice.txt").result()
    assert len(list(tmp_path.glob("graph.lbug*.search"))) == 2
    assert names(graph.in_namespace("other").search("ice")) == {"ice.txt"}
    assert "ice.txt" not in names(graph.search("ice"))
