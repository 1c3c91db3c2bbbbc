"""Notes for the reader of an answer, from its document."""

from collections.abc import Mapping
from typing import Any


def notes_on(facts: Mapping[str, Any]) -> list[str]:
    """Return notes for the reader of an answer, one sentence each."""
    notes = []
    if facts.get("quoted"):
        places = [f" from line {number}" for one in facts["sentences"] for number in one["lines"]]
        notes.append(f"The student quotes a sentence{''.join(places)}.")
    if facts.get("truncated"):
        notes.append("The answer was cut off: it reached the maximum number of tokens.")
    for one in facts.get("sentences", ()):
        if one["supported"] is False:
            absent = f" (in no line: {', '.join(one['absent'])})" if one.get("absent") else ""
            notes.append(f"Not supported by the lines: {one['text']}{absent}")
    if removed := facts.get("removed_citations"):
        notes.append(f"Removed citations of lines that do not exist: {', '.join(map(str, removed))}.")
    return notes


def site_notes(site: Mapping[str, Any]) -> list[str]:
    """Return warnings about an answer if the site was not sure of it."""
    if not site or site["sure"]:
        return []
    notes = [f"Not sure locally: {site['why']}."]
    if site["problem"]:
        notes.append(f"The cloud did not help: {site['problem'].rstrip('.')}.")
    return notes + [f"Missing from {one['site']}: {one['reason'].rstrip('.')}." for one in site.get("missing", ())]
