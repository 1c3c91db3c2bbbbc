"""The vault: originals of what the privacy gate generalised, encrypted, in a file next to the ledger.

The key is in the keyring of the operating system or, if there is none, in a file next to the vault that only its owner may read.
Without the key only the ids of asked questions (hashes of their texts) and their namespaces are readable.
"""

import hmac
import json
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from drag_graph.errors import MissingExtra, StoreUnfit
from drag_graph.ledger.sqlite_file import FileKind, SqliteFile
from drag_graph.ports.private_details import Finding, Kept, texts_by_field
from drag_graph.ports.setting_types import Privacy

SERVICE = "drag-graph"
KEY_NAME = "vault.key"
_SHARED_MODE = 0o077
"""Permission bits of a file that others can read."""
VAULT = FileKind(
    name="vault",
    # The numbers of erased entries are never reused, because the check before a call reads only larger numbers.
    schema="""
CREATE TABLE originals (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, namespace TEXT NOT NULL,
    own_id_mark TEXT NOT NULL, fingerprint TEXT NOT NULL, content BLOB NOT NULL, UNIQUE (id, fingerprint));
CREATE TABLE calls (mark TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
""",
    hint="Free disk space or correct the permissions. Without its vault drag-graph sends nothing.",
    restore="Restore {path} and its key from a backup, or move both away: what was generalised so far cannot be put back then.",
)


@dataclass(frozen=True, slots=True)
class Original:
    """A question as the user wrote it, and the spans that were replaced and kept. `own_id` and `metadata` are from its line."""

    question: str
    options: tuple[str, ...]
    findings: tuple[Finding, ...]
    kept: tuple[Kept, ...] = ()
    own_id: str = ""
    metadata: str = "{}"
    """A JSON document."""
    call: str = ""
    """Mark of the rewriter's call about this question, if there was one."""

    @property
    def texts(self) -> dict[str, str]:
        """The question and its options, by field."""
        return texts_by_field(self.question, self.options)


_ORIGINAL = TypeAdapter(Original)


class Vault:
    """The vault at `path`. Thread-safe, and safe next to other processes.

    A missing vault reads as empty and is created with the first entry. Raises MissingExtra without `cryptography`, and StoreUnfit
    if the file or its key cannot be used.
    """

    def __init__(self, path: Path) -> None:
        if find_spec("cryptography") is None:
            raise MissingExtra("The package cryptography is not installed.", extra="privacy")
        self.path = path
        self._lock = threading.Lock()
        self._file: SqliteFile | None = None
        self._existing()

    def close(self) -> None:
        """Close the file; further calls do nothing."""
        if self._file is not None:
            self._file.close()

    def keep(self, asked_id: str, namespace: str, original: Original, level: str) -> None:
        """Store the original of a question that is asked under `asked_id`. Storing it again changes nothing."""
        content = json.dumps(asdict(original), ensure_ascii=False, sort_keys=True).encode()
        row = (asked_id, namespace, self.mark(original.own_id), self._mark(content), self._fernet.encrypt(content))
        with self._opened().writing() as rows:
            rows.execute(
                "INSERT OR IGNORE INTO originals (id, namespace, own_id_mark, fingerprint, content) VALUES (?, ?, ?, ?, ?)", row
            )
            rows.execute("INSERT OR REPLACE INTO about VALUES ('level', ?)", (level,))

    def mark(self, text: str) -> str:
        """Return a keyed hash of a text: without the key it reveals nothing."""
        return self._mark(text.encode("utf-8", "surrogatepass"))

    def _mark(self, content: bytes) -> str:
        self._opened()
        return hmac.new(self._key, content, "sha256").hexdigest()

    def originals(self, asked_id: str) -> list[Original]:
        """Return the originals that were asked as `asked_id`, oldest first."""
        return [original for _, original in self._read("WHERE id = ? ORDER BY n", (asked_id,))]

    def ids(self, namespace: str, own_id: str = "") -> frozenset[str]:
        """Return the ids of the asked questions of a namespace; with `own_id`, only those of lines with this id."""
        if (file := self._existing()) is None:
            return frozenset()
        with file.reading() as rows:
            marks = rows.execute("SELECT id, own_id_mark FROM originals WHERE namespace = ?", (namespace,)).fetchall()
        return frozenset(id_ for id_, mark in marks if not own_id or mark == self.mark(own_id))

    def after(self, number: int) -> list[tuple[int, Original]]:
        """Return the originals stored after entry `number` (0: all), each with its number."""
        return self._read("WHERE n > ? ORDER BY n", (number,))

    def recorded(self, call: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
        """Return the mark of a rewriter's call, and the call with its reply if it is recorded."""
        mark = self.mark(json.dumps(call, sort_keys=True))
        with self._opened().reading() as rows:
            row = rows.execute("SELECT content FROM calls WHERE mark = ?", (mark,)).fetchone()
        return mark, json.loads(self._decrypted(row[0])) if row else None

    def record(self, mark: str, call: Mapping[str, Any]) -> None:
        """Record a rewriter's call with its reply."""
        with self._opened().writing() as rows:
            rows.execute("INSERT OR REPLACE INTO calls VALUES (?, ?)", (mark, self._fernet.encrypt(json.dumps(call).encode())))

    def erase(self, asked_ids: Collection[str]) -> int:
        """Erase the originals asked under these ids, and the rewriter's calls about them; return the number of originals."""
        calls = {original.call for id_ in asked_ids for original in self.originals(id_)}
        with self._opened().writing() as rows:
            rows.executemany("DELETE FROM calls WHERE mark = ?", [(call,) for call in calls])
            return sum(rows.execute("DELETE FROM originals WHERE id = ?", (id_,)).rowcount for id_ in asked_ids)

    def _existing(self) -> SqliteFile | None:
        """Return the file, or None if there is none yet. Another process may create it at any time."""
        return self._opened() if self._file is not None or self.path.exists() else None

    def _opened(self) -> SqliteFile:
        """Return the file; create it if it is missing."""
        from cryptography.fernet import Fernet

        with self._lock:
            if self._file is None:
                file = SqliteFile(VAULT, self.path)
                with file.writing() as rows:  # one process at a time creates a key
                    is_new = not rows.execute("SELECT EXISTS (SELECT 1 FROM originals)").fetchone()[0]
                    self._key = _key(self.path, is_new=is_new)
                self._fernet = Fernet(self._key)
                self._file = file
            return self._file

    def _read(self, where: str, values: Sequence[object]) -> list[tuple[int, Original]]:
        if (file := self._existing()) is None:
            return []
        with file.reading() as rows:
            entries = rows.execute(f"SELECT n, content FROM originals {where}", values).fetchall()  # noqa: S608 - fixed words
        return [(n, _ORIGINAL.validate_json(self._decrypted(content))) for n, content in entries]

    def _decrypted(self, content: bytes) -> bytes:
        from cryptography.fernet import InvalidToken

        try:
            return self._fernet.decrypt(content)
        except InvalidToken:
            raise StoreUnfit(
                f"The vault {self.path} is damaged or was written with another key.",
                hint=f"Restore the key that belongs to it ({KEY_NAME} or the keyring), or the vault, from a backup.",
            ) from None


def vault_level(path: Path) -> Privacy:
    """Return the privacy level of the last question stored in a vault, `off` if there is no vault. Needs no key."""
    if not path.exists():
        return "off"
    with SqliteFile(VAULT, path, read_only=True) as file, file.reading() as rows:
        row = rows.execute("SELECT value FROM about WHERE name = 'level'").fetchone()
    return "off" if row is None else "strict" if row[0] == "strict" else "standard"


def _key(path: Path, *, is_new: bool) -> bytes:
    """Return the vault's key from the keyring or its file; create one for a new vault."""
    from cryptography.fernet import Fernet

    file = path.with_name(KEY_NAME)
    keyring = _keyring()
    key: str | None = keyring.get_password(SERVICE, KEY_NAME) if keyring else None
    if key is None and file.exists():
        if file.stat().st_mode & _SHARED_MODE:
            raise StoreUnfit(f"Other users can read the key {file}.", hint=f"Run: chmod 600 {file}")
        key = file.read_text(encoding="ascii").strip()
    if key is None:
        if not is_new:
            raise StoreUnfit(f"The key of the vault {path} is missing.", hint=f"Restore it to the keyring or to {file}.")
        key = Fernet.generate_key().decode()
        if keyring:
            keyring.set_password(SERVICE, KEY_NAME, key)
        if not keyring or keyring.get_password(SERVICE, KEY_NAME) != key:
            with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as key_file:
                key_file.write(key)
    return key.encode()


def _keyring() -> Any:
    """Return the keyring of the operating system, or None if there is no usable one."""
    if find_spec("keyring") is None:
        return None
    import keyring
    from keyring.errors import KeyringError

    with suppress(KeyringError, RuntimeError):
        system_keyring = keyring.get_keyring()
        if system_keyring.priority >= 1:
            system_keyring.get_password(SERVICE, KEY_NAME)
            return system_keyring
    return None
