"""`drag-graph eval`, as a user runs it."""

import json
import shutil
import threading
from pathlib import Path

import pytest

from drag_graph import DragGraph
from drag_graph.errors import Interrupted
from drag_graph.testing.server import Fault, Say, ScriptedServer

ROWS = [
    ("Which gas do plants take in?", ["carbon dioxide", "helium"], 0, "Plants take in carbon dioxide through their leaves."),
    ("What boils at 100 degrees?", ["iron", "water"], 1, "Water boils at 100 degrees Celsius at sea level."),
    ("Which planet has rings?", ["Saturn", "Mercury"], 0, "Saturn has rings of ice and rock."),
    ("What do bees make?", ["silk", "honey"], 1, "Bees make honey from nectar."),
]


@pytest.fixture
def task(tmp_path):
    names = ("question", "options", "answer", "facts")
    rows = [{"id": f"row-{number}", **dict(zip(names, row, strict=True))} for number, row in enumerate(ROWS)]
    path = tmp_path / "task.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def evaluate(cli, task, tmp_path):
    """Run an evaluation of the task with the rows' own evidence."""

    def run(*flags, folder="outcome", evidence=("--evidence", "facts")):
        place = ("--folder", str(tmp_path / folder), "--store", str(tmp_path / "graph.lbug"))
        return cli("eval", task, *evidence, *place, *flags, "--json")

    return run


def test_it_tells_what_the_lines_do_and_keeps_every_item(cli, evaluate, tmp_path):
    done = evaluate("--modes", "none,evidence,graph,shuffled")
    assert done.code == 0, done.err
    modes = done.json["modes"]
    assert list(modes) == ["none", "evidence", "graph", "shuffled"]
    assert modes["evidence"]["correct"] == 4
    assert modes["evidence"]["low"] < modes["evidence"]["accuracy"] == 1.0
    assert modes["none"]["prompt_tokens"] < modes["evidence"]["prompt_tokens"]
    assert done.json["gains"]["evidence"]["difference"] == 1.0 - modes["none"]["accuracy"]
    lines = [json.loads(line) for line in (tmp_path / "outcome" / "items.jsonl").read_text().splitlines()]
    assert len(lines) == 16
    shown = {(line["mode"], line["question"]): line["lines"] for line in lines}
    assert shown["none", ROWS[0][0]] == []
    assert shown["evidence", ROWS[0][0]] == [ROWS[0][3]]
    assert shown["shuffled", ROWS[0][0]] == [ROWS[2][3]]
    for line in lines:
        kept = line["mode"] != "shuffled"
        assert (line["answer_id"] is not None) == kept
    answer = next(line["answer_id"] for line in lines if line["mode"] == "graph")
    audit = cli("audit", answer, "--store", str(tmp_path / "graph.lbug"), "--json")
    assert audit.code == 0, audit.err
    assert (tmp_path / "outcome" / "table.md").read_text().count("\n| ") == 4
    summary = json.loads((tmp_path / "outcome" / "summary.json").read_text())
    assert summary["n"] == 4
    assert summary["versions"]["ladybug"]
    assert (summary["distilled"]["complete"], summary["distilled"]["cost_usd"]) == (4, 0.0)
    assert 0 < summary["graphs"]["edges"] <= 2 * summary["graphs"]["entities"]


def test_lines_that_others_brought_stand_beside_the_own_ones(evaluate, tmp_path):
    done = evaluate("--modes", "none,evidence,shuffled", "--shared-lines", "1", "--relevance", "0")
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in (tmp_path / "outcome" / "items.jsonl").read_text().splitlines()]
    facts = [row[3] for row in ROWS]
    for line in (line for line in lines if line["mode"] == "evidence"):
        own = next(row[3] for row in ROWS if row[0] == line["question"])
        assert line["lines"][0] == own
        assert len(line["lines"]) == 2
        assert line["lines"][1] in set(facts) - {own}
    assert all(len(line["lines"]) == 1 for line in lines if line["mode"] == "shuffled")
    assert not any(line["lines"] for line in lines if line["mode"] == "none")
    settings = done.json["settings"]
    assert (settings["shared_lines"], settings["strategy"], settings["top_k"]) == (1, "pair", None), "with the plan's defaults"


def test_an_interrupted_one_goes_on_and_another_one_is_refused_the_folder(evaluate, tmp_path):
    whole = evaluate("--modes", "none,evidence").json
    items = tmp_path / "outcome" / "items.jsonl"
    lines = items.read_text().splitlines(keepends=True)
    items.write_text("".join(lines[:5]) + lines[5][:30])
    again = evaluate("--modes", "none,evidence")
    assert again.code == 0, again.err
    assert items.read_text().splitlines()[:5] == [line.strip() for line in lines[:5]]
    assert len(items.read_text().splitlines()) == 8
    for mode in whole["modes"]:
        assert again.json["modes"][mode]["correct"] == whole["modes"][mode]["correct"]
    for flags in (("--token-budget", "5"), ("--blind",), ("--extractor", "patterns")):
        other = evaluate("--modes", "none", *flags)
        assert other.code == 2
        assert "settings" in other.err


@pytest.mark.parametrize("key", ["answer", "facts"])
def test_another_right_answer_or_evidence_is_another_evaluation(evaluate, task, key):
    assert evaluate("--modes", "none").code == 0
    rows = [json.loads(line) for line in Path(task).read_text().splitlines()]
    rows[0][key] = {"answer": 1, "facts": "Plants take in helium."}[key]
    Path(task).write_text("".join(json.dumps(row) + "\n" for row in rows))
    other = evaluate("--modes", "none")
    assert other.code == 2
    assert "another items" in other.err


def test_what_is_stored_otherwise_is_another_evaluation(cli, evaluate, task, tmp_path):
    assert evaluate("--modes", "evidence").code == 0
    elsewhere = ("--folder", str(tmp_path / "outcome"), "--store", str(tmp_path / "other.lbug"))
    assert "another store" in cli("eval", task, "--evidence", "facts", "--modes", "evidence", *elsewhere).err
    assert evaluate("--modes", "evidence", evidence=(), folder="stored").code == 0
    assert evaluate("--modes", "none", "--top-k", "3", folder="other").code == 0
    assert "another knowledge" in evaluate("--modes", "evidence", evidence=(), folder="stored").err


def test_a_question_that_comes_twice_is_asked_once(evaluate, task):
    rows = Path(task).read_text().splitlines()
    Path(task).write_text(
        "".join(f"{row}\n" for row in [*rows, json.dumps({**json.loads(rows[0]), "id": "other", "answer": 1})])
    )
    done = evaluate("--modes", "none")
    assert (done.code, done.json["n"], done.json["left_out"]["repeated"]) == (0, 4, 1)


def test_each_answer_of_a_model_is_kept_before_the_next_is_asked(evaluate, tmp_path):
    kept = []

    def says(_request):
        items = tmp_path / "outcome" / "items.jsonl"
        kept.append(len(items.read_text().splitlines()) if items.exists() else 0)
        return Say("A")

    with ScriptedServer() as server:
        server.always("student", says)
        done = evaluate(
            *("--modes", "none", "--student", "m", "--student-base-url", f"{server.url}?key=SECRET", "--scoring", "reply"),
            *("--workers", "1"),
        )
    assert done.code == 0, done.err
    assert kept == [0, 1, 2, 3]
    assert "SECRET" not in "".join(path.read_text() for path in (tmp_path / "outcome").glob("*.json*"))


def test_several_questions_of_a_served_student_are_asked_at_once_and_written_in_order(evaluate, tmp_path):
    together = threading.Barrier(2)

    def says(request):
        together.wait(30)
        return Say("A", delay=0.5 if ROWS[0][0] in request.prompt else 0.0)

    with ScriptedServer() as server:
        server.always("student", says)
        flags = ("--modes", "none", "--student", "m", "--student-base-url", server.url, "--scoring", "reply", "--workers", "2")
        done = evaluate(*flags)
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in (tmp_path / "outcome" / "items.jsonl").read_text().splitlines()]
    assert [line["question"] for line in lines] == [row[0] for row in ROWS]


def test_an_answer_that_failed_is_told(evaluate):
    with ScriptedServer() as server:
        server.script("student", Say("A"), Fault(400), Say("A"), Say("A"))
        done = evaluate("--modes", "none", "--student", "m", "--student-base-url", server.url, "--scoring", "reply")
    assert done.code == 1
    assert "Failed answers, which count as wrong: 1." in done.err
    assert done.json["modes"]["none"]["failed"] == 1


def test_a_sweep_over_a_setting_is_drawn(cli, evaluate, tmp_path):
    folders = [f"k{lines}" for lines in (1, 2)]
    for lines, folder in enumerate(folders, start=1):
        assert evaluate("--modes", "none,evidence", "--max-lines", str(lines), folder=folder).code == 0
        assert (tmp_path / folder / "calibration.svg").exists()
    places = [str(tmp_path / folder) for folder in folders]
    done = cli("eval", "picture", *places, "--over", "max_lines", "-o", str(tmp_path / "sweep.svg"))
    assert done.code == 0, done.err
    assert (tmp_path / "sweep.svg").read_text().rstrip().endswith("</svg>")
    assert cli("eval", "picture", *places, "--over", "max_lines", "-o", str(tmp_path / "sweep.svg"), "--force").code == 0
    assert cli("eval", "picture", *places, "--over", "top_k", "-o", str(tmp_path / "none.svg")).code == 2
    for place in ("sweep.txt", "nowhere/sweep.svg"):
        assert (
            "Cannot draw a picture" in cli("eval", "picture", *places, "--over", "max_lines", "-o", str(tmp_path / place)).err
        )
    assert cli("eval", "picture", str(tmp_path), "--over", "top_k").code == 2


def test_what_is_not_there_to_compare_or_draw_is_said_with_what_is(cli, evaluate, tmp_path):
    evaluate("--modes", "none,evidence")
    folder = str(tmp_path / "outcome")
    missing = cli("eval", "compare", folder, folder, "--mode", "evidence,graph")
    assert (missing.code, "has no mode 'graph'" in missing.err, "none, evidence" in missing.err) == (2, True, True)
    unknown = cli("eval", "picture", folder, "--over", "max_line", "-o", str(tmp_path / "x.svg"))
    assert (unknown.code, "max_line is not a setting" in unknown.err, "max_lines" in unknown.err) == (2, True, True)
    (tmp_path / "there.svg").write_text("mine")
    refused = cli("eval", "picture", folder, "--over", "max_lines", "-o", str(tmp_path / "there.svg"))
    assert (refused.code, "already exists" in refused.err) == (2, True)
    assert (tmp_path / "there.svg").read_text() == "mine"


def test_a_warning_says_that_a_few_items_allow_no_conclusion(cli, task, tmp_path):
    folder, place = str(tmp_path / "outcome"), ("--evidence", "facts", "--store", str(tmp_path / "graph.lbug"))
    shown = cli("eval", task, "--modes", "none,evidence", "--folder", folder, *place)
    for done in (shown, cli("eval", "compare", folder, folder, "--mode", "evidence,none")):
        assert (done.code, "Fewer than 10 items are too few for a conclusion" in done.err) == (0, True)


def test_bad_rows_are_named_and_left_out_with_a_count(cli, evaluate, task, tmp_path):
    with Path(task).open("a") as file:
        file.write('nonsense\n{"question": "Q?", "options": ["a", "b"], "answer": "a"}\n')
    done = evaluate("--modes", "none")
    assert done.code == 0, done.err
    assert done.json["n"] == 4
    assert done.json["left_out"] == {"unusable": 1, "without_evidence": 1, "repeated": 0}
    assert json.loads((tmp_path / "outcome" / "summary.json").read_text())["left_out"] == done.json["left_out"]
    assert f"task={task} line=5 why=Not JSON" in done.err


def test_the_order_of_the_options_is_looked_at(evaluate, tmp_path):
    done = evaluate("--modes", "evidence,rotated")
    assert done.code == 0, done.err
    assert done.json["modes"]["evidence"]["letters"] == {"A": [2, 2], "B": [2, 2]}
    lines = [json.loads(line) for line in (tmp_path / "outcome" / "items.jsonl").read_text().splitlines()]
    options = {(line["mode"], line["id"]): line for line in lines}
    for (mode, identity), line in options.items():
        other = options["evidence" if mode == "rotated" else "rotated", identity]
        assert line["options"] == other["options"][::-1]
        assert (line["gold"], line["answer"]) == ({"A": "B", "B": "A"}[other["gold"]], other["answer"])


def test_two_modes_of_one_outcome_are_compared_item_by_item(cli, evaluate, tmp_path):
    evaluate("--modes", "evidence,shuffled")
    folder = str(tmp_path / "outcome")
    found = cli("eval", "compare", folder, folder, "--mode", "evidence,shuffled", "--json")
    assert found.code == 0, found.err
    assert found.json["n"] == 4
    assert len(found.json["flipped"]) == round(4 * found.json["difference"])
    assert (found.json["first"]["mode"], found.json["second"]["mode"]) == ("evidence", "shuffled")
    said = cli("eval", "compare", folder, folder, "--mode", "evidence,shuffled")
    assert f"First: {folder}, mode evidence, 100.0 % correct, answers in {tmp_path / 'graph.lbug'}" in said.out
    assert f"Second: {folder}, mode shuffled" in said.out
    assert "First less second: +" in said.out
    assert "points on 4 items" in said.out
    assert cli("eval", "compare", folder, folder, "--mode", "graph").code == 2


def test_it_is_compared_with_naive_retrieval(evaluate, tmp_path):
    facts = [row[3] for row in ROWS]
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "one.txt").write_text(facts[0])
    (tmp_path / "library" / "two.jsonl").write_text("".join(json.dumps({"text": fact}) + "\n" for fact in facts[1:]))
    done = evaluate("--documents", str(tmp_path / "library"), "--max-lines", "1", "--modes", "none,evidence,bm25,cosine")
    assert done.code == 0, done.err
    assert done.json["modes"]["evidence"]["correct"] == done.json["modes"]["bm25"]["correct"] == 4
    lines = [json.loads(line) for line in (tmp_path / "outcome" / "items.jsonl").read_text().splitlines()]
    shown = {(line["mode"], line["question"]): line["lines"] for line in lines}
    for question, _, _, fact in ROWS:
        assert shown["bm25", question] == shown["cosine", question] == [fact]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--modes", "none,strange"), "Unknown mode strange"),
        (("--evidence", "nothing"), "has no item to evaluate: 4 rows, 0 of them unusable, 4 without evidence"),
        (("--modes", "bm25"), "needs documents"),
        (("--modes", "bm25", "--documents", "nowhere"), "has no document"),
        (("--modes", "shuffled", "--limit", "1"), "at least two items"),
        (("--limit", "0"), "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_words(evaluate, flags, said):
    done = evaluate(*flags)
    assert done.code == 2
    assert said in done.err


def test_without_teacher_and_evidence_there_must_be_something_stored(evaluate):
    assert "no teacher is set" in evaluate(evidence=()).err
    evaluate("--modes", "none", folder="first")
    assert evaluate("--modes", "graph", folder="second", evidence=()).code == 0


def test_questions_without_context_need_no_distillation_and_no_teacher(cli, task, tmp_path):
    done = cli("eval", task, "--modes", "none", "--store", str(tmp_path / "empty.lbug"), "--json")
    assert (done.code, list(done.json["modes"]), done.json["n"]) == (0, ["none"], 4), done.err
    assert done.json["distilled"] == {}


@pytest.fixture
def open_task(tmp_path):
    """A task of three open questions, one of them without an answer, and documents with the answers to the others."""
    rows = [
        {"id": "gas", "question": "Which gas do plants take in?", "answer": ["carbon dioxide", "CO2"]},
        {"id": "rings", "question": "Which planet has rings?", "answer": "Saturn"},
        {"id": "none", "question": "Which gas do bees breathe?", "answer": "Insufficient information."},
    ]
    (tmp_path / "open.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "library").mkdir()
    for number, (_, _, _, fact) in enumerate(ROWS):
        (tmp_path / "library" / f"{number}.txt").write_text(fact)
    return str(tmp_path / "open.jsonl")


def answer_as(request):
    """Answer as a model would that abstains on one question, and that knows more than the lines about another."""
    if "breathe?" in request.prompt:
        return Say("The lines do not answer this question.")
    rings = "Saturn [1]. It was visited by Cassini in 1997 [9]."
    return Say(rings if "has rings?" in request.prompt else "Carbon dioxide [1].", finish_reason="length")


def test_open_questions_are_asked_with_a_search_of_documents(cli, open_task, tmp_path):
    store = ("--store", str(tmp_path / "graph.lbug"))
    library, folder = str(tmp_path / "library"), str(tmp_path / "outcome")
    flags = ("--search", "--documents", library, "--modes", "none,evidence,combined,bm25", "--folder", folder)
    assert "The store is empty" in cli("eval", open_task, *flags, *store).err
    assert cli("ingest", library, *store).code == 0
    with ScriptedServer() as server:
        server.always("student", answer_as)
        student = ("--student", "m", "--student-base-url", server.url, "--relevance", "0", "--workers", "3")
        done = cli("eval", open_task, *flags, *store, *student, "--json")
        assert done.code == 0, done.err
        records = [json.loads(line) for line in (tmp_path / "outcome" / "items.jsonl").read_text().splitlines()]
        again = cli("eval", open_task, *flags, *store, *student, "--json")
        assert again.json["modes"] == done.json["modes"]
        table = cli("eval", open_task, *flags, *store, *student).out
    for mode in ("evidence", "combined", "bm25"):
        figures = done.json["modes"][mode]
        assert (figures["correct"], figures["truncated"], figures["refused"]) == (2, 2, 0)
        assert (figures["unsupported"]["count"], figures["unsupported"]["n"]) == (1, 2)
        assert figures["abstained"]["right"]["fraction"] == 1.0
        assert figures["abstained"]["wrong"]["fraction"] == 0.0
        assert 0.5 < figures["f1"] < 1.0
    assert not {"unsupported", "abstained"} & set(done.json["modes"]["none"])
    assert "unsupported" in table
    assert {record["mode"] for record in records if ROWS[2][3] in str(record["lines"])} == {"evidence", "combined", "bm25"}
    gas = next(record for record in records if record["mode"] == "bm25" and "take in" in record["question"])
    assert gas["golds"] == ["carbon dioxide", "CO2"]
    assert gas["facts"]["sentences"][0]["lines"] == [1]
    assert next(record for record in records if record["mode"] == "bm25" and "breathe" in record["question"])["abstained"]
    other = cli("eval", open_task, *flags, *store, *student, "--max-answer-tokens", "9")
    assert "another settings" in other.err
    for wrong in (("--evidence", "facts"), ("--modes", "shuffled")):
        assert "A search takes no lines" in cli("eval", open_task, "--search", *store, *wrong).err


def test_a_judge_compares_two_modes(cli, open_task, tmp_path):
    store, folder = ("--store", str(tmp_path / "graph.lbug")), str(tmp_path / "outcome")
    assert cli("ingest", str(tmp_path / "library"), *store).code == 0

    def verdict(request):
        one, _, two = request.prompt.partition("[ANSWER 1]")[2].partition("[ANSWER 2]")
        return Say("A" if "Saturn" in one else "B" if "Saturn" in two else "C")

    with ScriptedServer() as server:
        served = ("--student-base-url", server.url)
        server.always("student", lambda request: answer_as(request) if "[EVIDENCE]" in request.prompt else Say("Unknown."))
        modes = ("--search", "--modes", "none,evidence", "--relevance", "0", "--folder", folder)
        assert cli("eval", open_task, *modes, *store, "--student", "m", *served).code == 0
        server.always("student", verdict)
        judge = ("--judge", "big", *served)
        found = cli("eval", "compare", folder, folder, "--mode", "evidence,none", *judge, "--json")
        assert found.code == 0, found.err
        said = cli("eval", "compare", folder, folder, "--mode", "evidence,none", *judge)
        server.always("student", lambda request: Say("A" if "Saturn" in request.prompt.partition("[ANSWER]")[2] else "B"))
        graded = cli("eval", "compare", folder, folder, "--mode", "evidence,none", *judge, "--criterion", "correct")
        items = [json.loads(line) for line in (tmp_path / "outcome" / "items.jsonl").read_text().splitlines()]
        others = [item if "rings" in item["question"] else {**item, "question": "Another?"} for item in items]
        shutil.copytree(folder, tmp_path / "other")
        (tmp_path / "other" / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in others))
        asked = server.count()
        one = cli(
            "eval", "compare", folder, tmp_path / "other", "--mode", "evidence", *judge, "--criterion", "correct", "--json"
        )
        assert (one.json["n"], server.count() - asked) == (1, 2), "only common items are graded"
    judgement = found.json["judgement"]
    assert [judgement[name] for name in ("judge", "wins", "losses", "ties", "n")] == ["big", 1, 0, 2, 3]
    assert [item["verdict"] for item in judgement["items"] if "rings" in item["question"]] == ["first"]
    assert "mode evidence, 33.3 % correct" in graded.out
    assert "Graded by big" in graded.out
    assert "Judge big (judge/1 agreement): the first wins 1, loses 0, ties 2 of 3" in said.out
    refused = cli("eval", "compare", folder, folder, "--mode", "evidence,none", "--judge", "nearest")
    assert (refused.code, "only quotes" in refused.err) == (2, True)


def test_the_application_evaluates_reports_progress_and_resumes_after_a_cancellation(task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRAG_GRAPH_EMBEDDER", "lexical")
    steps = []
    with DragGraph(tmp_path / "graph.lbug", privacy="off") as graph:

        def run(on_progress, **more):
            folder = tmp_path / "outcome"
            modes = ["none", "evidence"]
            return graph.evaluation.run(task, modes=modes, evidence="facts", folder=folder, on_progress=on_progress, **more)

        def cancel(stage, done, _total):
            if (stage, done) == ("answers", 4):
                cancelled.wait()

        cancelled = threading.Event()
        handle = run(cancel, wait=False)
        handle.cancel()
        cancelled.set()
        with pytest.raises(Interrupted):
            handle.result(60)
        result = run(lambda *step: steps.append(step)).result()
        assert steps[-1] == ("answers", 8, 8)
        assert result.modes["evidence"]["correct"] == 4
        assert result.to_dict()["folder"] == str(tmp_path / "outcome")
        difference = graph.evaluation.compare(result.folder, result.folder, mode="evidence", second_mode="none").difference
        assert (difference.n, difference.difference > 0) == (4, True)
