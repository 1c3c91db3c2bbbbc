"""How answers, lists of answers and stored subgraphs are printed."""

from typing import TYPE_CHECKING

import typer
from rich.text import Text

from drag_graph.report.terminal_text import printable

from .render import SHORT, console, disputed, document, escape, hanging, lists_of, place_of, shorten, table, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from drag_graph.app.answer_results import AnswerList, GivenAnswer, GivenAnswers, SourceList, StoredSubgraph
    from drag_graph.ask.ask_result import AskResult

TEXT_WIDTH = 60
"""Characters of an answer's text in a table."""


def answer(given: "GivenAnswer", repeated_flags: str, *, as_json: bool, explain: bool) -> None:
    """Print one answer with its context lines. `repeated_flags` are those that `audit` needs to find it."""
    _print_failures(given.not_distilled)
    if as_json:
        document(given.to_dict(explain=explain))
        return
    out, result = console(), given.result
    out.print(f"[bold]{escape(str(given))}[/bold]")
    out.print(f"confidence {given.confidence:.2f}, mode {result.answer.mode}, student {escape(result.answer.student)}")
    _lines(given)
    _notes(result)
    if explain:
        _explanation(result)
    if given.reason and f"{given.reason}." != given.text.lower():
        out.print(f"[yellow]{escape(given.reason[:1].upper() + given.reason[1:])}.[/yellow]")
    if result.stored_id:
        out.print(f"Trace it back: [bold]drag-graph audit {result.stored_id[:SHORT]}{escape(repeated_flags)}[/bold]")
    elif result.not_kept:
        out.print(f"[yellow]Not kept: {escape(result.not_kept)}.[/yellow]")


def _lines(given: "GivenAnswer") -> None:
    documents = given.result.documents
    for line in given.lines:
        place = place_of(documents[line.n]) if line.n in documents else ""
        if line.opening.startswith(documents.get(line.n, {}).get("name", "\n")):  # the text begins with the name
            place = place.partition(", page ")[2] and f"page {documents[line.n]['page']}"
        marks = ((f" ({printable(mark)})", "dim") for mark in (place, line.site) if mark)
        hanging(f"  {line.n}.", Text.assemble(printable(line.text), *marks))


def _notes(result: "AskResult") -> None:
    """Print the nearest line if nothing is relevant, what the cloud said, what was generalised, and notes on the reply."""
    out = console()
    if nearest := result.nearest:
        below = f"{nearest.score:.2f}, below the threshold of {nearest.threshold:.2f} (--relevance)"
        out.print(f"  Nearest line, score {below}: {escape(nearest.text)}", soft_wrap=True)
    _print_site(result)
    for item in result.disguise.generalised() if result.disguise and result.is_reidentified else ():
        out.print(f"  {escape(item['replacement'])}: {escape(item['original'])} ({item['type']})", soft_wrap=True)
    for note in result.notes:
        out.print(f"[yellow]{escape(note)}[/yellow]", soft_wrap=True)


def _print_failures(reasons: "Sequence[str]") -> None:
    for reason in reasons:
        typer.echo(f"Not distilled: {reason}", err=True)


def _print_site(result: "AskResult") -> None:
    from drag_graph.report.audit_document import site_notes

    for note in site_notes(result.site):
        console().print(f"[yellow]{escape(note)}[/yellow]", soft_wrap=True)


def _explanation(result: "AskResult") -> None:
    """Print how the lines were found, the options' probabilities, and what was left out."""
    out = console()
    out.print(f"found by: {result.how}; {result.context_tokens} tokens of lines, {result.answer.prompt_tokens} of prompt")
    if result.weighed:
        _weights(result)
    for option, probability in zip(result.answer.options, result.probabilities, strict=False):
        out.print(f"  {probability:6.3f}  {escape(option)}")
    for text, reason in result.dropped:
        out.print(f"  left out ({reason}): {escape(text)}", soft_wrap=True)


def _weights(result: "AskResult") -> None:
    """Print the weight of each searched line, and its rank in the lists that found it."""
    rows = []
    for line in result.answer.lines:
        if weighed := result.weighed.get(line.ref):
            confidence = "" if weighed.confidence is None else f"{weighed.confidence:.2f}"
            rows.append((line.n, f"{weighed.weight:.4f}", confidence, lists_of(weighed.ranks), weighed.support or ""))
    table(("line", "weight", "confidence", "found by (rank)", "repeated"), rows, wrapped="found by (rank)")


def answers(given: "GivenAnswers", *, as_json: bool) -> None:
    """Print a file's answers and, if it has gold answers, the accuracy. At a site, `sites` names where the lines come from."""
    _print_failures(given.not_distilled)
    if as_json:
        document(given.to_dict())
        return
    results = given.report.answers
    at_site = any(result.site for result in results)
    verdicts = {True: Text("yes", "green"), False: Text("no", "red"), None: Text("")}
    rows = []
    for result in results:
        stored, kept = result.answer, "not kept" if result.not_kept else (result.stored_id or "-")[:SHORT]
        text = shorten(stored.text, TEXT_WIDTH) + " (unaided)" * result.is_unaided or result.reason
        row = (kept, result.input_id, stored.label or "", text, f"{stored.confidence:.2f}", verdicts[stored.correct])
        sites = ", ".join(dict.fromkeys(line.site or "here" for line in stored.lines))
        rows.append((*row, sites) if at_site else row)
    columns = ("answer", "source", "label", "text", "confidence", "correct")
    table((*columns, "sites") if at_site else columns, rows, wrapped="text", optional=("confidence", "label"))
    for number, problem in given.report.rejected:
        typer.echo(f"line {number}: {problem}", err=True)
    console().print(", ".join(f"{name} {value}" for name, value in given.totals.items()))


def stored_answers(listed: "AnswerList", *, as_json: bool) -> None:
    """Print stored answers."""
    if as_json:
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
    """Print a subgraph as `table`, `text`, `json` or `html`."""
    if form == "json":
        document(stored.to_dict())
    elif form == "html":
        write(stored.to_html())
    elif form == "text":
        write(str(stored))
    else:
        _subgraph_tables(stored)


def _subgraph_tables(stored: "StoredSubgraph") -> None:
    from drag_graph.graph.rejected_claims import claims_of_edge

    value = stored.subgraph
    console().print(f"[bold]{escape(value.title)}[/bold]  {value.source_id}  graph: {value.graph}")
    edges = []
    for edge in value.usable_edges:
        words = (edge.subject, ", ".join(edge.predicates), edge.object)
        claims = ", ".join(id_[:SHORT] for id_ in claims_of_edge(edge, value.triples))
        edges.append((edge.rank + 1, *words, f"{edge.confidence:.2f}", edge.support, disputed(edge.contradicts), claims))
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
