"""Tell English from other languages: the rules read English only, and make nonsense of the rest.

English is assumed until function words of other languages, or letters of other scripts, outweigh the English ones. Names, codes
and tables have neither, so they are read as English unless the rest of the text is not.
"""

import re
from collections.abc import Sequence

from drag_graph.distill.patterns.words import FUNCTION_WORDS, lexicon
from drag_graph.graph.search_terms import UNSPACED

SHARED = lexicon("shared_words")
OTHER = lexicon("other_languages") - FUNCTION_WORDS
ENGLISH = FUNCTION_WORDS - SHARED
PARTICLES = lexicon("name_particles")
FEW = 2
"""Signs of another language that are needed in a text by itself; a name or a quotation has one."""
SENTENCE = 6
"""Words of a sentence that would have an English function word if it were English: one sign is enough against it."""
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_DENSE = re.compile(f"[{UNSPACED}]")
_LATIN = re.compile("[a-zA-Z\u00aa-\u024f\u1e00-\u1eff]")
_ACCENTED = re.compile("[a-z]*[\u00df-\u017f\u0219\u021b\u1ea1-\u1ef9][a-z\u00df-\u017f\u0219\u021b\u1ea1-\u1ef9]*")
_ELIDED = re.compile("(?:l|d|j|n|qu|un|dell|nell|dall|sull)'")
_LETTER = re.compile(r"[^\W\d_]")


def are_english(texts: Sequence[str]) -> list[bool]:
    """Return for each text of one source whether it is English. What a text leaves open, the others decide."""
    signs = [signs_of(text) for text in texts]
    most = sum(other for _, other in signs)
    is_other = most >= FEW and most > sum(english for english, _ in signs)
    return [not is_other if english == other else english > other or not (is_other or other >= FEW) for english, other in signs]


def signs_of(text: str) -> tuple[int, int]:
    """Return the number of signs of English, and of other languages, in a text.

    Words with a capital letter inside the text are names and count for nothing. Lower-case words with an accent and elisions
    ("l'eau") count as words of another language. A text mostly in another script is in another language; characters of scripts
    without spaces count threefold.
    """
    latin = len(_LATIN.findall(text))
    if not text.isascii() and (len(_LETTER.findall(text)) - latin) + 2 * len(_DENSE.findall(text)) > latin:
        return 0, FEW
    words = _WORD.findall(text.replace("\u2019", "'"))
    english = other = 0
    for place, word in enumerate(words):
        low = word.lower()
        english += low in ENGLISH
        if place and word != low:
            continue  # a noun or a name
        if low in OTHER:
            other += not _in_name(words, place)
        else:
            other += _ACCENTED.fullmatch(word) is not None or _ELIDED.match(low) is not None
    return english, other + (not english and other == 1 and len(words) >= SENTENCE)


def _in_name(words: list[str], place: int) -> bool:
    """Whether the word is a particle between capitalised words, as in "Rio de la Plata"."""
    last = next((word for word in words[place:] if word not in PARTICLES), "")
    first = next((word for word in reversed(words[: place + 1]) if word not in PARTICLES), "")
    return words[place] in PARTICLES and last[:1].isupper() and first[:1].isupper()
