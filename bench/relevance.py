"""Which cosine tells a question that is stored, in other words, from one that is not: for `RELEVANCE` in steps/retrieve.py.

    python bench/relevance.py --data FOLDER [--embedder minilm --embedder lexical] [--rows N]

FOLDER holds the sets as JSON lines. The stored questions are those of QASC. Relevant new questions are the same ones in other
words (made by rule, see `paraphrases`; people reword more freely, so the share found is flattering); irrelevant ones are
questions of other sets (medical cases and trivia). For each threshold the table gives the share of relevant questions
that find their own stored question first and above the threshold, and the share of irrelevant ones that find anything.
"""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from drag_graph.bootstrap import make_embedder
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
    print("| embedder | threshold | paraphrases that find their own | strangers that find something |")
    print("|---|---|---|---|")
    for name in args.embedder or ["minilm", "lexical"]:
        embedder = make_embedder(load_settings({"embedder": name}))
        base = embedder.embed(stored)
        near = embedder.embed([text for _, text in asked]) @ base.T
        far = (embedder.embed(strangers) @ base.T).max(axis=1)
        own = np.array([place for place, _ in asked])
        right, best = near.argmax(axis=1) == own, near.max(axis=1)
        for threshold in np.arange(0.2, 0.81, 0.05):
            found = float(np.mean(right & (best >= threshold)))
            print(
                f"| {embedder.name} | {threshold:.2f} | {100 * found:.1f} % | {100 * float(np.mean(far >= threshold)):.1f} % |"
            )


if __name__ == "__main__":
    main()
