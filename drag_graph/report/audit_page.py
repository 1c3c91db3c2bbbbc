"""`audit --format html`: an audit as one page that opens offline, without scripts."""

from collections.abc import Mapping
from html import escape
from typing import Any

from drag_graph.report.audit_document import describe_elsewhere, line_marks, place_of, site_notes

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: #2f6fb0; --bad: #b3372f; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin-bottom: .3rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.answer { font-size: 1.2rem; padding: .7rem 1rem; border-left: .3rem solid var(--accent); background: var(--soft); }
dl { display: grid; grid-template-columns: max-content auto; gap: .15rem 1rem; } dt { font-weight: 600; } dd { margin: 0; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .5rem; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; }
.kind { font-size: .75rem; border: 1px solid var(--line); border-radius: 1rem; padding: 0 .5rem; margin-right: .4rem; }
.gone { color: var(--bad); font-weight: 600; } .quiet { opacity: .75; font-size: .85rem; }
"""


def audit_page(audit: dict[str, Any]) -> str:
    """Return the page of an audit document. Every text is escaped."""
    label = f"{audit['label']}. " if audit["label"] else ""
    lines = "".join(_line(line) for line in audit["lines"]) or "<p>The student was shown no line.</p>"
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Audit: {escape(audit["question"])}</title><style>{_STYLE}</style></head><body>
<h1>{escape(audit["question"])}</h1>
{_options(audit)}
<p class="answer">{escape(label + audit["answer"])}</p>
{_notes(audit)}
{_facts(audit)}
<h2>What the student was shown, and where it comes from</h2>
{lines}
<h2>Teacher calls</h2>
{_calls(audit["calls"])}
<h2>What the teacher got to see</h2>
{_privacy(audit["privacy"])}
</body></html>
"""


def _options(audit: dict[str, Any]) -> str:
    items = "".join(f"<li>{escape(option)}</li>" for option in audit["options"])
    return f'<ol type="A">{items}</ol>' if items else ""


def _notes(audit: dict[str, Any]) -> str:
    return "".join(f'<p class="quiet">{escape(note)}</p>' for note in site_notes(audit.get("site", {})))


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
    marks = "".join(f' <span class="gone">{mark}</span>' for mark in line_marks(line))
    head = f'<summary><span class="kind">{line["kind"]}</span>{line["n"]}. {escape(line["text"])}{marks}</summary>'
    if "elsewhere" in line:
        words = "".join(f'<p class="quiet">{escape(text)}</p>' for text in describe_elsewhere(line["elsewhere"]))
        return f"<details open>{head}{words}</details>"
    if line["kind"] == "evidence":
        return f"<details open>{head}{_table(_EVIDENCE_HEAD, [_evidence_cells(line['evidence'], line['calls'])])}</details>"
    edge = line["edge"]
    merged = f"merged from {edge['support']} triple(s), confidence {edge['confidence']:.2f}: {edge['statement']}"
    disputed = f"Contradicted by {', '.join(edge['contradicts'])}." if edge.get("contradicts") else ""
    table = _table(_TRIPLE_HEAD, [_triple_cells(triple) for triple in line["triples"]])
    unshown = [[*_triple_cells(triple), triple["why"]] for triple in line["not_shown"]]
    rest = f'<p class="quiet">Not shown:</p>{_table([*_TRIPLE_HEAD, "Why"], unshown)}' if unshown else ""
    words = "".join(f'<p class="quiet">{escape(text)}</p>' for text in (merged, disputed) if text)
    return f"<details open>{head}{words}{table}{rest}</details>"


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


def _calls(calls: list[dict[str, Any]]) -> str:
    names = ["stage", "model", "prompt_version", "tokens_in", "tokens_out", "cost_usd", "latency_ms", "created_at", "id"]
    heads = ["Stage", "Model", "Prompt", "Tokens in", "Tokens out", "Cost, US$", "Latency, ms", "At", "Id"]
    return _table(heads, [[str(call[name]) for name in names] for call in calls])


def _privacy(privacy: dict[str, Any]) -> str:
    rows = [[seen["model"], seen["stage"], _sent(seen)] for seen in privacy.get("teacher_saw", [])]
    seen = _table(["Model", "Stage", "What it was sent"], rows)
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


def _table(heads: list[str], rows: list[list[str]]) -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
