"""Starting, stopping and watching a real Neo4j Community server on this machine, without Docker (docs/how-to/neo4j.md).

A server belongs to its home folder, which holds its data, `conf/neo4j.conf`, `logs/`, `server.log` (the output of the process),
`server.json` (process id, version, ports; it stays after a stop) and `password`, if one was generated.
"""

import json
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from drag_graph.errors import ConfigurationError, StoreUnavailable, StoreUnfit
from drag_graph.files import write_lines
from drag_graph.stores.neo4j.server.libraries import RESOURCES, Neo4jRelease, find_java, libraries
from drag_graph.stores.neo4j.server.process import LOOPBACK, reserve_ports, runs, spawn, terminate

USERNAME = "neo4j"
FIRST_PASSWORD = "neo4j"  # noqa: S105 - what every new Neo4j accepts once, only to be replaced
MINIMUM_PASSWORD = 8
_REFUSED = ("Neo.ClientError.Security.Unauthorized", "Neo.ClientError.Security.CredentialsExpired")


def check_password(password: str) -> None:
    """Raise ConfigurationError if Neo4j would refuse `password`: under 8 characters, or its first one."""
    if len(password) < MINIMUM_PASSWORD:
        raise ConfigurationError(
            f"Neo4j requires a password of at least {MINIMUM_PASSWORD} characters.", hint="Set NEO4J_PASSWORD to a longer one."
        )


def ensure_password(address: str, password: str) -> None:
    """Make sure that `password` opens the server at `address` (bolt://host:port); on a first start, set it.

    Raises ConfigurationError if the server has another password, errors of the driver (neo4j.exceptions) while it is not
    ready.
    """
    if _accepts(address, password):
        return
    if not (_accepts(address, FIRST_PASSWORD, new=password) and _accepts(address, password)):
        raise ConfigurationError(
            f"The Neo4j at {address} already has another password.",
            hint="Set NEO4J_PASSWORD to the one that it was first started with, or choose another folder with `home=FOLDER`.",
        )


def _accepts(address: str, password: str, *, new: str = "") -> bool:
    """Return whether the server accepts a password. `new` replaces it."""
    import neo4j
    from neo4j.exceptions import ClientError

    login = neo4j.GraphDatabase.driver(
        address, auth=(USERNAME, password), connection_timeout=5, telemetry_disabled=True, notifications_min_severity="OFF"
    )
    try:
        with login as driver, driver.session(database="system" if new else None) as session:
            if new:
                text = (Path(__file__).parent / "set_password.cypher").read_text(encoding="utf-8")
                session.run(text, {"old": password, "new": new}).consume()
            else:
                session.begin_transaction().close()  # proves that the default database serves
    except ClientError as error:
        if error.code in _REFUSED:
            return False
        raise
    return True


_SIZE = re.compile(r"[1-9][0-9]*[mgMG]")


def check_size(name: str, size: str) -> None:
    """Raise ConfigurationError unless `size` is a whole number followed by `m` or `g`."""
    if not _SIZE.fullmatch(size):
        raise ConfigurationError(
            f"{size!r} is not a size for the {name}.", hint="Pass a number followed by m or g, such as 512m or 4g."
        )


def write_configuration(home: Path, release: Neo4jRelease, bolt_port: int, http_port: int, page_cache: str) -> Path:
    """Write `conf/neo4j.conf` below `home`, again at each start, and return its path. Raises OSError."""
    values = {"listen": LOOPBACK, "bolt": bolt_port, "http": http_port, "page_cache": page_cache}
    text = (Path(__file__).parent / "neo4j.conf").read_text(encoding="utf-8").format(**values)
    path = home / "conf" / "neo4j.conf"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + "".join(f"{name}={value}\n" for name, value in release.settings), encoding="utf-8")
    return path


DEFAULT_HOME = Path(".drag-graph/neo4j")
START_SECONDS = 120.0
STOP_SECONDS = 30.0
_RECORD = "server.json"
_RECORDED = ("pid", "version", "bolt_port", "http_port")
_LOG = "server.log"
_PASSWORD_FILE = "password"  # noqa: S105 - the name of a file
_POLL_SECONDS = 0.25
_STARTED = "Neo4j started."  # printed by Launcher.java


@dataclass(frozen=True, slots=True)
class ServerReport:
    """A local server: whether it runs, its addresses, and how to log in if it was started now.

    Version and ports are those of the last start. `password` is set only if it was generated.
    """

    home: Path
    running: bool = False
    pid: int = 0
    version: str = ""
    bolt_port: int = 0
    http_port: int = 0
    username: str = ""
    password: str = field(default="", repr=False)

    @property
    def store(self) -> str:
        """The Bolt address."""
        return f"bolt://{LOOPBACK}:{self.bolt_port}"

    @property
    def browser(self) -> str:
        """The address of Neo4j Browser."""
        return f"http://{LOOPBACK}:{self.http_port}/browser/"

    def to_dict(self) -> dict[str, Any]:
        """Return what `db up`, `db down` and `db status` print as JSON."""
        if not self.running:
            return {"running": False, "home": str(self.home)}
        addresses = {"version": self.version, "store": self.store, "browser": self.browser, "pid": self.pid}
        document = {"running": True, "home": str(self.home), **addresses}
        if self.username:
            document["username"] = self.username
        if self.password:
            document |= {"password": self.password, "next": f"export NEO4J_PASSWORD={self.password}"}
        return document


def server_status(home: Path | None = None) -> ServerReport:
    """Return whether the server of `home` runs, and where."""
    home = _absolute(home)
    try:
        stored = json.loads((home / _RECORD).read_text(encoding="utf-8"))
        record = ServerReport(home, **{name: stored[name] for name in _RECORDED})
    except (OSError, ValueError, TypeError, KeyError):
        return ServerReport(home)  # never started here, or killed while writing
    is_running = runs(record.pid, home)
    return replace(record, running=is_running, pid=record.pid if is_running else 0)


def start_server(
    release: Neo4jRelease,
    home: Path | None = None,
    *,
    password: str = "",
    bolt_port: int = 0,
    http_port: int = 0,
    heap: str = "1g",
    page_cache: str = "128m",
    on_progress: Callable[[str], None] = lambda _step: None,
    parent: int | None = None,
) -> ServerReport:
    """Start Neo4j on `home` in the background, or use the running one. Returns once it accepts `password`.

    Without a `password` one is generated, kept in the home's `password` file (readable by this user only) and used again the
    next time. The server listens on 127.0.0.1 only and outlives this process, but not the process `parent`. A port of 0 takes
    a free one. Missing libraries are fetched first. The page cache should hold the store (docs/measurements/graph-speed.md).

    Raises ConfigurationError (password, missing Java or Maven, home not writable), StoreUnfit (home belongs to a
    newer Neo4j), StoreUnavailable (port in use, Maven failed, no start within 120 s; the hint names the log).
    """
    check_size("heap", heap)
    check_size("page cache", page_cache)
    if password:
        check_password(password)
    home = _absolute(home)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / "start.lock"):
            generated = "" if password else _generated_password(home)
            server = server_status(home)
            _check_version(server, release)
            if server.running:
                _wait(server, password or generated)
            else:
                java = find_java(release)
                folder = libraries(release, on_progress)
                bolt, http = reserve_ports([("Bolt", bolt_port), ("HTTP", http_port)])
                configuration = write_configuration(home, release, bolt, http, page_cache)
                command = [str(java), f"-Xmx{heap}", "-XX:+ExitOnOutOfMemoryError", *release.all_java_options()]
                command += ["-cp", str(folder / "*"), str(RESOURCES / "Launcher.java"), str(home), str(configuration)]
                command += ["--parent", str(parent)] if parent is not None else []
                server = ServerReport(home, running=True, version=release.version, bolt_port=bolt, http_port=http)
                server = _launch(command, server, password or generated)
            return replace(server, username=USERNAME, password=generated)
    except OSError as error:
        raise ConfigurationError(
            f"The server's folder {home} cannot be used: {error.strerror or error}.",
            hint="Choose another folder with `home=FOLDER`.",
        ) from error


def stop_server(home: Path | None = None) -> ServerReport:
    """Stop the server of `home` and return its status; its data stay. Does nothing if none runs.

    It has 30 s to shut down. Raises StoreUnavailable if it cannot be stopped.
    """
    server = server_status(home)
    if server.running:
        terminate(server.pid, server.home, STOP_SECONDS)
    return server_status(home)


def _absolute(home: Path | None) -> Path:
    return (home or DEFAULT_HOME).expanduser().resolve()


def _generated_password(home: Path) -> str:
    """Return the password that was generated for this home, generating it the first time."""
    path = home / _PASSWORD_FILE
    if not path.exists():
        write_lines(path, [secrets.token_urlsafe(12)])  # readable by this user only
    return path.read_text(encoding="utf-8").strip()


def _check_version(server: ServerReport, release: Neo4jRelease) -> None:
    """Raise ConfigurationError if another version runs, StoreUnfit if the home was last used by a newer one."""
    if server.running and server.version != release.version:
        raise ConfigurationError(
            f"Neo4j {server.version} runs on {server.home}, not {release.version}.", hint="Stop it first: `drag-graph db down`."
        )
    if server.version and _numbers(server.version) > _numbers(release.version):
        raise StoreUnfit(
            f"{server.home} was last used by Neo4j {server.version}; {release.version} cannot read its data.",
            hint=f"Start {server.version}, or choose another folder with `home=FOLDER`.",
        )


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _launch(command: list[str], server: ServerReport, password: str) -> ServerReport:
    log = server.home / _LOG
    log.unlink(missing_ok=True)  # each start has its own, so that an old error is never taken for the new one's
    server = replace(server, pid=spawn(command, log, server.home))
    record = {name: getattr(server, name) for name in _RECORDED}
    write_lines(server.home / _RECORD, [json.dumps(record)])
    try:
        _wait(server, password)
    except BaseException:  # also Ctrl-C: a half-started server is useless
        terminate(server.pid, server.home, STOP_SECONDS)
        raise
    return server


def _wait(server: ServerReport, password: str) -> None:
    """Return when the server answers with `password`; raise StoreUnavailable if it ends, or does not answer in time."""
    from neo4j.exceptions import DriverError, Neo4jError

    deadline, state = time.monotonic() + START_SECONDS, "it is still starting"
    log = server.home / _LOG
    while time.monotonic() < deadline:
        is_running = runs(server.pid, server.home)
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        if not is_running:
            raise StoreUnavailable(
                f"Neo4j {server.version} ended while starting{_reason(text)}.", hint=f"See {log} and logs/ next to it."
            )
        # Bolt answers a moment before the launcher is through; stopping it then would be a crash, not a shutdown.
        if _STARTED in text:
            try:
                return ensure_password(server.store, password)
            except (DriverError, Neo4jError) as error:
                state = str(error)  # the database is still starting
        time.sleep(_POLL_SECONDS)
    raise StoreUnavailable(f"Neo4j {server.version} did not answer in time ({state}).", hint=f"See {log}.")


def _reason(log: str) -> str:
    """Return the deepest cause of a stack trace, or else the last line, as `: text`; "" if the log is empty."""
    lines = [line for line in log.splitlines() if line.strip() and not line[0].isspace()]
    return f": {lines[-1].removeprefix('Caused by: ').rstrip('.')}" if lines else ""
