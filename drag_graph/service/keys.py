"""Keys of the service: who may call it, in which namespaces, until when, and for how much money."""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from drag_graph.errors import ConfigurationError, NotStored
from drag_graph.ledger.budget import dollars, nanos_of_limit
from drag_graph.ledger.sqlite_file import FileKind, SqliteFile

SERVICE = FileKind(
    name="service file",
    schema="""
CREATE TABLE keys (
    name TEXT PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, role TEXT NOT NULL, namespaces TEXT NOT NULL, created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL, budget INTEGER, spent INTEGER NOT NULL DEFAULT 0, revoked_at TEXT NOT NULL DEFAULT ''
);
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, namespace TEXT NOT NULL,
    caller TEXT NOT NULL, request TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'queued', created_at TEXT NOT NULL,
    started_at TEXT NOT NULL DEFAULT '', finished_at TEXT NOT NULL DEFAULT '', progress TEXT NOT NULL DEFAULT '{}',
    report TEXT NOT NULL DEFAULT 'null', error TEXT NOT NULL DEFAULT 'null', spent INTEGER NOT NULL DEFAULT 0,
    is_cancelled INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX jobs_of_state ON jobs (state)
""",
    hint="Free disk space, or correct the permissions of {path}.",
    restore="Restore {path} from a backup, or move it away. All keys and unfinished jobs are then lost.",
    application=0x64726773,
    version=1,
)


KeyRole = Literal["reader", "editor", "admin"]
ROLES: tuple[KeyRole, ...] = ("reader", "editor", "admin")
"""Each role includes the rights of those before it."""


ALL_NAMESPACES = "*"
"""Means all namespaces. No key has it; only callers on this machine can open all of them."""
_NAME = re.compile(r"(?!local$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DURATION = re.compile(r"([1-9][0-9]{0,4})([dh])")
_COLUMNS = "name, role, namespaces, created_at, expires_at, budget, spent, revoked_at, sha256"


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """A key without its secret. Times are UTC, ISO 8601, or ''. Without `budget_usd` spending is not limited."""

    name: str
    role: KeyRole
    namespaces: tuple[str, ...]
    created_at: str
    expires_at: str
    budget_usd: float | None
    spent_usd: float
    revoked_at: str

    @property
    def state(self) -> Literal["valid", "expired", "revoked"]:
        """Whether the service accepts the key, and if not, why."""
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at and self.expires_at <= _now() else "valid"

    @property
    def remaining_usd(self) -> float | None:
        """The rest of the budget in US dollars; None without a budget."""
        return None if self.budget_usd is None else max(self.budget_usd - self.spent_usd, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return its entry of the `keys list --json` document."""
        return {**asdict(self), "namespaces": list(self.namespaces), "state": self.state}


class KeyRing:
    """The keys of a store. The file has only their hashes. Thread-safe, and safe next to other processes.

    Nothing is cached, so a key that another process revokes is refused at once. Every method raises StoreUnfit if the file
    cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._file = SqliteFile(SERVICE, path)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def add(
        self, name: str, role: KeyRole, namespaces: Sequence[str], *, expires: str = "", budget_usd: float | None = None
    ) -> tuple[str, ServiceKey]:
        """Add a key and return its secret, which is stored nowhere. `expires` is a time from now, such as 90d or 12h.

        Raises ConfigurationError for an unusable value, and for a name that is or was in use.
        """
        _check(name, role, namespaces, budget_usd)
        secret, created = f"dgk_{secrets.token_urlsafe(32)}", datetime.now(UTC)
        ends = _written(created + _duration(expires)) if expires else ""
        budget = None if budget_usd is None else nanos_of_limit(budget_usd)
        row = (name, role, json.dumps(list(namespaces)), _written(created), ends, budget, 0, "", _hash(secret))
        with self._file.writing(durable=True) as rows:
            done = rows.execute(f"INSERT OR IGNORE INTO keys ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)  # noqa: S608
        if not done.rowcount:
            hint = "Choose another name. Names of revoked keys cannot be used again."
            raise ConfigurationError(f"A key named {name!r} already exists.", hint=hint)
        return secret, _key(row)

    def keys(self) -> list[ServiceKey]:
        """Return all keys by name, also expired and revoked ones."""
        return [key for key, _ in self._read()]

    def key(self, name: str) -> ServiceKey | None:
        """Return the key of this name; None if there is none."""
        return next((key for key in self.keys() if key.name == name), None)

    def revoke(self, name: str) -> ServiceKey:
        """Revoke a key for good. Raises NotStored if there is none."""
        with self._file.writing(durable=True) as rows:
            rows.execute("UPDATE keys SET revoked_at = ? WHERE name = ? AND revoked_at = ''", (_now(), name))
        key = self.key(name)
        if key is None:
            raise NotStored(f"There is no key {name!r}.", hint="List the keys: drag-graph keys list")
        return key

    def find(self, secret: str) -> ServiceKey | None:
        """Return the valid key with this secret. The time does not depend on the key or the secret."""
        wanted, found = _hash(secret), None
        for key, sha256 in self._read():
            if hmac.compare_digest(sha256, wanted):
                found = key
        return found if found is not None and found.state == "valid" else None

    def is_empty(self) -> bool:
        """Whether no key has ever been added."""
        return not self._read()

    def _read(self) -> list[tuple[ServiceKey, str]]:
        with self._file.reading() as rows:
            return [(_key(row), row[-1]) for row in rows.execute(f"SELECT {_COLUMNS} FROM keys ORDER BY name")]  # noqa: S608


def includes(role: KeyRole, other: KeyRole) -> bool:
    """Whether a role has all rights of another one."""
    return ROLES.index(role) >= ROLES.index(other)


def _key(row: Sequence[Any]) -> ServiceKey:
    name, role, namespaces, created, expires, budget, spent, revoked, _hash_of_secret = row
    limit = None if budget is None else dollars(budget)
    return ServiceKey(name, role, tuple(json.loads(namespaces)), created, expires, limit, dollars(spent), revoked)


def _check(name: str, role: str, namespaces: Sequence[str], budget_usd: float | None) -> None:
    problems = {
        f"{name!r} is not a valid name for a key.": not _NAME.fullmatch(name),
        f"There is no role {role!r}.": role not in ROLES,
        "A key requires at least one namespace, each by its name.": (
            isinstance(namespaces, str) or not namespaces or bool({"", ALL_NAMESPACES} & {*namespaces})
        ),
        f"A budget of {budget_usd} US dollars is not valid.": budget_usd is not None and not 0 <= budget_usd < float("inf"),
    }
    for message, holds in problems.items():
        if holds:
            raise ConfigurationError(message, hint=f"See `drag-graph keys add --help`. The roles are {', '.join(ROLES)}.")


def _duration(text: str) -> timedelta:
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ConfigurationError(f"{text!r} is not a duration.", hint="Write days or hours, such as 90d or 12h.")
    return timedelta(**{"days" if match[2] == "d" else "hours": int(match[1])})


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _now() -> str:
    return _written(datetime.now(UTC))
