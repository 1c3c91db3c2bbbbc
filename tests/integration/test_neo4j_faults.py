"""What the Neo4j store does when the server is away, restarts, breaks off, is none, or does not let us in."""

import contextlib
import os
import random
import signal
import socket
import socketserver
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest
from workers import PASSWORD, running_server

from drag_graph.errors import ConfigurationError, StoreError, StoreUnavailable, StoreUnfit
from drag_graph.model import Aggregation
from drag_graph.stores.neo4j.connection import Neo4jConnection
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.stores.neo4j.server import server_status, start_server, stop_server
from drag_graph.stores.neo4j.server.libraries import release_of
from drag_graph.testing.builders import DEFAULT_TRIPLES, expected, make_answer, make_subgraph
from drag_graph.testing.contract.base import assert_same, records_of

pytestmark = pytest.mark.neo4j

PLAIN = Aggregation()
WRONG = "not-the-password-1"
TRIPLES = (*DEFAULT_TRIPLES, *((f"thing {n}", "is_part_of", f"thing {n + 1}", 0.9, n % 3) for n in range(15)))


def store_at(uri, *, username="neo4j", password="", timeout=2.0, **more):
    return Neo4jStore(uri, username=username, password=password, timeout=timeout, **more)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def quiet_port():
    """A port that no outgoing connection is given while the server on it is away: below Linux's range for these."""
    return next(port for port in random.sample(range(20_000, 32_000), 50) if is_free(port))


def everything(error):
    """Everything that an error and what caused it could show anybody."""
    return "".join(traceback.format_exception(error)) + str(getattr(error, "hint", ""))


@contextlib.contextmanager
def listener(talk):
    """Listen on a port; `talk(connection)` has each conversation."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            talk(self.request)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def refusal(code):
    """The Bolt message FAILURE with a code of Neo4j, under the names that the key has in older and newer versions."""

    def packed(text):
        return bytes([0xD0, len(text)]) + text.encode()

    pairs = {"code": code, "neo4j_code": code, "message": "refused"}
    body = b"\xb1\x7f" + bytes([0xA0 + len(pairs)]) + b"".join(packed(text) for pair in pairs.items() for text in pair)
    return len(body).to_bytes(2, "big") + body + b"\x00\x00"


class Proxy:
    """Passes bytes on to a server until it breaks off: before what the client sends next but `cut_after`, or instead of the
    reply to the next commit. Where told to `refuse_commit`, it answers the next one itself, as a server that rolls back."""

    COMMIT = b"\x00\x02\xb0\x12\x00\x00"

    def __init__(self, uri):
        host, port = uri.removeprefix("bolt://").split(":")
        self.target = (host, int(port))
        self.cut_after = None
        self.cut_commit = False
        self.committed = False
        self.refuse_commit = False
        self.refusal = b""
        self.cuts = 0

    def __call__(self, client):
        with socket.create_connection(self.target) as server:
            to_client = threading.Thread(target=self._pump, args=(server, client, self._cuts_reply), daemon=True)
            to_client.start()
            self._pump(client, server, self._cuts_request)
            to_client.join()

    def _pump(self, source, target, cuts):
        with contextlib.suppress(OSError):  # the other direction has closed them
            while data := source.recv(1 << 20):
                if self.refuse_commit and self.COMMIT in data:
                    self.refuse_commit = False
                    source.sendall(self.refusal)
                    continue
                if cuts(data):
                    self.cuts += 1
                    break
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _cuts_request(self, data):
        self.committed = self.cut_commit and self.COMMIT in data
        if self.cut_after is None:
            return False
        self.cut_after -= 1
        if self.cut_after >= 0:
            return False
        self.cut_after = None
        return True

    def _cuts_reply(self, data):
        if not self.committed:
            return False
        self.committed = self.cut_commit = False
        return True


class TestNobodyThere:
    def test_nothing_listens(self):
        port = free_port()
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="nothing listens there") as caught, store_at(f"bolt://127.0.0.1:{port}"):
            pass
        assert 0.3 < time.monotonic() - began < 60.0  # it was waited for, and given up; each pause is drawn
        assert caught.value.retryable
        assert "db up" in caught.value.hint

    def test_nothing_listens_for_a_cluster_address(self):
        with pytest.raises(StoreUnavailable, match="nothing listens there"):
            store_at(f"neo4j://127.0.0.1:{free_port()}", timeout=0.5).counts()

    def test_a_host_that_does_not_exist_is_not_waited_for(self, refused):
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match=r"host name is unknown|cannot be resolved"):
            store_at("bolt://no-such-host.invalid:7687", timeout=120).migrate()
        assert "no-such-host.invalid" in refused()
        assert time.monotonic() - began < 60.0

    @pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
    def test_a_port_that_speaks_http(self, scheme):
        def talk(connection):
            connection.recv(1024)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        began = time.monotonic()
        with listener(talk) as address, pytest.raises(StoreUnavailable, match="does not speak Neo4j's Bolt") as caught:
            store_at(f"{scheme}://{address}", timeout=120).counts()
        assert time.monotonic() - began < 60.0
        assert "7687" in caught.value.hint

    def test_a_port_that_speaks_something_else(self):
        def talk(connection):
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
            connection.recv(1024)

        with listener(talk) as address, pytest.raises(StoreUnavailable, match="does not speak Neo4j's Bolt protocol"):
            store_at(f"bolt://{address}", timeout=60).counts()

    def test_a_port_that_says_nothing(self):
        def talk(connection):
            while connection.recv(1024):
                pass

        with listener(talk) as address, pytest.raises(StoreUnavailable, match="did not answer within 1 s"):
            store_at(f"bolt://{address}", timeout=1).counts()

    def test_a_port_that_hangs_up(self):
        with listener(lambda connection: connection.recv(1)) as address, pytest.raises(StoreUnavailable, match="broke off"):
            store_at(f"bolt://{address}", timeout=1).counts()

    def test_encryption_that_the_server_does_not_have(self):
        def talk(connection):
            connection.recv(1024)
            connection.sendall(b"no TLS here at all\n")

        with listener(talk) as address, pytest.raises(StoreUnavailable, match="encrypted") as caught:
            store_at(f"bolt+s://{address}", timeout=60).counts()
        assert "bolt://" in caught.value.hint


class TestAddresses:
    @pytest.mark.parametrize(
        "uri", ["http://127.0.0.1:7474", "bolt://", "bolt://host:none", "bolt://host:99999", "graph.lbug", ""]
    )
    def test_what_is_no_address_is_refused_at_once(self, uri):
        with pytest.raises(ConfigurationError, match="address"):
            store_at(uri)

    def test_a_password_in_the_address_is_refused_and_not_shown(self):
        with pytest.raises(ConfigurationError) as caught:
            store_at(f"neo4j://somebody:{WRONG}@127.0.0.1:7687")
        assert WRONG not in everything(caught.value)
        assert "NEO4J_PASSWORD" in caught.value.hint

    def test_the_location_is_the_address_and_the_database(self):
        store = store_at("bolt://127.0.0.1:7687", password=WRONG, database="graphs")
        assert store.location == "bolt://127.0.0.1:7687 (database graphs)"
        assert WRONG not in repr(store)


class TestCredentials:
    def test_a_wrong_password_stops_at_once_and_names_the_variables(self, neo4j_address):
        uri, username, _ = neo4j_address
        began = time.monotonic()
        with pytest.raises(StoreError) as caught:
            store_at(uri, username=username, password=WRONG, timeout=120).counts()
        assert time.monotonic() - began < 60.0
        assert "NEO4J_USERNAME" in caught.value.hint
        assert "NEO4J_PASSWORD" in caught.value.hint
        assert caught.value.exit_code == 3
        assert WRONG not in everything(caught.value)

    def test_no_password(self, neo4j_address):
        uri, username, _ = neo4j_address
        with pytest.raises(StoreError, match="requires a password, but none is set") as caught:
            store_at(uri, username=username, timeout=60).counts()
        assert "NEO4J_PASSWORD" in caught.value.hint

    def test_no_such_database(self, neo4j_address):
        uri, username, password = neo4j_address
        with (
            pytest.raises(StoreUnfit, match="no such database") as caught,
            store_at(uri, username=username, password=password, database="nowhere", timeout=60),
        ):
            pass
        assert "NEO4J_DATABASE" in caught.value.hint
        assert password not in everything(caught.value)


class TestConnectionsThatBreak:
    @pytest.fixture
    def proxied(self, neo4j_address, request):
        """A store behind a proxy, the proxy, and the same namespace seen directly."""
        uri, username, password = neo4j_address
        proxy = Proxy(uri)
        namespace = f"faults-{request.node.name}-{time.time_ns()}"
        with (
            listener(proxy) as address,
            store_at(uri, username=username, password=password, namespace=namespace, timeout=30) as direct,
        ):
            direct.migrate()
            with store_at(f"bolt://{address}", username=username, password=password, namespace=namespace, timeout=20) as store:
                yield store, proxy, direct
            for row in direct.sources(limit=1000):
                direct.erase([row.id])

    @pytest.mark.parametrize(("number", "messages"), [*((3, n) for n in range(5)), *((1, n) for n in range(4))])
    def test_a_save_that_is_cut_off_is_repeated_whole(self, proxied, number, messages):
        """One alone is written without asking first what is there, and so has a message less."""
        store, proxy, direct = proxied
        graphs = [make_subgraph(number, namespace=store.namespace) for number in range(number)]
        store.counts()
        proxy.cut_after = messages
        assert store.save(graphs, PLAIN) == ["created"] * number
        assert proxy.cuts == 1
        assert_same(direct.read([graph.query.id for graph in graphs]), [expected(graph, PLAIN) for graph in graphs])
        assert direct.counts()["Query"] == number
        assert direct.verify() == []

    def test_a_commit_whose_end_is_not_heard_of_is_reported_as_done(self, proxied):
        """The server commits, its reply is lost: the repetition finds the work done, and says what was done all the same."""
        store, proxy, direct = proxied
        graph = make_subgraph(namespace=store.namespace)
        store.counts()
        proxy.cut_commit = True
        assert store.save([graph], PLAIN) == ["created"]
        assert direct.counts()["TRIPLE"] == len(graph.triples)
        proxy.cut_commit = True
        assert store.save([make_subgraph(namespace=store.namespace, settings_hash="other")], PLAIN) == ["replaced"]
        proxy.cut_commit = True
        store.save_answers([make_answer(1, [graph], namespace=store.namespace)])
        assert direct.counts()["Answer"] == 1
        proxy.cut_commit = True
        gone = store.erase([graph.query.id])
        assert (gone.counts["Query"], len(gone.answer_ids), gone.counts["Evidence"]) == (1, 1, 4)
        assert proxy.cuts == 4
        assert sum(direct.counts().values()) == 0

    @pytest.mark.parametrize(
        ("fault", "code", "perhaps"),
        [
            ("refuse_commit", "Neo.TransientError.General.OutOfMemory", False),
            ("refuse_commit", "Neo.TransientError.General.DatabaseUnavailable", True),
            ("cut_commit", "", True),
        ],
    )
    def test_only_a_commit_that_may_have_come_through_is_perhaps_done(self, neo4j_address, fault, code, perhaps):
        uri, username, password = neo4j_address
        proxy = Proxy(uri)
        proxy.refusal = refusal(code)
        seen = []

        def work(work):
            work.agent()
            seen.append(work.perhaps_done)

        with listener(proxy) as address:
            connection = Neo4jConnection(f"bolt://{address}", username=username, password=password, database=None, timeout=20)
            connection.open()
            setattr(proxy, fault, True)
            connection.write(work)
            connection.close()
        assert seen == [False, perhaps]


@pytest.mark.long
@pytest.mark.timeout(1800)
class TestRestart:
    BATCH = 3
    MOST = 1500

    def test_what_was_said_is_true_after_a_stop_and_a_kill(self, tmp_path):
        """Two writers overlap and go on while the server is stopped, and then killed, and comes back each time."""
        home = tmp_path / "home"
        ports = {"bolt_port": quiet_port(), "http_port": quiet_port()}
        with (
            running_server("5.26", home, **ports) as server,
            store_at(server.store, password=PASSWORD, timeout=400) as store,
            ThreadPoolExecutor(2) as pool,
        ):
            list(pool.map(self._migrate, [server.store] * 2))
            assert all(migration.applied_at for migration in store.migrations())
            enough = threading.Event()
            writers = [pool.submit(self._write, store, first, enough) for first in (0, 1)]
            for stop in (stop_server, kill):
                self._wait_for_more(store, writers)
                stop(home)
                start_server(release_of("5.26"), home, password=PASSWORD, **ports)
            self._wait_for_more(store, writers)
            enough.set()
            told = [writer.result() for writer in writers]
            self._check(store, told)
            before = records_of(store)
            stop_server(home)
            self._check_down(server.store)
            start_server(release_of("5.26"), home, password=PASSWORD, **ports)
            assert records_of(store) == before

    def _migrate(self, uri):
        with store_at(uri, password=PASSWORD, timeout=60) as store:
            store.migrate()

    def _write(self, store, first, enough):
        """Save batch after batch, beginning with graph `first`, so that two writers' batches overlap in part."""
        told = {}
        for start in range(first, self.MOST, self.BATCH):
            if enough.is_set():
                break
            batch = [make_subgraph(number, triples=TRIPLES) for number in range(start, start + self.BATCH)]
            told |= dict(zip([graph.query.id for graph in batch], store.save(batch, PLAIN), strict=True))
            time.sleep(0.05)
        return told

    def _wait_for_more(self, store, writers, seconds=400):
        began = store.counts()["Query"]
        deadline = time.monotonic() + seconds
        while store.counts()["Query"] < began + 4 * self.BATCH:
            assert not [writer.result() for writer in writers if writer.done()], "the writers have nothing left to write"
            assert time.monotonic() < deadline, "the writers stand still"
            time.sleep(0.2)

    def _check(self, store, told):
        ids = {id_ for one in told for id_ in one}
        graphs = [make_subgraph(number, triples=TRIPLES) for number in range(self.MOST)]
        wanted = [expected(graph, PLAIN) for graph in graphs if graph.query.id in ids]
        assert_same(store.read([graph.query.id for graph in wanted]), wanted)
        assert store.counts()["Query"] == len(ids) == len(wanted)
        both = told[0].keys() & told[1].keys()
        assert both
        pairs = [sorted([told[0][id_], told[1][id_]]) for id_ in both]
        assert all("created" in pair for pair in pairs), [(n, pair) for n, pair in zip(both, pairs, strict=True)]
        # Both may say so only of a batch whose commit one did not hear the end of, and each of two stops has two writers.
        assert pairs.count(["created", "created"]) <= 2 * 2 * self.BATCH
        assert store.verify() == []

    def _check_down(self, uri):
        with pytest.raises(StoreUnavailable, match="nothing listens there"):
            store_at(uri, password=PASSWORD, timeout=1).save([make_subgraph("down")], PLAIN)
        with pytest.raises(StoreUnavailable):
            store_at(uri, password=PASSWORD, timeout=1).read(["0" * 32])


def kill(home):
    """End a server as a power cut would, and wait until the system has closed what it had open."""
    status = server_status(home)
    os.kill(status.pid, signal.SIGKILL)
    deadline = time.monotonic() + 200
    while server_status(home).running or not is_free(status.bolt_port) or not is_free(status.http_port):
        assert time.monotonic() < deadline, "the killed server's ports stay in use"
        time.sleep(0.05)


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return True
    return False
