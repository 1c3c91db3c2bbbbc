"""All detectors together: what of a text is private, in which order they are believed, and what stands for it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from string import whitespace
from typing import Any

from drag_graph.ports.private_details import Finding, Kept
from drag_graph.privacy import addresses, labelled
from drag_graph.privacy.generalise import Replacements, replacements_in
from drag_graph.privacy.latin_text import surface
from drag_graph.privacy.people import People
from drag_graph.privacy.personal import Personal
from drag_graph.privacy.question_text import Item, Passage, joined
from drag_graph.privacy.safe_patterns import Pattern
from drag_graph.privacy.spans import Generalised, Span, settled
from drag_graph.privacy.structured import URL, StructuredDetector, loose_phones

Field = tuple[str, int, int]
LOOKS = 3
"""How often a text is looked at, with what was found before replaced."""
_NUMBERS = frozenset({"DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL"})
"""What a model sees that is no name."""
_EDGE = whitespace + "\u00a0,;"

_LONG_WORD = Pattern(r"\S{500,}")
"""What is no name. The model's tokenizer takes time by the square of its length, and lets nobody else work meanwhile."""


class Detectors:
    """The detectors of a level, with the language model if there is one."""

    def __init__(self, model: Any, *, strict: bool) -> None:
        self._model = model
        self._structured = StructuredDetector()
        self._people = People(strict=strict)
        self._personal = Personal(strict=strict)
        self._strict = strict

    def structured(self, text: str) -> list[Finding]:
        """Return the spans of a telling format or checksum, with their replacements."""
        plain = surface(text)
        return [_in_original(plain, item) for item in _replaced(plain.text, settled(self._structured.find(plain.text)))]

    def of_question(self, question: str, options: Sequence[str], *, is_open: bool) -> tuple[Passage, list[Finding], list[Kept]]:
        """Return question and options as one text, its private spans with their replacements, and the seen ones that stay.

        What is left is looked at again until nothing more is found: a model sees a name better in a plainer sentence.
        """
        given, fields = joined(question, options)
        plain = surface(given)
        whole = Passage(plain.text, _fields_in(fields, plain), (), is_open or self._strict)
        spans: list[Span] = []
        public: list[Kept] = []
        for look in range(LOOKS):
            left = Generalised(whole.text, _replaced(whole.text, spans))
            places = _fields_in(whole.fields, left)
            is_question_alone = look and all(span.end <= whole.fields[0][2] for span in spans)  # the options read as before
            entities = self._entities(left.text[: places[0][2]] if is_question_alone else left.text)
            more, seen = self._look(Passage(left.text, places, entities, whole.is_open))
            public = public if look else seen
            new = [Span(left.original(span.start), left.original(span.end), span.type, span.detector) for span in more]
            spans = settled([*spans, *new])
            if not new:
                break
        findings = [_in_original(plain, item) for item in _replaced(whole.text, spans)]
        return Passage(given, fields, (), whole.is_open), findings, [_in_original(plain, item) for item in public]

    def _look(self, passage: Passage) -> tuple[list[Span], list[Kept]]:
        """Return the private spans of a passage, and the seen ones that stay."""
        text = passage.text
        structured = self._structured.find(text)
        sure = settled(
            [
                *structured,
                *addresses.find(_blotted(text, _places_of(structured)), has_lines=passage.is_open),
                *labelled.find(text),
                *_of_open_questions(text, is_open=passage.is_open),
            ]
        )
        people, public_people = self._people.find(passage, sure)
        found, public = self._personal.find(passage, [*sure, *people])
        blotted = _blotted(text, [*_places_of(sure), *replacements_in(text)])
        found = [
            span
            for span in found
            if any(map(str.isalnum, text[span.start : span.end])) and not labelled.BEFORE_A_CODE.match(blotted, span.start)
        ]
        return _within_fields(settled([*sure, *people, *found]), passage.fields, text), [*public_people, *public]

    def _entities(self, text: str) -> tuple[Span, ...]:
        if self._model is None:
            return ()
        return tuple(
            Span(entity.start_char, entity.end_char, entity.label_, "spacy")
            for entity in self._model(_LONG_WORD.sub(lambda word: " " * len(word[0]), text)).ents
            if entity.label_ not in _NUMBERS
        )


def _fields_in(fields: Sequence[Field], made: Generalised) -> tuple[Field, ...]:
    """Return where fields lie in a text that was made of theirs."""
    return tuple((name, made.place(low), made.place(high)) for name, low, high in fields)


def _in_original(made: Generalised, item: Item) -> Item:
    return replace(item, start=made.original(item.start), end=made.original(item.end))


def _places_of(spans: Iterable[Span]) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in spans]


def _blotted(text: str, places: Iterable[tuple[int, int]]) -> str:
    """Return a text with `;` in these places: no address goes over them."""
    for start, end in places:
        text = text[:start] + ";" * (end - start) + text[end:]
    return text


def _of_open_questions(text: str, *, is_open: bool) -> list[Span]:
    """Return what only a question without options is taken to tell of somebody: web addresses, numbers like those of phones."""
    if not is_open:
        return []
    return [*loose_phones(text), *(Span(match.start(), match.end(), "URL", "format") for match in URL.finditer(text))]


def _within_fields(spans: Sequence[Span], fields: Sequence[tuple[str, int, int]], text: str) -> list[Span]:
    """Return the spans cut at the borders of fields, without spaces and commas at their ends, and none of what a rewriting put there."""
    ours = replacements_in(text)
    parts: list[Span] = []
    for span in spans:
        for _, low, high in fields:
            start, end = max(span.start, low), min(span.end, high)
            piece = text[start:end]
            start, end = start + len(piece) - len(piece.lstrip(_EDGE)), end - len(piece) + len(piece.rstrip(_EDGE))
            part = Span(start, end, span.type, span.detector)
            if start < end and not any(part.overlaps(*other) for other in ours):
                parts.append(part)
    return parts


def _replaced(text: str, spans: Sequence[Span]) -> list[Finding]:
    replacements = Replacements(text, spans)
    return [Finding("", span.start, span.end, span.type, span.detector, replacements.of(span)) for span in spans]
