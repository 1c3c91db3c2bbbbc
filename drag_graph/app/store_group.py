"""`graph.store`: the store itself."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from drag_graph.app.resources import ResourceUser
from drag_graph.errors import ConfigurationError, StoreError, StoreUnavailable
from drag_graph.manage.verification import problems
from drag_graph.ports.graph_store import GraphStore, Problem, QueryRows

if TYPE_CHECKING:
    from drag_graph.app.store_erasing import ErasureReport
    from drag_graph.stores.neo4j.server import ServerReport

Neo4jVersion = Literal["5.26", "2026"]


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """Where the store is and what is in it. While a migration is pending, nothing is counted, and `note` says so."""

    store: str
    namespace: str
    embedder: str | None
    applied: int
    pending: tuple[str, ...]
    counts: Mapping[str, int]
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the part of `db status --json` about a store that answers."""
        return {
            "store": self.store,
            **({"note": self.note} if self.note else {}),
            "namespace": self.namespace,
            "embedder": self.embedder,
            "migrations": {"applied": self.applied, "pending": list(self.pending)},
            "counts": dict(self.counts),
        }


@dataclass(frozen=True, slots=True)
class Status:
    """The local Neo4j server, and the store, or the error why it does not answer."""

    server: "ServerReport"
    store: StoreStatus | None = None
    error: StoreError | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the `db status --json` document."""
        document = self.store.to_dict() if self.store else {"store": f"{self.error} ({self.error.hint if self.error else ''})"}
        return {**document, "server": self.server.to_dict()}


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """The migrations that were applied."""

    store: str
    names: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the `db migrate --json` document."""
        return {"store": self.store, "applied": list(self.names)}


@dataclass(frozen=True, slots=True)
class Verification:
    """The problems that `verify` found. It is true if there are none."""

    problems: tuple[Problem, ...] = ()

    def __bool__(self) -> bool:
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return the `db verify --json` document."""
        return {"problems": [asdict(problem) for problem in self.problems]}


class StoreGroup(ResourceUser):
    """Start, stop, inspect, migrate, check and erase the store."""

    def up(
        self,
        version: Neo4jVersion = "5.26",
        *,
        home: Path | None = None,
        bolt_port: int = 7687,
        http_port: int = 7474,
        heap: str = "1g",
        page_cache: str = "128m",
        on_progress: Callable[[str], None] = lambda _step: None,
    ) -> "ServerReport":
        """Start a Neo4j server on this machine, or return the one that already runs.

        Raises StoreUnavailable if it does not start, ConfigurationError for an unusable folder or port.
        """
        from drag_graph.stores.neo4j.server import start_server
        from drag_graph.stores.neo4j.server.libraries import release_of

        password = self._resources.settings.neo4j_password.get_secret_value()
        return start_server(
            release_of(version),
            home,
            password=password,
            bolt_port=bolt_port,
            http_port=http_port,
            heap=heap,
            page_cache=page_cache,
            on_progress=on_progress,
        )

    def down(self, *, home: Path | None = None) -> "ServerReport":
        """Stop the server that `up` started; its data stay. Does nothing if none runs."""
        from drag_graph.stores.neo4j.server import stop_server

        return stop_server(home)

    def status(self, *, home: Path | None = None) -> Status:
        """Describe the store and the local server. Raises StoreError if neither answers."""
        from drag_graph.stores.neo4j.server import server_status

        server = server_status(home)
        try:
            with self._resources.unmigrated_store() as store:
                return Status(server, _contents(store, self._resources.settings.store))
        except StoreError as error:
            if not server.running:
                raise
            return Status(server, error=error)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the store open for writing during a `with` block, and create an embedded store that does not exist.

        Meanwhile no other process can write to an embedded store. Raises StoreLocked if one already does.
        """
        with self._resources.store(read_only=False, create=True):
            yield

    def migrate(self) -> MigrationReport:
        """Apply pending migrations. There is no way back: an older drag-graph refuses the store afterwards."""
        done: set[int] = set()
        try:
            with self._resources.unmigrated_store() as store:
                done = {item.version for item in store.migrations() if item.applied_at}
        except StoreUnavailable:
            if self._resources.settings.uses_neo4j:
                raise
        with self._resources.store(read_only=False, create=True) as store:  # opening applies them
            new = (item for item in store.migrations() if item.version not in done)
            return MigrationReport(store.location, tuple(f"V{item.version:04d}__{item.name}" for item in new))

    def verify(self) -> Verification:
        """Check provenance, references, ids and vectors of everything in the namespace."""
        with self._resources.store() as store:
            return Verification(tuple(problems(store)))

    def query(self, statement: str, *, limit: int = 100, timeout: float = 10.0) -> QueryRows:
        """Execute a read-only Cypher statement on the whole store, with all its namespaces.

        `timeout` is in seconds. Raises ConfigurationError for any other statement, and if it takes longer.
        """
        if limit < 1 or timeout <= 0:
            raise ConfigurationError(f"The limit is {limit} and the timeout {timeout:g}.", hint="Pass numbers above 0.")
        with self._resources.store() as store:
            return store.query(statement, limit=limit, seconds=timeout)

    def erase(
        self,
        query_id: str = "",
        *,
        where: Sequence[str] = (),
        dry_run: bool = False,
        keep_recorded: bool = False,
        compact: bool = True,
        confirm: Callable[[str], bool] | None = None,
    ) -> "ErasureReport":
        """Erase sources with everything that rests on them.

        Give either the id of a query or document, which may be shortened to 4 digits, or `where` conditions such as
        "domain=medical", all of which must hold. The ledger's recorded replies are erased too, unless `keep_recorded`.
        `confirm` receives a question; if it returns False, nothing is erased.

        Raises NotStored if the id is not stored, ConfigurationError if it is ambiguous or the conditions are unusable.
        """
        from drag_graph.app.store_erasing import Eraser, ErasureTarget

        eraser = Eraser(self._resources, keeps_replies=keep_recorded, compacts=compact)
        target = ErasureTarget.parse(query_id, where)
        return eraser.preview(target) if dry_run else eraser.run(target, confirm)


def _contents(store: GraphStore, address: str) -> StoreStatus:
    from drag_graph.stores.shared.migrations import command

    migrations = store.migrations()
    pending = tuple(item.name for item in migrations if not item.applied_at)
    embedder = None if pending else store.embedder()
    return StoreStatus(
        store.location,
        store.namespace,
        embedder[0] if embedder else None,
        applied=len(migrations) - len(pending),
        pending=pending,
        counts={} if pending else store.counts(),
        note=f"run {command(address)} to see the counts" if pending else "",
    )
