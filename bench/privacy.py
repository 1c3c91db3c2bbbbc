"""What the rewriting of questions finds, what it leaves alone, and what it costs.

    python bench/privacy.py --data FOLDER [--set NAME ...] [--level standard|strict] [--half dev|held-out|all] [--limit N]
    python bench/privacy.py --data FOLDER --injected FILE    (what bench/inject.py writes)
    python bench/privacy.py --data FOLDER --model FILE.gguf --minutes 15    (the paper's way alone, on pii_mmlu_constructed)

FOLDER holds the sets with marked spans (pii_mmlu_constructed, pii_presidio_synth, pii_nannigalaxy, pii_wnut17_ner) and clean
questions with options (mmlu, arc_challenge, medmcqa, medqa_us), and texts from which an attribute follows
(pii_llmprivacy_implicit). A span counts as covered where findings cover all its letters
and digits and no replacement repeats it (but for a number: 59 becomes "50 to 59"). Precision is the share of findings that
touch a marked span. Beside it stands Presidio with the same model of spaCy, out of the box, dates and nationalities not
counted (`--no-baseline` leaves it out). Intervals are Wilson's, 95 %.

`--model` asks a model that follows instructions to write each question anew without private details, and does nothing else.
There a span counts as gone where its words are not in the rewriting.

A row is of the development half where the last bit of the SHA-256 of its id is 0: rules were chosen on that half alone.
"""

import argparse
import hashlib
import importlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from drag_graph.evaluation.intervals import wilson
from drag_graph.models.spacy_model import english_model
from drag_graph.ports.private_details import Rewriter
from drag_graph.privacy.local_rewriter import local_rewriter

MARKED = ("pii_mmlu_constructed", "pii_presidio_synth", "pii_nannigalaxy", "pii_wnut17_ner")
CLEAN = ("mmlu", "arc_challenge", "medmcqa", "medqa_us")
IMPLICIT = "pii_llmprivacy_implicit"
IDENTIFYING = frozenset({"PERSON", "EMAIL", "PHONE", "STREET", "USERNAME", "DOB"})
GROUPS: dict[str, list[tuple[str, Callable[[str], bool]]]] = {
    "pii_mmlu_constructed": [("what identifies", IDENTIFYING.__contains__), ("all but jobs", lambda kind: kind != "JOB")],
    "pii_presidio_synth": [("all but titles and nationalities", lambda kind: kind not in {"TITLE", "NRP"})],
}
Cut = tuple[int, int, str]
"""Start, end and replacement of a span of the question."""
Finder = Callable[[str, list[str]], tuple[list[Cut], bool]]
"""Returns the spans of the question, and whether the question or an option is changed."""


def is_held_out(row: dict[str, Any]) -> bool:
    return hashlib.sha256(row["id"].encode()).digest()[-1] % 2 == 1


def read(path: Path, half: str, limit: int | None) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    chosen = [row for row in rows if half == "all" or is_held_out(row) == (half == "held-out")]
    return chosen[:limit]


def ours(rewriter: Rewriter) -> Finder:
    def find(question: str, options: list[str]) -> tuple[list[Cut], bool]:
        findings = rewriter.rewrite(question, options).findings
        return [(item.start, item.end, item.replacement) for item in findings if item.field == "question"], bool(findings)

    return find


def presidio_alone() -> Finder:
    """Return Presidio out of the box, without its network access."""
    import tldextract
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    tldextract.extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    name = english_model()
    assert name, "no English model of spaCy is installed"
    engine = SpacyNlpEngine(models=[{"lang_code": "en", "model_name": name}])
    engine.nlp = {"en": importlib.import_module(name).load()}
    analyzer = AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])

    def find(question: str, options: list[str]) -> tuple[list[Cut], bool]:
        some = [_spans(analyzer.analyze(text, "en")) for text in (question, *options)]
        return some[0], any(some)

    return find


def _spans(results: Iterable[Any]) -> list[Cut]:
    return [(item.start, item.end, "") for item in results if item.entity_type not in {"DATE_TIME", "NRP"}]


def is_covered(span: dict[str, Any], text: str, cuts: list[Cut]) -> bool:
    places = [at for at in range(span["start"], span["end"]) if text[at].isalnum()]
    cutting = [cut for cut in cuts if cut[0] < span["end"] and span["start"] < cut[1]]
    original = text[span["start"] : span["end"]]
    is_repeated = not original.isdigit() and any(original in cut[2] for cut in cutting)
    return not is_repeated and all(any(cut[0] <= at < cut[1] for cut in cutting) for at in places)


def share(part: int, whole: int) -> str:
    low, high = wilson(part, whole)
    return f"{100 * part / max(whole, 1):5.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def recall(name: str, rows: list[dict[str, Any]], find: Finder) -> None:
    total: Counter[str] = Counter()
    covered: Counter[str] = Counter()
    right = findings = 0
    for row in rows:
        cuts, _ = find(row["question"], list(map(str, row.get("options") or [])))
        findings += len(cuts)
        right += sum(any(cut[0] < span["end"] and span["start"] < cut[1] for span in row["pii_spans"]) for cut in cuts)
        for span in row["pii_spans"]:
            total[span["type"]] += 1
            covered[span["type"]] += is_covered(span, row["question"], cuts)
    by_kind(name, total, covered)
    print(f"| {name} | precision of findings | {findings} | {share(right, findings)} |")


def by_kind(name: str, total: Counter[str], part_of: Counter[str]) -> None:
    groups = [("all", lambda _: True), *GROUPS.get(name, []), *((kind, kind.__eq__) for kind, _ in total.most_common())]
    for group, belongs in groups:
        part, whole = (sum(count for kind, count in some.items() if belongs(kind)) for some in (part_of, total))
        print(f"| {name} | {group} | {whole} | {share(part, whole)} |")


def unchanged(name: str, rows: list[dict[str, Any]], find: Finder) -> None:
    changed = sum(find(row["question"], list(map(str, row["options"])))[1] for row in rows)
    print(f"| {name} | clean questions changed | {len(rows)} | {share(changed, len(rows))} |")


def implicit(name: str, rows: list[dict[str, Any]], find: Finder) -> None:
    """Print how many texts are changed, and how many are rid of the attribute that they say in words (of a place the city)."""
    changed = said = gone = 0
    for row in rows:
        cuts, is_changed = find(row["question"], [])
        words = re.escape(str(row["personality"].get(row["feature"])).partition(",")[0])
        places = [match.span() for match in re.finditer(rf"(?i)(?<!\w){words}(?!\w)", row["question"])]
        changed += is_changed
        said += bool(places)
        gone += bool(places) and all(is_covered({"start": low, "end": high}, row["question"], cuts) for low, high in places)
    print(f"| {name} | texts changed | {len(rows)} | {share(changed, len(rows))} |")
    print(f"| {name} | attributes that are said in words, gone | {said} | {share(gone, said)} |")


def costs(rewriter: Rewriter, rows: list[dict[str, Any]]) -> None:
    """Print processor time: of a question, and of a KB of checked text."""
    began = time.process_time()
    for row in rows:
        rewriter.rewrite(row["question"], list(map(str, row["options"])))
    a_question = (time.process_time() - began) / max(len(rows), 1)
    text = json.dumps(rows)
    began = time.process_time()
    rewriter.structured(text)
    a_kb = (time.process_time() - began) / max(len(text) / 1024, 1)
    print(f"| processor time | ms a question | {len(rows)} | {1000 * a_question:.1f} |")
    print(f"| processor time | ms a KB of checked text | {len(text) // 1024} | {1000 * a_kb:.2f} |")


PAPER = (
    "Rewrite the question so that it has no personal information: no names, places of living, employers, jobs, ages, dates of "
    "birth, addresses, telephone numbers, e-mail addresses, user names or other identifiers of a person. Keep everything else, "
    "so that the question has the same answer. Reply with the rewritten question alone."
)


def by_model_alone(rows: list[dict[str, Any]], model: str, minutes: float) -> None:
    """Print how many of the marked spans are gone from what the model makes of the questions."""
    from drag_graph.models.chat_client import complete
    from drag_graph.models.gguf_runtime import chat_server, recorded_name

    name, server = recorded_name(model), chat_server(model, 600.0)
    total: Counter[str] = Counter()
    gone: Counter[str] = Counter()
    kept = words = asked = 0
    began = time.monotonic()
    for row in rows:
        if time.monotonic() - began > 60 * minutes:
            break
        messages = [{"role": "system", "content": PAPER}, {"role": "user", "content": row["question"]}]
        text = complete(server, messages, temperature=0, max_tokens=400).text.casefold()
        asked += 1
        for span in row["pii_spans"]:
            total[span["type"]] += 1
            gone[span["type"]] += row["question"][span["start"] : span["end"]].casefold() not in text
        clean = set(re.findall(r"\w+", without(row).casefold()))
        words += len(clean)
        kept += len(clean & set(re.findall(r"\w+", text)))
    print(f"\n{name} alone, asked to rewrite; questions: {asked}\n\n| set | what | n | % |\n|---|---|---|---|")
    by_kind("pii_mmlu_constructed", total, gone)
    print(f"| pii_mmlu_constructed | other words of the question that are kept | {words} | {share(kept, words)} |")
    print(f"| | seconds a question | {asked} | {(time.monotonic() - began) / max(asked, 1):.1f} |")


def without(row: dict[str, Any]) -> str:
    """Return a question without its marked spans."""
    text = row["question"]
    for span in sorted(row["pii_spans"], key=lambda span: -span["start"]):
        text = text[: span["start"]] + text[span["end"] :]
    return str(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", action="append", choices=[*MARKED, *CLEAN, IMPLICIT])
    parser.add_argument("--injected", type=Path)
    parser.add_argument("--level", choices=["standard", "strict"], default="standard")
    parser.add_argument("--half", choices=["dev", "held-out", "all"], default="all")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--no-baseline", action="store_true")
    parser.add_argument("--model")
    parser.add_argument("--minutes", type=float, default=15.0)
    given = parser.parse_args()
    if given.model:
        by_model_alone(read(given.data / "pii_mmlu_constructed.jsonl", given.half, given.limit), given.model, given.minutes)
        return
    rewriter = local_rewriter(given.level)
    finders = {rewriter.version: ours(rewriter)}
    if not given.no_baseline:
        finders["Presidio and spaCy alone"] = presidio_alone()
    for title, find in finders.items():
        print(f"\n{title}; half: {given.half}\n\n| set | what | n | % |\n|---|---|---|---|")
        for name in [] if given.injected else given.set or [*MARKED, *CLEAN, IMPLICIT]:
            rows = read(given.data / f"{name}.jsonl", given.half, given.limit)
            (recall if name in MARKED else implicit if name == IMPLICIT else unchanged)(name, rows, find)
        if given.injected:
            recall("injected", read(given.injected, "all", given.limit), find)
    rows = read(given.data / "mmlu.jsonl", "all", given.limit)
    costs(rewriter, rows)


if __name__ == "__main__":
    main()
