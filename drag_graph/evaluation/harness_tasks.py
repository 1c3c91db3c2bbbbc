"""Write the prompts of an outcome as tasks of EleutherAI's lm-evaluation-harness, to ask any model."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from drag_graph.ask.student_prompt import render
from drag_graph.errors import InputError
from drag_graph.evaluation.outcome import Record, by_mode, read_about, read_records
from drag_graph.files import write_lines
from drag_graph.identity import sha256_of
from drag_graph.model import LABELS, Line
from drag_graph.ports.model_roles import PLAIN, Layout

SCORINGS = ("option-text", "option-text-norm")
HINT = f"Choose an outcome with {' or '.join(f'`scoring={name}`' for name in SCORINGS)} whose items have options."


def write_tasks(outcome: Path, folder: Path) -> dict[str, int]:
    """Write a task for each mode of an outcome into `folder`, and return by name how many failed items it leaves out.

    `acc` of the harness corresponds to `--scoring option-text`, `acc_norm` to `option-text-norm`. Raises InputError, and writes
    nothing, for an outcome of another scoring, because the harness would ask something else.
    """
    about = read_about(outcome)
    if about["scoring"] not in SCORINGS:
        raise InputError(f"{outcome} was evaluated with `scoring={about['scoring']}`.", hint=HINT)
    layout = replace(PLAIN, best_last=about["settings"]["line_order"] == "best-last")
    tasks, left_out = {}, {}
    for mode, records in by_mode(read_records(outcome)).items():
        answered = [record for record in records if not record.error]
        if not answered:
            continue
        task = f"drag_graph_{about['task']}_{mode}"
        tasks[task] = [_document(record, layout) for record in answered]
        left_out[task] = len(records) - len(answered)
    for task, documents in tasks.items():
        items = (folder / f"{task}.jsonl").resolve()
        write_lines(items, (json.dumps(document, ensure_ascii=False) for document in documents))
        write_lines(folder / f"{task}.yaml", [json.dumps(_configuration(task, items), indent=2)])  # JSON is valid YAML
    return left_out


def _document(record: Record, layout: Layout) -> dict[str, Any]:
    prompts = (_prompt(record, edges_from, layout) for edges_from in range(len(record.lines), -1, -1))
    prompt = next((prompt for prompt in prompts if sha256_of([prompt]) == record.prompt_hash), None)
    if not record.options or prompt is None:
        raise InputError(f"Item {record.id[:12]} was not scored by the likelihood of its options.", hint=HINT)
    return {"id": record.id, "prompt": prompt, "options": record.options, "gold": LABELS.index(record.gold)}


def _prompt(record: Record, edges_from: int, layout: Layout) -> str:
    """Return the prompt if `edges_from` is the first edge; `best-last` reverses evidence and edges separately."""
    lines = [
        Line(n=n, kind="evidence" if n <= edges_from else "edge", text=text, ref=record.id, source_id=record.id)
        for n, text in enumerate(record.lines, start=1)
    ]
    return render(record.question, record.options, lines, layout)


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
