"""What a question is shown of documents (`drag_graph.ask.spans`), of documents that are read in by the rules."""

from contextlib import ExitStack

import pytest

from drag_graph.app.resources import Resources
from drag_graph.ask.context_lines import block
from drag_graph.compose.document_setup import make_ingester
from drag_graph.documents.document_files import files_in
from drag_graph.inputs import make_query
from drag_graph.model import Aggregation
from drag_graph.settings import Settings
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.finding import audit_document

TALK = (
    "Vera: Good morning from the harbour!",
    "Vera: Could somebody help me with mending the lantern of the lighthouse?",
    "Otto: Gladly.",
    "Vera: Shall we say Thursday?",
    "Otto: That suits me.",
    "Vera: Until then.",
)
BREAD = ("Rye bread needs sour dough.", "It rests over night.")
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


def ask(session, question=QUESTION, options=(), **given):
    session.settings = session.settings.model_copy(update=given)
    return session.asker().ask(make_query(question, list(options) or None))


def spans_of(asked):
    return [line.text for line in asked.answer.lines if line.kind == "span"]


def test_the_best_document_is_shown_in_one_piece_and_first(read_in):
    spans = spans_of(ask(read_in({"bread": BREAD, "talk": TALK})))
    assert spans[0] == f"talk.txt: {' '.join(TALK)}"
    assert spans[1:] in ([], [f"bread.txt: {' '.join(BREAD)}"])


@pytest.mark.parametrize("given", [{"max_lines": 2}, {"max_lines": 4}, {"token_budget": 40}, {"token_budget": 25}])
def test_what_is_nearest_to_the_question_is_shown_where_there_is_little_room(read_in, given):
    session = read_in({"talk": TALK})
    asked = ask(session, **given)
    (span,) = spans_of(asked)
    (shown,) = [line.evidence_ids for line in asked.answer.lines if line.kind == "span"]
    assert TALK[1] in span
    assert span.removeprefix("talk.txt: ") in " ".join(TALK), "neighbours are joined, word for word"
    assert len(shown) <= given.get("max_lines", 5)
    assert session.student().count_tokens(block(asked.answer.lines)) <= given.get("token_budget", 10_000)
    dropped = {text: reason for text, reason in asked.dropped if text in TALK}
    assert set(dropped) == {text for text in TALK if text not in span}
    assert set(dropped.values()) <= ({"line limit"} if "max_lines" in given else {"token budget", "less relevant"})


def test_a_passage_that_alone_is_too_long_leaves_room_for_others(read_in):
    asked = ask(read_in({"talk": (TALK[0], TALK[1].replace("?", " here" * 40 + "?"), *TALK[2:])}), token_budget=40)
    assert TALK[2] in " ".join(spans_of(asked))
    assert [(text[:20], reason) for text, reason in asked.dropped if len(text) > 100] == [(TALK[1][:20], "token budget")]


def test_passages_apart_are_shown_apart(read_in):
    """What stands between them does not fit."""
    asked = ask(read_in({"talk": (TALK[1], "Hm, " * 120 + "well.", QUESTION.replace("Who", "Otto"))}), token_budget=150)
    spans = spans_of(asked)
    assert spans == [f"talk.txt: {TALK[1]}", QUESTION.replace("Who", "Otto")]


def test_every_document_is_named_once_and_shown_in_its_own_order(read_in):
    talks = {f"talk {n}": (f"Ann said {'so ' * n}.", f"{'Alas: ' * n}{QUESTION}", f"Bob said {'no ' * n}.") for n in range(5)}
    spans = spans_of(ask(read_in(talks)))
    assert sorted(span.split(":")[0] for span in spans) == [f"talk {n}.txt" for n in range(5)]
    for n, span in enumerate(sorted(spans)):
        assert span.split(": ", 1)[1] == " ".join(" ".join(talks[f"talk {n}"]).split())


def test_evidence_of_questions_stands_beside_the_spans(read_in):
    session = read_in({"talk": TALK})
    said = [f"Mending the lantern of the lighthouse helps {who}." for who in ("ships", "sailors", "boats", "crews", "gulls")]
    session.store.save([make_subgraph("lanterns", evidence=said, dropped=())], Aggregation())
    session.linker().run()
    asked = ask(session)
    assert {line.text for line in asked.answer.lines if line.kind == "evidence"} == set(said)
    assert len(spans_of(asked)) == 1
    assert TALK[1] in spans_of(asked)[0]


def test_a_question_with_options_sees_only_what_decides_between_them(read_in):
    session = read_in({"talk": TALK})
    assert TALK[1] in spans_of(ask(session, options=OPTIONS))[0]
    asked = ask(session, options=OPTIONS, relevance=0.3)
    assert [TALK[1] in span for span in spans_of(asked)] == [True]
    assert {text for text, reason in asked.dropped if reason == "not relevant"} == {*TALK} - {TALK[1]}


def test_a_question_about_something_else_is_shown_nothing(read_in):
    asked = ask(read_in({"talk": TALK}), "Which metal melts at room temperature?")
    assert (asked.how, asked.answer.lines) == ("nothing", ())


def test_edges_alone_bring_no_passages(read_in):
    talk = (*TALK, "Iron is a metal. Iron contains carbon.", "Vera: What a day.")
    asked = ask(read_in({"talk": talk}), "What does iron contain?", mode="graph")
    assert {line.kind for line in asked.answer.lines} == {"edge"}
    assert "less relevant" not in {reason for _, reason in asked.dropped}, "a passage is no line that was left out"


def test_answers_with_a_part_of_the_passages_go_without_the_others(read_in):
    every, *others = read_in({"talk": TALK}, mode="evidence").asker().several(make_query(QUESTION), 3)
    (whole,) = every.answer.lines
    assert len(whole.evidence_ids) == len(TALK)
    parts = [{id_ for line in one.answer.lines for id_ in line.evidence_ids} for one in others]
    assert [len(part) for part in parts] == [len(TALK) // 2] * 2
    assert set.union(*parts) == set(whole.evidence_ids)


def test_a_span_is_audited_to_its_place_in_the_document(read_in):
    session = read_in({"talk": TALK, "bread": BREAD})
    asked = ask(session, max_lines=3)
    text = "\n\n".join(TALK)
    line = audit_document(session.store, asked.stored_id)["lines"][0]
    shown = [(item["text"], text[item["start"] : item["end"]]) for item in line["passages"]]
    assert shown == [(part, part) for part in TALK[:3]]
    assert line["evidence"]["text"] == TALK[1], "the passage that the span was chosen for"
    place = line["evidence"]["document"]
    assert (place["name"], place["start"], place["end"]) == ("talk.txt", 0, text.index(TALK[2]) + len(TALK[2]))
    assert (line["live"], line["changed"]) == (True, False)
