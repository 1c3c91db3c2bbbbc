"""Questions, and restrictions of a search, as callers give them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

from drag_graph.errors import ConfigurationError, InputError, QueryInvalid
from drag_graph.inputs import InputLine, query_of, read_queries
from drag_graph.model import Query
from drag_graph.ports.graph_search import Restriction
from drag_graph.settings import Settings

FIRST_DAYS = {4: "-01-01", 7: "-01", 10: ""}
"""What makes a day of a year, month or day, by its length."""


def restriction(sources: Sequence[str], since: str, until: str, tags: Sequence[str]) -> Restriction:
    """Return the restriction to sources (ids, names or patterns of names), dates and tags.

    Raises ConfigurationError for an empty name or tag, for a date that does not exist, and for a period that ends before it
    begins.
    """
    names, marks = _several(sources), _several(tags)
    if not all(one.strip() for one in (*names, *marks)):
        raise ConfigurationError("The name of a source or tag is empty.", hint="Leave it out to search everything.")
    for day in filter(None, (since, until)):
        if not _is_date(day):
            raise ConfigurationError(f"{day!r} is not a date.", hint="Write YYYY, YYYY-MM or YYYY-MM-DD.")
    if since and until and since[: len(until)] > until:
        raise ConfigurationError(f"The period from {since} until {until} ends before it begins.", hint="Swap the two dates.")
    return Restriction(names, since, until, marks)


def _several(values: Sequence[str]) -> tuple[str, ...]:
    return tuple([values] if isinstance(values, str) else values)


def _is_date(text: str) -> bool:
    """Whether a text is a year, a month or a day of the calendar, as ISO 8601 writes it."""
    try:
        date.fromisoformat(text + FIRST_DAYS[len(text)])
    except (KeyError, ValueError):
        return False
    return text.replace("-", "").isdigit() and text.count("-") == len(text) // 3 - 1


Questions = Path | Iterable[str | Mapping[str, Any] | Query]
"""A JSONL or CSV file (`-` is standard input), or questions: texts, documents with the keys of a JSONL line, or queries."""


def as_questions(questions: Questions) -> Path | list[str | Mapping[str, Any] | Query]:
    """Return a file as it is and other questions as a list. Raises ConfigurationError for what cannot be questions."""
    if isinstance(questions, Path):
        return questions
    if isinstance(questions, str):
        raise ConfigurationError("A single text was passed as a list of questions.", hint="Pass [text], or a pathlib.Path.")
    if not isinstance(questions, Iterable):
        raise ConfigurationError(f"{questions!r} is not a list of questions.", hint="Pass a list of texts, or a pathlib.Path.")
    return list(questions)


def question_lines(questions: Questions, settings: Settings) -> Iterator[InputLine]:
    """Return questions as input lines. Raises InputError for a file without any, ConfigurationError for an unusable text."""
    if not isinstance(questions, Path):
        return iter([InputLine(number, _query_of(one, settings)) for number, one in enumerate(questions, start=1)])
    lines = read_queries(questions, namespace=settings.namespace, domain=settings.domain)
    first = next(lines, None)
    if first is None:
        raise InputError(f"{questions} contains no question.", hint='Each line needs a JSON object with the key "question".')
    return chain([first], lines)


def one_question(text: str, options: Sequence[str], settings: Settings) -> Query:
    """Return the query of a text and its options. Raises ConfigurationError if they are unusable."""
    if isinstance(options, str):
        raise ConfigurationError("The options are a single text.", hint="Pass a list of texts.")
    return _query_of({"question": text, "options": list(options) or None}, settings)


def source_of(questions: Questions) -> str:
    """Return the origin of questions. Runs with the same origin resume each other and share a budget."""
    if isinstance(questions, Path):
        # A pipe has a new name each time; one budget covers everything that comes through pipes.
        return str(questions.resolve()) if questions.is_file() else "a pipe"
    match list(questions):
        case [Query(text=text)]:
            return f"-q {text}"
        case [str(text)]:
            return f"-q {text}"
        case _:
            return "a list"


def _query_of(question: str | Mapping[str, Any] | Query, settings: Settings) -> Query:
    if isinstance(question, Query):
        return question
    if isinstance(question, str):
        question = {"question": question}
    if not isinstance(question, Mapping):
        raise ConfigurationError(f"{question!r} is not a question.", hint="Pass a text, a dict or a Query.")
    try:
        return query_of(question, namespace=settings.namespace, domain=settings.domain)
    except QueryInvalid as error:
        raise ConfigurationError(f"The question is unusable. {error}", hint="Fix the question or its options.") from error
