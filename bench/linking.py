"""Measure from where on two concepts are the same thing, on pairs labelled by hand and on real names.

    python bench/linking.py [--embedder minilm|lexical|...] [--data FOLDER]

The pairs are our own (`bench/data/entity_pairs.jsonl`.). Half of them (by a hash of the pair) choose the
cosine: best F1 among those with a precision of at least 0.99, and of the same F1 the strictest. The other half reports.

At the operating point each pair is judged once more as if it were an alias: every entity that is also called the one is called
the other. That shows what the guards alone stop; an alias of a real store was let through by the merging within a subgraph.

`--data` names a folder with `redocred.jsonl`: names of different entities of one document, so that every merge counts as wrong.
"""

import argparse
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from entity_merging import Pair, Score, held_out, read_pairs, score

from drag_graph.link.same_as import OperatingPoint, operating_point, verdict
from drag_graph.models.model_choice import make_embedder
from drag_graph.ports.concept_store import Method
from drag_graph.ports.model_roles import Embedder
from drag_graph.settings import Settings

COSINES = [round(0.70 + 0.025 * step, 3) for step in range(12)] + [1.01]
LEAST_PRECISION = 0.99


def cosines_of(pairs: Sequence[Pair], embedder: Embedder) -> list[float]:
    texts = sorted({text for pair in pairs for text in (pair.first, pair.second)})
    rows = dict(zip(texts, embedder.embed(texts), strict=True))
    return [float(rows[pair.first] @ rows[pair.second]) for pair in pairs]


def judged(pairs: Sequence[Pair], cosines: Sequence[float], point: OperatingPoint, share: float = 0.0) -> list[Method | None]:
    found = [
        verdict(pair.first, pair.second, share, cosine, point) if pair.first != pair.second else ("name", 1.0)
        for pair, cosine in zip(pairs, cosines, strict=True)
    ]
    return [method[0] if method else None for method in found]


def measured(pairs: Sequence[Pair], cosines: Sequence[float], point: OperatingPoint, share: float = 0.0) -> list[Score]:
    """Return the score of the choosing and of the reporting half."""
    said = [method is not None for method in judged(pairs, cosines, point, share)]
    halves: list[Score] = []
    for reporting in (False, True):
        half = [(pair, yes) for pair, yes in zip(pairs, said, strict=True) if held_out(pair) == reporting]
        halves.append(score([pair for pair, _ in half], [yes for _, yes in half]))
    return halves


def row(name: str, halves: Sequence[Score]) -> str:
    figures = (f"{value:.3f}" for half in halves for value in (half.precision, half.recall, half.f1))
    return f"| {name} | {' | '.join(figures)} |"


def sweep(pairs: Sequence[Pair], cosines: Sequence[float], now: OperatingPoint) -> None:
    """Print the table of the cosines, which one it would choose, and what the operating point gives."""
    print("| cosine | precision | recall | F1 | held out: precision | recall | F1 |\n|---|---|---|---|---|---|---|")
    found = []
    for cosine in COSINES:
        halves = measured(pairs, cosines, OperatingPoint(cosine=cosine))
        found.append((cosine, halves[0]))
        print(row(str(cosine) if cosine <= 1 else "none", halves))
    precise = [entry for entry in found if entry[1].precision >= LEAST_PRECISION]
    best = max(precise, key=lambda entry: (round(entry[1].f1, 3), entry[0]))
    print(f"\nthe sweep would choose {best[0]}; the operating point is {now.cosine}\n")
    print(row(f"{now.cosine}, no alias", measured(pairs, cosines, now)))
    print(row(f"{now.cosine}, alias of all", measured(pairs, cosines, now, share=1.0)))


def real_names(path: Path, embedder: Embedder, now: OperatingPoint) -> None:
    """Count the merges among names of different entities of one document."""
    if not path.is_file():
        sys.exit(f"{path} is not there; name the folder that has it with --data")
    pairs: list[Pair] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        names = list(dict.fromkeys(entity["name"] for entity in json.loads(line)["entities"]))
        named = [name for name in names if any(character.isalnum() for character in name)]
        pairs += [Pair(one, other, same=False, kind="document") for one, other in itertools.combinations(named, 2)]
    cosines = cosines_of(pairs, embedder)
    print(f"\n{len(pairs)} pairs of different entities of one document; merged:\n")
    print("| cosine | by name | by embedding |\n|---|---|---|")
    for cosine in COSINES:
        said = judged(pairs, cosines, OperatingPoint(cosine=cosine))
        print(f"| {cosine if cosine <= 1 else 'none'} | {said.count('name')} | {said.count('embedding')} |")
    for pair, method in zip(pairs, judged(pairs, cosines, now), strict=True):
        if method is not None:
            print(f"    {method}: {pair.first} | {pair.second}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedder", default="auto")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--errors", action="store_true", help="list the pairs that come out wrong at the operating point")
    given = parser.parse_args()
    embedder = make_embedder(Settings(embedder=given.embedder))
    now = operating_point(embedder.name)
    pairs = read_pairs("entity_pairs.jsonl")
    cosines = cosines_of(pairs, embedder)
    print(f"{sum(not held_out(pair) for pair in pairs)} pairs choose, {sum(map(held_out, pairs))} report ({embedder.name})\n")
    sweep(pairs, cosines, now)
    if given.errors:
        for share in (0.0, 1.0):
            for pair, method, cosine in zip(pairs, judged(pairs, cosines, now, share), cosines, strict=True):
                if (method is not None) != pair.same:
                    print(f"share {share} {method or 'missed':9} {cosine:.3f} {pair.kind:9} {pair.first} | {pair.second}")
    if given.data is not None:
        real_names(given.data / "redocred.jsonl", embedder, now)


if __name__ == "__main__":
    main()
