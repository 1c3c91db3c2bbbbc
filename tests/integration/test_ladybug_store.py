"""The embedded store as its users meet it: its file, its lock, bad files, other processes, odd texts."""

import itertools
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drag_graph.errors import StoreError, StoreLocked, StoreUnavailable, StoreUnfit
from drag_graph.model import Aggregation
from drag_graph.stores.ladybug.engine import open_engine
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.stores.ladybug.ladybug_transaction import FIRST_PLANS
from drag_graph.testing.builders import expected, make_answer, make_subgraph, random_subgraphs
from drag_graph.testing.finding import nearest_queries, read_answer

ROOT = Path(__file__).parents[2]
PLAIN = Aggregation()
NUMBERS = itertools.count()


def opened(path, **options):
    store = LadybugStore(path, **options)
    if not options.get("read_only"):
        store.migrate()
    return store


def filled(path, count=3):
    graphs = [make_subgraph(number) for number in range(count)]
    with opened(path) as store:
        store.save(graphs, PLAIN)
    return graphs


def elsewhere(code, *arguments, **options):
    """Run code in another process; return it finished."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, **options)


HOLD = """
import sys, time
from pathlib import Path
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
with LadybugStore(Path(sys.argv[1])) as store:
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def held(tmp_path):
    """Hold a store in another process for some seconds."""
    started = []

    def hold(path, seconds):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(path), str(seconds)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield hold
    for process in started:
        process.kill()
        process.communicate()


def test_the_folder_is_made_and_nothing_else_is_left_beside_the_store(tmp_path):
    path = tmp_path / "new" / "deep" / "graph.lbug"
    filled(path)
    assert [item.name for item in path.parent.iterdir()] == ["graph.lbug"]


LETTING_GO = """
import sys
from pathlib import Path
from drag_graph.model import Aggregation
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.testing.builders import make_subgraph

def let_go():
    for size in (2_000, 4_096, 20_000, 100_000, 262_144):
        kept = [b"OF-NO-STORE" * (size // 11) + b"%d" % n for n in range(min(300, 10_000_000 // size))]
        del kept

for number in range(5):
    let_go()
    with LadybugStore(Path(sys.argv[1], f"{number}.lbug")) as store:
        let_go()
        store.migrate()
        store.save([make_subgraph(number)], Aggregation())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' allocators cannot be asked")
def test_what_was_in_memory_is_not_in_the_files(tmp_path):
    done = elsewhere(LETTING_GO, tmp_path)
    assert done.returncode == 0, done.stderr
    stores = list(tmp_path.iterdir())
    assert len(stores) == 5
    assert [path.name for path in stores if b"OF-NO-STORE" in path.read_bytes()] == []


def test_a_store_is_opened_by_its_first_use_only(tmp_path):
    store = LadybugStore(tmp_path / "graph.lbug")
    assert store.location == str(tmp_path / "graph.lbug")
    store.close()
    assert not list(tmp_path.iterdir())
    with pytest.raises(StoreUnavailable, match="closed"):
        store.read(["x"])


def test_a_held_store_is_refused_with_its_holder_after_the_deadline(tmp_path, held):
    path = tmp_path / "graph.lbug"
    filled(path)
    process = held(path, 60)
    began = time.monotonic()
    with pytest.raises(StoreLocked, match=str(process.pid)) as caught:
        opened(path, timeout=0.8)
    assert 0.7 < time.monotonic() - began < 30
    assert caught.value.hint
    assert caught.value.retryable


def test_a_store_that_is_freed_in_time_is_opened(tmp_path, held):
    path = tmp_path / "graph.lbug"
    graphs = filled(path)
    held(path, 1.0)
    with opened(path, timeout=30) as store:
        assert len(store.read([graph.query.id for graph in graphs])) == 3


def test_another_process_may_read_while_one_has_it_for_writing(tmp_path, held):
    path = tmp_path / "graph.lbug"
    graphs = filled(path)
    held(path, 60)
    with LadybugStore(path, read_only=True, timeout=5) as store:
        assert store.read([graphs[0].query.id]) == [expected(graphs[0], PLAIN)]
        assert store.migrate() == []
        with pytest.raises(StoreUnfit, match="reading only"):
            store.save([make_subgraph("new")], PLAIN)


def test_stores_of_one_file_in_one_process_share_it(tmp_path):
    path = tmp_path / "graph.lbug"
    graph = make_subgraph()
    with opened(path) as one, opened(path, namespace="other") as other, LadybugStore(path, read_only=True) as reader:
        one.save([graph], PLAIN)
        assert other.read([graph.query.id]) == []
        assert reader.read([graph.query.id]) == [expected(graph, PLAIN)]
        one.close()
        assert other.sources() == []
        # Closing one of them must not have given the lock away.
        done = elsewhere(HOLD.replace("Path(sys.argv[1])", "Path(sys.argv[1]), timeout=0.2"), path, 0)
        assert "StoreLocked" in done.stderr
    with opened(path) as store:
        assert len(store.sources()) == 1


def test_reading_first_keeps_a_writer_of_the_same_process_out(tmp_path):
    path = tmp_path / "graph.lbug"
    filled(path)
    with LadybugStore(path, read_only=True), pytest.raises(StoreLocked, match="this process"):
        opened(path)
    with opened(path) as store:
        assert len(store.sources()) == 3


def test_a_store_cannot_be_read_where_none_is(tmp_path):
    with pytest.raises(StoreUnfit, match="no store"), LadybugStore(tmp_path / "graph.lbug", read_only=True):
        pass
    assert not list(tmp_path.iterdir())


def _folder(path):
    path.mkdir()


def _text(path):
    path.write_text("a text\n" * 1000, encoding="utf-8")


def _empty(path):
    path.touch()


def _random(path):
    path.write_bytes(bytes(range(256)) * 64)


def _truncated(path):
    filled(path, 20)
    os.truncate(path, path.stat().st_size // 2)


def _stump(path):
    filled(path)
    os.truncate(path, 50)


def _sqlite(path):
    path.write_bytes(b"SQLite format 3\0" + bytes(8192))


@pytest.mark.parametrize("make", [_folder, _text, _empty, _random, _truncated, _stump, _sqlite], ids=lambda make: make.__name__)
@pytest.mark.parametrize("read_only", [False, True], ids=["write", "read"])
def test_what_is_no_store_is_refused_in_one_sentence_and_left_alone(tmp_path, make, read_only):
    path = tmp_path / "graph.lbug"
    make(path)
    before = path.is_file() and path.read_bytes()
    with pytest.raises(StoreUnfit) as caught:
        LadybugStore(path, read_only=read_only, timeout=0.3).read(["x"])
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    assert caught.value.hint
    assert (path.is_file() and path.read_bytes()) == before


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    for path in (tmp_path / "file" / "graph.lbug", tmp_path / ("x" * 300), tmp_path / "nul\0name"):
        with pytest.raises(StoreUnfit):
            opened(path)


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path):
    import ladybug

    path = tmp_path / "graph.lbug"
    with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
        connection.execute("CREATE NODE TABLE Evidence(id STRING PRIMARY KEY, mine STRING)")
    with pytest.raises(StoreUnfit, match="is not a drag-graph store"):
        opened(path)
    with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
        assert len(connection.execute("CALL show_tables() RETURN *").get_all()) == 1


AS_NOBODY = """
import os, sys
from pathlib import Path
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.errors import StoreError
from drag_graph.model import Aggregation
from drag_graph.testing.builders import make_subgraph
if os.getuid() == 0:
    with LadybugStore(Path(sys.argv[3])) as store:  # loads everything before the rights are gone
        store.migrate()
        store.read(["x"])
    os.setgid(65534)
    os.setuid(65534)
try:
    with LadybugStore(Path(sys.argv[1]), read_only=sys.argv[2] == "read", timeout=1) as store:
        print(len(store.sources()))
        if sys.argv[2] != "read":
            store.save([make_subgraph("new")], Aggregation())
except StoreError as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def reachable():
    """Return a folder that every user can reach."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def as_nobody(folder, path, what):
    done = elsewhere(AS_NOBODY, path, what, folder / f"warm-{what}.lbug")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("file", "folder"), [(0o444, 0o777), (0o666, 0o555)], ids=["file", "folder"])
def test_a_read_only_file_or_folder_is_refused_for_writing_and_can_be_read(reachable, file, folder):
    path = reachable / "inner" / "graph.lbug"
    filled(path)
    path.chmod(file)
    path.parent.chmod(folder)
    assert as_nobody(reachable, path, "read") == "3\n"
    said = as_nobody(reachable, path, "write")
    assert said.startswith("StoreUnfit")
    assert "is not writable" in said


def test_a_file_that_may_not_be_read_is_refused(reachable):
    path = reachable / "graph.lbug"
    filled(path)
    path.chmod(0)
    assert as_nobody(reachable, path, "read").startswith("StoreUnfit")


@pytest.mark.parametrize("place", ["evidence", "question", "predicate"])
def test_a_text_that_is_not_unicode_is_refused_and_nothing_is_written(tmp_path, place):
    graph = make_subgraph()
    bad = "lone \ud800 surrogate"
    if place == "question":
        graph = graph.model_copy(update={"source": graph.query.model_copy(update={"text": bad})})
    elif place == "evidence":
        graph = graph.model_copy(update={"evidence": (graph.evidence[0].model_copy(update={"text": bad}), *graph.evidence[1:])})
    else:
        graph = graph.model_copy(
            update={"triples": (graph.triples[0].model_copy(update={"predicate": bad}), *graph.triples[1:])}
        )
    with opened(tmp_path / "graph.lbug") as store:
        with pytest.raises(StoreError, match="Unicode"):
            store.save([make_subgraph("good"), graph], PLAIN)
        assert list(store.records()) == []
        assert store.save([make_subgraph("good")], PLAIN) == ["created"]


def test_odd_texts_are_kept_as_they_are(tmp_path):
    odd = ["nul \0 inside", "\ufeffmark", "a\u2028b", "e\u0301", "\U0010ffff", "tab\tquote\"'`\\", "${x} {y}"]
    triples = [(text, "is", odd[index - 1], 0.9, 0) for index, text in enumerate(odd)]
    graph = make_subgraph(triples=triples, evidence=odd, dropped=())
    with opened(tmp_path / "graph.lbug") as store:
        store.save([graph], PLAIN)
        assert store.read([graph.query.id]) == [expected(graph, PLAIN)]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("shared") / "graph.lbug") as store:
        yield store


@settings(max_examples=40, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_rows_of_any_shape_are_not_confused_by_cached_plans(shared, data):
    """Integers of any width, absent scores, empty and full lists, one after another through the same connection."""
    numbers = st.one_of(st.integers(0, 300), st.integers(0, 2**62))
    words = st.lists(st.text("abc\u00e9 ", min_size=1, max_size=4).map(lambda text: f"x{text}x"), max_size=3).map(tuple)
    graph = make_subgraph(next(NUMBERS))
    calls = [
        call.model_copy(update={"tokens_in": data.draw(numbers), "latency_ms": data.draw(numbers)}) for call in graph.calls
    ]
    evidence = [
        item.model_copy(update={"llm_score": data.draw(st.none() | st.floats(1, 10)), "rank": data.draw(numbers)})
        for item in graph.evidence
    ]
    entities = [item.model_copy(update={"variants": data.draw(words)}) for item in graph.entities]
    query = graph.query.model_copy(update={"options": data.draw(words)})
    parts = {"calls": tuple(calls), "evidence": tuple(evidence), "entities": tuple(entities), "source": query}
    graph = graph.model_copy(update={**parts, "embedding": data.draw(st.sampled_from([(), (0.6, 0.8)]))})
    again = graph.model_copy(update={"settings_hash": "settings-2"})
    for version in (graph, again):
        shared.save([version], PLAIN)
        assert shared.read([graph.query.id]) == [expected(version, PLAIN)]
    refs = [("evidence", item.id) for item in evidence[: data.draw(st.integers(0, 3))]]
    answer = make_answer(
        1, [graph], refs=refs, label=data.draw(st.none() | st.just("A")), correct=data.draw(st.none() | st.booleans())
    )
    shared.save_answers([answer])
    assert read_answer(shared, answer.id) == answer


def test_readers_beside_a_writer_see_whole_subgraphs_only(tmp_path):
    graphs = random_subgraphs(60, seed=4)
    wanted = {graph.query.id: expected(graph, PLAIN) for graph in graphs}
    stop = threading.Event()
    with opened(tmp_path / "graph.lbug") as store:

        def read():
            seen = 0
            while not stop.is_set():
                for stored in store.read(list(wanted)):
                    assert stored == wanted[stored.query.id]
                    seen += 1
                store.sources()
                list(store.records())
            return seen

        with ThreadPoolExecutor(3) as pool:
            readers = [pool.submit(read) for _ in range(3)]
            for start in range(0, 60, 5):
                store.save(graphs[start : start + 5], PLAIN)
            stop.set()
            assert all(reader.result() > 0 for reader in readers)
        assert store.verify() == []


def test_an_abandoned_stream_gives_its_connection_back(tmp_path):
    path = tmp_path / "graph.lbug"
    graphs = filled(path, 30)
    with opened(path) as store:
        for _ in range(50):
            next(store.records())
        assert store.save([graphs[0].model_copy(update={"settings_hash": "settings-2"})], PLAIN) == ["replaced"]
        records = store.records()
        next(records)
        store.erase([graphs[0].query.id])
        assert len(store.sources()) == 29
    assert records is not None


@pytest.mark.parametrize("way", ["reading", "writing"])
def test_an_error_that_is_kept_does_not_keep_a_closed_file_open(tmp_path, way):
    path = tmp_path / "graph.lbug"
    filled(path)
    engine = open_engine(path, read_only=False, timeout=1)
    with engine.writing() as session:
        session.execute("CREATE (:StoreInfo {key: $key})", {"key": "a"})
    with pytest.raises(StoreError) as kept, getattr(engine, way)() as session:
        session.execute("UNWIND $numbers AS x RETURN 1 / x", {"numbers": [1, 0]})
    engine.close()
    assert not path.with_name("graph.lbug.wal").exists()
    assert kept.value.__cause__


def test_the_nearest_are_found_anew_after_every_write(tmp_path):
    with opened(tmp_path / "graph.lbug") as store, opened(tmp_path / "graph.lbug") as other:
        graphs = [make_subgraph(number, embedding=(1.0, number / 10)) for number in range(5)]
        store.save(graphs[1:], PLAIN)
        assert nearest_queries(store, (1.0, 0.0), 1)[0][0] == graphs[1].query.id
        other.save(graphs[:1], PLAIN)
        assert nearest_queries(store, (1.0, 0.0), 1)[0][0] == graphs[0].query.id
        assert nearest_queries(store, (1.0, 0.0, 0.0), 1) == []
        assert nearest_queries(store, (0.0, 0.0), 2) == []


def test_of_two_stores_that_claim_an_empty_namespace_the_first_to_save_has_it(tmp_path):
    path = tmp_path / "graph.lbug"
    with opened(path) as one, opened(path) as two:
        one.embedder(("first", 2))
        two.embedder(("second", 2))
        two.save([make_subgraph(1)], PLAIN)
        with pytest.raises(StoreUnfit, match="second"):
            one.save([make_subgraph(2)], PLAIN)
        assert two.embedder() == ("second", 2)
        assert [row.id for row in two.sources()] == [make_subgraph(1).query.id]


def test_statements_are_planned_anew_as_a_store_grows(tmp_path):
    connections = []
    filled(tmp_path / "graph.lbug", 1)
    with opened(tmp_path / "graph.lbug") as store:
        for _ in range(5 * FIRST_PLANS):
            with store.writing() as session:
                assert len(session.run("read_sources", namespace=store.namespace, ids=[make_subgraph(0).query.id])) == 1
                connections.append(session._connection)
    assert connections[0] is connections[FIRST_PLANS // 2]
    assert len(set(map(id, connections))) == 3  # new ones after 32 writes and after 128
