"""Flags over variables over the file over defaults; secrets stay secret."""

import pytest

from drag_graph.errors import ConfigurationError
from drag_graph.settings import Settings, load_settings, origins


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_order_of_the_sources(folder, monkeypatch):
    (folder / "drag-graph.toml").write_text('store = "from-file"\nworkers = 2\ntop_k = 7\n', encoding="utf-8")
    monkeypatch.setenv("NEO4J_URI", "bolt://from-neo4j:7687")
    monkeypatch.setenv("DRAG_GRAPH_WORKERS", "3")
    settings = load_settings({"mode": "graph", "top_k": None})
    assert (settings.store, settings.workers, settings.top_k, settings.mode) == ("bolt://from-neo4j:7687", 3, 7, "graph")
    where = origins({"mode": "graph"})
    assert where["store"] == "NEO4J_URI"
    assert where["workers"] == "DRAG_GRAPH_WORKERS"
    assert where["top_k"] == "drag-graph.toml"
    assert where["mode"] == "flag"
    assert where["teacher"] == "default"
    monkeypatch.setenv("DRAG_GRAPH_STORE", "from-variable")
    assert load_settings({}).store == "from-variable"
    assert load_settings({"store": "from-flag"}).store == "from-flag"


def test_a_wrong_value_names_the_setting_and_its_origin_and_not_the_value(folder, monkeypatch):
    def hint(**flags):
        with pytest.raises(ConfigurationError, match="'threshold'") as caught:
            load_settings(flags)
        assert caught.value.exit_code == 2
        assert "7" not in str(caught.value)
        return caught.value.hint

    (folder / "drag-graph.toml").write_text("threshold = 7\n", encoding="utf-8")
    assert "comes from drag-graph.toml" in hint()
    monkeypatch.setenv("DRAG_GRAPH_THRESHOLD", "7")
    assert "comes from DRAG_GRAPH_THRESHOLD" in hint()
    assert "`threshold=VALUE`" in hint(threshold=7)


def test_an_unknown_key_in_the_file_is_an_error(folder):
    (folder / "drag-graph.toml").write_text("treshold = 0.5\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="treshold"):
        load_settings()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("workers = true", "'workers': must be a value"),
        ("threshold = false", "'threshold': must be a value"),
        ('namespace = "a\\u0007b"', "'namespace': must have no control characters"),
        ('store = "one.lbug"\nledger = "./one.lbug"', "The ledger and the store are the same file"),
        ('store = "one.lbug"\nledger = "sub/../one.lbug"', "The ledger and the store are the same file"),
        ('store = "one.lbug"\nledger = "link.lbug"', "The ledger and the store are the same file"),
        ('store = "~nosuch/x"', r"'store': is not a path \(Could not determine home"),
        ('ledger = "~nosuch/x"', r"'ledger': is not a path \(Could not determine home"),
        ('teacher = "curated:~nosuch/x"', r"'teacher': is not a path \(Could not determine home"),
        ('student = "transformers:~nosuch/x"', r"'student': is not a path \(Could not determine home"),
        ('embedder = "~nosuch/x"', r"'embedder': is not a path \(Could not determine home"),
        ('store = ""', "'store': must be the path of a file"),
        ('store = "/"', "'store': must be the path of a file"),
        ('store = "a\\u0000b"', r"'store': is not a path \(embedded null"),
    ],
)
def test_what_a_setting_cannot_be_is_said(folder, line, said):
    (folder / "link.lbug").symlink_to("one.lbug")
    (folder / "drag-graph.toml").write_text(line, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=said) as caught:
        load_settings()
    assert caught.value.hint


def test_a_namespace_may_have_any_letters_and_spaces():
    name = "\u0645\u06cc\u200c\u0631\u0648\u062f\u00a01"
    assert load_settings({"namespace": name}).namespace == name


def test_a_switch_takes_true(folder):
    (folder / "drag-graph.toml").write_text("rank_relations = true\nblind = true\n", encoding="utf-8")
    assert (load_settings().rank_relations, load_settings().blind) == (True, True)


@pytest.mark.parametrize("content", [b"store = [", b"\xff\xfe"])
def test_a_broken_file_is_said_in_words(folder, content):
    (folder / "drag-graph.toml").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"Cannot read drag-graph\.toml"):
        load_settings()


def test_secrets_are_never_shown(monkeypatch):
    monkeypatch.setenv("NEO4J_PASSWORD", "hunter2hunter2")
    settings = load_settings()
    assert settings.neo4j_password.get_secret_value() == "hunter2hunter2"
    assert "hunter2" not in repr(settings) + str(settings.model_dump(mode="json")) + settings.model_dump_json()


def test_every_setting_has_an_origin():
    assert set(origins()) == set(Settings.model_fields)
