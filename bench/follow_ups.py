"""Whether follow-up questions that a student has rewritten find what the whole question finds (drag_graph/ask/follow_up.py).

    python bench/follow_ups.py --student gguf:FILE.gguf [--embedder minilm] [--rows N] [--save FILE.json]

The files of bench/data/mixed are ingested. Each line of bench/data/follow_ups.jsonl has the first question of a conversation, a
follow-up question and the whole question that it means. The student rewrites the follow-up. The table gives, for the
follow-up as it stands, rewritten, and whole: how many have the gold document first, and how many find the gold passage
among `--limit` sources. The last columns count only follow-ups whose whole question finds it.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from drag_graph import DragGraph

DATA = Path(__file__).parent / "data"
FORMS = ("follow_up", "rewritten", "whole")


def found(graph: DragGraph, question: str, item: dict[str, Any], limit: int) -> tuple[bool, bool]:
    """Return whether the gold document is first, and whether a span or edge has the gold words."""
    document = graph.search(question, limit=limit).to_dict()
    names = [source["name"] for source in document["sources"]]
    texts = [one["text"] for one in (*document["spans"], *document["edges"])]
    has_gold = any(all(word.casefold() in text.casefold() for word in item["gold"]) for text in texts)
    return names[:1] == [item["document"]], has_gold


def measured(graph: DragGraph, item: dict[str, Any], limit: int) -> dict[str, Any]:
    """Rewrite a follow-up question, and return what each of its forms finds."""
    began = time.monotonic()
    rewritten = graph.follow_up(item["follow_up"], [("user", item["first"])])
    seconds = time.monotonic() - began
    forms = {**item, "rewritten": rewritten.question}
    finds = {form: found(graph, forms[form], item, limit) for form in FORMS}
    return {**forms, "reason": rewritten.reason, "seconds": round(seconds, 2), "finds": finds}


def table(rows: list[dict[str, Any]]) -> str:
    """Return the table of all forms."""
    lines = [f"{'form':10} {'document':>9} {'passage':>8} {'as whole: document':>19} {'passage':>8}"]
    for form in FORMS:
        counts = [sum(row["finds"][form][place] for row in rows) for place in (0, 1)]
        counts += [sum(row["finds"][form][place] and row["finds"]["whole"][place] for row in rows) for place in (0, 1)]
        lines.append("{:10} {:>9} {:>8} {:>19} {:>8}".format(form, *counts))
    lines.append(f"{len(rows)} questions, {sum(bool(row['reason']) for row in rows)} not rewritten")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--student", required=True)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--limit", type=int, default=5)
    parser.add_argument("--save", type=Path)
    args = parser.parse_args()
    items = [json.loads(line) for line in (DATA / "follow_ups.jsonl").read_text(encoding="utf-8").splitlines()][: args.rows]
    with tempfile.TemporaryDirectory() as place:
        settings = {"embedder": args.embedder, "student": args.student, "privacy": "off"}
        with DragGraph(Path(place) / "graph.lbug", **settings) as graph:
            graph.ingest(DATA / "mixed" / "files").result()
            rows = []
            for item in items:
                rows.append(measured(graph, item, args.limit))
                print(f"{item['id']} {item['follow_up']} -> {rows[-1]['rewritten']}", file=sys.stderr, flush=True)
    if args.save:
        args.save.write_text(json.dumps({"student": args.student, "embedder": args.embedder, "rows": rows}, ensure_ascii=False))
    print(table(rows))


if __name__ == "__main__":
    main()
