"""Settings to an open store or ledger, and the state of an embedded store's file."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from drag_graph.errors import StoreError, StoreUnavailable
from drag_graph.ledger import Ledger
from drag_graph.ports.graph_store import GraphStore
from drag_graph.settings import Settings

if TYPE_CHECKING:
    from drag_graph.stores.neo4j.neo4j_store import Neo4jStore


def open_store(
    settings: Settings, *, create: bool = True, migrate: bool = True, read_only: bool = False, like: GraphStore | None = None
) -> GraphStore:
    """Open the store of the settings and apply pending migrations. The caller closes it.

    With `read_only`, pending migrations raise StoreUnfit instead: a reader must not upgrade a store that others still use with
    an older version. An embedded store then needs no right to write, and another process may write to it at the same time.
    `like` is another namespace's store on the same server, whose connection is shared.
    """
    if like is not None and settings.uses_neo4j:
        return cast("Neo4jStore", like).in_namespace(settings.namespace)
    if settings.uses_neo4j:
        store = _neo4j(settings, read_only=read_only)
    else:
        store = _embedded(settings, create=create, read_only=read_only)
    if migrate:
        try:
            store.migrate()
        except BaseException:
            store.close()
            raise
    return store


def disk_state(settings: Settings) -> tuple[tuple[int, int, int], ...]:
    """Return a value that changes whenever another process writes to the embedded store; always the same for Neo4j."""
    if settings.uses_neo4j:
        return ()
    path = Path(settings.store).expanduser()
    files = [file.stat() for file in (path, path.with_name(f"{path.name}.wal")) if file.exists()]
    return tuple((file.st_ino, file.st_size, file.st_mtime_ns) for file in files)


def is_written_elsewhere(settings: Settings) -> bool:
    """Whether another process has the embedded store of the settings open for writing."""
    path = Path(settings.store).expanduser()
    if settings.uses_neo4j or not path.is_file():
        return False
    from drag_graph.stores.ladybug.engine import is_written_elsewhere as is_locked

    return is_locked(path)


def _neo4j(settings: Settings, *, read_only: bool) -> GraphStore:
    from drag_graph.stores.neo4j.neo4j_store import Neo4jStore

    return Neo4jStore(
        settings.store,
        username=settings.neo4j_username,
        password=settings.neo4j_password.get_secret_value(),
        database=settings.neo4j_database or None,
        namespace=settings.namespace,
        timeout=settings.store_timeout,
        read_only=read_only,
    )


def _embedded(settings: Settings, *, create: bool, read_only: bool) -> GraphStore:
    path = Path(settings.store).expanduser()
    if not create and not path.exists():
        hint = "Run `drag-graph distill` or `ingest` first (a cloud: `cloud edges add`), or use `store=FILE` for another store."
        raise StoreUnavailable(f"There is no store at {path}.", hint=hint)
    from drag_graph.stores.ladybug.ladybug_store import LadybugStore

    return LadybugStore(path, namespace=settings.namespace, read_only=read_only, timeout=settings.store_timeout)


def open_ledger(settings: Settings, *, read_only: bool = False) -> Ledger:
    """Open an existing ledger. The caller closes it. Raises StoreUnavailable if there is none."""
    if not settings.ledger_path.exists():
        hint = "Run `drag-graph distill` first, or choose another store or ledger with `store=FILE` or `ledger=FILE`."
        raise StoreUnavailable(f"There is no ledger at {settings.ledger_path}.", hint=hint)
    return Ledger(settings.ledger_path, read_only=read_only)


@contextmanager
def recorded_requests(settings: Settings) -> Iterator[Callable[[str], dict[str, Any] | None]]:
    """Yield a function from the hash of a teacher call's request to the request; it returns None if the ledger has none."""
    with ExitStack() as opened:
        try:
            ledger = opened.enter_context(open_ledger(settings, read_only=True))
        except StoreError:  # an audit works without the ledger
            yield lambda _hash: None
        else:
            yield ledger.tape.sent
