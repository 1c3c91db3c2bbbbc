"""The vault: the originals of what was generalised, encrypted, in a file of its own beside the ledger.

Nothing else keeps them. Its key is in the keyring of the operating system or, where there is none, in a file beside the vault
that only its owner may read. What is readable without the key are the ids of asked questions, which are hashes of their texts,
and their namespaces.
"""

import hmac
import json
import os
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from drag_graph.errors import MissingExtra, StoreUnfit
from drag_graph.ports.private_details import Finding, Kept, texts_by_field
from drag_graph.settings import Privacy

SERVICE = "drag-graph"
KEY_NAME = "vault.key"
BUSY_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS originals (n INTEGER PRIMARY KEY, id TEXT NOT NULL, namespace TEXT NOT NULL, own_id_mark TEXT NOT NULL,
    fingerprint TEXT NOT NULL, content BLOB NOT NULL, UNIQUE (id, fingerprint));
CREATE TABLE IF NOT EXISTS calls (mark TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Original:
    """A question as it was given, and what of it was replaced and kept. `own_id` and `metadata` are what else its line said."""

    question: str
    options: tuple[str, ...]
    findings: tuple[Finding, ...]
    kept: tuple[Kept, ...] = ()
    own_id: str = ""
    metadata: str = "{}"
    """A JSON document."""
    call: str = ""
    """What the call of the model that words questions anew is kept under, if one was asked."""

    @property
    def texts(self) -> dict[str, str]:
        """The question and its options, by field."""
        return texts_by_field(self.question, self.options)


class Vault:
    """An open vault. Thread-safe, and safe beside other processes.

    With `create` false a vault that is not there is empty and stays away. Raises MissingExtra without `cryptography`, and
    StoreUnfit where the file or its key cannot be used.
    """

    def __init__(self, path: Path, *, create: bool = True) -> None:
        if find_spec("cryptography") is None:
            raise MissingExtra("The vault needs the package cryptography.", extra="privacy")
        from cryptography.fernet import Fernet

        self.path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        if not create and not path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with _in_words(path):
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA secure_delete = ON")
            self._connection.executescript(_SCHEMA)
        with self._rows() as rows:  # one process at a time makes a key
            is_new = not rows.execute("SELECT EXISTS (SELECT 1 FROM originals)").fetchone()[0]
            self._key = _key(path, is_new=is_new)
        self._fernet = Fernet(self._key)

    def close(self) -> None:
        """Release the file; a second call does nothing."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def keep(self, asked_id: str, namespace: str, original: Original, level: str) -> None:
        """Keep what was asked as `asked_id`; the same again changes nothing."""
        content = json.dumps(asdict(original), ensure_ascii=False, sort_keys=True).encode()
        row = (asked_id, namespace, self.mark(original.own_id), self._mark(content), self._fernet.encrypt(content))
        with self._rows() as rows:
            rows.execute(
                "INSERT OR IGNORE INTO originals (id, namespace, own_id_mark, fingerprint, content) VALUES (?, ?, ?, ?, ?)", row
            )
            rows.execute("INSERT OR REPLACE INTO about VALUES ('level', ?)", (level,))

    def mark(self, text: str) -> str:
        """Return what tells one text from another, and nothing without the key."""
        return self._mark(text.encode("utf-8", "surrogatepass"))

    def _mark(self, content: bytes) -> str:
        return hmac.new(self._key, content, "sha256").hexdigest()

    def originals(self, asked_id: str) -> list[Original]:
        """Return what was asked as `asked_id`, the first first."""
        return [original for _, original in self._read("WHERE id = ? ORDER BY n", (asked_id,))]

    def ids(self, namespace: str, own_id: str = "") -> frozenset[str]:
        """Return the ids of what was asked in a namespace; with `own_id` of the lines that were named so."""
        if self._connection is None:
            return frozenset()
        with self._rows() as rows:
            found = rows.execute("SELECT id, own_id_mark FROM originals WHERE namespace = ?", (namespace,)).fetchall()
        return frozenset(id_ for id_, mark in found if not own_id or mark == self.mark(own_id))

    def after(self, number: int) -> list[tuple[int, Original]]:
        """Return what was kept after the entry of this number (0: all), each with its number."""
        return self._read("WHERE n > ? ORDER BY n", (number,))

    def recorded(self, call: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
        """Return what this call of a model of this machine is kept under, and the call with its reply if it is kept."""
        mark = self.mark(json.dumps(call, sort_keys=True))
        with self._rows() as rows:
            found = rows.execute("SELECT content FROM calls WHERE mark = ?", (mark,)).fetchone()
        return mark, json.loads(self._opened(found[0])) if found else None

    def record(self, mark: str, call: Mapping[str, Any]) -> None:
        """Keep a call with its reply."""
        with self._rows() as rows:
            content = self._fernet.encrypt(json.dumps(call).encode())
            rows.execute("INSERT OR REPLACE INTO calls VALUES (?, ?)", (mark, content))

    def erase(self, asked_ids: Collection[str]) -> int:
        """Erase what was asked as these, with the calls about it; return how much that was."""
        calls = {original.call for id_ in asked_ids for original in self.originals(id_)}
        with self._rows() as rows:
            rows.executemany("DELETE FROM calls WHERE mark = ?", [(call,) for call in calls])
            return sum(rows.execute("DELETE FROM originals WHERE id = ?", (id_,)).rowcount for id_ in asked_ids)

    def _read(self, where: str, values: Sequence[object]) -> list[tuple[int, Original]]:
        if self._connection is None:
            return []
        with self._rows() as rows:
            found = rows.execute(f"SELECT n, content FROM originals {where}", values).fetchall()  # noqa: S608 - fixed words
        return [(n, _original(json.loads(self._opened(content)))) for n, content in found]

    def _opened(self, content: bytes) -> bytes:
        from cryptography.fernet import InvalidToken

        try:
            return self._fernet.decrypt(content)
        except InvalidToken:
            hint = "Put the key back that it was made with."
            raise StoreUnfit(f"the vault {self.path} is not of its key", hint=hint) from None

    @contextmanager
    def _rows(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _in_words(self.path):
            if self._connection is None:
                raise StoreUnfit(f"there is no vault at {self.path}", hint="What was generalised is kept when it is asked.")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


def vault_level(path: Path) -> Privacy:
    """Return the level that a vault was last filled under, `off` where there is none; needs no key."""
    if not path.exists():
        return "off"
    with _in_words(path), sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=BUSY_SECONDS) as rows:
        found = rows.execute("SELECT value FROM about WHERE name = 'level'").fetchone()
    rows.close()
    return "off" if found is None else "strict" if found[0] == "strict" else "standard"


def _original(document: dict[str, Any]) -> Original:
    findings = tuple(Finding(**item) for item in document.pop("findings"))
    kept = tuple(Kept(**item) for item in document.pop("kept"))
    return Original(**{**document, "options": tuple(document["options"])}, findings=findings, kept=kept)


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreUnfit(f"the vault {path} cannot be used: {error}", hint="Mend or move it, and its key with it.") from error


def _key(path: Path, *, is_new: bool) -> bytes:
    """Return the vault's key: that of the keyring, else that of the file; a new one for a new vault."""
    from cryptography.fernet import Fernet

    file = path.with_name(KEY_NAME)
    found = _in_keyring()
    if found is None and file.exists():
        if file.stat().st_mode & 0o077:
            raise StoreUnfit(f"others may read the key {file}", hint=f"chmod 600 {file}")
        found = file.read_text(encoding="ascii").strip()
    if found is None:
        if not is_new:
            raise StoreUnfit(f"the key of the vault {path} is gone", hint=f"Put it back into the keyring or {file}.")
        found = Fernet.generate_key().decode()
        if not _into_keyring(found):
            with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as written:
                written.write(found)
    return found.encode()


def _in_keyring() -> str | None:
    keyring = _keyring()
    return None if keyring is None else keyring.get_password(SERVICE, KEY_NAME)


def _into_keyring(key: str) -> bool:
    """Put a key into the operating system's keyring; return whether it is there now."""
    keyring = _keyring()
    if keyring is None:
        return False
    keyring.set_password(SERVICE, KEY_NAME, key)
    return bool(keyring.get_password(SERVICE, KEY_NAME) == key)


def _keyring() -> Any:
    """Return the operating system's keyring, or None where there is none that can be used."""
    if find_spec("keyring") is None:
        return None
    import keyring
    from keyring.errors import KeyringError

    try:
        own = keyring.get_keyring()
        usable = own.priority >= 1
        if usable:
            own.get_password(SERVICE, KEY_NAME)
    except (KeyringError, RuntimeError):
        return None
    return own if usable else None
