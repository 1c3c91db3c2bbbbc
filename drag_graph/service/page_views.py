"""What pages show of answers, from the documents of `ask` and `audit`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from drag_graph.ask.answer_notes import notes_on, site_notes
from drag_graph.ask.answers import NOTHING_RELEVANT
from drag_graph.model import LABELS, Chunk
from drag_graph.report.audit_corrections import claim_notes, correction_note
from drag_graph.report.audit_document import describe_elsewhere, evidence_of, line_marks

CITATION = re.compile(r"\[(\d{1,4})\]")
SECOND = 1_000
LONGEST_LINK = 1_000
"""Characters of a question in an address."""
View = dict[str, Any]
Span = tuple[int, int]


def answer_view(document: Mapping[str, Any], question: str) -> View:
    """Return what a page shows of an answer, given the document of `ask` or `audit`."""
    id_ = document["answer_id"]
    reason = document.get("reason", "")
    notes = [note for note in (*notes_on(document), *site_notes(document.get("site", {}))) if "Not supported" not in note]
    if correction := correction_note(document.get("correction")):
        notes.append(f"The answer is {correction}")
    return {
        "id": id_,
        "question": question,
        "options": document.get("options", []),
        "label": document["label"],
        "parts": list(_parts(document, f"/answers/{id_}" if id_ else "")) if document["answer"] != NOTHING_RELEVANT else [],
        "lines": document["lines"],
        "notes": notes,
        "reason": f"{reason[:1].upper()}{reason[1:]}." if reason else "",
        "nearest": (document.get("nearest") or {}).get("text", ""),
        "facts": [
            {"name": "Confidence", "value": f"{document['confidence']:.2f}"},
            {"name": "Student", "value": document["student"] or "none"},
            {"name": "Read", "value": f"{document['prompt_tokens']:,} tokens"},
            {"name": "Time", "value": seconds(document["latency_ms"])},
        ],
    }


def seconds(milliseconds: float) -> str:
    """Return a time in words."""
    return f"{milliseconds / SECOND:.1f} s" if milliseconds >= SECOND else f"{milliseconds:.0f} ms"


def moment(written: str) -> str:
    """Return a time of the store for a reader: to the minute."""
    return written[:16].replace("T", " ")


def marked(text: str, spans: Iterable[Span]) -> list[View]:
    """Return a text in parts, of which those in the spans are marked."""
    parts, at = [], 0
    for start, end in sorted(spans):
        begin = max(start, at)
        if end > begin:
            parts += [{"text": text[at:begin], "is_marked": False}, {"text": text[begin:end], "is_marked": True}]
            at = end
    return [part for part in (*parts, {"text": text[at:], "is_marked": False}) if part["text"]]


def why_view(audit: Mapping[str, Any], chunks: Mapping[str, Chunk]) -> View:
    """Return the lines of an audit: first those that the answer cites. `chunks` are those in the store, by id."""
    cited = {n for one in audit.get("sentences", ()) for n in one["lines"]} | {
        int(n) for n in CITATION.findall(audit["answer"])
    }
    lines = [_line(line, chunks, is_open=line["n"] in cited) for line in audit["lines"]]
    others = [line for line in lines if not line["is_open"]]
    return {
        "cited": [line for line in lines if line["is_open"]],
        "others": others,
        "others_title": f"{'Also read' if cited else 'Read'} by the student: {len(others)} lines",
    }


def _parts(document: Mapping[str, Any], page: str) -> Iterable[View]:
    """Yield the parts of an answer: texts, citations with `href`, and unsupported sentences with `reason`."""
    text, known = document["answer"], {line["n"] for line in document["lines"]}
    for one in document.get("sentences", ()):
        before, found, after = text.partition(one["text"])
        if not found:
            continue
        yield from _cited(before, known, page)
        text = after
        yield from _cited(found, known, page, _problem(one))
        if not CITATION.search(found) and not CITATION.match(after.lstrip()):
            yield from (_chip(n, page) for n in one["lines"] if n in known)
    yield from _cited(text, known, page)


def _cited(text: str, known: set[int], page: str, reason: str = "") -> Iterable[View]:
    pieces = CITATION.split(text)
    last = max((at for at in range(0, len(pieces), 2) if pieces[at].strip()), default=0)
    for at, piece in enumerate(pieces):
        if at % 2 and int(piece) in known:
            yield _chip(int(piece), page)
        elif piece:
            yield {"text": f"[{piece}]" if at % 2 else piece, "href": "", "reason": reason if at == last else ""}


def _chip(n: int, page: str) -> View:
    return {"text": str(n), "href": f"{page}#line-{n}", "reason": ""}


def _problem(sentence: Mapping[str, Any]) -> str:
    if sentence["supported"] is not False:
        return ""
    absent = ", ".join(sentence.get("absent", ()))
    return f"No source has {absent}" if absent else "No source says this"


def distill_link(question: str, options: Sequence[str]) -> str:
    """Return the address of the form for the teacher, with a question in it."""
    texts = (question, *(f"{label}) {option}" for label, option in zip(LABELS, options, strict=False)))
    return f"/distill?{urlencode({'question': ' '.join(' '.join(texts).split())[:LONGEST_LINK]})}"


def _line(line: Mapping[str, Any], chunks: Mapping[str, Chunk], *, is_open: bool) -> View:
    shown: View = {"n": line["n"], "text": line["text"], "marks": [], "notes": [], "passages": [], "triples": [], "calls": []}
    shown |= {"is_open": is_open, "claims": [{"text": text, "note": note} for text, note in claim_notes(line)]}
    if "elsewhere" in line:
        return shown | {"notes": describe_elsewhere(line["elsewhere"])}
    shown["marks"] = line_marks(line)
    if line["kind"] != "edge":
        evidence = evidence_of(line)
        calls = line["calls"]
    else:
        edge = line["edge"]
        evidence = [triple["evidence"] for triple in line["triples"]]
        calls = [call for triple in line["triples"] for call in (*triple["calls"], *triple["evidence"]["calls"])]
        shown["notes"] = [f"Confidence {edge['confidence']:.2f}, from {edge['support']} claim(s): {edge['statement']}"]
        if edge.get("contradicts"):
            shown["notes"].append(f"Other claims contradict it: {', '.join(edge['contradicts'])}")
        shown["triples"] = [
            {
                "text": f"{one['subject']} · {one['predicate']} · {one['object']}",
                "confidence": f"{one['confidence']:.2f}",
                "evidence": one["evidence"]["text"],
            }
            for one in line["triples"]
        ]
    shown["calls"] = [_call(call) for call in {call["id"]: call for call in calls}.values()]
    shown["passages"] = _passages(evidence, chunks, line["source_id"])
    return shown


def _passages(evidence: Sequence[Mapping[str, Any]], chunks: Mapping[str, Chunk], source_id: str) -> list[View]:
    """Return the chunks of some evidence with the evidence marked; the evidence alone if its chunk is not stored any more."""
    in_chunk: dict[str, list[Mapping[str, Any]]] = {}
    for one in evidence:
        in_chunk.setdefault((one.get("chunk") or one)["id"], []).append(one)
    shown = []
    for id_, some in in_chunk.items():
        place = some[0].get("document") or {}
        chunk = chunks.get(id_)
        parts = [{"text": one["text"], "is_marked": True} for one in some]
        if chunk:
            spans = [(one["document"]["start"] - chunk.start, one["document"]["end"] - chunk.start) for one in some]
            parts = marked(chunk.text, spans)
        page = f"page {place['page']}" if place.get("page") else ""
        where = [text for text in (" > ".join(place.get("heading", ())), page, place.get("date", "")) if text]
        shown.append(
            {"name": place.get("name", "A teacher's evidence"), "where": where, "parts": parts, "href": f"/sources/{source_id}"}
        )
    return shown


def _call(call: Mapping[str, Any]) -> View:
    return {
        "model": call["model"],
        "prompt": call["prompt_version"],
        "cost": f"${call['cost_usd']:.4f}",
        "time": seconds(call["latency_ms"]),
        "at": moment(call["created_at"]),
    }
