"""Content hashes: the ids of everything in the graph (docs/reference/graph.md).

An id is the first 128 bits of a SHA-256 over the namespace and the parts, as 32 hexadecimal digits. The parts are framed by
a separator that cannot occur in them, so that ("ab", "c") and ("a", "bc") differ.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

_SEPARATOR = "\x1f"
_SPACE = re.compile(r"\s+")
_ID_LENGTH = 32


def canonical_text(text: str) -> str:
    """Return `text` in the form that decides whether two questions are the same: NFKC, folded case, single spaces."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip().casefold()


def content_id(namespace: str, kind: str, *parts: str) -> str:
    """Return the id of the thing of `kind` that `parts` define within `namespace`: 32 hexadecimal digits."""
    framed = _SEPARATOR.join(part.replace(_SEPARATOR, " ") for part in (namespace, kind, *parts))
    return hashlib.sha256(framed.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_LENGTH]


def query_id(namespace: str, text: str, options: Iterable[str] = ()) -> str:
    """Return the id of a question with its options; case, width and spacing do not matter, the options' order does."""
    return content_id(namespace, "query", canonical_text(text), *(canonical_text(option) for option in options))


def document_id(namespace: str, uri: str) -> str:
    """Return the id of the document at `uri`: a later state of the same file has the same."""
    return content_id(namespace, "document", uri)


def chunk_id(namespace: str, document: str, position: int, text: str) -> str:
    """Return the id of a passage of a document, whose id is `document`."""
    return content_id(namespace, "chunk", document, str(position), text)


def claim_id(source: str, subject: str, object_: str, predicate_key: str) -> str:
    """Return the id of a claim. Source, subject and object are ids, which contain the namespace."""
    return content_id("", "claim", source, subject, predicate_key, object_)


def triple_id(namespace: str, source: str, ends: tuple[str, str], predicate: str, evidence: str) -> str:
    """Return the id of a triple. `predicate` is the `predicate_key` of its own predicate; the other parts are ids."""
    subject, object_ = ends
    return content_id(namespace, "triple", source, subject, predicate, object_, evidence)


def sha256_of(document: Mapping[str, Any] | list[Any] | str) -> str:
    """Return the full SHA-256 of a JSON document in canonical form (sorted keys, no spaces), as 64 hexadecimal digits."""
    if not isinstance(document, str):
        document = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(document.encode("utf-8", "surrogatepass")).hexdigest()
