"""Whether a triple is read from the evidence that it names: both its ends must occur there (docs/decisions/0003-claims.md).

An end occurs where its canonical form does, where its acronym or long form does, or where most of its content words do. Ends
that a teacher makes up, or takes from other evidence, do not.
"""

import re
from functools import cached_property

from drag_graph.graph.inflection import noun, verb
from drag_graph.graph.name_forms import ARTICLES, AUXILIARIES, PREPOSITIONS, abbreviates, entity_key, fold, spelling, tokens
from drag_graph.graph.word_lists import word_list

TOLERANCE = 0.5
"""The share of an end's content words that must occur; measured by `bench/grounding.py`."""
_STEM = 4
"""Letters that two words of one stem begin with at least."""
_ENDING = re.compile("(?:i?an|n|ish|ese|ic?|al|y)?s?")
_SHORT = 2
_LONGEST_NAME = 6
"""Words of the longest name that an acronym is looked for."""
_EMPTY = ARTICLES | AUXILIARIES | PREPOSITIONS | word_list("function_words")
_REMARK = re.compile(r"(?<=\S) ?\([^()]*\)$")
_SPACELESS = re.compile("[\u0e00-\u0eff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")


class Grounds:
    """One evidence, in which the ends of triples are looked for."""

    def __init__(self, text: str) -> None:
        self._words = tokens(text)

    def problem(self, subject: str, object_: str, tolerance: float = TOLERANCE) -> str:
        """Return which of a triple's ends "does not occur in" the evidence, in these words, or ""."""
        missing = [f'"{end}"' for end in (subject, object_) if self.share(end) < tolerance]
        return f"{' and '.join(missing)} {'do' if missing[1:] else 'does'} not occur in" if missing else ""

    def share(self, end: str) -> float:
        """Return the share of the end's content words that occur, in [0, 1]; 1 for a name that occurs in another form."""
        words = tokens(_REMARK.sub("", end))
        content = [word for word in words if fold(word) not in _EMPTY] or words
        if not content:
            return 0.0
        if entity_key(end) in self._forms or self._abbreviated(end, words):
            return 1.0
        return sum(self._occurs(word) for word in content) / len(content)

    def has_name(self, name: str) -> bool:
        """Whether all words of a name occur: in the same form, as "Italian" for "Italy", or abbreviated."""
        words = tokens(name)
        return all(map(self._has_word, words)) or (name.isupper() and self._has_initials("".join(words).lower()))

    def _has_initials(self, acronym: str) -> bool:
        """Whether words in a row begin with these letters; of two words, both must be names."""
        words = [word for word in self._words if len(acronym) > _SHORT or word[0].isupper()]
        return acronym in "".join(fold(word)[:1] for word in words)

    def _has_word(self, word: str) -> bool:
        return not self._forms.isdisjoint(_forms(word)) or any(_has_ending(fold(word), form) for form in self._forms)

    def _occurs(self, word: str) -> bool:
        if not self._forms.isdisjoint(_forms(word)):
            return True
        if _SPACELESS.search(word):
            return fold(word) in self._joined
        return any(_akin(fold(word), form) for form in self._forms)

    def _abbreviated(self, end: str, words: list[str]) -> bool:
        """Whether the evidence has the acronym of the end, or the name that it abbreviates."""
        if len(words) > 1:
            return any(abbreviates(word, end) for word in self._words if word.isupper())
        places = range(len(self._words)) if end.isupper() else ()
        return any(
            abbreviates(end, " ".join(self._words[start : start + length]))
            for start in places
            for length in range(2, _LONGEST_NAME + 1)
        )

    @cached_property
    def _forms(self) -> frozenset[str]:
        """The forms of all words, and two neighbours as one: "sea water" has "seawater"."""
        forms = {form for word in self._words for form in _forms(word)}
        joined = {fold(one) + noun(fold(two)) for one, two in zip(self._words, self._words[1:], strict=False)}
        return frozenset(forms | joined)

    @cached_property
    def _joined(self) -> str:
        return "".join(fold(word) for word in self._words)


def _forms(word: str) -> set[str]:
    """Return a word in American spelling, as a singular and as a plain verb; a number without zeros that add nothing."""
    if word[0].isdigit():
        return {(word.replace(",", "").rstrip("0").rstrip(".") if "." in word else word.replace(",", "")).lstrip("0") or "0"}
    plain = spelling(fold(word))
    return {plain, noun(plain), verb(plain)}


def _has_ending(one: str, two: str) -> bool:
    """Whether one of two names is the other one with an ending: "American", "Italian", "Chinese"."""
    shorter, longer = sorted((one, two), key=len)
    stems = [shorter, shorter[:-1] if shorter[-1] in "aey" else shorter]
    return len(shorter) >= _STEM and any(longer.startswith(stem) and _ENDING.fullmatch(longer, len(stem)) for stem in stems)


def _akin(one: str, two: str) -> bool:
    """Whether two words begin alike, as "director" and "directed" do, "America" and "American", "migrate" and "migration"."""
    alike = max(_STEM, -(-2 * min(len(one), len(two)) // 3))
    return one[0].isalpha() and len(two) >= alike and one.startswith(two[:alike])
