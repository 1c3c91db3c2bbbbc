"""Find details by format or checksum, without a language model: with Presidio's recognisers, phonenumbers and patterns."""

import ipaddress
from collections.abc import Iterator
from functools import partial
from typing import Any

import regex
from phonenumbers import PhoneNumberMatcher
from presidio_analyzer import Pattern as PresidioPattern
from presidio_analyzer import predefined_recognizers as presidio

from drag_graph.privacy.spans import Pattern, Span, spans_of

_compile = partial(Pattern, flags=regex.IGNORECASE)
EMAIL = _compile(
    r"(?<![\w.+-])[\p{L}\p{N}!#$%&'*+/=?^_`{|}~.-]{0,63}[\p{L}\p{N}_+-]@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,62})?\.)+\p{L}{2,24}\b"
)
_AT, _DOT = r"\s?[\[({]\s?at\s?[\])}]\s?", r"\s?[\[({]\s?dot\s?[\])}]\s?"
_SITE = r"[\w-]{1,63}(?: dot [\w-]{1,63}){0,3} dot (?:com|org|net|edu|gov|info|io|co|de|fr|nl|uk|example)\b"
_SAYING = r"(?: (?:dot|underscore|dash|hyphen) [\w.+-]{1,64})"
_ODD_WORD = r"\p{L}[\w-]{0,63}(?:\d|[._+](?=\w))[\w.+-]{0,63}"
"""Not an ordinary word: "worked at pets dot com" contains no address."""
_MAIL_TO = r"(?<=\b(?:e-?mail|mail|write|contact|reach|address)(?: (?:me|us|address|is|to|at|on)){0,3}:? )"
SPELT_EMAIL = _compile(
    rf"(?<![\w.+-])[\w.+-]{{1,64}}{_AT}[\w-]{{1,63}}(?:(?:{_DOT}|\.)[\w-]{{1,63}}){{1,4}}"
    rf"|(?<![\w.+-])(?:{_ODD_WORD}{_SAYING}{{0,3}}|[\w+-]{{1,64}}{_SAYING}{{1,3}}|{_MAIL_TO}[\w+-]{{1,64}}) at {_SITE}"
)
"""Addresses spelt out against harvesters: jane (at) example (dot) org, jane dot doe at example dot org."""
PHONE = Pattern(
    r"(?<![\w.+/-])(?<!\d,)(?:"
    r"\+\d{1,3}(?:[\s./-]?\(?\d{1,6}\)?){2,7}"  # +45 12 34 56 78
    r"|00\d{1,3}[\s.-](?:\(?\d{1,6}\)?[\s./-]?){2,6}\d"
    r"|\((?!1[5-9]\d\d\)|20\d\d\))\d{2,5}\)[\s.-]?\d{2,5}(?:[\s.-]\d{2,5}){1,3}"  # (202) 555-0143
    r"|\d{3}[.-]\d{3}[.-]\d{4}"
    r"|0\d{2,4}[\s-]\d{3,4}[\s-]\d{3,4}"
    r")(?![\w/]|[.,]\d|-\w*\d)"
)
LOOSE_PHONE = Pattern(r"(?<![\p{L}\p{N}.,$€£-])\(?\d{2,5}\)?(?:[ -]\d{2,5}){1,4}(?![\p{L}\p{N}:-]|[.,]\d|\s?%)")
NO_PHONE = Pattern(r"\d{4}-\d\d-\d\d|(?:1\d|20)\d\d[ -](?:1\d|20)\d\d|\d{5}-\d{3,4}")
DIGITS_OF_A_PHONE = range(7, 17)
SECRET = Pattern(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_\w{40,}|\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bAIza[0-9A-Za-z_-]{35}\b|\bhf_[A-Za-z0-9]{30,}|\bglpat-[\w-]{20,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{5,}|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----)?"
)
SSN = Pattern(r"(?<![\w-])(?!000|666)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
NINO = Pattern(r"\b(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z](?:\s?\d{2}){3}\s?[A-D]\b")
URL = _compile(r"\bhttps?://[^\s<>\"'()]+|\bwww\.[\w-]+(?:\.[\w-]+)+(?:/[^\s<>\"'()]*)?")
COORDINATES = _compile(
    r"(?<![\w.])[-+]?\d{1,2}\.\d{3,}°?\s*[NS]?\s*[,;/]\s*[-+]?\d{1,3}\.\d{3,}°?\s*[EW]?(?![\w.]*\d)"
    r"|\d{1,3}°\s?\d{1,2}['′]\s?(?:\d{1,2}(?:\.\d+)?[\"″]\s?)?[NS]\W{0,3}\d{1,3}°\s?\d{1,2}['′]\s?(?:\d{1,2}(?:\.\d+)?[\"″]\s?)?[EW]\b"
)
CARD = PresidioPattern("card", r"(?<![\w.-])[2-6]\d{3}(?:[ -]?\d){8,15}(?![\w-]|\.\d)", 0.5)
"""A payment card's number; Presidio checks its last digit."""
IPV4 = Pattern(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d)")
IPV6 = Pattern(r"(?<![\w:])(?:[0-9A-Fa-f]{1,4}:|:){2,7}[0-9A-Fa-f:]*[0-9A-Fa-f](?![\w:])")
MAC = Pattern(r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b")

_PLAIN = (
    (EMAIL, "EMAIL"),
    (SPELT_EMAIL, "EMAIL"),
    (SECRET, "SECRET"),
    (COORDINATES, "COORDINATES"),
    (SSN, "NATIONAL_ID"),
    (NINO, "NATIONAL_ID"),
    (MAC, "MAC_ADDRESS"),
)
_NATIONAL_IDS = (
    "AuTfn",
    "EsNie",
    "EsNif",
    "FiPersonalIdentityCode",
    "InAadhaar",
    "ItFiscalCode",
    "KrRrn",
    "Nhs",
    "PlPesel",
    "SgFin",
)
_MANY_DIGITS = Pattern(r"\d(?:[\s.-]?[\dA-Z]){7,}|\b[13][1-9A-HJ-NP-Za-km-z]{25,}|\bbc1\w{11,}")


_RECOGNIZERS: list[tuple[str, Any]] = [
    ("CREDIT_CARD", presidio.CreditCardRecognizer([CARD])),
    ("IBAN", presidio.IbanRecognizer()),
    ("CRYPTO_WALLET", presidio.CryptoRecognizer()),
    *(("NATIONAL_ID", getattr(presidio, f"{name}Recognizer")()) for name in _NATIONAL_IDS),
]


def find(text: str) -> list[Span]:
    """Return the details found by format or checksum, the most certain first; they may overlap."""
    return [*_formats(text), *_checksums(text), *phones(text)]


def _formats(text: str) -> Iterator[Span]:
    for pattern, kind in _PLAIN:
        yield from spans_of(pattern, text, kind, "format")
    for pattern in (IPV4, IPV6):
        for match in pattern.finditer(text):
            if _is_global(match.group()):
                yield Span(match.start(), match.end(), "IP_ADDRESS", "format")


def _checksums(text: str) -> Iterator[Span]:
    if not _MANY_DIGITS.search(text):
        return
    for kind, recognizer in _RECOGNIZERS:
        for result in recognizer.analyze(text, recognizer.supported_entities, None):
            if result.score >= 1 and not _is_part(text, result.start, result.end):
                yield Span(result.start, result.end, kind, recognizer.name)


def loose_phones(text: str) -> Iterator[Span]:
    """Yield groups of digits that can be a telephone number, but not a date or years."""
    for match in LOOSE_PHONE.finditer(text):
        if _digits(match.group()) in DIGITS_OF_A_PHONE and not NO_PHONE.fullmatch(match.group()):
            yield Span(match.start(), match.end(), "PHONE", "groups of digits")


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether a number is part of a longer word of letters, digits and hyphens, such as a UUID."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return bool(regex.search(r"\w-?$", before) or regex.match(r"-?\w", after))


def phones(text: str) -> Iterator[Span]:
    """Yield numbers in the usual formats, valid or not, and valid American and British ones in any format."""
    for match in PHONE.finditer(text):
        if _digits(match.group()) in DIGITS_OF_A_PHONE:
            yield Span(match.start(), match.end(), "PHONE", "format")
    for region in ("US", "GB"):
        for number in PhoneNumberMatcher(text, region):
            yield Span(number.start, number.end, "PHONE", "phonenumbers")


def _digits(text: str) -> int:
    return sum(map(str.isdigit, text))


def _is_global(text: str) -> bool:
    """Whether an address is public; examples, private networks and this machine reveal nothing."""
    try:
        return ipaddress.ip_address(text).is_global
    except ValueError:
        return False
