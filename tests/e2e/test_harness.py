"""lm-evaluation-harness and `drag-graph eval` ask the same items and must come to the same numbers (`make llm`)."""

import json
from pathlib import Path

import numpy as np
import pytest
from tiny_gguf import write_tiny_gguf

pytestmark = pytest.mark.llm

SUBJECTS = ["iron", "water", "moss", "honey", "salt", "wool"]


@pytest.fixture
def task(tmp_path):
    rows = []
    for number, one in enumerate(SUBJECTS):
        others = [SUBJECTS[(number + step) % len(SUBJECTS)] for step in (1, 3, 4)]
        options = [*others[: number % 4], f"{one} or so", *others[number % 4 :]]
        facts = [f"A dorvel of kind {number} eats {one}.", "Dorvels sleep at noon."]
        question = f"What does a dorvel of kind {number} eat?"
        rows.append({"id": str(number), "question": question, "options": options, "answer": number % 4, "facts": facts})
    path = tmp_path / "dorvels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def outcome(cli, task, tmp_path):
    """Evaluate a student in two modes, and write the outcome as tasks of the harness; return items by mode."""

    def run(student, scoring="option-text"):
        place = ("--folder", tmp_path / scoring, "--store", tmp_path / "graph.lbug")
        flags = ("--evidence", "facts", "--student", student, "--scoring", scoring, "--modes", "none,evidence")
        done = cli("eval", task, *flags, *place, "--json")
        assert done.code == 0, done.err
        written = cli("eval", "harness", tmp_path / scoring, tmp_path / "tasks", "--json")
        assert written.json["tasks"] == ["drag_graph_dorvels_none", "drag_graph_dorvels_evidence"]
        items = [json.loads(line) for line in (tmp_path / scoring / "items.jsonl").read_text().splitlines()]
        return {mode: [item for item in items if item["mode"] == mode] for mode in ("none", "evidence")}

    return run


def asked_by_the_harness(folder, model, **flags):
    from lm_eval.evaluator import simple_evaluate
    from lm_eval.tasks import TaskManager

    names = {mode: f"drag_graph_dorvels_{mode}" for mode in ("none", "evidence")}
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    found = simple_evaluate(model, tasks=list(names.values()), task_manager=manager, bootstrap_iters=0, **flags)
    figures = {mode: found["results"][name] for mode, name in names.items()}
    samples = {mode: sorted(found["samples"][name], key=lambda sample: sample["doc_id"]) for mode, name in names.items()}
    return figures, {mode: [[pair[0] for pair in sample["filtered_resps"]] for sample in samples[mode]] for mode in samples}


GEMMA = f"gguf:{Path('~/.cache/drag-graph/models/gemma-3-270m-q4_k_m.gguf').expanduser()}"


def test_a_real_model_under_the_engine_of_the_harness_comes_to_the_same_numbers(outcome, tmp_path):
    """Both read the same quantised weights. They compute with them in other precisions, so likelihoods agree to some 3 %."""
    items = outcome(GEMMA, "option-text-norm")
    folder, _, file = GEMMA.removeprefix("gguf:").rpartition("/")
    flags = {"pretrained": folder, "gguf_file": file, "device": "cpu", "dtype": "float32"}
    figures, likelihoods = asked_by_the_harness(tmp_path / "tasks", "hf", model_args=flags)
    for mode, records in items.items():
        assert figures[mode]["acc_norm,none"] == pytest.approx(np.mean([record["correct"] for record in records]))
        for record, sums in zip(records, likelihoods[mode], strict=True):
            scores = np.divide(sums, [len(option) for option in record["options"]])
            assert record["answer"] == record["options"][int(scores.argmax())]
            assert record["probabilities"] == pytest.approx(np.exp(scores) / np.exp(scores).sum(), abs=0.03)
    assert figures["none"]["acc_norm,none"] != figures["evidence"]["acc_norm,none"]


def test_the_harness_own_model_gives_our_numbers(outcome, tmp_path):
    """Nothing is shared but prompts and weights: its tokenizer and engine, its likelihoods, its choice."""
    # Transformers puts a space before every text, whatever the file says.
    student = f"gguf:{write_tiny_gguf(tmp_path / 'tiny.gguf', space_prefix=True, seed=3)}"
    items = outcome(student)
    figures, likelihoods = asked_by_the_harness(
        tmp_path / "tasks", "hf", model_args={"pretrained": str(tmp_path), "gguf_file": "tiny.gguf", "device": "cpu"}
    )
    for mode, records in items.items():
        assert figures[mode]["acc,none"] == pytest.approx(np.mean([record["correct"] for record in records]))
        for record, sums in zip(records, likelihoods[mode], strict=True):
            assert record["probabilities"] == pytest.approx(np.exp(sums) / np.exp(sums).sum(), abs=1e-2)
