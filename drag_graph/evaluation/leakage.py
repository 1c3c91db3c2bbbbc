"""Whether evidence gives the answer away: measured, never dropped.

A teacher that is asked for facts sometimes answers. A student that then does well has copied, not reasoned; an evaluation
says how often. Naming the right option within a fact is not leakage: a fact about the answer has to name it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from drag_graph.graph.inflection import noun
from drag_graph.graph.surface import ARTICLES, fold, tokens
from drag_graph.model import LABELS, Evidence, Query

_VERDICT = re.compile(
    r"\b(?:the|this|our|your)?\s*(?:correct|right|best|final|true)\s+(?:answer|option|choice|response)\b"
    r"|\b(?:the\s+)?answer\s+(?:is|to\s+(?:this|the)\s+question|would\s+be|must\s+be|should\s+be)\b"
    r"|\banswer\s*:"
    r"|\b(?:is|are)\s+(?:the\s+)?(?:in)?correct(?:\s+(?:answer|option|choice))?\s*[.!]?$"
    r"|\b(?:therefore|thus|hence|so),?\s+(?:the\s+)?(?:answer|option|choice)\b",
    re.IGNORECASE,
)
_LETTER = re.compile(r"\b(?i:option|choice|answer)\s+\(?([A-Z])\)?(?![\w'])|^\(?([A-Z])\)?[.:)]\s|^\(?([A-Z])\)?\.?$")
_BARE = 0.9
"""Share of an evidence's words that an option makes up from which the evidence is practically only the option."""


@dataclass(frozen=True, slots=True)
class Leakage:
    """How much of the evidence gives the answer away; `reasons` is by evidence id."""

    total: int
    reasons: dict[str, str]

    @property
    def share(self) -> float:
        """The part that leaks, in [0, 1]; 0 where there is no evidence."""
        return len(self.reasons) / self.total if self.total else 0.0


def report(evidence: Sequence[Evidence], query: Query, gold: int | str | None = None) -> Leakage:
    """Return what leaks of `evidence`; `gold` is an option's index or the answer's text, by default the query's own."""
    found = {item.id: reason for item in evidence if (reason := why(item.text, query, gold))}
    return Leakage(len(evidence), found)


def leaks(text: str, query: Query, gold: int | str | None = None) -> bool:
    """Whether one evidence text gives the answer of `query` away."""
    return bool(why(text, query, gold))


def why(text: str, query: Query, gold: int | str | None = None) -> str:
    """Return how a text gives the answer away, or "": it says what the answer is, names its letter, or is only it."""
    if _VERDICT.search(text):
        return "says what the answer is"
    letter = _LETTER.search(text.strip())
    if letter is not None and query.options:
        named = next(group for group in letter.groups() if group)
        right = query.gold if gold is None else gold
        if LABELS.index(named) < len(query.options) and (not isinstance(right, int) or LABELS[right] == named):
            return f"names option {named}"
    for answer in _answers(query, gold):
        if _practically(text, answer):
            return f'is practically only "{answer}"'
    return ""


def _answers(query: Query, gold: int | str | None) -> list[str]:
    answer = query.gold if gold is None else gold
    if isinstance(answer, int):
        return [query.options[answer]] if 0 <= answer < len(query.options) else []
    if isinstance(answer, str):
        return [answer]
    return list(answer) if answer else list(query.options)


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
