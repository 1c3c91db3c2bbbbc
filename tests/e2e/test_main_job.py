"""From a question to an audited answer, by the command line, on both stores."""

import json
import uuid

import pytest

from drag_graph.ask.answers import NOTHING_RELEVANT
from drag_graph.testing.server import ScriptedServer
from tests.e2e.conftest import ON_BOTH


@pytest.fixture
def distilled(distil_examples, store):
    return distil_examples(store)


def test_distill_reports_every_line_in_order(distilled, questions):
    wanted = [json.loads(line)["id"] for line in questions.read_text(encoding="utf-8").splitlines()]
    assert [query["input_id"] for query in distilled["queries"]] == wanted
    assert {query["status"] for query in distilled["queries"]} == {"complete"}
    for query in distilled["queries"]:
        assert set(query) == {
            "id", "input_id", "status", "evidence", "triples", "edges", "calls", "cached_calls", "cost_usd", "error",
            "line", "notes",
        }  # fmt: skip
        assert query["evidence"] >= 3
        assert query["triples"] >= 2
    assert distilled["totals"]["complete"] == len(wanted)
    assert distilled["run_id"]


def test_the_same_again_is_a_no_op(cli, store, questions, curated, distilled):
    before = cli("export", "--store", store).out
    again = cli("distill", questions, "--teacher", curated, "--store", store, "--json").json
    assert [query["calls"] for query in again["queries"]] == [0] * len(again["queries"])
    assert {query["status"] for query in again["queries"]} == {"complete"}
    assert [query["triples"] for query in again["queries"]] == [query["triples"] for query in distilled["queries"]]
    assert cli("export", "--store", store).out == before


def test_other_settings_replace_the_subgraphs(cli, store, questions, curated, distilled):
    again = cli("distill", questions, "--teacher", curated, "--store", store, "--top-k", 3, "--json").json
    assert {query["status"] for query in again["queries"]} == {"complete"}
    assert {query["evidence"] for query in again["queries"]} == {3}
    assert cli("db", "verify", "--store", store).code == 0
    assert len(cli("show", "--store", store, "--json").json) == len(distilled["queries"])


def test_what_two_teachers_say_stands_together(cli, store, tmp_path):
    question = {"question": "What do bees make?", "options": ["silk", "honey"]}
    said = {"one": "Bees make honey from nectar.", "two": "Bees make wax for their combs."}
    for name, fact in said.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({**question, "evidence": [fact]}) + "\n", encoding="utf-8")

    def distill(name, *flags):
        file = tmp_path / f"{name}.jsonl"
        done = cli("distill", file, "--teacher", f"curated:{file}", "--store", store, *flags, "--json")
        assert done.code == 0, done.err
        return done.json["queries"][0]

    def stored(query):
        shown = cli("show", query["id"], "--store", store, "--json").json
        return {item["text"] for item in shown["evidence"]}

    query = distill("one")
    assert stored(query) == {said["one"]}
    assert distill("two", "--add")["status"] == "complete"
    assert stored(query) == set(said.values())
    assert distill("one")["evidence"] == 2, "it is stored under these settings, too"
    assert distill("two", "--add")["evidence"] == 2
    assert cli("db", "verify", "--store", store).code == 0
    assert distill("two", "--replace")["evidence"] == 1
    assert stored(query) == {said["two"]}
    assert cli("distill", tmp_path / "one.jsonl", "--add", "--replace", "--teacher", "m").code == 2


@pytest.mark.parametrize("mode", ["none", "evidence", "graph", "combined"])
def test_ask_a_file_in_every_mode(cli, store, questions, distilled, mode):
    done = cli("ask", "--file", questions, "--store", store, "--mode", mode, "--json")
    assert done.code == 0, done.err
    document = done.json
    assert document["totals"]["n"] == document["totals"]["answered"] == len(distilled["queries"])
    kinds = {line["kind"] for answer in document["answers"] for line in answer["lines"]}
    assert kinds == {"none": set(), "evidence": {"evidence"}, "graph": {"edge"}, "combined": {"evidence", "edge"}}[mode]
    for answer in document["answers"]:
        assert 0 <= answer["confidence"] <= 1
        assert answer["mode"] == mode
        assert answer["student"] == "nearest"
    if mode == "combined":
        assert document["totals"]["accuracy"] >= 0.7


def test_audit_reaches_the_teacher_call_of_every_line(cli, store, questions, distilled):
    answers = cli("ask", "--file", questions, "--store", store, "--json").json["answers"]
    for answer in answers:
        audit = cli("audit", answer["answer_id"], "--store", store, "--json").json
        assert [line["text"] for line in audit["lines"]] == [line["text"] for line in answer["lines"]]
        assert {"answer", "question", "student", "lines", "privacy"} <= set(audit)
        for line in audit["lines"]:
            assert line["live"]
            proofs = [line] if line["kind"] == "evidence" else line["triples"]
            sources = [call for proof in proofs for call in proof["calls"]]
            assert sources
            assert all(source["model"].startswith(("curated:", "patterns")) for source in sources)
            assert all("/" not in source["model"].removeprefix("patterns/") for source in sources)


@ON_BOTH
def test_audit_and_show_in_every_form(cli, store, questions, distilled, tmp_path):
    query = distilled["queries"][0]["id"]
    answer = cli("ask", "--query-id", query[:8], "--store", store, "--json").json["answer_id"]
    for form in ("table", "json", "prov", "html"):
        done = cli("audit", answer[:10], "--store", store, "--format", form)
        assert done.code == 0, done.err
        assert done.out
    for form in ("table", "text", "json", "html"):
        done = cli("show", query[:10], "--store", store, "--format", form, "-o", tmp_path / form)
        assert done.code == 0, done.err
        assert (tmp_path / form).exists() or form == "table"
    assert len(json.loads((tmp_path / "json").read_text(encoding="utf-8"))["triples"]) == distilled["queries"][0]["triples"]


def test_ask_a_new_question(cli, store, distilled):
    near = cli(
        "ask", "What is it that causes the tides of the oceans on our Earth?", "--store", store, "--json", "--explain"
    ).json
    assert near["how"] == "search"
    assert {line["kind"] for line in near["lines"]} == {"evidence", "edge"}
    for line in near["lines"]:
        ranks = {found["list"]: found["rank"] for found in line["lists"]}
        assert ranks["query"] >= 1, "before link, a line is found by the stored question that it belongs to"
        assert set(ranks) <= {"query", "words", "graph"}, "evidence has no vectors before link"
        assert (line["confidence"] is None) == (line["kind"] == "evidence")
    for kind in ("evidence", "edge"):
        scores = [line["score"] for line in near["lines"] if line["kind"] == kind]
        assert scores == sorted(scores, reverse=True)
        assert scores[-1] > 0
    far = cli("ask", "How do I change the oil of a motorbike?", "--store", store, "--json")
    assert far.code == 0
    assert far.json["answer"] == NOTHING_RELEVANT
    assert far.json["label"] is None
    assert far.json["lines"] == []


def test_where_nothing_is_stored_a_student_that_can_answers_by_itself_and_says_so(cli, store, distilled):
    asked = cli("ask", "How do I change oil?", "--option", "by draining it", "--option", "never", "--store", store, "--json")
    assert asked.code == 0
    assert asked.json["label"] in {"A", "B"}
    assert asked.json["mode"] == "none"
    assert asked.json["lines"] == []
    assert asked.json["answer_id"] is None
    assert "nothing relevant is stored" in asked.json["reason"]


def test_an_unaided_answer_is_told_from_others_in_a_table_and_a_sum(cli, store, distilled, tmp_path):
    questions = tmp_path / "far.jsonl"
    questions.write_text('{"question": "How do I change oil?", "options": ["by draining it", "never"]}\n')
    asked = cli("ask", "--file", questions, "--store", store)
    assert "(unaided)" in asked.out
    assert "answered 1, unaided 1" in asked.out


def test_what_is_missing_is_distilled_first(cli, store, distilled):
    asked = ("ask", "How do I change the oil of a motorbike?", "--distill-missing", "--store", store)
    with ScriptedServer() as server:
        teacher = ("--teacher", "scripted", "--teacher-base-url", server.url)
        done = cli(*asked, *teacher, "--json")
        calls = server.count()
        again = cli(*asked, *teacher, "--json")
    assert done.code == 0, done.err
    assert done.json["lines"]
    assert done.json["answer_id"] == again.json["answer_id"]
    assert calls == server.count() > 0, "what is stored is not asked for again"
    newest = cli("runs", "--store", store, "--json").json[0]
    assert newest["source"] == f"-q {asked[1]}", "each question has a budget of its own"
    assert cli(*asked).code == 2
    refused = cli("ask", "--query-id", "x", "--distill-missing", *teacher, "--store", store)
    assert refused.code == 2
    assert "exclude each other" in refused.err


def test_why_a_line_is_shown_is_told_in_a_table(cli, store, distilled):
    asked = cli("ask", "What is it that causes the tides of the oceans on our Earth?", "--store", store, "--explain")
    assert asked.code == 0, asked.err
    assert "found by: search" in asked.out
    for word in ("weight", "confidence", "found by (rank)", "query (1)", "words (1)"):
        assert word in asked.out
    plain = cli("ask", "What is it that causes the tides of the oceans on our Earth?", "--store", store)
    assert "weight" not in plain.out


@ON_BOTH
def test_a_linked_store_answers_from_all_subgraphs(cli, store, distilled):
    assert cli("link", "--store", store).code == 0
    question = "Does hot water dissolve more sugar, and does iron in dry air rust?"
    asked = cli("ask", question, "--store", store, "--json", "--explain").json
    assert asked["how"] == "search"
    assert len(asked["source_ids"]) > 1
    assert {"vector", "words"} <= {found["list"] for line in asked["lines"] for found in line["lists"]}
    audit = cli("audit", asked["answer_id"], "--store", store, "--json").json
    assert all(line["live"] for line in audit["lines"])
    assert {line["source_id"] for line in audit["lines"]} == set(asked["source_ids"])
    far = cli("ask", "How do I change the oil of a motorbike?", "--store", store, "--json").json
    assert far["answer"] == NOTHING_RELEVANT
    assert cli("db", "erase", "--query-id", asked["source_ids"][0], "--yes", "--store", store).code == 0
    assert cli("audit", asked["answer_id"], "--store", store).code == 3
    again = cli("ask", question, "--store", store, "--json").json
    assert asked["source_ids"][0] not in again["source_ids"]
    assert cli("db", "verify", "--store", store).code == 0


def test_ask_the_same_words_without_the_options(cli, store, distilled):
    asked = cli("ask", "WHAT mainly causes the tides  of the oceans on Earth?", "--store", store, "--json", "--explain").json
    assert asked["how"] == "same words"
    assert asked["lines"]


def test_asking_twice_is_one_answer(cli, store, questions, distilled):
    first = cli("ask", "--file", questions, "--store", store, "--json").json
    again = cli("ask", "--file", questions, "--store", store, "--json").json
    assert [one["answer_id"] for one in first["answers"]] == [one["answer_id"] for one in again["answers"]]


def test_erase_takes_the_answers_along(cli, store, questions, distilled):
    query = distilled["queries"][0]["id"]
    answer = cli("ask", "--query-id", query, "--store", store, "--json").json["answer_id"]
    done = cli("db", "erase", "--query-id", query[:9], "--yes", "--store", store, "--json")
    assert done.json["source_id"] == query
    assert cli("audit", answer, "--store", store).code == 3
    assert cli("show", query, "--store", store).code == 3
    assert query not in cli("export", "--full", "--store", store).out
    assert cli("db", "verify", "--store", store).code == 0


@ON_BOTH
def test_status_and_migrate(cli, store, distilled):
    status = cli("db", "status", "--store", store, "--json").json
    assert status["counts"]["Query"] == len(distilled["queries"])
    assert status["migrations"]["pending"] == []
    assert status["embedder"].startswith("lexical")
    assert cli("db", "migrate", "--store", store, "--json").json["applied"] == []


def test_another_embedder_is_refused_in_words(cli, store, questions, curated, distilled, monkeypatch):
    monkeypatch.setenv("DRAG_GRAPH_EMBEDDER", "minilm")
    done = cli("distill", questions, "--teacher", curated, "--store", store)
    assert done.code == 3
    assert "lexical" in done.err
    assert "MiniLM" in done.err


def test_the_stores_export_the_same_bytes(cli, tmp_path, questions, curated, neo4j_lts, monkeypatch):
    uri, user, password = neo4j_lts
    monkeypatch.setenv("NEO4J_USERNAME", user)
    monkeypatch.setenv("NEO4J_PASSWORD", password)
    monkeypatch.setenv("DRAG_GRAPH_NAMESPACE", f"same-{uuid.uuid4().hex}")
    exports = []
    for address in (tmp_path / "graph.lbug", uri):
        assert cli("distill", questions, "--teacher", curated, "--store", address).code == 0
        assert cli("ask", "--file", questions, "--store", address).code == 0
        exports.append(cli("export", "--store", address).out)
    assert exports[0] == exports[1]
    assert exports[0].count("\n") > 100
