"""Texts in chunks and passages: every span is its text, and nothing is lost between them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drag_graph.documents.passages import chunks, paragraphs

SMITH = "Dr. Smith, who had long wished to see him, met Prof. J. Jones on the coast of the U.S. in May of that year."
words = st.sampled_from(
    [
        "The Moon",
        "causes",
        "tides.",
        "It",
        "was",
        "1969.",
        "e.g.",
        "Dr.",
        "\n",
        "\n\n",
        "- item",
        "# Head",
        "「月」。",
        "Why?",
        "x" * 90,
        "\t",
        ".",
    ]
)
texts = st.one_of(st.lists(words, max_size=80).map(" ".join), st.text(max_size=300))


@settings(max_examples=300, deadline=None)
@given(texts, st.integers(min_value=100, max_value=400))
def test_every_span_is_its_text_and_all_that_is_no_blank_is_in_one(text, size):
    end = 0
    for chunk, passages in chunks(text, size):
        assert not text[end : chunk.start].strip(), "only blanks lie between two chunks"
        end = chunk.end
        assert 0 < chunk.end - chunk.start <= size
        assert chunk.of(text) == chunk.of(text).strip() == text[chunk.start : chunk.end]
        at = chunk.start
        for passage in passages:
            assert not text[at : passage.start].strip()
            assert passage.of(text) == passage.of(text).strip() != ""
            at = passage.end
        assert at == chunk.end
    assert not text[end:].strip()


def passages_of(text, size=1200):
    return [passage.of(text) for _, some in chunks(text, size) for passage in some]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            f"{SMITH} They wrote of tides, e.g. of those at St. Malo, and of the Moon.",
            [
                SMITH,
                "They wrote of tides, e.g. of those at St. Malo, and of the Moon.",
            ],
        ),
        (
            "A sentence that is hard-wrapped goes over\nthe end of its line and stays one passage.",
            ["A sentence that is hard-wrapped goes over\nthe end of its line and stays one passage."],
        ),
        ("# The Moon\nIt is a satellite, known for long.", ["# The Moon", "It is a satellite, known for long."]),
        ("Needed:\n- a lamp\n- two stones", ["Needed:", "- a lamp", "- two stones"]),
        ("Ann: Where is the lamp?\nBob: In the cellar.", ["Ann: Where is the lamp?", "Bob: In the cellar."]),
        ("Yes. It was so, and nobody doubts it in earnest.", ["Yes. It was so, and nobody doubts it in earnest."]),
        ("月亮引起潮汐。太阳也引起较弱的潮汐。", ["月亮引起潮汐。太阳也引起较弱的潮汐。"]),
    ],
)  # fmt: skip
def test_a_passage_is_a_sentence(text, wanted):
    assert passages_of(text) == wanted


def test_a_heading_without_a_mark_stands_by_itself():
    body = (
        "The gravity of the Moon pulls the water of the oceans, and so it raises them a little on the near side of the Earth."
    )
    assert next(span.of(f"Of tides\n{body}\n{body}") for span in paragraphs(f"Of tides\n{body}\n{body}")) == "Of tides"


def test_a_chunk_holds_whole_sentences_unless_one_is_longer():
    sentence = "The gravity of the Moon causes the tides of the oceans, and that of the Sun causes weaker ones in all of them."
    text = " ".join([sentence] * 20)
    assert {passage for _, some in chunks(text, 250) for passage in (span.of(text) for span in some)} == {sentence}
    assert [chunk.of(text) for chunk, _ in chunks(text, 250)] == [f"{sentence} {sentence}"] * 10
    long = "word " * 100
    assert all(chunk.end - chunk.start <= 100 for chunk, _ in chunks(long, 100))
    assert "".join(chunk.of(long) for chunk, _ in chunks(long, 100)).replace(" ", "") == "word" * 100
