"""Evidence that was written as a list instead of JSON. The texts are made up."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.ports.replies import EvidenceReply, ScoresReply, TriplesReply
from drag_graph.teachers.replies.replies import Refused, Unreadable, read

FACTS = ["The Moon pulls the sea.", "Wind makes waves on open water.", "Tides rise twice a day at most coasts."]
NUMBERED = "\n".join(f"{place}. {fact}" for place, fact in enumerate(FACTS, 1))


def statements(text):
    return [item.text for item in read(text, EvidenceReply).evidence]


@pytest.mark.parametrize(
    "text",
    [
        NUMBERED,
        NUMBERED.replace(". T", ") T").replace(". W", ") W"),
        "\n\n".join(f"- {fact}" for fact in FACTS),
        "\n".join(f"* {fact}" for fact in FACTS),
        "\n".join(f"\u2022 {fact}" for fact in FACTS),
        "\n".join(f"({place}) {fact}" for place, fact in enumerate(FACTS)),
        "\n".join(f"[{place}] {fact}" for place, fact in enumerate(FACTS)),
        "\n".join(f"**{place}.** {fact}" for place, fact in enumerate(FACTS)),
        "\n".join(f"Evidence {place}: {fact}" for place, fact in enumerate(FACTS)),
        "\n".join(f"### {place}. {fact}" for place, fact in enumerate(FACTS)),
        f"Sure! Here is some evidence:\n\n{NUMBERED}\n\nLet me know if you need more.",
        f"<think>\n1. What do they want to know?\n2. Something.\n</think>\n{NUMBERED}",
        f"```\n{NUMBERED}\n```".replace("```\n1", "```\n\n1").replace("\n```", "\n\n```"),
        NUMBERED.replace("open water", "open\n   water"),
    ],
)  # fmt: skip
def test_the_same_statements_are_read_out_of_any_list(text):
    assert statements(text) == FACTS


def test_framings_by_label_and_by_heading():
    text = (
        "### Causal\n1. The Moon pulls the sea.\n2. Exemplar: The Bay of Fundy has the highest tides.\n\n"
        "**Definitional evidence:**\n- A tide is a slow rise of the sea.\n- (contrastive) Waves come from wind, tides do not."
    )
    reply = read(text, EvidenceReply)
    assert [item.framing for item in reply.evidence] == ["causal", "exemplar", "definitional", "contrastive"]
    assert reply.evidence[3].text == "Waves come from wind, tides do not."


def test_a_label_with_its_statement_below():
    text = "1. **Causal**\n   - The Moon pulls the sea.\n2. **Procedural**\n   - First the water rises, then it falls."
    assert [item.framing for item in read(text, EvidenceReply).evidence] == ["causal", "procedural"]


def test_an_entry_that_is_no_statement_is_discarded_with_its_reason():
    reply = read(f"{NUMBERED}\n4. Do you want more?\n5. Foam", EvidenceReply)
    assert len(reply.evidence) == 3
    assert reply.discarded == ("evidence[3]: it is no statement", "evidence[4]: it is too short for a statement")


@pytest.mark.parametrize(
    "text",
    [
        "The Moon pulls the sea.",
        "1. The Moon pulls the sea.",
        "The Moon pulls the sea. 1. It is far. 2. It is cold.",
        "1. Moon\n2. Sea\n3. Wind",
        "To help I need:\n1. The question that you want answered.\n2. Please give the options as well.",
        "1. What is a tide made of?\n2. Who pulls the sea so much?",
        "1. The first step is:\n2. The second step is:",
        '- "text": "The Moon pulls the sea.",\n- "text": "Wind makes waves on water."',
        "1. Smith, A., et al. The tides of the northern sea. 2001.\n2. See https://example.org/tides for all of the rest.",
        f"{NUMBERED}\n4. a\n5. b\n6. c\n7. d",
        '{"evidence": "unclear"}\n' + NUMBERED,
    ],
)
def test_other_lists_are_no_evidence(text):
    with pytest.raises(Unreadable):
        statements(text)


@pytest.mark.parametrize("filler", ["", "It would not be right to do so. " * 30])
def test_a_refusal_stays_one(filler):
    with pytest.raises(Unreadable if filler else Refused):
        statements(f"I'm sorry, but I can't help with that. {filler}\n{NUMBERED}")


@pytest.mark.parametrize("schema", [TriplesReply, ScoresReply])
def test_a_list_is_read_only_where_evidence_was_asked_for(schema):
    with pytest.raises(Unreadable):
        read(NUMBERED, schema)


@pytest.mark.parametrize("text", ["1. a\n" + "b\n" * 300_000, "- " * 300_000, " " * 500_000 + "-", "#" * 500_000])
def test_hostile_texts_take_no_time(text):
    began = time.process_time()
    with pytest.raises(Unreadable):
        statements(text)
    assert time.process_time() - began < 5


@given(st.text(alphabet="-*1. \n#:aT?", max_size=120))
def test_any_text_is_read_or_refused(text):
    try:
        found = statements(text)
    except Unreadable:
        return
    assert all(statement.strip() for statement in found)
