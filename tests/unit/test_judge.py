"""Answers compared by a model as the judge, and by hand (`bench/judging.py`)."""

import json
import sys
from dataclasses import asdict, replace

import pytest

from bench import judging
from drag_graph.errors import InputError, MalformedReply
from drag_graph.evaluation.judge import (
    BETTER,
    CHOICES,
    GRADES,
    NO_ANSWER,
    RUBRIC_VERSION,
    graded,
    judged,
    preference,
    prompt_of,
)
from drag_graph.evaluation.outcome import ITEMS, Record
from drag_graph.files import write_lines
from drag_graph.identity import sha256_of
from drag_graph.ports.model_roles import StudentReply


def record(number, answer, *, mode="graph", **more):
    return Record(
        id=f"id-{number}",
        mode=mode,
        question=f"What is {number}?",
        options=(),
        gold=f"gold {number}",
        answer=answer,
        label=None,
        correct=False,
        confidence=0.5,
        probabilities=(),
        lines=(),
        leaking=0,
        answer_id=None,
        prompt_hash="",
        prompt_tokens=1,
        context_tokens=0,
        seconds=0.1,
        f1=0.0,
        **more,
    )


class Judge:
    """A judge that gives the choice which `choose` returns for the two answers in their order."""

    name = "judge"

    def __init__(self, choose):
        self._choose = choose
        self.prompts = []

    def count_tokens(self, text):
        return len(text.split())

    def answer(self, prompt):
        self.prompts.append(prompt)
        one, two = (prompt.text.split(header)[1].split("\n")[2] for header in ("[ANSWER 1]", "[ANSWER 2]"))
        choice = CHOICES[self._choose(one, two)]
        return StudentReply(choice, "A", 0.5)


def longer(one, two):
    return 0 if len(one) > len(two) else 1


FIRST = [record(1, "a long answer"), record(2, "short"), record(3, "the same [1]."), record(4, "long enough")]
SECOND = [record(1, "short"), record(2, "a long answer"), record(3, "The same [2]"), record(4, "no")]


def test_both_orders_have_to_agree():
    found = judged(FIRST, SECOND, Judge(longer))
    assert [item.verdict for item in found.items] == ["first", "second", "tie", "first"]
    assert [found.figures[name] for name in ("n", "wins", "losses", "ties", "swayed", "failed")] == [4, 2, 1, 1, 0, 0]
    swayed = judged(FIRST, SECOND, Judge(lambda _one, _two: 0))
    assert [item.verdict for item in swayed.items] == ["tie"] * 4
    assert swayed.items[0].orders == ("first", "second")
    assert (swayed.figures["ties"], swayed.figures["swayed"]) == (4, 3)
    document = found.to_dict()
    assert (document["judge"], document["rubric"], document["items"][1]["verdict"]) == (
        "judge",
        f"{RUBRIC_VERSION} agreement",
        "second",
    )


def test_the_judge_sees_question_gold_and_both_answers_only():
    judge = Judge(longer)
    judged([record(1, "one [2].", golds=("gold", "or"))], [record(1, "other")], judge, workers=2)
    assert len(judge.prompts) == 2
    for text in (prompt.text for prompt in judge.prompts):
        assert "What is 1?" in text
        assert "gold / or" in text
        assert "one." in text
        assert "[2]" not in text
    assert NO_ANSWER in prompt_of(record(1, "x", answerable=False), ["x", "y"], len).text


def test_a_pair_that_the_judge_cannot_read_does_not_count():
    def choose(one, _two):
        if "long enough" in one:
            raise MalformedReply("no letter")
        return 2

    found = judged(FIRST, SECOND, Judge(choose))
    assert (found.figures["n"], found.figures["failed"], found.items[3].error) == (3, 1, "no letter")
    with pytest.raises(InputError, match="gave no verdict: no letter"):
        judged(FIRST[3:], SECOND[3:], Judge(choose))


@pytest.mark.parametrize("criterion", BETTER)
def test_other_criteria_need_no_reference(criterion):
    judge = Judge(longer)
    found = judged(FIRST[:1], SECOND[:1], judge, criterion=criterion)
    assert (found.rubric, found.figures["wins"]) == (f"{RUBRIC_VERSION} {criterion}", 1)
    assert all(BETTER[criterion] in prompt.text and "gold" not in prompt.text for prompt in judge.prompts)


def test_a_judge_grades_each_answer_alone():
    class Grader(Judge):
        def answer(self, prompt):
            self.prompts.append(prompt)
            if "long enough" in prompt.text:
                raise MalformedReply("no letter")
            return StudentReply(GRADES[0 if "long answer" in prompt.text else 1], "A", 0.5)

    grader = Grader(None)
    failed, silent = record(5, "a long answer", error="no"), record(6, "", answerable=False)
    found = graded([*FIRST, failed, replace(silent, correct=True)], grader)
    assert [(one.id, one.correct) for one in found] == [
        ("id-1", True), ("id-2", False), ("id-3", False), ("id-5", False), ("id-6", True),
    ]  # fmt: skip
    assert "gold 1" in grader.prompts[0].text
    assert len(grader.prompts) == 4
    with pytest.raises(InputError, match="gave no verdict: no letter"):
        graded(FIRST[3:], grader)


def test_the_prompt_is_pinned():
    text = prompt_of(record(1, "x"), ["one", "two"], len).text
    assert (RUBRIC_VERSION, sha256_of(text)[:12]) == ("judge/1", "15d67372846f"), "a new text needs a new version"


def test_wins_less_losses_have_an_interval():
    found = preference(["first"] * 30 + ["second"] * 10 + ["tie"] * 20)
    assert (found["wins"], found["losses"], found["ties"]) == (30, 10, 20)
    assert found["difference"] == pytest.approx(1 / 3)
    assert 0 < found["low"] < found["difference"] < found["high"]
    assert found["p"] < 0.01
    with pytest.raises(InputError, match="no verdict"):
        preference([])


# -- by hand


@pytest.fixture
def outcome(tmp_path):
    """An outcome with two modes: `ours` is right for even items, `theirs` for multiples of three."""
    rows = []
    for number in range(40):
        rows += [
            {"mode": mode, "answer": f"{'gold' if number % step == 0 else 'not'} {number} says {mode} [1]."}
            for mode, step in (("ours", 2), ("theirs", 3))
        ]
        for row in rows[-2:]:
            row |= {"number": number}
    records = [replace(record(row["number"], row["answer"]), mode=row["mode"]) for row in rows]
    write_lines(tmp_path / ITEMS, (json.dumps(asdict(one)) for one in records))
    return tmp_path


@pytest.fixture
def run(outcome, monkeypatch, capsys):
    def command(name, *arguments):
        sides = [] if name == "keep" else [str(outcome), str(outcome), "--mode", "ours,theirs"]
        monkeypatch.setattr(sys, "argv", ["judging.py", name, *sides, *map(str, arguments)])
        judging.main()
        return capsys.readouterr().out

    return command


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_sheets_are_blind_and_the_same_each_time(run, outcome):
    for name, fields in (("answers", {"answer", "label"}), ("pairs", {"one", "two", "verdict"})):
        run(name, "--number", 20, "-o", outcome / "sheet.jsonl")
        first = rows_of(outcome / "sheet.jsonl")
        run(name, "--number", 20, "-o", outcome / "sheet.jsonl")
        assert rows_of(outcome / "sheet.jsonl") == first
        assert len(first) == 20
        assert set(first[0]) == {"id", "question", "gold"} | fields
    ours = [row["one"].endswith("says ours.") for row in first]
    assert 0 < sum(ours) < 20


def test_verdicts_on_pairs_are_counted_for_the_right_side(run, outcome):
    run("pairs", "--number", 30, "-o", outcome / "sheet.jsonl")
    rows = rows_of(outcome / "sheet.jsonl")
    for row in rows:
        row["verdict"] = {"one": "one", "two": "two"}[next(side for side in ("one", "two") if "ours" in row[side])]
    rows[0]["verdict"], rows[1]["verdict"] = "Tie", ""
    write_lines(outcome / "sheet.jsonl", map(json.dumps, rows))
    run("keep", outcome / "sheet.jsonl", outcome / "labels.jsonl")
    kept = rows_of(outcome / "labels.jsonl")
    assert {tuple(row) for row in kept} == {("id", "verdict")}
    found = json.loads(run("count", "--labels", outcome / "labels.jsonl"))
    assert (found["n"], found["wins"], found["losses"], found["ties"]) == (29, 28, 0, 1)


def test_labels_of_answers_are_compared_with_the_judge(run, outcome):
    run("answers", "--number", 80, "-o", outcome / "sheet.jsonl")
    rows = rows_of(outcome / "sheet.jsonl")
    for row in rows:
        row["label"] = "right" if row["answer"].startswith("gold") else "wrong"
    write_lines(outcome / "sheet.jsonl", map(json.dumps, rows))
    run("keep", outcome / "sheet.jsonl", outcome / "labels.jsonl")
    assert {tuple(row) for row in rows_of(outcome / "labels.jsonl")} == {("id", "label")}

    def verdict(number):
        return "tie" if (number % 2 == 0) == (number % 3 == 0) else "first" if number % 2 == 0 else "second"

    items = [{"id": f"id-{n}", "verdict": verdict(n), "error": ""} for n in range(40)]
    items[2]["verdict"], items[4]["error"] = "second", "no letter"
    judgement = {"judgement": {"judge": "m", "rubric": "judge/1", "items": items}}
    (outcome / "judged.json").write_text(json.dumps(judgement))
    text = run("agreement", "--labels", outcome / "labels.jsonl", "--judged", outcome / "judged.json")
    assert "m, judge/1: 39 pairs: agreement 97.4 %" in text
    assert "opposite verdicts: 1" in text


def test_a_label_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="'good' is not one of right, partly, wrong"):
        list(judging.kept([{"id": "a", "label": "good"}]))
