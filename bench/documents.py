"""Does `ask` show what answers a question about documents? Next to plain pieces by BM25, by cosine and by both fused.

    python bench/documents.py --data FOLDER --folder KEPT [--corpora lihua medical hops] [--half test] [--link]
    python bench/documents.py --mixed [--embedder minilm]

Each question is asked with several token budgets (a token is four characters). Plain pieces are lines joined to at most 400 or
1,200 characters; the best come first, and the last one is cut, until the budget is used. Each cell is the percentage of gold
documents among those shown, where the corpus names them, and of questions with every word of the answer shown, without the
questions whose answer is yes or no. The last rows show how long `ask` takes with `nearest`, and its difference to the best
plain value of the column (95 % intervals, paired bootstrap). KEPT receives the stores; with `--link`, linked ones.

`--mixed` reads the twenty files of `bench/data/mixed`, asks their thirty questions with defaults, and lists those without a
shown line that has all gold texts within 200 characters.
"""

import argparse
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from textwrap import wrap

import bm25s
import numpy as np
from edges_corpora import MORE_CORPORA, Question, documents, drawn

from drag_graph import DragGraph
from drag_graph.compose.model_factories import make_embedder
from drag_graph.evaluation.intervals import paired_difference
from drag_graph.models.locality import unchecked
from drag_graph.settings import load_settings

BUDGETS = (400, 600, 1000, 2000)
SIZES = (400, 1200)
FUSION = 60
"""The constant of reciprocal rank fusion."""
MIXED = Path(__file__).parent / "data" / "mixed"
NEAR = 200
"""Characters within which the gold texts of a mixed question must stand."""


@dataclass(frozen=True)
class Piece:
    """A part of a document."""

    document: str
    text: str


@dataclass(frozen=True)
class Shown:
    """Whether the gold documents (a fraction) and all words of the answer were shown; None if that cannot be said."""

    documents: float | None
    words: float | None


Way = Callable[[int, int], list[Piece]]
"""Returns what is shown for the question of an index and a number of tokens."""


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def pieces(texts: dict[str, str], size: int) -> Iterator[Piece]:
    """Yield the lines of each document, joined to at most `size` characters; a longer line is cut between words."""
    for name, text in texts.items():
        piece: list[str] = []
        # A whole document on one line would be one piece.
        lines = (part for line in text.splitlines() for part in wrap(line, size, break_long_words=False))
        for line in lines:
            if piece and len("\n".join([*piece, line])) > size:
                yield Piece(name, "\n".join(piece))
                piece = []
            piece.append(line)
        yield Piece(name, "\n".join(piece))


def filled(order: Sequence[int], parts: Sequence[Piece], budget: int) -> list[Piece]:
    """Return the parts in this order, the last one cut where the budget of tokens ends."""
    left, shown = 4 * budget, []
    for index in order:
        shown.append(Piece(parts[index].document, parts[index].text[:left]))
        left -= len(parts[index].text)
        if left <= 0:
            break
    return shown


def judged(question: Question, shown: Sequence[Piece]) -> Shown:
    names = {piece.document for piece in shown}
    found = sum(not gold.isdisjoint(names) for gold in question.gold) / len(question.gold) if question.gold else None
    if question.answer.strip().lower().rstrip(".") in ("yes", "no"):
        return Shown(found, None)
    text = " ".join(piece.text for piece in shown)
    return Shown(found, float(set(words(question.answer)) <= set(words(text))))


def plain_ways(texts: dict[str, str], questions: Sequence[Question], embedder: str) -> Iterator[tuple[str, Way]]:
    model = make_embedder(load_settings({"embedder": embedder}), unchecked)
    asked = _units(model.embed([question.text for question in questions]))
    for size in SIZES:
        parts = list(pieces(texts, size))
        index = bm25s.BM25()
        index.index([words(part.text) for part in parts], show_progress=False)
        by_words = np.stack([_bm25(index, question.text, len(parts)) for question in questions])
        pages = [model.embed([part.text for part in parts[start : start + 256]]) for start in range(0, len(parts), 256)]
        by_vector = asked @ _units(np.concatenate(pages)).T
        fused = 1 / (FUSION + _ranks(by_words)) + 1 / (FUSION + _ranks(by_vector))
        for name, scores in (("BM25", by_words), ("cosine", by_vector), ("RRF", fused)):
            orders = np.argsort(-scores, axis=1, kind="stable")
            yield f"{name}, {size:,}", lambda place, budget, orders=orders, parts=parts: filled(orders[place], parts, budget)


def _bm25(index: bm25s.BM25, text: str, number: int) -> np.ndarray:
    known = [word for word in words(text) if word in index.vocab_dict]
    return index.get_scores(known) if known else np.zeros(number)


def _ranks(scores: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)


def _units(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def product_way(graph: DragGraph, questions: Sequence[Question], rate: float, seconds: dict[int, list[float]]) -> Way:
    """`rate` is the number of the student's tokens in four characters, so that all rows show the same amount of text.

    The time of each `ask` is added to `seconds` under its budget.
    """
    names = {item.source_id: item.title.removesuffix(".txt") for item in graph.show(limit=10_000)}

    def ask(place: int, budget: int) -> list[Piece]:
        began = time.perf_counter()
        answer = graph.ask(questions[place].text, keep=False, token_budget=round(rate * budget))
        seconds.setdefault(budget, []).append(time.perf_counter() - began)
        lines = [Piece(names.get(line.source_id, ""), line.text) for line in answer.lines]
        return filled(range(len(lines)), lines, budget)

    return ask


def made(folder: Path, corpus: str, texts: dict[str, str], embedder: str, *, link: bool) -> DragGraph:
    """Return a graph that has read the documents, and linked them if `link` is set."""
    library = folder / "library" / corpus
    library.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (library / f"{name}.txt").write_text(text, encoding="utf-8")
    store = folder / f"{embedder}{'-linked' if link else ''}" / f"{corpus}.lbug"
    graph = DragGraph(str(store), embedder=embedder, privacy="off", student="nearest", workers=2)
    graph.ingest(library)
    if link:
        graph.link()
    return graph


def measure(args: argparse.Namespace, corpus: str) -> None:
    texts, asked = documents(args.data, corpus), drawn(args.data, [corpus], args.questions, args.half)
    results: dict[str, dict[int, list[Shown]]] = {}
    with made(args.folder, corpus, texts, args.embedder, link=args.link) as graph:
        sample = "\n".join(texts.values())[:100_000]
        rate = make_embedder(load_settings({"embedder": args.embedder}), unchecked).count_tokens(sample) / (len(sample) / 4)
        seconds: dict[int, list[float]] = {}
        ways = {"ask": product_way(graph, asked, rate, seconds), **dict(plain_ways(texts, asked, args.embedder))}
        for name, way in ways.items():
            results[name] = {
                budget: [judged(question, way(place, budget)) for place, question in enumerate(asked)] for budget in BUDGETS
            }
            print(f"| {corpus} | {name} | {len(asked)} | {' | '.join(_cell(results[name][b]) for b in BUDGETS)} |", flush=True)
    times = (f"{1000 * np.median(seconds[budget]):.0f}" for budget in BUDGETS)
    print(f"| {corpus} | ask, ms (median) | {len(asked)} | {' | '.join(times)} |")
    for what in ("documents", "words"):
        cells = [_difference({name: found[budget] for name, found in results.items()}, what) for budget in BUDGETS]
        print(f"| {corpus} | ask less the best, {what} | {len(asked)} | {' | '.join(cells)} |", flush=True)


def _cell(shown: Sequence[Shown]) -> str:
    return " / ".join(
        f"{100 * np.mean(values):.1f}" if (values := _values(shown, what)) else "-" for what in ("documents", "words")
    )


def _values(shown: Sequence[Shown], what: str) -> list[float]:
    return [value for one in shown if (value := getattr(one, what)) is not None]


def _difference(results: dict[str, list[Shown]], what: str) -> str:
    ours, *others = (_values(shown, what) for shown in results.values())
    if not ours:
        return "-"
    low, mean, high = paired_difference(ours, max(others, key=np.mean))
    return f"{100 * mean:+.1f} ({100 * low:.1f} to {100 * high:.1f})"


def mixed(embedder: str) -> None:
    questions = [json.loads(line) for line in (MIXED / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        settings = {"embedder": embedder, "privacy": "off", "student": "nearest"}
        with DragGraph(f"{folder}/mixed.lbug", **settings) as graph:
            graph.ingest(MIXED / "files")
            missed = [
                row for row in questions if not any(_has(line.text, row["gold"]) for line in graph.ask(row["question"]).lines)
            ]
    print(f"The line that answers is shown for {len(questions) - len(missed)} of {len(questions)} questions. Missed:")
    for name, rows in groupby(sorted(missed, key=lambda row: row["document"]), key=lambda row: row["document"]):
        print(f"- {name}: {'; '.join(row['question'] for row in rows)}")


def _has(text: str, gold: Sequence[str]) -> bool:
    """Whether all gold texts stand in the text, close together."""
    text = " ".join(text.split())
    starts = [[match.start() for match in re.finditer(re.escape(one), text, re.IGNORECASE)] for one in gold]
    return any(all(any(abs(other - start) <= NEAR for other in others) for others in starts) for start in starts[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--folder", type=Path, help="Where the stores are kept.")
    parser.add_argument("--corpora", nargs="+", choices=MORE_CORPORA, default=["lihua"])
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--half", choices=("dev", "test", "all"), default="test")
    parser.add_argument("--questions", type=int, default=1000, help="Of each corpus, at most.")
    parser.add_argument("--link", action="store_true", help="Link the documents first.")
    parser.add_argument("--mixed", action="store_true", help="The mixed files of this repository instead.")
    args = parser.parse_args()
    if args.mixed:
        mixed(args.embedder)
        return
    if args.data is None or args.folder is None:
        parser.error("Pass --data and --folder, or --mixed.")
    print(f"| corpus | shown by | n | {' | '.join(f'{budget:,}' for budget in BUDGETS)} |")
    print(f"|---|---|---|{'---|' * len(BUDGETS)}")
    for corpus in args.corpora:
        measure(args, corpus)


if __name__ == "__main__":
    main()
