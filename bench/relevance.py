"""Which cosine tells a question that something is stored for from one that nothing is: for the thresholds in steps/retrieve.py.

    python bench/relevance.py --data FOLDER [--embedder minilm --embedder lexical] [--rows N]

FOLDER holds the sets as JSON lines. The stored questions are those of QASC. Relevant new questions are the same ones in other
words (made by rule, see `paraphrases`; people reword more freely, so the share found is flattering); irrelevant ones are
questions of other sets (medical cases and trivia). For each threshold the table gives the share of relevant questions
that find their own stored question first and above the threshold, and the share of irrelevant ones that find anything.

The stored evidence are the facts that come with the stored questions. Here a relevant question finds what it should when the
nearest fact is one of its own; an irrelevant one finds something when any fact is near enough. A line that a concept led to is
judged by the same threshold, and is one statement of many as a fact is, so the last column is the most that can go wrong there.
"""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from drag_graph.models.model_choice import make_embedder
from drag_graph.settings import load_settings

FILLERS = re.compile(
    r"^(what|which|who|where|when|how|why|in what|on what)\b\s*(is|are|does|do|can|of these|of the following)?\s*",
    re.IGNORECASE,
)
OTHERS = ("medqa_us", "webquestions", "2wiki_questions", "hotpotqa")


def questions(path: Path, rows: int) -> list[str]:
    """Return up to `rows` questions of a set."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line)["question"] for line, _ in zip(file, range(rows), strict=False)]


def facts(path: Path, rows: int) -> list[tuple[int, str]]:
    """Return the facts of a set's questions, each with its question's place."""
    with path.open(encoding="utf-8") as file:
        records = [json.loads(line) for line, _ in zip(file, range(rows), strict=False)]
    return [(place, fact) for place, record in enumerate(records) for fact in record["evidence"]]


def paraphrases(text: str) -> Iterator[str]:
    """Yield other wordings of a question: as a request, without its question word, and with its halves swapped."""
    bare = FILLERS.sub("", text).rstrip("? ")
    yield f"Please tell me: {text[0].lower()}{text[1:]}"
    yield f"I would like to know about {bare}"
    words = bare.split()
    middle = len(words) // 2
    yield " ".join(words[middle:] + words[:middle]) + "?"


def main() -> None:
    """Print the table for each embedder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", action="append")
    parser.add_argument("--rows", type=int, default=200)
    args = parser.parse_args()
    stored = questions(args.data / "qasc.jsonl", args.rows)
    strangers = [text for name in OTHERS for text in questions(args.data / f"{name}.jsonl", args.rows // len(OTHERS))]
    asked = [(place, text) for place, original in enumerate(stored) for text in paraphrases(original)]
    told = facts(args.data / "qasc.jsonl", args.rows)
    print("| embedder | threshold | own question found | strangers that find one | own fact found | strangers that find one |")
    print("|---|---|---|---|---|---|")
    own = np.array([place for place, _ in asked])
    for name in args.embedder or ["minilm", "lexical"]:
        embedder = make_embedder(load_settings({"embedder": name}))
        new, far = embedder.embed([text for _, text in asked]), embedder.embed(strangers)
        columns = []
        for texts, owners in ((stored, range(len(stored))), ([text for _, text in told], [place for place, _ in told])):
            base = embedder.embed(list(texts))
            near = new @ base.T
            columns.append((np.array(owners)[near.argmax(axis=1)] == own, near.max(axis=1), (far @ base.T).max(axis=1)))
        for threshold in np.arange(0.2, 0.81, 0.05):
            shares = [
                (float(np.mean(right & (best >= threshold))), float(np.mean(strange >= threshold)))
                for right, best, strange in columns
            ]
            cells = " | ".join(f"{100 * share:.1f} %" for pair in shares for share in pair)
            print(f"| {embedder.name} | {threshold:.2f} | {cells} |")


if __name__ == "__main__":
    main()
