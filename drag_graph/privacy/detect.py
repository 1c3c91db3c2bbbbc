"""All detectors together: what of a text is private, in which order they are believed, and what stands for it."""

from collections.abc import Sequence
from typing import Any

from drag_graph.ports.privacy import Finding, Kept
from drag_graph.privacy import addresses, labelled
from drag_graph.privacy.generalise import Replacements, replacements_in
from drag_graph.privacy.passage import Passage, joined
from drag_graph.privacy.patterns import Pattern
from drag_graph.privacy.people import People
from drag_graph.privacy.personal import Personal
from drag_graph.privacy.spans import Generalised, Span, settled
from drag_graph.privacy.structured import URL, StructuredDetector, loose_phones

LOOKS = 3
"""How often a text is looked at, with what was found before replaced."""
_NUMBERS = frozenset({"DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL"})
"""What a model sees that is no name."""


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
        return _replaced(text, settled(self._structured.find(text)))

    def of_question(self, question: str, options: Sequence[str], *, is_open: bool) -> tuple[Passage, list[Finding], list[Kept]]:
        """Return question and options as one text, its private spans with their replacements, and the seen ones that stay.

        What is left is looked at again until nothing more is found: a model sees a name better in a plainer sentence.
        """
        whole = Passage(*joined(question, options), (), is_open or self._strict)
        spans: list[Span] = []
        public: list[Kept] = []
        for look in range(LOOKS):
            left = Generalised(whole.text, _replaced(whole.text, spans))
            fields = tuple((name, left.place(low), left.place(high)) for name, low, high in whole.fields)
            is_question_alone = look and all(span.end <= len(question) for span in spans)  # the options read as they did before
            entities = self._entities(left.text[: fields[0][2]] if is_question_alone else left.text)
            more, seen = self._look(Passage(left.text, fields, entities, whole.is_open))
            public = public if look else seen
            new = [Span(left.original(span.start), left.original(span.end), span.type, span.detector) for span in more]
            spans = settled([*spans, *new])
            if not new:
                break
        return whole, _replaced(whole.text, spans), public

    def _look(self, passage: Passage) -> tuple[list[Span], list[Kept]]:
        """Return the private spans of a passage, and the seen ones that stay."""
        text = passage.text
        sure = settled(
            [
                *self._structured.find(text),
                *addresses.find(text, has_lines=passage.is_open),
                *labelled.find(text),
                *_of_open_questions(text, is_open=passage.is_open),
            ]
        )
        people, public_people = self._people.find(passage, sure)
        found, public = self._personal.find(passage, [*sure, *people])
        return _within_fields(settled([*sure, *people, *found]), passage.fields, text), [*public_people, *public]

    def _entities(self, text: str) -> tuple[Span, ...]:
        if self._model is None:
            return ()
        return tuple(
            Span(entity.start_char, entity.end_char, entity.label_, "spacy")
            for entity in self._model(_LONG_WORD.sub(lambda word: " " * len(word[0]), text)).ents
            if entity.label_ not in _NUMBERS
        )


def _of_open_questions(text: str, *, is_open: bool) -> list[Span]:
    """Return what only a question without options is taken to tell of somebody: web addresses, numbers like those of phones."""
    if not is_open:
        return []
    return [*loose_phones(text), *(Span(match.start(), match.end(), "URL", "format") for match in URL.finditer(text))]


def _within_fields(spans: Sequence[Span], fields: Sequence[tuple[str, int, int]], text: str) -> list[Span]:
    """Return the spans cut at the borders of fields, without space at their ends, and none of what a rewriting has put there."""
    ours = replacements_in(text)
    parts: list[Span] = []
    for span in spans:
        for _, low, high in fields:
            start, end = max(span.start, low), min(span.end, high)
            piece = text[start:end]
            start, end = start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
            part = Span(start, end, span.type, span.detector)
            if start < end and not any(part.overlaps(*other) for other in ours):
                parts.append(part)
    return parts


def _replaced(text: str, spans: Sequence[Span]) -> list[Finding]:
    replacements = Replacements(text, spans)
    return [Finding("", span.start, span.end, span.type, span.detector, replacements.of(span)) for span in spans]
