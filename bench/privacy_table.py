"""Table 4 of the DRAG paper: put private details into questions, distil what the gate lets pass, ask, and count what leaked.

    python bench/privacy_table.py --data FOLDER --out FOLDER [--n 200] [--file TABLE.toml] [--seed 7]
        [--setting NAME=VALUE ...]

FOLDER holds mmlu.jsonl. --out receives the questions with private details (bench/inject.py), the store and the outcomes. The
table's file is examples/paper/table-04.toml; --setting replaces its values. Run the same command again to resume. A detail
counts as leaked if its text, in upper or lower case, occurs as whole words in the questions and options that left the gate (the
teacher receives nothing else of the user's), in evidence and graph, or in the student's answers. Details that the clean
questions also contain, and details of fewer than four letters and digits, do not count. Intervals: Wilson's, 95 %.
"""

import argparse
import json
import random
import re
from collections.abc import Iterable
from pathlib import Path

from inject import injected
from privacy import share

from drag_graph import DragGraph
from drag_graph.evaluation.outcome import read_records

TABLE = Path(__file__).parents[1] / "examples" / "paper" / "table-04.toml"
SHORTEST = 4


def details(rows: list[dict[str, object]]) -> list[str]:
    """Return the injected texts that occur nowhere else in the rows."""
    clean = "\n".join(str([row["clean_question"], row["options"]]) for row in rows).casefold()
    spans = (str(row["question"])[span["start"] : span["end"]] for row in rows for span in row["pii_spans"])  # type: ignore[attr-defined]
    return [text for text in spans if sum(map(str.isalnum, text)) >= SHORTEST and text.casefold() not in clean]


def leaked(private: list[str], texts: Iterable[str]) -> int:
    found = "\n".join(texts).casefold()
    return sum(bool(re.search(rf"(?<!\w){re.escape(text.casefold())}(?!\w)", found)) for text in private)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--file", type=Path, default=TABLE)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    draw = random.Random(given.seed)
    clean = [json.loads(line) for line in (given.data / "mmlu.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [injected(row, number, draw) for number, row in enumerate(draw.sample(clean, min(given.n, len(clean))))]
    given.out.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (given.out / "mmlu.jsonl").write_text(lines, encoding="utf-8")
    flags = dict(setting.split("=", 1) for setting in given.setting)
    private = details(rows)
    with DragGraph(given.out / "graph.lbug") as graph:
        table = graph.evaluation.table(given.file, data=given.out, **flags)
        for result in graph.evaluation.run_table(table):
            names, cells = result.rows()
            print(f"\n{result.folder}\n\n| {' | '.join(names)} |\n|{'---|' * len(names)}")
            print("\n".join(f"| {' | '.join(row)} |" for row in cells))
            items = read_records(result.folder)
            places = {
                "sent": [text for item in items for text in (item.question, *item.options)],
                "evidence": [line for item in items for line in item.lines],
                "answers": [item.answer for item in items],
            }
            print(f"\n| private details of {len(rows)} questions in | n | % |\n|---|---|---|")
            for place, texts in places.items():
                print(f"| {place} | {len(private)} | {share(leaked(private, texts), len(private))} |")


if __name__ == "__main__":
    main()
