"""`drag-graph cloud edges` beside a cloud that serves: that process alone may write to an embedded store, so it is asked."""

import json
from pathlib import Path
from typing import Any

from drag_graph.errors import CloudError, CloudRefused, CloudUnavailable, ConfigurationError, StoreUnavailable

PATIENCE = 30.0
WRITING_PATIENCE = 600.0
"""Seconds: a large file is written anew."""
_ERRORS = {409: ConfigurationError, 503: StoreUnavailable}
"""What an error on purpose is sent as."""


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

    def remove(self, name: str) -> None:
        """Withdraw an edge."""
        self._ask("DELETE", f"/v1/edges/{name}")

    def compact(self) -> str:
        """Let the cloud write an embedded store's file anew; return what is left on disk, in words."""
        return str(self._ask("POST", "/v1/compaction", WRITING_PATIENCE)["store"])

    def _ask(self, method: str, path: str, patience: float = PATIENCE) -> Any:
        import httpx

        headers = {"Authorization": f"Bearer {self._token}"}
        try:
            with httpx.Client(base_url=self._address, headers=headers, timeout=patience, trust_env=False) as client:
                reply = client.request(method, path)
            said = reply.json()
        except (httpx.HTTPError, ValueError) as error:
            raise CloudUnavailable(f"the cloud that serves here gives no answer: {type(error).__name__}") from error
        if reply.status_code in _ERRORS:
            raise _ERRORS[reply.status_code](said["detail"], hint=said["hint"])
        if reply.is_error:
            raise CloudRefused(f"the cloud refused: {said.get('detail', reply.status_code)}")
        return said


def running_cloud(file: Path) -> Operator | None:
    """Return the cloud that serves the store whose operator's file this is; None where there is none."""
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
        operator = Operator(known["address"], known["token"])
        operator.edges()
    except (OSError, ValueError, KeyError, CloudError):
        return None  # none has run, or one was killed and left its file
    return operator
