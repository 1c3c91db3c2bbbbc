"""Load a file: its text, and the blocks of which it consists (`drag_graph.documents.blocks`).

Nothing is fetched from the network.
"""

import hashlib
import logging
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from drag_graph.documents import markup_blocks, office_blocks
from drag_graph.documents.blocks import Block, PlacedBlock, join_blocks, plain_blocks
from drag_graph.documents.document_dates import metadata_of
from drag_graph.errors import DocumentUnusable
from drag_graph.ports.plugins import find_plugin

VERSION = "loaders/3"
"""Of the loaders and of what `document_dates` reads: another version means that all documents are read again."""
LARGEST = 200_000_000
"""Maximum size of a file in bytes."""
LONGEST = 2_000_000
"""Maximum length of a text in characters, about 700 pages: every name is compared with all others of its document."""
_OFFICE = "application/vnd.openxmlformats-officedocument"
KINDS = "PDF, Word (.docx), PowerPoint (.pptx), Excel (.xlsx), HTML, Markdown, text, CSV, JSON lines and e-mail (.eml)"
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*){2,}")
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))

Loader: TypeAlias = Callable[[bytes], "str | Iterable[Block]"]
"""Turns the bytes of a file into blocks, or into a text without markup."""


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """The text of a file, the blocks that it consists of, and the facts that the graph stores about the file itself.

    `metadata` has the dates that the file carries outside its text (`drag_graph.documents.document_dates`).
    """

    text: str
    blocks: tuple[PlacedBlock, ...]
    sha256: str
    media_type: str
    modified_at: str
    metadata: Mapping[str, str] = field(default_factory=dict)


def load(path: Path) -> LoadedFile:
    """Return the content of a file. Raises DocumentUnusable."""
    media_type = MEDIA_TYPES.get(path.suffix.lower(), "application/octet-stream")
    loader = _LOADERS.get(media_type) or find_plugin("loaders", _ending(path.name))
    if loader is None:
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
    return _loaded(content, media_type, datetime.fromtimestamp(status.st_mtime, UTC), loader)


def is_supported(name: str) -> bool:
    """Return whether a file of this name can be loaded: by its ending, here or by a package that adds a loader."""
    return Path(name).suffix.lower() in MEDIA_TYPES or find_plugin("loaders", _ending(name)) is not None


def _ending(name: str) -> str:
    return Path(name).suffix.lower().removeprefix(".")


def load_text(text: str) -> LoadedFile:
    """Return a text as the content of a text file. Raises DocumentUnusable."""
    return _loaded(text.encode(), MEDIA_TYPES[".txt"], datetime.now(UTC), _plain)


def _loaded(content: bytes, media_type: str, modified_at: datetime, loader: Loader) -> LoadedFile:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about repaired files: users cannot act on them
            loaded = loader(content)
            blocks = list(plain_blocks(loaded) if isinstance(loaded, str) else loaded)
    except (DocumentUnusable, MemoryError):
        raise
    except ModuleNotFoundError as error:
        raise DocumentUnusable(f"Reading this file requires {error.name}: pip install 'drag-graph[documents]'.") from error
    except Exception as error:  # parsers raise anything for a damaged file
        reason = f"The file is damaged, or its ending does not match its content ({type(error).__name__})."
        raise DocumentUnusable(reason) from error
    text, placed = join_blocks(replace(block, text=_cleaned(block.text)) for block in blocks)
    if not any(map(str.isalpha, text)):
        is_scanned = media_type == "application/pdf"
        raise DocumentUnusable("The pages are scanned images; run OCR first." if is_scanned else "The file contains no text.")
    if len(text) > LONGEST:
        raise DocumentUnusable(f"The text has {len(text):,} characters; the limit is {LONGEST:,}.", hint="Split the file.")
    sha256 = hashlib.sha256(content).hexdigest()
    modified = modified_at.isoformat(timespec="seconds")
    return LoadedFile(text, placed, sha256, media_type, modified, metadata_of(content, media_type))


def _cleaned(text: str) -> str:
    return _BLANK_LINES.sub("\n\n", _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n")))


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


_FORMATS: tuple[tuple[str, str, Loader], ...] = (
    ("application/pdf", ".pdf", office_blocks.pdf_blocks),
    (f"{_OFFICE}.wordprocessingml.document", ".docx", office_blocks.word_blocks),
    (f"{_OFFICE}.presentationml.presentation", ".pptx", office_blocks.slide_blocks),
    (f"{_OFFICE}.spreadsheetml.sheet", ".xlsx", office_blocks.sheet_blocks),
    ("text/html", ".html .htm .xhtml", markup_blocks.html_blocks),
    ("text/markdown", ".md .markdown", lambda content: markup_blocks.markdown_blocks(_plain(content))),
    ("text/csv", ".csv .tsv", lambda content: office_blocks.csv_blocks(_plain(content))),
    ("application/jsonl", ".jsonl", lambda content: office_blocks.json_lines_blocks(_plain(content))),
    ("text/plain", ".txt .text .rst", _plain),
    ("message/rfc822", ".eml", lambda content: markup_blocks.email_blocks(content, _plain)),
)
_LOADERS = {media_type: loader for media_type, _, loader in _FORMATS}
MEDIA_TYPES = {ending: media_type for media_type, endings, _ in _FORMATS for ending in endings.split()}
"""Supported media types by file ending."""
for _name in ("pypdf", "bs4"):  # their logs about repaired files: users cannot act on them
    logging.getLogger(_name).setLevel(logging.CRITICAL)
