"""All output to people: rich tables and bars; and `--json`, one document on stdout."""

import json as json_module
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape as escape_markup
from rich.table import Column, Table
from rich.text import Text
from rich.tree import Tree

if TYPE_CHECKING:
    from drag_graph.ask.ask import AnswersReport, Asked
    from drag_graph.model import Answer, Subgraph
    from drag_graph.ports.store import Problem

    from .answers import AuditFormat, ShowFormat

SHORT = 12
"""Digits of an id in a table; every command takes a short id."""


_TURNING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of what follows."""
LEAST_WRAPPED = 20
"""Columns that a text which may wrap has at least."""
PIPED_WIDTH = 120
"""Columns of a table that goes into a pipe or a file."""


def escape(text: str) -> str:
    """Return a text that a terminal shows as it is: no markup, and no characters that steer the terminal or the direction."""
    shown = "".join(
        f"\\u{ord(one):04x}" if one in _TURNING or (unicodedata.category(one) == "Cc" and one not in "\n\t") else one
        for one in text
    )
    return escape_markup(shown)


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


def put(table: Table) -> None:
    """Print a table; one that is too wide for the terminal as a block a row, so that no number is cut."""
    out = console()
    least = sum(_least(column) for column in table.columns) + 3 * len(table.columns)
    if least <= out.width or not table.row_count:
        out.print(table)
        return
    if table.title:
        out.print(table.title, style="italic")
    names = [str(column.header) for column in table.columns]
    widest = max(map(len, names))
    for row in zip(*(column.cells for column in table.columns), strict=True):
        for name, cell in zip(names, row, strict=True):
            if str(cell):
                out.print(f"[bold]{name:<{widest}}[/bold]  {cell}")
        out.print()


def _least(column: Column) -> int:
    cells = [str(column.header), *(Text.from_markup(str(cell)).plain for cell in column.cells)]
    longest = max(cell_len(cell) for cell in cells)
    return longest if column.no_wrap else min(longest, LEAST_WRAPPED)


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
        table.add_row(f"[bold]{name}[/bold]", escape(_plain(value)))
    put(table)


def _plain(value: Any) -> str:
    """Return a value of a document in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(entry)}" for key, entry in value.items()) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(entry) for entry in value) or "none"
    return "-" if value in (None, "") else str(value)


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
    put(table)


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
    if asked.reason:
        out.print(f"[yellow]{escape(asked.reason[:1].upper() + asked.reason[1:])}.[/yellow]")
    if asked.kept_as:
        out.print(f"Trace it back: [bold]drag-graph audit {asked.kept_as[:SHORT]}[/bold]")
    elif asked.not_kept:
        out.print(f"[yellow]Not kept: {asked.not_kept}.[/yellow]")


def _explanation(out: Console, asked: "Asked") -> None:
    out.print(f"found by: {asked.how}; {asked.context_tokens} tokens of lines, {asked.answer.prompt_tokens} of prompt")
    if asked.weighed:
        put(_weights(asked))
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
            "not kept" if asked.not_kept else (asked.kept_as or "-")[:SHORT],
            escape(asked.input_id),
            given.label or "",
            escape(given.text[:60] or asked.reason),
            f"{given.confidence:.2f}",
            verdict,
        )
    put(table)
    for number, problem in report.rejected:
        typer.echo(f"line {number}: {problem}", err=True)
    console().print(", ".join(f"{name} {value}" for name, value in report.totals().items()))


def kept_answers(found: Sequence["Answer"], where: str, *, more: bool, as_json: bool) -> None:
    """Print answers; `where` names the store and namespace, `more` says that there are others."""
    if as_json:
        document([answer.model_dump(exclude={"snapshot"}) for answer in found])
    elif not found:
        console().print(f"No answer is kept in {escape(where)}.")
    else:
        table = table_of("answer", "when", "question", "text", "confidence", "student", wrapped="question")
        for one in found:
            said = escape((f"{one.label}. " if one.label else "") + one.text[:40])
            question, student = escape(one.question), escape(one.student)
            table.add_row(one.id[:SHORT], one.created_at, question, said, f"{one.confidence:.2f}", student)
        put(table)
    if more:
        typer.echo(f"The newest {len(found)} are shown; --limit shows more.", err=True)


def listing(queries: Sequence["Subgraph"], where: str, total: int, *, as_json: bool) -> None:
    """Print stored queries; `where` names the store and namespace, `total` says how many there are."""
    if len(queries) < total:
        typer.echo(f"{len(queries)} of {total} queries; --limit and --offset show others.", err=True)
    if as_json:
        document([_summary(query) for query in queries])
        return
    if not queries:
        console().print(f"No query is stored in {escape(where)}.")
        return
    table = table_of("query", "question", "domain", "graph", "evidence", "triples", "edges", wrapped="question")
    for query in map(_summary, queries):
        counts = (str(query[part]) for part in ("evidence", "triples", "edges"))
        table.add_row(query["id"][:SHORT], escape(query["text"]), query["domain"], query["graph"], *counts)
    put(table)


def _summary(subgraph: "Subgraph") -> dict[str, Any]:
    query, own = subgraph.query, ("graph", "status", "settings_hash")
    return {
        **{name: getattr(query, name) for name in ("id", "text", "options", "domain")},
        **{name: getattr(subgraph, name) for name in own},
        **{part: len(getattr(subgraph, part)) for part in ("evidence", "triples", "edges")},
        "created_at": subgraph.created_at,
    }


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
    put(table)


def audit(values: dict[str, Any], form: "AuditFormat") -> None:
    """Print an audit."""
    if form == "json":
        write(json_module.dumps(values, ensure_ascii=False, indent=2))
    elif form == "prov":
        from drag_graph.report.prov import prov_document

        write(json_module.dumps(prov_document(values), ensure_ascii=False, indent=2))
    elif form == "html":
        from drag_graph.report.audit_page import audit_page

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
    return f"rank {evidence['rank'] + 1}, cosine {evidence['cosine']:.2f}{score}"


def _calls(calls: list[Mapping[str, Any]]) -> str:
    made_by = [f"by {call['model']} ({call['stage']}, ${call['cost_usd']:.4f}, {call['created_at']})" for call in calls]
    return escape(", ".join(made_by) or "from a document")


def subgraph(value: "Subgraph", form: "ShowFormat") -> None:
    """Print a subgraph."""
    if form == "json":
        write(value.model_dump_json(indent=2))
    elif form == "html":
        from drag_graph.report.graph_page import graph_page

        write(graph_page(value))
    elif form == "text":
        from drag_graph.report.auditing import subgraph_text

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
        edges.add_row(str(edge.rank + 1), *words, f"{edge.confidence:.2f}", str(edge.support), disputed)
    evidence = Table("rank", "evidence", "framing", "cosine", "score", "kept", title="Evidence", box=SIMPLE_HEAD)
    for item in sorted(value.evidence, key=lambda entry: entry.rank):
        judged = "" if item.llm_score is None else f"{item.llm_score:g}"
        kept = "yes" if item.kept else escape(f"no: {item.reason}")
        evidence.add_row(str(item.rank + 1), escape(item.text), item.framing, f"{item.cosine:.2f}", judged, kept)
    calls = Table("stage", "model", "tokens in", "tokens out", "cost", "latency", title="Calls", box=SIMPLE_HEAD)
    for call in value.calls:
        numbers = (str(call.tokens_in), str(call.tokens_out), f"${call.cost_usd:.4f}", f"{call.latency_ms} ms")
        calls.add_row(call.stage, escape(call.model), *numbers)
    for table in (edges, evidence, calls):
        put(table)


def estimate(values: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what a distillation would take."""
    rejected = [] if as_json else values.get("rejected_lines", ())
    if not as_json:
        values = {name: value for name, value in values.items() if name != "rejected_lines"}
    for line in rejected:
        typer.echo(f"line {line['line']} rejected: {line['reason']}", err=True)
    if not as_json and not values.get("price_known", True):
        values = {name: "unknown" if name.startswith("price_usd") else value for name, value in values.items()}
    fields(values, as_json=as_json)
