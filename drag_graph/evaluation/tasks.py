"""The tasks of `drag-graph eval`: items from a folder or a file, as the pipeline reads questions.

A task's rows are JSON objects of the input format (docs/import.md) that may bring evidence under a key of its own.
Nothing of any public set is part of the project.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from drag_graph.errors import InputError, QueryInvalid
from drag_graph.inputs import parse_line
from drag_graph.model import Domain, Query

Split = Literal["all", "development", "test"]
TASKS = (
    *("arc_challenge", "qasc", "commonsense_qa", "openbookqa", "medmcqa", "medqa", "mmlu", "gpqa", "averitec"),
    *("webquestions", "open_llm_leaderboard"),
)
DOMAINS: dict[str, Domain] = {"medmcqa": "medical", "medqa": "medical"}


@dataclass(frozen=True, slots=True)
class TaskItem:
    """A question with its right answer, and the evidence that the set brings for it."""

    query: Query
    evidence: tuple[str, ...] = ()

    def curated(self) -> dict[str, Any]:
        """Return its evidence as a line of a curated file."""
        head = {"question": self.query.text, **({"options": list(self.query.options)} if self.query.options else {})}
        return {**head, "evidence": list(self.evidence)}


def read_task(
    task: str,
    *,
    namespace: str,
    data: Path | None = None,
    evidence: str = "",
    split: Split = "all",
    limit: int | None = None,
) -> list[TaskItem]:
    """Return the items of a task: those of `data`/TASK.jsonl, or of the file that `task` is.

    With `evidence`, the key of a row's own evidence, only rows that have some. `split` is by the hash of a row's id, so that an
    item is on the same side whatever else is asked. Raises InputError where there is no item, or one has no right answer.
    """
    path = task_file(task, data)
    domain = DOMAINS.get(path.stem)
    items = []
    for number, row in _rows(path):
        texts = _texts(row.get(evidence)) if evidence else ()
        if (evidence and not texts) or not in_split(str(row.get("id", number)), split):
            continue
        head = {key: row.get(key) for key in ("id", "question", "options", "answer")}
        try:
            query = parse_line(json.dumps(head).encode(), namespace=namespace, domain=row.get("domain") or domain)
        except QueryInvalid as error:
            raise InputError(f"{path}, line {number}: {error}", hint="Mend the line.") from error
        if query.gold is None:
            raise InputError(f"{path}, line {number} has no answer to compare with", hint='Give each row an "answer".')
        items.append(TaskItem(query, texts))
        if limit is not None and len(items) == limit:
            break
    if not items:
        raise InputError(f"{path} has no item of that kind", hint="Look at --evidence, --split and the file.")
    return items


def task_file(task: str, data: Path | None) -> Path:
    """Return where the rows of a task are. Raises InputError in words."""
    if task not in TASKS:
        path = Path(task).expanduser()
        if path.is_file():
            return path
        raise InputError(f"there is no task or file {task!r}", hint=f"Tasks: {', '.join(TASKS)}; or give a FILE.jsonl.")
    if data is None:
        raise InputError(f"where the rows of {task} are is not said", hint=f"--data FOLDER names a folder with {task}.jsonl.")
    path = data.expanduser() / f"{task}.jsonl"
    if not path.is_file():
        raise InputError(f"there is no {path}", hint="--data FOLDER names a folder with TASK.jsonl.")
    return path


def in_split(identity: str, split: Split) -> bool:
    """Whether an item is of this half: `development` to choose by, `test` to report once."""
    if split == "all":
        return True
    return (hashlib.sha256(identity.encode()).digest()[0] % 2 == 0) == (split == "test")


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                except ValueError as error:
                    raise InputError(f"{path}, line {number} is not JSON", hint="Give one JSON object a line.") from error
                yield number, row


def _texts(value: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value or []
    return tuple(text for text in texts if isinstance(text, str) and text.strip())
