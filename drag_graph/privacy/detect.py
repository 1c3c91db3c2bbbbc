"""Run all detectors on a text, resolve their overlaps, and choose the replacements."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from string import whitespace
from typing import Any

from drag_graph.ports.private_details import Finding, Kept, Rewritten, texts_by_field
from drag_graph.privacy import addresses, capitals, labelled, people, personal, structured
from drag_graph.privacy.generalise import TYPES, Replacements, replacements_in
from drag_graph.privacy.question_text import Item, QuestionText, joined
from drag_graph.privacy.rewritten_text import Generalised, surface
from drag_graph.privacy.spans import Pattern, Span, settled, spans_of

Field = tuple[str, int, int]
SEARCHES = 3
"""How often a text is searched, each time with the previous findings replaced."""
_NUMBERS = frozenset({"DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL"})
"""Entity types of the model that are not names."""
_EDGE = whitespace + "\u00a0,;"

_LONG_WORD = Pattern(r"\S{500,}")
"""Not a name. The tokenizer needs quadratic time for it and blocks other threads."""


Detector = Callable[[str], Iterable[tuple[int, int, str]]]
"""Finds start, end and type of private details in a text (`drag_graph.ports.plugins`)."""


class LocalRewriter:
    """A `Rewriter` with the detectors of a level, a language model, and detectors of other packages, keyed by name."""

    def __init__(self, version: str, model: Any, *, strict: bool, plugins: Mapping[str, Detector]) -> None:
        self.version = version
        self._model = model
        self._strict = strict
        self._plugins = plugins

    def rewrite(self, question: str, options: Sequence[str]) -> Rewritten:
        passage, findings, kept = self._details(question, options, is_open=not options)
        generalised = Generalised(passage.text, findings)
        texts = [generalised.text[generalised.place(low) : generalised.place(high)] for _, low, high in passage.fields]
        rewritten = Rewritten(texts[0], tuple(texts[1:]), passage.by_field(findings), passage.by_field(kept))
        return _with_different_options(rewritten, options)

    def private(self, text: str) -> list[Finding]:
        return self._details(text, (), is_open=False)[1]

    def structured(self, text: str) -> list[Finding]:
        plain = surface(text)
        return [_in_original(plain, item) for item in _replaced(plain.text, settled(structured.find(plain.text)))]

    def _details(
        self, question: str, options: Sequence[str], *, is_open: bool
    ) -> tuple[QuestionText, list[Finding], list[Kept]]:
        """Return question and options as one text, its private details with their replacements, and those that stay.

        The rewritten text is searched again until nothing more is found, because a model recognises names better in plain text.
        """
        text, fields = joined(question, options)
        plain = surface(text)
        original = QuestionText(plain.text, _fields_in(fields, plain), (), is_open or self._strict)
        spans: list[Span] = []
        kept: list[Kept] = []
        for search in range(SEARCHES):
            rewritten = Generalised(original.text, _replaced(original.text, spans))
            places = _fields_in(original.fields, rewritten)
            are_options_unchanged = search and all(span.end <= original.fields[0][2] for span in spans)
            entities = self._entities(rewritten.text[: places[0][2]] if are_options_unchanged else rewritten.text)
            more, public = self._search(QuestionText(rewritten.text, places, entities, original.is_open))
            kept = kept if search else public
            new = [
                Span(rewritten.original(span.start), rewritten.original(span.end), span.type, span.detector) for span in more
            ]
            spans = settled([*spans, *new])
            if not new:
                break
        spans = settled([*spans, *self._found_by_plugins(original)])
        findings = [_in_original(plain, item) for item in _replaced(original.text, spans)]
        return QuestionText(text, fields, (), original.is_open), findings, [_in_original(plain, item) for item in kept]

    def _search(self, passage: QuestionText) -> tuple[list[Span], list[Kept]]:
        """Return the private spans of a passage, and those that stay."""
        text = passage.text
        by_format = structured.find(text)
        sure = settled(
            [
                *by_format,
                *addresses.find(_masked(text, by_format), has_lines=passage.is_open),
                *labelled.find(text),
                *(structured.loose_phones(text) if passage.is_open else ()),  # private only in a person's own question
                *(spans_of(structured.URL, text, "URL", "format") if passage.is_open else ()),
            ]
        )
        names, public_names = people.find(passage, sure, strict=self._strict)
        details, public = personal.find(passage, [*sure, *names], strict=self._strict)
        masked = _masked(text, [*sure, *(Span(*place, "", "") for place in replacements_in(text))])
        details = [
            span
            for span in details
            if any(map(str.isalnum, text[span.start : span.end])) and not labelled.BEFORE_A_CODE.match(masked, span.start)
        ]
        spans = settled([*sure, *names, *details])
        if passage.is_open and len(passage.fields) == 1:
            spans = settled([*spans, *capitals.lines(text, spans), *(capitals.names(text) if self._strict else ())])
        return _within_fields(spans, passage.fields, text, replacements_in(text)), [*public_names, *public]

    def _found_by_plugins(self, passage: QuestionText) -> list[Span]:
        """Return what the detectors of other packages find. It adds to our own findings and never takes from them."""
        ours = replacements_in(passage.text)
        spans = []
        for name, find in self._plugins.items():
            for start, end, kind in find(passage.text):
                if not 0 <= start < end <= len(passage.text) or kind not in TYPES:
                    raise ValueError(name)
                if not any(low <= start and end <= high for low, high in ours):
                    spans.append(Span(start, end, kind, name))
        return _within_fields(spans, passage.fields, passage.text, ())

    def _entities(self, text: str) -> tuple[Span, ...]:
        return tuple(
            Span(entity.start_char, entity.end_char, entity.label_, "spacy")
            for entity in self._model(_LONG_WORD.sub(lambda word: " " * len(word[0]), text)).ents
            if entity.label_ not in _NUMBERS
        )


def _fields_in(fields: Sequence[Field], rewritten: Generalised) -> tuple[Field, ...]:
    """Return the fields with their places in a rewritten text."""
    return tuple((name, rewritten.place(low), rewritten.place(high)) for name, low, high in fields)


def _in_original(rewritten: Generalised, item: Item) -> Item:
    return replace(item, start=rewritten.original(item.start), end=rewritten.original(item.end))


def _masked(text: str, spans: Iterable[Span]) -> str:
    """Return a text with `;` instead of these spans, so that no address extends across them."""
    for span in spans:
        text = text[: span.start] + ";" * (span.end - span.start) + text[span.end :]
    return text


def _within_fields(
    spans: Sequence[Span], fields: Sequence[tuple[str, int, int]], text: str, replaced: Sequence[tuple[int, int]]
) -> list[Span]:
    """Return the spans cut at the borders of fields and trimmed, without those that overlap what is replaced."""
    parts: list[Span] = []
    for span in spans:
        for _, low, high in fields:
            start, end = max(span.start, low), min(span.end, high)
            piece = text[start:end]
            start, end = start + len(piece) - len(piece.lstrip(_EDGE)), end - len(piece) + len(piece.rstrip(_EDGE))
            part = Span(start, end, span.type, span.detector)
            if start < end and not any(part.overlaps(*other) for other in replaced):
                parts.append(part)
    return parts


def _replaced(text: str, spans: Sequence[Span]) -> list[Finding]:
    replacements = Replacements(text, spans)
    return [Finding("", span.start, span.end, span.type, span.detector, replacements.of(span)) for span in spans]


def _with_different_options(rewritten: Rewritten, originals: Sequence[str]) -> Rewritten:
    """Add a number to the last replacement of each option that has become equal to another one."""
    findings = list(rewritten.findings)
    changed_fields = {item.field for item in findings}
    before, texts = texts_by_field("", originals), texts_by_field("", rewritten.options)
    original_of = {text: before[field] for field, text in texts.items() if field not in changed_fields}
    for field, text in texts.items():
        unique, count = text, 1
        while original_of.setdefault(unique, before[field]) != before[field]:
            count += 1
            at = max(at for at, item in enumerate(rewritten.findings) if item.field == field)
            last = rewritten.findings[at]
            tail = before[field][last.end :]
            numbered = f"{last.replacement} ({count})"
            unique = text[: len(text) - len(tail) - len(last.replacement)] + numbered + tail
            findings[at] = replace(last, replacement=numbered)
        texts[field] = unique
    return replace(rewritten, options=tuple(texts.values())[1:], findings=tuple(findings))
