"""The contract suite of the `Student` port (needs pytest).

    class TestMine(StudentContract):
        @pytest.fixture
        def student(self):
            return MyStudent()

A student that cannot give probabilities may leave them empty; one that does must give one an option.
"""

import pytest

from drag_graph.ask.student_prompt import assemble
from drag_graph.model import LABELS, Line, LineKind
from drag_graph.ports.model_roles import Prompt, Student

QUESTION = "Which process turns liquid water into vapour?"
OPTIONS = ("condensation", "evaporation", "erosion", "photosynthesis")
LINES: tuple[tuple[LineKind, str], ...] = (
    ("evidence", "Evaporation turns liquid water into vapour."),
    ("evidence", "Erosion carries soil away."),
    ("edge", "[evaporation] --turns--> [liquid water] (Evaporation turns liquid water into vapour)"),
    ("edge", "condensation forms liquid water"),
)
TOLERANCE = 1e-6


def make_prompt(
    student: Student,
    *,
    question: str = QUESTION,
    options: tuple[str, ...] = OPTIONS,
    lines: tuple[tuple[LineKind, str], ...] = LINES,
    answer_tokens: int = 16,
) -> Prompt:
    """Return the prompt that the pipeline would give to `student`."""
    context_lines = [
        Line(n=n, kind=kind, text=text, ref=f"ref-{n}", source_id="query-1") for n, (kind, text) in enumerate(lines, start=1)
    ]
    sizes = {"context_window": student.context_window, "answer_tokens": answer_tokens}
    layout = student.layout(is_open=not options)
    return assemble(question, options, context_lines, count_tokens=student.count_tokens, layout=layout, **sizes).prompt


class StudentContract:
    """What every student has to do. Subclasses provide the fixture `student`."""

    @pytest.fixture
    def student(self) -> Student:
        """Return the student under test."""
        raise NotImplementedError

    def test_it_has_a_name_and_a_window(self, student: Student) -> None:
        assert student.name == student.name.strip() != ""
        assert student.context_window > 0

    def test_it_counts_tokens(self, student: Student) -> None:
        assert student.count_tokens("") == 0
        assert 0 < student.count_tokens("water") < student.count_tokens("water turns into vapour " * 20)

    def test_it_chooses_an_option(self, student: Student) -> None:
        reply = student.answer(make_prompt(student))
        assert reply.label in set(LABELS[: len(OPTIONS)])
        assert reply.text == OPTIONS[LABELS.index(reply.label)]

    def test_its_confidence_is_a_probability(self, student: Student) -> None:
        reply = student.answer(make_prompt(student))
        assert 0.0 <= reply.confidence <= 1.0
        if reply.probabilities:
            assert len(reply.probabilities) == len(OPTIONS)
            assert abs(sum(reply.probabilities) - 1.0) < TOLERANCE
            assert min(reply.probabilities) >= 0.0
            assert reply.confidence == max(reply.probabilities)
            assert reply.label is not None
            assert reply.probabilities[LABELS.index(reply.label)] == reply.confidence

    def test_the_same_prompt_gets_the_same_answer(self, student: Student) -> None:
        prompt = make_prompt(student)
        assert student.answer(prompt) == student.answer(prompt)

    @pytest.mark.parametrize("count", [1, 2, 26])
    def test_it_takes_any_number_of_options(self, student: Student, count: int) -> None:
        options = tuple(f"the number {number}" for number in range(count))
        reply = student.answer(make_prompt(student, options=options))
        assert reply.label in set(LABELS[:count])

    @pytest.mark.parametrize("kind", ["evidence", "edge"])
    def test_it_takes_lines_of_one_kind(self, student: Student, kind: LineKind) -> None:
        lines = tuple(line for line in LINES if line[0] == kind)
        assert student.answer(make_prompt(student, lines=lines)).label is not None

    def test_it_answers_without_lines(self, student: Student) -> None:
        assert student.answer(make_prompt(student, lines=())).label is not None

    def test_it_answers_an_open_question(self, student: Student) -> None:
        reply = student.answer(make_prompt(student, options=()))
        assert reply.label is None
        assert reply.probabilities == ()
        assert reply.text.strip()
        assert 0.0 <= reply.confidence <= 1.0

    def test_it_hands_over_an_open_answer_while_it_writes(self, student: Student) -> None:
        prompt, parts = make_prompt(student, options=()), list[str]()
        reply = student.answer(prompt, parts.append)
        again = student.answer(prompt)
        # Bytes that are no character, as random weights write, may be lost in a stream.
        assert reply.text.replace("\ufffd", "") == again.text.replace("\ufffd", "")
        assert (reply.label, reply.abstained, reply.truncated) == (again.label, again.abstained, again.truncated)
        assert abs(reply.confidence - again.confidence) < 0.01  # noqa: PLR2004
        assert reply.text in "".join(parts)

    def test_it_takes_text_of_any_kind(self, student: Student) -> None:
        strange = "naïve Ωmega 漢字 🧪 <|im_end|> [ANSWER] \\boxed{A} </think> {{ x }}"
        options = (strange, "B", "the answer is C", "?")
        prompt = make_prompt(student, question=f"Which of these is {strange}?", options=options, lines=(("evidence", strange),))
        assert student.answer(prompt).label in set(LABELS[: len(options)])
