"""`drag-graph correct`: what a person marks wrong is not shown any more, in any mode, until that is undone."""

import getpass
import json

import pytest

from drag_graph import DragGraph, NotStored
from tests.e2e.conftest import ON_BOTH

QUESTION, OTHER = "What does aspirin do to platelets?", "What do platelets and aspirin have to do with each other?"
WRONG, RIGHT = "Aspirin strengthens platelets for a week.", "Aspirin inhibits platelets for about ten days."
BOTH = "Aspirin strengthens platelets, and aspirin irritates the stomach."
TRIPLES = (
    ("aspirin", "strengthens", "platelets", [0, 2]),
    ("aspirin", "inhibits", "platelets", [1]),
    ("aspirin", "irritates", "stomach", [2]),
)
EDGE = "aspirin strengthens platelets"

NOT_STORED = NotStored.exit_code


@pytest.fixture
def teacher(tmp_path):
    """The flags of a teacher that says all of these."""
    triples = [
        {"subject": subject, "predicate": name, "object": object_, "confidence": 0.9, "evidence": places}
        for subject, name, object_, places in TRIPLES
    ]
    curated = tmp_path / "curated.jsonl"
    line = {"question": QUESTION, "evidence": [WRONG, RIGHT, BOTH], "triples": triples}
    curated.write_text(json.dumps(line), encoding="utf-8")
    return ["--teacher", f"curated:{curated}"]


@pytest.fixture
def run(cli, store):
    """Run a command on the store; it must succeed. Returns its JSON."""

    def run_(*args, code=0):
        done = cli(*args, "--store", store, "--json")
        assert done.code == code, done.err
        return done.json

    return run_


@pytest.fixture
def distilled(run, teacher):
    return run("distill", "-q", QUESTION, *teacher)["queries"][0]["id"]


def texts(document):
    """Return the texts of lines without their endings."""
    return {line["text"].removesuffix(" (disputed)") for line in document}


def lines(run, question=QUESTION, mode="combined"):
    return texts(run("ask", question, "--mode", mode)["lines"])


def claim_of_edge(run, source, text=EDGE):
    (claim,) = [edge["claims"] for edge in run("show", source)["edges"] if edge["statement"].replace("_", " ").startswith(text)]
    return claim[0]


@ON_BOTH
def test_a_claim_that_is_marked_wrong_is_left_out_until_that_is_undone(run, cli, store, distilled, teacher, tmp_path):
    answer = run("ask", QUESTION)
    assert {WRONG, RIGHT, BOTH} < texts(answer["lines"])
    audited = run("audit", answer["answer_id"])
    claims = {claim["text"].replace("_", " "): claim["id"] for line in audited["lines"] for claim in line["claims"]}
    claim = claims[EDGE]
    assert claim == claim_of_edge(run, distilled)
    assert claim in {id_ for edge in run("search", "aspirin platelets")["edges"] for id_ in edge["claims"]}

    made = run("correct", claim[:9], "--wrong", "--note", "Retracted in 2025.", "--by", "ann")
    assert (made["target_id"], made["verdict"], made["author"], made["text"]) == (claim, "wrong", "ann", EDGE)
    assert run("correct")["corrections"] == [made]
    for question in (QUESTION, OTHER):
        for mode, shown in (("combined", {RIGHT, BOTH}), ("evidence", {RIGHT, BOTH}), ("graph", set())):
            found = lines(run, question, mode)
            assert found >= shown, (question, mode)
            assert not {text for text in found if "strengthens" in text and text != BOTH}, (question, mode)
    for words in (WRONG, "aspirin platelets"):
        searched = run("search", words)
        found = texts([*searched["spans"], *searched["edges"]])
        assert BOTH in found
        assert not {text for text in found if "strengthens" in text and text != BOTH}

    for form in ("table", "html"):
        out = cli("audit", answer["answer_id"], "--store", store, "--format", form).out.replace("\n", " ")
        assert "Retracted in 2025." in out
        assert "marked wrong by ann" in out.lower()
    (marked,) = {
        json.dumps(one["correction"])
        for line in run("audit", answer["answer_id"])["lines"]
        for one in line["claims"]
        if one["correction"]
    }
    assert json.loads(marked) == made
    later = run("audit", run("ask", QUESTION)["answer_id"])
    assert all(line["live"] for line in later["lines"])

    left_out = lines(run)
    run("aggregate", "--threshold", "0.5")
    assert lines(run) == left_out
    run("refresh", "--corrected", *teacher)
    assert lines(run) == left_out
    assert run("correct")["corrections"] == [made]

    assert run("correct", claim, "--undo", "--by", "bob")["undone_by"] == "bob"
    assert WRONG in lines(run)
    assert WRONG in lines(run, OTHER)
    assert "undone by bob" in cli("audit", answer["answer_id"], "--store", store).out.replace("\n", " ")
    assert cli("correct", claim, "--undo", "--store", store).code == NOT_STORED


def test_a_correction_travels_with_an_export(run, cli, store, distilled, tmp_path):
    made = run("correct", claim_of_edge(run, distilled), "--wrong")
    assert made["author"] == getpass.getuser()
    answer = run("ask", QUESTION)["answer_id"]
    run("correct", answer, "--wrong", "--note", "It says nothing.")
    file = tmp_path / "graph.jsonl"
    assert cli("export", "--format", "subgraphs", "-o", file, "--store", store).code == 0
    *before, exported, end = file.read_text().splitlines(keepends=True)
    earlier = {**made, "created_at": "2020-01-01T00:00:00+00:00", "verdict": "right"}
    # As in a file put together from two exports: of two corrections of a claim the later one counts.
    file.write_text("".join([*before, exported, json.dumps({"correction": earlier}) + "\n", end]))
    there = ("--store", tmp_path / "other.lbug")
    done = cli("import", file, *there, "--json")
    assert (done.code, done.json["corrections"]) == (0, 1)
    assert cli("import", file, *there, "--json").json["corrections"] == 0
    (correction,) = cli("correct", *there, "--json").json["corrections"]
    assert (correction["target_id"], correction["created_at"]) == (made["target_id"], made["created_at"])
    assert WRONG not in texts(cli("ask", QUESTION, *there, "--json").json["lines"])
    undone = cli("correct", correction["target_id"], "--undo", *there)
    assert undone.code == 0, undone.err
    assert WRONG in texts(cli("ask", QUESTION, *there, "--json").json["lines"])
    later = {**made, "created_at": "2999-01-01T00:00:00+00:00", "verdict": "right"}
    file.write_text("".join([*before, json.dumps({"correction": later}) + "\n", end]))
    said = cli("import", file, *there).out
    assert "Corrections written: 1" in said
    assert "Nothing was changed" not in said
    exported = cli("export", "--store", store).out.splitlines()
    records = [record for record in map(json.loads, exported) if record.get("label") == "Correction"]
    assert sorted(record["properties"]["kind"] for record in records) == ["answer", "claim"]


def test_an_answer_that_is_marked_is_audited_so_and_its_question_is_due(run, cli, store, distilled, teacher):
    answer = run("ask", QUESTION)["answer_id"]
    assert run("audit", answer)["correction"] is None
    assert run("refresh", "--corrected", "--dry-run", *teacher)["stale"] == []
    run("correct", answer[:10], "--wrong", "--note", "Ten days.", "--by", "ann")
    assert run("audit", answer)["correction"]["note"] == "Ten days."
    for form in ("table", "html"):
        assert "marked wrong by ann" in cli("audit", answer, "--store", store, "--format", form).out.lower()
    (due,) = run("refresh", "--corrected", "--dry-run", *teacher)["stale"]
    assert (due["id"], due["reasons"]) == (distilled, ["corrected"])
    run("correct", answer, "--right")
    assert run("refresh", "--corrected", "--dry-run", *teacher)["stale"] == []
    assert lines(run) >= {WRONG, RIGHT}


def test_a_claim_of_a_document_is_left_out_and_its_passage_stays(run, tmp_path):
    (tmp_path / "a.txt").write_text("Mitosis produces daughter cells. The weather was fine.\n", encoding="utf-8")
    source = run("ingest", tmp_path / "a.txt")["documents"][0]["id"]
    (edge,) = [edge for edge in run("show", source)["edges"] if "daughter" in edge["statement"]]
    asked = ("What does mitosis produce?", "graph")
    assert edge["statement"] in lines(run, *asked)
    run("correct", edge["claims"][0], "--wrong")
    assert edge["statement"] not in lines(run, *asked)
    run("ingest", tmp_path / "a.txt")
    (tmp_path / "a.txt").write_text("Mitosis produces daughter cells. The weather was bad.\n", encoding="utf-8")
    run("ingest", tmp_path / "a.txt")
    assert edge["statement"] not in lines(run, *asked)
    assert "Mitosis produces daughter cells" in str(run("ask", asked[0])["lines"])


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["feed"], 2, "--wrong, --right and --undo"),
        (["feed", "--wrong", "--right"], 2, "--wrong, --right and --undo"),
        (["--wrong"], 2, "require an ID"),
        (["feed", "--undo", "--note", "x"], 2, "--note does not work with --undo"),
        (["ffffffffffff", "--wrong"], NOT_STORED, "There is no claim or answer 'ffffffffffff'"),
        ([" ", "--wrong"], NOT_STORED, "There is no claim or answer"),
    ],
)
def test_what_cannot_be_marked_is_refused_with_what_to_do(cli, store, distilled, args, code, said):
    done = cli("correct", *args, "--store", store)
    assert done.code == code, done.err
    assert said in done.err
    assert "Hint: " in done.err


def test_the_application_returns_what_the_command_line_prints(store, distilled, run):
    claim = claim_of_edge(run, distilled)
    with DragGraph(store, embedder="lexical") as graph:
        made = graph.correct(claim, "wrong", note=" Withdrawn ", by="ann")
        assert (made.note, list(graph.corrections())) == ("Withdrawn", [made])
        assert WRONG not in {line.text for line in graph.ask(QUESTION).lines}
        graph.correct(claim, None)
        assert WRONG in {line.text for line in graph.ask(QUESTION).lines}, "a later question sees the correction undone"


def test_erasing_takes_the_corrections_of_what_goes_and_no_others(run, cli, store, distilled, tmp_path):
    (tmp_path / "a.txt").write_text("Mitosis produces daughter cells.\n", encoding="utf-8")
    document = run("ingest", tmp_path / "a.txt")["documents"][0]["id"]
    made = run("correct", claim_of_edge(run, distilled), "--wrong", "--note", "Said by Zacharias")
    run("correct", claim_of_edge(run, document, "Mitosis"), "--right")
    assert cli("db", "erase", "--query-id", document, "--yes", "--store", store).code == 0
    assert run("correct")["corrections"] == [made]
    assert b"Zacharias" in store.read_bytes()
    assert cli("db", "erase", "--query-id", distilled, "--yes", "--store", store).code == 0
    assert run("correct")["corrections"] == []
    assert b"Zacharias" not in store.read_bytes()
