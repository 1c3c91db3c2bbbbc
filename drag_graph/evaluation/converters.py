"""Public question sets to the project's own files: input lines, and a curated file of the evidence that comes with them.

The sets are read from a folder that the caller names; nothing of them is part of the project. Each converter yields pairs of
(input line, curated line) as docs/design.md, section 6, defines them.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from drag_graph.errors import InputError

Pair = tuple[dict[str, Any], dict[str, Any]]


def entailmentbank_arc(folder: Path) -> Iterator[Pair]:
    """ARC questions with the human-written facts of EntailmentBank (chosen by people who knew the answer)."""
    return _pairs(folder, "entailmentbank_arc", "evidence")


def qasc(folder: Path) -> Iterator[Pair]:
    """QASC questions with recorded GPT-3 statements that were made from the question alone."""
    return _pairs(folder, "qasc", "evidence_llm")


def qasc_human(folder: Path) -> Iterator[Pair]:
    """QASC questions with their two human-written facts."""
    return _pairs(folder, "qasc", "evidence")


def commonsense_qa(folder: Path) -> Iterator[Pair]:
    """CommonsenseQA questions with recorded GPT-3 statements that were made from the question alone."""
    return _pairs(folder, "commonsense_qa", "evidence_llm")


def openbookqa(folder: Path) -> Iterator[Pair]:
    """OpenBookQA questions that have a human-written fact."""
    return _pairs(folder, "openbookqa", "evidence")


def medmcqa(folder: Path) -> Iterator[Pair]:
    """MedMCQA questions with their textbook explanation, in the medical domain."""
    return _pairs(folder, "medmcqa", "evidence", domain="medical")


SETS: dict[str, Callable[[Path], Iterator[Pair]]] = {
    converter.__name__: converter for converter in (entailmentbank_arc, qasc, qasc_human, commonsense_qa, openbookqa, medmcqa)
}


def write(name: str, folder: Path, target: Path, *, rows: int | None = None) -> tuple[Path, Path]:
    """Write `questions.jsonl` and `curated.jsonl` of the set `name` into `target`; return their paths.

    `rows` takes the first so many. Raises InputError when the folder does not hold the set.
    """
    target.mkdir(parents=True, exist_ok=True)
    questions, curated = target / "questions.jsonl", target / "curated.jsonl"
    with questions.open("w", encoding="utf-8") as asked, curated.open("w", encoding="utf-8") as known:
        for number, (line, entry) in enumerate(SETS[name](folder)):
            if rows is not None and number >= rows:
                break
            asked.write(json.dumps(line, ensure_ascii=False) + "\n")
            known.write(json.dumps(entry, ensure_ascii=False) + "\n")
    return questions, curated


def _pairs(folder: Path, name: str, field: str, *, domain: str | None = None) -> Iterator[Pair]:
    path = folder / f"{name}.jsonl"
    try:
        with path.open(encoding="utf-8") as file:
            for text in file:
                row = json.loads(text)
                evidence = [row[field]] if isinstance(row.get(field), str) else row.get(field) or []
                if not evidence:
                    continue
                head = {"question": row["question"], "options": row["options"]}
                line = {"id": row["id"], **head, "answer": row["answer"]}
                yield ({**line, "domain": domain} if domain else line), {**head, "evidence": evidence}
    except OSError as error:
        raise InputError(f"{path} cannot be read", hint="Name the folder that holds the set with --data.") from error
