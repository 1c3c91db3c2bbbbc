"""`drag-graph db …`: the store itself."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options

if TYPE_CHECKING:
    from drag_graph.ports import GraphStore

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The store: start and stop a Neo4j, look at it, migrate, check, erase.",
)

Home = Annotated[Path | None, typer.Option("--home", help="The server's folder.", show_default=".drag-graph/neo4j")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


class Version(StrEnum):
    """The Neo4j versions that `db up` can start."""

    lts = "5.26"
    current = "2026"


@app.command()
def up(
    version: Annotated[Version, typer.Option("--version", help="5.26 needs Java 17, 2026 needs Java 21.")] = Version.lts,
    home: Home = None,
    bolt_port: Annotated[int, typer.Option("--bolt-port", min=1, max=65535)] = 7687,
    http_port: Annotated[int, typer.Option("--http-port", min=1, max=65535, help="Neo4j Browser.")] = 7474,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Start a real Neo4j on this machine without Docker (Java and Maven; the first time fetches it).

    The password is NEO4J_PASSWORD, or one that is made, printed and kept in the server's folder. Then:
    --store bolt://127.0.0.1:7687

    Example: NEO4J_PASSWORD=… drag-graph db up
    """
    from drag_graph.service.server import server_up

    from . import render

    del debug
    settings = options.settings_of({})
    with render.waiting(f"Starting Neo4j {version.value}", quiet=json) as say:
        started = server_up(settings, version.value, home, bolt_port=bolt_port, http_port=http_port, on_progress=say)
    render.fields(started, as_json=json)


@app.command()
def down(home: Home = None, json: options.Json = False, debug: options.Debug = False) -> None:
    """Stop the Neo4j that `db up` started; its data stay.

    Example: drag-graph db down
    """
    from drag_graph.service.server import server_down

    from . import render

    del debug
    render.fields(server_down(home), as_json=json)


@app.command()
def status(
    home: Home = None,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say where the store is, whether it answers, what is in it, and which migrations it has.

    Example: drag-graph db status --store bolt://127.0.0.1:7687
    """
    from drag_graph.bootstrap import open_store
    from drag_graph.errors import StoreError
    from drag_graph.service.server import server_state

    from . import render

    del debug
    settings = options.settings_of({"store": store, "namespace": namespace})
    server = server_state(home)
    try:
        with open_store(settings, create=False, migrate=False, read_only=True) as graph:
            document = _contents(graph)
    except StoreError as error:
        if not server["running"]:
            raise
        document = {"store": f"{error} ({error.hint})"}
    document["server"] = server
    render.fields(document, as_json=json)


def _contents(graph: "GraphStore") -> dict[str, Any]:
    """Return what the store says of itself."""
    migrations = graph.migrations()
    pending = [item for item in migrations if not item.applied_at]
    embedder = None if pending else graph.embedder()
    return {
        "store": graph.location,
        "namespace": graph.namespace,
        "embedder": embedder[0] if embedder else None,
        "migrations": {"applied": len(migrations) - len(pending), "pending": [item.name for item in pending]},
        "counts": {} if pending else graph.counts(),
    }


@app.command()
def migrate(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be applied.")] = False,
    store: options.Store = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Bring the store's schema up to this version of drag-graph.

    Example: drag-graph db migrate --dry-run
    """
    from drag_graph.bootstrap import open_store

    from . import render

    del debug
    settings = options.settings_of({"store": store})
    with open_store(settings, create=not dry_run, migrate=False, read_only=dry_run) as graph:
        pending = [item for item in graph.migrations() if not item.applied_at]
        applied = [] if dry_run else graph.migrate()
    names = [f"V{item.version:04d}__{item.name}" for item in (pending if dry_run else applied)]
    render.fields({"store": graph.location, "pending" if dry_run else "applied": names}, as_json=json)


@app.command()
def verify(
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Check that every triple has evidence and a teacher call, and that nothing dangles; exit 1 with the list if not.

    Example: drag-graph db verify --json
    """
    from drag_graph.bootstrap import open_store

    from . import render

    del debug
    settings = options.settings_of({"store": store, "namespace": namespace})
    with open_store(settings, create=False, read_only=True) as graph:
        problems = graph.verify()
    render.problems(problems, as_json=json)
    raise typer.Exit(1 if problems else 0)


@app.command()
def erase(
    query_id: Annotated[str, typer.Option("--query-id", help="The query's id, or how it begins.")],
    yes: Yes = False,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Erase a query, its whole subgraph and every answer that rests on it.

    The teacher tape is not touched: it keeps the replies, so that distilling the question again costs nothing. Delete
    the tape's file too where the text itself must go.

    Example: drag-graph db erase --query-id 9b1c --yes
    """
    from drag_graph.bootstrap import open_store
    from drag_graph.lookup import full_id

    from . import render

    del debug
    settings = options.settings_of({"store": store, "namespace": namespace})
    with open_store(settings, create=False) as graph:
        whole = full_id(graph, "query", query_id)
        if not yes:
            _confirm(f"Erase query {whole} from {graph.location}?")
        erased = graph.erase_query(whole)
    render.fields({"query_id": whole, "erased": erased}, as_json=json)


def _confirm(question: str) -> None:
    """Ask; raise ConfigurationError unless the answer is yes."""
    from drag_graph.errors import ConfigurationError

    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise ConfigurationError("nothing was erased", hint="Say y, or give --yes.")
