"""An audit as a tree: for the terminal, and as text."""

import io
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from drag_graph.ask.answer_notes import notes_on, site_notes
from drag_graph.graph.edge_text import one_line
from drag_graph.report.audit_document import (
    SHORT,
    calls_in_prose,
    correction_note,
    counted,
    describe_elsewhere,
    evidence_of,
    filter_in_words,
    line_marks,
    proof_of,
)
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
    calls = f"{counted(len(audit['calls']), 'teacher call')}, cost ${audit['cost_usd']:.4f}"
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
        proofs = [_line_of(proof_of(evidence, line["calls"])) for evidence in evidence_of(line)]
        rows += [(Text.assemble("evidence ", (proof, "dim")), None) for proof in proofs]
    for other in line["contradicted_by"]:
        if "line" in other:
            rows.append((Text(f"contradicted by line {other['line']}: {_line_of(other['why'])}"), None))
            continue
        origin = "; ".join(proof_of(triple["evidence"], triple["evidence"]["calls"]) for triple in other["triples"])
        edge = f"contradicted by (confidence {other['edge']['confidence']:.2f}) {other['edge']['statement']}"
        rows.append((Text.assemble(_line_of(edge), (f" {_line_of(origin)}", "dim")), None))
    rows += [_triple(triple) for triple in (*line["triples"], *line["not_shown"])]
    for claim in line["claims"]:
        note = f" ({_line_of(correction_note(claim['correction']))})" if claim["correction"] else ""
        rows.append((Text.assemble(f"claim {claim['id'][:SHORT]} {_line_of(claim['text'])}", (note, "red")), None))
    return rows


def _triple(triple: Mapping[str, Any]) -> tuple[Text, Text]:
    why = f"not shown ({triple['why']}): " if "why" in triple else ""
    words = _line_of(f"{triple['subject']} | {triple['predicate']} | {triple['object']}")
    origin = ", ".join([f"confidence {triple['confidence']:.2f}", *calls_in_prose(triple["calls"])])
    evidence = triple["evidence"]
    proof = Text.assemble(f"evidence {_line_of(evidence['text'])} ", (_line_of(proof_of(evidence, evidence["calls"])), "dim"))
    return Text.assemble(f"{why}triple {words} ", (_line_of(origin), "dim")), proof


def _line_of(text: str) -> str:
    return printable(one_line(text))
