"""`audit --format html`: an audit as one page that opens offline, without scripts."""

from collections.abc import Mapping
from html import escape
from typing import Any

from drag_graph.ask.answer_notes import notes_on, site_notes
from drag_graph.report.audit_corrections import claim_notes, correction_note
from drag_graph.report.audit_document import describe_elsewhere, evidence_of, line_marks, place_of
from drag_graph.report.document_versions import file_in_words, path_of
from drag_graph.report.web_page import text_table, web_page


def audit_page(audit: dict[str, Any]) -> str:
    """Return the page of an audit document. Every text is escaped."""
    label = f"{audit['label']}. " if audit["label"] else ""
    lines = "".join(_line(line) for line in audit["lines"]) or "<p>The student was shown no line.</p>"
    options = "".join(f"<li>{escape(option)}</li>" for option in audit["options"])
    notes = "".join(f'<p class="quiet">{escape(note)}</p>' for note in (*notes_on(audit), *site_notes(audit.get("site", {}))))
    if correction := correction_note(audit["correction"]):
        notes += f'<p class="bad">The answer is {escape(correction)}</p>'
    body = f"""<h1>{escape(audit["question"])}</h1>
{f'<ol type="A">{options}</ol>' if options else ""}
<p class="answer">{escape(label)}{_marked(audit)}</p>
{notes}
{_facts(audit)}
<h2>Context lines and their sources</h2>
{lines}
{_documents(audit["documents"])}
<h2>Teacher calls</h2>
{_calls(audit["calls"])}
<h2>What was sent to the teacher</h2>
{_privacy(audit["privacy"])}"""
    return web_page(f"Audit: {audit['question']}", body)


def _marked(audit: Mapping[str, Any]) -> str:
    """Return the answer with its unsupported sentences underlined."""
    text, marked = audit["answer"], ""
    for one in audit.get("sentences", ()):
        before, found, after = text.partition(one["text"])
        if one["supported"] is False and found:
            marked += f'{escape(before)}<u class="bad" title="Not supported by the lines">{escape(found)}</u>'
            text = after
    return marked + escape(text)


def _facts(audit: dict[str, Any]) -> str:
    correct = {True: "yes", False: "no", None: "not known"}[audit["correct"]]
    facts = {
        "Student": audit["student"],
        "Confidence": f"{audit['confidence']:.2f}",
        "Mode": audit["mode"],
        "Correct": correct,
        "Prompt": f"{audit['prompt_tokens']} tokens",
        "Given": audit["created_at"],
        "Cost of distilling": f"${audit['cost_usd']:.4f}",
        "Answer": audit["answer_id"],
        "Query": ", ".join(audit["source_ids"]),
    }
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in facts.items()) + "</dl>"


def _line(line: dict[str, Any]) -> str:
    marks = "".join(f' <span class="bad">{mark}</span>' for mark in line_marks(line))
    head = f'<summary><span class="kind">{line["kind"]}</span>{line["n"]}. {escape(line["text"])}{marks}</summary>'
    if "elsewhere" in line:
        words = "".join(f'<p class="quiet">{escape(text)}</p>' for text in describe_elsewhere(line["elsewhere"]))
        return f"<details open>{head}{words}</details>"
    if line["kind"] != "edge":
        cells = [_evidence_cells(evidence, line["calls"]) for evidence in evidence_of(line)]
        return f"<details open>{head}{text_table(_EVIDENCE_HEAD, cells)}{_claims(line)}</details>"
    edge = line["edge"]
    merged = f"merged from {edge['support']} triple(s), confidence {edge['confidence']:.2f}: {edge['statement']}"
    disputed = f"Contradicted by {', '.join(edge['contradicts'])}." if edge.get("contradicts") else ""
    table = text_table(_TRIPLE_HEAD, [_triple_cells(triple) for triple in line["triples"]])
    unshown = [[*_triple_cells(triple), triple["why"]] for triple in line["not_shown"]]
    rest = f'<p class="quiet">Not shown:</p>{text_table([*_TRIPLE_HEAD, "Why"], unshown)}' if unshown else ""
    words = "".join(f'<p class="quiet">{escape(text)}</p>' for text in (merged, disputed) if text)
    return f"<details open>{head}{words}{table}{rest}{_claims(line)}</details>"


def _claims(line: dict[str, Any]) -> str:
    return "".join(
        f'<p class="quiet">{escape(claim)} <span class="bad">{escape(note)}</span></p>' for claim, note in claim_notes(line)
    )


_EVIDENCE_HEAD = ["Evidence", "Rank", "Cosine", "Teacher's score", "From"]
_TRIPLE_HEAD = ["Triple", "Confidence", "Read by", *_EVIDENCE_HEAD]


def _triple_cells(triple: dict[str, Any]) -> list[str]:
    return [
        f"{triple['subject']} | {triple['predicate']} | {triple['object']}",
        f"{triple['confidence']:.2f}",
        _sources(triple["calls"]),
        *_evidence_cells(triple["evidence"], triple["evidence"]["calls"]),
    ]


def _evidence_cells(evidence: dict[str, Any], calls: list[dict[str, Any]]) -> list[str]:
    judged = "-" if evidence["llm_score"] is None else f"{evidence['llm_score']:g}"
    if place := place_of(evidence):
        return [evidence["text"], "-", "-", "-", place]
    return [evidence["text"], str(evidence["rank"]), f"{evidence['cosine']:.2f}", judged, _sources(calls)]


def _sources(calls: list[dict[str, Any]]) -> str:
    return "; ".join(f"{call['model']} ({call['stage']}), {call['created_at']}" for call in calls) or "-"


def _documents(documents: list[dict[str, Any]]) -> str:
    rows = [
        [item["name"], path_of(item), item["sha256"], item["modified_at"], item["read_at"], file_in_words(item)]
        for item in documents
    ]
    heads = ["Name", "Path", "SHA-256", "Modified", "Read", "File"]
    return f"<h2>Documents</h2>{text_table(heads, rows)}" if rows else ""


def _calls(calls: list[dict[str, Any]]) -> str:
    names = ["stage", "model", "prompt_version", "tokens_in", "tokens_out", "cost_usd", "latency_ms", "created_at", "id"]
    heads = ["Stage", "Model", "Prompt", "Tokens in", "Tokens out", "Cost, US$", "Latency, ms", "At", "Id"]
    return text_table(heads, [[str(call[name]) for name in names] for call in calls])


def _privacy(privacy: dict[str, Any]) -> str:
    rows = [[seen["model"], seen["stage"], _sent(seen)] for seen in privacy.get("teacher_saw", [])]
    seen = text_table(["Model", "Stage", "What it was sent"], rows)
    return f"<p>Privacy filter: {escape(filter_in_words(privacy))}.</p>{seen}"


def filter_in_words(privacy: Mapping[str, Any]) -> str:
    """Describe the privacy gate: its level, its detectors, and how much of the question each generalised."""
    found = ", ".join(f"{item['number']} {item['type']} by {item['detector']}" for item in privacy.get("generalised", ()))
    detectors = f" ({privacy['detectors']}); generalised: {found or 'nothing'}" if "detectors" in privacy else ""
    return f"{privacy.get('filter', 'not recorded')}{detectors}"


def _sent(seen: dict[str, Any]) -> str:
    if seen["messages"] is None:
        return f"not recorded; its hash is {seen['request_sha256']}"
    return "\n\n".join(str(message["content"]) for message in seen["messages"])
