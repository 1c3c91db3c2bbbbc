"""Who may call a route, and in which namespace: `requires` is the dependency of every route."""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass

from fastapi import Request

from drag_graph.app.application import DragGraph
from drag_graph.errors import NotStored
from drag_graph.service.errors import RequestRefused
from drag_graph.service.keys import ALL_NAMESPACES, KeyRing, KeyRole, includes
from drag_graph.sites.wire import is_loopback

LONGEST_SESSION = 12 * 3600.0
"""Seconds after which a browser's session ends."""
MOST_SESSIONS = 1_000
"""Sessions at a time; the oldest ends first."""
LOCAL = "local"
"""Name of a caller with the token of this machine, or on the loopback address while there are no keys. No key has this name."""
COOKIE = "drag_graph_session"
FORM_TOKEN = "x-form-token"  # noqa: S105
"""Header with the token of a form, which a script of our own pages can send."""


class BrowserSessions:
    """Sessions of browsers. A cookie names a session, and the session has the key. They end with the process. Thread-safe."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[str, float]] = {}
        """The key of each session, and when it ends."""
        self._form_key = secrets.token_bytes(32)
        self._lock = threading.Lock()

    def open(self, key: str) -> str:
        """Open a session for a key and return its id."""
        id_ = secrets.token_urlsafe(32)
        with self._lock:
            while len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[id_] = (key, time.monotonic() + LONGEST_SESSION)
        return id_

    def close(self, id_: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(id_, None)

    def secret_of(self, id_: str) -> str:
        """Return the key of a session; empty if there is no such session."""
        with self._lock:
            secret, ends_at = self._sessions.get(id_, ("", 0.0))
        return secret if ends_at > time.monotonic() else ""

    def form_token(self, id_: str) -> str:
        """Return what a form of this session (empty: of a browser without one) sends along, which other sites cannot know."""
        return hmac.new(self._form_key, id_.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a route, and the graph in the namespace of the request. `ALL_NAMESPACES` stands for all of them."""

    name: str
    role: KeyRole
    namespaces: frozenset[str]
    graph: DragGraph
    is_owner: bool = False
    """Whether the caller has the token of this machine, which only the user who runs the service can read."""

    @property
    def sees_all(self) -> bool:
        """Whether the caller sees all namespaces, which no key does."""
        return ALL_NAMESPACES in self.namespaces

    def may(self, role: KeyRole) -> bool:
        """Whether the caller has this role or a higher one."""
        return includes(self.role, role)


class ServiceAccess:
    """Finds the caller of a request from its headers. Thread-safe.

    A caller with `local_token`, the token of the discovery file, is an administrator; empty for none. While the ring is
    empty, callers on the loopback address are administrators, unless `needs_key`.
    """

    def __init__(self, graph: DragGraph, ring: KeyRing, local_token: str = "", *, needs_key: bool = False) -> None:
        self.sessions = BrowserSessions()
        self._ring = ring
        self._graph = graph
        self._token = local_token
        self._needs_key = needs_key
        self._graphs = {graph.settings.namespace: graph}
        self._opened = ExitStack()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the graphs of other namespaces."""
        self._opened.close()

    def graph_in(self, namespace: str) -> DragGraph:
        """Return the graph in a namespace. Raises ConfigurationError for a name that is not usable."""
        with self._lock:
            if namespace not in self._graphs:
                self._graphs[namespace] = self._opened.enter_context(self._graph.in_namespace(namespace))
            return self._graphs[namespace]

    def caller(self, request: Request, role: KeyRole, *, is_page: bool = False) -> Caller:
        """Return the caller of a request. A route of a page checks the token of its form itself.

        Raises RequestRefused: 401 without a valid key, 403 if its role is below `role`. Raises NotStored for a namespace that
        the key does not open.
        """
        session_secret = self._session_secret(request, is_page=is_page)
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        secret = sent.strip() if scheme.lower() == "bearer" else session_secret
        is_owner = hmac.compare_digest(secret.encode(), self._token.encode()) and bool(self._token)
        name, own_role, namespaces = self._identity(request, secret, is_owner=is_owner)
        if not includes(own_role, role):
            hint = "Use a key with this role: drag-graph keys add NAME --role ROLE"
            raise RequestRefused(403, "RoleTooLow", f"The role {role!r} is required; the key has {own_role!r}.", hint=hint)
        namespace = _unicode(request.headers.get("x-namespace", "")) or self._graph.settings.namespace
        if session_secret and not namespaces & {namespace, ALL_NAMESPACES} and "x-namespace" not in request.headers:
            namespace = min(namespaces)
        if not namespaces & {namespace, ALL_NAMESPACES}:
            raise NotStored(f"There is no namespace {namespace!r}.", hint="Name another namespace in the header X-Namespace.")
        return Caller(name, own_role, namespaces, self.graph_in(namespace), is_owner)

    def is_key(self, secret: str) -> bool:
        """Whether this is the secret of a valid key."""
        return self._ring.find(secret) is not None

    def has_form_token(self, request: Request, token: str) -> bool:
        """Whether a form that this browser received from us sent the token."""
        expected = self.sessions.form_token(request.cookies.get(COOKIE, ""))
        return hmac.compare_digest(expected.encode(), token.encode("utf-8", "surrogatepass"))

    def _session_secret(self, request: Request, *, is_page: bool) -> str:
        """Return the key of the browser's session; empty if the request has a key of its own, or may come from another site."""
        if "authorization" in request.headers:
            return ""
        is_ours = is_page or request.method == "GET" or self.has_form_token(request, request.headers.get(FORM_TOKEN, ""))
        return self.sessions.secret_of(request.cookies.get(COOKIE, "")) if is_ours else ""

    def _identity(self, request: Request, secret: str, *, is_owner: bool) -> tuple[str, KeyRole, frozenset[str]]:
        key = self._ring.find(secret)
        if key is not None:
            return key.name, key.role, frozenset(key.namespaces)
        host = request.client.host if request.client else ""
        if is_owner or (is_loopback(host) and self._ring.is_empty() and not self._needs_key):
            return LOCAL, "admin", frozenset({ALL_NAMESPACES})
        hint = "Send `Authorization: Bearer KEY` with a key of `drag-graph keys add`."
        raise RequestRefused(401, "KeyRefused", "A valid key is required.", hint=hint, headers={"WWW-Authenticate": "Bearer"})


def _unicode(header: str) -> str:
    """Return a header that was sent in UTF-8. Servers decode headers as Latin-1."""
    return header.encode("latin-1").decode("utf-8", "replace")


def require_owner(caller: Caller) -> None:
    """Raise RequestRefused unless the caller is a command on this machine."""
    if not caller.is_owner:
        message = "Only commands on the machine of the service may do this."
        raise RequestRefused(403, "OwnerRequired", message, hint="Send content instead of paths, or run the command there.")


def requires(role: KeyRole, *, is_page: bool = False) -> Callable[[Request], Awaitable[Caller]]:
    """Return the dependency of a route, or of a page, that requires `role` or a higher one."""

    async def caller(request: Request) -> Caller:
        access: ServiceAccess = request.app.state.access
        found = request.state.caller = access.caller(request, role, is_page=is_page)
        return found

    caller.role = role  # type: ignore[attr-defined]
    return caller
