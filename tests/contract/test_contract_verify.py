"""What somebody did to a store behind its back is found by `db verify`, which names what fixes it, on both engines."""

import secrets
from pathlib import Path

import pytest
from tampering import statement

from drag_graph import DragGraph
from drag_graph.app.resources import Resources
from drag_graph.compose.store_opening import open_store
from drag_graph.inputs import read_queries
from drag_graph.manage.verification import problems
from drag_graph.model import Aggregation
from drag_graph.settings import load_settings
from drag_graph.testing.builders import make_answer, make_subgraph
from drag_graph.testing.contract.base import records_of
from drag_graph.testing.finding import query_ids

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(params=["ladybug", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def settings(request, tmp_path, monkeypatch):
    """The settings of a store that holds three of the example questions and an answer to each."""
    flags = {
        "namespace": f"verify-{secrets.token_hex(4)}",
        "embedder": "lexical",
        "teacher": f"curated:{EXAMPLES / 'curated.jsonl'}",
    }
    monkeypatch.chdir(tmp_path)
    if request.param == "ladybug":
        flags["store"] = str(tmp_path / "graph.lbug")
    else:
        flags["store"], user, password = request.getfixturevalue("neo4j_lts")
        monkeypatch.setenv("NEO4J_USERNAME", user)
        monkeypatch.setenv("NEO4J_PASSWORD", password)
    settings = load_settings(flags)
    with Resources(settings).writing() as session:
        session.distiller("examples").run(list(read_queries(EXAMPLES / "questions.jsonl", namespace=settings.namespace))[:3])
        store = session.store
        graphs = store.read(query_ids(store))
        assert len(graphs) == 3
        for graph in graphs:
            shown = [("edge", edge.id) for edge in graph.usable_edges[:2]] + [("evidence", graph.kept_evidence[0].id)]
            store.save_answers([make_answer(graph.query.id, [graph], namespace=settings.namespace, refs=shown)])
        yield settings
    with open_store(settings) as store:
        store.erase(query_ids(store))
        if settings.uses_neo4j:
            tamper(settings, "namespace_gone")


def tamper(settings, flaw, **values):
    """Do what a statement of `tamper/` says."""
    if settings.uses_neo4j:
        import neo4j

        with neo4j.GraphDatabase.driver(
            settings.store, auth=(settings.neo4j_username, settings.neo4j_password.get_secret_value())
        ) as driver:
            driver.execute_query(*statement(flaw, "neo4j", settings.namespace, **values))
        return
    with open_store(settings) as store, store.writing() as session:
        session.execute(*statement(flaw, "ladybug", settings.namespace, **values))


def wrong(settings):
    with open_store(settings) as store:
        return problems(store)


def test_simple_edges_that_refer_to_nothing_are_rebuilt_by_aggregate(settings):
    with open_store(settings) as store:
        before = records_of(store)
    tamper(settings, "dangling_edge")
    assert "run `drag-graph aggregate`" in {item.message.rpartition("; ")[2] for item in wrong(settings)}
    with DragGraph(settings=settings) as graph:
        graph.aggregate()
    with open_store(settings) as store:
        assert problems(store) == []
        assert records_of(store) == before


@pytest.mark.parametrize("flaw", ["orphan", "dangling_answer", "query_gone"])
def test_what_belongs_to_no_source_stays_behind_in_an_export(settings, flaw, tmp_path):
    tamper(settings, flaw)
    found = wrong(settings)
    assert any("export the store" in item.message for item in found)
    file = tmp_path / "graph.subgraphs"
    with DragGraph(settings=settings) as graph, DragGraph(tmp_path / "new.lbug", settings=settings) as new:
        file.write_text("".join(f"{line}\n" for line in graph.export("subgraphs")), encoding="utf-8")
        new.import_(file)
        assert new.store.verify()


@pytest.mark.parametrize(
    ("flaw", "check"),
    [
        ("evidence_gone", "unproven-triple"),
        ("call_gone", "unproven-triple"),
        ("provenance_gone", "unreadable"),
        ("parts_miscounted", "size"),
        ("calls_forgotten", "size"),
        ("text_changed", "checksum"),
    ],
)
def test_what_is_not_there_any_more_is_named_with_its_cure(settings, flaw, check):
    tamper(settings, flaw)
    found = [item for item in wrong(settings) if item.check == check]
    assert found
    assert all("`drag-graph distill --replace`" in item.message for item in found)


def test_what_has_no_words_has_lost_nothing(settings):
    graph = make_subgraph("wordless", namespace=settings.namespace, embedding=[0.0] * 1024)
    with open_store(settings) as store:
        assert [item.check for item in (store.save([graph], Aggregation()), store.verify())[1]] == ["vector"]
        wordless = graph.query.model_copy(update={"text": "?! \n \u2026"})
        store.save([graph.model_copy(update={"source": wordless, "settings_hash": "other"})], Aggregation())
        assert store.verify() == []
        wordless = graph.query.model_copy(update={"text": "?!\n\u6f22"})
        store.save([graph.model_copy(update={"source": wordless, "settings_hash": "another"})], Aggregation())
        assert [item.check for item in store.verify()] == ["vector"]
