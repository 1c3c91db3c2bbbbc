"""The items of an evaluation: questions with known answers, from a file, a folder or the Hugging Face hub."""

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from drag_graph import log
from drag_graph.ask.answers import plain_answer
from drag_graph.errors import InputError, Withheld
from drag_graph.evaluation.hub import TASKS, hash_of, read_rows
from drag_graph.inputs import InputLine, parse_lines, read_queries
from drag_graph.model import Query
from drag_graph.ports.question_gate import Gate

Split = Literal["all", "development", "test"]
NO_ANSWER = "insufficient information"
"""What public sets give as the answer to a question that their documents do not answer."""


@dataclass(frozen=True, slots=True)
class TaskItem:
    """A question with its gold answer and the evidence that the data set has for it.

    The gold answers of a question without an answer are an empty tuple.
    """

    query: Query
    evidence: tuple[str, ...] = ()

    def curated(self) -> dict[str, Any]:
        """Return the evidence as a line of a curated file."""
        head = {"question": self.query.text, **({"options": list(self.query.options)} if self.query.options else {})}
        return {**head, "evidence": list(self.evidence)}


@dataclass(frozen=True, slots=True)
class TaskItems:
    """The items of a task, and how many rows are left out: `unusable`, `without_evidence`, `repeated`."""

    items: list[TaskItem]
    left_out: dict[str, int]


def read_task(
    task: str, *, namespace: str, data: Path | None = None, evidence: str = "", split: Split = "all", limit: int | None = None
) -> TaskItems:
    """Read the items of a task: the file `task`, the file `data`/TASK.jsonl, or the data set on the hub.

    `evidence` is the key of a row's own evidence; rows without any are left out. `split` depends on a row's id alone, so an
    item never changes sides. `limit` draws a sample: the items with the lowest hashes of their ids. Rows that cannot be used
    are logged, and a repeated question is read once.

    Raises InputError if no item remains.
    """
    items: dict[str, TaskItem] = {}
    identities: dict[str, str] = {}
    problems: list[str] = []
    rows = without_evidence = repeated = 0
    for line in _lines(task, namespace, data):
        rows += 1
        item = _item(line, evidence)
        identity = (line.query and line.query.input_id) or str(line.number)
        if isinstance(item, str):
            problems.append(f"line {line.number}: {item}")
            log.event("row left out", level=logging.WARNING, task=task, line=line.number, why=item)
        elif in_split(identity, split):
            if evidence and not item.evidence:
                without_evidence += 1
            elif item.query.id in items:
                repeated += 1
            else:
                items[item.query.id] = item
                identities[item.query.id] = identity
    if not items:
        counts = f"{rows} rows, {len(problems)} of them unusable, {without_evidence} without evidence"
        reason = f" ({problems[0]})" if problems else ""
        hint = "Each row needs a question and an answer; check `evidence=KEY` and `split=SPLIT` as well."
        raise InputError(f"{task} has no item to evaluate: {counts}{reason}.", hint=hint)
    if without_evidence:
        log.event("rows without evidence left out", level=logging.WARNING, task=task, rows=without_evidence, key=evidence)
    left_out = {"unusable": len(problems), "without_evidence": without_evidence, "repeated": repeated}
    drawn = sorted(items, key=lambda id_: hash_of(identities[id_]))[:limit] if limit else items
    return TaskItems([items[id_] for id_ in drawn], left_out)


def admitted(gate: Gate, items: Sequence[TaskItem]) -> list[TaskItem]:
    """Return the items as the privacy gate lets them pass, with their gold answers. Blocked items are logged and left out."""
    passed = []
    for item in items:
        try:
            query = gate.rewrite_query(item.query)
        except Withheld:
            continue
        passed.append(replace(item, query=query.model_copy(update={"gold": item.query.gold})))
    if len(passed) < len(items):
        log.event("items blocked by the privacy gate", level=logging.WARNING, rows=len(items) - len(passed))
    if not passed:
        raise InputError("The privacy gate blocks every item.", hint="Inspect them with `drag-graph privacy check`.")
    return passed


def in_split(identity: str, split: Split) -> bool:
    """Whether an item belongs to a half of the set: `development` for choices, `test` for the final figure."""
    if split == "all":
        return True
    return (hash_of(identity)[0] % 2 == 0) == (split == "test")


def _lines(task: str, namespace: str, data: Path | None) -> Iterator[InputLine]:
    domain = TASKS[task].domain if task in TASKS else None
    path = (Path(task) if task not in TASKS else (data or Path()) / f"{task}.jsonl").expanduser()
    if task not in TASKS and not path.is_file():
        raise InputError(f"There is no task or file {task!r}.", hint=f"Pass a FILE.jsonl, or one of {', '.join(TASKS)}.")
    if task in TASKS and (data is None or not path.is_file()):
        rows = (json.dumps(row).encode() for row in read_rows(task, data))
        return parse_lines(rows, namespace=namespace, domain=domain)
    return read_queries(path, namespace=namespace, domain=domain)


def _item(line: InputLine, evidence: str) -> TaskItem | str:
    """Return the item of a line, or why the line is unusable."""
    if line.query is None:
        return line.problem
    gold = line.query.gold
    if line.query.metadata.get("unanswerable") is True or (isinstance(gold, str) and plain_answer(gold) == NO_ANSWER):
        gold = ()
    if gold is None:
        return 'no "answer" to compare with'
    texts = line.query.metadata.get(evidence) or []
    texts = [texts] if isinstance(texts, str) else texts
    usable = tuple(text for text in texts if isinstance(text, str) and text.strip())
    # Other columns of the set are not stored.
    return TaskItem(line.query.model_copy(update={"gold": gold, "metadata": {}}), usable)
