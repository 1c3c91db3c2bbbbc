"""The pages of the service for browsers: what they show, what they escape, and who may send their forms."""

import json
import re
from contextlib import closing
from html import unescape
from html.parser import HTMLParser
from typing import ClassVar

import pytest
from fastapi.testclient import TestClient
from service_clients import BASE, QUESTION, TEXTS, events_of, filled_graph, local_client

from drag_graph.app import DragGraph
from drag_graph.errors import ReplyError
from drag_graph.inputs import make_query
from drag_graph.ledger import Ledger
from drag_graph.ledger.tape import Attempt
from drag_graph.ports.model_roles import TeacherRequest
from drag_graph.ports.teacher_replies import EvidenceReply
from drag_graph.report.audit_views import answer_view
from drag_graph.report.graph_picture import SCRIPTS
from drag_graph.report.offline_page import MEDIA_TYPES, fragment, offline_page, web_file
from drag_graph.service.job_table import JobTable
from drag_graph.service.keys import KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.service_app import service_app

BROWSER = {"Accept": "text/html"}
HOSTILE = "<script>alert(1)</script><svg onload=alert(2)> javascript:alert(3) \"' \u202egnp.exe " + "w" * 10_000
MOST_OWN_BYTES, MOST_BYTES = 150_000, 600_000
TIDES = "What causes tides?"


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    with filled_graph(folder, privacy="standard", teacher=teacher_in(folder)) as graph:
        graph.ingest(
            text=f"# {HOSTILE}\n\nThe zeppelin of Friedrichshafen carries {HOSTILE}.", name="evil<b>.md", tags=["<i>tag"]
        ).result()
        yield graph


@pytest.fixture(scope="module")
def client(graph):
    with local_client(graph, with_jobs=True, headers=BROWSER) as client:
        yield client


def teacher_in(folder):
    """A teacher that knows about tides."""
    facts = {"question": TIDES, "options": ["Wind", "The Moon"], "evidence": ["The Moon causes the tides of the sea."]}
    (folder / "facts.jsonl").write_text(json.dumps(facts) + "\n")
    return f"curated:{folder / 'facts.jsonl'}"


class Tags(HTMLParser):
    """Collects the tags of a page as a browser would find them."""

    own_scripts: ClassVar = [
        {"type": "module", "src": f"/static/{name}?v={web_file(name).version}"} for name in ("page.js", *SCRIPTS)
    ]

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def token(client, path="/"):
    return re.search(r'name="token" value="(\w+)"', client.get(path).text)[1]


def asked(client, question=QUESTION, **values):
    return client.post("/ask", data={"token": token(client), "question": question, **values})


def sections(page):
    return re.findall(r"<(?:h[123]|summary)>(.*?)</", page)


def check(reply, status=200):
    """A page is HTML with a strict policy, and nothing in it runs or is styled on the spot."""
    assert reply.status_code == status, reply.text[-700:]
    assert reply.headers["content-type"].startswith("text/html")
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    page = reply.text
    tags = Tags()
    tags.feed(page)
    names = {name for name, _ in tags.found}
    assert names.isdisjoint({"svg", "style", "b", "i", "iframe", "object"})
    scripts = [attributes for name, attributes in tags.found if name == "script"]
    assert scripts in (tags.own_scripts[:1], tags.own_scripts)
    for _, attributes in tags.found:
        assert not {name for name in attributes if name == "style" or name.startswith("on")}
        assert all(attributes.get(name, "/").startswith(("/", "#", "data:,")) for name in ("href", "src", "action"))
    assert "\u202e" not in page
    return page


PLACES = ["/", "/answers", "/sources", "/sources?q=turbine", "/graph", "/graph?q=turbine", "/jobs", "/jobs?kind=link"]


@pytest.mark.parametrize("path", [*PLACES, "/privacy", "/sign-in", "/distill"])
def test_each_page_is_safe_html(client, path):
    assert "<h1>" in check(client.get(path))


def test_a_form_answers_without_a_script_and_its_citation_leads_to_the_line(client):
    page = check(asked(client))
    assert TEXTS["steam.txt"] in page
    href = re.search(r'class="chip" href="(/answers/\w+)#(line-\d+)"', page)
    why = check(client.get(href[1]))
    assert f'id="{href[2]}"' in why
    assert f"<mark>{TEXTS['steam.txt']}</mark>" in why


def test_a_streamed_answer_ends_with_its_html(client):
    data = {"token": token(client), "question": QUESTION}
    reply = client.post("/ask", data=data, headers={"Accept": "text/event-stream"})
    name, document = events_of(reply.text)[-1]
    assert name == "answer"
    assert TEXTS["steam.txt"] in document


def test_an_unanswered_question_says_what_to_do_next(client):
    page = check(asked(client, "Qqqq zzzz?"))
    assert "Nothing relevant is stored" in page
    assert "Add documents" in page


def test_hostile_texts_are_escaped_everywhere(client, graph):
    assert "&lt;script&gt;" in check(asked(client, HOSTILE, tags=HOSTILE[:90], options=f"{HOSTILE[:90]}\nsand"))
    page = check(asked(client, "What does the zeppelin of Friedrichshafen carry?"))
    id_ = re.search(r"/answers/(\w+)", page)[1]
    why = check(client.get(f"/answers/{id_}"))
    assert "&lt;script&gt;" in why
    offline = graph.audit(id_).to_html()
    tags = Tags()
    tags.feed(offline)
    assert {name for name, _ in tags.found}.isdisjoint({"script", "svg", "b", "i", "iframe", "object", "form"})
    assert not re.findall(r'(?:src|href|action)="(?!#|data:,")', offline)
    assert "\u202e" not in offline
    assert sections(offline) == [text for text in sections(why) if text != "Right or wrong?"]
    check(client.get(f"/graph?answer={id_}"))
    listed = check(client.get("/sources"))
    assert "evil&lt;b&gt;.md" in listed
    assert "&lt;i&gt;tag" in listed
    source = next(one.source_id for one in graph.show() if one.title.startswith("evil"))
    assert "&lt;script&gt;" in check(client.get(f"/sources/{source}"))
    check(client.get(f"/sources/{source}/erase"))
    assert "evil" in check(client.get(f"/graph?source={source}"))
    check(client.get("/graph", params={"q": HOSTILE[:500]}))
    check(client.get("/answers"))
    check(client.get("/sources", params={"q": HOSTILE[:500]}))
    check(client.post("/privacy", data={"token": token(client), "question": HOSTILE}))
    hostile = {"token": token(client), "text": f"{HOSTILE}\n{HOSTILE} A) x B) x"}
    assert "&lt;script&gt;" in check(client.post("/distill", data=hostile))
    job = client.post("/distill", data={**hostile, "text": HOSTILE, "confirmed": "yes"})
    client.get(f"/api/v1{job.url.path}/events")
    assert "&lt;script&gt;" in check(client.get(job.url.path))


def test_an_unsupported_sentence_is_underlined_with_its_reason():
    document = {
        "answer_id": "abcd", "answer": "Steam [1]. In 1912 [7].", "label": None, "confidence": 0.5, "student": "s",
        "prompt_tokens": 3, "latency_ms": 2, "lines": [{"n": 1, "text": "Steam"}],
        "sentences": [
            {"text": "Steam [1].", "lines": [1], "supported": True},
            {"text": "In 1912 [7].", "lines": [], "supported": False, "absent": ["1912"]},
        ],
    }  # fmt: skip
    html = fragment("said.html", answer=answer_view(document, "q"))
    assert 'href="/answers/abcd#line-1"' in html
    assert "No source has 1912" in html
    assert html.count('class="chip"') == 1
    assert html.count('class="reason"') == 1


def test_an_offline_page_has_its_files_inside():
    html = offline_page("error.html", ["page.js"], title="T", message=HOSTILE, hint="h")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)[1].replace("&#39;", "'")
    assert policy.count("'sha256-") == 2
    assert "unsafe" not in policy
    assert f"<style>{web_file('style.css').content.decode()}</style>" in html
    assert f'<script type="module">{web_file("page.js").content.decode()}</script>' in html
    assert "<svg" not in html
    assert not re.findall(r'(?:src|href)="/static', html)


def test_files_are_small_and_kept_by_browsers(client):
    page = client.get("/graph").text
    paths = re.findall(r'"(/static/[^"]+)"', page)
    assert len(paths) == len(MEDIA_TYPES)
    for path in paths:
        assert "immutable" in client.get(path).headers["cache-control"]
        assert client.get(path.partition("?")[0]).headers["cache-control"] == "no-cache"
    assert client.get("/static/..%2fpages.py").status_code == 404
    sizes = {name: len(web_file(name).content) for name in MEDIA_TYPES}
    assert sum(sizes.values()) < MOST_BYTES
    assert sum(size for name, size in sizes.items() if not name.startswith("vendor/")) < MOST_OWN_BYTES


def test_an_unknown_answer_is_a_page_for_browsers_and_json_for_others(client):
    check(client.get(f"/answers/{'0' * 32}"), 404)
    assert client.get(f"/answers/{'0' * 32}", headers={"Accept": "*/*"}).json()["error"]["type"] == "NotStored"


FORMS = ["/ask", "/privacy", "/distill", "/sources/add", "/graph/merges", "/sign-in", "/sign-out"]


@pytest.mark.parametrize("path", [*FORMS, f"/sources/{'0' * 32}/erase", f"/jobs/{'0' * 32}/cancel"])
def test_a_form_of_another_site_is_refused(client, path):
    check(client.post(path, data={"question": "Why?", "token": "0" * 64}), 403)


def test_sources_are_found_by_name_passage_tag_kind_and_date(client):
    page = check(client.get("/sources", params={"q": "steam"}))
    names, passages = page.split("nearest to")
    assert "steam.txt" in names
    assert "wood.txt" not in names
    assert "<mark>Steam</mark> drives the turbine" in passages
    assert "wood.txt" in check(client.get("/sources", params={"state": "document"}))
    only = check(client.get("/sources", params={"tags": "<i>tag", "q": ""}))
    assert ("evil&lt;b&gt;.md" in only, "wood.txt" in only) == (True, False)
    for nothing in ({"state": "failed"}, {"since": "2031-01-01"}):
        assert "Nothing matches" in check(client.get("/sources", params=nothing))
    check(client.get("/sources", params={"state": "other"}), 422)


def test_a_conversation_stays_on_the_page_and_options_may_stand_in_the_question(client):
    first = check(asked(client, f"{QUESTION} A) Wind B) Steam"))
    assert "<strong>B.</strong> Steam" in first
    earlier = re.search(r'name="earlier" value="(\w+)"', first)[1]
    second = check(asked(client, "What drives the turbine of the old mill?", earlier=[earlier, "ffff"]))
    articles = re.findall(r'<article class="card answer".*?</article>', second, re.DOTALL)
    assert [TEXTS["wood.txt"] in articles[0], "Steam" in articles[1], len(articles)] == [True, True, 2]
    assert second.count('name="earlier"') == 2


def test_an_empty_store_says_what_to_do_first(tmp_path):
    with (
        DragGraph(tmp_path / "new.lbug", embedder="lexical") as graph,
        graph.store.held(),
        local_client(graph, headers=BROWSER) as client,
    ):
        for path in ("/", "/sources"):
            assert "Nothing is stored yet" in check(client.get(path))
        assert "drag-graph serve --teacher" in check(client.get("/distill"))


def test_questions_are_distilled_after_their_estimate_and_failures_have_reasons(tmp_path):
    with (
        filled_graph(tmp_path, teacher=teacher_in(tmp_path)) as graph,
        local_client(graph, with_jobs=True, headers=BROWSER) as client,
    ):
        values = {"token": token(client, "/distill"), "text": f"{TIDES} A) Wind B) The Moon\r\nWho?\nWhy? A) x B) x"}
        page = check(client.post("/distill", data=values))
        assert "Line 3: Options 1 and 2 are the same." in page
        assert '<th scope="row">Questions to ask</th><td>2</td>' in page
        assert graph.show(state="query").total == 0
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="(.*?)"', page, re.DOTALL))
        form = {name: unescape(value) for name, value in hidden.items()}
        job = client.post("/distill", data={**form, "budget_usd": "1"})
        client.get(f"/api/v1{job.url.path}/events")
        page = check(client.get(job.url.path))
        assert "1 complete, 1 failed" in page
        assert re.search(r"Who\?<div class=.small bad.>The curated file has no line", page)
        assert [one.query.options for one in graph.show(state="query")] == [("Wind", "The Moon")]
        file = {"file": ("q.csv", f"question,A,B\n{TIDES},Wind,The Moon\n".encode(), "text/csv")}
        page = check(client.post("/distill", data={"token": values["token"]}, files=file))
        assert "Nothing is left to ask" in page
        body = {"questions": [{"question": TIDES, "options": ["Wind", "The Moon"]}]}
        estimate = client.post("/api/v1/jobs/distill/estimate", json=body).json()
        assert estimate == graph.estimate_distill(body["questions"]).to_dict()
        page = check(asked(client, "Qqqq zzzz? A) Yy B) Xx"))
        assert 'href="/distill?question=Qqqq+zzzz%3F+A%29+Yy+B%29+Xx"' in page


def test_jobs_are_filtered_and_cancelled_and_an_export_is_downloaded(client, monkeypatch):
    export = client.post("/api/v1/jobs/export", json={}).json()["id"]
    client.get(f"/api/v1/jobs/{export}/events")
    href = re.search(r'href="(\S+)" download', check(client.get(f"/jobs/{export}")))[1]
    assert "turbine" in client.get(href).text
    monkeypatch.setattr(JobTable, "take", lambda _self: None)
    form = {"token": token(client), "name": "a.txt", "text": "Oil."}
    job = client.post("/sources/add", data=form).url.path
    assert "cancelled" in check(client.post(f"{job}/cancel", data=form))
    for state, listed in {"done": [True, False], "cancelled": [False, True]}.items():
        page = check(client.get("/jobs", params={"state": state, "kind": ""}))
        assert [f"/jobs/{export}" in page, job in page] == listed


def test_what_has_left_the_machine_is_counted_by_day_and_model(client, graph):
    attempt = Attempt([], {}, "", tokens_in=1234, tokens_out=5, cost_usd=0.25, created_at="2026-01-02T03:04:05+00:00")
    query = make_query("Is this <secret>?")
    request = TeacherRequest(query, "evidence", EvidenceReply, (), "v1")
    with Ledger(graph.settings.ledger_path) as ledger:
        for model in ("gpt-4o-mini", "ollama/llama3"):
            ledger.tape.quarantine(model, request, ReplyError("no"), [attempt])
    page = check(client.get("/privacy"))
    assert "<td>2026-01-02</td><td>gpt-4o-mini</td><td>questions</td><td>1</td><td>1,234 tokens</td><td>$0.2500</td>" in page
    assert "stayed on this machine: 1" in page
    assert "secret" not in page
    assert client.get("/api/v1/privacy/sent").json() == graph.privacy.sent().to_dict()


def test_a_pasted_text_is_added_by_a_job_and_deleted_after_a_list(tmp_path):
    with filled_graph(tmp_path) as graph, local_client(graph, with_jobs=True, headers=BROWSER) as client:
        values = {"token": token(client), "name": "note.txt", "text": "Oil drives the lamp.", "tags": "a, b"}
        job = client.post("/sources/add", data=values)
        assert "note.txt" in check(job)
        client.get(f"/api/v1{job.url.path}/events")  # until it has ended
        assert re.search(r'<a href="/sources/\w+">note.txt</a> <span[^>]*>added', check(client.get(job.url.path)))
        assert "note.txt" in check(client.get("/sources"))
        source = next(one.source_id for one in graph.show() if one.title == "note.txt")
        assert "This will be deleted" in check(client.get(f"/sources/{source}/erase"))
        left = client.post(f"/sources/{source}/erase", data={"token": token(client)})
        assert "note.txt" not in check(left)


def test_the_graph_of_an_answer_can_be_expanded_and_names_be_merged_and_parted(tmp_path):
    facts = {"What feeds the mill?": ("The river", "feeds", "the mill"), "What grinds corn?": ("mill", "grinds", "corn")}
    lines = [
        {
            "question": question,
            "evidence": [" ".join(fact)],
            "triples": [dict(zip(("subject", "predicate", "object"), fact, strict=True), evidence=[0], confidence=0.9)],
        }
        for question, fact in facts.items()
    ]
    curated = tmp_path / "facts.jsonl"
    curated.write_text("".join(json.dumps(line) + "\n" for line in lines))
    values = {"embedder": "lexical", "student": "nearest", "privacy": "off", "teacher": f"curated:{curated}"}
    with DragGraph(tmp_path / "graph.lbug", **values) as graph, local_client(graph, headers=BROWSER) as client:
        graph.distill(list(facts)).result()
        graph.link().result()
        id_ = graph.ask("What feeds the mill?").to_dict()["answer_id"]
        assert f"/graph?answer={id_}" in check(client.get(f"/answers/{id_}"))
        shown = client.get(f"/api/v1/graph?answer={id_}").json()
        mill = next(one for one in shown["entities"] if "mill" in one["name"])
        page = check(client.get(f"/graph?answer={id_}"))
        assert f'href="/graph?around={mill["around"][0]}"' in page
        around = client.get("/api/v1/graph", params={"around": mill["around"]}).json()
        assert {"river", "corn"} <= {one["name"].lower().removeprefix("the ") for one in around["entities"]}
        data = {"token": token(client, "/graph"), "query": f"answer={id_}"}
        merged = check(client.post("/graph/merges", data={**data, "one": "river", "other": "corn"}))
        assert "merged by person" in merged
        graph.link().result()
        assert len(client.get("/api/v1/graph").json()["entities"]) == 2
        (merge,) = client.get("/api/v1/merges").json()["merges"]
        assert "Restore" in check(client.post("/graph/merges", data={**data, "undo": merge["id"]}))
        assert len(client.get("/api/v1/graph").json()["entities"]) == 3
        check(client.post("/graph/merges", data={**data, "one": "river", "other": "nobody"}), 404)


def test_contradicting_passages_stand_side_by_side_and_an_editor_corrects_them(tmp_path):
    with filled_graph(tmp_path) as graph, local_client(graph, headers=BROWSER) as client:
        for name, text in {
            "old.md": "The budget of Orchid is 4 M euros.",
            "new.md": "Orchid has a budget of 6 M euros.",
        }.items():
            graph.ingest(text=f"Date: 2024-05-01\n\n{text}", name=name).result()
        answer = graph.ask("What is the budget of Orchid?")
        lines = graph.audit(answer.id).to_dict()["lines"]
        path = f"/answers/{answer.id}"
        page = check(client.get(path))
        assert page.count("These contradict each other") == 2
        assert "old.md · 2024-05-01" in page
        claim = next(claim for line in lines for claim in line["claims"])

        def mark(id_, verdict):
            values = {"token": token(client), "id": id_, "verdict": verdict, "note": "No <b>"}
            return check(client.post(f"{path}/correct", data=values))

        marked = mark(claim["id"], "wrong")
        assert re.search(r"Marked wrong by \w+, [\d: -]+: No &lt;b&gt;", marked)
        source = next(line["source_id"] for line in lines if claim in line["claims"])
        shown = graph.show(source)
        assert [triple["wrong"] for triple in shown.to_dict()["triples"]].count(True) == 1
        assert f"{claim['id'][:12]} (marked wrong)" in str(shown)
        assert "marked wrong" in check(client.get(f"/sources/{source}"))
        assert "undone by" in mark(claim["id"], "undo")
        again = {"token": token(client), "id": claim["id"], "line": "1", "verdict": "right"}
        at_source = client.post(f"/sources/{source}/correct", data=again)
        assert (at_source.url.path, at_source.url.fragment) == (f"/sources/{source}", "line-1")
        assert "marked right" in check(at_source)
        mark(answer.id, "wrong")
        assert path in check(client.get("/answers?state=wrong&text=ORCHID"))
        assert path in check(client.get(f"/answers?source={source}"))
        graph.ingest(text="Rain fills the lake.", name="rain.txt").result()
        other = next(one.source_id for one in graph.show() if one.title == "rain.txt")
        assert path not in check(client.get(f"/answers?source={other}"))
        for other in ("state=right", "state=unmarked", "state=abstained", "text=steam"):
            assert path not in check(client.get(f"/answers?{other}"))
        check(client.post(f"{path}/correct", data={"token": token(client), "verdict": "wrong"}), 422)
        odd = check(client.post(f"{path}/correct", data={"token": token(client), "id": answer.id, "verdict": "odd"}), 422)
        assert 'href="/answers"' in odd, "the menu"


def test_a_session_opens_pages_and_its_cookie_alone_sends_nothing(tmp_path):
    with filled_graph(tmp_path) as graph, closing(KeyRing(graph.settings.service_records_path)) as ring:
        reader = ring.add("r", "reader", ["default"])[0]
        with TestClient(service_app(graph, Limits(), ring), BASE, headers=BROWSER) as client:
            assert "Sign in" in check(client.get("/"), 401)
            form = {"token": token(client, "/sign-in")}
            check(client.post("/sign-in", data={**form, "key": "dgk_wrong"}), 401)
            reply = client.post("/sign-in", data={**form, "key": reader}, follow_redirects=False)
            cookie = reply.headers["set-cookie"].lower()
            assert "httponly" in cookie
            assert "samesite=strict" in cookie
            assert reader.lower() not in cookie
            page = check(client.get("/sources"))
            assert "Add documents" not in page
            assert "What has left" not in check(client.get("/privacy"))
            check(client.get("/distill"), 403)
            source = graph.show().subgraphs[0].source_id
            check(client.get(f"/sources/{source}/erase"), 403)
            answer = check(asked(client))
            assert TEXTS["steam.txt"] in answer
            path = re.search(r"/answers/\w+", answer)[0]
            assert "Right or wrong?" not in check(client.get(path))
            check(client.post(f"{path}/correct", data={"token": token(client), "id": path[9:], "verdict": "wrong"}), 403)
            assert client.get("/api/v1/sources").status_code == 200
            body = {"json": {"question": QUESTION}}
            assert client.post("/api/v1/ask", **body).status_code == 401
            assert client.post("/api/v1/ask", **body, headers={"X-Form-Token": token(client)}).status_code == 200
            ring.revoke("r")
            check(client.get("/"), 401)
            client.post("/sign-out", data={"token": token(client, "/sign-in")})
            assert "drag_graph_session" not in client.cookies
