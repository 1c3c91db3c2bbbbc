"""`db up | down | status`: the Neo4j server that drag-graph runs on this machine without Docker."""

import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from drag_graph.errors import ConfigurationError
from drag_graph.files import write_lines
from drag_graph.settings import process_environment
from drag_graph.stores.neo4j import server as neo4j_server
from drag_graph.stores.neo4j.server import Memory, ServerStatus

DEFAULT_HOME = Path(".drag-graph/neo4j")
_PASSWORD_FILE = "password"  # noqa: S105 - the name of a file


@dataclass(frozen=True, slots=True)
class ServerReport:
    """A local server: whether it runs, its addresses, and how to log in if it was started now.

    `store` is the Bolt address, `browser` that of Neo4j Browser. `password` is set only if it was generated.
    """

    running: bool
    home: str
    version: str = ""
    store: str = ""
    browser: str = ""
    pid: int = 0
    username: str = ""
    password: str = field(default="", repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what `db up`, `db down` and `db status` print as JSON."""
        if not self.running:
            return {"running": False, "home": self.home}
        document = {name: value for name, value in asdict(self).items() if value}
        return document | ({"next": f"export NEO4J_PASSWORD={self.password}"} if self.password else {})


def server_up(
    password: str,
    version: str,
    home: Path | None,
    *,
    bolt_port: int,
    http_port: int,
    memory: Memory,
    on_progress: Callable[[str], None],
) -> ServerReport:
    """Start the server, or return the one that runs.

    Without a `password` one is generated, kept in the home's `password` file (readable by this user only) and used again the
    next time. Raises as `start_server` does.
    """
    home = home or DEFAULT_HOME
    status = neo4j_server.start_server(
        version,
        home,
        password=password or _kept_password(home),
        bolt_port=bolt_port,
        http_port=http_port,
        environment=process_environment(),
        memory=memory,
        on_progress=on_progress,
    )
    return _describe(status, username=status.username, password="" if password else _kept_password(home))


def _kept_password(home: Path) -> str:
    """Return the password that was generated for this home, generating it the first time."""
    path = home / _PASSWORD_FILE
    try:
        home.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            write_lines(path, [secrets.token_urlsafe(12)])  # a temporary file, for this user only, renamed in one step
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"Cannot keep the server's password in {path}.", hint="Set NEO4J_PASSWORD, or choose another --home."
        ) from error


def server_down(home: Path | None) -> ServerReport:
    """Stop the server of `home`. Does nothing if none runs."""
    return _describe(neo4j_server.stop_server(home or DEFAULT_HOME))


def server_state(home: Path | None) -> ServerReport:
    """Return whether the server of `home` runs, and where."""
    return _describe(neo4j_server.server_status(home or DEFAULT_HOME))


def _describe(status: ServerStatus, **login: str) -> ServerReport:
    if not status.running:
        return ServerReport(running=False, home=str(status.home))
    return ServerReport(
        running=True,
        home=str(status.home),
        version=status.version,
        store=status.bolt_address,
        browser=status.browser_address,
        pid=status.pid or 0,
        **login,
    )
