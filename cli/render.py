"""All output to people: rich tables and bars; and `--json`, one document on stdout."""

import json as json_module
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

if TYPE_CHECKING:
    from drag_graph.asking import AnswersReport, Asked
    from drag_graph.model import Subgraph
    from drag_graph.ports import Problem, QuerySummary

    from .answers import AuditFormat, ShowFormat

SHORT = 12
"""Digits of an id in a table; every command takes a short id."""


PIPED_WIDTH = 120
"""Columns of a table that goes into a pipe or a file."""


def console() -> Console:
    """Return the console for results (stdout)."""
    out = Console(highlight=False)
    if not out.is_terminal and out.width < PIPED_WIDTH:
        out = Console(highlight=False, width=PIPED_WIDTH)
    return out


def table_of(*columns: str, wrapped: str = "", title: str = "") -> Table:
    """Return a table whose columns stay on one line, but for the one that may wrap."""
    table = Table(title=title or None, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), collapse_padding=True)
    for name in columns:
        table.add_column(name, no_wrap=name != wrapped, overflow="fold")
    return table


def document(value: Any) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(json_module.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def write(text: str) -> None:
    """Print a text, with one line end at its end."""
    sys.stdout.write(text.removesuffix("\n") + "\n")


@contextmanager
def waiting(what: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show that something is going on, on a terminal only; yields what is called with each further step."""
    stderr = Console(stderr=True)
    if quiet or not stderr.is_terminal:
        yield lambda _step: None
        return
    with stderr.status(what) as status:
        yield status.update


def fields(values: Mapping[str, Any], *, as_json: bool) -> None:
    """Print a flat document as two columns."""
    if as_json:
        document(values)
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in values.items():
        shown = ", ".join(f"{key} {entry}" for key, entry in value.items()) if isinstance(value, Mapping) else value
        shown = ", ".join(str(entry) for entry in shown) if isinstance(shown, list | tuple) else shown
        table.add_row(f"[bold]{name}[/bold]", escape(str(shown if shown not in (None, "") else "-")))
    console().print(table)


def settings(values: Mapping[str, Any], origins: Mapping[str, str], *, as_json: bool) -> None:
    """Print each setting with its value and origin; a user and password inside an address are shown as stars."""
    values = {name: _masked(value) for name, value in values.items()}
    if as_json:
        document({name: {"value": value, "origin": origins[name]} for name, value in values.items()})
        return
    table = Table("setting", "value", "from", box=SIMPLE_HEAD)
    for name, value in values.items():
        origin = origins[name]
        style = "" if origin == "default" else "bold"
        table.add_row(name, escape("" if value is None else str(value)), origin, style=style)
    console().print(table)


def _masked(value: Any) -> Any:
    return re.sub(r"(?<=://)[^/@\s]+@", "***@", value) if isinstance(value, str) else value


def answer(asked: "Asked", *, as_json: bool, explain: bool) -> None:
    """Print one answer and the lines that it rests on."""
    if as_json:
        document(asked.document(explain=explain))
        return
    out = console()
    label = f"{asked.answer.label}. " if asked.answer.label else ""
    out.print(f"[bold]{escape(label + asked.answer.text)}[/bold]")
    out.print(f"confidence {asked.answer.confidence:.2f}, mode {asked.answer.mode}, student {escape(asked.answer.student)}")
    for line in asked.answer.lines:
        out.print(f"  {line.n}. {escape(line.text)}", soft_wrap=True)
    if explain:
        _explanation(out, asked)
    if asked.kept_as:
        out.print(f"Trace it back: [bold]drag-graph audit {asked.kept_as[:SHORT]}[/bold]")
    elif asked.not_kept:
        out.print(f"[yellow]Not kept: {asked.not_kept}.[/yellow]")


def _explanation(out: Console, asked: "Asked") -> None:
    out.print(f"found by: {asked.how}; {asked.context_tokens} tokens of lines, {asked.answer.prompt_tokens} of prompt")
    if asked.weighed:
        out.print(_weights(asked))
    for option, probability in zip(asked.answer.options, asked.probabilities, strict=False):
        out.print(f"  {probability:6.3f}  {escape(option)}")
    for text, reason in asked.dropped:
        out.print(f"  left out ({reason}): {escape(text)}", soft_wrap=True)


def _weights(asked: "Asked") -> Table:
    """Return why each searched line is where it is: weight = fused x confidence; the lists, each with rank and hops."""
    table = table_of(
        "line", "weight", "fused", "confidence", "hop", "lists (rank, hops)", "said again", wrapped="lists (rank, hops)"
    )
    for line in asked.answer.lines:
        found = asked.weighed.get(line.ref)
        if found is None:
            continue
        lists = ", ".join(f"{way.list} ({way.rank}, {way.hop})" for way in found.ways)
        confidence = "" if found.confidence is None else f"{found.confidence:.2f}"
        numbers = (f"{found.weight:.4f}", f"{found.fused:.4f}", confidence, str(found.hop))
        table.add_row(str(line.n), *numbers, lists, str(found.support) if found.support else "")
    return table


def answers(report: "AnswersReport", *, as_json: bool) -> None:
    """Print a file's answers and, where it has gold ones, the accuracy."""
    if as_json:
        document(report.document())
        return
    table = table_of("answer", "source", "label", "text", "confidence", "correct", wrapped="text")
    for asked in report.answers:
        given = asked.answer
        verdict = {True: "[green]yes[/green]", False: "[red]no[/red]", None: ""}[given.correct]
        table.add_row(
            "not kept" if asked.not_kept else given.id[:SHORT],
            escape(asked.input_id),
            given.label or "",
            escape(given.text[:60]),
            f"{given.confidence:.2f}",
            verdict,
        )
    console().print(table)
    for number, problem in report.rejected:
        typer.echo(f"line {number}: {problem}", err=True)
    console().print(", ".join(f"{name} {value}" for name, value in report.totals().items()))


def listing(queries: Sequence["QuerySummary"], where: str, *, as_json: bool) -> None:
    """Print the stored queries; `where` names the store and namespace."""
    if as_json:
        document([asdict(query) for query in queries])
        return
    if not queries:
        console().print(f"No query is stored in {escape(where)}.")
        return
    table = table_of("query", "question", "domain", "graph", "evidence", "triples", "edges", wrapped="question")
    for query in queries:
        counts = (str(query.evidence), str(query.triples), str(query.edges))
        table.add_row(query.id[:SHORT], escape(query.text), query.domain, query.graph, *counts)
    console().print(table)


def problems(found: Sequence["Problem"], *, as_json: bool) -> None:
    """Print what a check of the store found."""
    if as_json:
        document({"problems": [asdict(problem) for problem in found]})
        return
    if not found:
        console().print("[green]Nothing wrong: every triple has its evidence and teacher call.[/green]")
        return
    table = Table("check", "id", "what is wrong", box=SIMPLE_HEAD)
    for problem in found:
        table.add_row(problem.check, problem.id, escape(problem.message))
    console().print(table)


def audit(values: dict[str, Any], form: "AuditFormat") -> None:
    """Print an audit."""
    if form == "json":
        write(json_module.dumps(values, ensure_ascii=False, indent=2))
    elif form == "prov":
        from drag_graph.service.prov import prov_document

        write(json_module.dumps(prov_document(values), ensure_ascii=False, indent=2))
    elif form == "html":
        from drag_graph.service.audit_page import audit_page

        write(audit_page(values))
    else:
        _audit_tree(values)


def _audit_tree(values: dict[str, Any]) -> None:
    out = console()
    label = f"{values['label']}. " if values["label"] else ""
    tree = Tree(f"[bold]{escape(values['question'])}[/bold]\n-> {escape(label + values['answer'])}")
    for line in values["lines"]:
        gone = "" if line["live"] is not False else " [red](no longer in the graph)[/red]"
        branch = tree.add(f"{line['n']}. {escape(line['text'])}{gone}")
        if line["kind"] == "evidence":
            branch.add(f"evidence [dim]{_judged(line['evidence'])}, {_calls(line['calls'])}[/dim]")
        if line["edge"] and line["edge"].get("contradicts"):
            branch.add(f"contradicted by {', '.join(line['edge']['contradicts'])}")
        for triple in (*line["triples"], *line["not_shown"]):
            words = f"{triple['subject']} | {triple['predicate']} | {triple['object']}"
            why = f"not shown ({triple['why']}): " if "why" in triple else ""
            leaf = branch.add(
                f"{why}triple {escape(words)} [dim]confidence {triple['confidence']:.2f}, {_calls(triple['calls'])}[/dim]"
            )
            _evidence_branch(leaf, triple["evidence"], triple["evidence"]["calls"])
    out.print(tree)
    seen = values["privacy"]
    out.print(f"student {escape(values['student'])}, mode {values['mode']}, confidence {values['confidence']:.2f}")
    out.print(f"teacher calls {len(values['calls'])}, cost ${values['cost_usd']:.4f}, privacy filter {seen.get('filter', '-')}")


def _evidence_branch(branch: Tree, evidence: Mapping[str, Any], calls: list[Mapping[str, Any]]) -> None:
    branch.add(f"evidence {escape(evidence['text'])} [dim]{_judged(evidence)}, {_calls(calls)}[/dim]")


def _judged(evidence: Mapping[str, Any]) -> str:
    score = "" if evidence["llm_score"] is None else f", teacher's score {evidence['llm_score']:g}"
    return f"rank {evidence['rank']}, cosine {evidence['cosine']:.2f}{score}"


def _calls(calls: list[Mapping[str, Any]]) -> str:
    made_by = [f"by {call['model']} ({call['stage']}, ${call['cost_usd']:.4f}, {call['created_at']})" for call in calls]
    return escape(", ".join(made_by) or "from a document")


def subgraph(value: "Subgraph", form: "ShowFormat") -> None:
    """Print a subgraph."""
    if form == "json":
        write(value.model_dump_json(indent=2))
    elif form == "html":
        from drag_graph.service.graph_page import graph_page

        write(graph_page(value))
    elif form == "text":
        from drag_graph.service.auditing import subgraph_text

        write(subgraph_text(value))
    else:
        _subgraph_tables(value)


def _subgraph_tables(value: "Subgraph") -> None:
    out = console()
    out.print(f"[bold]{escape(value.title)}[/bold]  {value.source_id}  graph: {value.graph}")
    heads = ("rank", "subject", "predicate", "object", "confidence", "support", "")
    edges = Table(*heads, title="Edges", box=SIMPLE_HEAD)
    for edge in value.usable_edges:
        words = (escape(edge.subject), escape(", ".join(edge.predicates)), escape(edge.object))
        disputed = "disputed" if edge.contradicts else ""
        edges.add_row(str(edge.rank), *words, f"{edge.confidence:.2f}", str(edge.support), disputed)
    evidence = Table("rank", "evidence", "framing", "cosine", "score", "kept", title="Evidence", box=SIMPLE_HEAD)
    for item in sorted(value.evidence, key=lambda entry: entry.rank):
        judged = "" if item.llm_score is None else f"{item.llm_score:g}"
        kept = "yes" if item.kept else escape(f"no: {item.reason}")
        evidence.add_row(str(item.rank), escape(item.text), item.framing, f"{item.cosine:.2f}", judged, kept)
    calls = Table("stage", "model", "tokens in", "tokens out", "cost", "latency", title="Calls", box=SIMPLE_HEAD)
    for call in value.calls:
        numbers = (str(call.tokens_in), str(call.tokens_out), f"${call.cost_usd:.4f}", f"{call.latency_ms} ms")
        calls.add_row(call.stage, escape(call.model), *numbers)
    for table in (edges, evidence, calls):
        out.print(table)


def estimate(values: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what a distillation would take."""
    if not as_json and not values.get("price_known", True):
        values = {name: "unknown" if name.startswith("price_usd") else value for name, value in values.items()}
    fields(values, as_json=as_json)
