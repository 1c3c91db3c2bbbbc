"""Public question sets: where each is on the Hugging Face hub, and how its rows map to ours.

The project contains no part of any set. The package `datasets` downloads a set once into its cache, or reads a local copy.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drag_graph.errors import InputError, MissingExtra
from drag_graph.model import Domain
from drag_graph.process_environment import prepare_libraries

Row = Mapping[str, Any]
VERDICTS = ("Supported", "Refuted", "Not Enough Evidence", "Conflicting Evidence/Cherrypicking")


@dataclass(frozen=True, slots=True)
class HubTask:
    """A set on the hub: the split with answers that other work reports, and the function that converts a row.

    A converted row has `question`, `options` and `answer`, and `evidence` and `id` if the set has them.
    """

    path: str
    split: str
    row: Callable[[Row], dict[str, Any]]
    config: str | None = None
    domain: Domain | None = None
    gated: bool = False


def labelled(row: Row) -> dict[str, Any]:
    """Convert ARC, QASC, CommonsenseQA and OpenBookQA: option texts, their labels, and the label of the answer."""
    choices, facts = row["choices"], (row.get("fact1"), row.get("fact2"))
    return {
        "id": row["id"],
        "question": row.get("question") or row["question_stem"],
        "options": choices["text"],
        "answer": _place(choices["label"], row["answerKey"].strip()),  # the labels of ARC are letters or numbers
        "evidence": [fact for fact in facts if fact],
    }


def medmcqa(row: Row) -> dict[str, Any]:
    """Convert MedMCQA. Its explanations often name the answer."""
    options = [row[name] for name in ("opa", "opb", "opc", "opd")]
    head = {"id": row["id"], "question": row["question"], "options": options, "answer": row["cop"]}
    return {**head, "evidence": [row["exp"]] if row["exp"] else []}


def medqa(row: Row) -> dict[str, Any]:
    """Convert MedQA: USMLE questions with four lettered options."""
    letters = sorted(row["options"])
    options = [row["options"][letter] for letter in letters]
    return {"question": row["question"], "options": options, "answer": _place(letters, row["answer_idx"])}


def mmlu(row: Row) -> dict[str, Any]:
    """Convert MMLU, all subjects."""
    return {"question": row["question"], "options": row["choices"], "answer": row["answer"]}


def gpqa(row: Row) -> dict[str, Any]:
    """Convert GPQA. Its correct answer is always first, so the options are sorted by their hash with the row's id."""
    identity, right = row["Record ID"], row["Correct Answer"]
    texts = [right, *(row[f"Incorrect Answer {number}"] for number in (1, 2, 3))]
    options = sorted(texts, key=lambda text: hash_of(f"{identity} {text}"))
    return {"id": identity, "question": row["Question"], "options": options, "answer": options.index(right)}


def averitec(row: Row) -> dict[str, Any]:
    """Convert AVeriTeC: a claim, four verdicts, and as evidence the questions and answers of its fact checkers."""
    evidence = [
        f"{one['question']} {answer['answer']}" for one in row["questions"] for answer in one["answers"] if answer["answer"]
    ]
    return {"question": row["claim"], "options": list(VERDICTS), "answer": _place(VERDICTS, row["label"]), "evidence": evidence}


def web_questions(row: Row) -> dict[str, Any]:
    """Convert WebQuestions: open questions with all accepted answers."""
    return {"question": row["question"], "answer": row["answers"]}


def open_style(row: Row) -> dict[str, Any]:
    """Convert Open-LLM-Leaderboard: questions of nine sets without options; the answer is the text of the right option."""
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
    "gpqa": HubTask("Idavidrein/gpqa", "train", gpqa, config="gpqa_main", domain="technical", gated=True),
    "averitec": HubTask("pminervini/averitec", "dev", averitec),
    "webquestions": HubTask("stanfordnlp/web_questions", "test", web_questions),
    "open_llm_leaderboard": HubTask("Open-Style/Open-LLM-Benchmark", "train", open_style, config="questions"),
}


def read_rows(name: str, folder: Path | None = None) -> list[dict[str, Any]]:
    """Return the converted rows of a task from the copy in `folder`, or else from the hub.

    Rows are sorted by the hash of their id. Sets are sorted by topic, and the first hundred rows should cover all topics.
    Raises MissingExtra without `datasets`, and InputError if the set cannot be read.
    """
    task = TASKS[name]
    rows = []
    for number, row in enumerate(_load(name, task, folder)):
        try:
            rows.append({"id": f"{name}-{number}", **task.row(row)})
        except (KeyError, TypeError, AttributeError) as error:
            message = f"The columns of {task.path} have changed ({type(error).__name__}: {error})."
            raise InputError(message, hint=f"Pass the rows as {name}.jsonl with `data=FOLDER`.") from error
    return sorted(rows, key=lambda row: hash_of(str(row["id"])))


def _load(name: str, task: HubTask, folder: Path | None) -> Any:
    prepare_libraries()
    try:
        import datasets
        import httpx
    except ImportError as error:
        message = f"Reading {name} needs the package datasets."
        raise MissingExtra(message, extra="evaluation", hint="Or pass a local copy with `data=FOLDER`.") from error
    place = task.path if folder is None else str((folder / task.path).expanduser().resolve())
    if folder is not None and not Path(place).is_dir():
        raise InputError(f"{folder} has neither {name}.jsonl nor {task.path}.", hint=_hint(name, task))
    try:
        return datasets.load_dataset(place, task.config, split=task.split)
    except (OSError, ValueError, httpx.HTTPError, datasets.exceptions.DatasetsError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"Cannot read {name} from {place}: {reason}.", hint=_hint(name, task)) from error


def _place(values: Sequence[str], wanted: str) -> int | None:
    """Return the index of a label, or None in a split whose answers are not published."""
    return values.index(wanted) if wanted in values else None


def _hint(name: str, task: HubTask) -> str:
    login = f"Accept the terms of {task.path} on the hub, then run `hf auth login` or set HF_TOKEN. " if task.gated else ""
    download = f"`hf download {task.path} --repo-type dataset --local-dir FOLDER/{task.path}`"
    return f"{login}Offline, pass `data=FOLDER` with {name}.jsonl or the files of {download}."


def hash_of(text: str) -> bytes:
    """Return a hash that decides the order of rows and the split that they belong to."""
    return hashlib.sha256(text.encode()).digest()
