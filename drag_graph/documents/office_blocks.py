"""Blocks of PDF (pypdf), Word (python-docx), PowerPoint (python-pptx), Excel (openpyxl), CSV and JSON lines."""

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from drag_graph.documents.blocks import Block, Headings, on_one_line, plain_blocks, table_blocks
from drag_graph.errors import DocumentUnusable

UNPACKED = 200_000_000
"""Maximum size in bytes of what an Office file unpacks to."""
_RATIO = 200
"""Maximum compression of a large member: more is a zip bomb. XML of office programs reaches about 50."""
_LARGE = 10_000_000


def checked_archive(content: bytes) -> io.BytesIO:
    """Return an Office file's bytes as a stream. Raises DocumentUnusable if it is encrypted or unpacks to too much."""
    if content.startswith(b"\xd0\xcf\x11\xe0"):  # the container of encrypted files, and of Office before 2007
        hint = "Save it in the current format, without a password."
        raise DocumentUnusable("The file is encrypted, or in a format older than 2007.", hint=hint)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
    bombs = [item for item in members if item.file_size > _LARGE and item.file_size > _RATIO * item.compress_size]
    if bombs or sum(item.file_size for item in members) > UNPACKED:
        raise DocumentUnusable(f"The file unpacks to more than {UNPACKED:,} bytes, or is a zip bomb.")
    return io.BytesIO(content)


def pdf_blocks(content: bytes) -> Iterator[Block]:
    """Yield the text of each page. Raises DocumentUnusable for an encrypted file."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, LimitReachedError, WrongPasswordError

    headings = Headings()
    try:
        for number, page in enumerate(PdfReader(io.BytesIO(content)).pages, start=1):
            yield from plain_blocks(page.extract_text(), page=number, headings=headings)
    except LimitReachedError as error:
        raise DocumentUnusable("A page unpacks to too much; the file may be a zip bomb.") from error
    except (WrongPasswordError, FileNotDecryptedError, DependencyError) as error:
        # DependencyError: the cipher requires another package.
        raise DocumentUnusable("The file is encrypted.", hint="Save it without a password.") from error


def word_blocks(content: bytes) -> Iterator[Block]:
    """Yield paragraphs, headings by their style, and the rows of tables."""
    from docx import Document
    from docx.table import Table

    headings = Headings()
    for item in Document(checked_archive(content)).iter_inner_content():
        if isinstance(item, Table):
            rows = [[cell.text for cell in row.cells] for row in item.rows]
            yield from table_blocks(rows, headings.path, has_header=True)
            continue
        style = str(item.style.name) if item.style is not None else ""
        if style == "Title" and item.text.strip():
            yield headings.enter(0, item.text)
        elif style.startswith("Heading ") and item.text.strip():
            yield headings.enter(int(style.split()[-1]) if style.split()[-1].isdigit() else 1, item.text)
        else:
            yield Block(item.text, heading=headings.path)


def slide_blocks(content: bytes) -> Iterator[Block]:
    """Yield the texts, tables and notes of each slide, under its title; the page is the slide's number."""
    from pptx import Presentation

    for number, slide in enumerate(Presentation(checked_archive(content)).slides, start=1):
        title = slide.shapes.title
        text = on_one_line(title.text_frame.text) if title is not None else ""
        heading = (text,) if text else ()
        if text:
            yield Block(text, "heading", page=number)
        for shape in _leaves(slide.shapes):
            if shape.has_text_frame and (title is None or shape.shape_id != title.shape_id):
                for paragraph in shape.text_frame.paragraphs:
                    yield Block(paragraph.text, heading=heading, page=number)
            elif getattr(shape, "has_table", False):
                rows = [[cell.text for cell in row.cells] for row in shape.table.rows]
                yield from table_blocks(rows, heading, has_header=True, page=number)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            yield Block(slide.notes_slide.notes_text_frame.text, heading=heading, page=number)


def _leaves(shapes: Any) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _leaves(shape.shapes)
        else:
            yield shape


def sheet_blocks(content: bytes) -> Iterator[Block]:
    """Yield the rows of each sheet, under its name, with their computed values."""
    from openpyxl import load_workbook

    with closing(load_workbook(checked_archive(content), read_only=True, data_only=True)) as book:
        for sheet in book.worksheets:
            rows = ([_value(cell) for cell in row] for row in sheet.iter_rows(values_only=True))
            yield Block(str(sheet.title), "heading")
            yield from table_blocks(rows, (str(sheet.title),), has_header=True)


def _value(cell: Any) -> str:
    if cell is None:
        return ""
    if hasattr(cell, "hour") and not (cell.hour or cell.minute or cell.second):
        return str(cell.date())
    return str(cell)


def csv_blocks(text: str) -> list[Block]:
    """Return the rows of a CSV file, whatever its separator. Raises DocumentUnusable."""
    try:
        dialect: Any = csv.Sniffer().sniff(text[:20_000], ",;\t|")
    except csv.Error:
        dialect = csv.excel
    try:
        return table_blocks(csv.reader(io.StringIO(text), dialect), (), has_header=True)
    except csv.Error as error:
        raise DocumentUnusable(f"The file is damaged: {error}.") from error


def json_lines_blocks(text: str) -> Iterator[Block]:
    """Yield each line as a row of its keys and values. Raises DocumentUnusable for a line that is not JSON."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DocumentUnusable(f"Line {number} is not JSON.") from error
        yield Block(" | ".join(_entries(record)), "row")


def _entries(value: Any, name: str = "") -> Iterator[str]:
    """Yield "name: value" of each text and number in a record; inner names are joined by a point."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _entries(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _entries(inner, name)
    elif value is not None and (text := on_one_line(str(value))):
        yield f"{name}: {text}" if name else text
