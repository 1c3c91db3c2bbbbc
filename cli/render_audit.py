"""What is printed of an audit."""

import json
from collections.abc import Mapping
from typing import Any

from rich.tree import Tree

from .render import SHORT, console, escape, of_edge, write


def audit(values: dict[str, Any], form: str) -> None:
    """Print an audit as `table` (a tree), `json`, `prov` or `html`."""
    if form == "html":
        from drag_graph.report.audit_page import audit_page

        write(audit_page(values))
    elif form == "table":
        _tree(values)
    else:
        from drag_graph.report.prov import prov_document

        write(json.dumps(prov_document(values) if form == "prov" else values, ensure_ascii=False, indent=2))


def _tree(values: dict[str, Any]) -> None:
    from drag_graph.report.audit_document import said_elsewhere
    from drag_graph.report.audit_page import filter_in_words

    out = console()
    label = f"{values['label']}. " if values["label"] else ""
    tree = Tree(f"[bold]{escape(values['question'])}[/bold]\n-> {escape(label + values['answer'])}")
    for line in values["lines"]:
        gone = "" if line["live"] is not False else " [red](gone from the graph, or not by these calls any more)[/red]"
        branch = tree.add(f"{line['n']}. {escape(line['text'])}{gone}")
        if "elsewhere" in line:
            for said in said_elsewhere(line["elsewhere"]):
                branch.add(escape(said))
            continue
        if line["kind"] == "evidence":
            branch.add(f"evidence [dim]{_proof(line['evidence'], line['calls'])}[/dim]")
        if line["edge"] and line["edge"].get("contradicts"):
            branch.add(f"contradicted by {', '.join(id_[:SHORT] for id_ in line['edge']['contradicts'])}")
        for triple in (*line["triples"], *line["not_shown"]):
            why = f"not shown ({triple['why']}): " if "why" in triple else ""
            words = escape(f"{triple['subject']} | {triple['predicate']} | {triple['object']}")
            made = f"confidence {triple['confidence']:.2f}, {_calls(triple['calls'])}"
            evidence = triple["evidence"]
            proof = _proof(evidence, evidence["calls"])
            branch.add(f"{why}triple {words} [dim]{made}[/dim]").add(f"evidence {escape(evidence['text'])} [dim]{proof}[/dim]")
    if not values["lines"]:
        tree.add("The student was shown no line.")
    out.print(tree)
    out.print(f"student {escape(values['student'])}, mode {values['mode']}, confidence {values['confidence']:.2f}")
    privacy = escape(filter_in_words(values["privacy"]))
    of_edge(out, values.get("cloud", {}))
    out.print(f"teacher calls {len(values['calls'])}, cost ${values['cost_usd']:.4f}, privacy filter {privacy}")


def _judged(evidence: Mapping[str, Any]) -> str:
    from drag_graph.report.audit_document import place_of

    if place := place_of(evidence):
        return escape(place)
    score = "" if evidence["llm_score"] is None else f", teacher's score {evidence['llm_score']:g}"
    return f"rank {evidence['rank'] + 1}, cosine {evidence['cosine']:.2f}{score}"


def _proof(evidence: Mapping[str, Any], calls: list[Mapping[str, Any]]) -> str:
    return f"{_judged(evidence)}, {_calls(calls)}" if calls else _judged(evidence)


def _calls(calls: list[Mapping[str, Any]]) -> str:
    made_by = [f"by {call['model']} ({call['stage']}, ${call['cost_usd']:.4f}, {call['created_at']})" for call in calls]
    return escape(", ".join(made_by))
