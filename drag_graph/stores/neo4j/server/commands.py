"""`db up | down | status`: the Neo4j that drag-graph runs on this machine without Docker."""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from drag_graph.errors import ConfigurationError
from drag_graph.files import write_lines
from drag_graph.settings import Settings, process_environment
from drag_graph.stores.neo4j import server as neo4j_server
from drag_graph.stores.neo4j.server import Memory, ServerStatus

DEFAULT_HOME = Path(".drag-graph/neo4j")
_PASSWORD_FILE = "password"  # noqa: S105 - the name of a file


def server_up(
    settings: Settings,
    version: str,
    home: Path | None,
    *,
    bolt_port: int,
    http_port: int,
    heap: str,
    page_cache: str,
    on_progress: Callable[[str], None],
) -> dict[str, Any]:
    """Start the server, or report the one that runs; return what a person needs to use it.

    Without a password in the settings one is made, kept in the home's `password` file (for this user only) and used again
    the next time. Raises as `start_server` does.
    """
    home = home or DEFAULT_HOME
    given = settings.neo4j_password.get_secret_value()
    password = given or _kept_password(home)
    started = neo4j_server.start_server(
        version,
        home,
        password=password,
        bolt_port=bolt_port,
        http_port=http_port,
        environment=process_environment(),
        memory=Memory(heap, page_cache),
        on_progress=on_progress,
    )
    shown = {} if given else {"password": password, "next": f"export NEO4J_PASSWORD={password}"}
    return {**_describe(started), "username": started.username, **shown}


def _kept_password(home: Path) -> str:
    """Return the password that was made for this home, making it the first time."""
    path = home / _PASSWORD_FILE
    try:
        home.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            write_lines(path, [secrets.token_urlsafe(12)])  # a temporary file, for this user only, renamed in one step
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"the server's password cannot be kept in {path}", hint="Set NEO4J_PASSWORD, or give another --home."
        ) from error


def server_down(home: Path | None) -> dict[str, Any]:
    """Stop the server of `home`; nothing happens when none runs."""
    return _describe(neo4j_server.stop_server(home or DEFAULT_HOME))


def server_state(home: Path | None) -> dict[str, Any]:
    """Return whether the server of `home` runs, and where."""
    return _describe(neo4j_server.server_status(home or DEFAULT_HOME))


def _describe(status: ServerStatus) -> dict[str, Any]:
    if not status.running:
        return {"running": False, "home": str(status.home)}
    return {
        "running": True,
        "version": status.version,
        "store": status.bolt_address,
        "browser": status.browser_address,
        "home": str(status.home),
        "pid": status.pid,
    }
