"""`drag-graph edge calibrate`, by the command line on a real store."""

import json

import pytest

FACTS = {
    "What keeps the planets near the Sun?": ("gravity", "magnets", "Gravity keeps the planets near the Sun."),
    "What do plants make from light?": ("sugar", "stone", "Plants make sugar from light, by photosynthesis."),
    "What carries oxygen in blood?": ("haemoglobin", "keratin", "Haemoglobin carries oxygen in blood."),
    "What is frozen water called?": ("steam", "ice", "Ice and steam are water, and what is frozen is ice."),
}


@pytest.fixture
def questions(cli, tmp_path):
    """Four questions that are distilled; the right answer of the last is given wrongly, so that one answer is wrong."""
    lines = [
        {"id": str(n), "question": text, "options": [right, wrong], "answer": 0, "evidence": [fact]}
        for n, (text, (right, wrong, fact)) in enumerate(FACTS.items())
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = cli("distill", str(path), "--store", "g.lbug", "--teacher", f"curated:{path}", "--embedder", "lexical", "--json")
    assert done.code == 0, done.err
    return path


def calibrate(cli, questions, *args):
    return cli("edge", "calibrate", str(questions), "--store", "g.lbug", "--embedder", "lexical", *args)


def test_the_threshold_keeps_to_a_wanted_rate_of_wrong_answers(cli, questions):
    done = calibrate(cli, questions, "--wrong-rate", "0.0", "--json")
    assert done.code == 0, done.err
    document = done.json
    assert document["n"] == 4
    chosen = next(point for point in document["points"] if point["threshold"] == document["agreement"])
    assert chosen["wrong_rate"] == 0.0
    assert chosen["local"] >= 1
    assert max(point["wrong_rate"] for point in document["points"]) > 0.0
    assert cli("answers", "--store", "g.lbug", "--json").json == []


def test_the_table_names_the_setting(cli, questions, tmp_path):
    done = calibrate(cli, questions, "--cloud-rate", "0.5")
    assert done.code == 0, done.err
    setting = done.out.splitlines()[-1].partition("#")[0].strip()
    assert setting.startswith("agreement = 0.")
    (tmp_path / "drag-graph.toml").write_text(setting + "\n", encoding="utf-8")
    assert setting.split()[-1][:5] in cli("config").out


@pytest.mark.parametrize("args", [(), ("--cloud-rate", "0.5", "--wrong-rate", "0.5")])
def test_one_wanted_rate_is_needed(cli, questions, args):
    done = calibrate(cli, questions, *args)
    assert done.code == 2
    assert "--cloud-rate" in done.err


def test_questions_without_right_answers_calibrate_nothing(cli, questions):
    questions.write_text('{"question": "Why?"}\n', encoding="utf-8")
    done = calibrate(cli, questions, "--cloud-rate", "0.5")
    assert done.code == 2
    assert "gold answer" in done.err
