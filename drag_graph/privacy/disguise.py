"""A generalised question beside its original: what puts its names back, and what takes them out of a reply.

Only what stands for one person ("Person A") is put back into other texts. What was made more general is listed.
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
"""The type whose replacements are names of their own."""
LEAST_PART = 3
"""Letters of a part of a name that is looked for by itself in what a student said."""


@dataclass(frozen=True)
class Reidentification:
    """A question as it was given, and what was found in it. `generalise` rewrites another text, or raises Withheld."""

    asked_id: str
    question: str
    options: tuple[str, ...]
    findings: tuple[Finding, ...]
    generalise: Callable[[str], str]

    def restored_lines(self, lines: Sequence[Line]) -> tuple[Line, ...]:
        """Return the lines with names put back into those of the question itself: in others, "Person A" is somebody else."""
        return tuple(
            line.model_copy(update={"text": self._restored(line.text)}) if line.source_id == self.asked_id else line
            for line in lines
        )

    def restored_answer(self, answer: Answer) -> Answer:
        """Return the answer as it reads of the original, to be shown and never kept."""
        text = self._restored(answer.text)
        if answer.label and answer.text in answer.options:
            text = self.options[answer.options.index(answer.text)]
        lines = self.restored_lines(answer.lines)
        return answer.model_copy(update={"question": self.question, "options": self.options, "text": text, "lines": lines})

    def _restored(self, text: str) -> str:
        if not self._names:
            return text
        placeholders = "|".join(re.escape(name) for name in sorted(self._names, key=len, reverse=True))
        return re.sub(rf"(?<!\w)(?:{placeholders})(?!\w)", lambda match: self._names[match[0]], text)

    def hidden(self, text: str) -> str:
        """Return a text of somebody who knows the original, generalised as the question was."""
        for original, replacement in self._originals:
            text = re.sub(rf"(?<!\w){re.escape(original)}(?!\w)", lambda _match, words=replacement: words, text)  # type: ignore[misc]
        if not text.strip():
            return text
        try:
            return self.generalise(text)
        except Withheld:
            return WITHHELD

    def generalised(self) -> list[dict[str, str]]:
        """Return each detail once, with what stands for it."""
        pairs = {(self._text(item), item.type): item for item in self.findings}
        return [
            {"original": original, "type": type_, "detector": item.detector, "replacement": item.replacement}
            for (original, type_), item in pairs.items()
        ]

    @cached_property
    def _names(self) -> dict[str, str]:
        """The longest name that each placeholder stands for."""
        found: dict[str, str] = {}
        for item in self.findings:
            name = self._text(item)
            if item.type == NAMED and len(name) > len(found.get(item.replacement, "")):
                found[item.replacement] = name
        return found

    @cached_property
    def _originals(self) -> Sequence[tuple[str, str]]:
        """All details with what stands for them, the longest first; of names also their parts; in capitals, too."""
        found = {self._text(item): item.replacement for item in self.findings}
        for placeholder, name in self._names.items():
            found = {part: placeholder for part in name.split() if len("".join(words_of(part))) >= LEAST_PART} | found
        found = {name.upper(): replacement for name, replacement in found.items()} | found
        return sorted(found.items(), key=lambda pair: -len(pair[0]))

    def _text(self, item: Finding) -> str:
        return texts_by_field(self.question, self.options)[item.field][item.start : item.end]
