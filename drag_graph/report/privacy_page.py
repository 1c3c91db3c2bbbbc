"""The page of `privacy check --page`: original and outgoing texts side by side. It needs no network and no scripts."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from drag_graph.model import labelled
from drag_graph.ports.private_details import texts_by_field
from drag_graph.report.web_page import html_table, web_page


def privacy_page(document: dict[str, Any]) -> str:
    """Return the page of a `privacy check` document; every text is escaped."""
    table = html_table(("Line", "Original", "Outgoing", "Why"), map(_row, document["queries"]))
    note = f"{escape(summary(document['totals']))}. This page contains the original questions: keep it on this machine."
    return web_page("What would be sent", f"<h1>What would be sent</h1>\n<p>{note}</p>\n{table}")


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


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    before = _text(entry["original"], entry["options"], entry["findings"])
    after = f'<span class="bad">Withheld. {escape(entry["why"])}</span>'
    if not entry["refused"]:
        after = _text(entry["outgoing"], entry["outgoing_options"], ())
    why = "".join(f"<li>{escape(reason)}</li>" for reason in explained(entry))
    return str(entry["line"]), before, after, f'<ul class="quiet">{why}</ul>'


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
