"""Surface forms to comparable keys: cleaning, word endings, acronyms; the names of entities and concepts.

English rules of this project's own making; a word that no rule knows stays as it is. Nothing here needs a model.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from drag_graph.graph.inflection import noun, verb
from drag_graph.graph.search_terms import SIGNS, folded
from drag_graph.graph.word_lists import word_list, word_table
from drag_graph.identity import content_id

ARTICLES = word_list("articles")
REMEMBERED = 4_096
"""Texts whose forms are remembered: those of one subgraph are looked at again and again."""
AUXILIARIES = frozenset({"be", "have", "do"})
PREPOSITIONS = word_list("prepositions")

_SPACE = re.compile(r"\s+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b\u200e\u200f\u2028-\u202e\u2060\ufeff\ufffd]")
_LETTERS = rf"(?:[^\W\d_]|[{SIGNS}])+"
_TOKEN = re.compile(rf"\d+(?:[.,]\d+)*|{_LETTERS}(?:'{_LETTERS})*|[+\u00b0%]")
_DOTTED = re.compile(r"\b(?:[A-Za-z]\.){2,}")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CONTRACTIONS = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (("\u2019", "'"), (r"\bcan(?:'|no)t\b", "can not"), (r"\bwon't\b", "will not"), (r"n't\b", " not"))
)
_EDGE_MARKS = " \t\n\"'`.,;:!?*_~|\u201c\u201d\u2018\u2019\u00ab\u00bb\u200c\u200d"
_BRITISH = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"(?<=[aeiou][a-z])our(?=s?$|ed$|ing$|less$|ful$|hood$|ite$|al$)|(?<=[bdlnptv])our(?=s?$|able$|al$)", "or"),
        (r"(?<=[iet])tre(s?)$", r"ter\1"),
        (r"ibre(s?)$", r"iber\1"),
        (r"haem", "hem"),
        (r"sulph", "sulf"),
        (r"^oe(?=[ds])", "e"),
        (r"isation(s?)$", r"ization\1"),
        (r"^leuco", "leuko"),
        (r"paed", "ped"),
        (r"ageing$", "aging"),
    )
)
_SPELT = word_table("spellings")
_ASIDE = re.compile(r"^(?P<outer>[^()]+?)\s*\((?P<inner>[^()]+)\)$")
_ACRONYM = re.compile(r"^(?:[A-Z][a-z]?\.?){1,7}[0-9]?s?$")


@lru_cache(REMEMBERED)
def clean(text: str) -> str:
    """Return a name for people: NFKC, no control characters, single spaces, no quotes or full stops around it."""
    folded = _CONTROL.sub(" ", unicodedata.normalize("NFKC", text)).replace("\u2019", "'").replace("\u2018", "'")
    stripped = _SPACE.sub(" ", folded).strip(_EDGE_MARKS)
    # An abbreviation keeps its last full stop: "U.S." is not "U.S".
    return f"{stripped}." if re.search(r"\b[A-Z]\.[A-Z]$", stripped) else stripped


def tokens(text: str) -> list[str]:
    """Return the words and numbers of a text as they are written; hyphens, slashes and underscores separate."""
    return list(_tokens(text))


@lru_cache(REMEMBERED)
def _tokens(text: str) -> tuple[str, ...]:
    words = clean(text).replace("'s ", " ").removesuffix("'s").replace("_", " ")
    joined = _DOTTED.sub(lambda match: match.group().replace(".", ""), words)
    return tuple(_TOKEN.findall(joined))


@lru_cache(REMEMBERED)
def fold(word: str) -> str:
    """Return a word in lower case without accents."""
    return folded(word)


@lru_cache(REMEMBERED)
def spelling(word: str) -> str:
    """Return a lower-case word in American spelling, as far as a few regular differences go."""
    if word in _SPELT:
        return _SPELT[word]
    for pattern, instead in _BRITISH:
        word = pattern.sub(instead, word)
    return word


def entity_words(text: str, common: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the comparable words of an entity's name: folded, singular, without articles, "A of B" as "B A".

    A capitalised word keeps its ending ("Williams" is not "William") unless `common` has it or its singular: the words that are
    written in lower case somewhere in the same graph.
    """
    spelled = tokens(text)
    while len(spelled) > 1 and spelled[0].casefold() in ARTICLES:
        spelled = spelled[1:]
    words = []
    for word in spelled:
        folded = spelling(fold(word))
        singular = noun(folded)
        named = word[:1].isupper() and not (folded in common or singular in common)
        words.append(folded if named else singular)
    content = [word for word in words if word not in ARTICLES] or words
    if content.count("of") == 1 and 0 < content.index("of") < len(content) - 1:
        middle = content.index("of")
        content = content[middle + 1 :] + content[:middle]
    return tuple(content)


def common_words(names: Sequence[str]) -> frozenset[str]:
    """Return the words that a name writes in lower case, with their singulars: capitalised, they are not proper names."""
    lower_case = {word for name in names for word in tokens(name) if word[0].islower()}
    return frozenset(lower_case | {noun(fold(word)) for word in lower_case})


def entity_key(text: str, common: frozenset[str] = frozenset()) -> str:
    """Return the key under which two names are the same without any model; spaces and hyphens within words do not matter."""
    joined = ""
    for word in entity_words(text, common):
        # Two numbers must not run together: "1 2" is not "12".
        joined += f" {word}" if joined and joined[-1].isdigit() and word[0].isdigit() else word
    return joined or fold(clean(text))


def spaced(predicate: str) -> str:
    """Return a predicate as plain words: "locatedIn" and "located_in" are "located in"."""
    return _CAMEL.sub(" ", clean(predicate)).replace("_", " ").lower()


def spelt_out(text: str) -> str:
    """Return a text whose denials are words of their own: "can't" and "cannot" are "can not"."""
    for contraction, words in _CONTRACTIONS:
        text = contraction.sub(words, text)
    return text


@lru_cache(REMEMBERED)
def predicate_words(text: str) -> tuple[str, ...]:
    """Return the plain forms of a predicate's words, without articles; "is located in" and "located in" are the same.

    A passive keeps its preposition, so "causes" and "is caused by" stay apart (`cause`, `cause_by`).
    """
    folded = [fold(word) for word in tokens(spelt_out(spaced(text)))]
    plain = [spelling(verb(word)) for word in folded if word not in ARTICLES]
    while len(plain) > 2 and plain[0] in AUXILIARIES and plain[-1] in PREPOSITIONS and folded[-2] != plain[-2]:  # noqa: PLR2004
        plain = plain[1:]
    if len(plain) > 1 and plain[0] == "have":
        is_participle = folded[1] != plain[1] and not folded[1].endswith(("s", "ing"))
        plain = plain[1:] if plain[1] == "be" or is_participle else plain
    if len(plain) > 1 and plain[0] == "do" and plain[1] == "not":
        plain = plain[1:]
    return tuple(plain)


def predicate_key(text: str) -> str:
    """Return a predicate in snake case with its words in their plain forms, such as `transition_directly_into`."""
    return "_".join(predicate_words(text)) or "relate_to"


def acronym_aside(text: str) -> tuple[str, str] | None:
    """Return (long form, acronym) of a name like "deoxyribonucleic acid (DNA)", in either order, else None."""
    match = _ASIDE.match(clean(text))
    if match is None:
        return None
    outer, inner = match["outer"].strip(), match["inner"].strip()
    if abbreviates(inner, outer):
        return outer, inner
    if abbreviates(outer, inner):
        return inner, outer
    return None


def is_acronym(name: str) -> bool:
    """Whether a name is written as an acronym is."""
    return _ACRONYM.match(name) is not None


def acronym_words(long: str) -> list[str]:
    """Return the words of a name that give their first letter to its acronym."""
    words = [fold(word) for word in tokens(long)]
    return [word for word in words if word not in ARTICLES and word not in {"of", "and", "for", "in"}] or words


def abbreviates(short: str, long: str) -> bool:
    """Whether `short` is an acronym of `long`: each word of `long` gives its first letter, in order, and none is left over.

    A letter may also come from inside a word when the acronym has three letters or more ("DNA", "ATP").
    """
    if not is_acronym(short):
        return False
    letters = re.sub(r"[^a-z0-9]", "", fold(short.removesuffix("s") if short[:-1].isupper() else short))
    words = acronym_words(long)
    if len(letters) < 2 or len(words) < 2:  # noqa: PLR2004
        return False
    if letters == "".join(word[0] for word in words):
        return True
    return len(letters) > 2 and _spells(letters, words)  # noqa: PLR2004


def _spells(letters: str, words: list[str]) -> bool:
    """Whether the letters run through the words in order, with every word's first letter among them."""
    if not words:
        return not letters
    if not letters or letters[0] != words[0][0]:
        return False
    # The first word takes its first letter and any number of letters that follow in it.
    remaining, inside = letters[1:], words[0][1:]
    if _spells(remaining, words[1:]):
        return True
    while remaining and remaining[0] in inside:
        inside = inside[inside.index(remaining[0]) + 1 :]
        remaining = remaining[1:]
        if _spells(remaining, words[1:]):
            return True
    return False


def concept_key(name: str) -> str:
    """Return the normal name: case, accents, articles, hyphens, British spelling, plurals of plain words do not matter."""
    return entity_key(name)


def concept_id(namespace: str, key: str) -> str:
    """Return the id of the concept of a normal name."""
    return content_id(namespace, "concept", key)


def same_as_id(namespace: str, one: str, other: str) -> str:
    """Return the id of the judgement on two concepts, whichever is named first."""
    return content_id(namespace, "same_as", *sorted((one, other)))


def stronger_key(name: str) -> str:
    """Return the normal name with every word in the singular, capitalised ones too ("Cells" is "cell")."""
    return " ".join(noun(word) for word in entity_words(name))


def canonical_name(counts: dict[str, int]) -> str:
    """Return the name of an entity: a full name before its acronym, then the most frequent, then the shortest.

    A leading article goes, unless it belongs to a proper name ("The Beatles"), and so does an acronym in brackets.
    """
    plain: Counter[str] = Counter()
    for name, count in counts.items():
        plain[_bare(name)] += count
    names = sorted(plain)

    def order(name: str) -> tuple[bool, int, int, bool, str]:
        part = any(other != name and abbreviates(name, other) for other in names)
        return (part, -plain[name], len(name), name[:1].isupper(), name)

    return min(names, key=order)


def _bare(name: str) -> str:
    aside = acronym_aside(name)
    words = (aside[0] if aside else name).split()
    if len(words) > 1 and words[0].casefold() in ARTICLES and not words[1][0].isupper():
        words = words[1:]
    return " ".join(words)
