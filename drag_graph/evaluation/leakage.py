"""Whether evidence gives the answer away: measured, never dropped.

A teacher that is asked for facts sometimes answers. A student that then does well has copied, not reasoned; an evaluation
says how often. Naming the right option within a fact is not leakage: a fact about the answer has to name it.
"""

import re
from collections.abc import Sequence

from drag_graph.graph.inflection import noun
from drag_graph.graph.name_forms import ARTICLES, fold, tokens
from drag_graph.model import LABELS, Query

_SAYS_THE_ANSWER = re.compile(
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
"""Share of an evidence's words that an option makes up from which the evidence is practically only the option."""


def leaks(text: str, query: Query) -> bool:
    """Whether an evidence gives the answer away: it says what the answer is, names its letter or verdict, or is only it.

    Where the answer is not known, that of any option counts.
    """
    golds = _golds(query)
    right = LABELS[: len(query.options)] if query.gold is None else [LABELS[query.gold]] if isinstance(query.gold, int) else ()
    named = {letter for groups in _LETTER.findall(text.strip()) for letter in groups if letter}
    return (
        _SAYS_THE_ANSWER.search(text) is not None
        or not named.isdisjoint(right)
        or any(re.search(_VERDICT.format(re.escape(gold)), text, re.IGNORECASE) for gold in golds)
        or any(_practically(text, gold) for gold in golds)
    )


def _golds(query: Query) -> Sequence[str]:
    if isinstance(query.gold, int):
        return [query.options[query.gold]]
    if isinstance(query.gold, str):
        return [query.gold]
    return query.gold or query.options


def _practically(text: str, answer: str) -> bool:
    said, asked = _words(text), _words(answer)
    if not said or not asked:
        return False
    return len([word for word in said if word in set(asked)]) / len(said) >= _BARE and set(asked) <= set(said)


def _words(text: str) -> list[str]:
    # "It is nitrogen." adds nothing to "nitrogen".
    empty = ARTICLES | {"it", "is", "are", "was", "this", "that", "be"}
    words = [noun(fold(word)) for word in tokens(text)]
    return [word for word in words if word not in empty] or words
