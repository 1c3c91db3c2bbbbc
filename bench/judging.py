r"""Answers and pairs of answers labelled by hand, blind: sheets to fill in, what is kept of them, and what they say.

    python bench/judging.py answers A B --mode combined,bm25 --number 100 -o answers.jsonl   # fill in "label"
    python bench/judging.py keep answers.jsonl bench/data/judge_labels.jsonl
    drag-graph eval compare A B --mode combined,bm25 --judge MODEL --json > judged.json
    python bench/judging.py agreement A B --mode combined,bm25 --labels bench/data/judge_labels.jsonl --judged judged.json

    python bench/judging.py pairs A B --mode combined,bm25 --number 60 -o pairs.jsonl        # fill in "verdict"
    python bench/judging.py keep pairs.jsonl bench/data/judged_pairs.jsonl
    python bench/judging.py count A B --mode combined,bm25 --labels bench/data/judged_pairs.jsonl

    python bench/judging.py f1 A B --mode combined,bm25

A and B are outcomes of `drag-graph eval` (they may be one folder); `--mode` names the mode of each. A sheet is a JSON line an
answer or a pair, in random order: question, gold answer, one answer or two, and a field to fill in. It does not say which
outcome an answer is from; its ids are hashes of the texts. Labels of answers are `right`, `partly` or `wrong`; verdicts on
pairs are `one`, `two` or `tie`. `keep` writes ids and labels only, because the texts belong to the data sets.

`answers` draws both answers to each item, so that labels say which one is better. `agreement` compares that with the verdicts
of the judge. Both draw the items with the lowest hashes: the same each time, and a sample of the whole. `f1` needs no
labels: it compares the answers to all questions that have an answer.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from drag_graph.ask.support import without_citations
from drag_graph.evaluation.intervals import paired_difference, wilson
from drag_graph.evaluation.judge import preference, reference
from drag_graph.evaluation.outcome import Record, common_items, read_mode
from drag_graph.files import write_lines
from drag_graph.identity import sha256_of

GRADES = {"right": 2, "partly": 1, "wrong": 0}
CHOICES = {"label": tuple(GRADES), "verdict": ("one", "two", "tie")}
"""What may be filled into each field of a sheet."""
Pair = tuple[Record, Record]


def answer_id(record: Record) -> str:
    """Return the id of an answer to a question, whatever its outcome and mode."""
    return sha256_of(["answer", record.question, record.answer])[:16]


def pair_id(pair: Pair) -> str:
    """Return the id of two answers to a question, the same in both orders."""
    return sha256_of(["pair", pair[0].question, *sorted(record.answer for record in pair)])[:16]


def shown(pair: Pair) -> Pair:
    """Return a pair in the order of its sheet, which depends on a hash of its texts alone."""
    one, two = sorted(pair, key=lambda record: sha256_of([pair_id(pair), record.answer]))
    return one, two


def drawn(pairs: Sequence[Pair], number: int) -> list[Pair]:
    """Return the pairs of the items with the lowest hashes."""
    return sorted(pairs, key=lambda pair: sha256_of(["item", pair[0].question]))[:number]


def answer_sheet(pairs: Sequence[Pair], number: int) -> list[dict[str, str]]:
    """Return `number` answers, two of each item, in random order. An answer that both sides give is labelled once."""
    records = {answer_id(record): record for pair in drawn(pairs, number // 2) for record in pair}
    return [
        {
            "id": id_,
            "question": record.question,
            "gold": reference(record),
            "answer": without_citations(record.answer),
            "label": "",
        }
        for id_, record in sorted(records.items())
    ]


def pair_sheet(pairs: Sequence[Pair], number: int) -> list[dict[str, str]]:
    """Return `number` pairs, the sides in random order. Of equal answers, the verdict is filled in."""
    sheet = []
    for pair in drawn(pairs, number):
        one, two = (without_citations(record.answer) for record in shown(pair))
        head = {"id": pair_id(pair), "question": pair[0].question, "gold": reference(pair[0])}
        sheet.append({**head, "one": one, "two": two, "verdict": "tie" if one == two else ""})
    return sorted(sheet, key=lambda row: row["id"])


def kept(rows: Sequence[dict[str, str]]) -> Iterator[dict[str, str]]:
    """Yield id and label of the rows that are filled in. Raises ValueError for a label that does not exist."""
    for row in rows:
        field = next(name for name in CHOICES if name in row)
        label = row[field].strip().lower()
        if label and label not in CHOICES[field]:
            raise ValueError(f"{row['id']}: {field} {label!r} is not one of {', '.join(CHOICES[field])}")
        if label:
            yield {"id": row["id"], field: label}


def by_labels(pairs: Sequence[Pair], labels: dict[str, str]) -> dict[str, str]:
    """Return which side of each item has the better label: `first`, `second` or `tie`. Both answers must be labelled."""
    better = {}
    for pair in pairs:
        grades = [GRADES[labels[answer_id(record)]] for record in pair if answer_id(record) in labels]
        if len(grades) == len(pair):
            better[pair[0].id] = "tie" if grades[0] == grades[1] else "first" if grades[0] > grades[1] else "second"
    return better


def by_verdicts(pairs: Sequence[Pair], verdicts: dict[str, str]) -> list[str]:
    """Return the verdicts of a sheet of pairs as `first`, `second` or `tie`."""
    found = []
    for pair in pairs:
        if verdict := verdicts.get(pair_id(pair)):
            side = {"one": 0, "two": 1}.get(verdict)
            found.append("tie" if side is None else "first" if shown(pair)[side] is pair[0] else "second")
    return found


def agreement(labels: dict[str, str], verdicts: dict[str, str]) -> str:
    """Return how often judge and labels agree, with the 95 % interval, Cohen's kappa and the table of both."""
    both = [(labels[id_], verdicts[id_]) for id_ in labels if id_ in verdicts]
    n, same = len(both), sum(one == other for one, other in both)
    sides = [Counter(pair[place] for pair in both) for place in (0, 1)]
    chance = sum(sides[0][name] * sides[1][name] for name in sides[0]) / n**2
    kappa = (same / n - chance) / (1 - chance) if chance < 1 else 1.0
    low, high = wilson(same, n)
    opposed = sum({one, other} == {"first", "second"} for one, other in both)
    rows = [
        f"{n} pairs: agreement {100 * same / n:.1f} % (95 % interval {100 * low:.1f} to {100 * high:.1f}), kappa {kappa:.2f}"
    ]
    rows += [f"opposite verdicts: {opposed}", "", "| labels \\ judge | first | second | tie |", "|---|---|---|---|"]
    names, table = ("first", "second", "tie"), Counter(both)
    rows += [f"| {one} | {' | '.join(str(table[one, other]) for other in names)} |" for one in names]
    return "\n".join(rows)


def f1(pairs: Sequence[Pair]) -> str:
    """Return the mean F1 of both sides over the questions with an answer, and their difference with its 95 % interval."""
    ones, twos = ([record.f1 or 0.0 for record in side if record.answerable] for side in zip(*pairs, strict=True))
    low, mean, high = (100 * part for part in paired_difference(ones, twos))
    first, second = (100 * sum(side) / len(side) for side in (ones, twos))
    return f"{len(ones)} questions: {first:.1f} and {second:.1f}, difference {mean:+.1f} ({low:.1f} to {high:.1f})"


def read_rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def read_labels(path: Path) -> dict[str, str]:
    return {row["id"]: row.get("label") or row["verdict"] for row in read_rows(path)}


def write_rows(path: Path, rows: Sequence[dict[str, str]]) -> None:
    write_lines(path, (json.dumps(row, ensure_ascii=False) for row in rows))
    print(f"{path}: {len(rows)} rows")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("answers", "pairs", "agreement", "count", "f1"):
        command = commands.add_parser(name)
        command.add_argument("first", type=Path)
        command.add_argument("second", type=Path)
        command.add_argument("--mode", required=True, help="The modes of both: FIRST,SECOND.")
        if name in ("answers", "pairs"):
            command.add_argument("--number", type=int, default=100 if name == "answers" else 60)
            command.add_argument("-o", "--output", type=Path, required=True)
        elif name != "f1":
            command.add_argument("--labels", type=Path, required=True)
        if name == "agreement":
            command.add_argument("--judged", type=Path, required=True, help="Output of `eval compare --judge MODEL --json`.")
    command = commands.add_parser("keep")
    command.add_argument("sheet", type=Path)
    command.add_argument("labels", type=Path)
    return parser.parse_args()


def main() -> None:
    args = arguments()
    if args.command == "keep":
        earlier = {row["id"]: row for row in read_rows(args.labels)} if args.labels.exists() else {}
        earlier |= {row["id"]: row for row in kept(read_rows(args.sheet))}
        write_rows(args.labels, [earlier[id_] for id_ in sorted(earlier)])
        return
    first, _, second = args.mode.partition(",")
    pairs = common_items(read_mode(args.first, first), read_mode(args.second, second or first))
    match args.command:
        case "answers":
            write_rows(args.output, answer_sheet(pairs, args.number))
        case "pairs":
            write_rows(args.output, pair_sheet(pairs, args.number))
        case "count":
            print(json.dumps(preference(by_verdicts(pairs, read_labels(args.labels)))))
        case "f1":
            print(f1(pairs))
        case "agreement":
            judgement = json.loads(args.judged.read_text(encoding="utf-8"))["judgement"]
            verdicts = {item["id"]: item["verdict"] for item in judgement["items"] if not item["error"]}
            labels = by_labels(pairs, read_labels(args.labels))
            print(f"{judgement['judge']}, {judgement['rubric']}: {agreement(labels, verdicts)}")


if __name__ == "__main__":
    main()
