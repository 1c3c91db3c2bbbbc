"""`drag-graph privacy …`: what the gate would send, before anything is sent."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from . import options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from drag_graph.settings import Settings

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help="What the privacy gate does (docs/privacy.md).")
Level = Annotated[Literal["standard", "strict"], typer.Option("--level", help="What counts as private.")]


@app.command()
@options.with_settings("namespace", "domain", "rewriter", "rewriter_base_url", to_file=True)
def check(
    settings: "Settings",
    file: Annotated[Path, typer.Argument(help="Questions, as `distill` reads them; - is standard input.", show_default=False)],
    level: Level = "standard",
    why: Annotated[bool, typer.Option("--why", help="Also say what was seen and left, and why.")] = False,
    page: Annotated[bool, typer.Option("--page", help="Print a web page.")] = False,
    json: options.Json = False,
) -> None:
    """Show what would be sent of each question: original and outgoing text, each replacement, and what would be withheld.

    Nobody is asked, and nothing is stored. The output holds the originals.

    \b
    Examples:
      drag-graph privacy check questions.jsonl
      drag-graph privacy check questions.jsonl --level strict --why --page -o check.html
    """
    from drag_graph.app.questions import question_lines
    from drag_graph.compose.model_factories import make_reworder
    from drag_graph.privacy.gate_opening import open_gate
    from drag_graph.privacy.preview import entries, totals

    from . import render

    lines = list(question_lines(file, settings))
    gate = open_gate(level, reworder=make_reworder(settings))
    assert gate is not None
    found = list(entries(gate, lines, why=why))
    bad = [line for line in lines if line.query is None]
    for line in bad:
        typer.echo(f"{file}:{line.number}: {line.problem}", err=True)
    document: dict[str, Any] = {"queries": found, "totals": totals(found, len(bad))}
    if json:
        render.document(document)
    elif page:
        from drag_graph.report.privacy_page import privacy_page

        render.write(privacy_page(document))
    else:
        _table(document)
    raise typer.Exit(1 if bad or document["totals"]["refused"] else 0)


@app.command()
@options.with_settings(*options.STORE, "ledger")
def reveal(
    settings: "Settings",
    answer_id: Annotated[str, typer.Argument(help="The answer's id, how it begins, or its question's input id.")],
    json: options.Json = False,
) -> None:
    """Put back what the gate took out of a kept answer and its question, from the vault, and list it.

    \b
    Example:
      drag-graph privacy reveal 3f2a
    """
    from drag_graph.compose.model_factories import asked_as, opened_vault
    from drag_graph.compose.session import open_store
    from drag_graph.manage.short_ids import full_id
    from drag_graph.privacy.reveal import revealed

    from . import render

    with open_store(settings, create=False, read_only=True) as graph:
        whole = full_id(graph, "answer", answer_id, asked_as=asked_as(settings, answer_id))
        (answer,) = graph.answers(prefix=whole)
    with opened_vault(settings) as vault:
        document = revealed(answer, vault)
    if json:
        render.document(document)
        return
    for one in document["originals"]:
        rows = [("question", one["question"]), *((f"option {n}", text) for n, text in enumerate(one["options"], 1))]
        rows += [("answer", one["answer"]), *((f"line {line['n']}", line["text"]) for line in one["lines"])]
        render.table(("", "as it was"), rows, wrapped="as it was")
        generalised = [tuple(item.values()) for item in one["generalised"]]
        render.table(("original", "type", "detector", "replacement"), generalised, wrapped="original")
    if not document["originals"]:
        render.console().print("Nothing was generalised for this answer.")


@app.command()
@options.with_settings(*options.STORE, "ledger")
def scan(
    settings: "Settings",
    files: Annotated[list[Path] | None, typer.Argument(help="Exported files to look through, too.")] = None,
    level: Level = "standard",
    json: options.Json = False,
) -> None:
    """List where the store, the ledger and exported files hold what the gate would have taken out.

    Places and types are printed, not the texts.

    \b
    Example:
      drag-graph privacy scan graph.jsonl
    """
    from collections import Counter

    from drag_graph.privacy.gate_opening import open_gate
    from drag_graph.privacy.scan import scan as scanned

    from . import render

    gate = open_gate(level)
    assert gate is not None
    found = list(scanned(gate, _documents(settings, files or [])))
    counts = Counter((item["place"], item["type"]) for item in found)
    totals = [{"place": place, "type": kind, "number": number} for (place, kind), number in sorted(counts.items())]
    if json:
        render.document({"findings": found, "totals": totals})
        return
    names = ("place", "name", "field", "start", "end", "type", "detector")
    render.table(names, ([item[name] for name in names] for item in found), wrapped="field")
    for item in totals:
        render.console().print(render.escape(f"{item['place']}: {item['number']} {item['type']}"))
    if not found:
        render.console().print("Nothing was found.")


def _documents(settings: "Settings", files: list[Path]) -> "Iterator[tuple[str, str, Any]]":
    """Yield all that is stored, and the lines of the files."""
    from drag_graph.compose.session import open_ledger, open_store
    from drag_graph.privacy.scan import file_documents

    if settings.uses_neo4j or Path(settings.store).expanduser().exists():
        with open_store(settings, create=False, read_only=True) as graph:
            for record in graph.records(vectors=False):
                yield "store", str(record.get("id", "")), record
    if settings.ledger_path.exists():
        with open_ledger(settings, read_only=True) as ledger:
            for _, name, row in ledger.rows():
                yield "ledger", name, row
    for file in files:
        yield from file_documents(file)


def _table(document: dict[str, Any]) -> None:
    from drag_graph.report.privacy_page import explained, in_words

    from . import render

    rows = []
    for entry in document["queries"]:
        after = f"({entry['why']})" if entry["refused"] else _text(entry["outgoing"], entry["outgoing_options"])
        rows.append((entry["line"], _text(entry["original"], entry["options"]), after, "\n".join(explained(entry))))
    render.table(("line", "original", "outgoing", "why"), rows, wrapped=("original", "outgoing", "why"))
    render.console().print(f"{in_words(document['totals'])}.")


def _text(question: str, choices: list[str]) -> str:
    from drag_graph.model import labelled

    return "\n".join((question, *labelled(choices)))
