"""Do communities help questions that no passage answers? For the thresholds in drag_graph/ask/retrieval.py.

    python bench/broad.py --data FOLDER --folder KEPT [--embedder lexical] [--questions 40]

The store has the medical texts of GraphRAG-Bench, whose questions are of four types. For each type the table gives how many
find no line and how many fewer than four, without communities and with them, and the share of the words of the right answer
that the first ten lines have, with the difference (95 % interval by the bootstrap). LiHua-World and UltraDomain's mix are
questions that this store knows nothing about: they are to find nothing. KEPT has the store that was made.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from edges_corpora import documents, drawn, made, rows

from drag_graph.app.resources import Resources
from drag_graph.ask import find_lines as find
from drag_graph.ask.context_lines import content_words
from drag_graph.compose.session import Session
from drag_graph.evaluation.intervals import paired_difference
from drag_graph.inputs import make_query

SHOWN = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="Where the store is kept.")
    parser.add_argument("--embedder", default="lexical")
    parser.add_argument("--questions", type=int, default=40, help="Of each type, at most.")
    args = parser.parse_args()
    store = made(args.folder, "medical", documents(args.data, "medical"), args.embedder)
    asked: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in rows(args.data / "graphrag_bench_medical.jsonl"):
        asked[row["qtype"]].append((row["question"], row["answer_text"]))
    for one in drawn(args.data, ("lihua", "mix"), args.questions, "all"):
        asked[f"not its own: {one.corpus}"].append((one.text, one.answer))
    print("| questions | n | no line | with communities | fewer than 4 lines | with | words found, % | with | difference |")
    print("|---|---|---|---|---|---|---|---|---|")
    with Resources(store).reading() as session:
        for name, every in asked.items():
            some = every[: args.questions]
            ways = [[_found(session, question, answer, few) for question, answer in some] for few in (0, find.ENOUGH)]
            cells: list[object] = [name, len(some)]
            cells += [sum(number == 0 for number, _ in way) for way in ways]
            cells += [sum(number < find.ENOUGH for number, _ in way) for way in ways]
            cells += [_words([share for _, share in way]) for way in ways]
            low, mean, high = paired_difference([share for _, share in ways[1]], [share for _, share in ways[0]])
            cells.append(f"{100 * mean:+.1f} ({100 * low:.1f} to {100 * high:.1f})")
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


def _found(session: Session, question: str, answer: str, few: int) -> tuple[int, float]:
    """Return how many lines are found, and the share of the answer's words that the first ten have."""
    kept, find.ENOUGH = find.ENOUGH, few
    try:
        lines = find.Finder(session.settings, session.store, session.embedder).search(make_query(question)).candidates
    finally:
        find.ENOUGH = kept
    best = sorted(lines, key=lambda line: -(line.score or 0.0))[:SHOWN]
    wanted = content_words(answer)
    return len(lines), len(wanted & content_words(" ".join(line.plain for line in best))) / max(len(wanted), 1)


def _words(shares: Sequence[float]) -> str:
    return f"{100 * sum(shares) / len(shares):.1f}"


if __name__ == "__main__":
    main()
