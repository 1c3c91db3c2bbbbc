"""How answers, audits, search results and stored subgraphs are printed."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from drag_graph.ask.answer_notes import notes_on, site_notes
from drag_graph.report.terminal_text import printable

from .output import AS_JSON, document
from .render import SHORT, console, escape, hanging, lists_of, place_of, result, shorten, table, write

if TYPE_CHECKING:
    from drag_graph.app.answer_results import AnswerList, GivenAnswers, SourceList, StoredSubgraph
    from drag_graph.app.searching import SearchResult

    from .service_client import ServiceReply

COLUMNS = ("source", "date", "score", "found by (rank)", "id")


def results(searched: "SearchResult | ServiceReply") -> None:
    """Print the result of a search: its sources, spans and edges."""
    found = searched.to_dict()
    if reason := found.get("reason"):
        console().print(f"{escape(reason[:1].upper() + reason[1:])}.")
        return
    rows = [
        (one["name"], one.get("date", ""), f"{one['score']:.2f}", lists_of(one["lists"]), one["id"][:SHORT])
        for one in found["sources"]
    ]
    table(COLUMNS, rows, wrapped=("source", "found by (rank)"), optional=("date", "id"))
    names = {one["id"]: one["name"] for one in found["sources"]}
    for title in ("Spans", "Edges"):
        lines = found[title.lower()]
        if lines:
            console().print(f"[bold]{title}[/bold]")
        for line in lines:
            _found_line(line, names.get(line["source_id"], ""))


def _found_line(line: Mapping[str, Any], name: str) -> None:
    """Print a line with its score, then its place, the lists that found it, and its claims."""
    place = place_of(line["document"], headings=True) if "document" in line else printable(name)
    claims = ", ".join(id_[:SHORT] for id_ in line.get("claims", ()))
    origin = f"  ({'; '.join(filter(None, (place, lists_of(line['lists']), claims and f'claim {claims}')))})"
    hanging(f"{line['score']:6.2f} ", Text.assemble(printable(line["text"]), (origin, "dim")))


def audit(document: dict[str, Any], form: str) -> None:
    """Print the document of an audit as `table` (a tree), `json`, `prov` or `html`."""
    if form == "html":
        from drag_graph.report.audit_views import why_page

        write(why_page(document))
    elif form == "table":
        from drag_graph.report.audit_tree import audit_notes, audit_tree

        out = console()
        out.print(audit_tree(document))
        for note in audit_notes(document):
            out.print(Text(note))
    else:
        from drag_graph.report.prov import prov_document

        write(json.dumps(prov_document(document) if form == "prov" else document, ensure_ascii=False, indent=2))


TEXT_WIDTH = 60
"""Characters of an answer's text in a table."""


def answer(given: "Mapping[str, Any]", repeated_flags: str, *, explain: bool, not_distilled: "Sequence[str]" = ()) -> None:
    """Print the document of one answer with its context lines. `repeated_flags` are those that `audit` needs to find it."""
    _print_failures(not_distilled)
    if AS_JSON.get():
        document(given)
        return
    out, text, reason = console(), given["answer"], given.get("reason", "")
    label = f"{given['label']}. " if given["label"] else ""
    out.print(f"[bold]{escape(label + text)}[/bold]")
    out.print(f"confidence {given['confidence']:.2f}, mode {given['mode']}, student {escape(given['student'])}")
    for line in given["lines"]:
        _line(line)
    _notes(given)
    if explain:
        _explanation(given)
    if reason and f"{reason}." != text.lower():
        out.print(f"[yellow]{escape(reason[:1].upper() + reason[1:])}.[/yellow]")
    if given["answer_id"]:
        out.print(f"Trace it back: [bold]drag-graph audit {given['answer_id'][:SHORT]}{escape(repeated_flags)}[/bold]")
    elif given.get("not_kept"):
        out.print(f"[yellow]Not kept: {escape(given['not_kept'])}.[/yellow]")


def _line(line: "Mapping[str, Any]") -> None:
    source = line.get("document")
    place = place_of(source) if source else ""
    if source and line["text"].startswith(source["name"]):
        place = f"page {source['page']}" if "page" in source else ""
    marks = ((f" ({printable(mark)})", "dim") for mark in (place, line.get("site")) if mark)
    hanging(f"  {line['n']}.", Text.assemble(printable(line["text"]), *marks))


def _notes(given: "Mapping[str, Any]") -> None:
    """Print the nearest line if nothing is relevant, what the cloud said, what was generalised, and notes on the reply."""
    out = console()
    if nearest := given.get("nearest"):
        below = f"{nearest['score']:.2f}, below the threshold of {nearest['threshold']:.2f} (--relevance)"
        out.print(f"  Nearest line, score {below}: {escape(nearest['text'])}", soft_wrap=True)
    for note in site_notes(given.get("site", {})):
        out.print(f"[yellow]{escape(note)}[/yellow]", soft_wrap=True)
    for item in given.get("generalised", ()):
        out.print(f"  {escape(item['replacement'])}: {escape(item['original'])} ({item['type']})", soft_wrap=True)
    for note in notes_on(given):
        out.print(f"[yellow]{escape(note)}[/yellow]", soft_wrap=True)


def _print_failures(reasons: "Sequence[str]") -> None:
    for reason in reasons:
        typer.echo(f"Not distilled: {reason}", err=True)


def _explanation(given: "Mapping[str, Any]") -> None:
    """Print how the lines were found, the options' probabilities, and what was left out."""
    out = console()
    out.print(f"found by: {given['how']}; {given['context_tokens']} tokens of lines, {given['prompt_tokens']} of prompt")
    if weighed := [line for line in given["lines"] if "lists" in line]:
        _weights(weighed)
    for option, probability in zip(given["options"], given["probabilities"], strict=False):
        out.print(f"  {probability:6.3f}  {escape(option)}")
    for dropped in given["dropped"]:
        out.print(f"  left out ({dropped['reason']}): {escape(dropped['text'])}", soft_wrap=True)


def _weights(lines: "Sequence[Mapping[str, Any]]") -> None:
    """Print the weight of each searched line, and its rank in the lists that found it."""
    rows = []
    for line in lines:
        confidence = "" if line["confidence"] is None else f"{line['confidence']:.2f}"
        rows.append((line["n"], f"{line['score']:.4f}", confidence, lists_of(line["lists"]), line["support"] or ""))
    table(("line", "weight", "confidence", "found by (rank)", "repeated"), rows, wrapped="found by (rank)")


def answers(given: "GivenAnswers") -> None:
    """Print a file's answers and, if it has gold answers, the accuracy. At a site, `sites` names where the lines come from."""
    _print_failures(given.not_distilled)
    result(given, _answer_rows)


def _answer_rows(given: "GivenAnswers") -> None:
    results = given.report.answers
    at_site = any(one.site for one in results)
    verdicts = {True: Text("yes", "green"), False: Text("no", "red"), None: Text("")}
    rows = []
    for one in results:
        stored, kept = one.answer, "not kept" if one.not_kept else (one.stored_id or "-")[:SHORT]
        text = shorten(stored.text, TEXT_WIDTH) + " (unaided)" * one.is_unaided or one.reason
        row = (kept, one.input_id, stored.label or "", text, f"{stored.confidence:.2f}", verdicts[stored.correct])
        sites = ", ".join(dict.fromkeys(line.site or "here" for line in stored.lines))
        rows.append((*row, sites) if at_site else row)
    columns = ("answer", "source", "label", "text", "confidence", "correct")
    if rows:
        table((*columns, "sites") if at_site else columns, rows, wrapped="text", optional=("confidence", "label"))
    for number, problem in given.report.rejected:
        typer.echo(f"line {number}: {problem}", err=True)
    console().print(", ".join(f"{name} {value}" for name, value in given.totals.items()))


def stored_answers(listed: "AnswerList") -> None:
    """Print stored answers."""
    if AS_JSON.get():
        document(listed.to_dict())
    elif not listed.answers:
        console().print(f"There are no answers in {escape(listed.location)}.")
    else:
        rows = []
        for one in listed:
            text = shorten(f"{one.label}. {one.text}" if one.label else one.text, 40)
            rows.append((one.id[:SHORT], one.created_at, one.question, text, f"{one.confidence:.2f}", one.student))
        columns = ("answer", "when", "question", "text", "confidence", "student")
        table(columns, rows, wrapped=("question", "text", "student"), optional=("when", "student"))
    if listed.has_more:
        typer.echo(f"Showing the newest {len(listed)}; --limit shows more.", err=True)


def listing(listed: "SourceList", *, as_json: bool) -> None:
    """Print the stored queries and documents."""
    if len(listed) < listed.total:
        typer.echo(f"Showing {len(listed)} of {listed.total} queries and documents; see --limit and --offset.", err=True)
    if as_json:
        document(listed.to_dict())
        return
    if not listed.subgraphs:
        console().print(f"Nothing is stored in {escape(listed.location)}.")
        return
    columns = ("id", "question or document", "domain", "graph", "evidence", "triples", "edges")
    rows = []
    for one, summary in zip(listed, listed.to_dict(), strict=True):
        domain = "" if one.document else one.query.domain
        rows.append((one.source_id[:SHORT], one.title, domain, *(summary[name] for name in columns[3:])))
    table(columns, rows, wrapped="question or document", optional=("domain", "graph"))


def subgraph(stored: "StoredSubgraph", form: str) -> None:
    """Print a subgraph as `table`, `text` or `json`."""
    if form == "json":
        document(stored.to_dict())
    elif form == "text":
        write(str(stored))
    else:
        _subgraph_tables(stored)


def _subgraph_tables(stored: "StoredSubgraph") -> None:
    from drag_graph.graph.rejected_claims import claims_of_edges
    from drag_graph.report.audit_document import claims_in_words

    value = stored.subgraph
    console().print(f"[bold]{escape(value.title)}[/bold]  {value.source_id}  graph: {value.graph}")
    edges, claims_of = [], claims_of_edges(value, value.usable_edges)
    for edge in value.usable_edges:
        words = (edge.subject, ", ".join(edge.predicates), edge.object)
        claims = claims_in_words(claims_of[edge.id], stored.rejected.ids)
        disputed = "disputed" if edge.contradicts else ""
        edges.append((edge.rank + 1, *words, f"{edge.confidence:.2f}", edge.support, disputed, claims))
    table(
        ("rank", "subject", "predicate", "object", "confidence", "support", "", "claims"),
        edges,
        wrapped=("subject", "predicate", "object"),
        optional=("claims",),
        title="Edges",
    )
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
