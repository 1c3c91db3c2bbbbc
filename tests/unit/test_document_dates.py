"""The date of a document: the most trusted source wins, and the file system's time is none."""

import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import pytest
from docx import Document
from pypdf import PdfReader, PdfWriter

from drag_graph.documents.document_dates import document_date, is_day_first, metadata_of, name_date
from drag_graph.documents.document_files import SourceFile, files_in, load_source
from drag_graph.jobs.ingest_job import document_of

MIXED = Path(__file__).parents[2] / "bench" / "data" / "mixed" / "files"


def date_of(path: Path, name: str = "") -> str:
    file = SourceFile(path, name or path.name)
    return document_of(file, "id", "default", load_source(file)).date


def test_the_mixed_files_have_the_dates_that_they_say():
    dates = {file.name: date_of(file.path, file.name) for file in files_in([MIXED])}
    dates.pop("prices.xlsx")  # its properties have the time at which the bench wrote it
    assert {name: date for name, date in dates.items() if date} == {
        "audit-2024.pdf": "2024",
        "delivery-delay.eml": "2025-03-04",
        "invoice-question.eml": "2025-06-16",
        "orchid-budget-2023.txt": "2023-02-06",
        "orchid-budget-2025.txt": "2025-02-11",
        "会议记录.md": "2025-09-18",
    }
    assert len(dates) == 19


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("2025-03-02.md", "2025-03-02"),
        ("standup_2025-03-02_final.md", "2025-03-02"),
        ("20250302-notes.txt", "2025-03-02"),
        ("20260105_1100.txt", "2026-01-05"),
        ("minutes-march-2025.docx", "2025-03"),
        ("minutes-3-march-2025.docx", "2025-03-03"),
        ("protokoll_märz_2025.pdf", "2025-03"),
        ("budget-2023.xlsx", "2023"),
        ("Q1-2025.xlsx", "2025"),
        ("plan-2023-2025.md", "2025"),
        ("2024/report.md", ""),
        ("order-7731.pdf", ""),
        ("NL-4000.pdf", ""),
        ("scan-120250302123.pdf", ""),
        ("march.md", ""),
    ],
)
def test_a_file_name_has_a_date(name, date):
    assert name_date(name) == date


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Minutes\n\nDate: 3 March 2025\n\nAll were there.", "2025-03-03"),
        ("---\ntitle: Plan\ndate: 2025-03-02\n---\n# Plan", "2025-03-02"),
        ("**Last updated:** March 2025\n\nText.", "2025-03"),
        ("Stand: 3. März 2025\n\nDie Pumpe ist alt.", "2025-03-03"),
        ("Compte rendu\nDate : 3 mars 2025\nLe budget est voté.", "2025-03-03"),
        ("日期：2025年9月18日", "2025-09-18"),
        ("Time: 20260105_11:00\nLiHua: Hey!", "2026-01-05"),
        ("Date: 03/04/2025\n\nThe board met.", "2025"),
        ("Datum: 03/04/2025\n\nDie Sitzung ist beendet, und das Protokoll folgt.", "2025-04-03"),
        ("Date: 25/04/2025\n\nThe board met.", "2025-04-25"),
        ("[2025-03-02 10:11] Anna: Do we meet on the fourth?\n[2025-03-05 08:00] Ben: Yes.", "2025-03-02"),
        ("Memo of 6 February 2023\n\nThe board has approved it.", "2023-02-06"),
        ("Berlin, 3. März 2025\n\nSehr geehrte Damen", "2025-03-03"),
        ("Date: tomorrow", ""),
        ("Date: 3 weeks ago", ""),
        ("Time: 17:30", ""),
        ("In the winter of 1978 a farmer asked them about a station, which opened on 3 May 1981 in Falun.", ""),
        ("Mira | calibrated: 3 February 2026", ""),
        ("x " * 300 + "\n3 March 2025\n", ""),
    ],
)
def test_a_text_says_its_date_at_its_beginning(text, date):
    assert document_date("notes.md", text, {}) == date


def test_the_more_trusted_source_wins():
    text = "Date: 4 March 2024\n\n[2025-01-01] Anna: Hello"
    every = {"sent": "2020-01-01", "stated": "2021-01-01", "recorded": "2019-01-01"}
    assert document_date("plan-2022.md", text, every) == "2020-01-01"
    assert document_date("plan-2022.md", text, {**every, "sent": ""}) == "2024-03-04"
    assert document_date("plan-2022.md", "Hello", {"stated": "2021-01-01", "recorded": "2019-01-01"}) == "2021-01-01"
    assert document_date("plan-2022.md", "[2025-01-01] Anna: Hello", {"recorded": "2019-01-01"}) == "2022"
    assert document_date("plan.md", "[2025-01-01] Anna: Hello", {"recorded": "2019-01-01"}) == "2025-01-01"
    assert document_date("plan.md", "Hello", {"recorded": "20190102"}) == "2019-01-02"


def test_a_less_trusted_source_adds_the_month_and_the_day_and_contradicts_nothing():
    assert document_date("plan-2022.md", "Memo of 6 February 2022", {}) == "2022-02-06"
    assert document_date("plan-march-2022.md", "Memo of 6 February 2022", {}) == "2022-03"


def test_what_libraries_write_into_every_file_is_no_date():
    for day in ("2013-12-23T23:15:00Z", "2013-01-27T09:15:58Z", "20000101", "1980-01-01"):
        assert document_date("plan.docx", "Hello", {"recorded": day}) == ""


def test_an_email_has_the_day_of_its_sender(tmp_path):
    message = EmailMessage()
    message["Date"], message["Subject"] = "Tue, 31 Dec 2024 23:30:00 -0500", "Orchid 2019"
    message.set_content("Date: 1 May 2018\n\nHello")
    path = tmp_path / "mail-2017.eml"
    path.write_bytes(bytes(message))
    assert date_of(path) == "2024-12-31"
    path.write_bytes(b"Date: gibberish\nSubject: Orchid\n\nHello")
    assert date_of(path) == "2017"


def test_a_page_states_its_date_in_a_tag():
    time = b'<html><body><time class="x" datetime="2024-05-06T10:00">6 May</time></body></html>'
    meta = b"<meta charset='utf-8'><meta property='article:published_time' content='2023-04-05T08:00:00Z'>"
    assert metadata_of(time, "text/html") == {"stated": "2024-05-06T10:00"}
    assert metadata_of(time + meta, "text/html") == {"stated": "2023-04-05T08:00:00Z"}
    assert metadata_of(b'<meta name="author" content="2023">', "text/html") == {}
    assert document_date("page.html", "Hello", metadata_of(meta, "text/html")) == "2023-04-05"


def test_office_files_and_pdf_have_properties(tmp_path):
    document = Document()
    document.add_paragraph("The pump is blue.")
    document.core_properties.created = datetime(2021, 1, 1, tzinfo=UTC)
    document.core_properties.modified = datetime(2022, 2, 3, tzinfo=UTC)
    document.save(str(tmp_path / "pump.docx"))
    assert date_of(tmp_path / "pump.docx") == "2022-02-03"
    writer = PdfWriter(clone_from=PdfReader(MIXED / "safety-manual.pdf"))
    writer.add_metadata({"/CreationDate": "D:20230405101112Z", "/ModDate": "D:20240405101112Z"})
    writer.write(tmp_path / "manual.pdf")
    assert date_of(tmp_path / "manual.pdf") == "2023-04-05"


def test_damaged_metadata_leaves_the_file_readable():
    assert metadata_of(b"no archive", "application/vnd.openxmlformats-officedocument.wordprocessingml.document") == {}
    assert metadata_of(b"%PDF-broken", "application/pdf") == {}
    assert metadata_of(b"x", "application/octet-stream") == {}


def test_the_time_of_the_file_system_is_no_date(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("The pump is blue.")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    assert date_of(path) == ""


def test_english_leaves_the_order_of_day_and_month_open():
    assert is_day_first("Die Pumpe ist alt und das Sieb fehlt.") is True
    assert is_day_first("The pump is old, and the filter is missing.") is None
    assert is_day_first("") is None


def test_dateparser_is_imported_only_for_a_date_that_needs_it():
    program = (
        "import sys; from drag_graph.documents.document_dates import document_date as read\n"
        "read('plan-2025.md', 'Date: 3 March 2025', {}); assert 'dateparser' not in sys.modules\n"
        "assert read('plan.md', 'Date: 3 mars 2025', {}) == '2025-03-03'; assert 'dateparser' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_dateparser_the_year_is_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "dateparser.date", None)
    assert document_date("plan.md", "Date: 3 mars 2025", {}) == "2025"


def test_odd_texts_take_little_time():
    odd = "1" * 50_000 + " " + "a-" * 20_000 + "2025" * 5_000 + "\n" * 20_000 + "date" * 3_000
    started = time.perf_counter()
    document_date("x" * 200 + "2025-" * 10, odd, {"stated": odd, "recorded": odd})
    document_date("x", "Date: " + "1a" * 20_000 + " 2025", {})
    assert time.perf_counter() - started < 5
