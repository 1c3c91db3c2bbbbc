"""The roles of models: embedder, reranker, teacher and student, with their requests and replies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from drag_graph.identity import sha256_of
from drag_graph.model import Line, Query, Source, Stage, TeacherCall
from drag_graph.ports.setting_types import ANSWER_TOKENS
from drag_graph.ports.teacher_replies import Reply
from drag_graph.ports.vectors import Vectors


class Embedder(Protocol):
    """Texts to unit vectors."""

    @property
    def name(self) -> str:
        """The identity that the store records: two embedders of one name give the same vectors."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array of shape (len(texts), dimension), rows of length 1 (all zero for an empty text)."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of questions, to compare with those that `embed` returns. Most models give the same as `embed`."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text` under this embedder's tokenizer."""


class Reranker(Protocol):
    """Judges how well texts answer a question."""

    @property
    def name(self) -> str:
        """The name of the model."""

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one finite score per text, on any scale; higher is better. Thread-safe.

        Raises ModelError when the model cannot be used, ReplyError when this reply is unusable, and Withheld.
        """


@dataclass(frozen=True, slots=True)
class TeacherRequest:
    """One thing asked of a teacher about a query, or of an extractor about a document.

    `schema` is the class of the reply (docs/reference/json.md; it knows its name on the wire), `simpler` holds the
    messages of the second re-ask. `count` is how many items the reply should have, or 0 where that is open.
    """

    source: Source
    stage: Stage
    schema: type[Reply]
    messages: tuple[Mapping[str, str], ...]
    prompt_version: str
    simpler: tuple[Mapping[str, str], ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    count: int = 0
    texts: tuple[str, ...] = ()
    """The evidence texts that the indices of the reply refer to (for teachers that are no models)."""
    sources: tuple[str, ...] = ()
    """Ids of sources whose text is in the request, in addition to the query. Erasing one erases the recorded reply."""
    edition: str = ""
    """Tells a request from the same one asked for an earlier edition of the subgraph. It is never sent."""

    @property
    def query(self) -> Query:
        """The query, where the source is one. Raises TypeError for a document."""
        if not isinstance(self.source, Query):
            raise TypeError(f"{self.source.id} is a document, not a query")
        return self.source


@dataclass(frozen=True, slots=True)
class TeacherReply:
    """A validated reply with the record of its call.

    `call` is the one whose reply was used; `earlier` are those before it, in order, where a model had to be asked again.
    `cached` is true when it came from the tape (and so cost nothing). `requests` is how many of the calls, the last ones, are
    paid for now: 0 for a reply from the tape.
    """

    payload: Reply
    call: TeacherCall
    cached: bool = False
    requests: int = 1
    earlier: tuple[TeacherCall, ...] = ()

    @property
    def calls(self) -> tuple[TeacherCall, ...]:
        """All calls of the exchange, in order."""
        return (*self.earlier, self.call)


class Teacher(Protocol):
    """The large model, a recorded tape of one, or a file that people wrote."""

    @property
    def name(self) -> str:
        """The `model` of its calls."""

    @property
    def fingerprint(self) -> str:
        """Its part of the settings hash: the name, and for a file the hash of its content."""
        return self.name

    @property
    def is_model(self) -> bool:
        """Whether it is a model, live or recorded, that gives as many items as it is asked for; not what people wrote."""
        return True

    def ask(self, request: TeacherRequest) -> TeacherReply:
        """Return a validated reply. Thread-safe.

        Raises ModelError when the model cannot be used at all, ReplyError when this one reply is unusable, and
        BudgetReached before a call that could pass the budget.
        """

    def close(self) -> None:
        """Release files and connections, if it has any."""
        return


SYSTEM_HEADER = "[SYSTEM]\n"
SECTION_GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a prompt is laid out: our `sections` or `plain` facts, with or without the options, the best line first or last.

    `brief` asks for a few words in answer to an open question, and `instruction` replaces our instruction for one. `quoted`
    puts the lines between marks (`fence`) and says so: for lines of documents, which may give orders.
    """

    style: Literal["sections", "plain"] = "sections"
    lists_options: bool = True
    best_last: bool = False
    brief: bool = False
    quoted: bool = False
    instruction: str = ""


def fence(text: str) -> str:
    """Return a text between two marks that it cannot have: they are made of its hash, so nobody can write them into it."""
    mark = f"passages-{sha256_of(text)[:16]}"
    return f"<{mark}>\n{text}\n</{mark}>"


PLAIN = Layout(style="plain", lists_options=False)
"""Layout for students that compare the likelihoods of the options' texts."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt for a student: the whole `text`, and its parts for students that do not read prose.

    `answer_tokens` is the maximum number of tokens in the answer to an open question.
    """

    question: str
    options: tuple[str, ...]
    lines: tuple[Line, ...]
    text: str
    tokens: int
    answer_tokens: int = ANSWER_TOKENS

    def messages(self) -> tuple[dict[str, str], ...]:
        """Return the prompt for a chat model: its SYSTEM section as the system message, all others as the user's."""
        if not self.text.startswith(SYSTEM_HEADER):
            return ({"role": "user", "content": self.text},)
        system, _, rest = self.text.partition(SECTION_GAP)
        return ({"role": "system", "content": system.removeprefix(SYSTEM_HEADER)}, {"role": "user", "content": rest})


@dataclass(frozen=True, slots=True)
class StudentReply:
    """The reply of a student. `probabilities` has one entry per option, summing to 1, or is empty without options.

    For an open question: `abstained` if the lines do not answer it, `quoted` if the text is a sentence of a line, `refused` if
    the student declined even after the request was rephrased, `truncated` if the text was cut off.
    """

    text: str
    label: str | None
    confidence: float
    probabilities: tuple[float, ...] = ()
    abstained: bool = False
    quoted: bool = False
    refused: bool = False
    truncated: bool = False


OnToken = Callable[[str], None]
"""Called with each further part of an answer while a student writes it."""


class Student(Protocol):
    """The small local model."""

    @property
    def name(self) -> str:
        """The `student` of its answers."""

    def layout(self, *, is_open: bool) -> Layout:
        """Return how the prompt of a question with options is laid out, or of one without (`is_open`)."""

    @property
    def context_window(self) -> int:
        """The most tokens that a prompt may have."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text` under the student's own tokenizer."""

    def answer(self, prompt: Prompt, on_token: OnToken | None = None) -> StudentReply:
        """Answer one prompt. Raises ModelError when the model cannot be used, ReplyError when this reply is unusable."""
