"""Starting, stopping and watching a real Neo4j Community server on this machine, without Docker (docs/design.md, section 9).

A server belongs to its home folder. There lie its data, `conf/neo4j.conf`, `logs/`, `server.log` (what the process printed)
and `server.json` (process id, version, ports), which stays after a stop and never holds the password.
"""

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

from drag_graph.errors import ConfigurationError, StoreUnavailable, StoreUnfit
from drag_graph.stores.neo4j.server.bolt import USERNAME, check_password, ensure_password
from drag_graph.stores.neo4j.server.configuration import SMALL, Memory, write_configuration
from drag_graph.stores.neo4j.server.java import find_java
from drag_graph.stores.neo4j.server.libraries import RESOURCES, libraries
from drag_graph.stores.neo4j.server.process import LOOPBACK, listens, reserve_ports, runs, spawn, terminate
from drag_graph.stores.neo4j.server.releases import DEFAULT_VERSION, Neo4jRelease, release_of, version_order

START_SECONDS = 120.0
STOP_SECONDS = 30.0
_RECORD = "server.json"
_LOG = "server.log"
_POLL_SECONDS = 0.25
_STARTED = "Neo4j started."  # printed by Launcher.java
_CAUSE = re.compile(
    r"(?:Exception in thread \"[^\"]*\" |Caused by: )?(?P<what>[\w.$]+(?:Exception|Error): .*|Error: .*|Error occurred .*)"
)


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What is known of the server of one home. Ports and version are those of the last start; 0 and "" before any."""

    home: Path
    running: bool
    pid: int | None = None
    version: str = ""
    bolt_port: int = 0
    http_port: int = 0

    @property
    def bolt_address(self) -> str:
        return f"bolt://{LOOPBACK}:{self.bolt_port}"

    @property
    def http_address(self) -> str:
        return f"http://{LOOPBACK}:{self.http_port}"

    @property
    def browser_address(self) -> str:
        return f"{self.http_address}/browser/"

    @property
    def log(self) -> Path:
        return self.home / _LOG


@dataclass(frozen=True, slots=True)
class RunningServer(ServerStatus):
    """A server that answered over Bolt with the user's password."""

    username: str = USERNAME
    already_running: bool = False
    start_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Record:
    pid: int
    version: str
    bolt_port: int
    http_port: int
    password_set: bool


def server_status(home: Path) -> ServerStatus:
    """Say whether the server of `home` runs, its process id, version and addresses. Starts and raises nothing."""
    home = _absolute(home)
    record = _read_record(home)
    if record is None:
        return ServerStatus(home, running=False)
    running = runs(record.pid, home)
    return ServerStatus(
        home, running, record.pid if running else None, record.version, bolt_port=record.bolt_port, http_port=record.http_port
    )


def start_server(
    version: str = DEFAULT_VERSION,
    home: Path = Path(".drag-graph/neo4j"),
    *,
    password: str,
    bolt_port: int = 7687,
    http_port: int = 7474,
    java: Path | None = None,
    cache_dir: Path | None = None,
    environment: Mapping[str, str] | None = None,
    deadline: float = START_SECONDS,
    on_progress: Callable[[str], None] | None = None,
    stop_with: int | None = None,
    parent: int | None = None,
    memory: Memory = SMALL,
) -> RunningServer:
    """Start Neo4j on `home` in the background and return when Bolt and HTTP answer and `password` opens it.

    It listens on 127.0.0.1 only and outlives this process. A server that runs on `home` already is reported as it is
    (`already_running`). A port of 0 takes a free one. Libraries are fetched first if need be (`cache_dir`, see libraries);
    Java is looked for as find_java says (`java`, `environment`). `deadline` counts the seconds of the start alone; a
    server that does not make it is stopped again. `stop_with` is a readable descriptor, `parent` a process id: the server
    stops itself when that reaches its end, or when that process is gone.

    Raises ConfigurationError (version, password, missing Java or Maven, home not writable), StoreUnfit (home belongs to a
    newer Neo4j), StoreUnavailable (port in use, Maven failed, no start within the deadline; the hint names the log).
    """
    if os.name != "posix":
        raise ConfigurationError(
            "Neo4j without Docker is started on Linux and macOS only.", hint="Start it with `docker compose up -d`."
        )
    release = release_of(version)
    check_password(password)
    home = _absolute(home)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / "start.lock"):
            status = server_status(home)
            if status.running:
                return _adopt(status, release, password, deadline)
            _refuse_downgrade(status, release)
            kit = find_java(release, environment, java)
            folder = libraries(release, cache_dir, environment, on_progress)
            bolt, http = reserve_ports([("Bolt", bolt_port), ("HTTP", http_port)])
            configuration = write_configuration(home, release, bolt, http, memory)
            command = [str(kit.executable), *memory.java_options, "-XX:+ExitOnOutOfMemoryError", *release.all_java_options()]
            command += ["-cp", str(folder / "*"), str(RESOURCES / "Launcher.java"), str(home), str(configuration)]
            command += ["--stdin"] if stop_with is not None else []
            command += ["--parent", str(parent)] if parent is not None else []
            return _launch(command, home, release, (bolt, http), password=password, deadline=deadline, stop_with=stop_with)
    except OSError as error:
        raise ConfigurationError(
            f"The server's folder {home} cannot be used: {error.strerror or error}.", hint="Give another one with --home."
        ) from error


def stop_server(home: Path, patience: float = STOP_SECONDS) -> ServerStatus:
    """Stop the server of `home` (SIGTERM, then SIGKILL after `patience` seconds) and return its status; its data stay.

    Does nothing when none runs. Raises StoreUnavailable when it cannot be stopped.
    """
    status = server_status(home)
    if status.running and status.pid is not None:
        terminate(status.pid, status.home, patience)
    return server_status(home)


@contextlib.contextmanager
def running_server(
    version: str,
    home: Path,
    *,
    password: str = "a-password-for-tests",  # noqa: S107 - a loopback server that lives as long as a test
    bolt_port: int = 0,
    http_port: int = 0,
    java: Path | None = None,
    cache_dir: Path | None = None,
    environment: Mapping[str, str] | None = None,
    deadline: float = START_SECONDS,
) -> Iterator[RunningServer]:
    """Run a server on `home` for the length of a `with` block, on free ports; it never outlives the block or us.

    The block's end stops it. Were this process killed, by whatever signal, the server would see the end of the pipe
    that we hold, or that we are gone, and stop itself. Raises ConfigurationError when one runs on `home` already (it
    is somebody else's), else as start_server.
    """
    if server_status(home).running:
        raise ConfigurationError(f"A Neo4j already runs on {home}.", hint="Use a folder of its own for this one.")
    read_end, write_end = os.pipe()
    try:
        yield start_server(
            version,
            home,
            password=password,
            bolt_port=bolt_port,
            http_port=http_port,
            java=java,
            cache_dir=cache_dir,
            environment=environment,
            deadline=deadline,
            stop_with=read_end,
            parent=os.getpid(),
        )
    finally:
        try:
            stop_server(home)
        finally:
            os.close(read_end)
            os.close(write_end)


def _absolute(home: Path) -> Path:
    return home.expanduser().resolve()


def _read_record(home: Path) -> _Record | None:
    try:
        return _Record(**json.loads((home / _RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None  # never started here, or killed while writing: nothing runs that we know of


def _write_record(home: Path, record: _Record) -> None:
    temporary = home / f"{_RECORD}.new"
    temporary.write_text(json.dumps(asdict(record), indent=1), encoding="utf-8")
    temporary.replace(home / _RECORD)


def _refuse_downgrade(status: ServerStatus, release: Neo4jRelease) -> None:
    if status.version and version_order(status.version) > release.order:
        raise StoreUnfit(
            f"{status.home} was last used by Neo4j {status.version}, and {release.version} cannot read what that wrote.",
            hint=f"Start {status.version}, or use another --home.",
        )


def _adopt(status: ServerStatus, release: Neo4jRelease, password: str, deadline: float) -> RunningServer:
    if status.version != release.version:
        raise ConfigurationError(
            f"Neo4j {status.version} runs on {status.home}, not {release.version}.", hint="Stop it first: `drag-graph db down`."
        )
    _wait(status, password, time.monotonic() + deadline, fresh=False)
    return _running(status, already_running=True)


def _running(status: ServerStatus, *, already_running: bool = False, start_seconds: float = 0.0) -> RunningServer:
    return RunningServer(**asdict(status), already_running=already_running, start_seconds=start_seconds)


def _launch(
    command: list[str],
    home: Path,
    release: Neo4jRelease,
    ports: tuple[int, int],
    *,
    password: str,
    deadline: float,
    stop_with: int | None,
) -> RunningServer:
    earlier = _read_record(home)
    password_set = earlier is not None and earlier.password_set
    begun = time.monotonic()
    log = home / _LOG
    log.unlink(missing_ok=True)  # each start has its own, so that an old error is never taken for the new one's
    pid = spawn(command, log, home, *([stop_with] if stop_with is not None else []))
    _write_record(home, _Record(pid, release.version, *ports, password_set=password_set))
    status = ServerStatus(home, running=True, pid=pid, version=release.version, bolt_port=ports[0], http_port=ports[1])
    done = False
    try:
        _wait(status, password, begun + deadline, fresh=not password_set)
        _write_record(home, _Record(pid, release.version, *ports, password_set=True))
        done = True
    finally:
        if not done:  # whatever it was, Ctrl+C too: a half-started server is of no use to anybody
            terminate(pid, home, STOP_SECONDS)
    return _running(status, start_seconds=round(time.monotonic() - begun, 2))


def _wait(status: ServerStatus, password: str, until: float, *, fresh: bool) -> None:
    """Return when the server answers with `password`; raise StoreUnavailable when it dies or `until` has passed."""
    from neo4j.exceptions import DriverError, Neo4jError

    last = "it is still starting"
    while True:
        if status.pid is None or not runs(status.pid, status.home):
            raise StoreUnavailable(
                f"Neo4j {status.version} ended while starting{_complaint(status.log)}.",
                hint=f"See {status.log} and logs/ beside it.",
            )
        # Bolt answers a moment before the launcher is through; stopping it then would be a crash, not a shutdown. And the
        # driver is asked only once the ports are open: it logs a warning for each refused connection.
        open_ports = listens(status.bolt_port) and listens(status.http_port)
        if open_ports and _STARTED in _log_text(status.log):
            try:
                ensure_password(status.bolt_address, password, fresh=fresh)
            except (DriverError, Neo4jError) as error:
                last = str(error)  # a database that is still coming up; the deadline bounds this
            else:
                return
        if time.monotonic() > until:
            raise StoreUnavailable(
                f"Neo4j {status.version} did not answer in time ({last}).",
                hint=f"See {status.log}; a slow machine may need longer.",
            )
        time.sleep(_POLL_SECONDS)


def _complaint(log: Path) -> str:
    """Return what the process said of its end: the deepest cause in a Java stack trace, as `: text`, else nothing."""
    causes = [match["what"] for line in _log_text(log).splitlines() if (match := _CAUSE.match(line))]
    return f": {causes[-1].rstrip('.')}" if causes else ""


def _log_text(log: Path) -> str:
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # not written yet
