"""Run commands through the running service: the methods of `DragGraph` that they call, over its routes.

Imports only the standard library, so that a command is as fast as the service.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from drag_graph import errors

if TYPE_CHECKING:
    from drag_graph.service.discovery import RunningService
    from drag_graph.settings import Settings

PATIENCE = 330.0
"""Seconds to wait for data. The service gives up an answer after 300, and sends a comment every 15 between events."""
EVENT_STREAM = "text/event-stream"
SEARCH = ("token_budget",)
ANSWER = (
    *("mode", "line_format", "max_lines", "shared_lines", "line_order", "brief", "abstain", "max_answer_tokens", "relevance"),
    *SEARCH,
)
"""Settings that a request can choose (`drag_graph.service.asking_routes`)."""
_ANSWER_ID = re.compile("[0-9a-f]{4,32}")


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """The reply of a route: the same document as `to_dict` of the method's result."""

    document: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the document."""
        return self.document


class ServiceClient:
    """Asks, searches and audits through the service that holds the store of `settings`.

    `flags` are the settings of the command line, None if not given. A method raises ConfigurationError for flags that its
    request cannot pass on, StoreUnavailable if the service ends meanwhile, and the service's own errors.
    """

    def __init__(self, service: "RunningService", settings: "Settings", flags: Mapping[str, Any]) -> None:
        self.settings = settings
        self._service = service
        self._given = {name: value for name, value in flags.items() if value is not None and name not in {"store", "namespace"}}

    def ask(
        self, text: str | None, options: Sequence[str], *, explain: bool, on_token: Callable[[str], None] | None, **asking: Any
    ) -> dict[str, Any]:
        """Return the document of an answer; `on_token` receives its text while the student writes it."""
        body = {"question": text, "options": options, "explain": explain, **asking, **self._settings(ANSWER)}
        if on_token is None:
            return dict(self._document("POST", "ask", body))
        answer: dict[str, Any] = {}
        for name, data in self._events("POST", "ask", body):
            if name == "token":
                on_token(data["text"])
            elif name == "error":
                raise _error(data)
            else:
                answer = data
        return answer

    def search(self, text: str, **restrictions: Any) -> ServiceReply:
        """Search as `DragGraph.search`."""
        return ServiceReply(self._document("POST", "search", {"text": text, **restrictions, **self._settings(SEARCH)}))

    def audit(self, answer: str, *, local: bool) -> Any:
        """Trace as `DragGraph.audit`. Ids of inputs are looked up here, next to the service."""
        if not _ANSWER_ID.fullmatch(answer):
            from drag_graph.app.application import DragGraph

            with DragGraph(settings=self.settings) as graph:
                return graph.audit(answer, local=local)
        self.refuse(local=local)
        return ServiceReply(self._document("GET", f"answers/{answer}/audit"))

    def refuse(self, possible: Sequence[str] = (), **arguments: Any) -> None:
        """Raise ConfigurationError if an argument, or a setting that is not in `possible`, is on the command line."""
        from .options import flag_of

        given = {name: name not in possible for name in self._given} | arguments
        if refused := [flag_of(name) for name, value in given.items() if value]:
            hint = "Leave it out, or add --no-service to open the store directly."
            raise errors.ConfigurationError(f"The running service does not support {', '.join(refused)}.", hint=hint)

    def _settings(self, possible: Sequence[str]) -> dict[str, Any]:
        self.refuse(possible)
        return self._given

    def _document(self, method: str, path: str, body: Any = None) -> Any:
        with self._reply(method, path, body) as reply:
            return json.loads(reply.read())

    def _events(self, method: str, path: str, body: Any = None) -> Iterator[tuple[str, Any]]:
        """Yield name and data of each event."""
        with self._reply(method, path, body, accept=EVENT_STREAM) as reply:
            name = ""
            for line in reply:
                key, _, value = line.decode().rstrip("\n").partition(": ")
                if key == "event":
                    name = value
                elif key == "data":
                    yield name, json.loads(value)

    @contextmanager
    def _reply(self, method: str, path: str, body: Any, *, accept: str = "application/json") -> Iterator[HTTPResponse]:
        """Send a request and yield the reply. Raises the error that the service reports, StoreUnavailable if it is gone."""
        headers: dict[str, Any] = {"Authorization": f"Bearer {self._service.token}", "Accept": accept}
        headers |= {"Content-Type": "application/json", "X-Namespace": self.settings.namespace.encode()}
        content = None if body is None else json.dumps({name: value for name, value in body.items() if value is not None})
        connection = HTTPConnection(self._service.host, timeout=PATIENCE)
        try:
            connection.request(method, f"/api/v1/{quote(path)}", content, headers)
            reply = connection.getresponse()
            if reply.status >= HTTPStatus.BAD_REQUEST:
                raise _error(json.loads(reply.read()))
            yield reply
        except (OSError, HTTPException, ValueError) as error:
            message = f"The service at {self._service.address} no longer responds."
            raise errors.StoreUnavailable(message, hint="Run the command again.") from error
        finally:
            connection.close()


def _error(document: Mapping[str, Any]) -> errors.DragGraphError:
    """Return the error of a reply. An unknown type becomes ConfigurationError, because it is about the request."""
    detail = document["error"]
    kind = getattr(errors, detail["type"], None)
    if not (isinstance(kind, type) and issubclass(kind, errors.DragGraphError)):
        kind = errors.ConfigurationError
    return kind(detail["message"], hint=detail["hint"])
