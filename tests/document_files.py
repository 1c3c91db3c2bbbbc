"""Small real files of each kind, made here: a PDF with text, one that is scanned, one that is encrypted, Word, e-mail."""

import io
import zipfile
from itertools import pairwise


def pdf(*lines):
    """Return a PDF of one page with these lines of text; without any, a page that is only a picture."""
    shown = "".join(f"({line}) Tj T* " for line in lines)
    stream = f"BT /F1 12 Tf 14 TL 72 720 Td {shown}ET".encode() if lines else b"0.5 g 0 0 200 200 re f"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 4 0 R >> >> /Contents 5 0 R >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    out, places = io.BytesIO(b"%PDF-1.4\n"), []
    out.seek(0, io.SEEK_END)
    for number, content in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    table = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table))
    return out.getvalue()


def encrypted(content):
    """Return a PDF with a password."""
    import pypdf

    writer = pypdf.PdfWriter(clone_from=pypdf.PdfReader(io.BytesIO(content)))
    writer.encrypt("secret", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def word(*paragraphs):
    """Return a Word file."""
    from docx import Document

    document, out = Document(), io.BytesIO()
    for text in paragraphs:
        document.add_paragraph(text)
    document.save(out)
    return out.getvalue()


def bomb(part="word/document.xml", size=20_000_000):
    """Return an Office file, one part of which unpacks to a thousand times its size."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(part, bytes(size))
    return out.getvalue()


def many_bombs(size=9_000_000, number=30):
    """Return an Office file of parts that are small enough, each, and too large together."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in range(number):
            archive.writestr(f"word/part{part}.xml", bytes(size))
    return out.getvalue()


def pdf_bomb(size=300_000_000):
    """Return a PDF whose page unpacks to a thousand times its size."""
    import zlib

    packer = zlib.compressobj(9)
    content = b"".join([packer.compress(b" " * 10_000_000) for _ in range(size // 10_000_000)]) + packer.flush()
    stream = b"BT /F1 12 Tf 14 TL 72 720 Td (A) Tj T* ET"
    start = pdf("A").replace(b"<< /Length %d >>" % len(stream), b"<< /Length %d /Filter /FlateDecode >>" % len(content))
    assert b"FlateDecode" in start
    return start.replace(stream, content)


def laughs():
    """Return a Word file whose text is ten entities of ten entities, and so on."""
    names = "abcdefghij"
    entities = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise(names))
    xml = f'<?xml version="1.0"?><!DOCTYPE w [<!ENTITY a "ha">{entities}]>'
    body = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&j;</w:t></w:r></w:p></w:body></w:document>'
    source, out = zipfile.ZipFile(io.BytesIO(word("A"))), io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            archive.writestr(name, xml + body if name == "word/document.xml" else source.read(name))
    return out.getvalue()


def wrong_size(content):
    """Return an Office file whose directory says that its largest part is small."""
    place = content.rindex(b"PK\x01\x02") + 24
    return content[:place] + (1000).to_bytes(4, "little") + content[place + 4 :]


def email(text, html=""):
    """Return an e-mail with a text, or with a page alone."""
    kind = "html" if html else "plain"
    head = f"From: Ann <ann@example.org>\nTo: bob@example.org\nSubject: Of tides\nContent-Type: text/{kind}; charset=utf-8\n\n"
    return f"{head}{html or text}\n".encode()
