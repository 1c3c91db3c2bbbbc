"""What jobs accept as documents: names, media types, and addresses of pages, which never lead into this machine's networks."""

import contextlib
import socket
import threading

import httpx
import pytest
from test_service_jobs import JOBS, ended, serving, submit

from drag_graph.errors import ConfigurationError, DocumentUnusable
from drag_graph.service import job_work, page_fetch
from drag_graph.service.errors import RequestRefused
from drag_graph.service.job_work import check_name
from drag_graph.service.limits import Limits
from drag_graph.service.page_fetch import fetch_page

PUBLIC = "93.184.216.34"
HOSTS = {
    "public.example": [PUBLIC],
    "other.example": ["2606:2800:220:1:248:1893:25c8:1946"],
    "inner.example": ["10.0.0.7"],
    "metadata.example": ["169.254.169.254"],
    "two.example": [PUBLIC, "127.0.0.1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "translated.example": ["64:ff9b::7f00:1"],
    "tunnel.example": ["2002:7f00:1::"],
    "site.example": ["fec0::1"],
    "stateless.example": ["::ffff:0:7f00:1"],
    "nowhere.example": [],
}
PRIVATE = [
    *("http://127.0.0.1/", "http://127.0.0.1:8080/x", "http://2130706433/", "http://0x7f.1/", "http://0/", "http://[::1]/"),
    *("http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "http://192.168.1.1/", "http://172.16.0.1/"),
    *("http://100.64.0.1/", "http://[fe80::1%25eth0]/", "http://[fd00::1]/", "http://[::ffff:10.0.0.1]/", "http://224.0.0.1/"),
    *("http://inner.example/", "http://metadata.example/", "http://two.example/", "http://mapped.example/"),
    *(
        "http://translated.example/",
        "http://tunnel.example/",
        "http://site.example/",
        "http://stateless.example/",
        "http://nowhere.example/",
        "http://localhost/",
    ),
    *("file:///etc/passwd", "ftp://public.example/", "gopher://public.example/", "http://user:pw@public.example/", "//x", ""),
]


def find(host, port):
    """Resolve the hosts of these tests, and addresses in every way in which the system reads them."""
    try:
        return HOSTS[host] if host in HOSTS else [socket.inet_ntoa(socket.inet_aton(host))]
    except OSError:
        return ["127.0.0.1" if host == "localhost" else host]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("service"), Limits(allows_urls=True)) as client:
        client.headers["Authorization"] = f"Bearer {client.ring.add('a', 'editor', ['default'])[0]}"
        yield client


def refused(client, **values):
    reply = client.post(f"{JOBS}/ingest", **values)
    assert client.get(JOBS).json() == {"jobs": []}
    return reply.status_code, reply.json()["error"]["type"]


@pytest.mark.parametrize(
    "name",
    [
        *("../x.txt", "a/b.txt", "/etc/x.txt", "..\\x.txt", "C:x.txt", ".hidden.txt", ".."),
        *(f"{'x' * 300}.txt", " x.txt"),
    ],
)
def test_names_with_paths_are_refused(client, name):
    assert refused(client, files={"files": (name, "Text.", "text/plain")}) == (422, "NameRefused")
    assert refused(client, data={"text": "Text.", "name": name}) == (422, "NameRefused")


@pytest.mark.parametrize("name", ["", "a\nb.txt", "a\0b.txt", "a\u202eb.txt", "\udcff.txt"], ids=repr)
def test_names_that_cannot_be_printed_are_refused(name):
    with pytest.raises(RequestRefused, match="is not a usable file name"):
        check_name(name)


def test_two_files_of_one_name_are_refused(client):
    files = [("files", (name, "Text.", "text/plain")) for name in ("a.txt", "A.txt")]
    assert refused(client, files=files) == (422, "NameRepeated")


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("setup.exe", "application/x-msdownload"), ("setup.exe", "text/plain"), ("setup.txt", "application/x-msdownload"),
        ("setup.pdf", "text/plain"), ("setup", "text/plain"), ("page.html", "image/png"), ("archive.zip", "application/zip"),
    ],
)  # fmt: skip
def test_other_media_types_are_refused(client, name, declared):
    assert refused(client, files={"files": (name, b"MZ\x90", declared)}) == (415, "MediaTypeRefused")


@pytest.mark.parametrize(
    "data",
    [
        {}, {"text": "Text."}, {"name": "a"}, {"text": "Text.", "name": "a", "url": "https://public.example/"},
        {"text": " ", "name": "a"}, {"text": "Text.", "name": "a", "teacher": "openai/x"},
    ],
    ids=str,
)  # fmt: skip
def test_a_form_has_documents_of_one_kind(client, data):
    assert refused(client, data=data) == (422, "DocumentsRefused")
    assert refused(client, json={"text": "Text.", "name": "a"}) == (422, "DocumentsRefused")


def test_a_form_without_a_valid_key_is_not_read(client, monkeypatch):
    monkeypatch.setattr("starlette.requests.Request.form", lambda *_, **__: pytest.fail("the form was read"))
    headers = {"Authorization": "Bearer wrong"}
    assert client.post(f"{JOBS}/ingest", files={"files": ("a.txt", "Text.")}, headers=headers).status_code == 401


def test_programs_declare_text_files_in_many_ways(tmp_path):
    declared = {"a.txt": "", "b.csv": "application/vnd.ms-excel", "c.md": "text/plain", "d.jsonl": "application/json"}
    with serving(tmp_path) as client:
        files = [("files", (name, '{"a": "The Moon causes tides."}\n', kind)) for name, kind in declared.items()]
        job = ended(client, submit(client, "ingest", files=files))
        assert job["state"] == "done"


@pytest.mark.parametrize("url", PRIVATE)
def test_addresses_that_are_not_public_are_refused_before_the_job(client, url, monkeypatch):
    monkeypatch.setattr("drag_graph.service.job_routes.public_address", lambda url: page_fetch.public_address(url, find))
    assert refused(client, data={"url": url})[0] == 422


@pytest.mark.parametrize("url", [url for url in PRIVATE if "://" in url])
def test_a_redirect_to_them_is_not_followed(url):
    asked = []

    def answer(request):
        asked.append(request)
        return httpx.Response(302, headers={"location": url})

    with pytest.raises((ConfigurationError, DocumentUnusable)):
        fetch_page("http://public.example/", find=find, transport=httpx.MockTransport(answer))
    assert [request.url.host for request in asked] == [PUBLIC]


def test_a_name_that_resolves_differently_later_changes_nothing():
    """The address that was checked is the one that is connected to (DNS rebinding)."""
    looked, asked = [], []

    def rebinding(host, port):
        looked.append(host)
        return [PUBLIC] if len(looked) == 1 else ["127.0.0.1"]

    def answer(request):
        asked.append(request)
        return httpx.Response(200, headers={"content-type": "text/html; charset=utf-8"}, content=b"<p>The Moon causes tides.")

    page = fetch_page("https://public.example:8443/a/tides?x=1", find=rebinding, transport=httpx.MockTransport(answer))
    assert (page.name, looked) == ("tides.html", ["public.example"])
    (request,) = asked
    assert (request.url.host, request.headers["host"]) == (PUBLIC, "public.example:8443")
    assert request.extensions["sni_hostname"] == "public.example"


def test_redirects_to_other_public_hosts_are_followed_up_to_a_limit():
    def answer(request):
        if request.headers["host"] == "other.example":
            return httpx.Response(200, headers={"content-type": "text/plain"}, content=b"Found.")
        return httpx.Response(301, headers={"location": "https://other.example/b"})

    transport = httpx.MockTransport(answer)
    assert fetch_page("http://public.example/", find=find, transport=transport).content == b"Found."
    loop = httpx.MockTransport(lambda _request: httpx.Response(301, headers={"location": "/again"}))
    with pytest.raises(DocumentUnusable, match="more than 5 times"):
        fetch_page("http://public.example/", find=find, transport=loop)


@pytest.mark.parametrize(
    "reply",
    [
        httpx.Response(200, headers={"content-type": "application/x-msdownload"}, content=b"MZ"),
        httpx.Response(404, headers={"content-type": "text/html"}),
        httpx.Response(200, headers={"content-type": "text/plain"}, content=b"x" * 101),
    ],
)
def test_other_pages_are_not_read(reply, monkeypatch):
    monkeypatch.setattr(page_fetch, "LARGEST_PAGE", 100)
    with pytest.raises(DocumentUnusable):
        fetch_page("http://public.example/", find=find, transport=httpx.MockTransport(lambda _request: reply))


def test_a_page_that_sends_its_headers_slowly_is_given_up(monkeypatch):
    monkeypatch.setattr(page_fetch, "SECONDS", 0.5)
    monkeypatch.setattr(page_fetch, "_is_public", lambda _address: True)
    given_up = threading.Event()

    def drip(server):
        with server.accept()[0] as connection:
            connection.recv(1000)
            with contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nx: ")
                for _ in range(50):
                    if given_up.wait(0.1):
                        return
                    connection.sendall(b"x")
                connection.sendall(b"\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        with pytest.raises(DocumentUnusable, match=r"more than 0\.5 seconds"):
            fetch_page(f"http://127.0.0.1:{server.getsockname()[1]}/", find=lambda *_: ["127.0.0.1"])
        given_up.set()
        thread.join()


@pytest.mark.parametrize("path", [f"/{'ä' * 200}", f"/{'.' * 200}", f"/{'x' * 500}.html", "/"])
def test_the_name_of_a_page_is_a_usable_file_name(path, tmp_path):
    reply = httpx.Response(200, headers={"content-type": "text/html"}, content=b"x")
    host = ".".join(["x" * 60] * 4)
    page = fetch_page(f"http://{host}{path}", find=lambda *_: [PUBLIC], transport=httpx.MockTransport(lambda _: reply))
    assert len(page.name.encode()) <= 105
    assert page.name.endswith(".html")
    assert not page.name.startswith(".")


def test_a_page_is_a_document_with_its_address(tmp_path, monkeypatch):
    page = page_fetch.FetchedPage("tides.html", b"<p>The Moon causes tides.</p>")
    monkeypatch.setattr(job_work, "fetch_page", lambda _url: page)
    monkeypatch.setattr("drag_graph.service.job_routes.public_address", lambda _url: PUBLIC)
    with serving(tmp_path, Limits(allows_urls=True)) as client:
        url = "https://public.example/tides"
        assert ended(client, submit(client, "ingest", data={"url": url}))["state"] == "done"
        assert [item.source.uri for item in client.graph.show().subgraphs] == [url]


def test_urls_are_refused_unless_allowed(tmp_path):
    with serving(tmp_path) as client:
        assert refused(client, data={"url": "https://public.example/"}) == (403, "UrlsRefused")
