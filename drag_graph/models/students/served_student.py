"""A served model as the student: any OpenAI-compatible server (Ollama, llama.cpp, vLLM) or a cloud model."""

import logging
import math
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

from drag_graph.errors import ConfigurationError, MalformedReply, RefusedReply, ReplyError, TruncatedReply
from drag_graph.model import LABELS, Scoring
from drag_graph.models.chat_client import Completion, complete
from drag_graph.models.model_catalogue import context_window, count_text
from drag_graph.models.model_server import Server
from drag_graph.models.provider_errors import RequestRejected
from drag_graph.models.reasoning import without_reasoning
from drag_graph.models.students.choice_parsing import parse_label
from drag_graph.models.students.open_answers import answer_openly
from drag_graph.models.students.option_scoring import TEXT_SCORINGS, UNMEASURED
from drag_graph.ports.model_roles import Layout, OnToken, Prompt, StudentReply

MAX_CHOICE_TOKENS = 1024
"""Tokens of a reply to a question with options, which may contain reasoning."""
TOP_LOGPROBS = 20
LETTER_ONLY = "Answer with the letter of one option only, and nothing else."

_log = logging.getLogger(__name__)
_MARKS = " \t\n([{\"'*_`.):]}\u2581\u0120"


class ServedStudent:
    """A chat model at temperature 0, with a `seed` for servers that sample nevertheless. Thread-safe.

    For a multiple-choice question it takes the option whose letter has the highest log-probability at the position of the
    answer. If the server sends no log-probabilities, it takes the letter that the reply names (`parse_label`). Without a letter
    it asks once more for the letter only; the label is None if that fails as well.

    Confidence, in [0, 1]. With log-probabilities: the probability of the chosen letter, normalised over the letters of all
    options if the server listed them all; for an open question the geometric mean of the probabilities of the answer's tokens.
    Without log-probabilities: 0.5 (not measured). Without a label for a multiple-choice question: 0.
    """

    def __init__(self, server: Server, *, scoring: Scoring = "auto", seed: int | None = None) -> None:
        """Raise ConfigurationError for a scoring by the text of options."""
        if scoring in TEXT_SCORINGS:
            message = f"The student {server.model!r} is served, and servers do not report the likelihood of a given text."
            raise ConfigurationError(
                message, hint="Use `scoring=letter`, `scoring=reply`, or a student in this process (gguf:FILE)."
            )
        self.name = server.model
        self._server = server
        self._sampling: dict[str, Any] = {"temperature": 0.0} if seed is None else {"temperature": 0.0, "seed": seed}
        self._requested_scoring = scoring
        self.scoring: Scoring = "letter" if scoring == "auto" else scoring
        """The scoring in use. `auto` begins with `letter` and changes to `reply` if the server has no log-probabilities."""

    def layout(self, *, is_open: bool) -> Layout:  # noqa: ARG002 - the same for both
        return Layout()

    @cached_property
    def context_window(self) -> int:
        """The context window in the catalogue, else 4096 tokens."""
        return context_window(self.name)

    def count_tokens(self, text: str) -> int:
        """Return the tokens of `text`: exact for OpenAI's models, an estimate for others."""
        return count_text(self.name, text)

    def answer(self, prompt: Prompt, on_token: OnToken | None = None) -> StudentReply:
        if not prompt.options:
            return answer_openly(prompt, lambda one: self._write(one, on_token))
        messages = prompt.messages()
        return self._choice(prompt, messages, self._complete(messages, MAX_CHOICE_TOKENS))

    def _write(self, prompt: Prompt, on_token: OnToken | None) -> StudentReply:
        completion = self._complete(prompt.messages(), prompt.answer_tokens, on_token)
        text = without_reasoning(completion.text).strip()
        if text:
            confidence = _mean_probability(_tokens(completion.logprobs), text)
            return StudentReply(text, None, confidence, truncated=completion.finish_reason == "length")
        if completion.finish_reason == "length":
            message = f"The student {self.name!r} was cut off before its answer."
            raise TruncatedReply(message, hint="Raise `max_answer_tokens=TOKENS`.", raw=completion.text)
        raise MalformedReply(f"The student {self.name!r} returned an empty answer.", raw=completion.text)

    def _choice(self, prompt: Prompt, messages: Sequence[Mapping[str, str]], completion: Completion) -> StudentReply:
        if completion.text and not _tokens(completion.logprobs):
            message, hint = f"The student {self.name!r} sends no log-probabilities.", "Use `scoring=reply`."
            self._switch_to_reply(MalformedReply(message, hint=hint, raw=completion.text))
        reply = _read_choice(prompt.options, completion)
        if reply is not None:
            return reply
        text = without_reasoning(completion.text).strip()
        again = [*messages, {"role": "assistant", "content": text}, {"role": "user", "content": LETTER_ONLY}]
        if not text:  # some servers reject two turns of the user in a row
            again = [*messages[:-1], {"role": "user", "content": f"{messages[-1]['content']}\n\n{LETTER_ONLY}"}]
        second = self._complete(again, MAX_CHOICE_TOKENS)
        text = text or without_reasoning(second.text).strip()
        return _read_choice(prompt.options, second) or StudentReply(text=text, label=None, confidence=0.0)

    def _complete(self, messages: Sequence[Mapping[str, str]], limit: int, on_token: OnToken | None = None) -> Completion:
        """Return the model's reply, with log-probabilities if the server sends them. Raises RefusedReply as well."""
        ask = partial(complete, self._server, messages, on_token=on_token, max_tokens=limit, **self._sampling)
        if self.scoring == "reply":
            completion = ask()
        else:
            try:
                completion = ask(logprobs=True, top_logprobs=TOP_LOGPROBS)
            except RequestRejected as error:
                if self._requested_scoring == "letter":
                    raise
                completion = ask()  # some servers reject what they do not support
                self._switch_to_reply(error)
        if completion.finish_reason == "content_filter":
            raise RefusedReply(f"The student {self.name!r} declined to answer.", raw=completion.text)
        return completion

    def _switch_to_reply(self, reason: ReplyError) -> None:
        """Log a warning and do without log-probabilities from now on. Raises `reason` if the scoring `letter` was requested."""
        if self._requested_scoring == "letter":
            raise reason
        if self.scoring == "letter":
            _log.warning("%s Its options are now chosen by the letter that the reply names (`scoring=reply`).", reason.message)
        self.scoring = "reply"


def _read_choice(options: Sequence[str], completion: Completion) -> StudentReply | None:
    """Return the choice in a completion, by log-probability or by its text, or None.

    Among letters of the same log-probability it takes the one that the reply names. Raises MalformedReply if that is another.
    """
    label = parse_label(completion.text, options)
    if label is None:
        return None
    labels = LABELS[: len(options)]
    letters = letter_probabilities(_tokens(completion.logprobs), labels, label)
    if not letters:
        return StudentReply(options[labels.index(label)], label, UNMEASURED)
    likeliest = [letter for letter, probability in letters.items() if probability == max(letters.values())]
    if label not in likeliest:
        if len(likeliest) > 1:
            raise MalformedReply("The student finds several options equally likely.", raw=completion.text)
        [label] = likeliest
    text = options[labels.index(label)]
    if len(letters) < len(labels):
        return StudentReply(text, label, min(1.0, letters[label]))
    total = math.fsum(letters.values())
    return StudentReply(text, label, letters[label] / total, tuple(letters[letter] / total for letter in labels))


def letter_probabilities(tokens: Sequence[Mapping[str, Any]], letters: str, label: str) -> dict[str, float]:
    """Return the probabilities of the `letters` that the server listed at the position of the answer's letter.

    `tokens` is the `content` of OpenAI's `logprobs`, `label` the letter in the whole reply. The position is the token with this
    letter at which all letters together have the highest probability: elsewhere an `A` is an article, and other words compete
    with it. Space and punctuation around a letter are ignored.
    """
    places = [_letter_mass(token, letters) for token in tokens if _letter(token, letters) == label]
    best = max(places, key=lambda mass: math.fsum(mass.values()), default={})
    return best if math.fsum(best.values()) else {}


def _letter_mass(token: Mapping[str, Any], letters: str) -> dict[str, float]:
    mass: dict[str, float] = {}
    for entry in _alternatives(token):
        letter = _letter(entry, letters)
        if letter:
            mass[letter] = mass.get(letter, 0.0) + math.exp(min(0.0, float(entry["logprob"])))
    return mass


def _alternatives(token: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the alternatives at the position of a token, including the token itself."""
    listed = list(token.get("top_logprobs") or [])
    return listed if any(entry.get("token") == token.get("token") for entry in listed) else [*listed, token]


def _letter(token: Mapping[str, Any], letters: str) -> str:
    word = str(token.get("token", "")).strip(_MARKS)
    return word if len(word) == 1 and word in letters else ""


def _tokens(logprobs: Any) -> list[Mapping[str, Any]]:
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    return [token for token in content or [] if isinstance(token, Mapping)]


def _mean_probability(tokens: Sequence[Mapping[str, Any]], text: str) -> float:
    """Return the geometric mean of the probabilities of the tokens that spell `text`; else UNMEASURED."""
    spelt = [bytes(token["bytes"]) if token.get("bytes") else str(token["token"]).encode() for token in tokens]
    ends = list(accumulate(map(len, spelt)))
    begin = b"".join(spelt).rfind(text.encode())
    end = begin + len(text.encode())
    values = [
        min(0.0, float(token["logprob"]))
        for token, piece, stop in zip(tokens, spelt, ends, strict=True)
        if begin >= 0 and begin < stop and stop - len(piece) < end
    ]
    return math.exp(math.fsum(values) / len(values)) if values else UNMEASURED
