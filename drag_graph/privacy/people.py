"""Names of persons: private ones, which the question ties to a person, and public ones."""

from collections.abc import Iterator
from functools import cache

import regex

from drag_graph.ports.private_details import Kept
from drag_graph.privacy.public_names import countries, folded, is_known_person, is_place, may_be_a_name, names_a_thing, words
from drag_graph.privacy.question_text import QuestionText
from drag_graph.privacy.spans import Pattern, Span

_PART = r"(?!(?:and|or)\b|I['’])[\p{Lu}\p{Lo}][\p{L}\p{M}]*(?:['’`-]\p{L}[\p{L}\p{M}]*)*"
PARTICLE = r"(?:de|del|della|di|da|dos|das|do|du|la|le|van|von|der|den|ter|ten|te|bin|ibn|bint|al|el|af|av|zu|y|e|'t|st\.?)"
NAME = rf"(?:{_PART}\.?(?:[^\S\n]+(?:{PARTICLE}[^\S\n]+){{0,2}}(?:{_PART}|\p{{Lu}}\.)){{0,3}})"
_ANY_CASE = r"(?:[\p{L}\p{M}][\p{L}\p{M}'’.-]*(?:\s+[\p{L}\p{M}][\p{L}\p{M}'’-]*){0,2})"
_TITLE = r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Sir|Dame|Madam|Herr|Frau|Señora?|Mme|Mlle|Monsieur|Madame|Nurse|Officer|Sergeant|Captain|Rev|Reverend|Judge|Justice|Doctor)\b\.?\s+"
_KIN = (
    r"(?:wife|husband|son|daughter|kid|child|mother|father|mom|mum|dad|brother|sister|uncle|aunt|grandmother|grandfather|grandma|grandpa|"
    r"nephew|niece|cousin|boyfriend|girlfriend|partner|fiancée?|friend|boss|manager|colleague|coworker|co-worker|neighbou?r|landlord|"
    r"roommate|flatmate|doctor|dentist|therapist|teacher|tutor|lawyer|client|patient|student|employee|assistant|guardian)"
)
_INTRODUCED = Pattern(
    r"(?:(?i:\b(?:my|full|maiden|legal|real|given|family|account|user|patient(?:['’]s)?)\s+(?:full |maiden |first |last )?name"
    r"(?:\s+(?:on|in|of|for)\s+[\w\s]{1,30}?)?(?:\s+(?:is|was|reads)|\s*:)|\bname\s*:|\b(?:asked|posted|submitted|signed) by\s*:?|\bcall(?:s|ed)? me"
    r"|\bsigned,?|\bsincerely,|\bregards,|\byours,|\bcheers,|\bthanks,|\bthis is|\bI am|\bI['’]m|\bI,"
    rf"|\b(?:my|our)\s+(?:\w+\s+)?{_KIN},?))\s+(?:{_TITLE})?(?P<name>{NAME})"
)
"""Words that introduce a person of the question."""
_MENTIONED = Pattern(
    r"(?:(?i:\b(?:her|his|their|whose|the)\s+(?:full |maiden |first |last )?name\s+(?:is|was)|\bname\s+is|\b(?:directed|written|sent|reported|filed|prepared|requested) by\s*:?"
    r"|\bdear|\bhi|\bhello|\bhey|\bcalled|\bnamed|\bhere is|\bon behalf of|\bbelong(?:s|ing) to|\bissued to|\bregistered (?:to|under)|\bin the name of|\baccount (?:holder|of)|\bcare of|\bc/o"
    r"|\battn:?|\bcontact|\bask for|\bspeak (?:to|with)|\b(?:correct|change) it to"
    rf"|\b(?:his|her|their)\s+(?:\w+\s+)?{_KIN},?|\b(?:patient|client|employee|resident|customer|user|account holder|applicant|defendant|suspect|tenant|contractor)\b))"
    rf"\s+(?:{_TITLE})?(?P<name>{NAME})"
)
"""Words that mention a person, perhaps an invented one of an exam: a single name does not suffice."""
_LOWER_INTRODUCED = Pattern(
    rf"(?i:\bmy (?:full )?name is|\bfollow up with|\bthis is my (?:friend|colleague))\s+(?P<name>{_ANY_CASE})"
)
_LOWER_REST = Pattern(r"(?i)\s+(?:and|in|from|at|is|was|but|who|i|with|please|on|can|could)\b.*", regex.DOTALL)
_WITH_AGE = Pattern(
    rf"(?P<name>{NAME})\s*(?:,\s*(?:an?\s+)?|\(\s*|\s+is\s+(?:an?\s+)?|\s+aged?\s+)(?:aged?\s+)?\d{{1,3}}(?=\)|\s*[-–]?\s*(?:years?|yrs?|y/?o|months?)\b|,)"
)
_AGE_BEFORE = Pattern(
    rf"(?i:\b\d{{1,3}}[-\s]year[-\s]olds?\s+(?:(?!(?:from|of|in|at|near|to)\b)\w+\s+){{0,3}}?)(?:named\s+|called\s+)?(?P<name>{NAME})"
)
_OWNED = Pattern(
    rf"(?P<name>{NAME})['’]s\s+(?i:(?:\w+\s+)?(?:ssn|social security|passport|driver|licen[cs]e|account|e-?mail|phone|address|aadhaa?r|pan|salary|password|medical|credit|bank|insurance|employee|case file|tax|birthday|date of birth|diagnosis|kid|wife|husband|son|daughter|mother|father))\b"
)
_LIVES = Pattern(
    rf"(?P<name>{NAME})\s+(?i:(?:currently |now )?(?:lives|resides|works|is from|is (?:living|staying|based)|was born|moved|born))\b|(?P<name>{NAME}),\s+(?i:born)\b|(?P<name>{NAME})\s+here[,.]"
)
_TITLED = Pattern(rf"\b{_TITLE}(?P<name>{NAME})")
_FULL_WITH_INITIAL = Pattern(
    rf"\b(?P<name>(?![AI][^\S\n]){_PART}(?:[^\S\n]\p{{Lu}}\.?){{1,2}}[^\S\n](?:{PARTICLE}[^\S\n]+)?\p{{Lu}}\p{{Ll}}[\p{{L}}\p{{M}}'’-]+)"
)
_FULL = Pattern(rf"(?<![\p{{L}}\p{{N}}])(?P<name>{_PART}[^\S\n](?:{PARTICLE}[^\S\n])?{_PART})(?![\p{{L}}\p{{N}}@])")
_SPEAKER = Pattern(rf"(?m)^(?P<name>{_PART}(?:\s{_PART})?):\s(?=\S)")
_ADDRESSED = Pattern(
    rf"(?:^|[.?!]\s+|,\s*)(?P<name>{_PART}),\s+(?i:can|could|would|will|please|do|are|did|have|don['’]t)\s(?i:you|me|not|I|it)\b|(?:^|[.?!]\s+|,\s*)(?P<name>{_PART}),\s+(?i:can|could|would|will|please)\b|,\s(?P<name>{_PART})[!?](?=\s|$)"
)
_FOREIGN = Pattern(
    r"(?P<name>(?:[\p{Cyrillic}\p{Hebrew}\p{Arabic}\p{Armenian}\p{Georgian}\p{Devanagari}\p{Bengali}\p{Tamil}\p{Telugu}\p{Thai}\p{M}]{2,}|\p{Greek}{3,})(?:[\s-](?:[\p{Cyrillic}\p{Hebrew}\p{Arabic}\p{Armenian}\p{Georgian}\p{Devanagari}\p{Bengali}\p{Tamil}\p{Telugu}\p{Thai}\p{M}]{2,}|\p{Greek}{3,})){0,3}|[\p{Han}]{2,6}(?:[\s·・][\p{Han}]{1,4})?|[\p{Hiragana}\p{Katakana}・ー]{2,12}(?:\s[\p{Hiragana}\p{Katakana}]{2,8})?|\p{Hangul}{2,4}(?:\s\p{Hangul}{1,3})?)"
)
_TIES = (
    (_INTRODUCED, "introduced"), (_LOWER_INTRODUCED, "introduced"), (_MENTIONED, "mentioned"), (_WITH_AGE, "with an age"),
    (_AGE_BEFORE, "with an age"), (_OWNED, "owner"), (_LIVES, "resident"),
)  # fmt: skip
_LIST = Pattern(
    rf"(?P<first>{_PART}(?:[^\S\n]{_PART})?)(?:(?:,[^\S\n](?:and[^\S\n])?|[^\S\n](?:and|&)[^\S\n])(?P<next>{_PART}(?:[^\S\n]{_PART})?))+"
)
_HEADLINE = Pattern(rf"(?:\A|\n)[>\s]*(?P<name>{_PART}(?:[^\S\n](?:{PARTICLE}[^\S\n])?{_PART}){{1,3}})[^\S\n]*(?=\n)")
_LONG_LIST = 3
_REPORTING = Pattern(
    rf"(?:\b(?:said|says|replied|shouted|whispered)\s+(?:to\s+)?(?P<name>{NAME})|(?P<name>{NAME}),?\s+(?:said|says|replied|told|lives|works))\b"
)
_SUBJECT = Pattern(
    rf"(?:^|[.?!\n]\s+)(?P<name>{_PART}(?:\s{_PART})?)\s(?=(?:is|was|has|had|began|started|lives|works|wants|went|said)\b)"
)
_PRONOUN = Pattern(r"\b(?:[Hh]e|[Ss]he|[Hh]im|[Hh]er|[Hh]is)\b")
_CITED = Pattern(
    r"(?i)^(?:['’]s\s+(?:\w+\s+)?(?:argument|view|views|theory|account|article|study|studies|work|book|novel|poem|play|essay|paper|claim|concept|idea|"
    r"notion|definition|analysis|research|experiment|painting|symphony|opera|film|song)\b|,?\s+(?:argue|claim|suggest|propose|believe|maintain|define|coin|"
    r"studied|conducted|theorize|theorise|hypothesize|discover|invent|wrote|painted|composed|developed|formulated|criticize|criticise|contend|hold)\p{L}*\b|\s+\((?:1[0-9]|20)\d\d)"
    r"|,\s+[^\n]{0,160}\b1[0-9]\d\d\b"
)
"""Text after the name of an author whose published work the question is about."""
_CITED_BEFORE = Pattern(
    r"(?:[Aa]ccording to(?: \p{L}+){0,4}|\b(?:philosopher|composition|poem|novel|play|epic|book|painting|film|author|poet|composer))\s$"
)
_SENTENCE_END = Pattern(r"\n|(?<=\p{L}{2})[.?!]\s")
_REST_OF_WORD = Pattern(r"[\p{L}\p{M}]+|-\p{L}[\p{L}\p{M}]*")
_EDGE = Pattern(rf"^I['’]m\s|^(?i:{_TITLE.replace(chr(92) + 'b', '')})|['’]s?$|[\s,.]+$")


SHORTEST = 2
"""Minimum letters of a name; its parts are longer."""


def find(passage: QuestionText, contacts: list[Span], *, strict: bool) -> tuple[list[Span], list[Kept]]:
    """Return the private names, and the names that stay. `contacts` are private details that other detectors found.

    With `strict`, unknown single names are private as well.
    """
    private: list[Span] = []
    public: list[Kept] = []
    for start, end, detector in _tied(passage.text):
        if detector == "mentioned" and not passage.is_open and " " not in passage.text[start:end]:
            continue
        private.append(Span(start, end, "PERSON", detector))
    for start, end, detector in _seen(passage, contacts):
        why = _reason_to_stay(passage, start, end, [*private, *contacts], strict=strict)
        if why:
            public.append(Kept("", start, end, "PERSON", detector, why))
        else:
            private.append(Span(start, end, "PERSON", detector))
    private += _listed(passage, private)
    private += _again(passage.text, private)
    return private, [item for item in public if not any(span.overlaps(item.start, item.end) for span in private)]


def _seen(passage: QuestionText, contacts: list[Span]) -> Iterator[tuple[int, int, str]]:
    """Yield everything that looks like a name."""
    text = passage.text
    for entity in passage.entities:
        if entity.type == "PERSON":
            start, end = trimmed(text, entity.start, entity.end)
            if start < end:
                yield start, end, "spacy"
    for match in _FULL_WITH_INITIAL.finditer(text):
        yield *match.span("name"), "initial"
    for match in _TITLED.finditer(text):
        yield *match.span("name"), "title"
    for low, high in {passage.segment(span.start) for span in contacts}:
        for match in _FULL.finditer(text, low, high):
            yield *match.span("name"), "beside a contact"
    if passage.is_open:
        yield from _spoken_of(passage)
    for match in _FOREIGN.finditer(text):
        yield *match.span("name"), "script"


def _reason_to_stay(passage: QuestionText, start: int, end: int, details: list[Span], *, strict: bool) -> str:
    """Return the reason if a name stays, else ''. `details` are the private details found so far."""
    text = passage.text
    name = text[start:end]
    if why := _public_reason(text, start, end):
        return why
    low, high = passage.segment(start)
    is_tied = any(low <= span.start < high for span in details)
    if is_tied or strict or passage.is_open:
        return ""
    if _carries(passage, start, end):
        return "the question asks about it"
    return "" if " " in name else "a single name that nothing ties to a person"


def _public_reason(text: str, start: int, end: int) -> str:
    """Return why a name is public in any question, or ''."""
    name = text[start:end]
    reasons = {
        "it is a replacement": _is_replacement(text, start, end),
        "it is no person's name": name.isascii() and not may_be_a_name(name),
        "the person is known to the public": is_known_person(name),
        "it is a place": is_place(name),
        "it is part of the name of a thing": names_a_thing(text, start, end),
    }
    return next((why for why, holds in reasons.items() if holds), "")


def _carries(passage: QuestionText, start: int, end: int) -> bool:
    """Whether an exam's question is about the name: it is an option, or the name of an author whose work is mentioned."""
    text = passage.text
    if _CITED.match(text[end : end + 180]) or _CITED_BEFORE.search(text[max(0, start - 60) : start]):
        return True
    return any(low == start and end >= high - 1 for _, low, high in passage.fields[1:])


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a name's span without title, genitive and following lines."""
    piece = _SENTENCE_END.split(text[start:end])[0]
    end = start + len(piece)
    if rest := _REST_OF_WORD.match(text, end):
        end = rest.end()
    while match := _EDGE.search(text[start:end]):
        if match.start() == 0:
            start += match.end()
        else:
            end = start + match.start()
        if start >= end:
            break
    return start, end


def _tied(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the names that their context ties to a person of the question."""
    for pattern, detector in _TIES:
        for match in pattern.finditer(text, overlapped=True):
            start, end = match.span("name")
            if pattern is _LOWER_INTRODUCED and text[start].islower():
                end = start + len(_LOWER_REST.sub("", text[start:end]))
            start, end = trimmed(text, start, end)
            name = text[start:end]
            lowered = pattern is _LOWER_INTRODUCED
            if len(name) < SHORTEST or (not lowered and not _is_name(name)) or _is_replacement(text, start, end):
                continue
            is_public = detector != "introduced" and is_known_person(name)
            if not is_public and not names_a_thing(text, start, end):
                yield start, end, detector


def _is_name(name: str) -> bool:
    plain = folded(name)
    return may_be_a_name(name) and plain not in words() and plain not in countries() and not is_nation(plain)


_NATION = Pattern(
    r"(?:german|french|dutch|greek|swiss|czech|thai|welsh|irish|british|english|scottish|danish|spanish|finnish|polish|flemish|kurdish|persian|roman|"
    r"caucasian|hispanic|latino|latina|scandinavian|hawaiian|californian|texan|catholic|christian|lutheran|anglican|presbyterian|muslim|jewish|hindu|"
    r"buddhist|republican|vegetarian|vegan|veteran|sorry|glad|ceo|cfo|cto|hr|it|md|phd)"
)
_OF_A_NATION = Pattern(r"\w+(?:ish|ese|ian|ean|ans?|i)")
_STEM = 4


def is_nation(plain: str) -> bool:
    """Whether a folded word is a nationality or creed: "Iraqi", but not "Rossi" or "Khan"."""
    return bool(_NATION.fullmatch(plain) or (_OF_A_NATION.fullmatch(plain) and plain[:_STEM] in _stems()))


@cache
def _stems() -> frozenset[str]:
    """Return the first letters of countries and parts of the world."""
    names = (*countries(), *map(folded, countries().values()))
    return frozenset(word[:_STEM] for name in names for word in name.split() if len(word) >= _STEM)


def _spoken_of(passage: QuestionText) -> Iterator[tuple[int, int, str]]:
    """Yield speakers, addressees and subjects in a person's own question, and pairs of words that look like a name."""
    text = passage.text
    subjects = [_SUBJECT] if _PRONOUN.search(text) else []
    for pattern in (_SPEAKER, _ADDRESSED, _REPORTING, _HEADLINE, *subjects):
        for match in pattern.finditer(text):
            yield *match.span("name"), "speaker"
    for match in _FULL.finditer(text):
        if not any(entity.overlaps(*match.span()) for entity in passage.entities):
            yield *match.span("name"), "two names"


def _listed(passage: QuestionText, private: list[Span]) -> Iterator[Span]:
    """Yield the names in a list that contains a private one; in questions without options, those in any long list."""
    text = passage.text
    for match in _LIST.finditer(text):
        names = [match.span("first"), *match.spans("next")]
        has_private = any(span.overlaps(*name) for name in names for span in private)
        if has_private or (passage.is_open and len(names) > _LONG_LIST):
            for start, end in names:
                name = text[start:end]
                if may_be_a_name(name) and not is_place(name) and not is_known_person(name):
                    yield Span(start, end, "PERSON", "list")


def _again(text: str, private: list[Span]) -> Iterator[Span]:
    """Yield further mentions of the private names and of their parts."""
    parts: set[str] = set()
    for span in private:
        name = text[span.start : span.end]
        parts.add(name)
        parts.update(
            part for part in name.split() if len(part) > SHORTEST and part[0].isupper() and folded(part) not in words()
        )
    if not parts:
        return
    parts |= {part.upper() for part in parts}
    alternatives = "|".join(regex.escape(part) for part in sorted(parts, key=len, reverse=True))
    for match in regex.finditer(rf"(?<![\p{{L}}\p{{N}}@._-])(?:{alternatives})(?![\p{{L}}\p{{N}}@_])", text):
        yield Span(match.start(), match.end(), "PERSON", "mention")


def _is_replacement(text: str, start: int, end: int) -> bool:
    return bool(regex.fullmatch(r"(?:Person\s)?[A-Z]{1,2}|Person", text[start:end])) and bool(
        regex.search(r"Person(?: [A-Z]{1,2})?$", text[max(0, start - 8) : end])
    )
