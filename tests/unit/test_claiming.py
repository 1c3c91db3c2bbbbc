"""What a session says when it records the embedder of a new namespace."""

import pytest

from drag_graph import DragGraph, log
from drag_graph.errors import StoreUnfit
from drag_graph.graph.subgraph_checks import check_embedder
from drag_graph.models import model_choice


@pytest.mark.parametrize(("chosen", "advice"), [("auto", True), ("lexical", False)])
def test_a_better_embedder_is_recommended_only_if_lexical_was_not_asked_for(tmp_path, monkeypatch, capsys, chosen, advice):
    monkeypatch.setattr(model_choice, "find_spec", lambda _name: None)
    log.configure()
    try:
        with DragGraph(tmp_path / "graph.lbug", embedder=chosen) as graph:
            for name in ("one", "two"):
                graph.ingest(text="Salt speeds the rust of iron.", name=name)
    finally:
        log.LOGGER.handlers.clear()
        log.LOGGER.propagate = True
    said = capsys.readouterr().err
    assert said.count("uses the embedder lexical/2-1024.") == 1
    assert said.count("pip install 'drag-graph[minilm]'") == advice


def test_a_store_of_an_earlier_version_of_an_embedder_is_no_matter_of_settings():
    with pytest.raises(StoreUnfit) as caught:
        check_embedder(("lexical/1-1024", 1024), ("lexical/2-1024", 1024), "the store")
    assert "read your files and questions again" in caught.value.hint
    with pytest.raises(StoreUnfit) as caught:
        check_embedder(("lexical/1-1024", 1024), ("minilm", 384), "the store")
    assert "`embedder=lexical`" in caught.value.hint
