"""The public question sets of `drag-graph eval`: where each is on the Hugging Face hub, and how its rows read (extra `hub`).

Nothing of any set is part of the project. `datasets` fetches it once into its own cache, or reads a copy of the hub's files.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drag_graph.errors import InputError, MissingExtra
from drag_graph.model import Domain
from drag_graph.settings import prepare_libraries

Row = Mapping[str, Any]
VERDICTS = ("Supported", "Refuted", "Not Enough Evidence", "Conflicting Evidence/Cherrypicking")


@dataclass(frozen=True, slots=True)
class HubTask:
    """A set on the hub: the split that has answers and is reported by others, and what makes a row of it one of ours.

    Our rows have `question`, `options`, `answer`, and `evidence` and an `id` where the set has them.
    """

    path: str
    split: str
    row: Callable[[Row], dict[str, Any]]
    config: str | None = None
    domain: Domain | None = None
    gated: bool = False


def labelled(row: Row) -> dict[str, Any]:
    """ARC, QASC, CommonsenseQA and OpenBookQA: texts of the options, their labels, and the label of the right one."""
    choices, facts = row["choices"], (row.get("fact1"), row.get("fact2"))
    return {
        "id": row["id"],
        "question": row.get("question") or row["question_stem"],
        "options": choices["text"],
        "answer": _place(choices["label"], row["answerKey"].strip()),  # ARC has labels from A and from 1
        "evidence": [fact for fact in facts if fact],
    }


def medmcqa(row: Row) -> dict[str, Any]:
    """MedMCQA; its explanations often name the answer."""
    options = [row[name] for name in ("opa", "opb", "opc", "opd")]
    head = {"id": row["id"], "question": row["question"], "options": options, "answer": row["cop"]}
    return {**head, "evidence": [row["exp"]] if row["exp"] else []}


def medqa(row: Row) -> dict[str, Any]:
    """MedQA, the questions of the USMLE with four options by letter."""
    letters = sorted(row["options"])
    options = [row["options"][letter] for letter in letters]
    return {"question": row["question"], "options": options, "answer": _place(letters, row["answer_idx"])}


def mmlu(row: Row) -> dict[str, Any]:
    """MMLU, all subjects."""
    return {"question": row["question"], "options": row["choices"], "answer": row["answer"]}


def gpqa(row: Row) -> dict[str, Any]:
    """GPQA brings the right answer first: the options are put in an order that their hashes with the row's id decide."""
    identity, right = row["Record ID"], row["Correct Answer"]
    texts = [right, *(row[f"Incorrect Answer {number}"] for number in (1, 2, 3))]
    options = sorted(texts, key=lambda text: _hash(f"{identity} {text}"))
    return {"id": identity, "question": row["Question"], "options": options, "answer": options.index(right)}


def averitec(row: Row) -> dict[str, Any]:
    """AVeriTeC: a claim, four verdicts, and what people found out about it as questions with their answers."""
    evidence = [
        f"{asked['question']} {answer['answer']}"
        for asked in row["questions"]
        for answer in asked["answers"]
        if answer["answer"]
    ]
    return {
        "question": row["claim"],
        "options": list(VERDICTS),
        "answer": _place(VERDICTS, row["label"]),
        "evidence": evidence,
    }


def web_questions(row: Row) -> dict[str, Any]:
    """WebQuestions: open, with all answers that count as right."""
    return {"question": row["question"], "answer": row["answers"]}


def open_style(row: Row) -> dict[str, Any]:
    """Open-LLM-Leaderboard: questions of nine sets, asked without their options; the right option's text is the answer."""
    passage = row.get("passage") or ""
    question = row["question"] if passage in {"", "-"} else f"{passage}\n{row['question']}"
    texts = {option["label"]: option["text"] for option in row["options"]}
    return {"question": question, "answer": texts.get(row["answerKey"])}


TASKS: dict[str, HubTask] = {
    "arc_challenge": HubTask("allenai/ai2_arc", "test", labelled, config="ARC-Challenge"),
    "qasc": HubTask("allenai/qasc", "validation", labelled),
    "commonsense_qa": HubTask("tau/commonsense_qa", "validation", labelled),
    "openbookqa": HubTask("allenai/openbookqa", "test", labelled, config="additional"),
    "medmcqa": HubTask("openlifescienceai/medmcqa", "validation", medmcqa, domain="medical"),
    "medqa": HubTask("GBaker/MedQA-USMLE-4-options", "test", medqa, domain="medical"),
    "mmlu": HubTask("cais/mmlu", "test", mmlu, config="all"),
    "gpqa": HubTask("Idavidrein/gpqa", "train", gpqa, config="gpqa_main", gated=True),
    "averitec": HubTask("pminervini/averitec", "dev", averitec),
    "webquestions": HubTask("stanfordnlp/web_questions", "test", web_questions),
    "open_llm_leaderboard": HubTask("Open-Style/Open-LLM-Benchmark", "train", open_style, config="questions"),
}


def read_rows(name: str, folder: Path | None = None) -> list[dict[str, Any]]:
    """Return the rows of a task in our form, from `folder`'s copy of the hub's files, or else from the hub.

    They are in the order of their ids' hashes: sets are in the order of their topics, and the first hundred shall be of all.
    Raises MissingExtra without `datasets`, InputError in words where the set cannot be had.
    """
    task = TASKS[name]
    rows = []
    for number, row in enumerate(_load(name, task, folder)):
        try:
            rows.append({"id": f"{name}-{number}", **task.row(row)})
        except (KeyError, TypeError, AttributeError) as error:
            message = f"{task.path} has not the columns that {name} had when this was written ({type(error).__name__}: {error})"
            raise InputError(message, hint=f"Give the rows with --data FOLDER, as {name}.jsonl.") from error
    return sorted(rows, key=lambda row: _hash(str(row["id"])))


def _load(name: str, task: HubTask, folder: Path | None) -> Any:
    prepare_libraries()
    try:
        import datasets
        import httpx
    except ImportError as error:
        message = f"{name} is read by the package datasets, which is not installed"
        raise MissingExtra(message, extra="evaluation", hint="Or pass a local copy with --data FOLDER.") from error
    place = task.path if folder is None else str((folder / task.path).expanduser().resolve())
    if folder is not None and not Path(place).is_dir():
        raise InputError(f"{folder} has neither {name}.jsonl nor {task.path}", hint=_hint(name, task))
    try:
        return datasets.load_dataset(place, task.config, split=task.split)
    except (OSError, ValueError, httpx.HTTPError, datasets.exceptions.DatasetsError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"{name} cannot be read from {place}: {reason}", hint=_hint(name, task)) from error


def _place(values: Sequence[str], wanted: str) -> int | None:
    """Return where a label is among the labels; None in a split whose answers are not published."""
    return values.index(wanted) if wanted in values else None


def _hint(name: str, task: HubTask) -> str:
    login = f"Accept the terms on the hub's page of {task.path}, then `hf auth login` or set HF_TOKEN. " if task.gated else ""
    fetch = f"`hf download {task.path} --repo-type dataset --local-dir FOLDER/{task.path}` where there is a network"
    return f"{login}Without the hub: --data FOLDER with {name}.jsonl, or with what {fetch} writes."


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
