"""Measure where entity names and predicates should merge, on pairs labelled by hand and on real names.

    python bench/entity_merging.py [--embedder minilm|lexical|...] [--data FOLDER]

Half of the labelled pairs (by a hash of the pair) choose the threshold: best F1 among those with a precision of at least 0.99.
The other half is what is reported. `--data` names a folder with `redocred.jsonl` (different entities of one document) and
`2wiki_questions.jsonl` (aliases of one entity).
"""

import argparse
import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from drag_graph.distill.entity_merging import merge_entities, merge_predicates, predicate_text, thresholds_for
from drag_graph.models.model_choice import make_embedder
from drag_graph.ports.model_roles import Embedder
from drag_graph.ports.vectors import Vectors
from drag_graph.settings import Settings

HERE = Path(__file__).resolve().parent
THRESHOLDS = [round(0.50 + 0.025 * step, 3) for step in range(20)] + [1.01]
LEAST_PRECISION = 0.99
Merge = Callable[[Sequence[str], Vectors, float], list[list[int]]]


@dataclass(frozen=True)
class Pair:
    """Two names and whether they are the same thing; `kind` says what makes the pair easy or hard."""

    first: str
    second: str
    same: bool
    kind: str


@dataclass(frozen=True)
class Score:
    """Counts of one threshold, and what follows from them."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def read_pairs(name: str) -> list[Pair]:
    text = (HERE / "data" / name).read_text(encoding="utf-8")
    return [Pair(**json.loads(line)) for line in text.splitlines() if line]


def held_out(pair: Pair) -> bool:
    digest = hashlib.sha256(f"{pair.first}\t{pair.second}".encode()).digest()
    return digest[0] % 2 == 1


def embedded(text: str, embedder: Embedder, merge: Merge) -> str:
    """Return what the product embeds for a name or a predicate."""
    return predicate_text(text, thresholds_for(embedder.name).frame) if merge is merge_predicates else text


def rows_of(pairs: Sequence[Pair], embedder: Embedder, merge: Merge) -> dict[str, Vectors]:
    """Return the vector of each text, all embedded in one call."""
    texts = sorted({text for pair in pairs for text in (pair.first, pair.second)})
    return dict(zip(texts, embedder.embed([embedded(text, embedder, merge) for text in texts]), strict=True))


def merged(pairs: Iterable[Pair], rows: dict[str, Vectors], merge: Merge, threshold: float) -> list[bool]:
    """Whether the product's own merging joins each pair."""
    joined = []
    for pair in pairs:
        vectors = np.stack([rows[pair.first], rows[pair.second]])
        joined.append(pair.first == pair.second or len(merge([pair.first, pair.second], vectors, threshold)) == 1)
    return joined


def score(pairs: Sequence[Pair], said: Sequence[bool]) -> Score:
    both = list(zip(pairs, said, strict=True))
    return Score(
        right=sum(pair.same and yes for pair, yes in both),
        wrong=sum(yes and not pair.same for pair, yes in both),
        missed=sum(pair.same and not yes for pair, yes in both),
    )


def sweep(title: str, pairs: Sequence[Pair], embedder: Embedder, merge: Merge) -> float:
    """Print the table of one kind of pair and return the chosen threshold."""
    choosing = [pair for pair in pairs if not held_out(pair)]
    reporting = [pair for pair in pairs if held_out(pair)]
    rows_by_text = rows_of(pairs, embedder, merge)
    print(f"\n{title}: {len(choosing)} pairs choose, {len(reporting)} report ({embedder.name})\n")
    print("| threshold | precision | recall | F1 | held out: precision | recall | F1 |\n|---|---|---|---|---|---|---|")
    rows = []
    for threshold in THRESHOLDS:
        chosen, reported = (score(half, merged(half, rows_by_text, merge, threshold)) for half in (choosing, reporting))
        rows.append((threshold, chosen, reported))
        figures = " | ".join(f"{value:.3f}" for half in (chosen, reported) for value in (half.precision, half.recall, half.f1))
        print(f"| {threshold if threshold <= 1 else 'none'} | {figures} |")
    precise = [row for row in rows if row[1].precision >= LEAST_PRECISION] or rows[-1:]
    best = max(precise, key=lambda row: (round(row[1].f1, 3), row[0]))
    print(f"\nchosen: {best[0]}")
    return best[0]


def errors(pairs: Sequence[Pair], embedder: Embedder, merge: Merge, threshold: float) -> None:
    rows = rows_of(pairs, embedder, merge)
    said = merged(pairs, rows, merge, threshold)
    for pair, yes in zip(pairs, said, strict=True):
        if yes != pair.same:
            cosine = float(rows[pair.first] @ rows[pair.second])
            half = "held out" if held_out(pair) else "choosing"
            print(f"{'wrong ' if yes else 'missed'} {cosine:.3f} {pair.kind:11} {half:9} {pair.first} | {pair.second}")


def real_names(folder: Path, embedder: Embedder, threshold: float) -> None:
    """Report on names that others labelled: entities of one document, and aliases of one answer."""
    documents, aliases = folder / "redocred.jsonl", folder / "2wiki_questions.jsonl"
    for needed in (documents, aliases):
        if not needed.is_file():
            sys.exit(f"{needed} is not there; name the folder that has it with --data")
    wrong = total = 0
    shown: list[str] = []
    for line in documents.read_text(encoding="utf-8").splitlines():
        names = list(dict.fromkeys(entity["name"] for entity in json.loads(line)["entities"]))
        names = [name for name in names if any(character.isalnum() for character in name)]
        groups = merge_entities(names, embedder.embed(names), threshold)
        joined = [pair for group in groups for pair in itertools.combinations(group, 2)]
        total += len(names) * (len(names) - 1) // 2
        wrong += len(joined)
        shown += [f"{names[left]} | {names[right]}" for left, right in joined]
    print(f"\nredocred: {wrong} of {total} pairs of different entities of one document were merged at {threshold}")
    print("\n".join(f"    {pair}" for pair in shown[:40]))
    right = pairs = 0
    for line in aliases.read_text(encoding="utf-8").splitlines():
        names = list(dict.fromkeys(json.loads(line)["answer"]))[:2]
        if len(names) > 1:
            pairs += 1
            right += len(merge_entities(names, embedder.embed(names), threshold)) == 1
    print(f"2wiki: {right} of {pairs} answers were merged with their first alias (often another name, not a variant)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedder", default="auto")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--errors", action="store_true", help="list the pairs that come out wrong at the chosen threshold")
    given = parser.parse_args()
    embedder = make_embedder(Settings(embedder=given.embedder))
    for title, file, merge in (
        ("Entity names", "entity_pairs.jsonl", merge_entities),
        ("Predicates", "predicate_pairs.jsonl", merge_predicates),
    ):
        pairs = read_pairs(file)
        threshold = sweep(title, pairs, embedder, merge)
        if given.errors:
            errors(pairs, embedder, merge, threshold)
        if given.data is not None and merge is merge_entities:
            real_names(given.data, embedder, threshold)


if __name__ == "__main__":
    main()
