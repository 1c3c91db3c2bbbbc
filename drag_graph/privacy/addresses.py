"""Find streets, addresses and the places that follow them."""

from collections.abc import Iterator

import regex

from drag_graph.privacy.labelled import LABEL
from drag_graph.privacy.public_names import folded, words
from drag_graph.privacy.spans import Pattern, Span, spans_of

_SUFFIX = (
    r"street|st|road|rd|avenue|ave|av|drive|dr|lane|ln|boulevard|blvd|court|ct|place|pl|square|sq|terrace|crescent|close|way|parkway|pkwy|"
    r"highway|hwy|circle|cir|trail|alley|row|mews|grove|gardens|hill|walk|quay|esplanade|parade"
)
_ENDING = (
    r"stra(?:ß|ss)e|str\.|strasse|gasse|weg|allee|platz|damm|ufer|ring|chaussee|gatan|gata|gate|gade|vej|vei|veien|vägen|väg|v[aæ]nget|all[eé]|plads|"
    r"torget|laan|straat|plein|gracht|kade|hof|katu|tie|kuja|polku|braut|vegur|stræti|straeti|götu|utca|út|tér|körút"
)
_BEFORE = (
    r"rue|avenue|av\.?|boulevard|bd\.?|place|chemin|impasse|allée|quai|route|via|viale|vicolo|piazza|corso|largo|calle|c/|avenida|avda\.?|plaza|paseo|"
    r"carrer|camino|rua|travessa|praça|praca|estrada|ul\.|ulica|al\.|aleja|os\.|pl\.|ulice|cesta|trg|str\.|strada|bulevardul|jalan|jl\.|sokak|caddesi|улица|ул\.|проспект|пр\."
)
_WORD = r"[\p{Lu}\d](?:[\p{L}\p{M}\p{N}'’-]|\.(?=[\p{L}\p{N}]))*"
_INNER = (
    r"(?:de|del|della|di|da|do|dos|das|du|des|la|le|les|van|von|der|den|ten|of|the|y|e|et|am|an|im|zum|zur|aan|op|na|al|el)"
)
_NUMBER = r"\d{1,5}(?:\s?[A-Za-z](?!\p{L}))?(?:[-/]\d{1,4})?"
_UNIT = r"(?:\s*,?\s*(?:apt|apartment|suite|ste|unit|flat|floor|room|no|#)\.?\s?#?(?:\w{0,5}\d\w{0,5}|\p{L})\b)"
_OF_A_PERSON = Pattern(
    r"\b(?:Apt|Apartment|Suite|Flat)\.?\s#?\d{1,5}\p{L}?\b"
    rf"|(?:(?:{_WORD}\s){{1,3}}(?:Farm|Rectory|Cottage|House|Manor|Lodge|Towers?|Hall|Barn),\s)?"
    rf"(?!(?:Wall|Silk|Abbey|Fleet|Downing|Sesame)\s)(?:{_WORD}\s){{1,3}}(?:Street|Road|Lane|Avenue|Drive|Boulevard|Crescent|Mews)\b"
    rf"|(?:{_WORD}\s){{1,3}}{_NUMBER}(?:,\s(?:\d\.?\s\p{{L}}{{1,4}}\.?,\s)?|\s?\n\s?)(?:\p{{Lu}}{{1,2}}-)?\d{{3}}\s?\d{{1,3}}\s\p{{Lu}}[\p{{L}}-]+"
    rf"|(?:{_WORD}\s){{0,2}}\p{{Lu}}[\p{{L}}\p{{M}}-]+(?:vang|brynet|bakken|backen|parken|haven|stien|stigen|toften|engen|marken|lunden|højen|dalen|svingen|"
    rf"rinne|raitti|kaari|ská|cká|skiego|mnt|ova)\s{_NUMBER}\b(?:\slgh\s\d+)?|(?i:plac|třída|náměstí)\s{_WORD}\s{_NUMBER}\b"
)
"""Flats, streets without a number and streets with rarer endings, which are private only in a person's own question."""
STREET = Pattern(
    rf"(?:{_NUMBER}\s+)?(?:{_NUMBER},?\s+)(?:{_WORD}\s+(?:{_INNER}\s+)*){{1,4}}(?!(?:CT|DR|PL|AV|LN|SQ|MS)\b)(?i:{_SUFFIX})\b(?:(?<=\s(?:St|Rd|Av|Ave|Dr|Ln|Blvd|Ct|Pl|Sq|Hwy|Pkwy|Cir))\.)?(?:\s(?:N|S|E|W|NE|NW|SE|SW|North|South|East|West)\b)?(?i:{_UNIT}{{0,2}})"
    rf"|(?:{_NUMBER},?\s+)?(?:{_WORD}[\s-]+(?:{_INNER}\s+)*){{0,3}}\p{{Lu}}[\p{{L}}\p{{M}}-]*(?i:{_ENDING})\s+{_NUMBER}\b\.?(?i:{_UNIT}{{0,2}})"
    rf"|(?:{_NUMBER},?\s+)?(?:{_WORD}\s+){{1,3}}(?i:utca|u\.|út|tér|körút|tee|puiestee|sk\.|gatvė|iela|{_ENDING})\s+{_NUMBER}\.?(?i:{_UNIT}{{0,2}})"
    rf"|(?:{_NUMBER},?\s+)?(?i:\b(?:{_BEFORE}))\s*(?:{_INNER}\s+)*(?:{_WORD}\s*(?:{_INNER}\s+)*){{1,4}},?\s+{_NUMBER}\b(?i:{_UNIT}{{0,2}})"
    rf"|{_NUMBER},?\s+(?i:{_BEFORE})\s+(?:{_INNER}['’\s]\s*)*{_WORD}(?:[\s-](?:{_INNER}\s+)*{_WORD}){{0,3}}"
    rf"|{_NUMBER},?\s+(?:{_WORD}\s+){{1,4}}(?:{_NUMBER}\s+)?(?i:(?:apt|apartment|suite)\.?\s\w{{1,6}})"
    rf"|(?:(?i:\bP\.?\s?O\.?\s?Box\s+\d+|\bPSC\s+\d+,?\s+Box\s+\d+)|\bUS[A-Z]{{1,3}}\s\p{{Lu}}\p{{L}}+(?=\s+[AF]PO\s))(?:\s+[AF]PO\s+[A-Z]{{2}}\s+\d{{5}})?"
)
_CUE = Pattern(
    r"(?i:\b(?:liv(?:e|es|ed|ing)|resid(?:e|es|ed|ing)|stay(?:s|ed|ing)?|dwell(?:s|ing)?|located|house|home|offices? (?:are|is) located|stationed|moved)\s+(?:at|on|in|to)\s+(?:number\s+)?"
    r"|\baddress(?:es)?\b(?:\s+(?:of|in|for)\s+[^:,.]{1,40}?)?(?:\s+is|\s+are|\s+was|\s*:|\s*\?\s*it(?:['’]s| is)(?: in)?|[^.\n]{0,40}?(?:here (?:they are|it is)):?|[^?\n]{0,60}\?)\s*(?:at\s+|now\s+)*"
    r"|\b(?:sent?|return(?:ed)?|deliver(?:ed|y)?|ship(?:ped)?|mail(?:ed)?|post(?:ed)?|taxi|drive|driven|come|came|arrived?|meet(?: you| me| us)?|bus drops you off|station is|enter|refers)\s+(?:it\s+|them\s+|this\s+)?(?:to|at|on)\s+"
    r"|\bUser:\s*|\bit['’]s in\s+|(?<=\d), and\s+)(?=[\p{Lu}\p{N}])"
)
_BLOCK = Pattern(
    rf"(?:(?<![\p{{L}}\p{{M}}])(?:(?i:(?:apt|apartment|suite|ste|flat|unit|box|ul|u|nan|street|utca|st|rd|av)\b|c/)\.?|{_WORD}|{_INNER}\b|№)(?:\s*,\s*|\s*\n\s*|\s+|(?=\.\s+(?i:suite|apt|flat))\.\s+|/\s*)?)+"
)
_LAST = Pattern(rf"(?:[\s,/]+(?:{_INNER}|{LABEL}(?=[\s,/]*;))?)+;?$|;$")
"""Text that does not belong to the end of an address: a comma, "the", a label such as "Phone" before a masked code."""
_BLOT = Pattern(r"[\s:#]*;")
_LINE = Pattern(r"[^\n]+")
_NEXT_WORD = Pattern(r"\S+")
_FIRST_NUMBER = Pattern(r"(?<![\p{L}\p{N}.,:/$€£#-])\d{1,6}(?=[A-Za-z]?,?\s+[\p{Lu}\d])")
_MONTH = Pattern(r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b")
_AT = Pattern(
    r"(?i:\b(?:liv(?:e|es|ed|ing)|resid(?:e|es|ed|ing)|stay(?:s|ed|ing)?)\s+(?:at|on)\s+)"
    r"(?P<address>(?=[^.?!,;:\n]{0,50}(?<!\w)\d)(?=[^.?!,;:\n]{0,50}\p{Lu}\p{L})[^,.?!;:\n]{3,60})"
)
_TAIL = Pattern(
    r"(?:(?:\s*,\s*|[ >]*\n[ >\n]*|\s+(?=(?i:apt|suite)\b))"
    r"(?:(?i:apt|apartment|suite|unit|flat)\.?\s\w+|nan\b|(?:\p{Lu}{2,3}\s)?\d[\d-]{2,8}\d"
    rf"|{_WORD}(?:[\s-](?:{_INNER}\s)?{_WORD}){{0,3}}(?:\s\(\p{{Lu}}\p{{L}}+\))?(?:\s\d[\d-]{{2,8}}\d)?)(?=[\s,.!?;)]|$)){{1,6}}"
)
"""A flat, town, country or postal code after a street, separated by a comma or a line break."""


def find(text: str, *, has_lines: bool) -> list[Span]:
    """Return the streets and addresses of a text whose codes are masked by `;`. `has_lines` allows addresses of several lines."""
    streets = [
        *_blocks(text, has_lines=has_lines),
        *_streets(text, has_lines=has_lines),
        *(_anywhere(text) if has_lines else ()),
    ]
    return [*streets, *(_tails(text, streets) if has_lines else ())]


def _anywhere(text: str) -> Iterator[Span]:
    """Yield numbers followed by names and by another number or part, as in an address."""
    at = 0
    while number := _FIRST_NUMBER.search(text, at):
        at = number.end()
        match = _BLOCK.match(text, number.start())
        if match and _is_address(match.group()) and not _MONTH.search(match.group()):
            words = regex.findall(r"\p{Lu}[\p{L}\p{M}]{2,}", match.group())
            numbers = regex.findall(r"\d+(?!\p{L}{1,2}\b)", match.group())
            if len(numbers) > 1 or (len(words) > 1 and regex.search(r"[,\n]", match.group().strip(" ,\n"))):
                at = _end(match)
                yield Span(match.start(), at, "STREET_ADDRESS", "address")


def _tails(text: str, streets: list[Span]) -> Iterator[Span]:
    """Yield the flats, towns, countries and postal codes that follow streets."""
    for street in streets:
        if match := _TAIL.match(text, street.end):
            start, end = match.start() + len(match.group()) - len(match.group().lstrip(" ,\n>")), _end(match)
            if start < end and folded(regex.split(r"[\s,]", text[start:end])[0]) not in words():
                yield Span(start, end, "PLACE", "after a street")


def _streets(text: str, *, has_lines: bool) -> Iterator[Span]:
    yield from spans_of(_AT, text, "STREET_ADDRESS", "address", "address")
    lines = None if has_lines else [line.span() for line in _LINE.finditer(text)]
    if has_lines:
        for match in _OF_A_PERSON.finditer(text):
            first = next(
                (word.start() for word in _NEXT_WORD.finditer(match.group()) if folded(word.group()) not in words()), 0
            )
            yield Span(match.start() + first, match.end(), "STREET_ADDRESS", "address")
    yield from spans_of(STREET, text, "STREET_ADDRESS", "street", parts=lines)


def _blocks(text: str, *, has_lines: bool) -> Iterator[Span]:
    """Yield addresses after words that announce one: a number and names, possibly on several lines."""
    for cue in _CUE.finditer(text):
        line_end = text.find("\n", cue.end())
        match = _BLOCK.match(text, cue.end(), len(text) if has_lines or line_end < 0 else line_end)
        if match and _is_address(match.group()):
            yield Span(match.start(), _end(match), "STREET_ADDRESS", "address")


def _end(match: "regex.Match[str]") -> int:
    """Return the end of an address, without trailing words that belong to the next phrase."""
    address = match.group() + (";" if _BLOT.match(match.string, match.end()) else "")
    return int(match.start() + len(_LAST.sub("", address)))


def _is_address(text: str) -> bool:
    """Whether a text contains a number and a name, and is not a year."""
    has_number = regex.search(r"(?<![\p{L}\p{N}])\p{N}{1,6}(?![\p{L}\p{N}])", text)
    has_name = regex.search(r"\p{Lu}[\p{L}\p{M}]{2,}", text)
    is_year = regex.fullmatch(r"(?:\p{Lu}\p{L}+\s)?(?:1[5-9]|20)\d\d\W*", text)
    return bool(has_number and has_name and not is_year)
