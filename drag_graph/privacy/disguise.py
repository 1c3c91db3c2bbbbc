"""A rewritten question together with its original: put names back, and generalise replies about the original.

Only replacements that name one person ("Person A") are put back into other texts; generalisations are only listed.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from drag_graph.errors import Withheld
from drag_graph.model import Answer, Line
from drag_graph.ports.private_details import Finding, texts_by_field
from drag_graph.ports.question_gate import WITHHELD
from drag_graph.privacy.outgoing import words_of

NAMED = "PERSON"
"""The type whose replacements are unique names."""
SHORTEST_PART = 3
"""Minimum letters of a part of a name that is searched for alone in a student's reply."""


@dataclass(frozen=True)
class Reidentification:
    """A `Disguise`. `generalise` rewrites another text, or raises Withheld."""

    asked_id: str
    question: str
    options: tuple[str, ...]
    findings: tuple[Finding, ...]
    generalise: Callable[[str], str]

    def restored_lines(self, lines: Sequence[Line]) -> tuple[Line, ...]:
        # In lines of other questions, "Person A" is another person.
        return tuple(
            line.model_copy(update={"text": self._restored(line.text)}) if line.source_id == self.asked_id else line
            for line in lines
        )

    def restored_answer(self, answer: Answer) -> Answer:
        text = self._restored(answer.text)
        if answer.label and answer.text in answer.options:
            text = self.options[answer.options.index(answer.text)]
        lines = self.restored_lines(answer.lines)
        if reply := dict(answer.snapshot.get("reply", {})):
            reply["sentences"] = [{**one, "text": self._restored(one["text"])} for one in reply.get("sentences", ())]
        update = {"question": self.question, "options": self.options, "text": text, "lines": lines}
        return answer.model_copy(update=update | {"snapshot": {**answer.snapshot, "reply": reply}})

    def hidden(self, text: str) -> str:
        for original, replacement in self._originals:
            text = re.sub(rf"(?<!\w){re.escape(original)}(?!\w)", lambda _match, new=replacement: new, text)  # type: ignore[misc]
        try:
            return self.generalise(text) if text.strip() else text
        except Withheld:
            return WITHHELD

    def generalised(self) -> list[dict[str, str]]:
        details = {(self._text(item), item.type): item for item in self.findings}
        return [
            {"original": original, "type": type_, "detector": item.detector, "replacement": item.replacement}
            for (original, type_), item in details.items()
        ]

    def _restored(self, text: str) -> str:
        if not self._names:
            return text
        placeholders = "|".join(re.escape(name) for name in sorted(self._names, key=len, reverse=True))
        return re.sub(rf"(?<!\w)(?:{placeholders})(?!\w)", lambda match: self._names[match[0]], text)

    @cached_property
    def _names(self) -> dict[str, str]:
        """The longest name by placeholder."""
        names: dict[str, str] = {}
        for item in self.findings:
            name = self._text(item)
            if item.type == NAMED and len(name) > len(names.get(item.replacement, "")):
                names[item.replacement] = name
        return names

    @cached_property
    def _originals(self) -> Sequence[tuple[str, str]]:
        """All details and parts of names with their replacements, also in capitals, longest first."""
        pairs = {self._text(item): item.replacement for item in self.findings}
        for placeholder, name in self._names.items():
            pairs = {part: placeholder for part in name.split() if len("".join(words_of(part))) >= SHORTEST_PART} | pairs
        pairs = {name.upper(): replacement for name, replacement in pairs.items()} | pairs
        return sorted(pairs.items(), key=lambda pair: -len(pair[0]))

    def _text(self, item: Finding) -> str:
        return texts_by_field(self.question, self.options)[item.field][item.start : item.end]
