import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.errors import ConfigurationError
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.model_choice import is_here, is_served, make_checker, make_student
from drag_graph.models.students.nearest_student import PASSAGE_TOKENS, NearestStudent, support
from drag_graph.models.students.option_scoring import softmax
from drag_graph.settings import Settings
from drag_graph.testing.students import StudentContract, make_prompt


class CountingEmbedder(LexicalEmbedder):
    """Remembers what it was asked to embed, call by call."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def embed(self, texts):
        self.asked.append(list(texts))
        return super().embed(texts)


class TestNearest(StudentContract):
    @pytest.fixture
    def student(self):
        return NearestStudent(LexicalEmbedder())


@pytest.fixture
def embedder():
    return CountingEmbedder()


@pytest.fixture
def student(embedder):
    return NearestStudent(embedder)


def ask(student, question, options, *texts):
    lines = tuple(("edge" if text.startswith("[") else "evidence", text) for text in texts)
    return student.answer(make_prompt(student, question=question, options=tuple(options), lines=lines))


def test_the_context_decides(student):
    question, options = "What do bees make?", ("milk", "honey", "silk")
    for option in options:
        assert ask(student, question, options, f"Bees make {option}.", "Cows and spiders are animals.").text == option


def test_without_lines_the_option_nearest_to_the_question_is_chosen(student):
    assert ask(student, "What is the honey of bees?", ["milk", "the honey of a bee", "silk"]).label == "B"


def test_arrows_are_read_as_words(student, embedder):
    ask(
        student,
        "What do bees make?",
        ["milk", "honey"],
        "[bees] --make--> [honey]",
        "[bees] --live_in--> [hives] (All bees live)",
    )
    texts = {text for call in embedder.asked for text in call}
    assert {"bees make honey", "All bees live"} <= texts
    assert not any("-->" in text for text in texts)


def test_the_form_of_an_edge_does_not_change_the_answer(student):
    question, options = "What do bees make?", ["milk", "honey"]
    assert ask(student, question, options, "[bees] --make--> [honey]") == ask(student, question, options, "bees make honey")


def test_everything_is_embedded_in_one_call(student, embedder):
    ask(student, "What do bees make?", ["milk", "honey"], "Bees make honey.", "Cows give milk.")
    assert len(embedder.asked) == 1


def test_many_lines_become_passages_that_an_embedder_reads_whole(student, embedder):
    lines = [f"Line {n} tells {'this and that ' * 10}" for n in range(30)]
    ask(student, "What?", ["a", "b"], *lines)
    passages = [text for text in embedder.asked[0] if text.count("tells") > 1]
    assert len(passages) > 1
    assert all(embedder.count_tokens(text) <= PASSAGE_TOKENS for text in passages)
    assert " ".join(passages) == " ".join(" ".join(line.split()) for line in lines)


def test_equal_options_tie_and_the_first_wins(student):
    reply = ask(student, "What do bees make?", ["wax", "honey", "honey"], "Bees make honey.")
    assert reply.label == "B"
    assert reply.probabilities[1] == reply.probabilities[2]


def test_an_open_question_gets_the_nearest_line(student):
    reply = ask(student, "What do bees make?", [], "Cows give milk.", "[bees] --make--> [honey]", "Rain is wet.")
    assert reply.text == "bees make honey"
    assert 0 < reply.confidence <= 1


def test_an_open_question_without_lines_gets_no_answer(student):
    reply = ask(student, "What do bees make?", [])
    assert (reply.text, reply.label, reply.confidence) == ("", None, 0.0)


MATRICES = st.integers(2, 6).flatmap(
    lambda options: st.lists(st.lists(st.floats(-2, 2), min_size=options, max_size=options), min_size=3, max_size=6)
)


@given(rows=MATRICES, shift=st.floats(-1, 1))
def test_a_line_that_is_as_near_to_all_options_decides_nothing(rows, shift):
    values = np.array(rows)
    question, lines, passages = values[:1], values[1:], values[2:3]
    flat = np.vstack([lines, np.full((1, values.shape[1]), shift)])
    one = support(question, lines, passages)
    # An even line has margin 0 for every option; it cannot lift one above another that has a positive margin.
    two = support(question, flat, passages)
    lifted = two - one
    assert np.all(lifted >= -1e-12)
    assert np.all(lifted[(lines - lines.mean(axis=1, keepdims=True)).max(axis=0) >= 0] < 1e-12)


def test_the_score_is_what_the_docstring_says():
    question = np.array([[0.2, 0.4]])
    lines = np.array([[0.9, 0.1], [0.5, 0.7]])
    passages = np.array([[0.6, 0.6], [0.8, 0.4]])
    assert support(question, lines, passages) == pytest.approx([0.4 + 0.7 - 0.2, 0.1 + 0.5 - 0.4])


@given(scores=st.lists(st.floats(-3, 3), min_size=1, max_size=26), temperature=st.floats(0.01, 2))
def test_the_confidences_are_probabilities_in_the_order_of_the_scores(scores, temperature):
    values = np.array(scores)
    probabilities = softmax(values, temperature)
    assert probabilities.sum() == pytest.approx(1)
    assert (probabilities >= 0).all()
    assert probabilities[int(values.argmax())] == probabilities.max()


def test_settings_name_a_student():
    embedder = LexicalEmbedder()
    assert make_student(Settings(student="nearest"), embedder).name == "nearest"
    assert make_student(Settings(student="openai/some-model", student_base_url="http://localhost/v1"), embedder).name == (
        "openai/some-model"
    )
    assert make_student(Settings(student="transformers:some/model"), embedder).name == "transformers:some/model"
    with pytest.raises(ConfigurationError, match="is not a model of this process"):
        make_student(Settings(student="transformers:"), embedder)


def test_a_folder_with_a_model_is_a_student(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("model", "openai/gpt-4o-mini"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "model" / "config.json").write_text("{}")
    for place in (str(tmp_path / "model"), "~/model"):
        chosen = Settings(student=place, checker=place)
        assert make_student(chosen, LexicalEmbedder()).name == f"transformers:{place}"
        assert make_checker(chosen).scoring == "letter"
        assert is_here(chosen.model_for("student"))
    for spec in (
        Settings(student="openai/gpt-4o-mini"),  # this folder has no model
        Settings(student=str(tmp_path / "model"), student_base_url="http://127.0.0.1:1/v1"),  # a server may name it so
        Settings(student="x" * 5000),  # no name of a file
    ):
        assert is_served(spec.model_for("student"))
