"""Erasing by the command line, on both engines: whatever is looked through afterwards, the text is not there."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from drag_graph.errors import StoreUnavailable
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.stores.shared.cypher_files import load_from
from drag_graph.testing.finding import nearest_queries, query_ids, read_answer
from drag_graph.testing.server import Say, ScriptedServer
from tests.e2e.conftest import ON_BOTH

SECRET = "The lazarus beetle lives only on Mount Obscure."
QUESTIONS = [
    {
        "question": "Where does the lazarus beetle live?",
        "options": ["On Mount Obscure", "In the sea"],
        "evidence": [SECRET, "Beetles are insects.", "Mount Obscure is a mountain."],
        "triples": [
            {"subject": "lazarus beetle", "predicate": "lives on", "object": "Mount Obscure", "evidence": [0]},
            {"subject": "beetles", "predicate": "are", "object": "insects", "evidence": [1]},
        ],
    },
    {
        "question": "What are beetles?",
        "options": ["Insects", "Birds"],
        "evidence": ["Beetles are insects with hard wings."],
        "triples": [{"subject": "beetles", "predicate": "are", "object": "insects", "evidence": [0]}],
    },
]


class Place:
    """A store, by the command line, by its port, and behind its back."""

    def __init__(self, cli, address, folder):
        self.cli, self.address, self.folder = cli, str(address), folder
        self.dialect = "neo4j" if self.address.startswith("bolt") else "ladybug"
        self.namespace = os.environ.get("DRAG_GRAPH_NAMESPACE", "default")
        self._password = os.environ.get("NEO4J_PASSWORD", "")

    def open(self):
        """Return the store, migrated."""
        if self.dialect == "ladybug":
            store = LadybugStore(Path(self.address), namespace=self.namespace)
        else:
            store = Neo4jStore(self.address, username="neo4j", password=self._password, namespace=self.namespace)
        store.migrate()
        return store

    def run(self, *arguments, code=0):
        """Return what a command printed: its document, or its error."""
        done = self.cli(*arguments, "--store", self.address, "--json")
        assert done.code == code, done.err
        return done.err if code else done.json

    def execute(self, name):
        """Return the rows of a statement of `erasing/`, executed behind the back of the store."""
        text, parameters = load_from(Path(__file__).parent / "erasing", name, self.dialect).bind(namespace=self.namespace)
        if self.dialect == "ladybug":
            import ladybug

            with ladybug.Database(self.address) as database, ladybug.Connection(database) as connection:
                return list(connection.execute(text, parameters).rows_as_dict())
        import neo4j

        with neo4j.GraphDatabase.driver(self.address, auth=("neo4j", self._password)) as driver:
            return [dict(row) for row in driver.execute_query(text, parameters).records]


@pytest.fixture
def place(cli, store, tmp_path):
    place = Place(cli, store, tmp_path)
    yield place
    with place.open() as opened:
        for id_ in query_ids(opened):
            opened.erase([id_])


@pytest.fixture
def filled(place):
    questions, curated = place.folder / "q.jsonl", place.folder / "c.jsonl"
    questions.write_text("".join(json.dumps({k: q[k] for k in ("question", "options")}) + "\n" for q in QUESTIONS))
    curated.write_text("".join(json.dumps(q) + "\n" for q in QUESTIONS))
    done = place.run("distill", questions, "--teacher", f"curated:{curated}")
    assert [query["status"] for query in done["queries"]] == ["complete", "complete"]
    place.execute("make_concepts")
    place.execute("count_concepts")
    return [query["id"] for query in done["queries"]]


@ON_BOTH
def test_a_query_is_gone_from_every_path_and_so_are_its_concepts(place, filled):
    secret, other = filled
    answers = [place.run("ask", "--query-id", id_)["answer_id"] for id_ in filled]
    before = {row["name"]: row for row in place.execute("concepts")}
    assert before["beetles"]["entities"] == 2
    counted = place.run("db", "erase", "--query-id", secret, "--dry-run")
    assert counted["would_erase"]["Answer"] == 1
    done = place.run("db", "erase", "--query-id", secret[:12], "--yes")
    assert "Concept" not in counted["would_erase"]
    assert done["erased"] == counted["would_erase"] | {"Concept": len(before) - 2, "Community": 0}
    assert done["recorded"]["results"] == 1
    rows = {row["name"]: row for row in place.execute("concepts")}
    assert sorted(rows) == ["beetles", "insects"]
    assert {(row["entities"], row["cluster"]) for row in rows.values()} == {(1, "")}
    nothing_is_found(place, secret, answers[0])
    assert place.run("audit", answers[1])["lines"]
    with place.open() as store:
        assert [id_ for id_, _ in nearest_queries(store, [1.0] * 1024, 10)] == [other]


def test_the_text_is_in_no_file_of_ours(place, filled):
    secret, other = filled
    for id_ in filled:
        place.run("ask", "--query-id", id_)
    assert place.run("db", "erase", "--query-id", secret, "--yes")["erased"]["Query"] == 1
    mine = {"q.jsonl", "c.jsonl"}
    kept = [path for path in place.folder.rglob("*") if path.is_file() and path.name not in mine]
    assert kept
    for path in kept:
        content = path.read_bytes().lower()
        for text in (SECRET, QUESTIONS[0]["question"], QUESTIONS[0]["options"][0]):
            assert text.lower().encode() not in content, path
    assert place.run("runs"), "the runs are still listed"
    with place.open() as store:
        assert [graph.query.id for graph in store.read(filled)] == [other]


def test_the_sources_of_a_model_are_erased_when_that_is_confirmed(place, filled, monkeypatch):
    with place.open() as store:
        model = store.read([filled[1]])[0].calls[0].model
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    assert "]:\nError: Nothing was erased" in place.run("db", "erase", "--where", f"model={model}", code=2)
    assert place.run("db", "erase", "--where", f"model={model}", "--yes")["erased"]["Query"] == 2
    with place.open() as store:
        assert list(store.records()) == []
    assert place.execute("concepts") == []


def test_flags_that_select_nothing_or_too_much_are_refused(place, filled):
    assert "Pass one of" in place.run("db", "erase", "--yes", code=2)
    assert "Pass one of" in place.run("db", "erase", "--query-id", filled[0], "--where", "domain=general", "--yes", code=2)
    assert "created-before" in place.run("db", "erase", "--where", "text=x", "--yes", code=2)
    for text in ("yesterday", "now", "2026", "Q1", "01/02/2026"):
        assert f"'{text}' is not a date" in place.run("db", "erase", "--where", f"created-before={text}", "--yes", code=2)
    for text in (filled[0][:3], f"{filled[0][:3]}  ", " ", "     ", "\t"):
        assert "too short" in place.run("db", "erase", "--query-id", text, "--yes", code=2)
    assert "Pass one of" in place.run("db", "erase", "--query-id", "", "--yes", code=2)
    assert "is not a condition" in place.run("db", "erase", "--where", " ", "--yes", code=2)
    nothing = {"what": "all queries and documents where input_id=nobody", "note": "nothing matches"}
    would_erase = dict.fromkeys(("Query", "Document", "Evidence", "Entity", "TeacherCall", "TRIPLE", "Answer"), 0)
    for flags in (["--yes"], []):
        done = place.run("db", "erase", "--where", "input_id=nobody", *flags)
        assert done.pop("store")
        assert done == nothing | {"erased": would_erase | {"Concept": 0, "Community": 0}}
    assert place.run("db", "erase", "--where", "input_id=nobody", "--dry-run") == nothing | {"would_erase": would_erase}
    with place.open() as store:
        assert len(store.sources()) == 2


@pytest.fixture
def quarantined(place):
    """Distill three questions, of which the teacher answers two in prose; return the ids of these two."""
    lines = [{"id": name, "question": f"Why does {name} fall?"} for name in ("zebrasnow", "zebrahail")]
    lines = [{**line, "domain": "technical"} for line in lines] + [{"id": "rain", "question": "Why does rain fall?"}]
    questions = place.folder / "q.jsonl"
    questions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with ScriptedServer() as server:
        plain = server.take
        server.take = lambda request: Say("Rather some marmalade.") if "zebra" in request.prompt else plain(request)
        flags = ("--teacher", "scripted", "--teacher-base-url", server.url, "--store", place.address, "--json")
        done = place.cli("distill", questions, *flags).json["queries"]
    assert [query["status"] for query in done] == ["quarantined", "quarantined", "complete"]
    return [query["id"] for query in done[:2]]


def holding(place, word):
    """Return the names of the files of store and ledger that have this word."""
    files = (path for path in place.folder.rglob("*") if path.is_file() and path.name != "q.jsonl")
    return {path.name for path in files if word.encode() in path.read_bytes()}


def test_a_quarantined_question_and_what_its_teacher_said_are_in_no_file_either(place, quarantined):
    snow, _ = quarantined
    assert all(holding(place, word) for word in ("zebrasnow", "zebrahail", "marmalade")), "it was all there"
    counted = place.run("db", "erase", "--query-id", snow[:12], "--dry-run")
    assert (counted["source_id"], counted["only_in_ledger"]) == (snow, 1)
    assert "no query" in place.run("db", "erase", "--query-id", snow, "--yes", "--namespace", "another", code=3)
    done = place.run("db", "erase", "--query-id", snow[:12], "--yes")
    assert (done["only_in_ledger"], set(done["erased"].values())) == (1, {0})
    assert done["recorded"] == {"replies": 1, "results": 1, "batch_requests": 0}
    assert (holding(place, "zebrasnow"), bool(holding(place, "marmalade"))) == (set(), True)
    assert "no query" in place.run("db", "erase", "--query-id", snow, "--yes", code=3)
    assert place.run("db", "erase", "--where", "model=another", "--yes")["note"] == "nothing matches"
    done = place.run("db", "erase", "--where", "domain=technical", "--where", "model=scripted", "--yes")
    assert (done["only_in_ledger"], done["recorded"]["replies"]) == (1, 1)
    assert holding(place, "zebrahail") | holding(place, "marmalade") == set()
    (run,) = place.run("runs")
    assert [query.get("erased", False) for query in place.run("runs", "show", run["id"])["queries"]] == [True, True, False]
    assert place.cli("tape", "quarantined", "--store", place.address).out == ""


@pytest.mark.parametrize("store", ["embedded"], indirect=True)
def test_a_quarantined_question_is_erased_by_its_name_and_its_replies_can_be_kept(place, quarantined):
    done = place.run("db", "erase", "--query-id", "zebrahail", "--keep-recorded", "--yes")
    assert (done["source_id"], done["recorded"]["replies"]) == (quarantined[1], 0)
    assert holding(place, "zebrahail")
    assert place.run("db", "erase", "--query-id", quarantined[1], "--yes")["recorded"]["replies"] == 1
    assert holding(place, "zebrahail") == set()
    assert holding(place, "zebrasnow")


@pytest.mark.parametrize("store", ["embedded"], indirect=True)
def test_the_same_command_again_makes_up_for_a_compaction_that_failed(place, filled, monkeypatch):
    def full(_):
        raise StoreUnavailable("there is no room", hint="Free some disk space.")

    def holds(text):
        return text.encode() in Path(place.address).read_bytes()

    by_id, by_filter = ("--query-id", filled[0]), ("--where", "domain=general")
    for text, flags in (("lazarus", by_id), ("hard wings", by_filter)):
        with monkeypatch.context() as failing:
            failing.setattr(LadybugStore, "compact", full)
            assert "no room" in place.run("db", "erase", *flags, "--yes", code=3)
        assert holds(text)
        if flags == by_filter:
            assert (
                place.run("db", "erase", *flags, "--no-compact")["store"]
                == "not compacted; the file still contains deleted text"
            )
            assert place.run("db", "erase", *flags, "--dry-run")["note"] == "nothing matches"
            assert holds(text)
            assert place.run("db", "erase", *flags)["store"] == "compacted; the file no longer contains deleted text"
        else:
            assert "no query" in place.run("db", "erase", *flags, "--dry-run", code=3)
            assert holds(text)
            assert "The store file: compacted;" in place.run("db", "erase", *flags, code=3)
        assert not holds(text)


def nothing_is_found(place, source_id, answer_id):
    """Look for the secret wherever one can look."""
    with place.open() as store:
        everything = json.dumps(list(store.records()))
        for text in (SECRET, "lazarus", "Obscure", source_id):
            assert text not in everything
        assert read_answer(store, answer_id) is None
        assert store.verify() == []
    asked = place.run("ask", QUESTIONS[0]["question"], "--option", "On Mount Obscure", "--option", "In the sea", "--explain")
    assert "lazarus" not in json.dumps(asked["lines"])
    assert source_id not in asked["source_ids"]
    assert "no answer" in place.run("audit", answer_id, code=3)
    if place.dialect == "ladybug":
        assert source_id not in json.dumps(place.run("show"))
