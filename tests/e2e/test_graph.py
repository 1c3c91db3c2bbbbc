"""`drag-graph graph …` on the example questions, on both engines."""

import json
from html import unescape
from pathlib import Path

import pytest

from drag_graph.model import Aggregation
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.stores.shared.cypher_files import load_from
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.finding import query_ids
from tests.e2e.conftest import ON_BOTH

TAMPER = Path(__file__).parents[1] / "contract" / "tamper"


@pytest.fixture
def filled(cli, store, questions, curated):
    assert cli("distill", questions, "--teacher", curated, "--store", store).code == 0
    return ["--store", store]


@ON_BOTH
def test_the_whole_graph_is_looked_at(cli, filled, tmp_path):
    counts = cli("db", "status", *filled, "--json").json["counts"]
    stats = cli("graph", "stats", *filled, "--json").json
    assert stats["counts"] == counts
    assert 0 < sum(stats["degrees"].values()) <= counts["Entity"]
    assert sum(int(degree) * number for degree, number in stats["degrees"].items()) == 2 * counts["RELATED"]
    weakest = [edge["confidence"] for edge in stats["weakest_edges"]]
    assert weakest == sorted(weakest)
    assert len(weakest) == 10
    assert len(cli("graph", "stats", *filled, "--limit", 3, "--json").json["weakest_edges"]) == 3
    assert "Weakest edges" in cli("graph", "stats", *filled).out
    assert "drag-graph link" in cli("graph", "top", *filled).out
    assert "Nothing is stored in namespace 'nobody'" in cli("graph", "top", *filled[:2], "--namespace", "nobody").out
    assert cli("graph", "top", *filled, "--json").json == {"concepts": []}
    alone = cli("graph", "components", *filled, "--json").json
    assert (
        sum(group["edges"] for group in cli("graph", "components", *filled, "--limit", 1000, "--json").json["groups"])
        == (counts["RELATED"])
    )
    assert cli("link", *filled).code == 0
    assert "No concept is shared by two sources" in cli("graph", "top", *filled).out
    linked = cli("graph", "components", *filled, "--json").json
    assert linked["number"] <= alone["number"]
    assert len(linked["groups"][0]["members"]) >= 2
    assert linked["groups"][0]["members"][0]["name"] in cli("graph", "components", *filled).out
    page = tmp_path / "groups.html"
    assert cli("graph", "components", *filled, "--format", "html", "-o", page).code == 0
    html = unescape(page.read_text(encoding="utf-8"))
    assert "<title>Connected components of" in html
    assert linked["groups"][0]["members"][0]["name"] in html


def test_concepts_that_two_queries_share_are_listed(cli, store, tmp_path):
    """Two questions about one thing, of which nobody has said anything else."""
    evidence = ["Aspirin is a drug.", "Drugs are sold by pharmacies."]
    triples = [
        {"subject": "Aspirin", "predicate": "is", "object": "a drug", "confidence": 0.9, "evidence": [0]},
        {"subject": "Drugs", "predicate": "are sold by", "object": "pharmacies", "confidence": 0.9, "evidence": [1]},
    ]
    questions, curated = tmp_path / "questions.jsonl", tmp_path / "curated.jsonl"
    asked = ["What is aspirin?", "Who sells aspirin?"]
    questions.write_text("".join(json.dumps({"question": text}) + "\n" for text in asked), encoding="utf-8")
    lines = [{"question": text, "evidence": evidence, "triples": triples} for text in asked]
    curated.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    place = ["--store", store]
    assert cli("distill", questions, "--teacher", f"curated:{curated}", *place).code == 0
    assert cli("link", *place).code == 0
    shared = cli("graph", "top", *place, "--json").json["concepts"]
    assert {item["sources"] for item in shared} == {2}
    assert "aspirin" in {item["name"].casefold() for item in shared}
    assert shared[0]["name"] in cli("graph", "top", *place).out


@ON_BOTH
def test_a_healthy_store_is_verified_and_needs_no_repair(cli, filled):
    assert cli("db", "verify", *filled, "--json").json == {"problems": []}
    done = cli("db", "repair", *filled, "--json")
    assert (done.code, done.json) == (0, {"repairs": []})
    assert "No problems found" in cli("db", "repair", *filled).out


def test_what_cannot_be_mended_is_said_and_ends_with_exit_code_3(cli, tmp_path, questions, curated):
    path = tmp_path / "broken.lbug"
    assert cli("distill", questions, "--teacher", curated, "--store", path).code == 0
    with LadybugStore(path) as store:
        store.migrate()
        with store.writing() as session:
            session.execute(*load_from(TAMPER, "text_changed", "ladybug").bind(namespace="default"))
        number = sum(len(graph.evidence) for graph in store.read(query_ids(store)))
    found = cli("db", "verify", "--store", path, "--json")
    assert (found.code, {item["check"] for item in found.json["problems"]}) == (3, {"checksum"})
    assert len(found.json["problems"]) == number
    done = cli("db", "repair", "--store", path, "--json")
    assert done.code == 3
    assert [(item["check"], item["number"], item["mended"]) for item in done.json["repairs"]] == [("checksum", number, False)]
    assert "distill --replace" in " ".join(cli("db", "repair", "--store", path).out.split())
    assert cli("distill", questions, "--teacher", curated, "--store", path).code == 0
    assert cli("db", "verify", "--store", path).code == 3, "the same settings: nothing to do"
    assert cli("distill", questions, "--teacher", curated, "--store", path, "--replace").code == 0
    assert cli("db", "verify", "--store", path, "--json").json == {"problems": []}


def test_a_broken_store_is_looked_at(cli, tmp_path, questions, curated):
    path = tmp_path / "broken.lbug"
    assert cli("distill", questions, "--teacher", curated, "--store", path).code == 0
    with LadybugStore(path) as store:
        store.migrate()
        for flaw in ("confidence_gone", "objects_orphaned"):
            with store.writing() as session:
                session.execute(*load_from(TAMPER, flaw, "ladybug").bind(namespace="default"))
    found = cli("graph", "stats", "--store", path, "--json")
    assert (found.code, found.json["weakest_edges"]) == (0, [])
    assert cli("graph", "components", "--store", path).code == 0


def test_what_is_damaged_is_named_beside_the_list_of_the_others(cli, tmp_path):
    path = tmp_path / "broken.lbug"
    whole, broken = make_subgraph(0), make_subgraph(1)
    with LadybugStore(path) as store:
        store.migrate()
        store.save([whole, broken], Aggregation())
        with store.writing() as session:
            session.execute("MATCH (q:Source {id: $id}) SET q.status = 'odd'", {"id": broken.source_id})
    listed = cli("show", "--store", path, "--json", "-o", "list.json")
    assert (listed.code, [query["id"] for query in json.loads(Path("list.json").read_text())]) == (3, [whole.source_id])
    assert f"Error: source {broken.source_id} in the store is damaged: it is not as drag-graph wrote it" in listed.err
    assert "Hint: Run `drag-graph db verify`: it lists everything that is damaged" in listed.err
    assert cli("show", whole.source_id, "--store", path).code == 0
