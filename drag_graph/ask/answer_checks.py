"""What is known about the answer to an open question besides its text: citations, support, abstention, refusal, a cut."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from drag_graph.ask.student_prompt import assemble
from drag_graph.ask.support import Sentence, check, sentences_of, without_wrong_citations
from drag_graph.errors import ContextOverflow, ReplyError, Withheld
from drag_graph.graph.edge_text import plain_words
from drag_graph.model import Line
from drag_graph.ports.model_roles import Embedder, Student, StudentReply

ABSTAINS = "the sources do not answer this"
REFUSES = "the student refused to answer"
SAYS_SO = 'Do the lines say this? "{}"'
YES, NO = "yes", "no"


@dataclass(frozen=True, slots=True)
class AnswerChecker:
    """Checks answers against their context lines, with an embedder and perhaps a language model of this machine."""

    embedder: Embedder
    model: Student | None = None

    def checked(self, reply: StudentReply, lines: Sequence[Line]) -> tuple[StudentReply, dict[str, Any]]:
        """Return a reply to an open question without citations of lines that do not exist, and its facts as JSON.

        `sentences` have text, numbers of lines, `supported` (null: not checked) and, if there are any, the `absent` numbers,
        dates and names. A quotation is supported by its line. Without lines, nothing is checked.
        """
        text, removed = without_wrong_citations(reply.text, len(lines))
        sentences = () if reply.quoted or reply.abstained else self._sentences(text, lines)
        facts: dict[str, Any] = {
            "sentences": [_as_json(one) for one in sentences],
            "abstained": reply.abstained,
            "truncated": reply.truncated,
        }
        if reply.quoted:
            sources = [line.n for line in lines if reply.text in line.text or reply.text == plain_words(line.text)][:1]
            facts["sentences"] = [{"text": reply.text, "lines": sources, "supported": True}]
        facts |= {name: True for name in ("quoted", "refused") if getattr(reply, name)}
        return replace(reply, text=text), facts | ({"removed_citations": list(removed)} if removed else {})

    def _sentences(self, text: str, lines: Sequence[Line]) -> Sequence[Sentence]:
        if lines:
            with suppress(Withheld):  # an embedder on another machine must not receive it
                checked = check(text, lines, self.embedder)
                return [self._judged(one, lines) for one in checked] if self.model else checked
        return [Sentence(one, None, 0.0, 0) for one in sentences_of(text)]

    def _judged(self, sentence: Sentence, lines: Sequence[Line]) -> Sentence:
        """Return a sentence with the verdict of the model. Numbers, dates and names that no line has stay unsupported."""
        if sentence.is_supported is None or sentence.absent or self.model is None:
            return sentence
        with suppress(ContextOverflow, ReplyError):
            prompt = assemble(
                SAYS_SO.format(sentence.text),
                (YES, NO),
                lines,
                count_tokens=self.model.count_tokens,
                context_window=self.model.context_window,
                layout=replace(self.model.layout(is_open=False), quoted=True),
            ).prompt
            return replace(sentence, is_supported=self.model.answer(prompt).text == YES)
        return replace(sentence, is_supported=None)


def _as_json(sentence: Sentence) -> dict[str, Any]:
    lines = list(sentence.cited) or ([sentence.line] if sentence.is_supported else [])
    absent = {"absent": list(sentence.absent)} if sentence.absent else {}
    return {"text": sentence.text, "lines": lines, "supported": sentence.is_supported, **absent}


def is_unsupported(facts: Mapping[str, Any]) -> bool:
    """Whether a sentence of an answer has no support."""
    return any(one["supported"] is False for one in facts.get("sentences", ()))
