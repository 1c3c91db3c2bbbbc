"""`drag-graph ask` in the folder of a site: its own answer if that is sure, else the cloud's."""

import json
import threading
import time
from contextlib import nullcontext

import pytest
from site_cloud import serving_sites

from drag_graph.model import Aggregation
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.students.nearest_student import NearestStudent
from drag_graph.ports.community_store import Community, CommunityChanges
from drag_graph.report.audit_views import why_page
from drag_graph.report.prov import prov_document
from drag_graph.settings import Settings
from drag_graph.sites.cloud.cloud import Cloud
from drag_graph.sites.cloud.cloud_asker import CloudAsker
from drag_graph.sites.cloud.site_management import StoredSites
from drag_graph.sites.cloud.work_board import WorkBoard
from drag_graph.sites.cloud_client import CloudClient
from drag_graph.sites.passage_release import Release
from drag_graph.sites.site_service import Knowledge, SiteService
from drag_graph.sites.traffic_log import Traffic
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.dict_store import DictStore

EMBEDDER = LexicalEmbedder()
FLOWS = "The ice of glaciers flows some metres a day."
OWN = {
    "question": "What do bees make?",
    "options": ["silk", "honey"],
    "answer": 1,
    "evidence": ["Bees make honey from nectar."],
}
ASKED = "How fast does the ice of glaciers flow?"


@pytest.fixture
def cloud(tmp_path):
    """A real cloud with its loopback address and the tokens of its sites `alps` and `here`."""
    store, board = DictStore(), WorkBoard()
    store.migrate()
    settings = Settings(embedder="lexical", asked_seconds=60.0)
    cloud = Cloud(store, EMBEDDER, CloudAsker(settings, store.registry, EMBEDDER, NearestStudent(EMBEDDER), board), board)
    tokens = {name: StoredSites(store).add(name) for name in ("alps", "here")}
    with serving_sites(cloud, tmp_path) as address:
        yield cloud, address, tokens


@pytest.fixture
def alps(cloud, tmp_path):
    """Another site, which knows about glaciers and releases passages."""
    cloud, address, tokens = cloud
    store, stop = DictStore(), threading.Event()
    store.migrate()
    store.embedder((EMBEDDER.name, EMBEDDER.dimension))
    vector = [float(x) for x in EMBEDDER.embed([FLOWS])[0]]
    triples = [("ice", "flows", "valley", 0.9, 0)]
    graph = make_subgraph("alps", evidence=[FLOWS], triples=triples, dropped=(), embedding=vector)
    store.save([graph], Aggregation())
    traffic, settings = Traffic(tmp_path / "alps.traffic"), Settings(embedder="lexical", mode="evidence")
    made = Community("glaciers", "hash", "Glaciers", "The ice of glaciers: how it flows.", "rules")
    members = [(entity.id, made.id) for entity in graph.entities]
    store.communities.write(CommunityChanges([made], joined=members))
    assert store.communities.write(CommunityChanges(summarised=[made])) == 1
    knowledge = Knowledge(settings, lambda: nullcontext(store), EMBEDDER)

    def serve():
        with CloudClient(address, "alps", tokens["alps"], check=lambda _texts: None, traffic=traffic) as client:
            SiteService(client, knowledge, Release("passages", (), None), poll_seconds=0.3).run(stop)

    thread = threading.Thread(target=serve)
    thread.start()
    end = time.monotonic() + 60
    while not any(site["summaries"] and site["online"] for site in cloud.listing()):
        assert time.monotonic() < end, "the site has not sent its summary"
        time.sleep(0.02)
    yield
    stop.set()
    thread.join(20)


@pytest.fixture
def here(cli, cloud, tmp_path, monkeypatch):
    """The folder of the site that asks; it only knows about bees."""
    _, address, tokens = cloud
    monkeypatch.setenv("DRAG_GRAPH_CLOUD_TOKEN", tokens["here"])
    monkeypatch.setenv("DRAG_GRAPH_STORE", str(tmp_path / "graph.lbug"))
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps(OWN) + "\n", encoding="utf-8")
    assert cli("distill", file, "--teacher", f"curated:{file}").code == 0
    done = cli("edge", "init", "--cloud", address, "--name", "here")
    assert done.code == 0, done.err

    def asks(*args):
        return cli("ask", *args, "--mode", "evidence")

    return asks


def test_what_is_sure_is_answered_here_and_what_is_not_by_the_cloud(here, alps, cli):
    local = here(OWN["question"], "--option", "silk", "--option", "honey", "--json").json
    assert (local["answer"], local["site"]["sure"], local["site"]["asked_cloud"]) == ("honey", True, False)
    assert local["answer_id"]
    said = here(ASKED, "--json").json
    assert said["answer"] == FLOWS
    assert said["student"] == "nearest at the cloud"
    assert [(line["text"], line["site"]) for line in said["lines"]] == [(FLOWS, "alps")]
    assert (said["site"]["sure"], said["site"]["asked_cloud"]) == (False, True)
    assert [one["site"] for one in said["site"]["asked"]] == ["alps"]
    shown = here(ASKED).out
    assert FLOWS in shown
    assert "(alps)" in shown
    assert "Not sure locally" in shown
    kinds = {row["kind"]: row["texts"] for row in cli("edge", "traffic", "--json").json["days"]}
    assert kinds["question"] == 2, "the sure question has not left"


def test_an_answer_of_the_cloud_is_kept_and_its_audit_goes_on_at_the_site(here, alps, cli, tmp_path):
    said = here(ASKED, "--json").json
    assert here(ASKED, "--json").json["answer_id"] == said["answer_id"], "the same outcome is the same answer"
    (kept,) = [one for one in cli("answers", "--json").json if one["question"] == ASKED]
    assert (kept["id"], kept["student"]) == (said["answer_id"], "nearest at the cloud")
    assert [(line["text"], line["site"]) for line in kept["lines"]] == [(FLOWS, "alps")]

    done = cli("audit", said["answer_id"][:8], "--json")
    (line,) = done.json["lines"]
    assert (line["text"], line["kind"], line["ref"], line["live"]) == (FLOWS, "evidence", said["lines"][0]["ref"], None)
    assert (line["elsewhere"]["site"], line["elsewhere"]["generalised"]) == ("alps", False)
    origin = line["elsewhere"]["origin"]
    assert [(one["text"], one["ref"]) for one in origin["passages"]] == [(FLOWS, line["ref"])]
    assert (origin["withheld"], origin["problem"]) == (0, "")
    assert [one["site"] for one in done.json["site"]["asked"]] == ["alps"]
    table = cli("audit", said["answer_id"]).out
    assert "from the site alps" in table
    assert f"evidence {FLOWS}" in table
    assert f"evidence {FLOWS}" in why_page(done.json)
    assert "drag:site/alps" in prov_document(done.json)["agent"]

    before = cli("edge", "traffic", "--json").json["totals"]["requests"]
    assert "origin" not in cli("audit", said["answer_id"], "--local", "--json").json["lines"][0]["elsewhere"]
    assert cli("audit", here(OWN["question"], "--json").json["answer_id"], "--json").code == 0
    assert cli("edge", "traffic", "--json").json["totals"]["requests"] == before, "a local answer's audit asks nobody"
    assert cli("db", "verify", "--json").json == {"problems": []}


def test_an_audit_that_cannot_go_on_shows_what_was_kept_and_why(here, alps, cli, monkeypatch):
    said = here(ASKED, "--json").json
    monkeypatch.setenv("DRAG_GRAPH_CLOUD", "http://127.0.0.1:9")
    done = cli("audit", said["answer_id"])
    assert done.code == 0
    assert FLOWS in done.out
    assert "does not answer" in done.out


def test_a_file_is_asked_and_local_asks_nobody(here, alps, tmp_path, cli):
    path = tmp_path / "asked.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in ({"question": ASKED}, OWN, {"none": 1})), encoding="utf-8")
    done = here("--file", path, "--json")
    assert done.code == 1
    assert [one["site"]["asked_cloud"] for one in done.json["answers"]] == [True, False]
    assert done.json["rejected"]
    before = cli("edge", "traffic", "--json").json["totals"]["requests"]
    assert "site" not in here(ASKED, "--local", "--json").json
    assert cli("edge", "traffic", "--json").json["totals"]["requests"] == before


def test_where_no_site_has_a_line_the_local_answer_is_given(here, cli):
    options = [word for option in ("Lava", "Ice", "Cider") for word in ("--option", option)]
    said = here("What does copper dissolve in?", *options, "--json").json
    assert said["student"] == "nearest", "a guess of the cloud's student is worth no more"
    assert said["site"]["problem"] == "no site has released a line for it"
    assert (said["site"]["sure"], said["site"]["asked_cloud"]) == (False, True)


def test_where_the_cloud_is_away_the_local_answer_says_so(here, cloud, monkeypatch):
    monkeypatch.setenv("DRAG_GRAPH_CLOUD", "http://127.0.0.1:9")
    done = here(ASKED, "--json")
    assert "does not answer" in done.json["site"]["problem"]
    assert done.json["site"]["asked_cloud"] is False
    assert done.code == 0
    assert "The cloud did not help" in here(ASKED).out


def test_the_audit_of_a_local_answer_says_that_it_was_not_sure(here, cli, monkeypatch):
    monkeypatch.setenv("DRAG_GRAPH_CLOUD", "http://127.0.0.1:9")
    monkeypatch.setenv("DRAG_GRAPH_AGREEMENT", "1.0")
    done = here(OWN["question"], "--option", "silk", "--option", "honey", "--json")
    assert done.json["site"]["sure"] is False
    audit = cli("audit", done.json["answer_id"], "--json").json
    assert audit["site"] == done.json["site"]
    table = cli("audit", done.json["answer_id"]).out
    assert "Not sure locally: " in table
    assert "The cloud did not help: The cloud at http://127.0.0.1:9 does not answer" in table
    assert "Not sure locally: " in why_page(audit)
