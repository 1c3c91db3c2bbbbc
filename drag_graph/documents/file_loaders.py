"""Load the text of a file; the only module that uses the loaders of langchain-community (docs/adr/0038).

langchain-community parses PDF, Word and HTML. Plain text is decoded here, and Python's own parser reads e-mail, because
langchain-community's e-mail loader requires a package of hundreds of megabytes. Nothing is fetched from the network.
"""

import hashlib
import io
import logging
import re
import struct
import sys
import threading
import warnings
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from drag_graph.errors import DocumentUnusable
from drag_graph.ports.plugins import find_plugin

VERSION = "loaders/1"
LARGEST = 200_000_000
"""Maximum size of a file in bytes."""
LONGEST = 2_000_000
"""Maximum length of a text in characters, about 700 pages: every name is compared with all others of its document."""
MEDIA_TYPES = {
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".rst": "text/plain",
    ".eml": "message/rfc822",
}
"""Supported media types by file ending."""
KINDS = "PDF, Word (.docx), HTML, Markdown, text and e-mail (.eml)"
_BLOCK = re.compile(
    rb"(?i)</?(?:address|article|aside|blockquote|br|dd|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|header|hr|li|main|"
    rb"nav|ol|option|p|pre|section|table|tbody|td|tfoot|th|thead|title|tr|ul)\b"
)
"""Tags that begin a paragraph. Without a break, the parser would join the words around them."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*){2,}")
_BROKEN = (
    *(ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, LookupError, OSError, RuntimeError, SyntaxError),
    *(TypeError, ValueError, struct.error, zipfile.BadZipFile, zlib.error),
)
"""What parsers raise for a damaged file."""
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_importing = threading.Lock()


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """The text of a file, and the facts that the graph stores about the file itself."""

    text: str
    sha256: str
    media_type: str
    modified_at: str


def load(path: Path) -> LoadedFile:
    """Return the content of a file. Raises DocumentUnusable."""
    media_type = MEDIA_TYPES.get(path.suffix.lower(), "application/octet-stream")
    if not is_supported(path.name):
        ending = f"Files ending in {path.suffix}" if path.suffix else "Files without an ending"
        raise DocumentUnusable(f"{ending} are not supported.", hint=f"Supported: {KINDS}.")
    try:
        status = path.stat()
        if status.st_size > LARGEST:
            raise DocumentUnusable(f"The file has {status.st_size:,} bytes; the limit is {LARGEST:,}.", hint="Split it.")
        content = path.read_bytes()
    except OSError as error:
        raise DocumentUnusable(f"The file cannot be read: {error.strerror or type(error).__name__}.") from error
    if not content:
        raise DocumentUnusable("The file is empty.")
    loader = _LOADERS.get(media_type) or find_plugin("loaders", _ending(path.name))
    return _loaded(content, media_type, datetime.fromtimestamp(status.st_mtime, UTC), loader)


def is_supported(name: str) -> bool:
    """Return whether a file of this name can be loaded: by its ending, here or by a package that adds a loader."""
    return Path(name).suffix.lower() in MEDIA_TYPES or find_plugin("loaders", _ending(name)) is not None


def _ending(name: str) -> str:
    return Path(name).suffix.lower().removeprefix(".")


def load_text(text: str) -> LoadedFile:
    """Return a text as the content of a text file. Raises DocumentUnusable."""
    return _loaded(text.encode(), MEDIA_TYPES[".txt"], datetime.now(UTC), _plain)


def _loaded(content: bytes, media_type: str, modified_at: datetime, load_content: Any) -> LoadedFile:
    try:
        text = str(load_content(content))
    except _BROKEN as error:
        raise _broken(error) from error
    text = _BLANK_LINES.sub("\n\n", _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n")))
    if not any(map(str.isalpha, text)):
        is_scanned = media_type == "application/pdf"
        raise DocumentUnusable("The pages are scanned images; run OCR first." if is_scanned else "The file contains no text.")
    if len(text) > LONGEST:
        raise DocumentUnusable(f"The text has {len(text):,} characters; the limit is {LONGEST:,}.", hint="Split the file.")
    return LoadedFile(text, hashlib.sha256(content).hexdigest(), media_type, modified_at.isoformat(timespec="seconds"))


def _broken(error: Exception) -> DocumentUnusable:
    return DocumentUnusable(f"The file is damaged, or its ending does not match its content ({type(error).__name__}).")


def _plain(content: bytes) -> str:
    """Decode a text by its byte order mark, else as UTF-8, else in the Western encoding of Windows."""
    encodings = [encoding for mark, encoding in _MARKS if content.startswith(mark)] or ["utf-8", "cp1252", "latin-1"]
    if len(encodings) > 1 and b"\x00" in content:
        raise DocumentUnusable("The file is binary, not text: it contains null bytes.")
    for encoding in encodings:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise DocumentUnusable(f"The file is damaged: it is not valid {encodings[0]}.")


def _pdf(content: bytes) -> str:
    parsers = _imported("langchain_community.document_loaders.parsers.pdf", "pypdf")
    from pypdf import errors

    try:
        return _parsed(parsers.PyPDFParser(mode="single", pages_delimiter="\n\n"), content)
    except (errors.WrongPasswordError, errors.FileNotDecryptedError, errors.DependencyError) as error:
        # DependencyError: the cipher requires another package.
        raise DocumentUnusable("The file is encrypted.", hint="Save it without a password.") from error
    except errors.PyPdfError as error:
        raise _broken(error) from error


def _word(content: bytes) -> str:
    if content.startswith(b"\xd0\xcf\x11\xe0"):  # the container of encrypted files, and of Office before 2007
        raise DocumentUnusable(
            "The file is encrypted, or in a format older than 2007.", hint="Save it as .docx without a password."
        )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(item.file_size for item in archive.infolist() if item.filename.endswith(".xml")) > LARGEST:
            raise DocumentUnusable(f"The file unpacks to more than {LARGEST:,} bytes.")
    return str(_imported("docx2txt", "docx2txt").process(io.BytesIO(content)))


def _html(content: bytes) -> str:
    parsers = _imported("langchain_community.document_loaders.parsers.html", "bs4")
    return _parsed(parsers.BS4HTMLParser(features="html.parser"), _BLOCK.sub(rb"\n\n\g<0>", content))


def _email(content: bytes) -> str:
    message = BytesParser(policy=policy.default).parsebytes(content)
    head = [f"{name}: {message[name]}" for name in ("From", "To", "Cc", "Date", "Subject") if message[name]]
    body = message.get_body(preferencelist=("plain", "html")) if isinstance(message, EmailMessage) else None
    if body is None and not head:
        raise DocumentUnusable("The file is not an e-mail.")
    text = ""
    if body is not None:
        text = _part(body)
        if body.get_content_subtype() == "html":
            text = _html(text.encode())
    return "\n\n".join([*head, text])


def _part(body: Any) -> str:
    """Return the text of an e-mail part (a `MIMEPart`); an unknown encoding is guessed as for a file."""
    try:
        return str(body.get_content())
    except LookupError:
        return _plain(body.get_payload(decode=True))


def _parsed(parser: Any, content: bytes) -> str:
    from langchain_core.documents.base import Blob

    return "\n\n".join(document.page_content for document in parser.lazy_parse(Blob.from_data(content)))


def _imported(module: str, package: str) -> Any:
    """Import a module that needs `package`. Raises DocumentUnusable if either is not installed.

    Deprecation warnings of the packages, and their logs about repaired files, are silenced: users cannot act on them.
    """
    with _importing:
        if module not in sys.modules:
            missing = [name for name in (module.partition(".")[0], package) if find_spec(name) is None]
            if missing:
                raise DocumentUnusable(f"Reading this file requires {missing[0]}: pip install 'drag-graph[documents]'.")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import_module(module)
            for name in ("pypdf", "langchain_community", "bs4"):
                logging.getLogger(name).setLevel(logging.CRITICAL)
        return sys.modules[module]


_LOADERS: dict[str, Callable[[bytes], str]] = {
    "application/pdf": _pdf,
    MEDIA_TYPES[".docx"]: _word,
    "text/html": _html,
    "text/markdown": _plain,
    "text/plain": _plain,
    "message/rfc822": _email,
}
