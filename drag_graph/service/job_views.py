"""What pages show of jobs, their reports, and estimates."""

from collections.abc import Mapping
from typing import Any

from drag_graph.jobs import ingest_job
from drag_graph.ports import run_journal
from drag_graph.service.page_views import amount, dollars, moment

LISTED_FAILURES = 100
TITLES = {
    "ingest": "Add documents",
    "distill": "Ask a teacher",
    "refresh": "Ask a teacher again",
    "link": "Join sources",
    "export": "Export",
}
RESULTS = (*ingest_job.STATUSES, *run_journal.STATUSES[:-1], "rejected", "pending")
"""Counts in the totals of a report, in the order in which a page lists them."""
WORDS = {"quarantined": "failed", "skipped": "already stored", "pending": "not reached", "rejected": "not usable"}
"""What a page calls a status; others keep their name."""


def job_view(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a page shows of a job."""
    names = job["request"].get("files") or [job["request"].get("name", "")]
    progress = job["progress"]
    done, total = progress.get("done"), progress.get("total")
    counts = f"{done:,} of {total:,}" if total else f"{done:,} done" if done else ""
    cost = max(job["spent_usd"], progress.get("cost_usd", 0.0))
    return {
        **job,
        "title": ": ".join(filter(None, (TITLES[job["kind"]], ", ".join(names))))[:200],
        "has_ended": bool(job["finished_at"]),
        "counts": " · ".join(filter(None, (counts, dollars(cost) if cost else "", progress.get("waiting_for", "")))),
        "facts": " · ".join((moment(job["created_at"]), job["caller"])),
        "total": total or 0,
        "done": done or 0,
    }


def report_view(report: Mapping[str, Any], questions: Mapping[int, str]) -> dict[str, Any]:
    """Return what a page shows of a report: counts, and each failure with its reason. `questions` are those by line."""
    totals = report.get("totals", {})
    documents = [one for one in report.get("documents", ()) if one["status"] == "failed"]
    failures = [{"name": one["name"], "reason": one["error"]} for one in documents]
    failures += [
        {"name": questions.get(one["line"]) or f"Line {one['line']}", "reason": one["error"]}
        for one in report.get("queries", ())
        if one["status"] == "quarantined"
    ]
    failures += [{"name": f"Line {one['line']}", "reason": one["reason"]} for one in report.get("rejected", ())]
    return {
        "counts": ", ".join(f"{totals[name]:,} {WORDS.get(name, name)}" for name in RESULTS if totals.get(name)),
        "failures": failures[:LISTED_FAILURES],
        "more": max(len(failures) - LISTED_FAILURES, 0),
        "size": f"{report['lines']:,} lines, {amount(report['bytes'])}" if "bytes" in report else "",
    }


def estimate_view(estimate: Mapping[str, Any], rejected: int) -> dict[str, Any]:
    """Return what a page shows of an estimate. `rejected` is the number of lines that are no questions."""
    low, high = estimate["price_usd_low"], estimate["price_usd_high"]
    if not estimate["price_known"]:
        price = "not known for this model"
    else:
        price = f"about {dollars(estimate['price_usd'])} ({dollars(low)} to {dollars(high)})" if high else "nothing"
    skipped = {"already stored": estimate["stored"], "failed before": estimate["quarantined"], "not usable": rejected}
    return {
        "calls": estimate["calls"],
        "skips_failed": estimate["quarantined"] > 0,
        "facts": {
            "Questions to ask": f"{estimate['queries'] - estimate['stored'] - estimate['quarantined']:,}",
            **{f"Skipped, {name}": f"{number:,}" for name, number in skipped.items() if number},
            "Teacher": estimate["teacher"],
            "Calls": f"{estimate['calls']:,}",
            "Tokens": f"{estimate['tokens_in']:,} sent, {estimate['tokens_out']:,} received",
            "Price": price,
        },
        "notes": [text for text in (estimate["how"], estimate.get("caution", "")) if text],
    }
