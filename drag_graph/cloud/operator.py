"""`drag-graph cloud edges` beside a cloud that serves: that process alone may write to an embedded store, so it is asked."""

import json
from pathlib import Path
from typing import Any

from drag_graph.errors import CloudRefused, ConfigurationError

PATIENCE = 30.0
WRITING_PATIENCE = 600.0
"""Seconds: a large file is written anew."""


class Operator:
    """The service of a cloud that runs on this machine."""

    def __init__(self, address: str, token: str) -> None:
        self._address = address
        self._token = token

    def edges(self) -> list[dict[str, Any]]:
        """Return the edges, and which of them are connected."""
        found = self._ask("GET", "/v1/edges")
        return list(found)

    def add(self, name: str) -> str:
        """Register an edge; return its token."""
        return str(self._ask("POST", f"/v1/edges/{name}")["token"])

    def remove(self, name: str) -> str:
        """Withdraw an edge; return what is left of its summaries on disk, in words."""
        return str(self._ask("DELETE", f"/v1/edges/{name}", WRITING_PATIENCE)["store"])

    def _ask(self, method: str, path: str, patience: float = PATIENCE) -> Any:
        import httpx

        headers = {"Authorization": f"Bearer {self._token}"}
        with httpx.Client(base_url=self._address, headers=headers, timeout=patience, trust_env=False) as client:
            reply = client.request(method, path)
        said = reply.json()
        if reply.status_code == 409:  # noqa: PLR2004 - what an error on purpose is sent as
            raise ConfigurationError(said["detail"], hint=said["hint"])
        if reply.is_error:
            raise CloudRefused(f"the cloud refused: {said.get('detail', reply.status_code)}")
        return said


def running_cloud(file: Path) -> Operator | None:
    """Return the cloud that serves the store whose operator's file this is; None where there is none."""
    import httpx

    try:
        known = json.loads(file.read_text(encoding="utf-8"))
        operator = Operator(known["address"], known["token"])
        operator.edges()
    except (OSError, ValueError, KeyError, httpx.TransportError, CloudRefused):
        return None  # none has run, or one was killed and left its file
    return operator
