"""The tasks of `drag-graph eval`: items from a file, a folder or the hub, read as the pipeline reads questions."""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from drag_graph import log
from drag_graph.errors import InputError, Withheld
from drag_graph.evaluation.hub import TASKS, read_rows
from drag_graph.inputs import InputLine, parse_lines, read_queries
from drag_graph.model import Query
from drag_graph.ports.question_gate import Gate

Split = Literal["all", "development", "test"]


@dataclass(frozen=True, slots=True)
class TaskItem:
    """A question with its right answer, and the evidence that the set brings for it."""

    query: Query
    evidence: tuple[str, ...] = ()

    def curated(self) -> dict[str, Any]:
        """Return its evidence as a line of a curated file."""
        head = {"question": self.query.text, **({"options": list(self.query.options)} if self.query.options else {})}
        return {**head, "evidence": list(self.evidence)}


@dataclass(frozen=True, slots=True)
class TaskItems:
    """The items of a task, and how many of the rows that were read are left out: `unusable`, `without_evidence`, `repeated`."""

    items: list[TaskItem]
    left_out: dict[str, int]


def read_task(
    task: str,
    *,
    namespace: str,
    data: Path | None = None,
    evidence: str = "",
    split: Split = "all",
    limit: int | None = None,
) -> TaskItems:
    """Return the items of a task, of the file that `task` is, or of `data`/TASK.jsonl, or else of the hub's set.

    With `evidence`, the key of a row's own evidence, only rows that have some. `split` is by the hash of a row's id, so that an
    item is on the same side whatever else is asked. A row that cannot be asked is left out, and named in the log; a question
    is taken once. Raises InputError where there is no item.
    """
    items: dict[str, TaskItem] = {}
    problems: list[str] = []
    without_evidence = repeated = 0
    for line in _lines(task, namespace, data):
        found = _item(line, evidence)
        if isinstance(found, str):
            problems.append(f"line {line.number}: {found}")
            log.event("a row is left out", level=logging.WARNING, task=task, line=line.number, why=found)
        elif in_split(found.query.input_id or str(line.number), split):
            if evidence and not found.evidence:
                without_evidence += 1
            elif found.query.id in items:
                repeated += 1
            else:
                items[found.query.id] = found
        if len(items) == limit:
            break
    if not items:
        why = f": {problems[0]}" if problems else ""
        raise InputError(f"{task} has no item of that kind{why}", hint="Look at --evidence, --split and the rows.")
    if without_evidence:
        log.event("rows without evidence are left out", level=logging.WARNING, task=task, rows=without_evidence, key=evidence)
    left_out = {"unusable": len(problems), "without_evidence": without_evidence, "repeated": repeated}
    return TaskItems(list(items.values()), left_out)


def admitted(gate: Gate, items: Sequence[TaskItem]) -> list[TaskItem]:
    """Return the items as they may be asked, with their right answers; those that are withheld are left out, aloud."""
    found = []
    for item in items:
        try:
            asked = gate.asked(item.query)
        except Withheld:
            continue
        found.append(replace(item, query=asked.model_copy(update={"gold": item.query.gold})))
    if len(found) < len(items):
        log.event("items are withheld by the privacy gate", level=logging.WARNING, rows=len(items) - len(found))
    if not found:
        raise InputError("the privacy gate withholds all items", hint="Look at them with `drag-graph privacy check`.")
    return found


def in_split(identity: str, split: Split) -> bool:
    """Whether an item is of this half: `development` to choose by, `test` to report once."""
    if split == "all":
        return True
    return (hashlib.sha256(identity.encode()).digest()[0] % 2 == 0) == (split == "test")


def _lines(task: str, namespace: str, data: Path | None) -> Iterator[InputLine]:
    domain = TASKS[task].domain if task in TASKS else None
    path = Path(task) if task not in TASKS else (data or Path()) / f"{task}.jsonl"
    if task not in TASKS and not path.expanduser().is_file():
        raise InputError(f"there is no task or file {task!r}", hint=f"Tasks: {', '.join(TASKS)}; or give a FILE.jsonl.")
    if task in TASKS and (data is None or not path.expanduser().is_file()):
        rows = (json.dumps(row).encode() for row in read_rows(task, data))
        return parse_lines(rows, namespace=namespace, domain=domain)
    return read_queries(path.expanduser(), namespace=namespace, domain=domain)


def _item(line: InputLine, evidence: str) -> TaskItem | str:
    """Return the item of a line, or why it is none."""
    if line.query is None:
        return line.problem
    if line.query.gold is None:
        return 'no "answer" to compare with'
    # Without what else the set says of the question: nothing of it is stored.
    return TaskItem(line.query.model_copy(update={"metadata": {}}), _texts(line.query.metadata.get(evidence)))


def _texts(value: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value or []
    return tuple(text for text in texts if isinstance(text, str) and text.strip())
