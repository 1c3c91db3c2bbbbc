"""The terms by which text is searched, the same for every language and every index.

Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese do not separate words as a search needs it (Korean joins particles to
nouns). Runs of these scripts become overlapping pairs of characters, so that a word is found inside a run.
"""

import re
import unicodedata
from functools import lru_cache

UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u104c-\u109f\u1780-\u17d3\u17d7\u17dc\u17dd"
    "\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Characters of scripts without spaces, for a class of a regular expression."""
SIGNS = "\u0900-\u0963\u0971-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ecd\u0f71-\u0fbc\u102b-\u103e\u17b4-\u17d3\u3099\u309a"
"""Vowel signs of Indian and South-East Asian scripts, which `\\w` leaves out, for a class of a regular expression."""
_WORD = rf"(?:[^\W_]|[{SIGNS}])+"
_WORDS, _ASCII_WORDS = re.compile(_WORD), re.compile(r"[a-z0-9]+")
_RUN = re.compile(rf"{_WORD}(?:[-\u2010\u2011_/]{_WORD})*")
_ASCII_RUN = re.compile(r"[a-z0-9]+(?:[-_/][a-z0-9]+)*")
_JOINTS = re.compile(r"[-\u2010\u2011_/]")
_CAMEL_CASE = re.compile(r"\b[A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*")
_CASE_CHANGE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PLAIN_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"'s\b")
_UNSPACED_RUN = re.compile(f"([{UNSPACED}]+)")
# Accents of Latin, Greek and Cyrillic, and the optional vowel marks of Hebrew and Arabic.
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u0652\u0670]+")
_LETTERS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "\u0131": "i", "\u2019": "'"}
)


def folded(text: str) -> str:
    """Return text in lower case, without accents and width variants: "Österreich" becomes "osterreich"."""
    if text.isascii():
        return text.lower()
    letters = _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", letters).casefold().translate(_LETTERS)


def search_terms(text: str) -> list[str]:
    """Return the terms of a text in their order, with repetitions.

    A term is a run of letters and digits. An identifier such as "V-1234" gives "v1234" as well as "v" and "1234". A run of a
    script without spaces gives every pair of neighbouring characters; a single character is a term by itself. "AdamSmith" gives
    "adam" and "smith" as well.
    """
    plain = _POSSESSIVE.sub("", folded(_CAMEL_CASE.sub(_with_parts, text)))
    terms: list[str] = []
    for run in (_ASCII_RUN if plain.isascii() else _RUN).findall(plain):
        if run.isalnum() and run.isascii():
            terms.append(run)
            continue
        for place, piece in enumerate(_UNSPACED_RUN.split(run)):
            terms += _pairs(piece) if place % 2 else _joined_and_parts(piece)
    return terms


def words(text: str) -> list[str]:
    """Return the words of a text in their order, folded. Runs of scripts without spaces give pairs of characters."""
    plain = folded(text)
    return (
        _ASCII_WORDS.findall(plain) if plain.isascii() else [part for word in _WORDS.findall(plain) for part in parts_of(word)]
    )


def hidden_terms(text: str) -> str:
    """Return the terms that an index by plain words does not find in a text, joined by blanks."""
    plain = set(_PLAIN_WORD.findall(folded(text)))
    return " ".join(dict.fromkeys(term for term in search_terms(text) if term not in plain))


@lru_cache(20_000)
def joined_terms(text: str) -> str:
    """Return the search terms of a text, joined by blanks."""
    return " ".join(search_terms(text))


def parts_of(word: str) -> list[str]:
    """Return the parts of a folded word, which may mix scripts with and without spaces."""
    if word.isascii():
        return [word]
    pieces = _UNSPACED_RUN.split(word)
    return [part for place, piece in enumerate(pieces) for part in (_pairs(piece) if place % 2 else [piece] if piece else [])]


def _with_parts(match: re.Match[str]) -> str:
    return f"{match[0]} {_CASE_CHANGE.sub(' ', match[0])}"


def _joined_and_parts(words: str) -> list[str]:
    """Return the parts of words with joints between them, after the whole without joints if it has a digit."""
    parts = [part for part in _JOINTS.split(words) if part]
    is_identifier = len(parts) > 1 and any(character.isdigit() for character in words)
    return ["".join(parts), *parts] if is_identifier else parts


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)] or [run]
