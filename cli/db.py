"""`drag-graph db …`: the store itself."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import options, render

if TYPE_CHECKING:
    from drag_graph.app.store_group import Verification

app = typer.Typer(no_args_is_help=True)

Home = Annotated[Path | None, typer.Option("--home", help="Folder of the server.", show_default=".drag-graph/neo4j")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


@app.command()
@options.with_settings()
def up(
    graph: "options.Graph",
    version: Annotated[
        Literal["5.26", "2026"], typer.Option("--version", help="5.26 needs Java 17, 2026 needs Java 21.")
    ] = "5.26",
    home: Home = None,
    bolt_port: Annotated[int, typer.Option("--bolt-port", min=1, max=65535)] = 7687,
    http_port: Annotated[int, typer.Option("--http-port", min=1, max=65535, help="Port of Neo4j Browser.")] = 7474,
    heap: Annotated[str, typer.Option("--heap", help="Heap size of the server: 512m, 4g.")] = "1g",
    page_cache: Annotated[
        str, typer.Option("--page-cache", help="Page cache size. Ideally large enough for the whole store.")
    ] = "128m",
) -> None:
    """Start a Neo4j server on this machine without Docker. It needs Java and Maven, and downloads Neo4j the first time.

    The password is NEO4J_PASSWORD. Without one, a password is generated, printed and kept in the server's folder. Then use
    --store bolt://127.0.0.1:7687 with every command.

    Examples:
      NEO4J_PASSWORD=… drag-graph db up
      drag-graph db up --heap 4g --page-cache 8g
    """
    with render.waiting(f"Starting Neo4j {version}") as show:
        ports = {"bolt_port": bolt_port, "http_port": http_port}
        server = graph.store.up(version, home=home, heap=heap, page_cache=page_cache, on_progress=show, **ports)
    render.fields(server.to_dict())


@app.command()
@options.with_settings()
def down(graph: "options.Graph", home: Home = None) -> None:
    """Stop the Neo4j server that `db up` started. Its data stay.

    Example: drag-graph db down
    """
    render.fields(graph.store.down(home=home).to_dict())


@app.command()
@options.with_settings(*options.STORE)
def status(graph: "options.Graph", home: Home = None) -> None:
    """Show where the store is, whether it answers, what is in it, and which migrations are applied.

    Example: drag-graph db status --store bolt://127.0.0.1:7687
    """
    render.fields(graph.store.status(home=home).to_dict())


@app.command()
@options.with_settings("store")
def migrate(graph: "options.Graph") -> None:
    """Upgrade the store's schema to this version of drag-graph.

    Commands that write to the store do this by themselves. It cannot be undone: an older drag-graph refuses the store
    afterwards. Make a copy first if somebody still uses an older version.

    `drag-graph db status` lists pending migrations.

    Example: drag-graph db migrate
    """
    render.fields(graph.store.migrate().to_dict())


@app.command()
@options.with_settings(*options.STORE)
def verify(graph: "options.Graph") -> None:
    """Check that everything has its provenance, no reference dangles and no content was changed.

    Exits with 3 and lists the problems if there are any.

    Example: drag-graph db verify --json
    """
    from drag_graph.errors import StoreUnfit

    verification = graph.store.verify()
    render.result(verification, _print_problems)
    raise typer.Exit(0 if verification else StoreUnfit.exit_code)


def _print_problems(verification: "Verification") -> None:
    if verification:
        render.console().print("[green]No problems found: every triple has its evidence and teacher call.[/green]")
    else:
        rows = ((item.check, item.id, item.message) for item in verification.problems)
        render.table(("check", "id", "problem"), rows, wrapped="problem")


@app.command()
@options.with_settings(*options.STORE)
def erase(
    graph: "options.Graph",
    query_id: Annotated[
        str, typer.Option("--query-id", help="Id of a query or document, or its first digits (at least 4).")
    ] = "",
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where", help="domain=, model=, input_id= or created-before=. All conditions must hold.", metavar="FIELD=VALUE"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be erased.")] = False,
    yes: Yes = False,
    keep_recorded: Annotated[
        bool, typer.Option("--keep-recorded", help="Keep the teacher's recorded replies, so that asking again is free.")
    ] = False,
    no_compact: Annotated[
        bool, typer.Option("--no-compact", help="Skip compaction: faster, but deleted text remains in the file.")
    ] = False,
) -> None:
    """Erase queries and documents with everything that rests on them.

    This includes quarantined queries that only the ledger knows. --where model=NAME erases all sources with a call of that
    model.

    The ledger's records of these queries are erased too, except replies that other queries use. An embedded store is then
    compacted, because its file keeps deleted text. Backups and exports are not changed.

    Example: drag-graph db erase --query-id 9b1c --yes
    """
    report = graph.store.erase(
        query_id,
        where=where or (),
        dry_run=dry_run,
        keep_recorded=keep_recorded,
        compact=not no_compact,
        confirm=None if yes else _confirm,
    )
    render.fields(report.to_dict())


def _confirm(question: str) -> bool:
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        return False
    finally:
        if not sys.stdin.isatty():  # nobody has pressed Enter behind the question
            typer.echo(err=True)
