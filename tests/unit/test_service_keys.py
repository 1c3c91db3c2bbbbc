"""Keys of the service: what is stored, what opens, what a revocation in another process does."""

import json
import sqlite3
import stat
from contextlib import closing

import pytest

from drag_graph.app import DragGraph
from drag_graph.errors import ConfigurationError, NotStored
from drag_graph.service import keys
from drag_graph.service.job_table import JobTable
from drag_graph.service.keys import KeyRing


@pytest.fixture
def path(tmp_path):
    return tmp_path / "graph.lbug.service-records"


@pytest.fixture
def ring(path):
    with closing(KeyRing(path)) as opened:
        yield opened


def test_the_file_has_only_the_hash_and_only_its_owner_reads_it(ring, path):
    secret, key = ring.add("nightly", "editor", ["papers"], budget_usd=5)
    assert ring.find(secret) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    everything = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"nightly" in everything
    assert secret.removeprefix("dgk_").encode() not in everything


def test_only_the_whole_secret_of_a_valid_key_opens(ring, monkeypatch):
    secret, _ = ring.add("a", "reader", ["n"], expires="12h")
    other, _ = ring.add("b", "admin", ["n", "m"])
    assert ring.find(secret).name == "a"
    assert ring.find(other).namespaces == ("n", "m")
    for wrong in ("", "dgk_", secret[:-1], secret + "x", secret.upper(), "a", "\udcff"):
        assert ring.find(wrong) is None
    monkeypatch.setattr(keys, "_now", lambda: "9999-01-01T00:00:00+00:00")
    assert ring.find(secret) is None
    assert ring.key("a").state == "expired"
    assert ring.find(other).state == "valid"


def test_every_hash_is_compared_whole(ring, monkeypatch):
    secrets = [ring.add(name, "reader", ["n"])[0] for name in "abc"]
    compared = []
    monkeypatch.setattr(keys.hmac, "compare_digest", lambda one, other: compared.append((one, other)) or one == other)
    for secret in [*secrets, "wrong"]:
        compared.clear()
        ring.find(secret)
        assert [len(one) for pair in compared for one in pair] == [64] * 6


def test_a_revocation_by_another_process_counts_at_once(ring, path):
    secret, _ = ring.add("a", "reader", ["n"])
    assert ring.find(secret)
    with closing(KeyRing(path)) as other:
        assert other.revoke("a").state == "revoked"
    assert ring.find(secret) is None
    assert not ring.is_empty()
    with pytest.raises(ConfigurationError, match="A key named 'a' already exists"):
        ring.add("a", "reader", ["n"])
    with pytest.raises(NotStored):
        ring.revoke("b")


def test_what_a_job_spends_is_charged_once_and_exactly(ring, path):
    ring.add("a", "editor", ["n"], budget_usd=1)
    with closing(JobTable(path)) as table:
        for id_ in ("one", "two"):
            table.add(id_, "distill", "n", "a", {}, most=2)
        for part in range(1, 8):
            table.advance("one", {}, 0.1 * part)
            table.advance("two", {}, 0.01)
        assert (table.job("one").spent_usd, table.job("two").spent_usd) == (0.7, 0.01)
    assert (ring.key("a").spent_usd, ring.key("a").remaining_usd) == (0.71, pytest.approx(0.29))


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "a/b"}, {"name": ""}, {"name": "local"}, {"role": "root"}, {"namespaces": []}, {"namespaces": [""]},
        {"namespaces": ["n", "*"]}, {"expires": "90"}, {"expires": "-1d"}, {"expires": "0d"}, {"budget_usd": -1},
        {"budget_usd": float("nan")},
    ],
    ids=str,
)  # fmt: skip
def test_unusable_values_are_refused(ring, wrong):
    values = {"name": "a", "role": "reader", "namespaces": ["n"], **wrong}
    with pytest.raises(ConfigurationError):
        ring.add(values.pop("name"), values.pop("role"), values.pop("namespaces"), **values)
    assert ring.is_empty()


def test_a_file_of_another_program_is_not_used(path):
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE keys (name)")
    with pytest.raises(Exception, match="is not a drag-graph service file"):
        KeyRing(path)


def test_the_application_manages_the_keys_of_its_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with DragGraph("graph.lbug", namespace="papers") as graph:
        assert graph.service.keys().to_dict() == {"keys": []}
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(NotStored):
            graph.service.revoke("a")
        added = graph.service.add_key("a", "editor", expires="90d")
        assert (added.key.namespaces, added.to_dict()["key"]) == (("papers",), added.secret)
        assert added.secret not in json.dumps(graph.service.keys().to_dict())
        assert graph.in_namespace("other").service.revoke("a").to_dict()["state"] == "revoked"
    neo4j = [DragGraph("bolt://h:7687", namespace=name).settings.service_records_path for name in ("a", "b")]
    assert neo4j[0] == neo4j[1]
    assert neo4j[0] in DragGraph("bolt://h:7687").settings.own_files
