"""All detectors together: what of a text is private, in which order they are believed, and what stands for it."""

from collections.abc import Sequence
from typing import Any

from drag_graph.privacy import addresses, labelled
from drag_graph.privacy.generalise import Replacements, replacements_in
from drag_graph.privacy.passage import Passage, joined
from drag_graph.privacy.people import People
from drag_graph.privacy.personal import Personal
from drag_graph.privacy.spans import Public, Span, settled
from drag_graph.privacy.structured import URL, StructuredDetector

_MODEL_KINDS = frozenset({"PERSON", "GPE", "LOC", "FAC", "ORG"})
Replaced = list[tuple[Span, str]]


class Detectors:
    """The detectors of a level, with the language model if there is one."""

    def __init__(self, model: Any, *, strict: bool) -> None:
        self._model = model
        self._structured = StructuredDetector()
        self._people = People(strict=strict)
        self._personal = Personal(strict=strict)
        self._strict = strict

    def structured(self, text: str) -> Replaced:
        """Return the spans of a telling format or checksum, with their replacements."""
        return _replaced(text, settled(self._structured.find(text)))

    def of_question(self, question: str, options: Sequence[str]) -> tuple[Passage, Replaced, list[Public]]:
        """Return question and options as one text, its private spans with their replacements, and the seen ones that stay."""
        return self._of(*joined(question, options), is_open=not options or self._strict)

    def of_text(self, text: str) -> tuple[Passage, Replaced, list[Public]]:
        """Return the same of a text alone, which may be the part of a question that has options."""
        return self._of(*joined(text, ()), is_open=self._strict)

    def _of(
        self, text: str, fields: tuple[tuple[str, int, int], ...], *, is_open: bool
    ) -> tuple[Passage, Replaced, list[Public]]:
        passage = Passage(text, self._entities(text), fields, is_open)
        sure = settled(
            [
                *self._structured.find(text),
                *_urls(text, is_open=is_open),
                *addresses.find(text, has_lines=is_open),
                *labelled.find(text),
            ]
        )
        people, public_people = self._people.find(passage, sure)
        found, public = self._personal.find(passage, [*sure, *people])
        spans = _within_fields(settled([*sure, *found, *people]), fields, text)
        return passage, _replaced(text, spans), [*public_people, *public]

    def _entities(self, text: str) -> tuple[Span, ...]:
        if self._model is None:
            return ()
        return tuple(
            Span(entity.start_char, entity.end_char, entity.label_, "spacy")
            for entity in self._model(text).ents
            if entity.label_ in _MODEL_KINDS
        )


def _urls(text: str, *, is_open: bool) -> list[Span]:
    return [Span(match.start(), match.end(), "URL", "format") for match in URL.finditer(text)] if is_open else []


def _within_fields(spans: Sequence[Span], fields: Sequence[tuple[str, int, int]], text: str) -> list[Span]:
    """Return the spans cut at the borders of fields, without space at their ends, and none of what a rewriting has put there."""
    ours = replacements_in(text)
    parts: list[Span] = []
    for span in spans:
        for _, low, high in fields:
            start, end = max(span.start, low), min(span.end, high)
            piece = text[start:end]
            start, end = start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
            if start < end and not any(start < other[1] and other[0] < end for other in ours):
                parts.append(Span(start, end, span.type, span.detector))
    return parts


def _replaced(text: str, spans: Sequence[Span]) -> Replaced:
    replacements = Replacements(text, spans)
    return [(span, replacements.of(span)) for span in spans]
