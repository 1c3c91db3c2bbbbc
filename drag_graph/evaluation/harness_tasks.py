"""An outcome's items as tasks of EleutherAI's lm-evaluation-harness: our prompts, asked by anyone's model."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drag_graph.ask.prompt import render
from drag_graph.errors import InputError
from drag_graph.evaluation.outcome import Record, by_mode, read_about, read_records
from drag_graph.files import write_lines
from drag_graph.identity import sha256_of
from drag_graph.model import LABELS, Line
from drag_graph.ports.models import PLAIN


def write_tasks(outcome: Path, folder: Path) -> dict[str, int]:
    """Write a task of the harness for each mode of an outcome into `folder`; return by its name how many items it leaves out.

    Its `acc` is what `--scoring option-text` gives, its `acc_norm` what `option-text-norm` gives. Raises InputError where the
    outcome's students were not asked so: the harness would ask something else. It leaves out the items that failed.
    """
    left_out = {}
    modes = by_mode(read_records(outcome))
    name = read_about(outcome)["task"]
    for mode, records in modes.items():
        asked = [record for record in records if not record.error]
        if mode == "teacher" or not asked:  # the teacher was asked in its own way
            continue
        task = f"drag_graph_{name}_{mode}"
        items = (folder / f"{task}.jsonl").resolve()
        write_lines(items, (json.dumps(_document(record), ensure_ascii=False) for record in asked))
        write_lines(folder / f"{task}.yaml", [json.dumps(_configuration(task, items), indent=2)])  # JSON is YAML, too
        left_out[task] = len(records) - len(asked)
    return left_out


def _document(record: Record) -> dict[str, Any]:
    lines = [
        Line(n=n, kind="evidence", text=text, ref=record.id, source_id=record.id) for n, text in enumerate(record.lines, 1)
    ]
    prompt = render(record.question, record.options, lines, PLAIN)
    if not record.options or sha256_of([prompt]) != record.prompt_hash:
        message = f"{record.id[:12]} was not asked for the likelihood of its options' texts"
        raise InputError(
            message, hint="Take an outcome of --scoring option-text or option-text-norm, whose items have options."
        )
    return {"id": record.id, "prompt": prompt, "options": record.options, "gold": LABELS.index(record.gold)}


def _configuration(task: str, items: Path) -> dict[str, Any]:
    metrics: Sequence[str] = ("acc", "acc_norm")
    return {
        "task": task,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(items)}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "prompt",
        "doc_to_choice": "options",
        "doc_to_target": "gold",
        "metric_list": [{"metric": metric, "aggregation": "mean", "higher_is_better": True} for metric in metrics],
        "metadata": {"version": 1},
    }
