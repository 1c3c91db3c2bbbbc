"""What pages show of `privacy check`: originals and outgoing texts side by side."""

from collections.abc import Mapping
from typing import Any

from drag_graph.ports.private_details import texts_by_field
from drag_graph.report.audit_document import counted
from drag_graph.report.audit_views import View, marked
from drag_graph.report.offline_page import offline_page


def privacy_page(document: Mapping[str, Any]) -> str:
    """Return a `privacy check` document as a page that opens offline."""
    checks = [check_view(entry) for entry in document["queries"]]
    return offline_page(
        "privacy.html", title="What would be sent", summary=summary(document["totals"]), checks=checks, sent=None
    )


def check_view(entry: Mapping[str, Any]) -> View:
    """Return what a page shows of a checked question. `original` has the texts of question and options, in parts."""
    found: dict[str, list[tuple[int, int]]] = {}
    for one in entry["findings"]:
        found.setdefault(one["field"], []).append((one["start"], one["end"]))
    texts = texts_by_field(entry["original"], entry["options"])
    return {
        "line": entry["line"],
        "original": [marked(text, found.get(field, ())) for field, text in texts.items()],
        "outgoing": [entry["outgoing"], *entry["outgoing_options"]] if not entry["refused"] else [],
        "withheld": entry["why"] if entry["refused"] else "",
        "findings": [{**one, "text": texts[one["field"]][one["start"] : one["end"]]} for one in entry["findings"]],
        "kept": [{**one, "text": texts[one["field"]][one["start"] : one["end"]]} for one in entry.get("kept", ())],
    }


def summary(totals: Mapping[str, Any]) -> str:
    """Return the totals as a sentence without its full stop."""
    types = ", ".join(f"{number} {name}" for name, number in totals["findings"].items()) or "nothing"
    counts = f"{counted(totals['queries'], 'question')}: {totals['changed']} changed, {totals['refused']} withheld"
    return f"{counts}; unusable lines: {totals['rejected']}; findings: {types}"


def explained(entry: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each replacement, and for each detail that was recognised but kept."""
    texts = texts_by_field(entry["original"], entry["options"])

    def span(item: dict[str, Any]) -> str:
        return f"{texts[item['field']][item['start'] : item['end']]!r} ({item['type']}, {item['detector']})"

    replaced = [f"{span(item)} -> {item['replacement']!r}" for item in entry["findings"]]
    return replaced + [f"{span(item)} kept: {item['why']}" for item in entry.get("kept", ())]
