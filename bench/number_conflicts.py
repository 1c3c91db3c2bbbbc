"""How often different documents seem to contradict each other: `python bench/number_conflicts.py FILE.docs.jsonl ...`.

It compares each two passages of different documents that state a number of a property (a budget, a deadline), prints how many
pairs state the same property and the pairs that are reported as contradictions. Read those.
"""

import json
import sys
from itertools import combinations
from pathlib import Path

from drag_graph.documents.file_loaders import load_text
from drag_graph.documents.passages import chunks
from drag_graph.graph.number_conflicts import _sentences, conflicting

LONGEST = 200_000
CHUNK = 1_200


def main() -> None:
    for file in map(Path, sys.argv[1:]):
        items: list[tuple[int, str, frozenset[str]]] = []
        for number, line in enumerate(file.open(encoding="utf-8")):
            loaded = load_text(json.loads(line)["text"][:LONGEST])
            texts = [part.of(loaded.text) for chunk in chunks(loaded.text, loaded.blocks, CHUNK) for part in chunk.passages]
            stated = [frozenset(name for one in _sentences(text) for name in one.attributes) for text in texts]
            items += [(number, text, names) for text, names in zip(texts, stated, strict=True) if names]
        pairs = [(one, two) for one, two in combinations(items, 2) if one[0] != two[0]]
        same = [(one, two) for one, two in pairs if one[2] & two[2]]
        found = [(one[1], two[1], reason) for one, two in pairs if (reason := conflicting(one[1], two[1]))]
        print(
            f"{file.name}: {len(items):,} passages, {len(pairs):,} pairs, {len(same):,} of one property, {len(found)} reported"
        )
        for one, two, reason in found:
            print(f"  {reason}\n    {one}\n    {two}")


if __name__ == "__main__":
    main()
