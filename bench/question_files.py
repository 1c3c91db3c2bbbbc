"""Write documents and questions of LiHua-World and the medical corpus as files for `drag-graph ingest` and `drag-graph eval`.

    python bench/question_files.py --data FOLDER --out FILES [--number 50]

FILES gets a folder `lihua` and `medical` with the documents, and `lihua.jsonl` and `medical.jsonl` with a sample of their
questions. Those of LiHua-World are of the half that fitted no weights (bench/quoting.py), with all its unanswerable questions.
`webquestions.jsonl` has a sample of WebQuestions, which has no documents.
"""

import argparse
import json
import random
from pathlib import Path

from edges_corpora import documents, is_for_fitting, rows

SEED = 25


def sample(items: list[dict], number: int) -> list[dict]:
    shuffled = list(items)
    random.Random(SEED).shuffle(shuffled)
    return shuffled[:number]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--number", type=int, default=50)
    given = parser.parse_args()
    unseen = [row for row in rows(given.data / "lihua_world_qa.jsonl") if not is_for_fitting(row["id"])]
    answerable = [row for row in unseen if row["qtype"] != "Null"]
    unanswerable = [{**row, "answer_text": None} for row in unseen if row["qtype"] == "Null"]
    questions = {
        "lihua": sample(answerable, given.number) + unanswerable,
        "medical": sample(rows(given.data / "graphrag_bench_medical.jsonl"), given.number),
    }
    for corpus, chosen in questions.items():
        folder = given.out / corpus
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in documents(given.data, corpus).items():
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        lines = [
            {"id": row["id"], "question": row["question"]}
            | ({"answer": row["answer_text"]} if row["answer_text"] else {"unanswerable": True})
            for row in chosen
        ]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (given.out / f"{corpus}.jsonl").write_text(text, encoding="utf-8")
    chosen = sample(rows(given.data / "webquestions.jsonl"), given.number)
    lines = [json.dumps({name: row[name] for name in ("id", "question", "answer")}, ensure_ascii=False) for row in chosen]
    (given.out / "webquestions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
