"""`drag-graph graph …` on the example questions, on both engines."""

import json

import pytest


@pytest.fixture
def filled(cli, store, questions, curated):
    assert cli("distill", questions, "--teacher", curated, "--store", store).code == 0
    return ["--store", store]


def test_the_whole_graph_is_looked_at(cli, filled, tmp_path):
    counts = cli("db", "status", *filled, "--json").json["counts"]
    stats = cli("graph", "stats", *filled, "--json").json
    assert stats["counts"] == counts
    assert sum(stats["degrees"].values()) == counts["Entity"]
    assert sum(int(degree) * number for degree, number in stats["degrees"].items()) == 2 * counts["RELATED"]
    weakest = [edge["confidence"] for edge in stats["weakest_edges"]]
    assert weakest == sorted(weakest)
    assert len(weakest) == 10
    assert len(cli("graph", "stats", *filled, "--limit", 3, "--json").json["weakest_edges"]) == 3
    assert "Weakest edges" in cli("graph", "stats", *filled).out
    assert "drag-graph link" in cli("graph", "top", *filled).out
    assert cli("graph", "top", *filled, "--json").json == {"concepts": []}
    alone = cli("graph", "components", *filled, "--json").json
    assert (
        sum(group["edges"] for group in cli("graph", "components", *filled, "--limit", 1000, "--json").json["groups"])
        == (counts["RELATED"])
    )
    assert cli("link", *filled).code == 0
    shared = cli("graph", "top", *filled, "--json").json["concepts"]
    assert [item["queries"] for item in shared] == sorted((item["queries"] for item in shared), reverse=True)
    assert shared[0]["name"] in cli("graph", "top", *filled).out
    linked = cli("graph", "components", *filled, "--json").json
    assert linked["number"] <= alone["number"]
    assert len(linked["groups"][0]["members"]) >= 2
    assert cli("graph", "communities", *filled, "--json").json["number"] >= linked["number"]
    assert linked["groups"][0]["members"][0]["name"] in cli("graph", "components", *filled).out
    page = tmp_path / "groups.html"
    assert cli("graph", "communities", *filled, "--format", "html", "-o", page).code == 0
    html = page.read_text(encoding="utf-8")
    name = cli("graph", "communities", *filled, "--json").json["groups"][0]["members"][0]["name"]
    assert "<title>Communities of" in html
    assert json.dumps(name)[1:-1] in html
