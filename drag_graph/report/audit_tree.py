"""An audit as a tree: for the terminal, and as text."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from drag_graph.ask.answer_notes import notes_on, site_notes
from drag_graph.graph.edge_text import one_line
from drag_graph.report.audit_corrections import claim_notes, correction_note
from drag_graph.report.audit_document import SHORT, describe_elsewhere, evidence_of, line_marks, place_of
from drag_graph.report.audit_page import filter_in_words
from drag_graph.report.document_versions import describe_document
from drag_graph.report.terminal_text import printable

TEXT_WIDTH = 120


def audit_text(audit: Mapping[str, Any]) -> str:
    """Return an audit document as plain text."""
    out = io.StringIO()
    console = Console(file=out, width=TEXT_WIDTH, color_system=None, highlight=False, force_jupyter=False)
    console.print(audit_tree(audit), *(Text(note) for note in audit_notes(audit)), sep="\n")
    return out.getvalue().rstrip("\n")


def audit_tree(audit: Mapping[str, Any]) -> Tree:
    """Return the context lines of an audit document, each with what is behind it."""
    label = f"{audit['label']}. " if audit["label"] else ""
    tree = Tree(Text.assemble((_line_of(audit["question"]), "bold"), "\n-> ", _line_of(label + audit["answer"])))
    for line in audit["lines"]:
        marks = ((f" ({mark})", "red") for mark in line_marks(line))
        branch = tree.add(Text.assemble(f"{line['n']}. {_line_of(line['text'])}", *marks))
        for text, proof in _behind(line):
            leaf = branch.add(text)
            if proof is not None:
                leaf.add(proof)
    if not audit["lines"]:
        tree.add(Text("The student was shown no line."))
    return tree


def audit_notes(audit: Mapping[str, Any]) -> list[str]:
    """Return the facts that stand below the tree, one a line."""
    calls = f"{len(audit['calls'])} teacher calls, cost ${audit['cost_usd']:.4f}"
    return [
        f"student {audit['student']}, mode {audit['mode']}, confidence {audit['confidence']:.2f}",
        *(f"The answer is {_line_of(note)}" for note in [correction_note(audit["correction"])] if note),
        *(printable(note) for note in notes_on(audit)),
        *(printable(note) for note in site_notes(audit.get("site", {}))),
        *(printable(describe_document(item)) for item in audit["documents"]),
        printable(f"{calls}, privacy filter {filter_in_words(audit['privacy'])}"),
    ]


def _behind(line: Mapping[str, Any]) -> list[tuple[Text, Text | None]]:
    """Return what is behind a context line: texts, each with its proof if it has one."""
    if "elsewhere" in line:
        return [(Text(_line_of(text)), None) for text in describe_elsewhere(line["elsewhere"])]
    rows: list[tuple[Text, Text | None]] = []
    if line["kind"] != "edge":
        proofs = [_proof(evidence, line["calls"]) for evidence in evidence_of(line)]
        rows += [(Text.assemble("evidence ", (proof, "dim")), None) for proof in proofs]
    if line["edge"] and line["edge"].get("contradicts"):
        ids = ", ".join(id_[:SHORT] for id_ in line["edge"]["contradicts"])
        rows.append((Text(f"contradicted by {ids}"), None))
    rows += [_triple(triple) for triple in (*line["triples"], *line["not_shown"])]
    return rows + [
        (Text.assemble(_line_of(claim), (f" ({_line_of(note)})" if note else "", "red")), None)
        for claim, note in claim_notes(line, SHORT)
    ]


def _triple(triple: Mapping[str, Any]) -> tuple[Text, Text]:
    why = f"not shown ({triple['why']}): " if "why" in triple else ""
    words = _line_of(f"{triple['subject']} | {triple['predicate']} | {triple['object']}")
    origin = ", ".join([f"confidence {triple['confidence']:.2f}", *_calls(triple["calls"])])
    evidence = triple["evidence"]
    proof = Text.assemble(f"evidence {_line_of(evidence['text'])} ", (_proof(evidence, evidence["calls"]), "dim"))
    return Text.assemble(f"{why}triple {words} ", (origin, "dim")), proof


def _proof(evidence: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> str:
    score = "" if evidence["llm_score"] is None else f", teacher's score {evidence['llm_score']:g}"
    judgement = _line_of(place_of(evidence)) or f"rank {evidence['rank'] + 1}, cosine {evidence['cosine']:.2f}{score}"
    return ", ".join([judgement, *_calls(calls)])


def _calls(calls: Sequence[Mapping[str, Any]]) -> list[str]:
    return [printable(f"by {call['model']} ({call['stage']}, ${call['cost_usd']:.4f}, {call['created_at']})") for call in calls]


def _line_of(text: str) -> str:
    return printable(one_line(text))
