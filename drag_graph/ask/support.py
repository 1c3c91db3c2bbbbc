"""Check an answer against the context lines: its citations, and the support of each sentence (docs/measurements/answers.md).

A sentence is supported if one passage of the lines is close to it, by words and by vectors, and if the lines have every number,
date and name in it. The check compares texts; it does not reason. Pure functions over an embedder.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from drag_graph.graph.grounding import Grounds
from drag_graph.graph.name_forms import fold, tokens
from drag_graph.graph.specifics import NO_NAMES, Specifics
from drag_graph.graph.word_lists import word_list
from drag_graph.model import Line
from drag_graph.ports.model_roles import Embedder

SUPPORTED = 0.63
"""Minimum score of a supported sentence, fitted by `bench/support.py`."""
PASSAGE = 3
"""Number of sentences in a passage."""
_CITATION = re.compile(r"\s*\[(?:lines? )?(\d{1,3}(?:\s*(?:,|;|and|[-\u2013])\s*\d{1,3})*)\]", re.IGNORECASE)
_RANGE = re.compile(r"(\d+)(?:\s*[-\u2013]\s*(\d+))?")
_MENTION = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*\u2022])(?:\s+|$)|\blines? \d{1,3}(?:(?:,|,? and|-) ?\d{1,3})*", re.IGNORECASE)
"""The mark of a list, or a line that is named in the sentence: not what the sentence says."""
_END = re.compile(
    r"(?:(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\b(?:Mr|Ms|Dr|St|No|vs)\.)(?<!\b(?:Mrs|e\.g|i\.e)\.)(?<!^\d\.)(?<!^\d\d\.)"
    rf"(?:{_CITATION.pattern})*\s+(?!\[)|(?<=[。！？])(?:{_CITATION.pattern})*|\n+)",  # noqa: RUF001 - Chinese marks
    re.MULTILINE,
)
_EMPTY = word_list("fillers") | word_list("foreign") | word_list("pronouns")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer. `cited` are the numbers of the lines that it cites.

    `score` (0 to 1) is the support by the best passage, which is in the line number `line`. `absent` are the numbers, dates,
    times and names that the lines lack. `is_supported` is None for a sentence without content, such as "Yes.".
    """

    text: str
    is_supported: bool | None
    score: float
    line: int
    cited: tuple[int, ...] = ()
    absent: tuple[str, ...] = ()


def without_wrong_citations(text: str, count: int) -> tuple[str, tuple[int, ...]]:
    """Return an answer without citations of lines that do not exist (1 to `count` do), and their numbers."""
    wrong = list[int]()

    def replacement(match: re.Match[str]) -> str:
        numbers = _numbers(match[1])
        unknown = [number for number in numbers if not 1 <= number <= count]
        wrong.extend(unknown)
        if not unknown:
            return match.group()
        left = ", ".join(str(number) for number in numbers if number not in unknown)
        return f" [{left}]" if left else ""

    return _CITATION.sub(replacement, text).strip(), tuple(dict.fromkeys(wrong))


def without_citations(text: str) -> str:
    """Return an answer without its citations."""
    return _CITATION.sub("", text).strip()


def check(answer: str, lines: Sequence[Line], embedder: Embedder) -> tuple[Sentence, ...]:
    """Return the sentences of an answer with their support by the lines, of which there is at least one."""
    passages = [(line.n, passage) for line in lines for passage in _passages(line)]
    grounds = [Grounds(text) for _, text in passages]
    sentences = sentences_of(answer)
    plain = [_MENTION.sub("", without_citations(text)).strip() for text in sentences]
    vectors = embedder.embed([*plain, *(text for _, text in passages)])
    cosines = vectors[: len(plain)] @ vectors[len(plain) :].T
    texts = [line.text for line in lines]
    checked = []
    for text, bare, row in zip(sentences, plain, cosines, strict=True):
        content = " ".join(word for word in tokens(bare) if fold(word) not in _EMPTY) or bare
        shares = np.array([ground.share(content) for ground in grounds])
        scores = (shares + row.clip(0.0)) / 2
        best = int(scores.argmax())
        specifics = Specifics(bare)
        absent = tuple(specifics.absent_from(texts))
        cited = tuple(number for match in _CITATION.findall(text) for number in _numbers(match))
        # Rows of a table differ in their values only, so the values of the sentence must be together.
        places = [[passages[best][1]], [texts[number - 1] for number in cited if number <= len(texts)]]
        scattered = all(set(specifics.absent_from(place, partly=True)) - specifics.dates.keys() for place in places)
        is_close = scores[best] >= SUPPORTED and not absent and not scattered
        supported = None if has_no_content(bare) else bool(is_close)
        checked.append(Sentence(text, supported, round(float(scores[best]), 3), passages[best][0], cited, absent))
    return tuple(checked)


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, with their citations. Line ends separate sentences, too."""
    ends = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    parts = [text[start:end].strip() for start, end in pairwise(ends)]
    return [part for part in parts if any(map(str.isalnum, _MENTION.sub("", _CITATION.sub("", part))))]


def has_no_content(sentence: str) -> bool:
    """Whether a sentence says nothing that lines could support: "Yes.", "Here is the answer:"."""
    return all(fold(word) in NO_NAMES for word in tokens(sentence)) or sentence.endswith(":")


def _numbers(citation: str) -> list[int]:
    """Return the numbers in a citation, "1, 3-5", in its order; of a range all."""
    ranges = ((int(first), int(last or first)) for first, last in _RANGE.findall(citation))
    return list(dict.fromkeys(number for first, last in ranges for number in range(first, last + 1)))


def _passages(line: Line) -> list[str]:
    """Return overlapping passages of a line, each of up to `PASSAGE` sentences after the line's opening."""
    text = line.text.removeprefix(line.opening)
    parts = sentences_of(text) or [text]
    starts = range(max(1, len(parts) - PASSAGE + 1))
    return [line.opening + " ".join(parts[start : start + PASSAGE]) for start in starts]
