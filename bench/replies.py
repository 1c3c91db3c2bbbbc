"""How many messy replies of real models yield triples or an answer that can be used: by json.loads, by json-repair, by ours.

    python bench/replies.py --data FOLDER
    python bench/replies.py --speed

The first reads malformed_llm_json.jsonl (and, where they lie beside it, text2kgbench.jsonl, openie_gpt35_musique_passages.jsonl
and kg_rag_mcq.jsonl for what was asked). What each row wanted is known from its `kind`; the same is demanded of all readers:

- triples: at least one triple that the pipeline takes (`steps.extract.unusable`): a subject, a predicate and an object in
  words, of bounded length, the ends different. A reader's document counts in any form that ours takes, too (lists of three,
  head/relation/tail, a list of relations beside one of nodes): all three differ only in how they read the text.
- answer: an object whose `answer` is a text. Ours also takes, where the options are known, the one option that the words
  name (`students.parsing.parse_label`), as an answer from a student is read.
- document: excerpts of reports that break off; nothing usable can be in them.

"Polluted" are replies of which a reader gives the fields wanted, but all of them hold what is evidently not their own: a line
break, a brace, a record separator, a quoted key, or more than 200 characters. They do not count as usable. "Grounded" are the
rows with a triple both of whose ends are in the text that the triples were asked of (`replies.fit`), of the rows for which
that text is known: only such a triple gets into a graph. "Some JSON" is the crude count: any object or list that is not empty.

The second prints the microseconds that a valid reply of 3 kB takes to be read and held against its request.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import json_repair

from drag_graph.distill.triple_extraction import unusable
from drag_graph.model import Query
from drag_graph.models.reasoning import without_reasoning
from drag_graph.models.students.choice_parsing import parse_label
from drag_graph.models.teachers.json_repair import documents, repaired
from drag_graph.models.teachers.reply_reading import Unreadable, fit, read
from drag_graph.ports.model_roles import TeacherRequest
from drag_graph.ports.teacher_replies import TriplesReply

_FOREIGN = re.compile(r'[\n{}]|<\||"\s*:')
_LONGEST = 200


@dataclass
class Row:
    """One recorded output with what was asked for; `texts` and `options` are empty where they are not known."""

    raw: str
    shape: str
    wanted: str
    texts: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass
class Found:
    """What a reader made of a row."""

    some_json: bool = False
    usable: bool = False
    polluted: bool = False
    grounded: bool = False


def _clean(text: str) -> bool:
    return len(text) <= _LONGEST and not _FOREIGN.search(text)


def _triples(text: str, row: Row, found: Found) -> None:
    try:
        reply = read(text, TriplesReply)
    except Unreadable:
        return
    taken = [item for item in reply.triples if not unusable(item.subject, item.predicate, item.object)]
    kept = [item for item in taken if all(map(_clean, (item.subject, item.predicate, item.object)))]
    found.usable, found.polluted = bool(kept), bool(taken) and not kept
    request = TeacherRequest(Query(id="q", text="?"), "triples", TriplesReply, (), "1", texts=row.texts)
    try:
        fitted = fit(reply.model_copy(update={"triples": tuple(kept)}), request)
        found.grounded = bool(row.texts) and bool(fitted.triples)
    except Unreadable:
        pass


def _answer(candidates: Iterable[Any], found: Found) -> None:
    for document in candidates:
        answer = document.get("answer") if isinstance(document, dict) else None
        if isinstance(answer, str) and answer.strip():
            found.usable, found.polluted = _clean(answer), not _clean(answer)
            return


def plain(parse: Callable[[str], Any]) -> Callable[[Row], Found]:
    """Return a reader by `parse`, which gets the text as it is."""

    def reader(row: Row) -> Found:
        try:
            document = parse(row.raw)
        except ValueError:
            return Found()
        found = Found(some_json=isinstance(document, dict | list) and bool(document))
        if found.some_json and row.wanted == "triples":
            _triples(json.dumps(document), row, found)
        elif found.some_json and row.wanted == "answer":
            _answer([document], found)
        return found

    return reader


def ours(row: Row) -> Found:
    """Read as the teacher and the students do."""
    whole, broken = documents(without_reasoning(row.raw))
    found = Found(some_json=any(whole) or bool(repaired(broken)))
    if row.wanted == "triples":
        _triples(row.raw, row, found)
    elif row.wanted == "answer":
        _answer([*whole, *repaired(broken)], found)
        if not found.usable and row.options and parse_label(row.raw, row.options):
            found.usable, found.polluted = True, False
    return found


READERS = {"json.loads": plain(json.loads), "json_repair": plain(json_repair.loads), "drag_graph": ours}


def _lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []


def _rows(folder: Path, *, fixtures: bool) -> list[Row]:
    sources: dict[str, tuple[str, ...]] = {}
    for entry in _lines(folder / "text2kgbench.jsonl"):
        for output in entry["llm_outputs"].values():
            sources[output["raw"].strip()] = tuple(entry["evidence"])
    for entry in _lines(folder / "openie_gpt35_musique_passages.jsonl"):
        sources[json.dumps(entry["triples_llm"])] = tuple(entry["evidence"])
    options = {entry["id"]: tuple(entry["options"]) for entry in _lines(folder / "kg_rag_mcq.jsonl")}
    rows = []
    for entry in _lines(folder / "malformed_llm_json.jsonl"):
        if entry["real_llm_output"] == fixtures:
            continue
        raw, kind = entry["raw"], entry["kind"]
        wanted = (
            "triples" if re.search("triple|graph extraction", kind) or "<|>" in raw or '"relationships"' in raw else "document"
        )
        wanted = "answer" if kind.startswith("mcq") else wanted
        texts = sources.get(raw.strip(), ())
        if kind.startswith("valid JSON"):
            texts = sources.get(json.dumps(json.loads(raw).get("triples")), ())
        number = re.search(r"(\d+)$", entry["id"])
        known = options.get(f"kgrag-{number[1]}", ()) if number and wanted == "answer" else ()
        gold = (entry.get("expected") or {}).get("answer") if wanted == "answer" else None
        rows.append(Row(raw, entry["shape"], wanted, texts, known if gold in known else ()))
    return rows


def _table(rows: list[Row]) -> None:
    columns = {name: [reader(row) for row in rows] for name, reader in READERS.items()}
    head = "".join(f"{name:>14}" for name in READERS)
    print(f"{'usable, by shape':<32}{'rows':>6}{head}")
    groups: list[tuple[str, Callable[[Row], bool]]] = [
        *((shape, lambda row, shape=shape: row.shape == shape) for shape in sorted({row.shape for row in rows})),
        *((f"wanted: {name}", lambda row, name=name: row.wanted == name) for name in ("triples", "answer", "document")),
        ("all", lambda _: True),
    ]
    for name, belongs in groups:
        places = [place for place, row in enumerate(rows) if belongs(row)]
        counts = "".join(f"{sum(found[place].usable for place in places):>14}" for found in columns.values())
        print(f"{name:<32}{len(places):>6}{counts}")
    shares = "".join(f"{sum(one.usable for one in found) / len(rows):>13.1%} " for found in columns.values())
    print(f"{'share of all':<38}{shares}")
    grounds = sum(bool(row.texts) for row in rows)
    for name, count, key in (
        ("polluted", len(rows), "polluted"),
        ("grounded", grounds, "grounded"),
        ("some JSON", len(rows), "some_json"),
    ):
        print(f"{name:<32}{count:>6}" + "".join(f"{sum(getattr(one, key) for one in found):>14}" for found in columns.values()))
    _rates(rows)
    print(f"options are known for {sum(bool(row.options) for row in rows)} of the rows that wanted an answer")


def _rates(rows: list[Row]) -> None:
    seconds: Counter[str] = Counter()
    for name, reader in READERS.items():
        began = time.perf_counter()
        for row in rows:
            reader(row)
        seconds[name] = time.perf_counter() - began
    print(f"{'microseconds a row':<38}" + "".join(f"{seconds[name] / len(rows) * 1e6:>14.0f}" for name in READERS))


def _speed() -> None:
    texts = tuple(f"Fact number {place} about the plant {place}." for place in range(13))
    triples = [
        {
            "subject": f"the plant number {place}", "predicate": "turns the light of the sun into", "object": f"sugar {place}",
            "confidence": 0.9, "evidence": [place % 13], "subject_type": "concept", "object_type": "concept",
        }
        for place in range(18)
    ]  # fmt: skip
    text = json.dumps({"triples": triples})
    request = TeacherRequest(Query(id="q", text="?"), "triples", TriplesReply, (), "1", texts=texts)
    steps: dict[str, Callable[[], Any]] = {
        "json.loads": lambda: json.loads(text),
        "read and fit": lambda: fit(read(text, TriplesReply), request),
    }
    for name, step in steps.items():
        times = []
        for _ in range(7):
            began = time.perf_counter()
            for _ in range(200):
                step()
            times.append((time.perf_counter() - began) / 200 * 1e6)
        print(f"{name:<16}{min(times):>8.0f} us a reply of {len(text)} characters (best of 7 times 200)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with malformed_llm_json.jsonl")
    parser.add_argument("--fixtures", action="store_true", help="the rows that are no recorded model output, instead")
    parser.add_argument("--speed", action="store_true", help="the time that a valid reply takes, instead")
    options = parser.parse_args()
    if options.speed:
        _speed()
        return
    file = (options.data or Path("../shared/data")) / "malformed_llm_json.jsonl"
    if not file.is_file():
        parser.error(f"{file} is missing; give its folder by --data")
    _table(_rows(file.parent, fixtures=options.fixtures))


if __name__ == "__main__":
    main()
