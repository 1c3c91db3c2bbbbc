"""Files of each kind to their text; what cannot be read is said in words."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import document_files as made
import pytest

from drag_graph.documents.document_files import SourceFile, files_in, lies_in, load_source, require_complete, roots_of
from drag_graph.documents.file_loaders import load
from drag_graph.errors import DocumentUnusable, InputError
from drag_graph.model import Document

FACT = "The gravity of the Moon causes tides."
PAGE = (
    "<html><head><title>Tides</title><style>p {}</style><script>alert(1)</script></head>"
    "<body><h1>Of tides</h1><p>The gravity of the <b>Moon</b> causes tides.</p><p>So be it.</p></body></html>"
)
FILES = {
    "a.pdf": (made.pdf(FACT, "The Sun helps."), f"{FACT}\nThe Sun helps."),
    "a.docx": (lambda: made.word(FACT, "The Sun helps."), f"{FACT}\n\nThe Sun helps."),
    "a.html": (PAGE.encode(), f"Tides\n\nOf tides\n\n{FACT}\n\nSo be it."),
    "a.md": (f"# Tides\r\n\r\n{FACT}".encode(), f"# Tides\n\n{FACT}"),
    "a.txt": (FACT.encode("utf-16"), FACT),
    "b.txt": ("Ebbe für Müller\x0b!".encode("cp1252"), "Ebbe für Müller !"),
    "a.eml": (made.email(FACT), f"Of tides\n\nFrom: Ann <ann@example.org> | To: bob@example.org\n\n{FACT}"),
}
UNUSABLE = {
    "scan.pdf": (made.pdf(), "scanned"),
    "locked.pdf": (lambda: made.encrypted(made.pdf(FACT)), "encrypted"),
    "broken.pdf": (made.pdf(FACT)[:60], "damaged"),
    "broken.docx": (b"PK nonsense", "damaged"),
    "bomb.docx": (made.bomb, "zip bomb"),
    "bomb.xlsx": (lambda: made.bomb("xl/worksheets/sheet1.xml"), "zip bomb"),
    "bomb.pptx": (made.many_bombs, "zip bomb"),
    "bomb.pdf": (made.pdf_bomb, "zip bomb"),
    "laughs.docx": (made.laughs(), "damaged"),
    "lying.docx": (lambda: made.wrong_size(made.bomb()), "damaged"),
    "locked.xlsx": (b"\xd0\xcf\x11\xe0 and so on", "encrypted"),
    "deep.jsonl": (b'{"a":' * 100_000, "damaged"),
    "broken.xlsx": (b"PK nonsense", "damaged"),
    "broken.pptx": (b"PK nonsense", "damaged"),
    "broken.jsonl": (b'{"a": 1}\n{"a": ', "Line 2 is not JSON"),
    "old.docx": (b"\xd0\xcf\x11\xe0 and so on", "encrypted, or in a format older than 2007"),
    "empty.txt": (b"", "empty"),
    "null.txt": (b"a\x00b", "binary"),
    "numbers.txt": (b"1 2 3", "no text"),
    "picture.png": (b"\x89PNG", "are not supported"),
}


def write(path, content):
    """Write a file. Slow content is passed as a function, so that importing this module stays fast."""
    path.write_bytes(content() if callable(content) else content)


@pytest.mark.parametrize("name", FILES)
def test_a_file_gives_its_text(tmp_path, name):
    content, text = FILES[name]
    write(tmp_path / name, content)
    loaded = load(tmp_path / name)
    assert loaded.text == text
    assert (len(loaded.sha256), loaded.modified_at[-6:]) == (64, "+00:00")


def test_an_email_that_is_a_page_gives_the_text_of_the_page(tmp_path):
    (tmp_path / "a.eml").write_bytes(made.email("", PAGE))
    assert FACT in load(tmp_path / "a.eml").text
    assert "alert" not in load(tmp_path / "a.eml").text


@pytest.mark.parametrize("page", [False, True])
def test_an_email_in_an_encoding_that_nobody_knows_is_read_as_a_file_is(tmp_path, page):
    content = made.email(FACT, PAGE if page else "").replace(b"utf-8", b"unknown-8bit")
    (tmp_path / "a.eml").write_bytes(content)
    assert FACT in load(tmp_path / "a.eml").text


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_cannot_be_read_is_said_in_words(tmp_path, name):
    content, said = UNUSABLE[name]
    write(tmp_path / name, content)
    with warnings.catch_warnings(), pytest.raises(DocumentUnusable, match=said) as caught:
        load(tmp_path / name)
    assert str(tmp_path) not in str(caught.value)


def test_a_missing_package_is_the_problem_of_its_files_only(tmp_path, monkeypatch):
    (tmp_path / "a.docx").write_bytes(made.word(FACT))
    monkeypatch.setitem(sys.modules, "docx", None)
    (tmp_path / "a.txt").write_text(FACT)
    with pytest.raises(DocumentUnusable, match=r"requires docx.*drag-graph\[documents\]"):
        load(tmp_path / "a.docx")
    assert load(tmp_path / "a.txt").text == FACT


def test_a_folder_gives_its_documents_in_order_and_each_once(tmp_path):
    for name in ("b.txt", "a.md", ".hidden.txt", "picture.png", "sub/c.pdf", ".git/d.txt", "own.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link.txt").symlink_to(tmp_path / "b.txt")
    roots = roots_of([tmp_path, tmp_path / "sub", tmp_path / "picture.png"])
    found = list(files_in(roots, [tmp_path / "own.txt"]))
    assert [file.name for file in found] == ["a.md", "b.txt", "sub/c.pdf", "picture.png"]
    assert found[0] == SourceFile((tmp_path / "a.md").resolve(), "a.md")
    with pytest.raises(InputError, match="Nothing exists at"):
        roots_of([tmp_path / "gone"])


def test_a_link_out_of_a_folder_is_not_followed(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.txt").write_text("x")
    (tmp_path / "in/link.txt").symlink_to(tmp_path / "secret.txt")
    assert list(files_in([tmp_path / "in"])) == []
    assert [file.name for file in files_in(roots_of([tmp_path / "in/link.txt"]))] == ["secret.txt"], "named itself it is meant"


def test_a_name_that_no_terminal_shows_is_made_readable(tmp_path):
    for name in (b"bad\xff.txt", b"two\nlines.txt", "Müller.txt".encode()):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("x")
    found = list(files_in([tmp_path]))
    assert sorted(file.name for file in found) == ["Müller.txt", "bad\ufffd.txt", "two\ufffdlines.txt"]
    for file in found:
        Document(id="1", namespace="n", name=file.name, uri=file.uri, sha256="0" * 64, media_type="text/plain", modified_at="")


def test_what_lies_in_a_folder(tmp_path):
    assert lies_in((tmp_path / "a b" / "c.txt").as_uri(), [tmp_path / "a b"])
    assert lies_in((tmp_path / "c.txt").as_uri(), [tmp_path / "c.txt"])
    assert not lies_in((tmp_path / "ab" / "c.txt").as_uri(), [tmp_path / "a"])


def test_nothing_heavy_is_imported_for_plain_text_and_nothing_warns_for_a_page(tmp_path):
    (tmp_path / "a.txt").write_text(FACT)
    (tmp_path / "a.html").write_text(PAGE)
    program = (
        "import sys; from pathlib import Path; from drag_graph.documents.file_loaders import load; load(Path('a.txt'));"
        "assert not {'docx', 'openpyxl', 'pypdf', 'bs4'} & set(sys.modules); load(Path('a.html'))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_folder_that_cannot_be_listed_is_named_and_forbids_erasing(tmp_path):
    (tmp_path / "a.txt").write_text(FACT)
    folder, name = os.open(tmp_path, os.O_RDONLY), "n" * 250
    for _ in range(20):  # in the end, the path is too long to be listed by its name
        os.mkdir(name, dir_fd=folder)
        inner = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    files = list(files_in(roots_of([tmp_path])))
    assert [file.name for file in files if not file.problem] == ["a.txt"]
    (unlisted,) = [file for file in files if file.problem]
    assert unlisted.problem == "The folder cannot be listed: File name too long."
    with pytest.raises(DocumentUnusable, match="Nothing was read or erased") as refused:
        require_complete(files)
    assert refused.value.exit_code == 1
    with pytest.raises(DocumentUnusable, match="cannot be listed"):
        load_source(unlisted)
