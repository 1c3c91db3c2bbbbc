"""What pages show of answers, from the documents of `ask` and `audit`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from drag_graph.ask.answer_notes import notes_on, site_notes
from drag_graph.ask.answers import NOTHING_RELEVANT
from drag_graph.model import LABELS
from drag_graph.report import audit_document
from drag_graph.report.document_versions import file_in_words, path_of
from drag_graph.report.offline_page import offline_page

CITATION = re.compile(r"\[(\d{1,4})\]")
SECOND = 1_000
RULES = "patterns/"
"""How the name of the rules begins where a call names its model: they receive nothing."""
LONGEST_LINK = 1_000
"""Characters of a question in an address."""
View = dict[str, Any]
Span = tuple[int, int]


def answer_view(document: Mapping[str, Any], question: str, *, page: str | None = None) -> View:
    """Return what a page shows of an answer, given the document of `ask` or `audit`. `page` is that with its lines."""
    id_ = document["answer_id"]
    reason = document.get("reason", "")
    is_given = document["answer"] != NOTHING_RELEVANT
    notes = [note for note in (*notes_on(document), *site_notes(document.get("site", {}))) if "Not supported" not in note]
    return {
        "id": id_,
        "question": question,
        "options": document.get("options", []),
        "label": document["label"],
        "parts": list(_parts(document, page if page is not None else f"/answers/{id_}" if id_ else "")) if is_given else [],
        "lines": document["lines"],
        "notes": notes,
        "reason": f"{reason[:1].upper()}{reason[1:]}." if reason else "",
        "nearest": (document.get("nearest") or {}).get("text", ""),
        "facts": []
        if not is_given
        else [
            {"name": "Confidence", "value": f"{document['confidence']:.2f}"},
            {"name": "Student", "value": document["student"] or "none"},
            {"name": "Read", "value": f"{document['prompt_tokens']:,} tokens"},
            {"name": "Time", "value": seconds(document["latency_ms"])},
        ],
    }


def seconds(milliseconds: float) -> str:
    """Return a duration as text."""
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


def why_view(audit: Mapping[str, Any]) -> View:
    """Return what the why page shows of an audit: the answer, its lines (first those that it cites), and the record."""
    cited = {n for one in audit.get("sentences", ()) for n in one["lines"]} | {
        int(n) for n in CITATION.findall(audit["answer"])
    }
    chunks = {chunk["id"]: chunk for chunk in audit["chunks"]}
    by_number = {line["n"]: line for line in audit["lines"]}
    lines = [
        {**_line(line, chunks), "sides": _sides(line, by_number), "is_open": line["n"] in cited} for line in audit["lines"]
    ]
    others = [line for line in lines if not line["is_open"]]
    return {
        "answer": answer_view(audit, audit["question"], page=""),
        "correction": correction_view(audit["correction"]),
        "cited": [line for line in lines if line["is_open"]],
        "others": others,
        "others_title": f"{'Also read' if cited else 'Read'} by the student: {audit_document.counted(len(others), 'line')}",
        "record": _record(audit),
    }


def why_page(audit: Mapping[str, Any]) -> str:
    """Return the why page as one file that opens offline."""
    return offline_page("why.html", title=audit["question"][:80], why=why_view(audit))


def correction_view(correction: Mapping[str, Any] | None) -> View:
    """Return a correction for a reader: `text` is empty if nobody made one, `verdict` if it was undone; `tone` is a class."""
    if not correction:
        return {"text": "", "verdict": "", "tone": ""}
    note = f": {correction['note']}" if correction["note"] else ""
    text = f"Marked {correction['verdict']} by {correction['author']}, {moment(correction['created_at'])}{note}"
    if correction["undone_at"]:
        return {
            "text": f"{text} (undone by {correction['undone_by']}, {moment(correction['undone_at'])})",
            "verdict": "",
            "tone": "quiet",
        }
    return {"text": text, "verdict": correction["verdict"], "tone": "bad" if correction["verdict"] == "wrong" else "good"}


def _record(audit: Mapping[str, Any]) -> View:
    """Return the tables at the end of the why page: facts, documents, calls, and what was sent to the teacher."""
    correct = {True: "yes", False: "no", None: ""}[audit["correct"]]
    facts = {
        "Given": moment(audit["created_at"]),
        "Mode": audit["mode"],
        "Matches the expected answer": correct,
        "Cost of distilling": f"${audit['cost_usd']:.4f}",
        "Answer": audit["answer_id"],
        "Sources": ", ".join(audit["source_ids"]),
    }
    return {
        "facts": [{"name": name, "value": value} for name, value in facts.items() if value],
        "documents": [
            {
                "name": one["name"],
                "path": path_of(one["uri"]),
                "sha256": one["sha256"],
                "times": [f"{name} {moment(one[name + '_at'])}" for name in ("modified", "read") if one[f"{name}_at"]],
                "file": file_in_words(one),
            }
            for one in audit["documents"]
        ],
        "calls": [_call(call) for call in audit["calls"]],
        "cost": f"${audit['cost_usd']:.4f}",
        "filter": audit_document.filter_in_words(audit["privacy"]),
        "sent": [
            {
                "call": f"{seen['model']} ({seen['stage']})",
                "texts": [f"Not recorded. Its hash is {seen['request_sha256']}."]
                if seen["messages"] is None
                else [str(message["content"]) for message in seen["messages"]],
            }
            for seen in audit["privacy"].get("teacher_saw", ())
            if not seen["model"].startswith(RULES)
        ],
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
    last = max((at for at in range(0, len(pieces), 2) if re.search(r"\w", pieces[at])), default=0)
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


def _line(line: Mapping[str, Any], chunks: Mapping[str, Mapping[str, Any]]) -> View:
    shown: View = {"n": line["n"], "text": line["text"], "is_edge": bool(line.get("edge")), "marks": [], "notes": []}
    shown |= {name: [] for name in ("passages", "triples", "not_shown", "calls", "claims")}
    if "elsewhere" in line:
        return shown | {"notes": audit_document.describe_elsewhere(line["elsewhere"])}
    if edge := line["edge"]:
        evidence = [triple["evidence"] for triple in line["triples"]]
        calls = [call for triple in line["triples"] for call in (*triple["calls"], *triple["evidence"]["calls"])]
        statement = "" if edge["statement"] in line["text"] else f": {edge['statement']}"
        triples = audit_document.counted(edge["support"], "triple")
        shown["notes"] = [f"Confidence {edge['confidence']:.2f}, from {triples}{statement}"]
    else:
        evidence, calls = audit_document.evidence_of(line), line["calls"]
    shown["claims"] = _claims(line)
    is_wrong = bool(shown["claims"]) and all(claim["correction"]["verdict"] == "wrong" for claim in shown["claims"])
    marks = {"marked wrong": is_wrong, "contradicted": line["contradicted_by"] and not edge}  # an edge's text says so
    shown["marks"] = [*audit_document.line_marks(line), *(mark for mark, holds in marks.items() if holds)]
    shown |= {name: [_triple(triple) for triple in line[name]] for name in ("triples", "not_shown")}
    shown["calls"] = [_call(call) for call in {call["id"]: call for call in calls}.values()]
    if not edge or any(one.get("document") for one in evidence):  # the triples show a teacher's evidence
        shown["passages"] = _passages(evidence, chunks, line["source_id"])
    return shown


def _sides(line: Mapping[str, Any], lines: Mapping[int, Mapping[str, Any]]) -> list[View]:
    """Return a line and what contradicts it; empty if nothing does. `lines` are all by number."""
    others = [
        {**_side(lines[one["line"]]), "fact": f"line {one['line']}: {one['why']}"} if "line" in one else _side(one)
        for one in line["contradicted_by"]
    ]
    return [_side(line), *others] if others else []


def _side(part: Mapping[str, Any]) -> View:
    if edge := part["edge"]:
        evidence = [triple["evidence"] for triple in part["triples"]]
        origins = _origins(evidence, [call for one in evidence for call in one["calls"]])
        fact = f"confidence {edge['confidence']:.2f}"
        own = {triple.get("claim_id") for triple in part["triples"]}
        claims = [claim for claim in _claims(part) if claim["id"] in own or own == {None}]
        return {"text": edge["statement"], "origins": origins, "fact": fact, "claims": claims}
    evidence = audit_document.evidence_of(part)
    text = " ".join(one["text"] for one in evidence)
    return {"text": text, "origins": _origins(evidence, part["calls"]), "fact": "", "claims": []}


def _origins(evidence: Iterable[Mapping[str, Any]], calls: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return where evidence is from, with a date: each document, or each call that wrote it."""
    places = [place for one in evidence if (place := one.get("document"))]
    names = [f"{place['name']} · {place.get('date') or 'no date'}" for place in places]
    return list(dict.fromkeys(names or [f"{call['model']} · {moment(call['created_at'])}" for call in calls]))


def _claims(part: Mapping[str, Any]) -> list[View]:
    return [{**claim, "correction": correction_view(claim["correction"])} for claim in part["claims"]]


def _triple(triple: Mapping[str, Any]) -> View:
    evidence = triple["evidence"]
    return {
        "text": f"{triple['subject']} · {triple['predicate']} · {triple['object']}",
        "confidence": f"{triple['confidence']:.2f}",
        "readers": audit_document.calls_in_prose(triple["calls"]),
        "evidence": evidence["text"],
        "proof": audit_document.proof_of(evidence, evidence["calls"]),
        "why": triple.get("why", ""),
    }


def _passages(evidence: Iterable[Mapping[str, Any]], chunks: Mapping[str, Mapping[str, Any]], source_id: str) -> list[View]:
    """Return the chunks of some evidence with the evidence marked; the evidence alone if its chunk is not stored any more."""
    in_chunk: dict[str, list[Mapping[str, Any]]] = {}
    for one in evidence:
        in_chunk.setdefault((one.get("chunk") or one)["id"], []).append(one)
    shown = []
    for id_, some in in_chunk.items():
        place = some[0].get("document")
        parts, where = [{"text": one["text"], "is_marked": True} for one in some], [audit_document.proof_of(some[0], ())]
        if chunk := chunks.get(id_):
            at = chunk["start"]
            parts = marked(chunk["text"], [(one["document"]["start"] - at, one["document"]["end"] - at) for one in some])
        if place:
            page = f"page {place['page']}" if place.get("page") else ""
            where = [text for text in (" > ".join(place.get("heading", ())), page, place.get("date", "")) if text]
        name = (place.get("path") or place["name"]) if place else "A teacher's evidence"
        shown.append({"name": name, "where": where, "parts": parts, "href": f"/sources/{source_id}"})
    return shown


def _call(call: Mapping[str, Any]) -> View:
    return {
        "model": call["model"],
        "stage": call["stage"],
        "prompt": call["prompt_version"],
        "tokens": f"{call['tokens_in']:,} + {call['tokens_out']:,}",
        "id": call["id"],
        "cost": f"${call['cost_usd']:.4f}",
        "time": seconds(call["latency_ms"]),
        "at": moment(call["created_at"]),
    }
