"""Word endings: the singular of a noun and the plain form of a verb, by rules and word lists.

English only; a word that no rule knows stays as it is. The forms are for comparing, so a rare word whose plain form comes out
misspelt does no harm as long as all its inflections come out alike.
"""

import re

from drag_graph.graph.word_lists import word_list, word_table

_NOUNS = word_table("nouns")
_SINGULAR = word_list("singular")
_VERBS = word_table("verbs")
# Endings of a stem (what is left without "ed" or "ing") that had a silent e: "includ", "produc", "requir", "creat".
_SILENT_E = re.compile(
    r"(?:[vuz]|[^s]s|c|[^n]g|(?:ch|rr|h|l|xch)ang|lleng|lung|[^e]at|cre?at|(?:^|[^aeo])ir|[^aeiou](?:ar|ur)|tur|sur"
    r"|[^aeo]in|[^aeo][aiu]d|[^o]od|c?ced|[^o]ut|[lp]et|[mnv]ot|ib|[bcdfgkpstz]l|[^e]ap|yp|[^eo]ak|[^o]ik|[^o]ok|[^o]ul"
    r"|um|[^l]om|plor|stor|gnor|terfer|dher)$"
)
_DOUBLE_L = re.compile(r"[^aeiou]*[aeiou]ll")
"""Stems such as "call", "kill", "sell", which have their second l of themselves."""
_SHORT = 3
_SIBILANTS = ("sses", "shes", "ches", "xes", "zzes")


def noun(word: str) -> str:
    """Return the singular of a lower-case noun."""
    if word in _NOUNS:
        return _NOUNS[word]
    if word in _SINGULAR or len(word) <= _SHORT or not word.endswith("s") or word.endswith(("ss", "us", "is", "ous", "sis")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > _SHORT + 1 else word[:-1]
    if word.endswith(_SIBILANTS):
        return word[:-2]
    return word[:-1]


def verb(word: str) -> str:
    """Return the plain form of a lower-case verb; a word that is not an inflected verb stays as it is."""
    plain = _VERBS.get(word, "")
    if plain or len(word) <= _SHORT:
        return plain or word
    if word.endswith(("ied", "ies")) and len(word) > _SHORT + 1:
        return word[:-3] + "y"
    if (word.endswith("ing") and len(word) > _SHORT + 2) or (word.endswith("ed") and len(word) > _SHORT + 1):
        return _stem_of(word[:-3] if word.endswith("ing") else word[:-2])
    if word.endswith((*_SIBILANTS, "oes")):
        return word[:-2]
    third_person = word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in _SINGULAR
    return word[:-1] if third_person else word


def _stem_of(stem: str) -> str:
    """Return the verb of a stem that lost "ed" or "ing": undo a doubled consonant, or give back a silent e."""
    if len(stem) > _SHORT and stem[-1] == stem[-2] and stem[-1] not in "sze":
        return stem if _DOUBLE_L.fullmatch(stem) else stem[:-1]
    return f"{stem}e" if _SILENT_E.search(stem) else stem
