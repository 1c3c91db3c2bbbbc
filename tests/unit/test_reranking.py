"""The order of candidates after reranking, and which of them a remote reranker may see."""

import pytest

from drag_graph.ask.reranking import reranked


class ByLength:
    """Prefers long texts."""

    name = "by length"

    def __init__(self):
        self.calls = []

    def scores(self, question, texts):
        self.calls.append((question, list(texts)))
        return [float(len(text)) for text in texts]


TEXTS = ["a", "bbb", "cc", "ddd", "eeeee"]


@pytest.mark.parametrize(
    ("first", "withheld", "order"),
    [
        (32, (), "EBDCA"),
        (4, (), "BDCAE"),
        (32, {0}, "AEBDC"),
        (32, {1, 4}, "DBCAE"),
        (1, (), "ABCDE"),
        (0, (), "ABCDE"),
        (2, {0}, "ABCDE"),
    ],
)
def test_only_the_first_that_may_be_sent_are_reordered(first, withheld, order):
    reranker = ByLength()
    assert "".join(reranked("q", "ABCDE", TEXTS, reranker, first=first, withheld=withheld)) == order
    assert len(reranker.calls) == (order != "ABCDE"), "one call, or none if there is nothing to reorder"
    sent = [text for _, texts in reranker.calls for text in texts]
    assert not {TEXTS[place] for place in withheld} & set(sent)
    assert len(sent) <= first


def test_a_reranker_that_forgets_a_text_is_an_error():
    class Forgetful(ByLength):
        def scores(self, question, texts):
            return [1.0]

    with pytest.raises(ValueError, match="shorter"):
        reranked("q", "ABCDE", TEXTS, Forgetful())


def test_nothing_is_reordered_without_candidates():
    assert reranked("q", [], [], ByLength()) == []
