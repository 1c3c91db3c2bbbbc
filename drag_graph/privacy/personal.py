"""Details of a person: birth, age, place, employer, job."""

from collections.abc import Iterable, Iterator, Sequence

import regex

from drag_graph.ports.private_details import Kept
from drag_graph.privacy.public_names import folded, is_place, jobs, words
from drag_graph.privacy.question_text import FIRST_PERSON, QuestionText
from drag_graph.privacy.spans import Pattern, Span, is_within, spans_of

_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
DATE = (
    rf"(?:\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}}(?:[T\s]\d{{2}}:\d{{2}}(?::\d{{2}})?)?|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+\d{{4}}"
    rf"|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}|\d{{1,2}}[\s-]{_MONTH}[\s-]\d{{2,4}})"
)
_BORN = Pattern(
    rf"(?i)\b(?:born(?: on| in)?|birth ?date|date of birth|d\.?o\.?b\.?|birthday|birth)(?:[^\d\n]{{0,25}}?)(?P<date>{DATE}|(?<=born in\s|born\s)\d{{4}}\b)"
)
_DATE = Pattern(rf"(?i)(?<![\w./-]){DATE}(?![\w/-]|\.\d)")
_YEAR = Pattern(r"(?<![\w.,$€£-])(?:1[5-9]|20)\d\d(?![\w%-]|[.,]\d)")
_AGE = Pattern(
    r"(?i)\b(?P<age>\d{1,3})(?=[\s-]*(?:years?|yrs?)[\s-]*(?:old|of age)?\b|\s*y/?o\b)|\b(?:aged?|turn(?:ed|s|ing)?|age of|age is|age:)\s+(?P<age>\d{1,3})\b(?!\s*(?:%|percent|kg|mg|km|miles|dollars))|(?<=,\s)(?P<age>\d{2})(?=,\s+(?:from|of|a|an|who|living|lives)\b)"
)
_WORK = Pattern(
    r"(?i:\b(?:works?|working|worked|employed|job|position|internship|interned|hired|a year|spent \w+ years?)\s+(?:for|at|by|with)\s+(?:the\s+)?)(?P<org>{ORG})".replace(
        "{ORG}",
        r"[\p{Lu}\d](?:[\p{L}\p{N}&'’-]|\.(?=\p{L}))*(?:(?:,?[^\S\n](?:of|and|&|for|the)[^\S\n]|,?[^\S\n])(?!I\b)[\p{Lu}\d&](?:[\p{L}\p{N}&'’-]|\.(?=\p{L}))*){0,5}",
    )
)
_FIRM = Pattern(
    r"(?:\p{Lu}[\p{L}\p{M}\p{N}&'’-]*[^\S\n]+(?:(?:&|and|of)[^\S\n]+)?){1,4}(?:GmbH|Ltd|Limited|Inc|LLC|LLP|PLC|Corp|Corporation|AG|SA|SpA|BV|AB|Oy|Co|Incorporated|Holdings|Consulting|Associates|Enterprises|Solutions|Technologies|Logistics|Partners|Insurance|Group|Bancorp)\b\.?"
    r"|\p{Lu}[\p{L}\p{M}'’-]*(?:,[^\S\n]\p{Lu}[\p{L}\p{M}'’-]*)?[^\S\n](?:and|&)[^\S\n](?:Sons|Daughters|Partners|Brothers|Associates|Co)\b\.?"
    r"|\p{Lu}[\p{L}\p{M}'’-]*,[^\S\n]\p{Lu}[\p{L}\p{M}'’-]*[^\S\n](?:and|&)[^\S\n]\p{Lu}[\p{L}\p{M}'’-]*(?=[^\S\n](?:is|was|has|announced|Orchestra|Inc|Ltd|Group)\b|['’]s\b)"
)
_GAP = r"[^\S\n]"
_CAPITAL = r"[\p{Lu}](?:[\p{L}\p{M}&'’-]|\.(?=\p{L}))*"
_CAPITALS = (
    rf"(?:(?:St|Ste|Mt|Ft)\.{_GAP})?{_CAPITAL}(?:(?:,?{_GAP}(?:of|and|&|for|the|de|la|del|di|am|an|der|upon|on|sur){_GAP}|{_GAP}"
    rf"|,{_GAP}(?=(?:Inc|Ltd|LLC|Co|Corp|GmbH)\b))(?!I\b)[\p{{Lu}}\d&](?:[\p{{L}}\p{{M}}\p{{N}}&'’-]|\.(?=\p{{L}}))*){{0,5}}"
)
_CUSTOMER = Pattern(
    r"(?i:\b(?:customer (?:service|support|care) (?:of|at|from)|(?:order|bought|buy|purchas|rent|hir)(?:ed|ing|e)?(?:\s+(?:an?|my|our|the|two|some))?(?:\s+\p{L}+)?\s+(?:from|at)"
    r"|(?:we|I) (?:have )?(?:hired|left|joined|sued|called)|invoice from|(?:account|contract|policy|interview|insured) (?:at|with))\s+(?:the\s+)?)(?P<org>{ORG})"
    r"|(?P<job>\p{L}{4,})\s(?:at|with|for)\s(?P<org>{ORG})".replace("{ORG}", _CAPITALS)
)
"""Words that name an organisation as somebody's shop, insurer or employer."""
_FROM = Pattern(
    rf"(?i:\bfrom|\bat|\bof|\bin|\bnear|\bto|\baround|\bvia)\s+(?:the\s+)?(?P<place>{_CAPITALS})(?:,\s+(?P<more>{_CAPITALS}(?:\s\(\p{{Lu}}\p{{L}}+\))?))?"
)
_AFTER_STREET = Pattern(
    rf"^(?P<sep>,[^\S\n]+(?:in\s+)?|[^\S\n]+in\s+)(?P<place>(?:\d{{4,6}}\s+)?{_CAPITALS}(?:,\s+{_CAPITALS})?)"
)
_LIVING = Pattern(
    rf"(?i:\b(?:writing|calling|posting|liv(?:e|es|ed|ing)|resid(?:e|es|ed|ing)|based|born|raised|grew up|moved(?: here)?|stay(?:s|ed|ing)?|settled|located|home ?town|home city|i['’]m|i am|travel(?:l?ing|s)?|visit(?:ing)?|com(?:e|es|ing)|fly(?:ing)?|here|support\s+\w+)(?:\s+back)?(?:\s+(?:in|at|to|from|near|outside|around|is))+\s+(?:the\s+)?(?:city of\s+|town of\s+|village of\s+)?|\bhome ?(?:town|city)(?: is|:)?\s+)"
    rf"(?P<place>{_CAPITALS})(?:,\s+(?P<more>{_CAPITALS}(?:\s\(\p{{Lu}}\p{{L}}+\))?))?"
)
_AFTER_NAME = Pattern(rf"(?:,\s+[^,.()\n]{{3,60}}?)?\s+(?:is\s+)?(?:from|at|of|with)\s+(?P<org>{_CAPITALS})")
_JOB_WORD = r"[\p{L}][\p{L}'’/&-]*"
_JOB = Pattern(
    rf"(?i:\b(?:as an?|i am an?|i['’]m an?|i work as an?|works? as an?|working as an?|worked as an?|employed as an?|job:?(?: is)?(?: an?)?|occupation:?(?: is)?|profession:?(?: is)?|my job is(?: an?)?)\s+)(?P<job>{_JOB_WORD}(?:,?[^\S\n](?:and[^\S\n])?{_JOB_WORD}){{0,4}})"
)
_APPOSED = Pattern(
    rf"^(?:,|\s*\n+|\s+\()\s*(?:who\s+(?:is|was)\s+)?(?:(?:an?|the|our|their)\s+)?(?P<job>{_JOB_WORD}(?:,?[^\S\n](?:and[^\S\n])?{_JOB_WORD}){{0,4}})"
)
_EMPLOYED = Pattern(r"^,\s+(?:an?\s+|the\s+)?(?P<job>\p{L}[^,.()\n\d]{2,45}?)\s+(?:at|for|with)\s+(?:the\s+)?(?=\p{Lu}|3M\b)")
_CLAUSE = Pattern(
    r"(?i)\b(?:I|we|you|he|she|it|they|who|whom|whose|which|that|this|my|our|your|his|her|their|am|is|are|was|were|be|been|has|have|had|"
    r"do|does|did|can|could|will|would|shall|should|may|might|must|not|if|when|while|where|because|since|after|before|then|now|"
    r"currently|formerly|recently|also|please|what|why|how|to|there|here|just|still|always|live[sd]?|living|work(?:s|ed|ing)?|resid(?:es?|ed|ing)|"
    r"stay(?:s|ed|ing)?|born|raised|stud(?:y|ies|ied|ying)|based|employed|enrolled|registered|met|see|saw|seen|asked|asks|went|goes|"
    r"year|month|week|day|weekend|morning|afternoon|evening|night|summer|winter|spring|autumn|time)s?\b|['’](?:m|ve|re|ll|d)\b|^(?:and|but|or|so)\b"
)
"""A word of a clause or a point in time. No job title contains it."""
_NAMED_JOB = Pattern(
    rf"(?i:\bas an?\s+)(?P<job>{_JOB_WORD}(?:\s{_JOB_WORD}){{0,4}}?)\s+(?:named|called)\s+(?=\p{{Lu}})"
    rf"|(?i:\b(?:work(?:s|ed|ing)?|employed) as an?\s+)(?P<job>{_JOB_WORD}(?:\s{_JOB_WORD}){{0,4}}?)\s+(?:at|for|with)\s+(?:the\s+)?(?=\p{{Lu}})"
)
_JOB_ENDING = Pattern(
    r"(?:ologist|ographer|ician|urist|chemist|stylist|worker|maker|keeper|smith|monger|wright|(?:sales|crafts|police|business)\w+|staff|faculty)$"
)
_BEFORE = Pattern(rf"(?P<job>(?:{_JOB_WORD}\s){{0,3}}{_JOB_WORD})\s+(?:named\s+|called\s+)?$")


def find(passage: QuestionText, private: Sequence[Span], *, strict: bool) -> tuple[list[Span], list[Kept]]:
    """Return the details that are private because they belong to a person of the question, and those that stay.

    `private` are the spans that other detectors found.
    """
    text = passage.text
    personal = [part for part in passage.segments if any(part[0] <= span.start < part[1] for span in private)]
    if strict or (passage.is_open and personal):
        personal = [(0, len(text))]
    mine = [part for part in passage.segments if FIRST_PERSON.search(text, *part)]
    own = [*personal, *(mine if passage.is_open else ())]
    all_parts = {*personal, *mine}
    details = [
        *spans_of(_BORN, text, "DATE_OF_BIRTH", "birth", "date"),
        *_jobs(text, private, own),
        *(span for match in _matches(_LIVING, text, all_parts) for span in _place(match)),
        *_places(passage, private, personal, own),
        *_firms(text, [(0, len(text))] if passage.is_open else personal),
        *(_customers(text) if passage.is_open else ()),
        *spans_of(_WORK, text, "ORGANIZATION", "work", "org", parts=all_parts),
        *_employers(passage, private, own),
    ]
    kept: list[Kept] = []
    years = spans_of(_YEAR, text, "DATE", "date") if strict else ()
    for span in (*years, *spans_of(_DATE, text, "DATE", "date"), *spans_of(_AGE, text, "AGE", "age", "age")):
        if strict or is_within(span.start, own):
            details.append(span)
        else:
            why = "no name, contact or place belongs to it"
            kept.append(Kept("", span.start, span.end, span.type, span.detector, why))
    return details, kept


def _matches(pattern: Pattern, text: str, parts: Iterable[tuple[int, int]]) -> Iterator["regex.Match[str]"]:
    for low, high in parts:
        yield from pattern.finditer(text, low, high)


def _places(
    passage: QuestionText, private: Sequence[Span], personal: Sequence[tuple[int, int]], own: Sequence[tuple[int, int]]
) -> Iterator[Span]:
    text = passage.text
    for entity in passage.entities:
        is_unknown = passage.is_open and entity.type == "GPE" and not is_place(text[entity.start : entity.end])
        if entity.type in {"GPE", "LOC", "FAC"} and (is_unknown or is_within(entity.start, own)):
            yield Span(entity.start, entity.end, "PLACE", "spacy")
    for match in _matches(_FROM, text, personal):
        if match.group().startswith(("from", "From")) or is_place(match["place"]) or _ends_in_a_place(match):
            yield from _place(match)
    for span in private:
        if span.type == "STREET_ADDRESS" and (match := _AFTER_STREET.match(text[span.end :])) and not _begins(match["place"]):
            yield Span(span.end + match.start("place"), span.end + match.end("place"), "PLACE", "after a street")


def _begins(text: str) -> bool:
    """Whether a text starts with a word that begins sentences."""
    return folded(regex.split(r"[\s,]", text)[0]) in words()


def _place(match: "regex.Match[str]") -> Iterator[Span]:
    if not _begins(match["place"]):
        end = match.end("more") if _ends_in_a_place(match) else match.end("place")
        yield Span(match.start("place"), end, "PLACE", "resident")


def _ends_in_a_place(match: "regex.Match[str]") -> bool:
    return bool(match["more"]) and is_place(match["more"].partition(" (")[0])


def _employers(passage: QuestionText, private: Sequence[Span], own: Sequence[tuple[int, int]]) -> Iterator[Span]:
    text = passage.text
    for entity in passage.entities:
        is_label = regex.fullmatch(r"\p{Lu}{2,5}", text[entity.start : entity.end])
        if entity.type == "ORG" and not is_label and is_within(entity.start, own):
            yield Span(entity.start, entity.end, "ORGANIZATION", "spacy")
    for span in private:
        if span.type == "PERSON" and (match := _AFTER_NAME.match(text[span.end :])):
            start, end = span.end + match.start("org"), span.end + match.end("org")
            yield Span(start, end, "PLACE" if is_place(text[start:end]) else "ORGANIZATION", "after a name")


def _firms(text: str, parts: Iterable[tuple[int, int]]) -> Iterator[Span]:
    for match in _matches(_FIRM, text, parts):
        names = [word.start() for word in regex.finditer(r"\S+", match.group()) if folded(word.group()) not in words()]
        if names:
            yield Span(match.start() + names[0], match.end(), "ORGANIZATION", "firm")


def _customers(text: str) -> Iterator[Span]:
    for match in _CUSTOMER.finditer(text):
        if (not match["job"] or _names_a_job(match["job"])) and not is_place(match["org"]) and not _begins(match["org"]):
            yield Span(match.start("org"), match.end("org"), "ORGANIZATION", "customer")


def _jobs(text: str, private: Sequence[Span], personal: Sequence[tuple[int, int]]) -> Iterator[Span]:
    people = [span for span in private if span.type == "PERSON"]
    for span in people:
        after = text[span.end : span.end + 120]
        if (match := _EMPLOYED.match(after)) and not _CLAUSE.search(match["job"]):
            yield Span(span.end + match.start("job"), span.end + match.end("job"), "JOB", "job")
        elif match := _APPOSED.match(after):
            for job in _job(span.end + match.start("job"), match["job"]):
                if not _CLAUSE.search(text, job.start, job.end):
                    yield job
        before = text[max(0, span.start - 80) : span.start]
        if match := _BEFORE.search(before):
            yield from _job_before(span.start - len(before) + match.start("job"), match["job"])
    yield from spans_of(_NAMED_JOB, text, "JOB", "job", "job", parts=personal)
    for match in _matches(_JOB, text, personal):
        yield from _job(match.start("job"), match["job"])


def _job(start: int, text: str) -> Iterator[Span]:
    """Yield the job at the beginning of a text, up to its last job word."""
    end = 0
    for match in regex.finditer(_JOB_WORD, text):
        if (
            match.group().casefold() in {"at", "in", "from", "for", "named", "who", "of", "with", "by", "to", "i", "is", "and"}
            and end
        ):
            break
        if _names_a_job(match.group()):
            end = match.end()
    if end:
        yield Span(start, start + end, "JOB", "job")


def _names_a_job(word: str) -> bool:
    plain = word.casefold()
    return plain in jobs() or plain.removesuffix("s") in jobs() or bool(_JOB_ENDING.search(plain))


def _job_before(start: int, text: str) -> Iterator[Span]:
    """Yield the job at the end of a text, with the capitalised words before it."""
    matches = list(regex.finditer(_JOB_WORD, text))
    if matches and _names_a_job(matches[-1].group()):
        first = len(matches) - 1
        while first and matches[first - 1].group()[0].isupper() and matches[first - 1].group() not in {"As", "A", "An", "The"}:
            first -= 1
        yield Span(start + matches[first].start(), start + matches[-1].end(), "JOB", "job")
