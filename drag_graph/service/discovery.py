"""The file through which commands on this machine find the running service."""

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from drag_graph.errors import ConfigurationError
from drag_graph.files import replacing
from drag_graph.identity import sha256_of

PATIENCE = 2.0
"""Seconds in which a running service must answer."""
OTHERS_RIGHTS = 0o077


@dataclass(frozen=True, slots=True)
class RunningService:
    """Address and token of the service on this machine that holds a store."""

    address: str
    token: str

    @property
    def host(self) -> str:
        """Host and port of the address."""
        return self.address.partition("://")[2]


def instance_of(token: str) -> str:
    """Return the reply of `/health`, requested with this token."""
    return sha256_of(token)[:16]


def running_service(file: Path) -> RunningService | None:
    """Return the service of a discovery file. None if there is no file, or a killed service has left it behind.

    A file that other users can read or write, or that another user owns, is not trusted.
    """
    if not file.exists():
        return None
    from http.client import HTTPConnection, HTTPException

    try:
        status = file.stat()
        if status.st_mode & OTHERS_RIGHTS or status.st_uid != os.getuid():
            return None
        content = json.loads(file.read_text(encoding="utf-8"))
        service = RunningService(str(content["address"]), str(content["token"]))
        with closing(HTTPConnection(service.host, timeout=PATIENCE)) as connection:
            connection.request("GET", "/health")
            reply = json.loads(connection.getresponse().read())
        return service if reply["instance"] == instance_of(service.token) else None
    except (OSError, ValueError, KeyError, TypeError, HTTPException):
        return None


@contextmanager
def announced(file: Path, service: RunningService) -> Iterator[None]:
    """Keep the discovery file during the block.

    Raises ConfigurationError if another service has announced itself there, or the file cannot be written.
    """
    if other := running_service(file):
        hint = "Stop it first, or serve another store."
        raise ConfigurationError(f"A service for this store is already running at {other.address}.", hint=hint)
    try:
        with replacing(file) as text:
            json.dump({"address": service.address, "token": service.token}, text)
        yield
    finally:
        file.unlink(missing_ok=True)
