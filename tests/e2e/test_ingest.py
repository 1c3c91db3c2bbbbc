"""`drag-graph ingest` by the real command line: files of each kind, again, changed, gone, failed, killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import document_files as made
import pytest

from tests.e2e.conftest import ON_BOTH

MOON = "The gravity of the Moon causes the tides of the oceans.\n\nThe Moon orbits the Earth."
RUST = "Oxygen and water cause the rust of iron. Salt speeds the rust of iron in the sea."
QUESTION = "What causes the tides of the oceans?"


@pytest.fixture
def folder(tmp_path):
    """A folder with a document of each kind."""
    files = {
        "moon.md": f"# The Moon\n\n{MOON}\n".encode(),
        "rust.txt": RUST.encode(),
        "mail.eml": made.email("The kidney filters the blood of the body."),
        "page.html": b"<html><body><h1>Seasons</h1><p>The tilt of the axis causes the seasons.</p></body></html>",
        "report.docx": made.word("Antibiotics kill bacteria.", "Antibiotics do not kill viruses."),
        "sub/paper.pdf": made.pdf("Insects have six legs.", "Spiders have eight legs."),
    }
    place = tmp_path / "library"
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place


@pytest.fixture
def erased(cli, store, folder):
    """Erase what a test leaves in a shared server."""
    yield
    if not isinstance(store, Path):
        for path in folder.rglob("*.*"):
            path.unlink()
        (folder / "last.txt").write_text("Nothing is left.")
        cli("ingest", folder, "--sync", "--store", store)


def statuses(done):
    return statuses_of(done.json)


def statuses_of(document):
    return {item["name"]: item["status"] for item in document["documents"]}


@ON_BOTH
def test_a_folder_is_read_asked_audited_and_kept_in_step(cli, store, folder, erased):
    done = cli("ingest", folder, "--store", store, "--json")
    assert done.code == 0, done.err
    names = ["mail.eml", "moon.md", "page.html", "report.docx", "rust.txt", "sub/paper.pdf"]
    assert list(statuses(done).items()) == [(name, "added") for name in names]
    assert all(item["chunks"] == 1 and item["evidence"] and item["triples"] for item in done.json["documents"])
    totals = done.json["totals"]
    assert (totals["documents"], totals["added"], totals["failed"], totals["calls"]) == (6, 6, 0, 0)

    answer = cli("ask", QUESTION, "--store", store, "--json").json
    assert "Moon causes" in answer["answer"]
    moon = next(item for item in done.json["documents"] if item["name"] == "moon.md")
    resting = [line for line in answer["lines"] if "gravity of the Moon" in line["text"]]
    assert {line["kind"] for line in resting} == {"span", "edge"}
    text = (folder / "moon.md").read_text()
    for line in resting:
        place = line["document"]
        assert (place["id"], place["name"]) == (moon["id"], "moon.md")
        assert text[place["start"] : place["end"]].startswith("The gravity of the Moon causes the tides of the oceans.")
    asked = cli("ask", QUESTION, "--store", store)
    assert "1. moon.md > The Moon: The gravity of the Moon causes the tides of the oceans." in " ".join(asked.out.split())
    audit = cli("audit", answer["answer_id"], "--store", store)
    assert "characters 12-67, chunk 1" in " ".join(audit.out.split())
    assert cli("db", "verify", "--store", store).code == 0

    again = cli("ingest", folder, "--store", store, "--json")
    assert set(statuses(again).values()) == {"unchanged"}
    assert {item["triples"] for item in again.json["documents"]} == {None}, "what is unchanged is not read again"

    (folder / "rust.txt").write_text("Acid causes the rust of iron.")
    (folder / "moon.md").unlink()
    changed = cli("ingest", folder, "--store", store, "--json")
    assert statuses(changed) == {name: "changed" if name == "rust.txt" else "unchanged" for name in names if name != "moon.md"}
    assert "Moon" in cli("export", "--store", store).out, "without --sync, what is gone stays"
    gone = cli("ingest", folder, "--sync", "--store", store, "--json")
    assert {name for name, status in statuses(gone).items() if status == "removed"} == {"moon.md"}
    assert cli("audit", answer["answer_id"], "--store", store).code == 3, "the answer that rested on it is gone"
    left = cli("export", "--store", store).out
    assert "Moon" not in left
    assert "Salt" not in left
    assert "Acid" in left
    assert cli("db", "verify", "--store", store).code == 0


@ON_BOTH
def test_a_renamed_file_keeps_its_answers_and_tags_stay(cli, store, folder, erased):
    assert cli("ingest", folder, "--tag", "science", "--tag", "2026", "--store", store).code == 0
    answer = cli("ask", QUESTION, "--store", store, "--json").json
    (folder / "new").mkdir()
    (folder / "moon.md").rename(folder / "new" / "moon.md")
    foreseen = cli("ingest", folder, "--sync", "--dry-run", "--store", store, "--json")
    done = cli("ingest", folder, "--sync", "--store", store, "--json")
    assert statuses(done) == statuses(foreseen)
    assert {name: status for name, status in statuses(done).items() if status != "unchanged"} == {"new/moon.md": "renamed"}
    audit = cli("audit", answer["answer_id"], "--store", store)
    assert (audit.code, "moon.md > The Moon, characters 12-67" in " ".join(audit.out.split())) == (0, True)
    exported = cli("export", "--store", store).out
    assert exported.count('"tags": ["2026", "science"]') == 6
    assert cli("db", "verify", "--store", store).code == 0
    assert set(statuses(cli("ingest", folder, "--sync", "--store", store, "--json")).values()) == {"unchanged"}
    again = cli("ask", QUESTION, "--store", store, "--json").json
    texts = [line["text"].replace("new/moon.md", "moon.md") for line in again["lines"]]
    assert texts == [line["text"] for line in answer["lines"]]
    assert "new/moon.md" in {line["document"]["name"] for line in again["lines"]}


def test_triples_that_are_there_already_are_used(cli, tmp_path, folder):
    triples, store = tmp_path / "triples.jsonl", tmp_path / "graph.lbug"
    line = {"document": "rust.txt", "subject": "Salt", "predicate": "speeds up", "object": "rust of iron"}
    triples.write_text(f"{json.dumps(line)}\nnonsense\n{json.dumps({**line, 'document': 'gone.txt'})}\n")
    done = cli("ingest", folder, "--triples", triples, "--store", store)
    assert done.code == 1
    assert "triples, line 2: The line is not JSON." in done.err
    assert "Lines of triples about documents that are not among these files: 1." in done.err
    assert '"model": "file:triples.jsonl"' in cli("export", "--store", store).out
    missing = cli("ingest", folder, "--triples", tmp_path / "gone.jsonl", "--store", store)
    assert (missing.code, "Cannot read" in missing.err) == (2, True)


def test_what_cannot_be_read_is_named_and_the_others_go_on(cli, tmp_path, folder):
    (folder / "scan.pdf").write_bytes(made.pdf())
    (folder / "locked.pdf").write_bytes(made.encrypted(made.pdf("No.")))
    (folder / "broken.docx").write_bytes(b"PK nonsense")
    store = tmp_path / "graph.lbug"
    done = cli("ingest", folder, "--store", store, "--json")
    assert done.code == 1
    errors = {item["name"]: item["error"] for item in done.json["documents"] if item["status"] == "failed"}
    assert errors == {
        "scan.pdf": "The pages are scanned images; run OCR first.",
        "locked.pdf": "The file is encrypted.",
        "broken.docx": "The file is damaged, or its ending does not match its content (BadZipFile).",
    }
    assert done.json["totals"]["added"] == 6
    (folder / "broken.docx").unlink()
    (folder / "moon.md").write_bytes(b"\x00")
    synced = cli("ingest", folder, "--store", store, "--sync")
    assert "moon.md failed: The file is binary, not text: it contains null bytes." in synced.err
    assert "tides" in cli("export", "--store", store).out, "a file that is broken now is still there, and so is what it said"


def test_sync_takes_only_what_lies_under_the_paths_and_never_all_of_an_empty_folder(cli, tmp_path, folder):
    other, store = tmp_path / "other", tmp_path / "graph.lbug"
    other.mkdir()
    (other / "rust.txt").write_text(RUST)
    assert cli("ingest", folder, other, "--store", store).code == 0
    (other / "rust.txt").unlink()
    assert "removed" not in statuses(cli("ingest", folder, "--sync", "--store", store, "--json")).values()
    refused = cli("ingest", other, "--sync", "--store", store)
    assert (refused.code, "contains no document" in refused.err) == (2, True)
    assert cli("ingest", tmp_path / "gone", "--sync", "--store", store).code == 2


def test_what_a_changed_file_said_is_in_no_file_after_sync(cli, tmp_path, folder):
    store = tmp_path / "store" / "graph.lbug"
    (folder / "rust.txt").write_text(f"{RUST} The safe opens with zerzura.")
    assert cli("ingest", folder, "--store", store).code == 0
    (folder / "rust.txt").write_text(RUST)
    assert statuses(cli("ingest", folder, "--sync", "--store", store, "--json"))["rust.txt"] == "changed"
    held = b"".join(path.read_bytes() for path in store.parent.rglob("*") if path.is_file())
    assert b"zerzura" not in held
    assert b"rust" in held


def test_a_dry_run_says_what_would_be_and_writes_nothing(cli, tmp_path, folder):
    store = tmp_path / "graph.lbug"
    flags = ("ingest", folder, "--store", store, "--json")
    foreseen = cli(*flags, "--dry-run").json
    assert (set(statuses_of(foreseen).values()), store.exists()) == ({"added"}, False)
    done = cli(*flags).json
    for name in ("documents", "added", "chunks", "evidence"):
        assert foreseen["totals"][name] == done["totals"][name]
    (folder / "moon.md").unlink()
    (folder / "rust.txt").write_text("Acid causes the rust of iron.")
    before = cli("export", "--store", store).out
    again = cli(*flags, "--sync", "--dry-run").json
    assert {name: status for name, status in statuses_of(again).items() if status != "unchanged"} == {
        "rust.txt": "changed",
        "moon.md": "removed",
    }
    assert cli("export", "--store", store).out == before
    assert re.search(r"rust\.txt +changed", cli("ingest", folder, "--store", store, "--dry-run").out)
    priced = cli(*flags, "--dry-run", "--extractor", "gpt-4o-mini").json["totals"]
    assert (priced["calls"], priced["price_known"]) == (5, True)
    assert priced["price_usd"] > 0


def test_shown_linked_and_erased_like_a_question(cli, tmp_path, folder):
    store = ("--store", tmp_path / "graph.lbug")
    assert cli("ingest", folder, *store).code == 0
    listed = cli("show", "--json", *store).json
    assert {item["kind"] for item in listed} == {"document"}
    rust = next(item["id"] for item in listed if item["name"] == "rust.txt")
    assert "rust of iron" in cli("show", rust[:8], "--format", "text", *store).out
    assert cli("link", "--json", *store).json["vectors"]["evidence"] == 0, "the vectors were saved with the documents"
    assert "Salt" in cli("ask", "What speeds the rust of iron?", "--json", *store).out
    assert cli("ask", "--query-id", rust[:8], *store).code == 3, "a document is no question"
    assert cli("db", "erase", "--query-id", rust[:8], "--yes", *store).code == 0
    assert "rust of iron" not in cli("export", *store).out
    assert cli("db", "verify", *store).code == 0


KILLED = "import sys; from drag_graph.__main__ import main; sys.argv = ['drag-graph', *sys.argv[1:]]; main()"


def test_a_killed_run_goes_on_and_ends_as_one_that_was_not(cli, tmp_path):
    folder, whole, killed = tmp_path / "many", tmp_path / "whole.lbug", tmp_path / "killed.lbug"
    folder.mkdir()
    for number in range(48):
        lines = [f"Thing {number} causes effect {line} of place {number}." for line in range(12)]
        (folder / f"{number:03}.txt").write_text("\n\n".join(lines))
    environment = {**os.environ, "DRAG_GRAPH_EMBEDDER": "lexical", "DRAG_GRAPH_PRIVACY": "off"}
    command = [sys.executable, "-c", KILLED, "ingest", folder, "--store", killed]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wal = killed.with_name(f"{killed.name}.wal")
    deadline = time.monotonic() + 60
    while not (wal.exists() and wal.stat().st_size > 400_000) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    first = cli("ingest", folder, "--store", killed, "--json")
    assert first.code == 0, first.err
    assert set(statuses(first).values()) == {"unchanged", "added"}
    assert cli("ingest", folder, "--store", whole).code == 0
    assert cli("export", "--store", killed).out == cli("export", "--store", whole).out


def test_other_languages_have_no_triples_by_rules_and_one_line_says_so(cli, tmp_path):
    texts = {
        "de.txt": "Wartungsanweisung für die Pumpe P-17. Die Pumpe wird von der Werkstatt geprüft.",
        "zh.txt": "公司总部位于宁波市。工厂生产阀门。",
        "en.txt": RUST,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = cli("ingest", *(tmp_path / name for name in texts), "--store", tmp_path / "graph.lbug")
    assert done.err.count("English") == 1
    assert "Passages of 2 documents" in done.err
    again = cli("ingest", tmp_path / "de.txt", "--store", tmp_path / "other.lbug", "--json")
    (document,) = again.json["documents"]
    assert (document["evidence"] > 0, document["triples"]) == (True, 0)
    assert "another language" in document["notes"][0]


def test_the_embedder_of_a_new_namespace_is_named_once(cli, tmp_path):
    (tmp_path / "rust.txt").write_text(RUST)
    first, again, other = (
        cli("ingest", tmp_path / "rust.txt", "--store", tmp_path / "graph.lbug", "--embedder", "lexical", *more, "--json")
        for more in ((), (), ("--namespace", "other"))
    )
    assert [done.err.count("uses the embedder lexical/2-1024.") for done in (first, again, other)] == [1, 0, 1]
    assert "minilm" not in first.err, "lexical was asked for"
    assert first.json["totals"]["added"] == 1
