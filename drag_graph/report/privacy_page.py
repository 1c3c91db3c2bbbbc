"""The page of `privacy check --page`: original and outgoing texts side by side. It needs no network and no scripts."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from drag_graph.model import labelled
from drag_graph.ports.private_details import texts_by_field

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --found: #b3372f33; --bad: #b3372f; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } table { border-collapse: collapse; width: 100%; table-layout: fixed; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; }
th:first-child, td:first-child { width: 3rem; } mark { background: var(--found); color: inherit; }
ul { margin: .2rem 0; padding-left: 1.2rem; }
.refused { color: var(--bad); font-weight: 600; } .quiet { opacity: .75; font-size: .85rem; }
"""


def privacy_page(document: dict[str, Any]) -> str:
    """Return the page of a `privacy check` document; every text is escaped."""
    rows = "".join(_row(entry) for entry in document["queries"])
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>What would be sent</title><style>{_STYLE}</style></head><body>
<h1>What would be sent</h1>
<p>{escape(summary(document["totals"]))}. This page contains the original questions: keep it on this machine.</p>
<table><thead><tr><th>Line</th><th>Original</th><th>Outgoing</th><th>Why</th></tr></thead><tbody>{rows}</tbody></table>
</body></html>
"""


def summary(totals: Mapping[str, Any]) -> str:
    """Return the totals as a sentence without its full stop."""
    types = ", ".join(f"{number} {name}" for name, number in totals["findings"].items()) or "nothing"
    counts = f"{totals['queries']} questions: {totals['changed']} changed, {totals['refused']} withheld"
    return f"{counts}; {totals['rejected']} unusable lines; findings: {types}"


def explained(entry: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each replacement, and for each detail that was recognised but kept."""
    texts = texts_by_field(entry["original"], entry["options"])

    def span(item: dict[str, Any]) -> str:
        return f"{texts[item['field']][item['start'] : item['end']]!r} ({item['type']}, {item['detector']})"

    replaced = [f"{span(item)} -> {item['replacement']!r}" for item in entry["findings"]]
    return replaced + [f"{span(item)} kept: {item['why']}" for item in entry.get("kept", ())]


def _row(entry: dict[str, Any]) -> str:
    before = _text(entry["original"], entry["options"], entry["findings"])
    after = f'<span class="refused">Withheld. {escape(entry["why"])}</span>'
    if not entry["refused"]:
        after = _text(entry["outgoing"], entry["outgoing_options"], ())
    why = "".join(f"<li>{escape(reason)}</li>" for reason in explained(entry))
    return f'<tr><td>{entry["line"]}</td><td>{before}</td><td>{after}</td><td class="quiet"><ul>{why}</ul></td></tr>'


def _text(question: str, options: Sequence[str], findings: Sequence[dict[str, Any]]) -> str:
    marked = [_marked(text, findings, field) for field, text in texts_by_field(question, options).items()]
    return "<br>".join((marked[0], *labelled(marked[1:])))


def _marked(text: str, findings: Sequence[dict[str, Any]], field: str) -> str:
    """Return a text with its findings marked."""
    parts, at = [], 0
    for item in sorted((item for item in findings if item["field"] == field), key=lambda item: item["start"]):
        start = max(at, item["start"])
        if item["end"] > start:
            parts += [escape(text[at:start]), f"<mark>{escape(text[start : item['end']])}</mark>"]
            at = item["end"]
    return "".join(parts) + escape(text[at:])
