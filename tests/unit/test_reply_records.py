"""Triples that were written as records or lines instead of JSON. The texts are made up, the formats those of real models."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.model import Query
from drag_graph.models.teachers.reply_reading import RELATED, Refused, Unreadable, fit, parse_reply, read
from drag_graph.ports.model_roles import TeacherRequest
from drag_graph.ports.teacher_replies import UNSTATED_CONFIDENCE, TripleItem, TriplesReply

TEXTS = (
    "The Moon pulls the sea, and so it causes the tides.",
    "Wind makes waves on the open sea.",
    "Zo\u00eb Muller was born in Lincoln, Nebraska in 1958.",
    "\u65e0\u6d6a\u7684\u6d77\u9762\u4f1a\u53cd\u5c04\u6708\u5149\u3002",
)
UNSTATED = UNSTATED_CONFIDENCE


def request_for(texts=TEXTS):
    return TeacherRequest(Query(id="q", text="Why?"), "triples", TriplesReply, (), "1", texts=texts)


def triples(text, texts=TEXTS):
    return fit(read(text, TriplesReply), request_for(texts))


def rows(reply):
    return [(item.subject, item.predicate, item.object, item.confidence, item.evidence) for item in reply.triples]


@pytest.mark.parametrize(
    "text",
    [
        "pulls(the Moon, the sea)",
        "1. pulls(the Moon, the sea)",
        '- `pulls("the Moon", "the sea")`',
        "Here are the triples:\n\npulls(the Moon, the sea)\n\nNote: nothing else is said.",
        "<think>pulls(the Moon, waves)?</think>\npulls(the Moon, the sea).",
        "Test Output: pulls(the Moon, the sea)",
        '"pulls(the Moon, the sea)",',
        '("relationship"<|>"the Moon"<|>"the sea"<|>"The Moon pulls the sea."<|>)##',
        '[["the Moon", "pulls", "the sea"]]',
        '{"triples": [["the Moon", "pulls", "the sea"]]}',
        '{"triples": [{"head": "the Moon", "relation": "pulls", "tail": "the sea"}]}',
        '{"nodes": [{"id": "the Moon"}], "relationships": [{"source": "the Moon", "type": "pulls", "target": "the sea"}]}',
        '{"nodes": "[1]", "edges": "[{\\"source\\": \\"the Moon\\", \\"type\\": \\"pulls\\", \\"target\\": \\"the sea\\"}]"}',
        '{"triples": [{"subject": "the Moon", "predicate": "pulls", "object": "the sea"}]}',
    ],
)  # fmt: skip
def test_the_same_triple_is_read_out_of_any_format(text):
    assert rows(triples(text)) == [("the Moon", "pulls", "the sea", UNSTATED, (0,))]


def test_what_comes_out_is_what_strict_json_gives():
    reply = triples("pulls(the Moon, the sea)")
    assert type(reply) is TriplesReply
    assert [type(item) for item in reply.triples] == [TripleItem]
    again = parse_reply(TriplesReply, reply.model_dump(mode="json"))
    assert again.triples == reply.triples


def test_valid_json_wins_over_lines():
    document = '{"triples": [{"subject": "Wind", "predicate": "makes", "object": "waves", "confidence": 1, "evidence": [1]}]}'
    assert rows(triples(f"pulls(the Moon, the sea)\n{document}")) == [("Wind", "makes", "waves", 1.0, (1,))]


def test_a_predicate_of_joined_words_is_taken_apart():
    reply = triples("bornIn(Zoe Muller, Nebraska)\nLCCN number(Zo\u00eb_Muller, 1958)")
    assert [(item.predicate, item.evidence) for item in reply.triples] == [("born in", (2,)), ("LCCN number", (2,))]


class TestRecords:
    def test_a_whole_answer(self):
        text = (
            '**Entities:**\n\n("entity"<|>"The Moon"<|>"celestial body"<|>"The Moon is far (and cold).")##\n'
            '1. ("entity"<|>"tides"<|>"process"<|>"Tides rise and fall.")\n\n**Relationships:**\n'
            '## ("relationship"<|>"The Moon"<|>"tides"<|>"The Moon causes the tides, twice a day."<|>9)##\n'
            '2. ("relationship"<|>Wind<|>waves<|>Waves are what wind leaves behind.<|>3)\n<|COMPLETE|>'
        )
        reply = triples(text)
        assert rows(reply) == [("The Moon", "causes", "tides", UNSTATED, (0,)), ("Wind", RELATED, "waves", UNSTATED, (1,))]

    @pytest.mark.parametrize(
        ("description", "predicate"),
        [
            ("The Moon gently pulls at the sea.", "gently pulls at"),
            ("The Moon is far away. The sea is near.", RELATED),
            ("The sea is pulled by the Moon.", RELATED),
            ("The Moon, like the sun, pulls the sea.", RELATED),
            ("The Moon's pull moves the sea.", RELATED),
            ("The Moon and the sea belong together.", RELATED),
            ("The Moon is a body that moves the sea.", RELATED),
            ("The Moons near the sea.", RELATED),
            ("The Moon shines on the seaside.", RELATED),
            ("The Moon shines on Baltic sea ice.", RELATED),
            ("The Moon the sea", RELATED),
            ("", RELATED),
        ],
    )
    def test_the_predicate_is_what_leads_from_end_to_end_else_only_that_they_are_related(self, description, predicate):
        text = f'("relationship"<|>"The Moon"<|>"sea"<|>"{description}"<|>7)'
        assert [item.predicate for item in triples(text).triples] == [predicate]

    @pytest.mark.parametrize("separator", ["<|>", "|>"])
    def test_a_delimiter_that_lost_a_sign(self, separator):
        text = f'("relationship"<|>"The Moon"<|>"tides"<|>"The Moon causes the tides."{separator}9)<|COMPLETE|>'
        assert rows(triples(text)) == [("The Moon", "causes", "tides", UNSTATED, (0,))]

    def test_a_record_that_stops_in_the_middle_is_discarded(self):
        text = '("relationship"<|>"Wind"<|>"waves"<|>"Wind makes waves."<|>8)##\n("relationship"<|>"The Moon"<|>"ti'
        reply = triples(text)
        assert rows(reply) == [("Wind", "makes", "waves", UNSTATED, (1,))]
        assert len(reply.discarded) == 1

    def test_entities_alone_are_no_triples(self):
        with pytest.raises(Unreadable):
            read('("entity"<|>"The Moon"<|>"body"<|>"The Moon pulls the sea.")##\n' * 3, TriplesReply)


class TestConfidence:
    def test_one_that_is_stated_in_json_is_not_rescaled(self):
        with pytest.raises(Unreadable):
            triples('{"triples": [{"subject": "Wind", "predicate": "makes", "object": "waves", "confidence": 8}]}')


class TestEvidence:
    def test_all_that_hold_both_ends(self):
        texts = (*TEXTS, "Strong WIND also makes waves.", "The wind.", "Winter has no waves.")
        assert rows(triples("makes(The Wind, waves)", texts))[0][4] == (1, 4)

    def test_without_one_the_triple_is_discarded_with_its_reason(self):
        reply = triples("pulls(the Moon, the sea)\npulls(the Sun, the sea)")
        assert rows(reply) == [("the Moon", "pulls", "the sea", UNSTATED, (0,))]
        assert reply.discarded == ("triples[1]: it names no evidence, and none holds both its ends",)

    @pytest.mark.parametrize("text", ["pulls(the Sun, the sea)", "has(Mars, moons)", "country(Thing, Place)\nname(x, y)"])
    def test_when_none_is_left_the_reply_is_unreadable(self, text):
        with pytest.raises(Unreadable, match="evidence"):
            triples(text)

    def test_without_evidence_in_the_request_there_is_no_triple(self):
        with pytest.raises(Unreadable, match="evidence"):
            triples("pulls(the Moon, the sea)", ())

    def test_positions_that_are_named_count(self):
        text = (
            '{"triples": [{"head": "a", "relation": "b", "tail": "c", "evidence": [1, 9]}, ["the Moon", "pulls", "the sea"]]}'
        )
        assert [row[4] for row in rows(triples(text))] == [(1,), (0,)]
        with pytest.raises(Unreadable):
            triples('{"triples": [{"head": "the Moon", "relation": "pulls", "tail": "the sea", "evidence": []}]}')


class TestNothingIsGuessed:
    @pytest.mark.parametrize(
        "text",
        [
            "The Moon pulls the sea.",
            "The Moon (a body, cold and far) pulls the sea.",
            "The Moon pulls the sea (and, they say, the air).",
            "(the Moon and the sea)",
            "(the Moon, the sea)",
            "Moon (the sea, the tides)",
            "the Moon | the sea",
            "the Moon || the sea",
            "See Moon(1) and sea(2).",
            "the Moon: the sea",
            "No triples can be made of the Moon and the sea.",
            "makes(the Moon, the sea, the tides)",
            "makes(the Moon)",
            "makes()",
            "| Subject | Predicate | Object |\n|---|---|---|",
            "| Subject | Predicate | Object |\n| the Moon | the sea |",
            "x" * 3000 + "(the Moon, the sea)",
            '{"answer": "the Moon"}',
            '["the Moon", "the sea"]',
        ],
    )
    def test_prose_is_no_triple(self, text):
        with pytest.raises(Unreadable):
            triples(text)

    @pytest.mark.parametrize("filler", ["", "I have no way to help with a thing like this one. " * 30])
    def test_a_refusal_stays_one(self, filler):
        text = f"I'm sorry, but I cannot do that. {filler}It would look like this:\npulls(the Moon, the sea)"
        with pytest.raises(Unreadable if filler else Refused):
            triples(text)

    def test_thousands_are_one_number(self):
        assert rows(triples("area(the Moon, 1,686 km)", ("The Moon measures 1,686 km.",)))[0][2] == "1,686 km"


@pytest.mark.parametrize(
    "text",
    [
        '("relationship"<|>' * 20_000, '("entity"<|>"a"<|>' + "b" * 300_000, "a(" * 200_000, "(" * 100_000 + ",",
        '("relationship"<|>"a"<|>"b"<|>"a' + " " * 300_000 + 'b")', "|" * 300_000, "a | b | c\n" * 30_000,
        "a, b(" * 400 + "\n" * 9,
    ],
    ids=["records", "long record", "calls", "parentheses", "spaces", "bars", "rows", "line"],
)  # fmt: skip
def test_hostile_texts_take_no_time(text):
    began = time.process_time()
    with pytest.raises(Unreadable):
        triples(text)
    assert time.process_time() - began < 5


@given(st.text(alphabet="ab(),|\"' \n<>#1.", max_size=120), st.sampled_from(["", '("relationship"<|>a<|>b<|>', "a(b, "]))
def test_any_text_is_read_or_refused(text, start):
    try:
        reply = triples(start + text, ("a b", "b 1"))
    except Unreadable:
        return
    assert all(item.evidence and item.subject and item.object for item in reply.triples)
