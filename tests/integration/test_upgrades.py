"""Stores that earlier versions made (tests/fixtures/stores) open after every later migration, on both engines."""

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import neo4j
import pytest

from drag_graph import migrate
from drag_graph.adapters.ladybug_store import LadybugStore
from drag_graph.adapters.neo4j_connection import Neo4jConnection
from drag_graph.adapters.neo4j_store import Neo4jStore
from drag_graph.errors import StoreUnavailable, StoreUnfit
from drag_graph.model import Aggregation
from drag_graph.queries import load, load_from
from drag_graph.steps.export import canonical_lines
from drag_graph.testing.builders import expected, make_subgraph
from drag_graph.testing.contract.base import assert_same

ROOT = Path(__file__).parents[2]
STORES = ROOT / "tests" / "fixtures" / "stores"
STATEMENTS = Path(__file__).parent / "upgrading"
FIXTURE = "fixture"
NEWER = [migrate.file_name(item).removesuffix(".cypher") for item, _ in migrate.known("ladybug")[1:]]
CUTS = [
    pytest.param(item.version, done, marks=[] if done == len(statements) - 1 else pytest.mark.torture)
    for item, statements in migrate.known("neo4j")[1:]
    for done in range(len(statements) + 1)
]
"""Every migration after the first, killed after so many of its statements; after all of them, but before it was recorded."""


def drag_graph(*arguments, store, namespace="default", password=""):
    """Start the command line on a store; nothing of the developer's settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DRAG_GRAPH_", "NEO4J_"))}
    environment |= {"DRAG_GRAPH_STORE": str(store), "DRAG_GRAPH_NAMESPACE": namespace, "DRAG_GRAPH_EMBEDDER": "lexical"}
    environment |= {"PYTHONPATH": str(ROOT), "NEO4J_PASSWORD": password}
    command = [sys.executable, "-m", "drag_graph", *arguments, "--json"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(process, code=0):
    """Return the document that a command printed."""
    out, errors = process.communicate(timeout=120)
    assert process.returncode == code, errors
    return json.loads(out)


def check_usable(store):
    """Nothing is wrong with an upgraded store, and it takes new work."""
    assert store.verify() == []
    graph = make_subgraph("of today", namespace=store.namespace, embedding=[1.0] + [0.0] * 1023)
    assert store.save([graph], Aggregation()) == ["created"]
    assert_same(store.read([graph.query.id]), [expected(graph, Aggregation())])
    assert store.nearest_queries(graph.embedding, 1)[0][0] == graph.query.id


def check_asked(**place):
    """A question of then is answered from the evidence of then."""
    with (ROOT / "examples" / "questions.jsonl").open(encoding="utf-8") as file:
        line = json.loads(next(file))
    options = [part for option in line["options"] for part in ("--option", option)]
    answer = said(drag_graph("ask", line["question"], *options, **place))
    assert answer["lines"], answer
    assert {line["kind"] for line in answer["lines"]} == {"evidence", "edge"}
    lines = said(drag_graph("audit", answer["answer_id"], **place))["lines"]
    assert any(triple["call"]["model"] for line in lines for triple in line["triples"])


LOOKING = [
    ["db", "verify"],
    ["db", "erase", "--where", "domain=medical", "--dry-run"],
    ["db", "erase", "--where", "domain=medical"],
    ["graph", "stats"],
    ["show"],
]
"""What only looks: the last but two asks first, and nobody says yes."""


def check_not_upgraded(arguments, **place):
    """A command refuses the old store with the command that upgrades it."""
    process = drag_graph(*arguments, **place)
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out) == (3, "")
    assert "is not migrated to this version's schema" in errors
    assert f"`drag-graph db migrate --store {place['store']}`" in errors


class TestLadybug:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "old.lbug"
        path.write_bytes(gzip.decompress((STORES / "v1.lbug.gz").read_bytes()))
        return path

    def test_a_store_of_version_1_is_upgraded_and_nothing_is_lost(self, path):
        with LadybugStore(path) as store, pytest.raises(StoreUnfit, match="migrat"):
            store.list_queries()
        assert said(drag_graph("db", "migrate", store=path))["applied"] == NEWER
        with LadybugStore(path) as store:
            assert all(item.applied_at for item in store.migrations())
            exported = "".join(f"{line}\n" for line in canonical_lines(store.records())).encode()
            assert exported == gzip.decompress((STORES / "v1.jsonl.gz").read_bytes())
            check_usable(store)
        check_asked(store=path)

    def test_a_dry_run_says_what_it_would_do_and_writes_nothing(self, path):
        before = (hashlib.sha256(path.read_bytes()).hexdigest(), sorted(item.name for item in path.parent.iterdir()))
        path.chmod(0o444)
        assert said(drag_graph("db", "migrate", "--dry-run", store=path))["pending"] == NEWER
        assert (hashlib.sha256(path.read_bytes()).hexdigest(), sorted(item.name for item in path.parent.iterdir())) == before

    @pytest.mark.parametrize("arguments", LOOKING, ids=" ".join)
    def test_who_only_looks_does_not_upgrade(self, path, arguments):
        before = path.read_bytes()
        check_not_upgraded(arguments, store=path)
        assert path.read_bytes() == before

    @pytest.mark.parametrize(
        "flags", [[], ["--query-id", "ff"], ["--teacher-call", " "], ["--where", "nonsense=1"]], ids=" ".join
    )
    def test_flags_that_are_wrong_upgrade_nothing(self, path, flags):
        before = path.read_bytes()
        process = drag_graph("db", "erase", *flags, "--yes", store=path)
        process.communicate(timeout=60)
        assert process.returncode == 2
        assert path.read_bytes() == before

    def test_its_status_says_why_it_has_no_counts(self, path):
        found = said(drag_graph("db", "status", store=path))
        assert (found["counts"], found["migrations"]["pending"] != []) == ({}, True)
        assert f"`drag-graph db migrate --store {path}`" in found["note"]

    def test_of_two_upgraders_at_once_one_applies_and_both_end_well(self, path):
        processes = [drag_graph("db", "migrate", store=path) for _ in range(2)]
        assert sorted(said(process)["applied"] for process in processes) == [[], NEWER]

    def test_so_do_two_stores_of_one_process(self, path):
        stores = [LadybugStore(path) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            applied = sorted(len(done) for done in pool.map(LadybugStore.migrate, stores))
        assert applied == [0, 0, 0, len(NEWER)]
        for store in stores:
            store.close()

    def test_a_store_that_is_newer_is_refused_in_words(self, path):
        with LadybugStore(path) as store:
            store.migrate()
            with store.writing() as session:
                session.run("record_migration", version=9999, name="future", checksum="unknown", applied_at="2099-01-01")
        process = drag_graph("db", "migrate", store=path)
        out, errors = process.communicate(timeout=60)
        assert (process.returncode, out) == (3, "")
        assert "is at schema version 9999" in errors
        assert "Install the drag-graph that wrote the store" in errors


@pytest.mark.neo4j
class TestNeo4j:
    """On the server of the session: its schema is dropped and made again, by the migrations as they were and as they are."""

    @pytest.fixture
    def driver(self, neo4j_address):
        uri, username, password = neo4j_address
        with neo4j.GraphDatabase.driver(uri, auth=(username, password)) as driver:
            yield driver

    @pytest.fixture
    def place(self, neo4j_address):
        uri, _, password = neo4j_address
        return {"store": uri, "namespace": FIXTURE, "password": password}

    @pytest.fixture
    def old(self, neo4j_address, driver):
        """A database at schema version 1, with the fixture in it; it is at the newest again afterwards."""
        uri, username, password = neo4j_address
        execute(driver, "namespace_gone", namespace=FIXTURE)
        back_to_version_1(driver)
        records = kept("v1-neo4j.jsonl.gz")
        execute(driver, "load_nodes", rows=[row for row in records if row.get("label") not in (None, "Migration")])
        execute(driver, "load_relationships", rows=[row for row in records if "type" in row])
        with Neo4jStore(uri, username=username, password=password, namespace=FIXTURE) as store:
            yield store
            store.migrate()
        execute(driver, "namespace_gone", namespace=FIXTURE)

    def test_a_store_of_version_1_is_upgraded_and_nothing_is_lost(self, old, place):
        with pytest.raises(StoreUnfit, match="migrat"):
            old.list_queries()
        assert said(drag_graph("db", "migrate", "--dry-run", **{**place, "namespace": "default"}))["pending"] == NEWER
        assert said(drag_graph("db", "migrate", **place))["applied"] == NEWER
        assert all(item.applied_at for item in old.migrations())
        exported = [json.loads(line) for line in canonical_lines(old.records())]
        assert shape(exported) == shape(kept("v1.jsonl.gz"))
        check_asked(**place)
        check_usable(old)

    def test_who_only_looks_does_not_upgrade(self, old, place):
        for arguments in LOOKING:
            check_not_upgraded(arguments, **place)
        assert [item.version for item in old.migrations() if item.applied_at] == [1]

    def test_duplicates_are_found_where_the_constraints_are_gone(self, old, driver):
        """Of every label and type. The other checks go by the indexes of these constraints."""
        old.migrate()
        assert old.verify() == []
        for row in execute(driver, "constraints"):
            execute(driver, "drop_constraint", name=row["name"])
        try:
            planted = {f"twin-{row['name']}" for row in execute(driver, "plant_duplicates", namespace=FIXTURE)}
            text, bound = load("verify_duplicates", "neo4j").bind(namespace=FIXTURE)
            assert len(planted) == 10
            assert {row["id"] for row in driver.execute_query(text, bound).records} == planted
        finally:
            execute(driver, "namespace_gone", namespace=FIXTURE)
            back_to_version_1(driver)

    def test_of_two_upgraders_at_once_one_applies_and_both_end_well(self, old, place, driver):
        processes = [drag_graph("db", "migrate", **place) for _ in range(2)]
        assert sorted(said(process)["applied"] for process in processes) == [[], NEWER]
        assert [item.version for item in old.migrations() if item.applied_at] == [1, *range(2, len(NEWER) + 2)]
        assert old.verify() == []

    @pytest.mark.parametrize(("version", "done"), CUTS)
    def test_a_migration_that_was_cut_short_is_finished(self, old, driver, version, done):
        steps = {item.version: statements for item, statements in migrate.known("neo4j")}
        for earlier in range(2, version):
            change_schema(driver, steps[earlier])
        change_schema(driver, steps[version][:done])
        assert [item.version for item in old.migrate()] == sorted(steps)[1:]
        found = schema(driver)
        back_to_version_1(driver)
        assert schema(driver) != found
        old.migrate()
        assert schema(driver) == found

    def test_an_upgrader_waits_for_another_and_not_for_a_dead_one(self, old, neo4j_address):
        uri, username, password = neo4j_address
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, uri, username, password],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert holder.stdout.readline() == "locked\n"
        applied = []
        waiting = threading.Thread(target=lambda: applied.extend(old.migrate()))
        waiting.start()
        waiting.join(1.0)
        assert waiting.is_alive()
        assert not applied
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
        start = time.monotonic()
        waiting.join(60.0)
        assert time.monotonic() - start < 30
        assert len(applied) == len(NEWER)

    @pytest.fixture
    def connections(self, neo4j_address):
        uri, username, password = neo4j_address
        made = [Neo4jConnection(uri, username=username, password=password, database=None, timeout=10.0) for _ in range(2)]
        made[0].change_schema(load("lock_migrations_schema", "neo4j").text)
        yield made
        for connection in made:
            connection.close()

    def test_an_upgrade_keeps_others_out_for_as_long_as_it_takes(self, connections, caplog):
        """Also for longer than others wait, who say that they do and give up in words."""
        one, other = connections
        with one.locked("lock_migrations", 1.0) as held:
            second = other.locked("lock_migrations", 1.0)
            with pytest.raises(StoreUnavailable, match="another process has been upgrading") as caught, second:
                pytest.fail("two at once")
            held()
        assert "SHOW TRANSACTIONS" in caught.value.hint
        assert [record.getMessage() for record in caplog.records if "upgrades the store; waiting" in record.getMessage()]
        with other.locked("lock_migrations", 1.0):
            pass

    def test_one_that_waited_holds_it_for_as_long_as_one_that_did_not(self, connections, monkeypatch):
        one, other = connections
        monkeypatch.setattr("drag_graph.adapters.neo4j_connection._HELD_AT_MOST", 3.0)
        with ThreadPoolExecutor(1) as pool, one.locked("lock_migrations", 1.0):

            def wait():
                with other.locked("lock_migrations", 30.0) as held:
                    time.sleep(2.0)
                    held()

            waiting = pool.submit(wait)
            time.sleep(2.0)
        waiting.result(timeout=30)

    def test_a_lost_lock_ends_the_upgrade_in_words(self, old, connections, driver, monkeypatch):
        lost = []

        def lose(self, text):
            for row in execute(driver, "upgraders"):
                lost.extend(execute(driver, "end_transaction", id=row["id"]))

        monkeypatch.setattr(Neo4jConnection, "change_schema", lose)
        with pytest.raises(StoreUnavailable, match="keeps others out") as caught:
            old.migrate()
        assert "goes on where it was" in caught.value.hint
        assert lost
        monkeypatch.undo()
        assert [item.version for item in old.migrate()] == list(range(2, len(NEWER) + 2))

    def test_an_index_is_waited_for_longer_than_the_server_is(self, neo4j_address, monkeypatch, caplog):
        uri, username, password = neo4j_address
        told = [[["index_of_a_large_store", "POPULATING", 100.0 * n / 8]] for n in range(8)] + [[]]
        monkeypatch.setattr(Neo4jConnection, "read", lambda *_, **__: told.pop(0))
        monkeypatch.setattr("drag_graph.adapters.neo4j_access._TELL_EVERY", 0.5)
        store = Neo4jStore(uri, username=username, password=password, timeout=0.1)
        began = time.monotonic()
        store._await_indexes(["index_of_a_large_store"])
        assert (told, time.monotonic() - began > 1.0) == ([], True)
        assert any("fills an index" in record.getMessage() for record in caplog.records)
        told.append([["broken", "FAILED", 3.0]])
        with pytest.raises(StoreUnfit, match="could not fill the index broken"):
            store._await_indexes(["broken"])


HOLDER = """
import sys, time
from drag_graph.adapters.neo4j_connection import Neo4jConnection
from drag_graph.queries import load

uri, username, password = sys.argv[1:]
connection = Neo4jConnection(uri, username=username, password=password, database=None, timeout=10.0)
connection.change_schema(load("lock_migrations_schema", "neo4j").text)
with connection.locked("lock_migrations", 600.0):
    print("locked", flush=True)
    time.sleep(600)
"""


def kept(name):
    """Return the lines of a fixture."""
    return [json.loads(line) for line in gzip.decompress((STORES / name).read_bytes()).decode().splitlines()]


def execute(driver, name, /, **parameters):
    """Return the rows of a statement of `upgrading/`."""
    text, bound = load_from(STATEMENTS, name, "neo4j").bind(**parameters)
    return driver.execute_query(text, bound).records


def schema(driver):
    """Return the names of all constraints and indexes."""
    return [row["name"] for name in ("constraints", "indexes") for row in execute(driver, name)]


def change_schema(driver, statements):
    """Execute the statements of a migration, or some of them, as an upgrader that is then killed."""
    for text in statements:
        driver.execute_query(text)


def back_to_version_1(driver):
    """Drop all that migrations made, and make what the first one did."""
    for name in ("constraint", "index"):
        for row in execute(driver, "constraints" if name == "constraint" else "indexes"):
            execute(driver, f"drop_{name}", name=row["name"])
    execute(driver, "history_gone")
    first, statements = migrate.known("neo4j")[0]
    change_schema(driver, statements)
    row = {"version": 1, "name": first.name, "checksum": first.checksum, "applied_at": "2026-11-21T00:00:00+00:00"}
    execute(driver, "history", rows=[row])


def shape(records):
    """Return what an export says but for what the namespace is part of: ids, and what is ordered by them."""
    found = []
    for record in records:
        values = {
            name: value
            for name, value in record["properties"].items()
            if not name.endswith(("id", "ids", "_hash", "sha256")) and name not in ("namespace", "lines", "rank")
        }
        found.append(json.dumps([record.get("label") or record["type"], values], sort_keys=True))
    return sorted(found)
