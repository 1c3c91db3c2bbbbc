"""Lines beside the closest passages of documents (`drag_graph.ask.beside`), of documents that are read in by the rules."""

import pytest

from drag_graph.ask import beside
from drag_graph.ask.find import Finder
from drag_graph.bootstrap import open_session
from drag_graph.documents.files import files_in
from drag_graph.ingestion import for_documents, make_ingester
from drag_graph.inputs import make_query
from drag_graph.report.auditing import audit_document
from drag_graph.settings import Settings

TALK = (
    "Vera: Good morning from the harbour!",
    "Vera: Could somebody help me with mending the lantern of the lighthouse?",
    "Otto: Gladly.",
    "Vera: Shall we say Thursday?",
    "Otto: That suits me.",
    "Vera: Until then.",
)
QUESTION = "Who helps with mending the lantern of the lighthouse?"


@pytest.fixture
def session(tmp_path):
    """An embedded store with two documents, one of them the talk, one line a block."""
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "talk.txt").write_text("\n\n".join(TALK))
    (folder / "bread.txt").write_text("Rye bread needs sour dough.\n\nIt rests over night.")
    settings = Settings(store=str(tmp_path / "graph.lbug"), embedder="lexical", privacy="off", student="nearest", workers=1)
    with open_session(for_documents(settings)) as session:
        assert make_ingester(session, "library").run(files_in([folder])).exit_code == 0
        yield session


def search(session, question=QUESTION, **given):
    return Finder(session.settings.model_copy(update=given), session.store, session.embedder).search(make_query(question))


def lists_of(found):
    """The lists that led to each line, by its text."""
    lines = found.weighed.values()
    return {line.candidate.text: {way.list for way in line.ways} for line in lines if line.candidate.kind == "evidence"}


def test_the_closest_passage_brings_those_beside_it(session):
    found = search(session)
    lists = lists_of(found)
    assert "evidence" in lists[TALK[1]]
    assert [text for text, names in lists.items() if names == {"beside"}] == [TALK[0], TALK[2], TALK[3]]
    assert len(lists) == 4
    own = min(line.weight for line in found.weighed.values() if "beside" not in {way.list for way in line.ways})
    assert all(line.weight < own for line in found.weighed.values() if {way.list for way in line.ways} == {"beside"})


def test_no_line_is_both_shown_and_said_to_be_left_out(session):
    found = search(session)
    assert {text for text, _ in found.dropped}.isdisjoint(item.text for item in found.candidates)


def test_only_the_closest_bring_others(session, monkeypatch):
    monkeypatch.setattr(beside, "PASSAGES", 0)
    assert list(lists_of(search(session))) == [TALK[1]]


def test_a_question_that_finds_nothing_is_shown_nothing(session):
    assert search(session, "Which metal melts at room temperature?").candidates == ()


def test_edges_alone_bring_no_passages(session):
    found = search(session, mode="graph")
    assert {item.kind for item in found.candidates} <= {"edge"}


def test_a_source_that_is_left_out_brings_nothing(session):
    (document,) = {item.source_id for item in search(session).candidates}
    finder = Finder(session.settings, session.store, session.embedder)
    assert finder.search(make_query(QUESTION), without={document}).candidates == ()


def test_a_line_beside_another_is_audited_to_its_place_in_the_document(session):
    asked = session.asker().ask_text(QUESTION)
    (line,) = [line for line in audit_document(session.store, asked.kept_as)["lines"] if line["text"] == TALK[3]]
    start = "\n\n".join(TALK).index(TALK[3])
    place = line["evidence"]["document"]
    assert (place["name"], place["start"], place["end"]) == ("talk.txt", start, start + len(TALK[3]))
