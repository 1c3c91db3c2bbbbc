"""All output to people: rich tables and bars; and `--json`, one document on stdout."""

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape as escape_markup
from rich.table import Column, Table
from rich.text import Text

from . import output

if TYPE_CHECKING:
    from drag_graph.ask.ask_result import AnswersReport, Asked
    from drag_graph.model import Answer, Subgraph
    from drag_graph.ports.graph_store import Problem

document = output.document

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


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, wrapped: str | tuple[str, ...] = "", title: str = ""
) -> None:
    """Print a table. Its columns stay on one line, but for those `wrapped`; a cell is escaped unless it is a rich Text.

    A table that is too wide for the terminal is printed as a block a row, so that no number is cut.
    """
    out = console()
    drawn = Table(title=title or None, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), collapse_padding=True)
    for name in columns:
        drawn.add_column(name, no_wrap=name not in (wrapped if isinstance(wrapped, tuple) else (wrapped,)), overflow="fold")
    for row in rows:
        drawn.add_row(*(cell if isinstance(cell, Text) else escape(str(cell)) for cell in row))
    if sum(map(_least, drawn.columns)) + 3 * len(columns) <= out.width or not drawn.row_count:
        out.print(drawn)
        return
    if title:
        out.print(title, style="italic")
    widest = max(map(len, columns))
    for cells in zip(*(column.cells for column in drawn.columns), strict=True):
        for name, cell in zip(columns, cells, strict=True):
            if str(cell):
                out.print(f"[bold]{name:<{widest}}[/bold]  {cell}")
        out.print()


def _least(column: Column) -> int:
    cells = [cell if isinstance(cell, Text) else Text.from_markup(str(cell)) for cell in (column.header, *column.cells)]
    longest = max(cell.cell_len for cell in cells)
    return longest if column.no_wrap else min(longest, LEAST_WRAPPED)


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
    drawn = Table(show_header=False, box=None, pad_edge=False)
    drawn.add_column(no_wrap=True)
    drawn.add_column(overflow="fold")
    for name, value in values.items():
        drawn.add_row(f"[bold]{name}[/bold]", escape(_plain(value)))
    console().print(drawn)


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
    rows = ((name, "" if value is None else value, origins[name]) for name, value in values.items())
    table(("setting", "value", "from"), rows, wrapped="value")


def _masked(value: Any) -> Any:
    return re.sub(r"(?<=://)[^/@\s]+@", "***@", value) if isinstance(value, str) else value


def answer(asked: "Asked", *, as_json: bool, explain: bool) -> None:
    """Print one answer and the lines that it rests on."""
    if as_json:
        document(asked.document(explain=explain))
        return
    out, given = console(), asked.answer
    out.print(f"[bold]{escape(_labelled(given.label, given.text))}[/bold]")
    out.print(f"confidence {given.confidence:.2f}, mode {given.mode}, student {escape(given.student)}")
    documents = asked.documents
    for line in given.lines:
        place = f" [dim]({escape(documents[line.n]['name'])})[/dim]" if line.n in documents else ""
        edge = f" [dim]({escape(line.edge)})[/dim]" if line.edge else ""
        out.print(f"  {line.n}. {escape(line.text)}{place}{edge}", soft_wrap=True)
    of_edge(out, asked.edge)
    for item in asked.disguise.generalised() if asked.disguise and asked.is_reidentified else ():
        out.print(f"  {escape(item['replacement'])}: {escape(item['original'])} ({item['type']})", soft_wrap=True)
    if explain:
        _explanation(out, asked)
    if asked.reason:
        out.print(f"[yellow]{escape(asked.reason[:1].upper() + asked.reason[1:])}.[/yellow]")
    if asked.kept_as:
        out.print(f"Trace it back: [bold]drag-graph audit {asked.kept_as[:SHORT]}[/bold]")
    elif asked.not_kept:
        out.print(f"[yellow]Not kept: {asked.not_kept}.[/yellow]")


def of_edge(out: Console, told: "Mapping[str, Any]") -> None:
    """Print what is to say of an answer at an edge."""
    said = [f"Not sure locally: {told['why']}"] if told and not told["sure"] else []
    said += [f"The cloud did not help: {told['problem']}"] if told.get("problem") else []
    said += [f"Missing from {one['edge']}: {one['reason']}" for one in told.get("missing", ())]
    for one in said:
        out.print(f"[yellow]{escape(one)}.[/yellow]", soft_wrap=True)


def _labelled(label: str | None, text: str) -> str:
    return f"{label}. {text}" if label else text


def _explanation(out: Console, asked: "Asked") -> None:
    out.print(f"found by: {asked.how}; {asked.context_tokens} tokens of lines, {asked.answer.prompt_tokens} of prompt")
    if asked.weighed:
        _weights(asked)
    for option, probability in zip(asked.answer.options, asked.probabilities, strict=False):
        out.print(f"  {probability:6.3f}  {escape(option)}")
    for text, reason in asked.dropped:
        out.print(f"  left out ({reason}): {escape(text)}", soft_wrap=True)


def _weights(asked: "Asked") -> None:
    """Print why each searched line is where it is: weight = fused x confidence; the lists, each with rank and hops."""
    rows = []
    for line in asked.answer.lines:
        if found := asked.weighed.get(line.ref):
            lists = ", ".join(f"{way.list} ({way.rank}, {way.hop})" for way in found.ways)
            confidence = "" if found.confidence is None else f"{found.confidence:.2f}"
            numbers = (f"{found.weight:.4f}", f"{found.fused:.4f}", confidence, found.hop)
            rows.append((line.n, *numbers, lists, found.support or ""))
    columns = ("line", "weight", "fused", "confidence", "hop", "lists (rank, hops)", "said again")
    table(columns, rows, wrapped="lists (rank, hops)")


def answers(report: "AnswersReport", *, as_json: bool) -> None:
    """Print a file's answers and, where it has gold ones, the accuracy. At an edge, `edges` names those that gave the lines."""
    if as_json:
        document(report.document())
        return
    at_edge = any(asked.edge for asked in report.answers)
    verdicts = {True: Text("yes", "green"), False: Text("no", "red"), None: Text("")}
    rows = []
    for asked in report.answers:
        given, kept = asked.answer, "not kept" if asked.not_kept else (asked.kept_as or "-")[:SHORT]
        text = f"{given.text[:60]} (unaided)" if asked.is_unaided else given.text[:60] or asked.reason
        edges = ", ".join(dict.fromkeys(line.edge or "here" for line in given.lines))
        row = (kept, asked.input_id, given.label or "", text, f"{given.confidence:.2f}", verdicts[given.correct])
        rows.append((*row, edges) if at_edge else row)
    columns = ("answer", "source", "label", "text", "confidence", "correct")
    table((*columns, "edges") if at_edge else columns, rows, wrapped="text")
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
        rows = []
        for one in found:
            said, sure = _labelled(one.label, one.text[:40]), f"{one.confidence:.2f}"
            rows.append((one.id[:SHORT], one.created_at, one.question, said, sure, one.student))
        table(("answer", "when", "question", "text", "confidence", "student"), rows, wrapped="question")
    if more:
        typer.echo(f"The newest {len(found)} are shown; --limit shows more.", err=True)


def listing(queries: Sequence["Subgraph"], where: str, total: int, *, as_json: bool) -> None:
    """Print stored queries and documents; `where` names the store and namespace, `total` says how many there are."""
    if len(queries) < total:
        typer.echo(f"{len(queries)} of {total} queries and documents; --limit and --offset show others.", err=True)
    if as_json:
        document([_summary(query) for query in queries])
        return
    if not queries:
        console().print(f"Nothing is stored in {escape(where)}.")
        return
    columns = ("id", "question or document", "domain", "graph", "evidence", "triples", "edges")
    rows = (
        (
            one.source_id[:SHORT],
            one.title,
            "" if one.document else one.query.domain,
            *(_summary(one)[name] for name in columns[3:]),
        )
        for one in queries
    )
    table(columns, rows, wrapped="question or document")


def _summary(subgraph: "Subgraph") -> dict[str, Any]:
    own, document = ("graph", "status", "settings_hash"), subgraph.document
    named = ("id", "name", "uri") if document else ("id", "text", "options", "domain")
    return {
        "kind": "document" if document else "query",
        **{name: getattr(subgraph.source, name) for name in named},
        **{name: getattr(subgraph, name) for name in own},
        **{part: len(getattr(subgraph, part)) for part in ("evidence", "triples", "edges")},
        "created_at": subgraph.created_at,
    }


def problems(found: Sequence["Problem"], *, as_json: bool) -> None:
    """Print what a check of the store found."""
    if as_json:
        document({"problems": [asdict(problem) for problem in found]})
    elif not found:
        console().print("[green]Nothing wrong: every triple has its evidence and teacher call.[/green]")
    else:
        columns = ("check", "id", "what is wrong")
        table(columns, ((item.check, item.id, item.message) for item in found), wrapped="what is wrong")


def subgraph(value: "Subgraph", form: str) -> None:
    """Print a subgraph."""
    if form == "json":
        write(value.model_dump_json(indent=2))
    elif form == "html":
        from drag_graph.report.graph_page import graph_page

        write(graph_page(value))
    elif form == "text":
        from drag_graph.report.audit_document import subgraph_text

        write(subgraph_text(value))
    else:
        _subgraph_tables(value)


def _subgraph_tables(value: "Subgraph") -> None:
    console().print(f"[bold]{escape(value.title)}[/bold]  {value.source_id}  graph: {value.graph}")
    edges = []
    for edge in value.usable_edges:
        words = (edge.subject, ", ".join(edge.predicates), edge.object)
        edges.append((edge.rank + 1, *words, f"{edge.confidence:.2f}", edge.support, disputed(edge.contradicts)))
    table(("rank", "subject", "predicate", "object", "confidence", "support", ""), edges, wrapped="predicate", title="Edges")
    evidence = []
    for item in sorted(value.evidence, key=lambda entry: entry.rank):
        judged = "" if item.llm_score is None else f"{item.llm_score:g}"
        kept = "yes" if item.kept else f"no: {item.reason}"
        evidence.append((item.rank + 1, item.text, item.framing, f"{item.cosine:.2f}", judged, kept))
    table(("rank", "evidence", "framing", "cosine", "score", "kept"), evidence, wrapped="evidence", title="Evidence")
    calls = [
        (call.stage, call.model, call.tokens_in, call.tokens_out, f"${call.cost_usd:.4f}", f"{call.latency_ms} ms")
        for call in value.calls
    ]
    table(("stage", "model", "tokens in", "tokens out", "cost", "latency"), calls, title="Calls")


def disputed(contradicts: Sequence[str]) -> str:
    """Return the word that marks an edge which others contradict."""
    return "disputed" if contradicts else ""


def estimate(values: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what a distillation would take."""
    if not as_json:
        values = dict(values)
        for line in values.pop("rejected_lines", ()):
            typer.echo(f"line {line['line']} rejected: {line['reason']}", err=True)
        if not values.get("price_known", True):
            values = {name: "unknown" if name.startswith("price_usd") else value for name, value in values.items()}
    fields(values, as_json=as_json)
