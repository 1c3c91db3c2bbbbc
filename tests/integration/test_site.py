"""A site's service against a real cloud: what leaves, what does not, and what is counted."""

import contextlib
import re
import socket
import ssl
import subprocess
import threading
import time
import tomllib

import httpx
import pytest
from network import Proxy
from site_cloud import serving_sites

from drag_graph.errors import CloudRefused, CloudUnavailable, ConfigurationError, Withheld
from drag_graph.model import Aggregation
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.students.nearest_student import NearestStudent
from drag_graph.ports.community_store import Community, CommunityChanges
from drag_graph.privacy.failsafe_rewriter import GuardedRewriter
from drag_graph.privacy.privacy_gate import PrivacyGate
from drag_graph.settings import Settings
from drag_graph.sites import wire
from drag_graph.sites.cloud.cloud import Cloud
from drag_graph.sites.cloud.cloud_asker import CloudAsker
from drag_graph.sites.cloud.site_management import StoredSites
from drag_graph.sites.cloud.work_board import AWAY, WorkBoard
from drag_graph.sites.cloud_client import CloudClient
from drag_graph.sites.passage_release import GONE, KEPT, NO_PASSAGES, Release
from drag_graph.sites.site_folder import read_token, set_settings, write_token
from drag_graph.sites.site_service import Knowledge, SiteService
from drag_graph.sites.traffic_log import Traffic
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.dict_store import DictStore
from drag_graph.testing.rewriting import ToldRewriter

EMBEDDER = LexicalEmbedder()
ASKED = "How fast does the ice of glaciers flow?"
FLOWS = "The ice of glaciers flows some metres a day."
SECRET = "The ice of glaciers flows fast, says canary-4711."
MAIL = "Ask jane.roe@example.org how the ice of glaciers flows."


def document(name, text, namespace="default"):
    """A document subgraph of one passage, whose vector is the passage's, so that a question finds it."""
    vector = [float(x) for x in EMBEDDER.embed([text])[0]]
    triples = [("ice", "flows", f"valley of {name}", 0.9, 0)]
    graph = make_subgraph(name, namespace=namespace, triples=triples, evidence=[text], dropped=(), embedding=vector)
    assert name in graph.title
    return graph


class Folder:
    """The folder of a site: a store, settings, and the traffic log."""

    def __init__(self, path, address, token, *, name="alps", gate=None, **settings):
        self.settings = Settings(embedder="lexical", store=str(path / "graph.lbug"), **settings)
        self.store = DictStore()
        self.store.migrate()
        self.store.embedder((EMBEDDER.name, EMBEDDER.dimension))
        self.traffic = Traffic(self.settings.traffic_path)
        check = (lambda _texts: None) if gate is None else gate.outgoing
        self.connected = lambda: CloudClient(address, name, token, check=check, traffic=self.traffic)
        self.client = self.connected()
        self.release = Release(self.settings.release, self.settings.never_leave, gate.generalised_passage if gate else None)

    def service(self, client=None):
        knowledge = Knowledge(self.settings, lambda: contextlib.nullcontext(self.store), EMBEDDER)
        return SiteService(client or self.client, knowledge, self.release, poll_seconds=0.5)

    @contextlib.contextmanager
    def serving(self):
        """Serve in a thread."""
        stop = threading.Event()
        with self.connected() as client:
            thread = threading.Thread(target=self.service(client).run, args=[stop])
            thread.start()
            yield
            stop.set()
            thread.join(60)

    def tell(self, *documents):
        """Store documents, each with a community of its own."""
        self.store.save(documents, Aggregation())
        for graph in documents:
            self.describe(graph.source_id, graph.title, graph.evidence[0].text, [entity.id for entity in graph.entities])

    def describe(self, id_, name, summary, entities):
        """Store a community with its summary."""
        made = Community(id_, "hash", name, summary, "rules")
        self.store.communities.write(CommunityChanges([made], joined=[(entity, id_) for entity in entities]))
        assert self.store.communities.write(CommunityChanges(summarised=[made])) == 1

    def drop(self, id_):
        (going,) = [one for one in self.store.communities.read() if one.id == id_]
        self.store.communities.write(CommunityChanges(left=going.entities, gone=[id_]))


@pytest.fixture(scope="module")
def cloud():
    settings = Settings(embedder="lexical", asked_seconds=30.0)
    store, board = DictStore(), WorkBoard()
    store.migrate()
    return Cloud(store, EMBEDDER, CloudAsker(settings, store.registry, EMBEDDER, NearestStudent(EMBEDDER), board), board)


@pytest.fixture(scope="module")
def address(cloud, tmp_path_factory):
    with serving_sites(cloud, tmp_path_factory.mktemp("cloud")) as address:
        yield address


@pytest.fixture
def folder(cloud, address, tmp_path):
    """Make the folder of a site that the cloud knows."""
    made = []

    def make(name="alps", network=address, **settings):
        (tmp_path / name).mkdir()
        made.append(Folder(tmp_path / name, network, StoredSites(cloud.store).add(name), name=name, **settings))
        return made[-1]

    yield make
    for one in made:
        one.client.close()
    for site in cloud.store.registry.sites():
        cloud.store.erase([site.id])
        cloud.board.forget(site.id)


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to this"
        time.sleep(0.02)


def online(cloud, name="alps"):
    return lambda: {one["name"]: one["online"] for one in cloud.listing()}[name]


def gate(**told):
    return PrivacyGate(GuardedRewriter(ToldRewriter(told)))


def test_a_site_answers_what_the_cloud_asks(cloud, folder):
    alps, asker = folder(release="passages"), folder("asker")
    alps.tell(document("alps", FLOWS))
    with alps.serving():
        until(online(cloud))
        answer = asker.client.ask(ASKED)
    assert {(line.site, line.kind) for line in answer.lines} >= {("alps", "evidence")}
    assert FLOWS in {line.text for line in answer.lines}
    assert answer.missing == ()
    (stored,) = alps.store.read([document("alps", FLOWS).source_id])
    evidence = {item.id for item in stored.evidence}
    assert evidence & {line.ref for line in answer.lines}, "the site can find its own line again"


def test_a_summary_that_leaves_is_sent_once(cloud, folder):
    alps = folder()
    alps.tell(document("alps", FLOWS), document("bakery", "Bread is baked in an oven."))
    with alps.serving():
        until(online(cloud))
    assert [one.summaries for one in cloud.store.registry.sites()] == [2]
    alps.drop(document("alps", FLOWS).source_id)
    service = alps.service()
    service._sync()
    assert [one.summaries for one in cloud.store.registry.sites()] == [1]
    by_kind = {row.kind: row for row in alps.traffic.rows()}
    assert (by_kind["summaries"].texts, by_kind["summaries"].requests) == (2, 1)
    assert by_kind["sync"].requests == 2
    assert by_kind["summaries"].bytes_out > len(FLOWS)
    assert alps.traffic.last_sync()["summaries"] == 1


def test_nothing_is_released_unless_that_is_said(cloud, folder):
    alps, asker = folder(), folder("asker")
    alps.tell(document("alps", FLOWS))
    with alps.serving():
        until(online(cloud))
        answer = asker.client.ask(ASKED)
    assert answer.lines == ()
    assert [one.reason for one in answer.missing] == [NO_PASSAGES]
    until(lambda: "passages" in {row.kind for row in alps.traffic.rows()})
    assert sum(row.texts for row in alps.traffic.rows() if row.kind == "passages") == 0


def test_what_never_leaves_does_not_leave_in_passages_summaries_or_names(cloud, folder, monkeypatch):
    sent = []
    stream = httpx.Client.stream
    monkeypatch.setattr(
        httpx.Client, "stream", lambda self, *args, **more: sent.append(more["content"]) or stream(self, *args, **more)
    )
    alps, asker = folder(release="passages", never_leave=("*canary*",)), folder("asker")
    kept_back = document("canary: what the ice of glaciers does", SECRET)
    alps.tell(document("alps", FLOWS), kept_back)
    with alps.serving():
        until(online(cloud))
        answer = asker.client.ask(ASKED)
    assert {line.site for line in answer.lines} == {"alps"}
    (asked,) = answer.asked
    assert asked.withheld == 0, "the number would tell that something is there"
    assert len(sent) > 4
    assert not [body for body in sent if re.search(rb"canary|4711", body)]
    assert [one.summaries for one in cloud.store.registry.sites() if one.name == "alps"] == [1]


def test_what_never_leaves_takes_no_place_among_what_is_found(cloud, folder):
    alps, asker = folder(release="passages", never_leave=("*canary*",)), folder("asker")
    nearer = [
        document(f"canary {n}", f"{ASKED} canary-{n}, how fast the ice of glaciers does flow")
        for n in range(wire.MOST_PASSAGES)
    ]
    alps.tell(document("alps", FLOWS), *nearer)
    with alps.serving():
        until(online(cloud))
        answer = asker.client.ask(ASKED)
    assert FLOWS in {line.text for line in answer.lines}


def audited(asker, answer):
    """What is behind the lines of an answer, each with its text."""
    names = {"source_id", "kind", "ref", "site", "receipt"}
    lines = [wire.GivenLine(**line.model_dump(include=names)) for line in answer.lines]
    return dict(zip([line.text for line in answer.lines], asker.client.audit(lines), strict=True))


def test_an_audit_goes_on_at_the_site_that_released_the_line(cloud, folder, monkeypatch):
    alps, asker = folder(release="passages"), folder("asker")
    alps.tell(document("alps", FLOWS), document("canary", SECRET))
    with alps.serving():
        until(online(cloud))
        answer = asker.client.ask(ASKED)
        behind = audited(asker, answer)
    kinds = {line.text: line.kind for line in answer.lines}
    assert set(kinds.values()) == {"evidence", "edge"}
    for text, origin in behind.items():
        (passage,) = origin.passages
        assert passage.kind == "evidence"
        assert passage.text == text if kinds[text] == "evidence" else passage.text in {FLOWS, SECRET}
    asked = {row.kind: (row.requests, row.texts) for row in alps.traffic.rows()}
    assert asked["audit"] == (1, len(behind)), "the site can see that it was asked"
    assert {row.kind: row.texts for row in asker.traffic.rows()}["audit"] == 0

    # What is to stay from now on stays, though its line was given before.
    sent = []
    stream = httpx.Client.stream
    monkeypatch.setattr(
        httpx.Client, "stream", lambda self, *args, **more: sent.append(more["content"]) or stream(self, *args, **more)
    )
    alps.release = Release("passages", ("*canary*",), None)
    alps.store.erase([document("alps", FLOWS).source_id])
    with alps.serving():
        until(online(cloud))
        told = audited(asker, answer)
    assert told[FLOWS].problem == GONE
    assert told[SECRET].problem == KEPT
    assert {(one.passages, one.problem) for one in told.values()} == {((), GONE), ((), KEPT)}
    assert [body for body in sent if b"does not release what is behind" in body]
    assert not [body for body in sent if re.search(rb"canary|4711", body)]

    alps.release = Release("nothing", (), None)
    with alps.serving():
        until(online(cloud))
        assert {one.problem for one in audited(asker, answer).values()} == {NO_PASSAGES}
    cloud.board.forget(cloud.store.registry.sites()[0].id)
    assert {one.problem for one in audited(asker, answer).values()} == {AWAY}


def test_an_audit_of_which_the_gate_lets_nothing_out_counts_all_that_stays(cloud, folder):
    alps = folder(release="passages")
    work = wire.SiteWork(id="w", seconds=5.0, lines=(wire.LineRef(source_id="d", kind="evidence", ref="e"),))
    sent = []

    class Client:
        def reply(self, _id, reply):
            sent.append(reply)
            if len(sent) == 1:
                raise Withheld("privacy: a finding")
            return True

    passage = wire.ReleasedPassage(kind="evidence", ref="e", source_id="d", text=FLOWS)
    service = alps.service()
    service._client = Client()
    service._reply_to = lambda _work: wire.SiteOrigins(lines=(wire.SiteReply(passages=(passage,), withheld=2),))
    service._answer(work)
    (line,) = sent[1].lines
    assert (line.passages, line.withheld, line.problem) == ((), 3, KEPT)


def test_what_is_behind_a_line_is_generalised_first(cloud, folder):
    alps = folder(release="passages", gate=gate(Zermatt=("PLACE", "a village")))
    asker = folder("asker")
    alps.tell(document("Zermatt", f"{FLOWS} So in Zermatt."))
    with alps.serving():
        until(online(cloud))
        behind = audited(asker, asker.client.ask(ASKED))
    assert {item.text for one in behind.values() for item in one.passages} == {f"{FLOWS} So in a village."}


def test_what_leaves_is_generalised_first(cloud, folder):
    alps, asker = folder(release="passages", gate=gate(Zermatt=("PLACE", "a village"))), folder("asker")
    alps.tell(document("Zermatt", f"{FLOWS} So in Zermatt. {MAIL}"))
    with alps.serving():
        until(online(cloud))
        answer = asker.client.ask(ASKED)
    said = answer.model_dump_json() + "".join(hit.text for hit in cloud.store.registry.nearest(EMBEDDER.embed([ASKED])[0], 9))
    assert "So in a village" in said
    assert "Zermatt" not in said
    assert "jane.roe" not in said
    assert all(line.generalised for line in answer.lines if "village" in line.text)


def test_nobody_learns_by_a_name_what_a_generalised_line_is_about(cloud, folder):
    alps, asker = folder(release="passages", gate=gate(Zermatt=("PLACE", "a village"))), folder("asker")
    alps.tell(document("alps", FLOWS), document("toll", "Zermatt levies a toll."))
    with alps.serving():
        until(online(cloud))
        said = [{line.text for line in asker.client.ask(f"{name}?").lines} for name in ("Zermatt", "Pontresina")]
        assert said == [set(), set()]
        answer = asker.client.ask("Who levies a toll?")
    assert "a village levies a toll." in {line.text for line in answer.lines}


def test_a_passage_that_the_gate_cannot_let_out_stays(cloud, folder):
    class Failing(ToldRewriter):
        def rewrite(self, question, options):
            if "metres" in question:
                raise ValueError("a detector broke")
            return super().rewrite(question, options)

    alps, asker = folder(release="passages", gate=PrivacyGate(GuardedRewriter(Failing()))), folder("asker")
    alps.tell(document("alps", FLOWS))
    ice = make_subgraph("ice", triples=[("ice", "flows", "away", 0.9, 0)], evidence=["Ice flows."], dropped=())
    alps.tell(ice)
    with alps.serving():
        until(online(cloud))
        answer = asker.client.ask(ASKED)
    assert FLOWS not in {line.text for line in answer.lines}
    assert answer.asked[0].withheld >= 1


def test_a_question_with_private_details_does_not_leave(folder):
    asker = folder("asker", gate=gate())
    with pytest.raises(Exception, match="EMAIL"):
        asker.client.ask(MAIL)
    assert not [row for row in asker.traffic.rows() if row.kind == "question"]


def test_a_cloud_that_does_not_know_the_site_never_sees_its_token(cloud, address, folder, tmp_path):
    stranger = Folder(tmp_path, address, "not the token", name="stranger")
    with pytest.raises(CloudRefused, match="does not know the site 'stranger' by its token"):
        stranger.client.ask(ASKED)
    assert [row.kind for row in stranger.traffic.rows()] == ["hello"]
    alps = folder()
    alps.client.connect()
    StoredSites(cloud.store).remove("alps")
    with pytest.raises(CloudRefused, match="no longer knows the site 'alps'"):
        alps.client.work(0)
    with pytest.raises(CloudRefused, match="does not know the site 'alps'"):
        alps.service().run(threading.Event())


@pytest.mark.parametrize("said", [b"", b"<html>Log in to the hotel's network</html>", b'{"proof": "short", "version": 1}'])
def test_what_is_no_cloud_is_waited_for(tmp_path, said):
    import http.server

    class Other(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        site = Folder(tmp_path, f"http://127.0.0.1:{server.server_address[1]}", "token")
        with pytest.raises(CloudUnavailable):
            site.client.ask(ASKED)
        server.shutdown()
        site.client.close()


def test_a_network_takes_tls_or_the_word_for_it(tmp_path):
    with pytest.raises(ConfigurationError, match="not encrypted"):
        Folder(tmp_path, "http://cloud.example.org", "token")
    wire.require_safe("http://cloud.example.org", insecure=True)
    wire.require_safe("https://cloud.example.org", insecure=False)
    with pytest.raises(ConfigurationError, match="not encrypted"):
        wire.require_safe("http://127.0.0.1.example.org", insecure=False)


def test_tls_by_a_certificate_of_ones_own(cloud, tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    make += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(make, check=True, capture_output=True)
    settings = Settings(embedder="lexical")
    board = WorkBoard()
    asker = CloudAsker(settings, cloud.store.registry, EMBEDDER, NearestStudent(EMBEDDER), board)
    token = StoredSites(cloud.store).add("tls")
    with serving_sites(Cloud(cloud.store, EMBEDDER, asker, board), tmp_path, certificate=cert, key=key) as address:
        assert address.startswith("https://")
        known = CloudClient(address, "tls", token, ca=str(cert), check=lambda _: None, traffic=Traffic(tmp_path / "traffic"))
        with known:
            known.connect()
        unknown = CloudClient(address, "tls", token, check=lambda _: None, traffic=Traffic(tmp_path / "traffic"))
        with unknown, pytest.raises(CloudUnavailable, match=r"(?i)certificate"):
            unknown.connect()
    StoredSites(cloud.store).remove("tls")
    with pytest.raises(ConfigurationError, match="Cannot use the certificates"):
        CloudClient(address, "tls", token, ca=str(key), check=lambda _: None, traffic=Traffic(tmp_path / "traffic"))
    assert ssl.OPENSSL_VERSION


def test_the_token_is_its_owners(tmp_path):
    path = tmp_path / "edge-token"
    with pytest.raises(ConfigurationError, match="Cannot read the token"):
        read_token(path)
    write_token(path, "abc")
    assert read_token(path) == "abc"
    path.chmod(0o640)
    with pytest.raises(ConfigurationError, match="Other users can read"):
        read_token(path)


def test_settings_are_put_into_a_file_that_keeps_the_rest(tmp_path):
    path = tmp_path / "drag-graph.toml"
    set_settings(path, {"cloud": "http://127.0.0.1:1", "insecure": False})
    path.write_text(f"# ours\nstudent = 'x'\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    set_settings(path, {"cloud": 'a"b\\1', "never_leave": ("*.pdf", "ü")})
    text = path.read_text(encoding="utf-8")
    assert text == '# ours\nstudent = \'x\'\ncloud = "a\\"b\\\\1"\ninsecure = false\nnever_leave = ["*.pdf", "ü"]\n'
    path.write_text('never_leave = [  # mine\n"a",\n]\n\n[other]\nrelease = 1\n', encoding="utf-8")
    set_settings(path, {"release": "passages", "never_leave": ("b",)})
    assert tomllib.loads(path.read_text(encoding="utf-8")) == {
        "never_leave": ["b"],
        "release": "passages",
        "other": {"release": 1},
    }
    path.write_text("release = [\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="is not valid TOML"):
        set_settings(path, {"release": "passages"})
    assert path.read_text(encoding="utf-8") == "release = [\n"


@pytest.fixture
def proxy(address):
    with contextlib.ExitStack() as opened:

        def make(**faults):
            one = Proxy(address, **faults)
            opened.callback(one.close)
            return one

        yield make


def test_over_a_network_that_delays_and_drops_every_question_ends(cloud, folder, proxy, monkeypatch):
    monkeypatch.setattr("drag_graph.sites.site_service.FIRST_PAUSE", 0.05)
    bad = proxy(delay=0.01, cuts=lambda number: None if number % 3 == 0 else 1500 * number)
    alps, asker = folder(release="passages", network=bad.address), folder("asker")
    alps.tell(document("alps", FLOWS))
    with alps.serving():
        until(online(cloud))
        answers = []
        for turn in range(6):
            if turn == 3:
                bad.cut()
            answers.append(asker.client.ask(ASKED))
        until(online(cloud))
        answers.append(asker.client.ask(ASKED))
    for answer in answers:
        assert {line.site for line in answer.lines} == {"alps"} or {one.site for one in answer.missing} == {"alps"}
    assert [answer for answer in answers if answer.lines], "some came through"
    assert bad.connections > 1
    assert len([row for row in alps.traffic.rows() if row.kind == "summaries"]) == 1
    assert [one.summaries for one in cloud.store.registry.sites() if one.name == "alps"] == [1]


def test_a_site_waits_for_its_cloud_with_growing_pauses(folder, caplog):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    alps = folder(network=address)
    stop = threading.Event()
    thread = threading.Thread(target=alps.service().run, args=[stop])
    with caplog.at_level("WARNING", "drag_graph"):
        thread.start()
        until(lambda: len(caplog.records) >= 3)
        stop.set()
        thread.join(60)
    pauses = [record.drag_graph_fields["seconds"] for record in caplog.records[:3]]
    assert pauses == sorted(pauses)
    assert 0.25 <= pauses[0] <= 0.5
    assert 1.0 <= pauses[2] <= 2.0
