"""Dates that a file carries outside its text: headers of an e-mail, tags of a page, properties of PDF and Office files."""

import io
import re
import zipfile
from collections.abc import Callable
from email import policy
from email.parser import BytesParser

_CORE = "docProps/core.xml"
_LARGEST = 200_000
_TAG = re.compile(r"<(?:meta|time)\s[^>]{1,500}>", re.IGNORECASE)
_NAMES_DATE = re.compile(
    r"^<time\s|\b(?:name|property|itemprop|http-equiv)\s*=\s*[\"']?[\w:.-]*(?:date|publish|modified)", re.IGNORECASE
)
_VALUE = re.compile(r"\b(?:content|datetime)\s*=\s*[\"']?([^\"'>]+)", re.IGNORECASE)


def metadata_of(content: bytes, media_type: str) -> dict[str, str]:
    """Return the dates that a file carries, as written.

    `sent` is the header of an e-mail, `stated` a tag of a page, and `recorded` the property of a program that saved the file:
    the last change of an Office file, the creation of a PDF. Damaged metadata is left out.
    """
    name, read = next(((name, read) for kind, name, read in _READERS if media_type.startswith(kind)), ("", None))
    try:
        value = read(content) if read is not None else ""
    except Exception:  # noqa: BLE001 - parsers raise anything; the text of the file is readable all the same
        return {}
    return {name: value} if value else {}


def _sent(content: bytes) -> str:
    header = BytesParser(policy=policy.default).parsebytes(content, headersonly=True)["Date"]
    sent = getattr(header, "datetime", None)
    return str(sent.date()) if sent else ""


def _stated(content: bytes) -> str:
    """Return the date of the first tag that has one; `<meta>` before `<time>`."""
    tags = _TAG.findall(content[:_LARGEST].decode(errors="replace"))
    values = [
        match[1]
        for tag in sorted(tags, key=lambda tag: tag[1] in "tT")
        if _NAMES_DATE.search(tag) and (match := _VALUE.search(tag))
    ]
    return values[0] if values else ""


def _changed(content: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        core = archive.read(_CORE).decode(errors="replace") if archive.getinfo(_CORE).file_size < _LARGEST else ""
    found: dict[str, str] = dict(re.findall(r"<dcterms:(created|modified)\b[^>]*>([^<]+)<", core))
    return found.get("modified") or found.get("created", "")


def _created(content: bytes) -> str:
    from pypdf import PdfReader

    facts = PdfReader(io.BytesIO(content)).metadata or {}
    return str(facts.get("/CreationDate") or facts.get("/ModDate") or "").removeprefix("D:")[:8]


_READERS: tuple[tuple[str, str, Callable[[bytes], str]], ...] = (
    ("message/rfc822", "sent", _sent),
    ("text/html", "stated", _stated),
    ("application/vnd.openxmlformats-officedocument", "recorded", _changed),
    ("application/pdf", "recorded", _created),
)
