"""`db verify` and `show` on sound and broken stores."""

import json
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
def filled(distil_examples, store):
    distil_examples(store)
    return ["--store", store]


@ON_BOTH
def test_a_healthy_store_is_verified(cli, filled):
    assert cli("db", "verify", *filled, "--json").json == {"problems": []}


def test_a_problem_is_named_with_its_cure_and_ends_with_exit_code_3(cli, tmp_path, questions, curated):
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
    assert "distill --replace" in found.json["problems"][0]["message"]
    assert cli("distill", questions, "--teacher", curated, "--store", path).code == 0
    assert cli("db", "verify", "--store", path).code == 3, "the same settings: nothing to do"
    assert cli("distill", questions, "--teacher", curated, "--store", path, "--replace").code == 0
    assert cli("db", "verify", "--store", path, "--json").json == {"problems": []}


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
