"""Passages adjacent to the closest ones (`drag_graph.ask.adjacent_passages`), of documents that are read in by the rules."""

from contextlib import ExitStack

import pytest

from drag_graph.app.resources import Resources
from drag_graph.ask.adjacent_passages import PASSAGES
from drag_graph.ask.find_lines import Finder
from drag_graph.compose.document_setup import make_ingester
from drag_graph.documents.document_files import files_in
from drag_graph.inputs import make_query
from drag_graph.model import Aggregation
from drag_graph.report.audit_document import audit_document
from drag_graph.settings import Settings
from drag_graph.testing.builders import make_subgraph

TALK = (
    "Vera: Good morning from the harbour!",
    "Vera: Could somebody help me with mending the lantern of the lighthouse?",
    "Otto: Gladly.",
    "Vera: Shall we say Thursday?",
    "Otto: That suits me.",
    "Vera: Until then.",
)
QUESTION = "Who helps with mending the lantern of the lighthouse?"
OPTIONS = ("Otto mends the lantern", "Nobody mends the lantern")


@pytest.fixture
def read_in(tmp_path):
    """Read in texts by name, each of lines that are passages, and return an open session."""
    opened = ExitStack()

    def read(texts, **given):
        folder = tmp_path / "library"
        folder.mkdir()
        for name, lines in texts.items():
            (folder / f"{name}.txt").write_text("\n\n".join(lines))
        chosen = {"embedder": "lexical", "privacy": "off", "student": "nearest", "workers": 1, **given}
        session = opened.enter_context(
            Resources(Settings(store=str(tmp_path / "graph.lbug"), **chosen)).writing(role="extractor")
        )
        assert make_ingester(session, "library").run(files_in([folder])).exit_code == 0
        return session

    with opened:
        yield read


def lists_of(asked):
    """The lists that led to each line of evidence, by its text, in the order of the lines."""
    lines = [line for line in asked.answer.lines if line.kind == "evidence"]
    return {line.text: {way.list for way in asked.weighed[line.ref].ways} for line in lines}


def ask(session, question=QUESTION, options=(), **given):
    session.settings = session.settings.model_copy(update=given)
    return session.asker().ask(make_query(question, list(options) or None))


def test_the_closest_passage_brings_the_two_before_and_the_two_after(read_in):
    lists = lists_of(ask(read_in({"talk": TALK, "bread": ("Rye bread needs sour dough.", "It rests over night.")})))
    assert list(lists) == [TALK[1], TALK[0], TALK[2], TALK[3]], "those that were not found themselves come last"
    assert "evidence" in lists.pop(TALK[1])
    assert set(map(tuple, lists.values())) == {("adjacent",)}


def test_they_go_first_where_there_is_no_room(read_in):
    asked = ask(read_in({"talk": TALK}), max_lines=2)
    assert list(lists_of(asked)) == [TALK[1], TALK[0]]
    assert {text for text, reason in asked.dropped if reason == "line limit"} == {TALK[2], TALK[3]}


def test_a_passage_that_is_too_long_brings_none(read_in):
    asked = ask(read_in({"talk": (TALK[0], TALK[1].replace("?", " here" * 40 + "?"), *TALK[2:])}), token_budget=40)
    assert [reason for _, reason in asked.dropped] == ["too long"]
    assert asked.answer.lines == ()


def test_only_the_closest_passages_bring_others(read_in):
    talks = {f"talk {n}": (f"Ann said {'so ' * n}.", f"{'Alas: ' * n}{QUESTION}", f"Bob said {'no ' * n}.") for n in range(5)}
    lists = lists_of(ask(read_in(talks)))
    assert sum("evidence" in names for names in lists.values()) == len(talks)
    assert sum(names == {"adjacent"} for names in lists.values()) == 2 * PASSAGES


def test_evidence_of_questions_takes_no_place(read_in):
    session = read_in({"talk": TALK})
    said = [f"Mending the lantern of the lighthouse helps {who}." for who in ("ships", "sailors", "boats", "crews", "gulls")]
    session.store.save([make_subgraph("lanterns", evidence=said, dropped=())], Aggregation())
    session.linker().run()
    lists = lists_of(ask(session))
    assert len([text for text in lists if text in said]) > PASSAGES
    assert [text for text, names in lists.items() if names == {"adjacent"}] == [TALK[0], TALK[2], TALK[3]]


def test_what_two_passages_have_beside_them_is_shown_once(read_in):
    talk = (TALK[0], TALK[1], TALK[2], "Otto: The lantern of the lighthouse needs mending indeed.", TALK[3])
    asked = ask(read_in({"talk": talk}))
    assert len(asked.answer.lines) == len({line.text for line in asked.answer.lines})
    assert {text for text, names in lists_of(asked).items() if names == {"adjacent"}} == {TALK[0], TALK[2], TALK[3]}


def test_what_is_shown_is_not_said_to_be_left_out(read_in):
    """A passage that a concept leads to is not relevant by itself, but is adjacent to one that is."""
    told = "The lantern contains whale oil, glass, wire, dust, feathers, salt and many dead moths of last summer."
    session = read_in({"talk": (*TALK[:2], told, *TALK[2:])})
    session.linker().run()
    found = Finder(session.settings, session.store, session.embedder).search(make_query(QUESTION))
    assert (told, "not relevant") in found.dropped
    asked = ask(session)
    assert lists_of(asked)[told] == {"adjacent"}
    assert told not in {text for text, _ in asked.dropped}


@pytest.mark.parametrize("given", [{"options": OPTIONS}, {"question": "Which metal melts at room temperature?"}])
def test_a_question_with_options_or_without_lines_gets_none(read_in, given):
    asked = ask(read_in({"talk": TALK}), **given)
    assert "adjacent" not in {name for names in lists_of(asked).values() for name in names}
    assert {line.text for line in asked.answer.lines}.isdisjoint({TALK[0], TALK[2], TALK[3]})


def test_edges_alone_bring_no_passages(read_in):
    talk = (*TALK, "Iron is a metal. Iron contains carbon.", "Vera: What a day.")
    asked = ask(read_in({"talk": talk}), "What does iron contain?", mode="graph")
    assert {line.kind for line in asked.answer.lines} == {"edge"}


def test_an_answer_that_goes_without_a_passage_goes_without_what_is_adjacent_to_it(read_in):
    every, *others = read_in({"talk": TALK}).asker().several(make_query(QUESTION), 3)
    assert TALK[3] in lists_of(every)
    assert any(not one.answer.lines for one in others)


def test_another_edge_is_told_what_was_found_alone(read_in):
    session = read_in({"talk": TALK})
    found = Finder(session.settings, session.store, session.embedder).search(make_query(QUESTION))
    assert [item.text for item in found.candidates] == [TALK[1]]


def test_a_line_is_audited_to_its_place_in_the_document(read_in):
    session = read_in({"talk": TALK})
    asked = ask(session)
    (line,) = [line for line in audit_document(session.store, asked.stored_id)["lines"] if line["text"] == TALK[3]]
    start = "\n\n".join(TALK).index(TALK[3])
    place = line["evidence"]["document"]
    assert (place["name"], place["start"], place["end"]) == ("talk.txt", start, start + len(TALK[3]))
