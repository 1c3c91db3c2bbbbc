"""Questions as callers give them: texts, queries, or a file."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from drag_graph.errors import ConfigurationError, InputError, QueryInvalid
from drag_graph.inputs import InputLine, make_query, read_queries
from drag_graph.model import Query
from drag_graph.settings import Settings

Questions = Path | Iterable[str | Query]
"""A JSONL or CSV file (`-` is standard input), or questions."""


def question_lines(questions: Questions, settings: Settings) -> Iterator[InputLine]:
    """Return questions as input lines. Raises InputError for a file without any, ConfigurationError for an unusable text."""
    if isinstance(questions, str):
        raise ConfigurationError("A single text was passed as a list of questions.", hint="Pass [text], or a pathlib.Path.")
    if not isinstance(questions, Path):
        return (InputLine(number, _query_of(one, settings)) for number, one in enumerate(list(questions), start=1))
    lines = read_queries(questions, namespace=settings.namespace, domain=settings.domain)
    first = next(lines, None)
    if first is None:
        raise InputError(f"{questions} contains no question.", hint='Each line needs a JSON object with the key "question".')
    return chain([first], lines)


def one_question(text: str, options: Sequence[str], settings: Settings) -> Query:
    """Return the query of a text and its options. Raises ConfigurationError if they are unusable."""
    try:
        return make_query(text, list(options) or None, domain=settings.domain, namespace=settings.namespace)
    except QueryInvalid as error:
        raise ConfigurationError(f"Unusable question: {error}", hint="Fix the question or its options.") from error


def _query_of(question: str | Query, settings: Settings) -> Query:
    return question if isinstance(question, Query) else one_question(question, (), settings)
