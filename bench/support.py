r"""Does the support check find what a student makes up? For drag_graph/ask/support.py.

    python bench/support.py --data FOLDER [--embedders minilm lexical] [--check gguf:FILE] [--errors]

`bench/data/support_labels.jsonl` has sentences of real replies by Qwen2.5-Coder 1.5B, each with a label by hand: whether it
follows from its context lines. The lines are in `support_lines.jsonl`: as text if the document is in this repository, else as
places in the data of FOLDER; items without their data are skipped. The check was tuned on the half `tuning` (by a hash of the
sentence), so `test` is what counts. The first table gives precision and recall of "unsupported", with 95 % intervals.

The second table changes a number, a name or a date of a supported sentence, at the places that were marked by hand: to one that
no line has, and ("of another line") to one that another line has. `found` are those marked as unsupported.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from drag_graph.ask.answer_checks import AnswerChecker
from drag_graph.compose.model_factories import make_embedder
from drag_graph.evaluation.intervals import wilson
from drag_graph.model import Line
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.locality import unchecked
from drag_graph.models.model_choice import make_student
from drag_graph.ports.model_roles import StudentReply
from drag_graph.settings import load_settings

FOLDER = Path(__file__).parent / "data"
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
NUMBERS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBER = re.compile(r"(?<![\w.,])\d+(?![\w.,])")
KINDS = ("number", "name", "date")

Found = Callable[["Item", str], bool]
"""Whether the check marks a text as unsupported by the lines of an item."""


@dataclass(frozen=True, eq=False)
class Item:
    """A labelled sentence. `marked` are its numbers, names and dates, by kind."""

    sentence: str
    is_supported: bool
    lines: tuple[Line, ...]
    marked: dict[str, list[str]]

    @property
    def half(self) -> str:
        return half_of(self.sentence)

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


def half_of(text: str) -> str:
    return "tuning" if sha256(text.encode()).digest()[0] % 2 else "test"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def plain(text: str) -> str:
    return " ".join(text.split())


@cache
def texts_of(data: Path) -> dict[str, str]:
    """Return the documents of LiHua-World by id and those of the medical corpus by number, in single spaces."""
    texts = {}
    if (path := data / "lihua_world.docs.jsonl").exists():
        texts = {row["id"]: plain(row["text"]) for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    if (path := data / "graphrag_bench_medical.corpus.txt").exists():
        texts |= {f"medical-{number}": plain(text) for number, text in enumerate(path.read_text(encoding="utf-8").splitlines())}
    return texts


def items(data: Path) -> list[Item]:
    """Return the labelled sentences whose lines are known."""
    texts, sets = texts_of(data), dict[str, tuple[Line, ...]]()
    for row in rows("support_lines.jsonl"):
        if all("text" in line or line["document"] in texts for line in row["lines"]):
            openings = [line.get("opening", "") for line in row["lines"]]
            parts = [line.get("text") or texts[line["document"]][line["start"] : line["end"]] for line in row["lines"]]
            sets[row["id"]] = tuple(
                Line(n=n, kind="evidence", text=opening + text, ref=f"e{n}", source_id="d", opening=opening)
                for n, (opening, text) in enumerate(zip(openings, parts, strict=True), 1)
            )
    return [
        Item(
            _sentence(row["sentence"], texts),
            row["supported"],
            sets[row["lines"]],
            {kind: row.get(f"{kind}s", []) for kind in KINDS},
        )
        for row in rows("support_labels.jsonl")
        if row["lines"] in sets
    ]


def _sentence(written: str | dict[str, Any], texts: dict[str, str]) -> str:
    """Return a sentence of a reply, which may be a copy of a place in a document."""
    return written if isinstance(written, str) else texts[written["document"]][written["start"] : written["end"]]


def percent(count: int, total: int) -> str:
    low, high = wilson(count, total)
    return f"{100 * count / total:.0f} ({100 * low:.0f} to {100 * high:.0f})" if total else "-"


def accuracy(labelled: Sequence[Item], found: Found) -> str:
    """Return the cells of a check: sentences, unsupported ones, precision, recall."""
    unsupported = [item for item in labelled if not item.is_supported]
    marked = [item for item in labelled if found(item, item.sentence)]
    right = sum(not item.is_supported for item in marked)
    return f"{len(labelled)} | {len(unsupported)} | {percent(right, len(marked))} | {percent(right, len(unsupported))}"


def swaps(item: Item, names: Sequence[str], *, of_lines: bool) -> Iterator[tuple[str, str]]:
    """Yield a kind and the sentence with another value of it: one that the lines have (`of_lines`), or one that they lack."""
    has = partial(_has, item.text.lower())
    for kind, values in item.marked.items():
        for value in values:
            other = next((one for one in _others(kind, value, names, item.text) if has(one) == of_lines), None)
            if other and not (of_lines and kind == "date"):
                yield kind, item.sentence.replace(value, other)


def _has(text: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _others(kind: str, value: str, names: Sequence[str], text: str) -> Iterator[str]:
    if kind == "name":
        yield from (name for name in names if name not in value and value not in name)
        return
    if month := next((name for name in MONTHS if name in value), None):
        yield from (value.replace(month, other) for other in MONTHS[MONTHS.index(month) + 5 :] + MONTHS[:3] if other != month)
    elif kind == "date" or not value.isalpha():
        [*_, last] = re.finditer(r"\d+", value)
        numbers = [
            *re.findall(r"(?<![\w.,])\d+(?![\w.,])", text),
            *(str(int(last.group()) + step) for step in (3, 7, 12, 19, 31)),
        ]
        yield from (value[: last.start()] + one + value[last.end() :] for one in numbers if one != last.group())
    else:
        yield from (number for number in NUMBERS if number != value.lower())


def print_accuracy(labelled: Sequence[Item], checks: dict[str, Found]) -> None:
    print("| check | half | sentences | unsupported | precision | recall |\n|---|---|---|---|---|---|")
    for name, found in checks.items():
        for half in ("tuning", "test"):
            print(f"| {name} | {half} | {accuracy([item for item in labelled if item.half == half], found)} |", flush=True)


def print_swaps(labelled: Sequence[Item], found: Found) -> None:
    print("\n| swapped | to | sentences | found |\n|---|---|---|---|")
    names = sorted({name for item in labelled for name in item.marked["name"]}, key=half_of)
    supported = [item for item in labelled if item.is_supported]
    for of_lines in (False, True):
        pairs = [(kind, item, text) for item in supported for kind, text in swaps(item, names, of_lines=of_lines)]
        for kind in (*KINDS, ""):
            cases = [found(item, text) for one, item, text in pairs if kind in (one, "")]
            value = "a value of another line" if of_lines else "a value of no line"
            print(f"| {kind or 'all'} | {value} | {len(cases)} | {percent(sum(cases), len(cases))} |", flush=True)


def is_marked(checker: AnswerChecker, item: Item, text: str) -> bool:
    _, facts = checker.checked(StudentReply(text, None, 1.0), item.lines)
    return any(one["supported"] is False for one in facts["sentences"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("nowhere"), help="Where LiHua-World and the medical corpus are.")
    parser.add_argument("--embedders", nargs="+", default=["minilm", "lexical"])
    parser.add_argument("--check", help="A model of this machine, as for `ask --check`.")
    parser.add_argument("--errors", action="store_true", help="Print the wrong verdicts of the tuning half.")
    args = parser.parse_args()
    labelled = items(args.data)
    checks: dict[str, Found] = {}
    for name in args.embedders:
        embedder = make_embedder(load_settings({"embedder": name}), unchecked)
        checks[f"`{name}`"] = cache(partial(is_marked, AnswerChecker(embedder)))
        if args.check:
            model = make_student(load_settings({"student": args.check}), LexicalEmbedder())
            checks[f"`{name}` and {model.name}"] = partial(is_marked, AnswerChecker(embedder, model))
    print_accuracy(labelled, checks)
    first = next(iter(checks.values()))
    print_swaps(labelled, first)
    for item in labelled if args.errors else ():
        if item.half == "tuning" and first(item, item.sentence) == item.is_supported:
            print(f"{'supported' if item.is_supported else 'unsupported'}: {item.sentence}")


if __name__ == "__main__":
    main()
