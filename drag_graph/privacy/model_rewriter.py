"""A local model that rewrites a question after the detectors, to replace what they missed (`--rewriter`).

Its version is used only if it passes all checks here and in the gate. Otherwise the detectors' version stays.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from drag_graph import log
from drag_graph.errors import ReplyError
from drag_graph.models.chat_client import complete
from drag_graph.models.model_server import Server
from drag_graph.ports.model_roles import Embedder
from drag_graph.ports.private_details import Finding, Rewritten
from drag_graph.privacy.rewritten_text import Generalised

PROMPT_VERSION = "rewrite/1"
TYPE = "DETAIL"
DETECTOR = "model"
CLOSE = 0.9
"""Minimum cosine of two texts that count as the same question."""
MOST_REPLACEMENTS = 12
MOST_TOKENS = 1024
SYSTEM = (
    "You take out of a question what could tell who a private person is. Some details are replaced already, as in "
    '"Person A" or "a city in England": leave these words as they are. Replace each other name of a private person, of the '
    "place, firm or school of one, each user name and nickname by general words. Names that the question is about, such as those "
    "of scientists, illnesses and countries, stay. Copy everything else word for word, with all numbers. Reply with one JSON "
    'object of the schema "rewrite": {"question": the whole question, "replacements": [{"original": words that you replaced, '
    '"placeholder": what stands there now}]}. Where there is nothing to replace the list is empty.'
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Replacement(BaseModel):
    """Replaced words and their replacement."""

    original: str
    placeholder: str


class RewriteReply(BaseModel):
    """`{"question", "replacements": [{"original", "placeholder"}]}`."""

    question: str
    replacements: list[Replacement]


class Reworder:
    """Asks a model to rewrite questions. `server` returns its current connection; `embedder` compares texts."""

    def __init__(self, name: str, server: Callable[[], Server], embedder: Embedder) -> None:
        self.version = f"{name}, {PROMPT_VERSION}"
        self._server = server
        self._embedder = embedder

    def call(self, question: str) -> dict[str, Any]:
        """Return the request about a question, as it is recorded."""
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"Question: {question}"}]
        return {"model": self.version, "messages": messages, "parameters": {"temperature": 0.0, "max_tokens": MOST_TOKENS}}

    def ask(self, call: dict[str, Any], question: str) -> dict[str, Any] | None:
        """Send a request; return it with the model's reply, to be recorded, or None if there is no reply. Raises ModelError."""
        try:
            server = self._server()
            parameters = dict(call["parameters"])
            if server.takes_schemas:
                parameters["response_format"] = _shape(question)
            reply = complete(server, call["messages"], **parameters)
        except ReplyError as error:
            log.event("rewriting", status="failed", reason=type(error).__name__)
            return None
        return {
            **call,
            "reply": reply.text,
            "tokens_in": reply.tokens_in,
            "tokens_out": reply.tokens_out,
            "latency_ms": reply.latency_ms,
        }

    def checked(self, question: str, rewritten: Rewritten, reply: str) -> Rewritten | None:
        """Return the model's version of a rewritten question, or None if it must not be used.

        It must replace something that looks like a name everywhere, and keep numbers, options, public names and the other
        replacements. Apart from that it must mean the same.
        """
        parsed = _parsed(reply)
        if parsed is None:
            return None
        text, new = rewritten.question, parsed.question.strip()
        generalised = Generalised(question, [item for item in rewritten.findings if item.field == "question"])
        public = {question[item.start : item.end].casefold() for item in rewritten.kept if item.field == "question"}
        findings, patched = list(rewritten.findings), text
        for item in parsed.replacements:
            original, placeholder = item.original.strip(), item.placeholder.strip()
            if not original or not _places(original, text):
                continue
            unfit = original == original.lower() or original.casefold() in public or not placeholder
            if unfit or any(_places(original, other) for other in (new, placeholder, *rewritten.options)):
                return None
            for low, high in _places(original, text):
                start, end = generalised.original(low), generalised.original(high)
                if question[start:end] != text[low:high]:
                    return None
                findings.append(Finding("question", start, end, TYPE, DETECTOR, placeholder))
            patched = patched.replace(original, placeholder)
        is_complete = all(item.replacement in new for item in rewritten.findings if item.field == "question")
        if patched == text or not is_complete or _numbers(new) != _numbers(text) or self._cosine(patched, new) < CLOSE:
            return None
        return replace(rewritten, question=new, findings=tuple(findings))

    def _cosine(self, one: str, other: str) -> float:
        first, second = self._embedder.embed([one, other])
        return float(first @ second)


def _parsed(reply: str) -> RewriteReply | None:
    try:
        return RewriteReply.model_validate_json(reply[reply.find("{") : reply.rfind("}") + 1])
    except ValidationError:
        return None


def _places(words: str, text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(rf"(?<!\w){re.escape(words)}(?!\w)", text)]


def _numbers(text: str) -> Counter[str]:
    return Counter(_NUMBER.findall(text))


def _shape(question: str) -> dict[str, Any]:
    """Return the JSON schema of a reply. Without its bounds a small model may write until its limit."""
    words = {"type": "string", "maxLength": 120}
    entry = _object({"original": words, "placeholder": words})
    whole = {"type": "string", "maxLength": 2 * len(question) + 200}
    schema = _object({"question": whole, "replacements": {"type": "array", "items": entry, "maxItems": MOST_REPLACEMENTS}})
    return {"type": "json_schema", "json_schema": {"name": "rewrite", "schema": schema, "strict": True}}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
