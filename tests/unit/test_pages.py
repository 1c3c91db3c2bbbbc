"""The audit page, the picture and PROV-JSON: complete, escaped, offline, valid."""

import json
import re

import pytest
from prov.model import ProvDocument

from drag_graph.ask.audit_snapshot import snapshot
from drag_graph.errors import ConfigurationError, NotStored, StoreUnfit
from drag_graph.manage.short_ids import full_id, stored_subgraph
from drag_graph.model import Aggregation, Line
from drag_graph.ports.correction_store import Correction, claim_of
from drag_graph.report.audit_document import seen_by_teacher, subgraph_text
from drag_graph.report.audit_views import why_page
from drag_graph.report.graph_picture import SCRIPTS, picture_of
from drag_graph.report.offline_page import fragment, web_file
from drag_graph.report.prov import prov_document
from drag_graph.testing.builders import make_answer, make_document_subgraph, make_subgraph
from drag_graph.testing.dict_store import DictStore
from drag_graph.testing.finding import audit_document

HOSTILE = '<script>alert("x")</script>'


@pytest.fixture
def store():
    with DictStore() as store:
        store.migrate()
        triples = [(HOSTILE, "causes", "b", 0.9, 0), (HOSTILE, "makes", "b", 0.8, 1)]
        store.save([make_subgraph(HOSTILE, triples=triples)], Aggregation())
        yield store


@pytest.fixture
def document(store):
    (summary,) = store.sources()
    (subgraph,) = store.read([summary.id])
    edge, evidence = subgraph.usable_edges[0], subgraph.kept_evidence[0]
    lines = [
        Line(n=1, kind="evidence", text=evidence.text, ref=evidence.id, source_id=summary.id),
        Line(n=2, kind="edge", text=edge.statement, ref=edge.id, source_id=summary.id),
    ]
    kept = snapshot(subgraph.query.text, lines, [subgraph])
    answer = make_answer(1, [subgraph], lines=tuple(lines), snapshot=kept)
    store.save_answers([answer])
    return audit_document(store, answer.id[:6])


def test_the_audit_walks_from_answer_to_teacher_call(document):
    evidence, edge = document["lines"]
    assert evidence["evidence"]["text"] == evidence["text"]
    assert evidence["calls"][0]["model"]
    assert [triple["confidence"] for triple in edge["triples"]] == [0.9, 0.8]
    for triple in edge["triples"]:
        assert triple["evidence"]["text"]
        assert triple["calls"][0]["stage"] == "triples"
        assert triple["evidence"]["calls"][0]["stage"] == "evidence"
    assert all(line["live"] for line in document["lines"])
    saw = seen_by_teacher(document["calls"], lambda hash_: {"messages": [{"content": f"asked {hash_}"}]})
    assert [seen["call_id"] for seen in saw] == [call["id"] for call in document["calls"]]
    assert {seen["messages"][0]["content"] for seen in saw} == {f"asked {call['request_sha256']}" for call in document["calls"]}


def test_a_line_that_is_gone_from_the_graph_is_marked(store, document):
    changed = make_subgraph(HOSTILE, triples=[("other", "is", "thing", 0.9, 0)], settings_hash="another")
    assert store.save([changed], Aggregation()) == ["replaced"]
    after = audit_document(store, document["answer_id"])
    assert [line["text"] for line in after["lines"]] == [line["text"] for line in document["lines"]]
    assert not after["lines"][1]["live"]


def altered(subgraph, part, which, **change):
    """Return the subgraph with that item of a part changed."""
    items = [item.model_copy(update=change) if item.id == which else item for item in getattr(subgraph, part)]
    return subgraph.model_copy(update={part: tuple(items)})


@pytest.mark.parametrize(
    ("what", "live"),
    [
        ("nothing", [True, True]),
        ("evidence text", [False, True]),
        ("evidence text of an edge", [True, False]),
        ("evidence call", [False, True]),
        ("triple call", [True, False]),
        ("parallel triple", [True, False]),
    ],
)
def test_a_line_that_was_tampered_with_is_marked(store, document, what, live):
    shown, edge = document["lines"]
    graphs = store.database.namespaces["default"].subgraphs
    ((id_, subgraph),) = graphs.items()
    other = next(call.id for call in subgraph.calls if call.id != shown["calls"][0]["id"])
    first, behind = edge["triples"][0], next(t["evidence"] for t in edge["triples"] if t["evidence"]["id"] != shown["ref"])
    if what == "evidence text":
        subgraph = altered(subgraph, "evidence", shown["ref"], text="somebody else's words")
    elif what == "evidence text of an edge":
        subgraph = altered(subgraph, "evidence", behind["id"], text="somebody else's words")
    elif what == "evidence call":
        subgraph = altered(subgraph, "evidence", shown["ref"], call_ids=(other,))
    elif what == "triple call":
        subgraph = altered(subgraph, "triples", first["id"], call_ids=(shown["calls"][0]["id"],))
    elif what == "parallel triple":
        one = next(item for item in subgraph.triples if item.id == first["id"])
        twin = one.model_copy(update={"id": "f" * 32, "predicate": "prevents", "predicate_key": "prevents"})
        subgraph = subgraph.model_copy(update={"triples": (*subgraph.triples, twin)})
    graphs[id_] = subgraph
    store.aggregate([id_], Aggregation())
    assert [line["live"] for line in audit_document(store, document["answer_id"])["lines"]] == live


def test_what_is_not_recorded_any_more_is_said_with_its_hash(document):
    document["privacy"]["teacher_saw"] = seen_by_teacher(document["calls"], lambda _: None)
    page = why_page(document)
    assert all(f"Not recorded. Its hash is {call['request_sha256']}" in page for call in document["calls"])


def test_the_page_is_complete_escaped_and_loads_nothing(document):
    page = why_page(document)
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    for line in document["lines"]:
        assert f'id="line-{line["n"]}"' in page
    for call in document["calls"]:
        assert call["id"] in page
    assert not re.search(r'(src|href)="(?!#|data:,)|@import|url\(|<script', page)


ODD = [HOSTILE, "<svg onload=alert(2)>", "javascript:alert(3)", "\u202egnp.exe", "w" * 10_000]


def test_a_picture_is_one_file_with_everything_inside_and_nothing_runs_in_it():
    triples = [*((name, "causes", f"b {name}", 0.9, 0) for name in ODD), (HOSTILE, "prevents", f"b {HOSTILE}", 0.8, 1)]
    with DictStore() as store:
        store.migrate()
        store.save([make_subgraph(HOSTILE, triples=triples)], Aggregation(strategy="predicate"))
        graphs = store.read([store.sources()[0].id])
        picture = picture_of(store, graphs[0].title, graphs)
        store.corrections.write([target_of(store, graphs[0].triples[1])])
        marked = picture_of(store, graphs[0].title, graphs)
    assert sum(edge["wrong"] for edge in marked.to_dict()["edges"]) == 1
    page = marked.to_html()
    for script in SCRIPTS:
        assert web_file(script).content.decode() in page
        page = page.replace(web_file(script).content.decode(), "")
    page = page.replace(web_file("style.css").content.decode(), "")
    assert page.count("contradicted") >= 2
    assert "marked wrong" in page
    assert "&lt;script&gt;" in page
    assert "w" * 10_000 in page
    tags = re.findall(r"<([a-z]+)([^>]*)>", page)
    assert [attributes for name, attributes in tags if name == "script"] == [' type="module"'] * len(SCRIPTS)
    assert {name for name, _ in tags}.isdisjoint({"svg", "img", "iframe", "object"})
    assert re.findall(r'(?:src|href|action)="(?!#|data:,")', page) == []
    assert "//" not in "".join(attributes for _, attributes in tags)
    assert "\u202e" not in page
    assert picture.to_dict()["total"] == len(picture.edges) == len(triples)
    statement = picture.to_cypher("IDS'")
    assert statement.startswith("MATCH")
    assert r"r.namespace = 'IDS\'' AND r.id IN ['" in statement
    browser = {"statement": statement, "href": "http://localhost:7474/browser/"}
    with_browser = fragment("graph.html", **picture.view(), q="", query="", browser=browser, here="", places=())
    assert "r.id IN [&#39;" in with_browser


def target_of(store, triple):
    """Return the correction that marks the claim of a triple wrong."""
    fields = {"kind": "claim", "verdict": "wrong", "author": "a", "created_at": "2026-01-02T03:04:05+00:00", "text": "t"}
    ends = {"subject": triple.subject, "object": triple.object, "predicate_key": triple.predicate_key}
    return Correction(target_id=claim_of(triple), source_ids=(triple.source_id,), **fields, **ends)


def test_things_of_several_sources_are_joined_and_what_an_unlinked_one_is_found_by_are_its_entities():
    with DictStore() as store:
        store.migrate()
        facts = [("The cell", "has", "a wall", 0.9, 0)], [("cell", "needs", "water", 0.9, 0)]
        store.save([make_subgraph(n, triples=triples) for n, triples in enumerate(facts)], Aggregation())
        graphs = store.read([item.id for item in store.sources()])
        picture = picture_of(store, "Cells", graphs)
        assert sorted(one["name"] for one in picture.entities) == ["The cell", "a wall", "water"]
        assert max(len(one["around"]) for one in picture.entities) == 2
        (only,) = graphs[0].edges
        assert [edge["id"] for edge in picture_of(store, "One", graphs, {only.id}).edges] == [only.id]


def test_a_subgraph_without_triples_is_shown_as_its_evidence():
    with DictStore() as store:
        store.migrate()
        store.save([make_subgraph(1, triples=[], evidence=["only this fact", "and that"], dropped=())], Aggregation())
        (subgraph,) = store.read([store.sources()[0].id])
        assert "only this fact" in picture_of(store, "T", [subgraph]).to_html()
    assert "evidence_only" in subgraph_text(subgraph)


def test_prov_is_valid_and_reaches_from_the_answer_to_the_calls(document):
    text = json.dumps(prov_document(document))
    parsed = ProvDocument.deserialize(content=text, format="json")
    assert parsed.get_records()
    derived = json.loads(text)["wasDerivedFrom"].values()
    above = {}
    for relation in derived:
        above.setdefault(relation["prov:generatedEntity"], set()).add(relation["prov:usedEntity"])
    reached, frontier = set(), {f"drag:answer/{document['answer_id']}"}
    while frontier:
        reached |= frontier
        frontier = {source for item in frontier for source in above.get(item, ())} - reached
    assert {name.split("/")[0] for name in reached} == {"drag:answer", "drag:line", "drag:edge", "drag:triple", "drag:evidence"}
    made = {entry["prov:entity"]: entry["prov:activity"] for entry in json.loads(text)["wasGeneratedBy"].values()}
    assert all(made[name].startswith("drag:call/") for name in reached if name.startswith(("drag:evidence", "drag:triple")))


def test_a_line_with_nothing_behind_it_is_refused(store):
    (subgraph,) = store.read([store.sources()[0].id])
    for kind in ("evidence", "edge"):
        line = Line(n=1, kind=kind, text="made up", ref="f" * 32, source_id=subgraph.query.id)
        with pytest.raises(StoreUnfit, match="no provenance for"):
            snapshot("q", [line], [subgraph])


def test_short_ids(store):
    (summary,) = store.sources()
    assert full_id(store, "query", summary.id[:5].upper()) == summary.id
    for unknown in ("zz", "", "   "):
        with pytest.raises(NotStored):
            stored_subgraph(store, unknown)
    for number in range(40):
        store.save([make_subgraph(number)], Aggregation())
    ids = [summary.id for summary in store.sources()]
    shared = next(a[:1] for a in ids if sum(b.startswith(a[:1]) for b in ids) > 1)
    with pytest.raises(ConfigurationError, match="begin with"):
        full_id(store, "query", shared)


def test_documents_are_in_no_query_s_way(store):
    (summary,) = store.sources()
    documents = [make_document_subgraph(number, edges=1) for number in range(400)]
    begin_so = [graph for graph in documents if graph.source_id[0] == summary.id[0]]
    assert len(begin_so) > 10
    store.save(documents, Aggregation())
    assert full_id(store, "query", summary.id[0]) == summary.id
