"""Check all bytes before they leave this machine.

The check knows all originals in the vault, including those that another process has stored since the last check. It looks for
originals (plain, JSON-escaped, URL-encoded, in base64) and for details with a telling format such as e-mail addresses. It does not
look for names in general, because it would block what the teacher writes about Newton.
"""

import base64
import binascii
import html
import json
import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote_plus

from drag_graph.errors import Withheld
from drag_graph.ports.private_details import Finding, Kept
from drag_graph.privacy.failsafe_rewriter import GuardedRewriter
from drag_graph.privacy.vault import Vault

GENERAL = frozenset({"PLACE", "ORGANIZATION", "JOB", "DATE", "AGE", "DETAIL"})
"""Types whose words occur in any text. They are only searched for together with their neighbouring words."""
LONG_WORD = 6
"""Minimum letters of a word that is searched for alone. Shorter names (May, Will, Rose) are ordinary words."""
BESIDE = 2
"""Number of neighbouring words on each side."""
LONG_NUMBER = 5
"""Minimum characters of a number that is searched for alone. Years occur in any text."""
_ADDRESSING = frozenset({"api_key", "api_base", "timeout"})
"""Arguments of a call that address the provider."""
_WORD = re.compile(
    "[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\\W_\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
"""A word; in scripts that have no spaces, a character."""
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_ESCAPED = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[\"\\/bfnrt])")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}")
_LAYERS = 3
"""Number of nested encodings that are decoded."""
Words = tuple[str, ...]


class Outgoing:
    """Raises Withheld for what must not be sent. Thread-safe."""

    def __init__(self, detectors: GuardedRewriter, vault: Vault | None = None) -> None:
        self._detectors = detectors
        self._vault = vault
        self._last_entry = 0
        """Number of the last vault entry that the check knows."""
        self._lock, self._reading = threading.Lock(), threading.Lock()
        self._originals: dict[str, frozenset[Words]] = {}
        self._kept: set[Words] = set()

    def watch(self, texts: Mapping[str, str], findings: Iterable[Finding], kept: Iterable[Kept]) -> None:
        """Search for these findings (of texts by field) from now on, and allow what was kept."""
        details = [words for item in findings for words in _telling(texts[item.field], item)]
        allowed = [words_of(texts[item.field][item.start : item.end]) for item in kept]
        with self._lock:
            for words in details:
                # A new set, because other threads read the old one.
                self._originals[words[0]] = self._originals.get(words[0], frozenset()) | {words}
            self._kept.update(allowed)

    def __call__(self, content: Any) -> None:
        """Check the arguments of a call, or a list of texts. Raises Withheld, and StoreUnfit for the vault."""
        self._read_vault()
        texts = [text for text in texts_of(content) if text.strip()]
        if any(self._has_original(words_of(view)) for text in texts for view in _views(text)):
            raise Withheld("the outgoing text contains an original from the vault")
        for text, findings in zip(texts, self._detectors.structured(texts), strict=True):
            for item in findings:
                if words_of(text[item.start : item.end]) not in self._kept:
                    raise Withheld(f"the outgoing text contains a detail of type {item.type}")

    def _read_vault(self) -> None:
        """Search for the details of new vault entries from now on."""
        if self._vault is not None:
            with self._reading:
                for number, original in self._vault.after(self._last_entry):
                    self.watch(original.texts, original.findings, original.kept)
                    self._last_entry = number

    def _has_original(self, words: Words) -> bool:
        return any(
            words[place : place + len(original)] == original
            for place, word in enumerate(words)
            for original in self._originals.get(word, ())
        )


def words_of(text: str) -> Words:
    """Return the words of a text without case, punctuation and differences of encoding."""
    text = html.unescape(text)
    if not text.isascii():  # combining accents, full-width digits, characters without width
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return tuple(_WORD.findall(text.casefold()))


def _telling(text: str, item: Finding) -> Iterator[Words]:
    """Yield the word sequences that reveal a finding: itself if it is telling, and together with its neighbours."""
    words = words_of(text[item.start : item.end])
    if not words:
        return
    if item.type not in GENERAL and _is_telling(words):
        yield words
    before, after = words_of(text[: item.start])[-BESIDE:], words_of(text[item.end :])[:BESIDE]
    if len(before) + len(after) >= (2 * BESIDE if item.type in GENERAL else 1):
        yield (*before, *words, *after)


def _is_telling(words: Words) -> bool:
    letters = "".join(words)
    if letters.isalpha() and letters.isascii():
        return len(words) > 1 or len(letters) >= LONG_WORD
    return len(letters) >= LONG_NUMBER or not letters.isascii()


def texts_of(value: Any) -> Iterator[str]:
    """Yield all texts in the arguments of a call, also those in a file of JSON lines."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        for line in value.splitlines():
            yield from texts_of(_document(line))
    elif isinstance(value, Iterable):
        pairs = value.items() if isinstance(value, Mapping) else ()
        entries = [part for key, entry in pairs if key not in _ADDRESSING for part in (key, entry)]
        for entry in entries if isinstance(value, Mapping) else value:
            yield from texts_of(entry)
    elif value is not None and not isinstance(value, bool | int | float):
        yield str(value)


def _document(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line.decode("utf-8", "replace")


def _views(text: str) -> Iterator[str]:
    """Yield a text and its decoded versions."""
    views = [text]
    for _ in range(_LAYERS):
        yield from views
        views = [decoded for view in views for decoded in _decoded(view)]


def _decoded(text: str) -> Iterator[str]:
    if "%" in text:
        yield unquote_plus(text)
    if _ESCAPED.search(text):
        yield _ESCAPED.sub(lambda match: str(json.loads(f'"{match[0]}"')), text)
    for token in _BASE64.findall(text):
        yield from _from_base64(token)


def _from_base64(token: str) -> Iterator[str]:
    """Yield the decoded text of base64 characters, for each possible start of the encoded part."""
    plain = token.replace("-", "+").replace("_", "/")
    for start in range(4):
        part = plain[start:]
        part = part[: len(part) - (len(part) % 4 == 1)]
        try:
            yield base64.b64decode(part + "=" * (-len(part) % 4)).decode("utf-8", "ignore")
        except binascii.Error:
            continue
