"""The date of a document: from its headers, a line that states it, its name, its beginning or its properties.

The file system's time is never used: it says when the file was copied. Nothing is relative to today.
"""

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from email import policy
from email.parser import BytesParser
from pathlib import PurePosixPath

from drag_graph.graph.written_dates import YEAR, dates_in, written_dates

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


_STATED_WITHIN = 1_000
_BEGINNING = 500
"""A date further down belongs to what the document tells, not to the document."""
_LINE_WORDS = 8
_LONGEST_VALUE = 60
_DATE_LINE = re.compile(
    r"^\W*(?:last )?(?:date|dated|time|sent|published|updated|modified|created|datum|stand|gesendet|fecha|data|dato|päivä"
    r"|дата|日期|时间|日付|日時|날짜)\W{0,4}[:\uff1a=]\W*(.+)",
    re.IGNORECASE | re.MULTILINE,
)
_FOR_LIBRARY = re.compile(rf"\d.*[^\W\d_]{{3,}}.*{YEAR}|{YEAR}.*[^\W\d_]{{3,}}.*\d")
_PLACEHOLDERS = ("1970-01-01", "1980-01-01", "2000-01-01", "2013-01-27", "2013-12-23")
"""Days that libraries write into every file: the zero of a clock, the templates of python-pptx and python-docx."""
_DAY_FIRST = re.compile(
    r"\b(?:der|die|das|und|ist|le|les|est|et|des|el|los|una|para|il|che|di|het|een|och|att|og|jest)\b", re.IGNORECASE
)
_ENGLISH = re.compile(r"\b(?:the|and|of|is|to|for|with|was)\b", re.IGNORECASE)


def document_date(name: str, text: str, metadata: Mapping[str, str]) -> str:
    """Return the date of a document as YYYY-MM-DD, YYYY-MM, YYYY, or "" if nothing says it.

    The most trusted source wins: the header of an e-mail, a line or tag that states the date, the file's name, a date that
    opens a line at the beginning or stands in a short one, the properties. A less trusted one may add the month or the day.
    `metadata` is that of `metadata_of`.
    """
    day_first = is_day_first(text)
    result = ""
    for date in _candidates(name, text, metadata, day_first):
        if not result or (len(date) > len(result) and date.startswith(result)):
            result = date
    return result


def _candidates(name: str, text: str, metadata: Mapping[str, str], day_first: bool | None) -> Iterator[str]:
    yield metadata.get("sent", "")
    for match in _DATE_LINE.finditer(text[:_STATED_WITHIN]):
        yield _value(match[1], day_first)
    yield _value(metadata.get("stated", ""), day_first)
    yield name_date(name)
    yield _first_date(text[:_BEGINNING], day_first)
    recorded = _value(metadata.get("recorded", ""), day_first)
    yield "" if recorded in _PLACEHOLDERS else recorded


def is_day_first(text: str) -> bool | None:
    """Return True if the language of a text writes the day before the month, and None for English, which does both."""
    beginning = text[: _STATED_WITHIN * 2]
    return True if len(_DAY_FIRST.findall(beginning)) > len(_ENGLISH.findall(beginning)) else None


def name_date(name: str) -> str:
    """Return the date in the name of a file, such as minutes-march-2025.md; the most precise one, and the last of several."""
    stem = re.sub(r"_|(?<=[^\W\d])-|-(?=[^\W\d])", " ", PurePosixPath(name).stem)
    dates = [date.iso for date in written_dates(stem, loose=True)]
    years = re.findall(rf"(?<!\d){YEAR}(?!\d)", stem)
    return max(reversed(dates), key=len, default="") or (years[-1] if years else "")


def _first_date(text: str, day_first: bool | None) -> str:
    """Return the first date that opens a line ("[2025-03-02] ...") or stands in a short one ("Memo of 6 February 2023")."""
    for line in text.splitlines():
        if " | " in line:  # a row of a table
            continue
        is_short = len(line.split()) <= _LINE_WORDS and line.rstrip()[-1:] not in {".", "!", "?"}
        for date in written_dates(line, day_first=day_first):
            if date.month and (is_short or not line[: date.start].strip(" \t[(*#>-\u2013")):
                return date.iso
    return ""


def _value(text: str, day_first: bool | None) -> str:
    """Return the date of a text that should be one, in any language."""
    text = text[:_LONGEST_VALUE]
    if not re.search(YEAR, text):
        return ""
    own = dates_in(text, day_first=day_first) or ([_from_library(text)] if _FOR_LIBRARY.search(text) else [])
    years = (date.iso for date in written_dates(text, loose=True))
    return next(filter(None, (*own, *years)), "")


def _from_library(text: str) -> str:
    """Return a date in another language ("3 mars 2025"), by dateparser; "" without it (extra `documents`)."""
    try:
        from dateparser.date import DateDataParser  # slow to import
    except ModuleNotFoundError:
        return ""
    parser = DateDataParser(try_previous_locales=False, settings={"PARSERS": ["absolute-time"], "REQUIRE_PARTS": ["year"]})
    try:
        found = parser.get_date_data(text.strip())
    except Exception:  # noqa: BLE001 - it raises anything for an odd text, and a date is not worth a document
        return ""
    length = {"day": 10, "month": 7, "year": 4}.get(found.period, 0)
    return found.date_obj.date().isoformat()[:length] if found.date_obj else ""
