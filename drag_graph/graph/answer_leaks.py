"""Detect evidence that gives the answer away. An evaluation counts it; the setting `drop_leaks` drops it.

A teacher that is asked for facts sometimes answers the question instead, and the student then copies the answer. A fact that
names the right option is no leak: a fact about the answer has to name it.
"""

import re
from collections.abc import Sequence

from drag_graph.graph.inflection import noun
from drag_graph.graph.name_forms import ARTICLES, fold, tokens
from drag_graph.model import LABELS, Query

_STATES_THE_ANSWER = re.compile(
    r"\b(?:correct|right|best|final|true)\s+(?:answer|option|choice|response|letter)\b|\bcorrect\s+one\b"
    r"|\bis\s+the\s+answer\b"
    r"|\bthe\s+answer\b(?!\s+to\s+(?!this\b|the\s+question\b))[^.]{0,40}\b(?:is|be)\b"
    r"|\banswer(?:\s*:|\s+(?:is|would|must|should)\b)"
    r"|\b(?:is|are)\s+(?:the\s+)?(?:in)?correct(?:\s+(?:answer|option|choice))?\s*[.!]?$",
    re.IGNORECASE,
)
_LETTER = re.compile(
    r"\b(?i:option|choice|answer|choose|pick|select)\s+\(?([A-Z])\)?(?![\w'])"
    r"|\b([A-Z])\s+is\s+(?:the\s+)?(?:right|correct)\b"
    r"|^\(?([A-Z])\)?[.:)]\s|^\(?([A-Z])\)?\.?$"
)
_VERDICT = r"\b(?:the|this)\s+(?:claim|statement)\b[^.]*\b(?:is|was|been)\s+(?:\w+\s+)?{}\b"
_BARE = 0.9
"""Fraction of the words of a piece of evidence from which on it is little more than the option."""


def leaks(text: str, query: Query, golds: Sequence[str] = ()) -> bool:
    """Whether a text states the answer, names its letter or verdict, or is little more than the answer.

    `golds` are the accepted answers. Without them every option counts as the answer.
    """
    every = LABELS[: len(query.options)]
    right = every if not golds else [every[query.gold]] if isinstance(query.gold, int) else ()
    golds = golds or query.options
    named = {letter for groups in _LETTER.findall(text.strip()) for letter in groups if letter}
    return (
        _STATES_THE_ANSWER.search(text) is not None
        or not named.isdisjoint(right)
        or any(re.search(_VERDICT.format(re.escape(gold)), text, re.IGNORECASE) for gold in golds)
        or any(_is_little_more(text, gold) for gold in golds)
    )


def _is_little_more(text: str, answer: str) -> bool:
    words, wanted = _words(text), set(_words(answer))
    if not words or not wanted:
        return False
    return sum(word in wanted for word in words) / len(words) >= _BARE and wanted <= set(words)


def _words(text: str) -> list[str]:
    # "It is nitrogen." says no more than "nitrogen".
    empty = ARTICLES | {"it", "is", "are", "was", "this", "that", "be"}
    words = [noun(fold(word)) for word in tokens(text)]
    return [word for word in words if word not in empty] or words
