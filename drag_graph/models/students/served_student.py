"""A student behind LiteLLM: any OpenAI-compatible server (Ollama, llama.cpp, vLLM) or a cloud model."""

import logging
import math
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

from drag_graph.errors import ConfigurationError, MalformedReply, RefusedReply, ReplyError, TruncatedReply
from drag_graph.model import LABELS, Scoring
from drag_graph.models.chat_client import Completion, Server, complete, load_litellm
from drag_graph.models.locality import Check
from drag_graph.models.provider_errors import RequestRejected
from drag_graph.models.reasoning import without_reasoning
from drag_graph.models.students.choice_parsing import parse_label
from drag_graph.models.students.option_scoring import TEXT_SCORINGS
from drag_graph.ports.model_roles import Layout, Prompt, StudentReply

DEFAULT_CONTEXT_WINDOW = 4096
"""Tokens; for models that LiteLLM's local map does not know, such as one behind an address of one's own."""
UNMEASURED = 0.5
"""The confidence of an answer that came without log-probabilities."""
MAX_TOKENS = 1024
TOP_LOGPROBS = 20
LETTER_ONLY = "Answer with the letter of one option only, and nothing else."
KEY_VARIABLE = "DRAG_GRAPH_STUDENT_API_KEY"

_log = logging.getLogger(__name__)
_MARKS = " \t\n([{\"'*_`.):]}\u2581\u0120"


class LiteLLMStudent:
    """Asks a chat model at temperature 0. Thread-safe.

    Of a multiple-choice question it takes the option whose letter has the highest log-probability at the place of the
    answer, where the server gives log-probabilities; else the letter that the reply names (`parsing.parse_label`). Where
    there is none, it asks once more for the letter only; where there still is none, the label is None.

    Confidence, in [0, 1]. With log-probabilities: the probability of the chosen letter, renormalised over the options' letters
    where the server listed them all; for an open question the geometric mean of the probabilities of the answer's tokens.
    Without: 0.5, which says only that nothing was measured. Without a label where one was asked for: 0.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        api_key: str = "",
        timeout: float = 120.0,
        scoring: Scoring = "auto",
        privacy: Check | None = None,
    ) -> None:
        """`timeout` is that of one attempt, in seconds. The scoring `letter` is an error where there are no log-probabilities.

        Raises ConfigurationError for a scoring by the options' text.
        """
        if scoring in TEXT_SCORINGS:
            message = f"the student {model!r} is behind an API, which does not tell the likelihood of a given text"
            raise ConfigurationError(message, hint="Use --scoring letter or reply, or a student in this process (gguf:FILE).")
        self._model = model
        self._server = Server(model, base_url, api_key, KEY_VARIABLE, timeout, privacy=privacy)
        self._asked_for = scoring
        self.scoring: Scoring = "letter" if scoring == "auto" else scoring
        """How it chooses an option now: `auto` is `letter`, and `reply` from when the server turns out not to offer that."""

    @property
    def name(self) -> str:
        return self._model

    @property
    def layout(self) -> Layout:
        return Layout()

    @cached_property
    def context_window(self) -> int:
        """What LiteLLM's local map says, else 4096 tokens."""
        known = load_litellm().model_cost
        entry = known.get(self._model) or known.get(self._model.split("/", 1)[-1]) or {}
        return int(entry.get("max_input_tokens") or entry.get("max_tokens") or DEFAULT_CONTEXT_WINDOW)

    def count_tokens(self, text: str) -> int:
        """Return the tokens of `text` by the tokenizer that LiteLLM carries: exact for OpenAI's models, near for others."""
        return int(load_litellm().token_counter(model=self._model, text=text))

    def answer(self, prompt: Prompt) -> StudentReply:
        messages = prompt.messages()
        completion = self._complete(messages)
        if prompt.options:
            return self._choice(prompt, messages, completion)
        text = without_reasoning(completion.text).strip()
        if text:
            return StudentReply(text=text, label=None, confidence=_mean_probability(_tokens(completion.logprobs), text))
        if completion.finish_reason == "length":
            raise TruncatedReply(f"the student {self._model!r} was cut off before its answer", raw=completion.text)
        raise MalformedReply(f"the student {self._model!r} answered nothing", raw=completion.text)

    def _choice(self, prompt: Prompt, messages: Sequence[Mapping[str, str]], completion: Completion) -> StudentReply:
        if completion.text and not _tokens(completion.logprobs):
            message, hint = f"the student {self._model!r} gives no log-probabilities", "Use --scoring reply."
            self._go_on_by_reply(MalformedReply(message, hint=hint, raw=completion.text))
        reply = _read_choice(prompt.options, completion)
        if reply is not None:
            return reply
        said = without_reasoning(completion.text).strip()
        again = [*messages, {"role": "assistant", "content": said}, {"role": "user", "content": LETTER_ONLY}]
        if not said:  # two turns of the user in a row are not accepted everywhere
            again = [*messages[:-1], {"role": "user", "content": f"{messages[-1]['content']}\n\n{LETTER_ONLY}"}]
        second = self._complete(again)
        said = said or without_reasoning(second.text).strip()
        return _read_choice(prompt.options, second) or StudentReply(text=said, label=None, confidence=0.0)

    def _complete(self, messages: Sequence[Mapping[str, str]]) -> Completion:
        """Return the model's reply, with log-probabilities where the server has them. Raises RefusedReply, too."""
        ask = partial(complete, self._server, messages, temperature=0.0, max_tokens=MAX_TOKENS)
        if self.scoring == "reply":
            completion = ask()
        else:
            try:
                completion = ask(logprobs=True, top_logprobs=TOP_LOGPROBS)
            except RequestRejected as error:
                if self._asked_for == "letter":
                    raise
                completion = ask()  # some servers reject what they do not offer
                self._go_on_by_reply(error)
        if completion.finish_reason == "content_filter":
            raise RefusedReply(f"the student {self._model!r} declined to answer", raw=completion.text)
        return completion

    def _go_on_by_reply(self, why: ReplyError) -> None:
        """Ask without log-probabilities from now on, aloud. Raises `why` where they were asked for by name."""
        if self._asked_for == "letter":
            raise why
        if self.scoring == "letter":
            _log.warning("%s: from now on its options are chosen by the letter that it names (--scoring reply)", why.message)
        self.scoring = "reply"


def _read_choice(options: Sequence[str], completion: Completion) -> StudentReply | None:
    """Return the choice that a completion makes, by log-probability or by its words, or None.

    Of letters of the same log-probability it takes the one that the reply names. Raises MalformedReply where it names another.
    """
    label = parse_label(completion.text, options)
    if label is None:
        return None
    labels = LABELS[: len(options)]
    found = letter_probabilities(_tokens(completion.logprobs), labels, label)
    if not found:
        return StudentReply(options[labels.index(label)], label, UNMEASURED)
    likeliest = [letter for letter, probability in found.items() if probability == max(found.values())]
    if label not in likeliest:
        if len(likeliest) > 1:
            raise MalformedReply("the student gives several options the same likelihood", raw=completion.text)
        [label] = likeliest
    text = options[labels.index(label)]
    if len(found) < len(labels):
        return StudentReply(text, label, min(1.0, found[label]))
    total = math.fsum(found.values())
    return StudentReply(text, label, found[label] / total, tuple(found[letter] / total for letter in labels))


def letter_probabilities(tokens: Sequence[Mapping[str, Any]], letters: str, label: str) -> dict[str, float]:
    """Return the probabilities of those of `letters` that the server listed where the answer's letter stands.

    `tokens` is the `content` of OpenAI's `logprobs`, `label` the letter that the whole reply was read as. The letter
    stands in the token that is this letter and where all letters together have the most probability (elsewhere an `A` is an
    article, and other words compete with it). Space and punctuation around a letter do not matter.
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
    """Return the alternatives at a token's place, itself among them once."""
    found = list(token.get("top_logprobs") or [])
    return found if any(entry.get("token") == token.get("token") for entry in found) else [*found, token]


def _letter(token: Mapping[str, Any], letters: str) -> str:
    word = str(token.get("token", "")).strip(_MARKS)
    return word if len(word) == 1 and word in letters else ""


def _tokens(logprobs: Any) -> list[Mapping[str, Any]]:
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    return [token for token in content or [] if isinstance(token, Mapping)]


def _mean_probability(tokens: Sequence[Mapping[str, Any]], said: str) -> float:
    """Return the geometric mean of the probabilities of the tokens that spell `said`, thoughts apart; else UNMEASURED."""
    spelt = [bytes(token["bytes"]) if token.get("bytes") else str(token["token"]).encode() for token in tokens]
    ends = list(accumulate(map(len, spelt)))
    begin = b"".join(spelt).rfind(said.encode())
    end = begin + len(said.encode())
    values = [
        min(0.0, float(token["logprob"]))
        for token, piece, stop in zip(tokens, spelt, ends, strict=True)
        if begin >= 0 and begin < stop and stop - len(piece) < end
    ]
    return math.exp(math.fsum(values) / len(values)) if values else UNMEASURED
