"""How many right triples are lost, and how many wrong ones caught, when a triple's ends must occur in its evidence.

    python bench/grounding.py --data FOLDER
    python bench/grounding.py --data FOLDER --sample N [--below SHARE]
    python bench/grounding.py --data FOLDER --misses

FOLDER holds text2kgbench.jsonl, openie_gpt35_musique_passages.jsonl and the sets that bench/extraction.py reads. For each
tolerance (the share of an end's content words that must occur) the table gives the share of triples that are kept out:

- right, 13B: outputs of Vicuna-13B and Alpaca-LoRA-13B that have the ends of a gold triple of their sentence
  (`extraction_metrics`, matching `soft_undirected`), less those that a reader rejected;
- right, GPT-3.5: recorded triples of passages, less those that a reader rejected;
- right, rules: triples of `patterns` that a reader called right (patterns_judgements.json);
- wrong, 13B: the outputs of which no gold triple has both ends. Gold is not complete, so some of them are right, too;
- unrelated: all right ones, each beside the evidence of another row: what a useless or muddled reply proves by an evidence
  about something else.

The reader's verdicts are in grounding_judgements.json: on every triple of the first two sets of which a content word is
missing, and on a sample of the others, {"<hash>": 1 or 0}.

`--sample` prints triples of GPT-3.5 to be judged, those below the share first; `--misses` prints the right ones that are lost.
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from extraction import JUDGEMENTS as RULE_JUDGEMENTS
from extraction import as_tuple, judged_items, read
from extraction_metrics import clean, matches

from drag_graph.graph.grounding import TOLERANCE, Grounds

TOLERANCES = (0.01, 0.34, 0.5, 0.6, 0.75, 1.0)
JUDGEMENTS = Path(__file__).with_name("grounding_judgements.json")
Triple = tuple[str, str, str]
Pair = tuple[Triple, str]
"""A triple and its evidence."""


def recorded(folder: Path) -> tuple[list[Pair], list[Pair]]:
    """Return what the 13B models wrote about single sentences: what matches a gold triple, and what does not."""
    right, wrong = [], []
    for row in read(folder, "text2kgbench"):
        text = " ".join(row["evidence"])
        gold = clean(tuple(triple) for triple in row["triples"])
        for output in row["llm_outputs"].values():
            written = [tuple(map(str, triple)) for triple in output.get("parsed") or () if len(triple) == 3]
            found = {plain[0]: triple for triple in written if (plain := clean([triple]))}
            matching = {place for place, _ in matches(list(found), gold, "soft_undirected")}
            for place, triple in enumerate(found.values()):
                (right if place in matching else wrong).append((triple, text))
    return right, wrong


def passages(folder: Path) -> list[Pair]:
    """Return the triples of GPT-3.5 with the passages, and their titles, that it read."""
    found = []
    for row in read(folder, "openie_gpt35_musique_passages"):
        text = ". ".join((row["question"], *row["evidence"]))
        found += [(tuple(triple), text) for triple in row["triples_llm"] if len(triple) == 3 and all(triple)]
    return found


def digest(pair: Pair) -> str:
    return hashlib.sha256("\t".join((pair[1], *pair[0])).encode()).hexdigest()[:16]


def accepted(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs without those that the reader rejected."""
    verdicts = json.loads(JUDGEMENTS.read_text(encoding="utf-8"))
    return [pair for pair in pairs if verdicts.get(digest(pair), 1)]


def of_rules(folder: Path) -> list[Pair]:
    verdicts = json.loads(RULE_JUDGEMENTS.read_text(encoding="utf-8"))
    return [(as_tuple(triple), text) for hash_, _, text, triple in judged_items(folder) if verdicts.get(hash_) == 1]


def elsewhere(pairs: list[Pair]) -> list[Pair]:
    """Return each triple with the evidence of a row that is far from its own."""
    half = len(pairs) // 2
    return [(triple, pairs[(place + half) % len(pairs)][1]) for place, (triple, _) in enumerate(pairs)]


def share(pair: Pair) -> float:
    (subject, _, object_), text = pair
    grounds = Grounds(text)
    return min(grounds.share(subject), grounds.share(object_))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    parser.add_argument("--sample", type=int, metavar="N", help="print N triples of GPT-3.5 to be judged")
    parser.add_argument("--below", type=float, default=1.0, help="which triples are sampled first, by their share")
    parser.add_argument("--misses", action="store_true", help="print the right triples that are lost")
    options = parser.parse_args()
    read_by_model = passages(options.data)
    if options.sample:
        order: Callable[[Pair], tuple[bool, str]] = lambda pair: (share(pair) >= options.below, digest(pair))  # noqa: E731
        for pair in sorted(read_by_model, key=order)[: options.sample]:
            print(f"{digest(pair)}\t{share(pair):.2f}\t({' | '.join(pair[0])})\t{pair[1]}")
        return
    right, wrong = recorded(options.data)
    sets = {
        "right, 13B": accepted(right),
        "right, GPT-3.5": accepted(read_by_model),
        "right, rules": of_rules(options.data),
        "wrong, 13B": wrong,
    }
    sets["unrelated"] = elsewhere([pair for name, pairs in sets.items() if name.startswith("right") for pair in pairs])
    shares = {name: [share(pair) for pair in pairs] for name, pairs in sets.items()}
    if options.misses:
        for name in (name for name in sets if name.startswith("right")):
            for pair, found in zip(sets[name], shares[name], strict=True):
                if found < TOLERANCE:
                    print(f"{name}\t{found:.2f}\t({' | '.join(pair[0])})\t{pair[1]}")
        return
    print("| kept out below | " + " | ".join(f"{name} ({len(pairs)})" for name, pairs in sets.items()) + " |")
    print("|---|" + "---|" * len(sets))
    for tolerance in TOLERANCES:
        cells = (f"{100 * sum(one < tolerance for one in found) / max(len(found), 1):.1f} %" for found in shares.values())
        print(f"| {tolerance:.2f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
