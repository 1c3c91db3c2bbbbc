"""Commands that make a folder a site of a cloud, and show its status."""

import io
import sys

import pytest
from site_cloud import serving_sites

from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.students.nearest_student import NearestStudent
from drag_graph.settings import Settings
from drag_graph.sites.cloud.cloud import Cloud
from drag_graph.sites.cloud.cloud_asker import CloudAsker
from drag_graph.sites.cloud.site_management import StoredSites
from drag_graph.sites.cloud.work_board import WorkBoard
from drag_graph.testing.dict_store import DictStore


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The address of a cloud, and the token of its site `alps`."""
    store, embedder, board = DictStore(), LexicalEmbedder(), WorkBoard()
    store.migrate()
    asker = CloudAsker(Settings(embedder="lexical"), store.registry, embedder, NearestStudent(embedder), board)
    with serving_sites(Cloud(store, embedder, asker, board), tmp_path_factory.mktemp("cloud")) as address:
        yield address, StoredSites(store).add("alps")


@pytest.fixture
def typed(monkeypatch):
    """Give a text on standard input."""

    def give(text):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    return give


def test_a_folder_becomes_a_site(cli, typed, known, tmp_path):
    address, token = known
    (tmp_path / "drag-graph.toml").write_text('# ours\nembedder = "lexical"\n', encoding="utf-8")
    typed(f"{token}\n")
    flags = ["--release", "passages", "--never-leave", "staff-*", "--never-leave", "*.eml"]
    done = cli("edge", "init", "--cloud", address, "--name", "alps", *flags, "--json")
    assert done.code == 0, done.err
    assert done.json == {
        "cloud": address,
        "name": "alps",
        "release": "passages",
        "reachable": True,
        "never_leave": ["staff-*", "*.eml"],
    }
    written = (tmp_path / "drag-graph.toml").read_text(encoding="utf-8")
    assert written.startswith('# ours\nembedder = "lexical"\n')
    assert token not in written + done.out + done.err
    kept = tmp_path / ".drag-graph" / "graph.lbug.edge-token"
    assert kept.read_text(encoding="utf-8").strip() == token
    assert kept.stat().st_mode & 0o077 == 0
    status = cli("edge", "status", "--json")
    assert status.code == 0
    assert (status.json["reachable"], status.json["last_sync"], status.json["release"]) == ("yes", None, "passages")
    traffic = cli("edge", "traffic", "--json").json
    assert [(row["kind"], row["requests"], row["texts"]) for row in traffic["days"]] == [("hello", 2, 0)]
    assert cli("edge", "init", "--cloud", address, "--name", "alps").code == 2, "no token on standard input"
    kept.write_text("another", encoding="utf-8")
    status = cli("edge", "status", "--json")
    assert status.code == 4
    assert "does not know the site 'alps' by its token" in status.json["reachable"]


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (["--cloud", "ADDRESS", "--name", "alps"], 4, "does not know the site 'alps' by its token"),
        (["--cloud", "http://cloud.example.org", "--name", "alps"], 2, "not encrypted"),
        (["--cloud", "ADDRESS", "--name", "../alps"], 2, "is not a valid name for a site"),
        (["--name", "alps"], 2, "The address of the cloud is missing"),
    ],
)
def test_what_is_no_site_of_the_cloud_writes_nothing(cli, typed, known, tmp_path, flags, code, said):
    typed("not the token\n")
    done = cli("edge", "init", *(known[0] if flag == "ADDRESS" else flag for flag in flags))
    assert (done.code, said in done.err) == (code, True), done.err
    assert not (tmp_path / "drag-graph.toml").exists()
    assert not list(tmp_path.glob(".drag-graph/*token"))


def test_a_cloud_that_is_away_does_not_keep_a_site_from_beginning(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("DRAG_GRAPH_CLOUD_TOKEN", "a token")
    done = cli("edge", "init", "--cloud", "http://127.0.0.1:9", "--name", "alps", "--json")
    assert done.code == 0
    assert done.json["reachable"] is False
    assert "does not answer" in done.err
    monkeypatch.delenv("DRAG_GRAPH_CLOUD_TOKEN")
    assert cli("edge", "status").code == 4
    assert cli("config", "--json").json["cloud"]["origin"] == "drag-graph.toml"


def test_a_folder_that_is_no_site_says_so(cli):
    for command in ("serve", "status", "traffic"):
        done = cli("edge", command)
        assert done.code == 2
        assert "has not been set up as a site" in done.err
        assert "edge init" in done.err
