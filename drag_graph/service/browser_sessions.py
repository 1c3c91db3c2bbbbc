"""Sign-ins of browsers: a cookie names a session, and the session has the key. They end with the process."""

import hashlib
import hmac
import secrets
import threading
import time
from dataclasses import dataclass

LONGEST = 12 * 3600.0
"""Seconds after which a session ends."""
MOST = 1_000
"""Sessions at a time; the oldest ends first."""


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """The key that a browser signed in with."""

    secret: str
    ends_at: float


class BrowserSessions:
    """The sessions of one service. Thread-safe. A cookie is not a key."""

    def __init__(self) -> None:
        self._sessions: dict[str, BrowserSession] = {}
        self._form_key = secrets.token_bytes(32)
        self._lock = threading.Lock()

    def open(self, key: str) -> str:
        """Open a session for a key and return its id."""
        id_ = secrets.token_urlsafe(32)
        with self._lock:
            while len(self._sessions) >= MOST:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[id_] = BrowserSession(key, time.monotonic() + LONGEST)
        return id_

    def close(self, id_: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(id_, None)

    def secret_of(self, id_: str) -> str:
        """Return the key of a session; empty if there is no such session."""
        with self._lock:
            session = self._sessions.get(id_)
        return session.secret if session and session.ends_at > time.monotonic() else ""

    def form_token(self, id_: str) -> str:
        """Return what a form of this session (empty: of a browser without one) sends along, which other sites cannot know."""
        return hmac.new(self._form_key, id_.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def is_form_token(self, id_: str, token: str) -> bool:
        """Whether a form of this session sent the token."""
        return hmac.compare_digest(self.form_token(id_).encode(), token.encode("utf-8", "surrogatepass"))
