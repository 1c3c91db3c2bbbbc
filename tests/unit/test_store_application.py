"""The application's methods for the store, the whole graph, export and import."""

import io

import pytest

from drag_graph import errors
from drag_graph.app import DragGraph
from drag_graph.model import Aggregation
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.testing.builders import as_distilled, make_document_subgraph, make_subgraph

EMBEDDER = LexicalEmbedder()


@pytest.fixture
def graph(tmp_path):
    with DragGraph(tmp_path / "graph.lbug", embedder="lexical") as graph:
        yield graph


def fill(graph, *subgraphs):
    with graph._resources.store(read_only=False, create=True) as store:
        store.embedder((EMBEDDER.name, EMBEDDER.dimension))
        store.save(list(subgraphs), Aggregation())


def vector():
    return tuple(EMBEDDER.embed(["a question"])[0].tolist())


def test_a_store_is_migrated_described_and_verified(graph):
    assert graph.store.migrate().to_dict()["applied"]
    assert graph.store.migrate().to_dict() == {"store": str(graph.settings.store), "applied": []}
    fill(graph, as_distilled(make_subgraph(1, embedding=vector())))
    status = graph.store.status().to_dict()
    assert (status["embedder"], status["counts"]["Query"], status["migrations"]["pending"]) == (EMBEDDER.name, 1, [])
    assert status["server"]["running"] is False
    assert graph.store.verify()


def test_a_question_is_asked_before_anything_is_erased(graph):
    subgraph = as_distilled(make_subgraph(1, embedding=vector()))
    fill(graph, subgraph)
    questions = []
    with pytest.raises(errors.ConfigurationError, match="Nothing was erased"):
        graph.store.erase(subgraph.source_id, confirm=lambda text: questions.append(text) or False)
    assert questions == [f"Erase query or document {subgraph.source_id} from {graph.settings.store}?"]
    assert graph.store.erase(subgraph.source_id[:6], dry_run=True).erased["Query"] == 1
    report = graph.store.erase(subgraph.source_id[:6], compact=False)
    assert (report.erased["Query"], report.store) == (1, "not compacted; the file still contains deleted text")
    with pytest.raises(errors.NotStored) as error:
        graph.store.erase(subgraph.source_id)
    assert "compacted; the file no longer contains deleted text" in error.value.hint


def test_imported_documents_are_found_at_once(graph, tmp_path):
    """Trial 4: they were not, before `link`."""
    document = as_distilled(make_document_subgraph(1, edges=3))
    fill(graph, document)
    lines = "".join(f"{line}\n" for line in graph.export("subgraphs")).encode()
    with DragGraph(tmp_path / "other.lbug", embedder="lexical") as other:
        seen = []
        report = other.import_(io.BytesIO(lines), on_progress=seen.append).result()
        assert (report.counts["new"], report.search_problem, seen) == (1, "", [1])
        evidence = document.kept_evidence[0]
        with other._resources.store() as store:
            near = store.search.candidates(EMBEDDER.embed([evidence.text])[0].tolist(), (), 3).found
        assert max(near.by_vector, key=near.by_vector.get) == evidence.id
        assert other.search(evidence.text).sources[0].id == document.source_id


def test_an_import_without_the_embedder_says_that_search_is_off(graph, tmp_path):
    fill(graph, as_distilled(make_document_subgraph(1, edges=3)))
    lines = "".join(f"{line}\n" for line in graph.export("subgraphs")).replace(EMBEDDER.name, "cloud/embedder")
    with DragGraph(tmp_path / "other.lbug", embedder="lexical") as other:
        report = other.import_(io.BytesIO(lines.encode())).result()
    assert report.counts["new"] == 1
    assert "cloud/embedder" in report.to_dict()["search_problem"]


def test_a_file_that_cannot_be_imported_creates_no_store(tmp_path):
    with DragGraph(tmp_path / "new.lbug") as graph, pytest.raises(errors.InputError, match="not a file of subgraphs"):
        graph.import_(io.BytesIO(b"not json\n")).result()
    assert not (tmp_path / "new.lbug").exists()


def test_simple_edges_are_rebuilt_under_other_settings(graph):
    fill(graph, as_distilled(make_subgraph(1, embedding=vector())))
    report = graph.aggregate(strategy="predicate", threshold=0.0)
    assert report.sources == 1
    assert report.to_dict()["after"]["pruned_claims"] == 0
    with pytest.raises(errors.ConfigurationError, match="`full=True` does not work with `format=subgraphs`"):
        graph.export("subgraphs", full=True)


def test_an_answer_never_denies_what_search_cannot_find_yet(graph):
    """Trial 4: `ask` said that nothing relevant is stored."""
    fill(graph, as_distilled(make_document_subgraph(1, edges=3)))
    result = graph.ask("What does the beetle eat?", student="nearest")
    assert result.reason.endswith("some evidence is found only by its words before `drag-graph link`")
