"""`drag-graph db …`: the store itself."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from . import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from drag_graph.manage.erasing import ErasureFilter, Scope
    from drag_graph.ports.graph_store import GraphStore
    from drag_graph.settings import Settings

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="The store: start and stop a Neo4j, look at it, migrate, check, erase.",
)

Home = Annotated[Path | None, typer.Option("--home", help="The server's folder.", show_default=".drag-graph/neo4j")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
SHORTEST_ID = 4
"""Digits of an id that is erased: in a small store a slip of one digit would name something."""


@app.command()
@options.with_settings()
def up(
    settings: "Settings",
    version: Annotated[
        Literal["5.26", "2026"], typer.Option("--version", help="5.26 needs Java 17, 2026 needs Java 21.")
    ] = "5.26",
    home: Home = None,
    bolt_port: Annotated[int, typer.Option("--bolt-port", min=1, max=65535)] = 7687,
    http_port: Annotated[int, typer.Option("--http-port", min=1, max=65535, help="Neo4j Browser.")] = 7474,
    heap: Annotated[str, typer.Option("--heap", help="Memory to work in: 512m, 4g.")] = "1g",
    page_cache: Annotated[str, typer.Option("--page-cache", help="Memory for the store's pages; best, all of them.")] = "128m",
    json: options.Json = False,
) -> None:
    """Start a real Neo4j on this machine without Docker (Java and Maven; the first time fetches it).

    The password is NEO4J_PASSWORD, or one that is made, printed and kept in the server's folder. Then:
    --store bolt://127.0.0.1:7687

    \b
    Examples:
      NEO4J_PASSWORD=… drag-graph db up
      drag-graph db up --heap 4g --page-cache 8g
    """
    from drag_graph.stores.neo4j.server.commands import server_up

    from . import render

    with render.waiting(f"Starting Neo4j {version}", quiet=json) as say:
        started = server_up(
            settings,
            version,
            home,
            bolt_port=bolt_port,
            http_port=http_port,
            heap=heap,
            page_cache=page_cache,
            on_progress=say,
        )
    render.fields(started, as_json=json)


@app.command()
@options.with_settings()
def down(home: Home = None, json: options.Json = False) -> None:
    """Stop the Neo4j that `db up` started; its data stay.

    Example: drag-graph db down
    """
    from drag_graph.stores.neo4j.server.commands import server_down

    from . import render

    render.fields(server_down(home), as_json=json)


@app.command()
@options.with_settings(*options.STORE)
def status(
    settings: "Settings",
    home: Home = None,
    json: options.Json = False,
) -> None:
    """Say where the store is, whether it answers, what is in it, and which migrations it has.

    Example: drag-graph db status --store bolt://127.0.0.1:7687
    """
    from drag_graph.compose.session import open_store
    from drag_graph.errors import StoreError
    from drag_graph.stores.neo4j.server.commands import server_state

    from . import render

    server = server_state(home)
    try:
        with open_store(settings, create=False, migrate=False, read_only=True) as graph:
            document = _contents(graph, settings.store)
    except StoreError as error:
        if not server["running"]:
            raise
        document = {"store": f"{error} ({error.hint})"}
    document["server"] = server
    render.fields(document, as_json=json)


def _contents(graph: "GraphStore", store: str) -> dict[str, Any]:
    """Return what the store, which `--store` names so, says of itself."""
    from drag_graph.stores.shared.migrations import command

    migrations = graph.migrations()
    pending = [item for item in migrations if not item.applied_at]
    embedder = None if pending else graph.embedder()
    note = {"note": f"counts are shown after {command(store)}"} if pending else {}
    return {
        "store": graph.location,
        **note,
        "namespace": graph.namespace,
        "embedder": embedder[0] if embedder else None,
        "migrations": {"applied": len(migrations) - len(pending), "pending": [item.name for item in pending]},
        "counts": {} if pending else graph.counts(),
    }


@app.command()
@options.with_settings("store")
def migrate(
    settings: "Settings",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be applied.")] = False,
    json: options.Json = False,
) -> None:
    """Bring the store's schema up to this version of drag-graph.

    Commands that write do it by themselves; those that only read say that it is to be done. There is no way back: an older
    drag-graph refuses the store afterwards, so copy it first where others still use that.

    Example: drag-graph db migrate --dry-run
    """
    from drag_graph.compose.session import open_store

    from . import render

    with open_store(settings, create=not dry_run, migrate=False, read_only=dry_run) as graph:
        pending = [item for item in graph.migrations() if not item.applied_at]
        applied = [] if dry_run else graph.migrate()
    names = [f"V{item.version:04d}__{item.name}" for item in (pending if dry_run else applied)]
    render.fields({"store": graph.location, "pending" if dry_run else "applied": names}, as_json=json)


@app.command()
@options.with_settings(*options.STORE)
def verify(
    settings: "Settings",
    json: options.Json = False,
) -> None:
    """Check that everything has its provenance, nothing dangles and nothing was changed; exit 1 with the list if not.

    Example: drag-graph db verify --json
    """
    from drag_graph.compose.session import open_store
    from drag_graph.manage.verification import problems

    from . import render

    with open_store(settings, create=False, read_only=True) as graph:
        found = problems(graph)
    render.problems(found, as_json=json)
    raise typer.Exit(1 if found else 0)


@app.command()
@options.with_settings("embedder", *options.STORE)
def repair(
    settings: "Settings",
    json: options.Json = False,
) -> None:
    """Make again what can be made of what is there; exit 1, and say what cures it, if something is left.

    Orphans are removed, simple edges are made anew, questions that lost their vectors are embedded again. See docs/graph.md.

    Example: drag-graph db repair --json
    """
    from dataclasses import asdict

    from drag_graph.compose.model_factories import gated_embedder
    from drag_graph.compose.session import open_store
    from drag_graph.manage.verification import repair as repaired

    from . import render

    with open_store(settings, create=False) as graph:
        done = repaired(graph, lambda: gated_embedder(settings))
    left = [item for item in done if not item.mended]
    if json:
        render.document({"repairs": [asdict(item) for item in done]})
    elif done:
        rows = ((item.check, item.number, "yes" if item.mended else "no", item.what) for item in done)
        render.table(("check", "number", "mended", "what"), rows, wrapped="what")
    else:
        render.console().print("Nothing was wrong.")
    raise typer.Exit(1 if left else 0)


@app.command()
@options.with_settings(*options.STORE)
def erase(
    settings: "Settings",
    query_id: Annotated[
        str, typer.Option("--query-id", help="A query's or document's id, or how it begins (4 digits at least).")
    ] = "",
    teacher_call: Annotated[str, typer.Option("--teacher-call", help="A teacher call's id, or how it begins (4 digits).")] = "",
    where: Annotated[
        list[str] | None,
        typer.Option("--where", help="domain=, model=, input_id= or created-before=; all given hold.", metavar="FIELD=VALUE"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would go.")] = False,
    yes: Yes = False,
    keep_recorded: Annotated[
        bool, typer.Option("--keep-recorded", help="Keep the teacher's recorded replies: asking again costs nothing.")
    ] = False,
    no_compact: Annotated[
        bool, typer.Option("--no-compact", help="Leave the deleted text in an embedded store's file (faster).")
    ] = False,
    json: options.Json = False,
) -> None:
    """Erase queries with all that hangs on them, or what a teacher call (or a model) said, and the answers that rest on it.

    --query-id and --where take whole queries, also quarantined ones, of which only the ledger knows. --teacher-call and
    --where model=NAME take the evidence and triples that these calls made, and make the simple edges of what is left anew. See
    docs/graph.md.

    What the ledger holds of these queries goes, too: recorded replies that no other query uses, and what runs say of them. An
    embedded store is copied into a new file, because the engine keeps deleted text. Backups and exports have it still.

    Example: drag-graph db erase --query-id 9b1c --yes
    """
    from drag_graph.compose.session import open_store
    from drag_graph.errors import NotStored
    from drag_graph.manage.erasing import preview, total

    from . import render

    wanted = _wanted(query_id, teacher_call, where or [])
    what, scopes, document = "", list["Scope"](), dict[str, Any]()
    try:
        if dry_run or not yes:
            with open_store(settings, create=False, read_only=True) as graph:  # asking must not upgrade an older store
                what, scopes = _scopes(settings, graph, *wanted)
                if dry_run:
                    document["would_erase"] = total(preview(graph, scopes))
                    for name in ("Concept", "Community"):  # what else rests on one is not looked for
                        del document["would_erase"][name]
                elif scopes:
                    _confirm(f"Erase {what} from {graph.location}?")
        if not dry_run:
            with open_store(settings, create=False) as graph:
                if yes or (where and scopes):  # an id was confirmed as it was found; a filter takes what it meets now
                    what, scopes = _scopes(settings, graph, *wanted)
                document = _erase(settings, graph, scopes, keep_recorded=keep_recorded, compacted=not no_compact)
    except NotStored as error:
        if dry_run:
            raise
        left = _compact_again(settings, compacted=not no_compact)
        raise NotStored(str(error), hint=f"{error.hint} Of what was erased before: {left}.") from None
    named = {"source_id": scopes[0].source_id} if scopes and not where else {}
    note = {"only_in_ledger": sum(not scope.is_stored for scope in scopes)} if scopes else {"note": "nothing matches"}
    render.fields({**named, "what": what, **document, **note}, as_json=json)


def _erase(
    settings: "Settings", graph: "GraphStore", scopes: "Sequence[Scope]", *, keep_recorded: bool, compacted: bool
) -> dict[str, Any]:
    """Erase and return what went.

    Store and ledger are compacted where nothing is left to erase, too: a run before this one may have been killed, or have
    found no room, after it had erased.
    """
    from datetime import UTC, datetime

    from drag_graph.manage.erasing import compact, total
    from drag_graph.manage.erasing import erase as erased_in

    gone = _erase_recorded(settings, scopes, keep_recorded=keep_recorded)
    recorded = {"recorded": gone} if scopes else {}
    erased = total(erased_in(graph, scopes, datetime.now(UTC).isoformat(timespec="seconds")))
    if isinstance(gone, dict):  # the vault comes last: it alone knows what names the input has for what is left
        gone |= _erase_originals(settings, scopes)
    return {**recorded, "erased": erased, "store": compact(graph, wanted=compacted)}


def _compact_again(settings: "Settings", *, compacted: bool) -> str:
    """Do what a run before this one may have been killed before: compact ledger and store; return what became of the store."""
    from drag_graph.compose.session import open_store
    from drag_graph.manage.erasing import compact

    _erase_recorded(settings, ())
    with open_store(settings, create=False) as graph:
        return compact(graph, wanted=compacted)


def _erase_recorded(settings: "Settings", scopes: "Sequence[Scope]", *, keep_recorded: bool = False) -> str | dict[str, int]:
    """Erase what the ledger holds of these sources; return how much that was.

    It comes before the store: killed in between, the same command finds the sources still, and goes on.
    """
    from dataclasses import asdict

    from drag_graph.compose.session import open_ledger

    if not settings.ledger_path.exists():
        return "nothing"
    with open_ledger(settings) as ledger:
        erased = ledger.erase([scope.source_id for scope in scopes], settings.namespace, keep_recorded=keep_recorded)
    return asdict(erased)


def _erase_originals(settings: "Settings", scopes: "Sequence[Scope]") -> dict[str, int]:
    """Erase from the vault, if there is one, the originals of what goes as a whole."""
    from drag_graph.compose.model_factories import opened_vault

    if not settings.vault_path.exists():
        return {}
    with opened_vault(settings) as vault:
        return {"originals": vault.erase([scope.source_id for scope in scopes if not scope.call_ids])}


def _wanted(query_id: str, call_id: str, where: list[str]) -> tuple[str, str, "ErasureFilter | None"]:
    """Return what the flags say: the digits of a query's id, or of a call's, or a filter.

    Raises ConfigurationError unless it is exactly one of these, before any store is opened. What is blank says nothing: it must
    never come to mean all.
    """
    from drag_graph.errors import ConfigurationError
    from drag_graph.manage.erasing import filter_of

    if sum(map(bool, (query_id, call_id, where))) != 1:
        raise ConfigurationError("say what to erase", hint="Give one of --query-id, --teacher-call and --where (see --help).")
    if where:
        return "", "", filter_of(where)
    digits = (query_id or call_id).strip()
    if len(digits) < SHORTEST_ID:
        hint = f"Give at least {SHORTEST_ID} digits of the id, as `drag-graph show` prints them, or --where input_id={digits}."
        raise ConfigurationError(f"{digits!r} is too short to erase by", hint=hint)
    return (digits, "", None) if query_id else ("", digits, None)


def _scopes(
    settings: "Settings", graph: "GraphStore", query_id: str, call_id: str, where: "ErasureFilter | None"
) -> tuple[str, "list[Scope]"]:
    """Return what is wanted, in words and as scopes. Raises NotStored, and ConfigurationError where digits fit several ids."""
    from drag_graph.compose.model_factories import known_queries
    from drag_graph.graph.paging import settings_hashes
    from drag_graph.manage.erasing import Scope, scopes_where
    from drag_graph.manage.short_ids import full_call, full_id

    recorded = known_queries(settings, where.input_id if where else query_id)
    if where is not None:
        kind = "what these calls said" if where.model else "all queries"
        return f"{kind} where {where}", list(scopes_where(graph, where, recorded))
    if query_id:
        whole = full_id(graph, "source", query_id, recorded)
        return f"query or document {whole}", [Scope(whole, is_stored=whole in settings_hashes(graph, [whole]))]
    scope = full_call(graph, call_id)
    return f"what teacher call {next(iter(scope.call_ids))} said", [scope]


def _confirm(question: str) -> None:
    """Ask; raise ConfigurationError unless the answer is yes."""
    from drag_graph.errors import ConfigurationError

    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise ConfigurationError("nothing was erased", hint="Say y, or give --yes.")
