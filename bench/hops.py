"""Does a graph find what takes several hops? Recall at 2, 5 and 10, next to BM25 and cosine over whole passages.

    python bench/hops.py --data FOLDER --folder KEPT [--embedder minilm] [--questions 59]

The passages of `multihop.docs.jsonl` are read twice: with the triples recorded there (`ingest --triples`), and with those of
the rules. `search` is asked before and after `link`. Each row has the recall, and in brackets how far it is from cosine (95 %
intervals, paired bootstrap). KEPT has the stores that were made.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import bm25s
import numpy as np
from documents import words
from edges_corpora import rows

from drag_graph import DragGraph
from drag_graph.compose.model_factories import make_embedder
from drag_graph.evaluation.intervals import paired_difference
from drag_graph.models.locality import unchecked
from drag_graph.settings import load_settings

AT = (2, 5, 10)
Ranking = Callable[[int], Sequence[str]]


def plain_rankings(documents: list[dict], questions: list[dict], embedder: str) -> dict[str, Ranking]:
    names, texts = [row["id"] for row in documents], [f"{row['title']}\n{row['text']}" for row in documents]
    index = bm25s.BM25()
    index.index([words(text) for text in texts], show_progress=False)
    model = make_embedder(load_settings({"embedder": embedder}), unchecked)
    vectors = np.concatenate([model.embed(texts[start : start + 256]) for start in range(0, len(texts), 256)])

    def ranked(scores: np.ndarray) -> list[str]:
        return [names[place] for place in np.argsort(-scores, kind="stable")[: AT[-1]]]

    def by_words(place: int) -> list[str]:
        return ranked(index.get_scores([one for one in words(questions[place]["question"]) if one in index.vocab_dict]))

    return {
        "cosine": lambda place: ranked(vectors @ model.embed_queries([questions[place]["question"]])[0]),
        "BM25": by_words,
    }


def library(folder: Path, documents: list[dict]) -> tuple[Path, Path]:
    """Write the passages as files and the recorded triples as one; return their paths."""
    files, triples = folder / "library" / "hops", folder / "library" / "hops.triples.jsonl"
    files.mkdir(parents=True, exist_ok=True)
    lines = []
    for row in documents:
        (files / f"{row['id']}.txt").write_text(f"{row['title']}\n\n{row['text']}\n", encoding="utf-8")
        for parts in row["triples_llm"]:
            if len(parts) == 3 and all(isinstance(part, str) and part.strip() for part in parts):  # others lack a part
                keys = ("subject", "predicate", "object")
                lines.append({"document": f"{row['id']}.txt", **dict(zip(keys, parts, strict=True))})
    triples.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return files, triples


def graph_ranking(graph: DragGraph, questions: list[dict], seconds: list[float]) -> Ranking:
    def ask(place: int) -> list[str]:
        began = time.perf_counter()
        found = graph.search(questions[place]["question"], limit=AT[-1])
        seconds.append(time.perf_counter() - began)
        return [source.title.removesuffix(".txt") for source in found.sources]

    return ask


def recalls(ranking: Ranking, questions: list[dict]) -> np.ndarray:
    found = [ranking(place) for place in range(len(questions))]
    golds = [set(row["evidence_doc_ids"]) for row in questions]
    return np.array([[len(gold & set(one[:k])) / len(gold) for k in AT] for one, gold in zip(found, golds, strict=True)])


def show(name: str, own: np.ndarray, cosine: np.ndarray, note: str = "") -> None:
    cells = []
    for place in range(len(AT)):
        low, mean, high = paired_difference(own[:, place].tolist(), cosine[:, place].tolist())
        cells.append(f"{100 * own[:, place].mean():.1f} ({100 * mean:+.1f}, {100 * low:.1f} to {100 * high:.1f})")
    print(f"| {name} | {' | '.join(cells)} | {note} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="Where the stores are kept.")
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--questions", type=int, default=1000)
    args = parser.parse_args()
    documents, questions = rows(args.data / "multihop.docs.jsonl"), rows(args.data / "multihop.jsonl")[: args.questions]
    files, triples = library(args.folder, documents)
    print(f"| {len(questions)} questions | {' | '.join(map(str, AT))} | median ms |\n|---|{'---|' * (len(AT) + 1)}")
    plain = {name: recalls(way, questions) for name, way in plain_rankings(documents, questions, args.embedder).items()}
    for name, own in plain.items():
        show(name, own, plain["cosine"])
    for kind, given in (("recorded triples", {"triples": triples}), ("rules", {})):
        for linked in (False, True):
            store = args.folder / args.embedder / f"hops-{kind.replace(' ', '-')}{'-linked' if linked else ''}.lbug"
            with DragGraph(str(store), embedder=args.embedder, privacy="off", student="nearest", workers=2) as graph:
                graph.ingest(files, **given)
                if linked:
                    graph.link()
                seconds: list[float] = []
                own = recalls(graph_ranking(graph, questions, seconds), questions)
                name = f"search, {kind}, {'after' if linked else 'before'} link"
                show(name, own, plain["cosine"], f"{1000 * statistics.median(seconds):.0f}")


if __name__ == "__main__":
    main()
