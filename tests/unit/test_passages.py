"""Texts in chunks and passages: every span is its text, and nothing is lost between them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drag_graph.documents.blocks import Block, join_blocks, plain_blocks
from drag_graph.documents.passages import chunks

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
    text, blocks = join_blocks(plain_blocks(text))
    end = 0
    for piece in chunks(text, blocks, size):
        chunk, passages = piece.span, piece.passages
        assert not text[end : chunk.start].strip(), "only blanks lie between two chunks"
        end = chunk.end
        assert 0 < chunk.end - chunk.start <= size
        assert chunk.of(text) == chunk.of(text).strip() == text[chunk.start : chunk.end]
        at = chunk.start
        for passage in passages:
            assert at <= passage.start
            assert passage.of(text) == passage.of(text).strip() != ""
            at = passage.end
    assert not text[end:].strip()


def chunks_of(text, size=1200):
    text, blocks = join_blocks(plain_blocks(text))
    return text, chunks(text, blocks, size)


def passages_of(text, size=1200):
    text, pieces = chunks_of(text, size)
    return [passage.of(text) for piece in pieces for passage in piece.passages]


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
        ("Needed:\n- a lamp\n- two stones", ["Needed:", "- a lamp", "- two stones"]),
        ("Ann: Where is the lamp?\nBob: In the cellar.", ["Ann: Where is the lamp?", "Bob: In the cellar."]),
        ("Yes. It was so, and nobody doubts it in earnest.", ["Yes. It was so, and nobody doubts it in earnest."]),
        ("月亮引起潮汐。太阳也引起较弱的潮汐。", ["月亮引起潮汐。太阳也引起较弱的潮汐。"]),
    ],
)  # fmt: skip
def test_a_passage_is_a_sentence(text, wanted):
    assert passages_of(text) == wanted


BODY = "The gravity of the Moon pulls the water of the oceans, and so it raises them a little on the near side of the Earth."


def test_a_heading_is_context_and_no_passage():
    text, (first, second) = chunks_of(f"Of tides\n{BODY}\n{BODY}\n\nOf winds\n\n{BODY}")
    assert [first.heading, second.heading] == [("Of tides",), ("Of winds",)]
    assert [span.of(text) for span in first.passages] == [BODY, BODY]
    assert first.span.of(text).startswith("Of tides\n\n"), "it is in the chunk"


def test_short_lines_that_are_no_headings_stay_passages():
    letter = "Kind regards\nAnn Miller\n12 Station Road\nLeeds"
    assert passages_of(f"{BODY}\n\n{letter}") == [BODY, *letter.split("\n")] or letter in " ".join(passages_of(letter))
    assert not any(piece.heading for piece in chunks_of(f"{BODY}\n\n{letter}")[1])


def test_a_chunk_ends_where_the_page_or_the_headings_change():
    blocks = [
        Block("Head", "heading", page=1),
        Block("One.", heading=("Head",), page=1),
        Block("Two.", heading=("Head",), page=2),
    ]
    text, placed = join_blocks(blocks)
    assert [(piece.page, piece.heading, piece.span.of(text)) for piece in chunks(text, placed, 1200)] == [
        (1, ("Head",), "Head\n\nOne."),
        (2, ("Head",), "Two."),
    ]


def test_a_row_is_a_passage_of_its_own():
    text, placed = join_blocks([Block("a | b: 1", "row"), Block("c | b: 2", "row"), Block("And so on.")])
    (piece,) = chunks(text, placed, 1200)
    assert [span.of(text) for span in piece.passages] == ["a | b: 1", "c | b: 2", "And so on."]


def test_a_chunk_holds_whole_sentences_unless_one_is_longer():
    sentence = "The gravity of the Moon causes the tides of the oceans, and that of the Sun causes weaker ones in all of them."
    text = " ".join([sentence] * 20)
    assert set(passages_of(text, 250)) == {sentence}
    assert [piece.span.of(text) for piece in chunks_of(text, 250)[1]] == [f"{sentence} {sentence}"] * 10
    long, pieces = chunks_of("word " * 100, 100)
    assert all(piece.span.end - piece.span.start <= 100 for piece in pieces)
    assert "".join(piece.span.of(long) for piece in pieces).replace(" ", "") == "word" * 100


def test_a_row_is_not_cut_between_chunks_and_is_one_passage_unless_it_is_long():
    record = (
        "id: 3 | text: The Moon causes the tides of the sea and of the ocean. The tides move the sand of the coast every day."
    )
    long = f"id: 4 | text: {'The Moon causes the tides of the sea. ' * 18}".strip()
    text, blocks = join_blocks(
        [Block("The Sun helps. " * 5), *[Block(record, "row")] * 3, Block(long, "row"), Block(record, "row")]
    )
    found = [(piece.span.of(text), [part.of(text) for part in piece.passages]) for piece in chunks(text, blocks, 700)]
    assert sum(chunk.count(record) for chunk, _ in found) == 4
    assert any(chunk == long for chunk, _ in found), "a row that is longer than the rest of a chunk begins one"
    passages = [passage for _, parts in found for passage in parts]
    assert passages.count(record) == 4
    assert long not in passages
