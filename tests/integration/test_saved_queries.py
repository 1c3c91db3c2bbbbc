"""The saved queries and the style sheet for Neo4j Browser (docs/browser), on a real Neo4j with the distilled examples.

Each query is held to what the store itself says through `Neo4jStore`.
"""

import re
import runpy
import secrets
import zipfile
from collections import Counter
from io import BytesIO
from pathlib import Path

import neo4j
import pytest

from drag_graph.model import Aggregation
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.testing.builders import make_answer, make_subgraph
from drag_graph.testing.contract.base import walk
from drag_graph.testing.finding import read_answer

pytestmark = pytest.mark.neo4j

FOLDER = Path(__file__).parents[2] / "docs" / "browser"
FILES = sorted((FOLDER / "queries").glob("*.cypher"))
COMMANDS = {"00-start-here", "00-tidy-pictures"}
"""Files that Browser itself carries out: they begin with a colon."""

LABELS = {"Query", "Evidence", "TeacherCall", "Entity", "Concept", "Answer", "Chunk", "Document"}
TYPES = {"TRIPLE", "RELATED", "HAS_EVIDENCE", "MENTIONS", "GENERATED_BY", "REFERS_TO", "ANSWERS", "USED"}


@pytest.fixture(scope="module")
def store(neo4j_lts, neo4j_examples):
    uri, user, password = neo4j_lts
    with Neo4jStore(uri, username=user, password=password, namespace=neo4j_examples) as opened:
        yield opened


@pytest.fixture(scope="module")
def subgraphs(store):
    """Every stored subgraph, by the id that its question has in the examples."""
    return {item.query.input_id: item for item in store.read([found.id for found in store.sources()])}


@pytest.fixture(scope="module")
def insect(subgraphs):
    """A subgraph with parallel edges, a pruned triple and an answer."""
    return subgraphs["insect"]


@pytest.fixture(scope="module")
def answer(store, insect):
    (found,) = store.answers(insect.query.id)
    return read_answer(store, found.id)


@pytest.fixture(scope="module")
def run(neo4j_lts, neo4j_examples):
    """Run a saved query by the number that its file begins with, comments and all, as Browser does."""
    uri, user, password = neo4j_lts
    with neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver:

        def _run(number, /, *, text=None, namespace=neo4j_examples, **parameters):
            (path,) = (file for file in FILES if file.name.startswith(number))
            return driver.execute_query(text or path.read_text(), {"namespace": namespace, **parameters}).records

        yield _run


@pytest.fixture(scope="module")
def others(neo4j_lts):
    """What the examples lack: a query without triples, and one with weak triples alone and an answer that rests on them."""
    uri, user, password = neo4j_lts
    namespace = f"others-{secrets.token_hex(4)}"
    weak = [("nymph", "may become", "adult", 0.4, 0), ("nymph", "seems like", "larva", 0.3, 1)]
    with Neo4jStore(uri, username=user, password=password, namespace=namespace) as opened:
        opened.save([make_subgraph("bare", namespace=namespace, triples=())], Aggregation())
        opened.save([make_subgraph("raw", namespace=namespace, triples=weak)], Aggregation())
        found = {item.query.input_id: item for item in opened.read([query.id for query in opened.sources()])}
        bare, raw = found["line-bare"], found["line-raw"]
        assert (bare.graph, raw.graph) == ("evidence_only", "multigraph")
        answer = make_answer("raw", [raw], namespace=namespace, refs=[("edge", edge.id) for edge in raw.usable_edges])
        opened.save_answers([answer])
    return {"namespace": namespace, "bare": bare, "raw": raw, "answer": answer}


def nodes_and_edges(records):
    """The ids of all nodes, and of all relationships by type, anywhere in the records: what Browser draws."""
    nodes, edges = {}, {}

    def look(value):
        if isinstance(value, (list, tuple)):
            for item in value:
                look(item)
        elif isinstance(value, neo4j.graph.Path):
            look(list(value.nodes))
            look(list(value.relationships))
        elif isinstance(value, neo4j.graph.Node):
            (label,) = value.labels - {"Source"}
            nodes.setdefault(label, set()).add(value["id"])
        elif isinstance(value, neo4j.graph.Relationship):
            name = value.get("id") or (value.start_node["id"], value.end_node["id"])
            edges.setdefault(value.type, set()).add(name)

    for record in records:
        look(list(record.values()))
    return nodes, edges


def ids(items):
    return {item.id for item in items}


def test_start_here_finds_the_newest_query_with_its_answer(run, store, neo4j_examples):
    text = (FOLDER / "queries" / "00-start-here.cypher").read_text()
    names, body = re.search(r"^:param \[\{([\w, ]+)\}\] => \{\n(.*)\n\}\n\Z", text, re.DOTALL | re.MULTILINE).groups()
    assert "q.namespace = 'default'" in body
    (record,) = run("00-start", text=body.replace("'default'", "$namespace"))
    assert record.keys() == names.split(", ") == ["namespace", "source_id", "answer_id", "evidence_id"]
    assert record["namespace"] == neo4j_examples
    newest = max(found.created_at for found in store.sources())
    (subgraph,) = store.read([record["source_id"]])
    assert subgraph.created_at == newest
    assert [found.id for found in store.answers(record["source_id"])] == [record["answer_id"]]
    assert record["evidence_id"] == min(subgraph.evidence, key=lambda item: item.rank).id


def test_queries_by_status(run, store, subgraphs):
    records = run("01")
    assert [record["source_id"] for record in sorted(records, key=lambda item: item["source_id"])] == sorted(
        found.id for found in store.sources()
    )
    by_id = {subgraph.query.id: subgraph for subgraph in subgraphs.values()}
    for record in records:
        subgraph = by_id[record["source_id"]]
        sizes = (
            sum(item.kept for item in subgraph.evidence),
            len(subgraph.entities),
            len(subgraph.triples),
            len(subgraph.edges),
        )
        assert (record["kept_evidence"], record["entities"], record["triples"], record["simple_edges"]) == sizes
        assert (record["status"], record["graph"], record["answers"]) == ("complete", subgraph.graph, 1)


def test_explore_a_query(run, insect):
    (record,) = run("02", source_id=insect.query.id)
    nodes, edges = nodes_and_edges([record])
    kept = {item.id for item in insect.evidence if item.kept}
    assert nodes == {"Query": {insect.query.id}, "Evidence": kept, "Entity": ids(insect.entities)}
    assert edges == {"HAS_EVIDENCE": {(insect.query.id, id_) for id_ in kept}, "RELATED": ids(insect.edges)}


def test_explore_a_query_without_triples(run, others):
    """What is absent is an empty list, and not an empty result."""
    bare = others["bare"]
    (record,) = run("02", namespace=others["namespace"], source_id=bare.query.id)
    nodes, edges = nodes_and_edges([record])
    assert nodes == {"Query": {bare.query.id}, "Evidence": {item.id for item in bare.evidence if item.kept}}
    assert edges.keys() == {"HAS_EVIDENCE"}


def test_parallel_edges(run, insect):
    records = run("03", source_id=insect.query.id)
    pairs = Counter((item.subject_id, item.object_id) for item in insect.triples)
    parallel = {pair: number for pair, number in pairs.items() if number > 1}
    assert parallel
    assert {(item["subject"]["id"], item["object"]["id"]): item["number"] for item in records} == parallel
    texts = {item.id: item.text for item in insect.evidence}
    for record in records:
        ends = (record["subject"]["id"], record["object"]["id"])
        triples = [item for item in insect.triples if (item.subject_id, item.object_id) == ends]
        assert {item["id"] for item in record["triples"]} == ids(triples)
        assert sorted(record["said"]) == sorted(
            f"{item.predicate} ({item.confidence}, {texts[item.evidence_id]})" for item in triples
        )
        assert [item["confidence"] for item in record["triples"]] == sorted((item.confidence for item in triples), reverse=True)


@pytest.mark.parametrize(
    ("number", "order"),
    [
        ("04", lambda edge: (edge.confidence, edge.support, edge.id)),
        ("05", lambda edge: (-edge.support, -edge.confidence, edge.id)),
    ],
)
def test_weakest_and_best_supported_edges(run, subgraphs, number, order):
    texts = {item.id: item.text for subgraph in subgraphs.values() for item in subgraph.evidence}
    questions = {subgraph.query.id: subgraph.query.text for subgraph in subgraphs.values()}
    edges = sorted((edge for subgraph in subgraphs.values() for edge in subgraph.edges), key=order)
    assert len(edges) > 25
    records = run(number)
    assert [record["edge_id"] for record in records] == [edge.id for edge in edges[:25]]
    for record, edge in zip(records, edges, strict=False):
        assert (record["confidence"], record["support"], record["statement"]) == (edge.confidence, edge.support, edge.statement)
        assert sorted(record["evidence"]) == sorted(texts[id_] for id_ in edge.evidence_ids)
        assert record["question"] == questions[record["source_id"]] == questions[edge.source_id]


def test_left_out_triples(run, insect):
    merged = {id_ for edge in insect.edges for id_ in edge.triple_ids}
    left_out = {item.id: item for item in insect.triples if item.id not in merged}
    assert left_out
    records = run("06", source_id=insect.query.id)
    assert {record["triple_id"] for record in records} == left_out.keys()
    texts = {item.id: item.text for item in insect.evidence}
    for record in records:
        triple = left_out[record["triple_id"]]
        assert (record["subject"], record["predicate"], record["object"]) == (triple.subject, triple.predicate, triple.object)
        assert (record["confidence"], record["evidence"]) == (triple.confidence, texts[triple.evidence_id])


def test_audit_an_answer(run, insect, answer):
    """Everything that `audit` walks to, and nothing else, is drawn."""
    (record,) = run("07", answer_id=answer.id)
    shown = {line.ref for line in answer.lines if line.kind == "evidence"}
    shown_edges = [edge for edge in insect.edges if edge.id in {line.ref for line in answer.lines}]
    triples = [item for item in insect.triples if any(item.id in edge.triple_ids for edge in shown_edges)]
    assert shown
    assert shown_edges
    nodes, edges = nodes_and_edges([record])
    calls = {id_ for item in insect.evidence if item.id in shown for id_ in item.call_ids} | {
        id_ for item in triples for id_ in item.call_ids
    }
    assert nodes == {
        "Answer": {answer.id},
        "Query": {insect.query.id},
        "Evidence": shown | {item.evidence_id for item in triples},
        "TeacherCall": calls,
        "Entity": {id_ for item in triples for id_ in (item.subject_id, item.object_id)},
    }
    assert edges["USED"] == {(answer.id, id_) for id_ in shown}
    assert edges["ANSWERS"] == {(answer.id, insect.query.id)}
    assert (edges["RELATED"], edges["TRIPLE"]) == (ids(shown_edges), ids(triples))
    assert {source for source, _ in edges["GENERATED_BY"]} == nodes["Evidence"]


def test_audit_line_by_line(run, store, insect, answer):
    records = run("08", answer_id=answer.id)
    walked = walk(store, answer.id)
    kinds = {"evidence": "evidence", "edge": "triple"}
    assert Counter((item["kind"], item["evidence_id"], tuple(item["call_ids"])) for item in records) == Counter(
        (kinds[kind], evidence_id, call_ids) for (kind, _), rests in walked.items() for _, evidence_id, _, call_ids in rests
    )
    shown = [line.text for line in answer.lines if line.kind == "evidence"]
    assert [item["shown"] for item in records[: len(shown)]] == shown
    texts = {item.id: item.text for item in insect.evidence}
    merged = {id_: edge.statement for edge in insect.edges for id_ in edge.triple_ids}
    triples = {
        (
            f"{item.subject} {item.predicate} {item.object}",
            item.confidence,
            texts[item.evidence_id],
            merged[item.id],
            item.call_ids,
        )
        for item in insect.triples
        if item.id in merged
    }
    for item in records[len(shown) :]:
        assert (item["shown"], item["confidence"], item["read_from"], item["merged_into"], tuple(item["call_ids"])) in triples
    calls = {call.id: call for call in insect.calls}
    for item in records:
        made_by = [calls[id_] for id_ in item["call_ids"]]
        assert (item["models"], item["stages"]) == ([call.model for call in made_by], [call.stage for call in made_by])
        assert item["tokens_in"] == sum(call.tokens_in for call in made_by)
        assert item["cost_usd"] == pytest.approx(sum(call.cost_usd for call in made_by))


@pytest.mark.parametrize("number", ["07", "08"])
def test_audit_of_an_answer_that_was_shown_raw_triples(run, others, number):
    """Where pruning would have left nothing, the lines name triples."""
    raw, answer = others["raw"], others["answer"]
    records = run(number, namespace=others["namespace"], answer_id=answer.id)
    if number == "07":
        nodes, edges = nodes_and_edges(records)
        assert edges["TRIPLE"] == ids(raw.triples)
        assert nodes["Evidence"] == {item.evidence_id for item in raw.triples}
        assert "RELATED" not in edges
    else:
        said = [f"{item.subject} {item.predicate} {item.object}" for item in raw.triples]
        assert [record["shown"] for record in records] == said


def test_what_rests_on_an_evidence(run, insect, answer):
    """Of the evidence of a triple, and of one that nothing but the answer's lines rests on."""
    drawn = set()
    for evidence in insect.evidence:
        nodes, edges = nodes_and_edges(run("09", evidence_id=evidence.id))
        triples = [item for item in insect.triples if item.evidence_id == evidence.id]
        resting = [edge for edge in insect.edges if evidence.id in edge.evidence_ids]
        assert edges.get("TRIPLE", set()) == ids(triples)
        assert edges.get("RELATED", set()) == ids(resting)
        assert (nodes["Evidence"], nodes["Query"]) == ({evidence.id}, {insect.query.id})
        assert nodes["TeacherCall"] == set(evidence.call_ids)
        refs = {line.ref for line in answer.lines}
        rests = bool(refs & {evidence.id, *ids(resting), *ids(triples)})
        assert nodes.get("Answer", set()) == ({answer.id} if rests else set())
        drawn |= edges.keys()
    assert drawn == {"HAS_EVIDENCE", "GENERATED_BY", "TRIPLE", "RELATED", "ANSWERS", "USED"}


def test_teacher_calls(run, subgraphs):
    calls = {call.id: call for subgraph in subgraphs.values() for call in subgraph.calls}.values()
    records = run("10")
    assert sum(record["calls"] for record in records) == len(calls)
    assert {(record["model"], record["stage"]) for record in records} == {(call.model, call.stage) for call in calls}
    for name in ("tokens_in", "tokens_out", "cost_usd"):
        assert sum(record[name] for record in records) == pytest.approx(sum(getattr(call, name) for call in calls))


@pytest.mark.parametrize("path", [file for file in FILES if file.stem not in COMMANDS], ids=lambda path: path.stem)
def test_each_query_stays_in_its_namespace(run, insect, answer, path):
    parameters = {"source_id": insect.query.id, "answer_id": answer.id, "evidence_id": insect.evidence[0].id}
    assert run(path.name, **parameters)
    assert not run(path.name, namespace="somebody-else", **parameters)


def test_each_query_names_its_parameters_and_has_a_title():
    for number, path in enumerate(file for file in FILES if file.stem not in COMMANDS):
        text = path.read_text()
        assert text.startswith(f"// {number + 1:02} ")
        assert len(text.partition("\n")[0]) <= len("// ") + 28  # what the Favorites show of a title
        (named,) = re.findall(r"^// Parameters: (.+)$", text, re.MULTILINE)
        assert set(named.split(", ")) == set(re.findall(r"\$(\w+)", text))
    assert {file.stem for file in FILES if re.search(r"^:", file.read_text(), re.MULTILINE)} == COMMANDS


def test_the_archive_holds_the_files():
    """Run `python docs/browser/pack.py` after a change of a query."""
    archive = (FOLDER / "drag-graph-saved-queries.zip").read_bytes()
    assert archive == runpy.run_path(str(FOLDER / "pack.py"))["packed"]()
    with zipfile.ZipFile(BytesIO(archive)) as opened:
        assert [Path(name).name for name in opened.namelist()] == [path.name for path in FILES]


def test_the_style_sheet_covers_what_is_stored(neo4j_lts, neo4j_examples):
    """Each label and type of the design has a rule; a caption shows properties that the stored things have."""
    style = (FOLDER / "drag-graph.grass").read_text()
    rules = dict(re.findall(r"^(?:node|relationship)\.(\w+) \{\n(.*?)^\}", style, re.DOTALL | re.MULTILINE))
    assert rules.keys() == LABELS | TYPES
    uri, user, password = neo4j_lts
    with neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver:
        records = driver.execute_query(
            "MATCH (n {namespace: $namespace}) UNWIND labels(n) AS name RETURN name, collect(keys(n)) AS keys "
            "UNION MATCH (n {namespace: $namespace})-[r]->() RETURN type(r) AS name, collect(keys(r)) AS keys",
            namespace=neo4j_examples,
        ).records
    stored = {record["name"]: record["keys"] for record in records if record["name"] not in ("StoreInfo", "Source")}
    assert LABELS & stored.keys() >= {"Query", "Evidence", "TeacherCall", "Entity", "Answer"}
    assert stored.keys() <= rules.keys()
    for name, things in stored.items():
        for placeholder in re.findall(r"\{(\w+)\}", rules[name]):
            assert all(placeholder in keys for keys in things), f"{name} has no {placeholder}"
