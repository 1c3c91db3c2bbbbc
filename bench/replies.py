"""How many messy replies of real models yield a JSON object or list: by json.loads, by json-repair, and by ours.

    python bench/replies.py --data FOLDER

Reads malformed_llm_json.jsonl. "Polluted" are those results in which a key or a value holds what is evidently not its own:
a bracket on a line of its own, a blank line (prose after the JSON), or a record separator.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import json_repair

from drag_graph.adapters.reply_json import documents


def loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def repair(text: str) -> Any:
    try:
        return json_repair.loads(text)
    except ValueError:
        return None


def ours(text: str) -> Any:
    return next(iter(documents(text)), None)


def _polluted(document: Any) -> bool:
    if isinstance(document, dict):
        return any(_polluted(key) or _polluted(value) for key, value in document.items())
    if isinstance(document, list):
        return any(_polluted(entry) for entry in document)
    return isinstance(document, str) and bool(re.search(r"\n\s*[\]}]|\n\s*\n|<\|", document))


READERS: dict[str, Callable[[str], Any]] = {"json.loads": loads, "json_repair": repair, "drag_graph": ours}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with malformed_llm_json.jsonl")
    parser.add_argument("--fixtures", action="store_true", help="the rows that are no recorded model output, instead")
    options = parser.parse_args()
    file = options.data / "malformed_llm_json.jsonl"
    if not file.is_file():
        parser.error(f"{file} is missing; give its folder by --data")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["real_llm_output"] != options.fixtures]
    totals: Counter[str] = Counter(row["shape"] for row in rows)
    table: dict[str, Counter[str]] = {name: Counter() for name in READERS}
    polluted: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for row in rows:
        for name, reader in READERS.items():
            began = time.perf_counter()
            found = reader(row["raw"])
            seconds[name] += time.perf_counter() - began
            if isinstance(found, dict | list) and found:
                table[name][row["shape"]] += 1
                polluted[name] += _polluted(found)
    print(f"{'shape':<28}{'rows':>6}" + "".join(f"{name:>14}" for name in READERS))
    for shape, count in sorted(totals.items()):
        print(f"{shape:<28}{count:>6}" + "".join(f"{table[name][shape]:>14}" for name in READERS))
    print(f"{'all':<28}{len(rows):>6}" + "".join(f"{sum(table[name].values()):>14}" for name in READERS))
    print(f"{'of these polluted':<34}" + "".join(f"{polluted[name]:>14}" for name in READERS))
    print(f"{'seconds':<34}" + "".join(f"{seconds[name]:>14.2f}" for name in READERS))


if __name__ == "__main__":
    main()
