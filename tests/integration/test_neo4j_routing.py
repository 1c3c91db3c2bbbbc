"""What the store does behind an address of `neo4j://`: reading from replicas, writing to the leader, wherever that goes.

Neo4j's clusters are in no edition that tests can have. So the routing table is a fake's, which speaks just enough Bolt to give
it, and the members that it names are gates to one real server, which count who comes in. The data, the driver and the
statements are real; that members can lag behind each other is not seen here.
"""

import contextlib
import socket
import threading
import time

import pytest

from drag_graph.errors import StoreUnavailable
from drag_graph.model import Aggregation
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.testing.builders import expected, make_answer, make_subgraph
from drag_graph.testing.contract.base import assert_same
from drag_graph.testing.finding import nearest_queries, query_ids

pytestmark = pytest.mark.neo4j

PLAIN = Aggregation()
BOLT_5_4 = b"\x00\x00\x04\x05"
HELLO, LOGON, ROUTE, RESET, TELEMETRY, GOODBYE = 0x01, 0x6A, 0x66, 0x0F, 0x54, 0x02


def packed(value):
    """Return a value as PackStream: what a routing table needs of it."""
    if isinstance(value, str):
        text = value.encode()
        return b"\xd0" + bytes([len(text)]) + text
    if isinstance(value, int):
        return b"\xca" + value.to_bytes(4, "big")
    if isinstance(value, dict):
        return bytes([0xA0 + len(value)]) + b"".join(packed(part) for pair in value.items() for part in pair)
    return bytes([0x90 + len(value)]) + b"".join(map(packed, value))


class Listener:
    """Listens on a port of its own until it is closed; then nobody is let in and who is in is thrown out."""

    def __init__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:{1}".format(*self._socket.getsockname())
        self._ends = [self._socket]
        self.closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                self._ends.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with contextlib.suppress(OSError, EOFError):
            self.talk(client)
        client.close()

    def close(self):
        self.closed = True
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Gate(Listener):
    """A member: what comes in goes on to the real server.

    `statements` counts the messages RUN, the sign-of-life aside; `bookmarks` those of all messages that wait for earlier ones.
    """

    RUN = b"\xb3\x10"
    BOOKMARKS = b"\x89bookmarks"

    def __init__(self, uri):
        host, port = uri.removeprefix("bolt://").split(":")
        self._target = (host, int(port))
        self.statements = self.bookmarks = 0
        super().__init__()

    def talk(self, client):
        with socket.create_connection(self._target) as server:
            self._ends.append(server)
            back = threading.Thread(target=self._pump, args=(server, client, False), daemon=True)
            back.start()
            self._pump(client, server, True)
            back.join()

    def _pump(self, source, target, counted):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 20):
                self.statements += counted and data.count(self.RUN)
                self.bookmarks += counted and data.count(self.BOOKMARKS)
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Router(Listener):
    """A member of which only the routing table is asked for. `table` has addresses by role; it may be changed."""

    def __init__(self):
        self.table = {}
        self.asked = 0
        super().__init__()

    def talk(self, client):
        self._exactly(client, 20)
        client.sendall(BOLT_5_4)
        while True:
            message = self._message(client)
            if message[1] == GOODBYE:
                return
            client.sendall(self._reply(message[1]))

    def _reply(self, kind):
        known = {HELLO: {"server": "Neo4j/5.26.0", "connection_id": "router", "hints": {}}, LOGON: {}, RESET: {}, TELEMETRY: {}}
        if kind == ROUTE:
            self.asked += 1
            servers = [{"role": role, "addresses": members} for role, members in self.table.items()]
            known[ROUTE] = {"rt": {"ttl": 300, "db": "neo4j", "servers": servers}}
        body = b"\xb1\x70" + packed(known[kind])
        return len(body).to_bytes(2, "big") + body + b"\x00\x00"

    def _message(self, client):
        message = b""
        while size := int.from_bytes(self._exactly(client, 2), "big"):
            message += self._exactly(client, size)
        return message or self._message(client)

    @staticmethod
    def _exactly(client, size):
        data = b""
        while len(data) < size:
            more = client.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data


class Cluster:
    """A router, a leader and two replicas."""

    def __init__(self, uri):
        self._uri = uri
        self.router = Router()
        self.leader, self.replicas = Gate(uri), [Gate(uri), Gate(uri)]
        self.tell()

    def tell(self):
        """Give out the addresses of those who are there."""
        readers = [member.address for member in self.replicas if not member.closed]
        self.router.table = {"ROUTE": [self.router.address], "WRITE": [self.leader.address], "READ": readers}

    def elect(self):
        """Close the leader and make another."""
        self.leader.close()
        self.leader = Gate(self._uri)

    @property
    def reads(self):
        return sum(member.statements for member in self.replicas)

    def close(self):
        for member in (self.router, self.leader, *self.replicas):
            member.close()


@pytest.fixture
def cluster(neo4j_address):
    made = Cluster(neo4j_address[0])
    yield made
    made.close()


@pytest.fixture
def store(cluster, neo4j_address, request):
    _, username, password = neo4j_address
    namespace = f"routing-{request.node.name}"
    timeout = getattr(request, "param", 60.0)
    with Neo4jStore(
        f"neo4j://{cluster.router.address}", username=username, password=password, namespace=namespace, timeout=timeout
    ) as made:
        made.migrate()
        yield made
    with Neo4jStore(neo4j_address[0], username=username, password=password, namespace=namespace) as cleaner:
        for id_ in query_ids(cleaner):
            cleaner.erase([id_])


def graph_of(store, number=0):
    return make_subgraph(number, namespace=store.namespace, embedding=[1.0, 0.5, number])


def test_a_single_server_is_a_cluster_of_one(neo4j_address):
    uri, username, password = neo4j_address
    with Neo4jStore(uri.replace("bolt://", "neo4j://"), username=username, password=password, namespace="routing-one") as store:
        store.migrate()
        graph = graph_of(store)
        assert store.save([graph], PLAIN) in (["created"], ["unchanged"])
        assert_same(store.read([graph.query.id]), [expected(graph, PLAIN)])
        store.erase([graph.query.id])
        assert store.read([graph.query.id]) == []


def test_asking_burdens_the_replicas_and_never_the_leader(store, cluster):
    graph = graph_of(store)
    store.save([graph], PLAIN)
    before, written = cluster.reads, cluster.leader.statements
    assert_same(store.read([graph.query.id]), [expected(graph, PLAIN)])
    assert store.search.candidates([1.0, 0.5, 0.0], ["statement"], 5, source_id=graph.query.id).own
    assert nearest_queries(store, [1.0, 0.5, 0.0], 1)
    assert store.counts()["Query"] == 1
    assert cluster.reads - before >= 4
    assert cluster.leader.statements == written


@pytest.mark.long
def test_what_this_process_wrote_is_waited_for_on_a_replica(store, cluster):
    store.save([graph_of(store)], PLAIN)
    before = sum(member.bookmarks for member in cluster.replicas)
    assert store.counts()["Query"] == 1
    assert sum(member.bookmarks for member in cluster.replicas) == before + 1


def test_one_server_is_not_made_to_wait_for_what_it_shows_anyway(neo4j_address):
    uri, username, password = neo4j_address
    with (
        contextlib.closing(Gate(uri)) as gate,
        Neo4jStore(f"bolt://{gate.address}", username=username, password=password, namespace="routing-direct") as store,
    ):
        store.migrate()
        graph = graph_of(store)
        before = gate.statements
        assert store.save([graph], PLAIN) == ["created"]
        assert gate.statements - before == 3, "one query alone is looked for under a lock, written and aggregated"
        assert store.save([graph], PLAIN) == ["unchanged"]
        store.aggregate([graph.query.id], PLAIN)
        assert [item.query.id for item in store.read([graph.query.id])] == [graph.query.id]
        store.erase([graph.query.id])
        assert (gate.statements > 0, gate.bookmarks) == (True, 0)


def test_writing_goes_to_the_leader_alone(store, cluster):
    cluster_before = cluster.leader.statements
    graph = graph_of(store)
    store.save([graph], PLAIN)
    after_save, reads = cluster.leader.statements, cluster.reads
    assert after_save > cluster_before
    store.aggregate([graph.query.id], PLAIN)
    store.save_answers([make_answer(1, [expected(graph, PLAIN)], namespace=store.namespace)])
    store.erase([graph.query.id])
    assert cluster.leader.statements > after_save
    assert cluster.reads == reads


@pytest.mark.long
def test_a_replica_that_dies_is_passed_over(store, cluster):
    graph = graph_of(store)
    store.save([graph], PLAIN)
    for _ in range(3):
        store.read([graph.query.id])
    cluster.replicas[0].close()
    cluster.tell()
    for _ in range(6):
        assert [item.query.id for item in store.read([graph.query.id])] == [graph.query.id]


@pytest.mark.long
def test_a_new_leader_is_found_within_the_deadline(store, cluster):
    store.save([graph_of(store, 0)], PLAIN)
    cluster.elect()
    threading.Timer(0.5, cluster.tell).start()  # until then the router gives the address of the one that died
    began = time.monotonic()
    assert store.save([graph_of(store, 1)], PLAIN) == ["created"]
    assert time.monotonic() - began < 60.0
    assert store.counts()["Query"] == 2


@pytest.mark.long
@pytest.mark.parametrize("store", [4.0], indirect=True, ids=["4 s"])
def test_a_cluster_without_a_leader_is_said_to_be_away(store, cluster):
    store.save([graph_of(store, 0)], PLAIN)
    cluster.leader.close()
    cluster.router.table["WRITE"] = []
    with pytest.raises(StoreUnavailable) as caught:
        store.save([graph_of(store, 1)], PLAIN)
    assert caught.value.hint
    assert store.counts()["Query"] == 1  # what is there can be read without one
