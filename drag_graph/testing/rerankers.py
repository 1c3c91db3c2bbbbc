"""The contract suite of the `Reranker` port (needs pytest).

class TestMine(RerankerContract):
    @pytest.fixture
    def reranker(self):
        return MyReranker()
"""

import math

import pytest

from drag_graph.ports.model_roles import Reranker

QUESTION = "Which process turns liquid water into vapour?"
TEXTS = (
    "Erosion carries soil away.",
    "Evaporation is the process that turns liquid water into vapour.",
    "The process of erosion is slow.",
    "Ö",
)
TOLERANCE = 1e-3


class RerankerContract:
    """What every reranker must do. Subclasses define the fixture `reranker`."""

    def test_each_text_has_a_finite_score(self, reranker: Reranker) -> None:
        scores = reranker.scores(QUESTION, TEXTS)
        assert len(scores) == len(TEXTS)
        assert all(isinstance(score, float) and math.isfinite(score) for score in scores)

    def test_a_score_does_not_depend_on_the_other_texts(self, reranker: Reranker) -> None:
        together = reranker.scores(QUESTION, TEXTS)
        assert list(reversed(reranker.scores(QUESTION, TEXTS[::-1]))) == pytest.approx(together, abs=TOLERANCE)
        assert reranker.scores(QUESTION, TEXTS[1:2])[0] == pytest.approx(together[1], abs=TOLERANCE)

    def test_a_score_depends_on_the_text(self, reranker: Reranker) -> None:
        scores = reranker.scores(QUESTION, TEXTS)
        assert len(set(scores[:3])) > 1

    def test_no_texts_have_no_scores(self, reranker: Reranker) -> None:
        assert list(reranker.scores(QUESTION, ())) == []

    def test_a_long_text_has_a_score(self, reranker: Reranker) -> None:
        assert math.isfinite(reranker.scores(QUESTION, ["water " * 5_000])[0])

    def test_it_has_a_name(self, reranker: Reranker) -> None:
        assert reranker.name
