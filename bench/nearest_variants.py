"""How the `nearest` student should score an option: variants side by side, and the calibration of its confidence.

    python bench/nearest_variants.py --data FOLDER [--embedder minilm|lexical]

FOLDER holds qasc.jsonl (its recorded GPT-3 statements, `evidence_llm`, made from the question alone, and its human
facts), entailmentbank_arc.jsonl (human facts) and commonsense_qa.jsonl (`evidence_llm`). The evidence is the context; no store
and no pipeline. The rows of the first two are halved by a hash of their id: one half is for choosing (`tune`), the
other for reporting. commonsense_qa took no part in the choice.
"""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from drag_graph.graph.edge_text import arrow, plain_words
from drag_graph.model import Line
from drag_graph.models.model_choice import make_embedder
from drag_graph.models.students.nearest_student import TEMPERATURES, NearestStudent, support
from drag_graph.models.students.option_scoring import softmax
from drag_graph.ports.model_roles import Embedder, Prompt
from drag_graph.settings import Settings

SETS = (("qasc", "evidence_llm"), ("qasc", "evidence"), ("entailmentbank_arc", "evidence"), ("commonsense_qa", "evidence_llm"))
VERBS = frozenset(
    """
    is are was were be can may could will would has have had do does did causes cause makes make contains contain uses use
    lives live eats eat helps help provides provide produces produce forms form becomes become includes include needs need
    requires require allows allow gives give takes take occurs occur comes come goes go grows grow moves move changes change
    varies vary affects affect protects protect carries carry keeps keep leads lead increases increase decreases decrease
    reduces reduce converts convert releases release absorbs absorb works work begins begin consists consist creates create
    kills kill prevents prevent stores store transfers transfer turns turn measures measure means serves serve stops stop
    """.split()  # noqa: SIM905
)
TAIL = VERBS | {
    "a",
    "an",
    "the",
    "to",
    "by",
    "in",
    "of",
    "from",
    "for",
    "with",
    "on",
    "not",
    "also",
    "at",
    "used",
    "made",
    "found",
}


@dataclass(frozen=True)
class Row:
    """One question. `tune` says which half it is in."""

    id: str
    question: str
    options: tuple[str, ...]
    gold: int
    lines: tuple[str, ...]

    @property
    def tune(self) -> bool:
        return hashlib.sha256(self.id.encode()).digest()[-1] % 2 == 0


@dataclass(frozen=True)
class Similarities:
    """Cosines to the bare options (b) and to question + option (q), a column an option."""

    question_b: np.ndarray
    question_q: np.ndarray
    lines_b: np.ndarray
    lines_q: np.ndarray
    joined_b: np.ndarray
    joined_q: np.ndarray

    @property
    def lines(self) -> np.ndarray:
        return self.lines_b + self.lines_q

    @property
    def joined(self) -> np.ndarray:
        return self.joined_b + self.joined_q

    @property
    def question(self) -> np.ndarray:
        return self.question_b + self.question_q


def best(similarities: np.ndarray, count: int = 1) -> np.ndarray:
    return -np.sort(-similarities, axis=0)[:count].mean(axis=0)


def margin(similarities: np.ndarray) -> np.ndarray:
    return similarities - similarities.mean(axis=1, keepdims=True)


VARIANTS: Mapping[str, Callable[[Similarities], np.ndarray]] = {
    "no context, bare option": lambda s: s.question_b[0],
    "no context, question+option": lambda s: s.question_q[0],
    "joined": lambda s: s.joined[0],
    "joined - question": lambda s: s.joined[0] - s.question[0],
    "mean of lines": lambda s: s.lines.mean(axis=0),
    "best line, question+option": lambda s: best(s.lines_q),
    "best line, bare option": lambda s: best(s.lines_b),
    "best line": lambda s: best(s.lines),
    "best two lines": lambda s: best(s.lines, 2),
    "best line - question/2": lambda s: best(s.lines) - s.question[0] / 2,
    "best margin": lambda s: best(margin(s.lines)),
    "best margin - question/2": lambda s: best(margin(s.lines)) - s.question[0] / 2,
    "best line + joined": lambda s: best(s.lines) + s.joined[0],
    "best line + joined - question": lambda s: best(s.lines) + s.joined[0] - s.question[0],
    "best two + joined - question": lambda s: best(s.lines, 2) + s.joined[0] - s.question[0],
    "best margin + joined - question (nearest)": lambda s: support(s.question, s.lines, s.joined),
}
CHOSEN = "best margin + joined - question (nearest)"


def read(folder: Path, name: str, field: str) -> list[Row]:
    path = folder / f"{name}.jsonl"
    if not path.is_file():
        sys.exit(f"{path} is missing; --data wants the folder that holds it")
    documents = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [Row(d["id"], d["question"], tuple(d["options"]), d["answer"], tuple(d[field])) for d in documents]
    return [row for row in rows if row.lines]


def crude_triple(sentence: str) -> tuple[str, str, str] | None:
    """Cut a sentence at its first verb: nothing that anybody should use, only a graph that is surely bad enough."""
    words = sentence.rstrip(".").split()
    for start, word in enumerate(words[:-1]):
        if start and word.lower() in VERBS:
            end = start + 1
            while end < len(words) - 1 and words[end].lower() in TAIL:
                end += 1
            return " ".join(words[:start]), " ".join(words[start:end]), " ".join(words[end:])
    return None


def as_arrows(row: Row) -> tuple[str, ...]:
    triples = dict.fromkeys(triple for line in row.lines if (triple := crude_triple(line)))
    return tuple(arrow(*triple) for triple in triples)


class Memory:
    """Vectors of all texts, embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, np.ndarray] = {}

    def learn(self, texts: set[str]) -> None:
        new = sorted((text for text in texts if text not in self._known), key=lambda text: (len(text), text))
        for start in range(0, len(new), 512):
            batch = new[start : start + 512]
            self._known.update(zip(batch, self._embedder.embed(batch).astype(np.float64), strict=True))

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self._known[text] for text in texts])


def similarities(memory: Memory, rows: Sequence[Row], contexts: Mapping[str, tuple[str, ...]]) -> list[Similarities]:
    def paired(row: Row) -> list[str]:
        return [f"{row.question} {option}" for option in row.options]

    texts: set[str] = set()
    for row in rows:
        context = contexts[row.id]
        texts.update([row.question, *row.options, *paired(row), *context, " ".join(context)])
    memory.learn(texts)
    found = []
    for row in rows:
        context = contexts[row.id] or (row.question,)
        asked, bare, pair = memory([row.question]), memory(row.options), memory(paired(row))
        lines, joined = memory(context), memory([" ".join(context)])
        found.append(
            Similarities(asked @ bare.T, asked @ pair.T, lines @ bare.T, lines @ pair.T, joined @ bare.T, joined @ pair.T)
        )
    return found


def accuracy(rows: Sequence[Row], table: Sequence[Similarities], variant: Callable[[Similarities], np.ndarray]) -> float:
    return 100 * float(np.mean([int(np.argmax(variant(s))) == row.gold for row, s in zip(rows, table, strict=True)]))


def calibrate(rows: Sequence[Row], scores: Sequence[np.ndarray]) -> float:
    """Return the temperature with the least negative log-likelihood of the right options."""

    def loss(temperature: float) -> float:
        return -float(np.mean([np.log(softmax(s, temperature)[row.gold]) for row, s in zip(rows, scores, strict=True)]))

    return min((round(0.01 * step, 2) for step in range(1, 201)), key=loss)


def expected_calibration_error(rows: Sequence[Row], scores: Sequence[np.ndarray], temperature: float, bins: int = 10) -> float:
    probabilities = [softmax(s, temperature) for s in scores]
    confidence = np.array([p.max() for p in probabilities])
    correct = np.array([int(p.argmax()) == row.gold for p, row in zip(probabilities, rows, strict=True)])
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    return float(sum(abs(correct[place == b].mean() - confidence[place == b].mean()) * (place == b).mean() for b in set(place)))


def prompt_of(row: Row, lines: Sequence[str]) -> Prompt:
    shown = tuple(Line(n=n, kind="evidence", text=text, ref=str(n), source_id="q") for n, text in enumerate(lines, start=1))
    return Prompt(row.question, row.options, shown, "", 0)


def compare(memory: Memory, sets: Mapping[str, list[Row]]) -> dict[str, list[Similarities]]:
    tables = {name: similarities(memory, rows, {row.id: row.lines for row in rows}) for name, rows in sets.items()}
    print(f"{'scoring of the evidence':45}" + "".join(f"{name:>26} ({len(rows)})" for name, rows in sets.items()))
    for label, variant in VARIANTS.items():
        print(f"{label:45}" + "".join(f"{accuracy(rows, tables[name], variant):32.1f}" for name, rows in sets.items()))
    return tables


def compare_graph(memory: Memory, embedder: Embedder, sets: Mapping[str, list[Row]]) -> None:
    def plain(lines: Sequence[str]) -> tuple[str, ...]:
        return tuple(plain_words(line) for line in lines)

    # What is shown (it costs tokens), and what the student embeds of it.
    forms: Mapping[str, tuple[Callable[[Row], tuple[str, ...]], Callable[[Sequence[str]], tuple[str, ...]]]] = {
        "evidence": (lambda row: row.lines, plain),
        "crude triples, sentences": (lambda row: plain(as_arrows(row)), plain),
        "crude triples, arrows, taken off to embed": (as_arrows, plain),
        "crude triples, arrows, left on to embed": (as_arrows, tuple),
        "both": (lambda row: (*row.lines, *as_arrows(row)), plain),
    }
    print("\nform of the lines, scored as `nearest` does: accuracy / mean tokens of the lines")
    for label, (shown, embedded) in forms.items():
        cells = []
        for rows in sets.values():
            table = similarities(memory, rows, {row.id: embedded(shown(row)) for row in rows})
            tokens = np.mean([embedder.count_tokens("\n".join(shown(row))) for row in rows])
            cells.append(f"{f'{accuracy(rows, table, VARIANTS[CHOSEN]):.1f} / {tokens:.0f}':>32}")
        print(f"{label:45}" + "".join(cells))


def report_calibration(sets: Mapping[str, list[Row]], tables: Mapping[str, list[Similarities]]) -> None:
    print("\ncalibration: temperature by likelihood on the tuning halves, expected calibration error (10 bins) elsewhere")
    tune = [name for name in sets if name.endswith("tune") and "human" not in name]
    for label, key in (("with lines", CHOSEN), ("without lines", "no context, bare option")):
        rows = [row for name in tune for row in sets[name]]
        fitted = calibrate(rows, [VARIANTS[key](s) for name in tune for s in tables[name]])
        print(f"  {label}: temperature {fitted}")
        for name in sets:
            if name not in tune:
                error = expected_calibration_error(sets[name], [VARIANTS[key](s) for s in tables[name]], fitted)
                print(f"    {name:32} ECE {error:.3f}")


def report_speed(embedder: Embedder, rows: Sequence[Row]) -> None:
    student = NearestStudent(embedder)
    student.answer(prompt_of(rows[0], ()))
    started, busy = time.perf_counter(), time.process_time()
    right = sum(student.answer(prompt_of(row, row.lines)).label == "ABCDEFGHIJ"[row.gold] for row in rows)
    took, busy = time.perf_counter() - started, time.process_time() - busy
    speed = f"{1000 * took / len(rows):.0f} ms a question ({1000 * busy / len(rows):.0f} ms of processor time)"
    print(f"\nNearestStudent itself: {100 * right / len(rows):.1f} % of {len(rows)} rows, {speed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the JSONL files")
    parser.add_argument("--embedder", default="minilm", help="minilm, lexical, or a folder")
    arguments = parser.parse_args()
    embedder = make_embedder(Settings(embedder=arguments.embedder))
    sets: dict[str, list[Row]] = {}
    for name, field in SETS:
        rows = read(arguments.data, name, field)
        short = {"entailmentbank_arc": "ARC human facts", "commonsense_qa": "CSQA GPT-3"}.get(
            name, f"QASC {'GPT-3' if field == 'evidence_llm' else 'human facts'}"
        )
        if name == "commonsense_qa":
            sets[short] = rows
        else:
            sets[f"{short}, tune"] = [row for row in rows if row.tune]
            sets[f"{short}, report"] = [row for row in rows if not row.tune]
        if field == "evidence_llm" and name == "qasc":
            sets["QASC GPT-3, first 200"] = rows[:200]
    memory = Memory(embedder)
    tables = compare(memory, sets)
    compare_graph(memory, embedder, {name: rows for name, rows in sets.items() if "tune" not in name})
    report_calibration(sets, tables)
    print(f"in use for this embedder: {TEMPERATURES.get(arguments.embedder, TEMPERATURES['minilm'])}")
    report_speed(embedder, sets["QASC GPT-3, report"][:100])


if __name__ == "__main__":
    main()
