"""From a file to its text: the only place that knows the loaders of langchain-community (docs/adr/0038).

PDF, Word and HTML go by its parsers. Plain text is decoded here, and e-mail read by Python's own parser: langchain-community's
need a package of hundreds of megabytes. Nothing is fetched: a parser is handed bytes, or the name of a file that is there.
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

VERSION = "loaders/1"
LARGEST = 200_000_000
"""Bytes of a file that is read."""
LONGEST = 2_000_000
"""Characters of a text that is read in, some seven hundred pages: each name is compared with all others of its document."""
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
"""What a file may be, by how its name ends."""
_BLOCK = re.compile(
    rb"(?i)</?(?:address|article|aside|blockquote|br|dd|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|header|hr|li|main|"
    rb"nav|ol|option|p|pre|section|table|tbody|td|tfoot|th|thead|title|tr|ul)\b"
)
"""Tags before which a new paragraph begins; the parser would join their texts to one word."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*){2,}")
_BROKEN = (
    *(ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, LookupError, OSError, RuntimeError, SyntaxError),
    *(TypeError, ValueError, struct.error, zipfile.BadZipFile, zlib.error),
)
"""What parsers raise for a broken file."""
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_importing = threading.Lock()


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """What is in a file: its text, and what the graph keeps of the file itself."""

    text: str
    sha256: str
    media_type: str
    modified_at: str


def load(path: Path) -> LoadedFile:
    """Return what is in a file. Raises DocumentUnusable, in words."""
    media_type = MEDIA_TYPES.get(path.suffix.lower())
    if media_type is None:
        raise DocumentUnusable(f"files that end in {path.suffix or 'nothing'!r} are not read", hint=f"Give {KINDS}.")
    content, modified_at = _content(path)
    try:
        text = _LOADERS[media_type](content)
    except _BROKEN as error:
        raise _broken(error) from error
    text = _BLANK_LINES.sub("\n\n", _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n")))
    if not any(map(str.isalpha, text)):
        scanned = media_type == "application/pdf"
        raise DocumentUnusable("its pages have no text: it is scanned, and wants OCR first" if scanned else "it has no text")
    if len(text) > LONGEST:
        raise DocumentUnusable(f"its text has {len(text)} characters, more than {LONGEST}", hint="Divide it.")
    return LoadedFile(text, hashlib.sha256(content).hexdigest(), media_type, modified_at)


KINDS = "PDF, Word (.docx), HTML, Markdown, text or e-mail (.eml)"


def _broken(error: Exception) -> DocumentUnusable:
    return DocumentUnusable(f"it is broken, or not what its ending says ({type(error).__name__})")


def _content(path: Path) -> tuple[bytes, str]:
    try:
        status = path.stat()
        if status.st_size > LARGEST:
            raise DocumentUnusable(f"it has {status.st_size} bytes, more than {LARGEST}", hint="Divide it.")
        content = path.read_bytes()
    except OSError as error:
        raise DocumentUnusable(f"it cannot be read: {error.strerror or type(error).__name__}") from error
    if not content:
        raise DocumentUnusable("it is empty")
    return content, datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")


def _plain(content: bytes) -> str:
    """Return a text by its mark, as UTF-8, or else as Windows writes Western languages."""
    encodings = [encoding for mark, encoding in _MARKS if content.startswith(mark)] or ["utf-8", "cp1252", "latin-1"]
    if len(encodings) > 1 and b"\x00" in content:
        raise DocumentUnusable("it is no text: it has null bytes")
    for encoding in encodings:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise DocumentUnusable(f"it is broken: it is no {encodings[0]}")


def _pdf(content: bytes) -> str:
    parsers = _imported("langchain_community.document_loaders.parsers.pdf", "pypdf")
    from pypdf import errors

    try:
        return _parsed(parsers.PyPDFParser(mode="single", pages_delimiter="\n\n"), content)
    except (errors.WrongPasswordError, errors.FileNotDecryptedError, errors.DependencyError) as error:
        # The last one says that a cipher wants a package.
        raise DocumentUnusable("it is encrypted", hint="Save it without a password.") from error
    except errors.PyPdfError as error:
        raise _broken(error) from error


def _word(content: bytes) -> str:
    if content.startswith(b"\xd0\xcf\x11\xe0"):  # what Office wraps an encrypted file in, and what it wrote before 2007
        raise DocumentUnusable("it is encrypted, or in the format of before 2007", hint="Save it as .docx without a password.")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(item.file_size for item in archive.infolist() if item.filename.endswith(".xml")) > LARGEST:
            raise DocumentUnusable(f"it unpacks to more than {LARGEST} bytes")
    return str(_imported("docx2txt", "docx2txt").process(io.BytesIO(content)))


def _html(content: bytes) -> str:
    parsers = _imported("langchain_community.document_loaders.parsers.html", "bs4")
    return _parsed(parsers.BS4HTMLParser(features="html.parser"), _BLOCK.sub(rb"\n\n\g<0>", content))


def _email(content: bytes) -> str:
    message = BytesParser(policy=policy.default).parsebytes(content)
    head = [f"{name}: {message[name]}" for name in ("From", "To", "Cc", "Date", "Subject") if message[name]]
    body = message.get_body(preferencelist=("plain", "html")) if isinstance(message, EmailMessage) else None
    if body is None and not head:
        raise DocumentUnusable("it is no e-mail")
    said = ""
    if body is not None:
        said = _part(body)
        if body.get_content_subtype() == "html":
            said = _html(said.encode())
    return "\n\n".join([*head, said])


def _part(body: Any) -> str:
    """Return the text of an e-mail's part (a `MIMEPart`); in an unknown encoding it is read as a file is."""
    try:
        return str(body.get_content())
    except LookupError:
        return _plain(body.get_payload(decode=True))


def _parsed(parser: Any, content: bytes) -> str:
    from langchain_core.documents.base import Blob

    return "\n\n".join(document.page_content for document in parser.lazy_parse(Blob.from_data(content)))


def _imported(module: str, package: str) -> Any:
    """Return a module that reads files with the help of a package. Raises DocumentUnusable where one is not installed.

    They warn of their own end when they are imported, and of what they mend in a file; nobody can do anything about either.
    """
    with _importing:
        if module not in sys.modules:
            missing = [name for name in (module.partition(".")[0], package) if find_spec(name) is None]
            if missing:
                raise DocumentUnusable(f"it needs {missing[0]}, which is not installed: pip install 'drag-graph[documents]'")
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
