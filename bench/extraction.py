"""Measure the `patterns` extractor on real text, beside recorded outputs of 13B models.

    python bench/extraction.py --data FOLDER

FOLDER holds text2kgbench.jsonl (gold triples and recorded outputs) and the files named in SETS
(evidence sentences). Rows are split in two halves by the hash of their
id, and each half is reported.

    --rules          precision by rule against the gold triples, half A, and half B
    --sample N       print N triples of each rule with their sentences, to be judged by a reader
    --judgements F   precision by rule from a file of verdicts: {"<hash>": 1 or 0}
"""

import argparse
import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from extraction_metrics import MATCHINGS, Matching, Triple, clean, coverage, matches, score

from drag_graph.distill.patterns.reader import ExtractedTriple, extract

SYSTEMS = ("patterns", "patterns>=0.7", "vicuna-13b", "alpaca-lora-13b")
FLOOR = 0.7
SETS = (
    ("qasc", "evidence_llm"),
    ("qasc", "evidence"),
    ("entailmentbank_arc", "evidence"),
    ("commonsense_qa", "evidence_llm"),
    ("openbookqa", "evidence"),
    ("csqa2", "evidence_llm"),
    ("creak", "evidence"),
    ("strategyqa", "evidence"),
)
# Not looked at while the rules were written; what is judged is drawn from these and from half B.
UNSEEN = ("csqa2 evidence_llm", "creak evidence", "strategyqa evidence")
JUDGEMENTS = Path(__file__).with_name("patterns_judgements.json")


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    path = folder / f"{name}.jsonl"
    if not path.is_file():
        sys.exit(f"{path} is not there: give the folder of the test data by --data FOLDER.")
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def half(row: dict[str, Any]) -> str:
    return "A" if hashlib.sha256(row["id"].encode()).digest()[0] % 2 == 0 else "B"


def as_tuple(triple: ExtractedTriple) -> Triple:
    return triple.subject, triple.predicate, triple.object


def predicted(row: dict[str, Any], system: str) -> list[Triple]:
    if system.startswith("patterns"):
        floor = FLOOR if ">=" in system else 0.0
        read_triples = (triple for text in row["evidence"] for triple in extract(text))
        return [as_tuple(triple) for triple in read_triples if triple.confidence >= floor]
    recorded = row["llm_outputs"].get(system) or {}
    parsed = recorded.get("parsed") or []
    return [(str(t[0]), str(t[1]), str(t[2])) for t in parsed if len(t) == 3]


def gold_table(rows: list[dict[str, Any]]) -> None:
    print("| rows | system | matching | P micro | R micro | F1 micro | P macro | R macro | F1 macro | predicted |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in ("A", "B", "all"):
        part = [row for row in rows if name in ("all", half(row))]
        for system in SYSTEMS:
            pairs = [(predicted(row, system), row["triples"]) for row in part]
            for matching in MATCHINGS:
                report = score(pairs, matching)
                figures = (*_values(report.micro), *_values(report.macro))
                cells = " | ".join(f"{100 * value:.1f}" for value in figures)
                print(f"| {name} ({len(part)}) | {system} | {matching} | {cells} | {report.predicted} |")


def _values(one: Any) -> tuple[float, float, float]:
    return one.precision, one.recall, one.f1


def sentences_of(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """(half, sentence) of each set, each different sentence once."""
    found = {}
    for name, key in SETS:
        texts: dict[str, str] = {}
        for row in read(folder, name):
            for text in row.get(key) or ():
                texts.setdefault(text, half(row))
        found[f"{name} {key}"] = [(part, text) for text, part in texts.items()]
    return found


def coverage_table(folder: Path) -> None:
    print(
        "\n| sentences | half | number | with a triple | triples a sentence | content words kept | "
        "kept where read | kept at confidence >= 0.7 | length of joined triples |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, texts in sentences_of(folder).items():
        for part in ("A", "B"):
            chosen = [text for where, text in texts if where == part]
            read_texts = [(text, extract(text)) for text in chosen]
            figures = coverage((text, [as_tuple(t) for t in triples]) for text, triples in read_texts)
            strong = coverage((text, [as_tuple(t) for t in triples if t.confidence >= FLOOR]) for text, triples in read_texts)
            print(
                f"| {name} | {part} | {figures.sentences} | {100 * figures.read:.1f} % | {figures.triples:.2f} | "
                f"{100 * figures.kept:.1f} % | {100 * figures.kept_where_read:.1f} % | "
                f"{100 * strong.kept:.1f} % | {figures.length:.2f} |"
            )


def rule_table(rows: list[dict[str, Any]], matching: Matching = "soft_undirected") -> None:
    print(f"\n| rule | A: right / read | B: right / read | all ({matching}) |\n|---|---|---|---|")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        triples = [triple for text in row["evidence"] for triple in extract(text)]
        by_text = {clean([as_tuple(t)])[0]: t.rule for t in triples if clean([as_tuple(t)])}
        ours, gold = list(by_text), clean(tuple(t) for t in row["triples"])
        right = {place for place, _ in matches(ours, gold, matching)}
        for place, triple in enumerate(ours):
            counts[by_text[triple]].update({f"{half(row)} read": 1, f"{half(row)} right": int(place in right)})
    for rule, c in sorted(counts.items()):
        read_all, right_all = c["A read"] + c["B read"], c["A right"] + c["B right"]
        print(
            f"| {rule} | {c['A right']} / {c['A read']} | {c['B right']} / {c['B read']} | {100 * right_all / read_all:.1f} % |"
        )


def judged_items(folder: Path) -> Iterator[tuple[str, str, str, ExtractedTriple]]:
    """(hash, source, sentence, triple) of every triple of the judged sets, in hash order."""
    texts = [(name, text) for name, pairs in sentences_of(folder).items() if name in UNSEEN for _, text in pairs]
    rows = [row for row in read(folder, "text2kgbench") if half(row) == "B"]
    texts += [("text2kgbench", text) for row in rows for text in row["evidence"]]
    items: dict[str, tuple[str, str, ExtractedTriple]] = {}
    for name, text in texts:
        for triple in extract(text):
            key = "\t".join((text, *as_tuple(triple)))
            items[hashlib.sha256(key.encode()).hexdigest()[:16]] = (name, text, triple)
    for digest in sorted(items):
        yield (digest, *items[digest])


def sample(folder: Path, number: int) -> None:
    taken = Counter[str]()
    for digest, name, text, triple in judged_items(folder):
        if taken[triple.rule] < number:
            taken[triple.rule] += 1
            print(f"{digest}\t{triple.rule}\t{name}\t({' | '.join(as_tuple(triple))})\t{text}")


def judged(folder: Path, path: Path) -> None:
    verdicts: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
    right, read_count, frequency = Counter[str](), Counter[str](), Counter[str]()
    for digest, _, _, triple in judged_items(folder):
        frequency[triple.rule] += 1
        if digest in verdicts:
            read_count[triple.rule] += 1
            right[triple.rule] += verdicts[digest]
    print("\n| rule | judged right / judged | precision | (right + 1) / (judged + 2) |\n|---|---|---|---|")
    for rule, number in sorted(read_count.items()):
        smoothed = (right[rule] + 1) / (number + 2)
        print(f"| {rule} | {right[rule]} / {number} | {100 * right[rule] / number:.0f} % | {smoothed:.2f} |")
    total = sum(read_count.values())
    weighted = sum(frequency[rule] * right[rule] / number for rule, number in read_count.items())
    share = weighted / sum(frequency[rule] for rule in read_count)
    print(f"\nWeighted by how often each rule reads in these texts: {100 * share:.0f} %.")
    print(f"\n{total} of {len(verdicts)} verdicts are about triples that are still read.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    parser.add_argument("--rules", action="store_true", help="precision by rule against the gold triples")
    parser.add_argument("--sample", type=int, metavar="N", help="print N triples of each rule to be judged")
    parser.add_argument("--judgements", type=Path, nargs="?", const=JUDGEMENTS, help="precision by rule from verdicts")
    options = parser.parse_args()
    if options.sample:
        sample(options.data, options.sample)
    elif options.judgements:
        judged(options.data, options.judgements)
    elif options.rules:
        rule_table(read(options.data, "text2kgbench"))
    else:
        gold_table(read(options.data, "text2kgbench"))
        coverage_table(options.data)


if __name__ == "__main__":
    main()
