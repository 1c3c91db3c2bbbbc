"""Small real files of each kind, made here: a PDF with text, one that is scanned, one that is encrypted, Word, e-mail."""

import io
import zipfile


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


def bomb():
    """Return an Office file, one part of which unpacks to a thousand times its size."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(20_000_000))
    return out.getvalue()


def email(text, html=""):
    """Return an e-mail with a text, or with a page alone."""
    kind = "html" if html else "plain"
    head = f"From: Ann <ann@example.org>\nTo: bob@example.org\nSubject: Of tides\nContent-Type: text/{kind}; charset=utf-8\n\n"
    return f"{head}{html or text}\n".encode()
