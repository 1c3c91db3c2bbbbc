"""A student that is a causal language model in this process (docs/design.md, section 5).

The model itself (by `transformers`, or a GGUF file by llama.cpp) tells what it finds likely; what is made of that is here,
once.
"""

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, Protocol

import numpy as np

from drag_graph.errors import ContextOverflow, MalformedReply
from drag_graph.model import LABELS, Scoring
from drag_graph.models.reasoning import without_reasoning
from drag_graph.models.students.choice_parsing import parse_label
from drag_graph.models.students.option_scoring import TEXT_SCORINGS, option_scores, softmax
from drag_graph.ports.model_roles import PLAIN, Layout, Prompt, StudentReply

MAX_NEW_TOKENS = 64
UNMEASURED = 0.5
"""The confidence of a choice that was read from a reply."""
REMEMBERED_OPTIONS = 4_096
_NEXT_SECTION = "\n["


Form = Literal["part", "text", "chat"]
"""What a text is: part of a longer one, a whole one, or one that a chat template made (its marks are no words)."""


class CausalModel(Protocol):
    """A language model in this process. It need not be thread-safe."""

    @property
    def name(self) -> str:
        """What an answer's `student` records."""

    @property
    def context_window(self) -> int:
        """The most tokens that a prompt and what follows it may have."""

    @property
    def follows_instructions(self) -> bool:
        """Whether it was trained to: then it has a chat template."""

    def chat(self, prompt: Prompt) -> str:
        """Return the prompt as the model's chat template has it, ready for the model's turn."""

    def tokens(self, text: str, form: Form) -> list[int]:
        """Return the token ids of `text`."""

    def log_probabilities(self, prompt: Sequence[int], continuations: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return for each continuation of `prompt` the natural log-probability of each of its tokens."""

    def write(self, prompt: Sequence[int], limit: int) -> tuple[str, list[float]]:
        """Continue `prompt` greedily by at most `limit` tokens; return the text and its tokens' log-probabilities."""


class CausalStudent:
    """Answers with a `CausalModel`. Thread-safe: one question at a time.

    Multiple choice is decided as `scoring` says (`students/scoring.py`): the likelihood of an option's letter, or of its text,
    after the prompt (the model's chat template around it, if it has one), or the letter that its reply names. `auto` is
    `option-text-mutual-info` (docs/students.md tells what was measured). An open question is answered greedily.

    Confidence, in [0, 1]: the probability of the chosen option, normalised over the options; for an open question the geometric
    mean of the probabilities of the tokens it wrote; for a choice by `reply` 0.5, which says that nothing was measured. None is
    calibrated: small models are too sure.
    """

    def __init__(self, model: CausalModel, *, scoring: Scoring = "auto", max_new_tokens: int = MAX_NEW_TOKENS) -> None:
        self._model = model
        self.scoring: Scoring = "option-text-mutual-info" if scoring == "auto" else scoring
        self._max_new_tokens = max_new_tokens
        self._lock = threading.RLock()
        # An evaluation asks the same question in every mode.
        self._sums_unaided = lru_cache(maxsize=REMEMBERED_OPTIONS)(self._log_likelihoods_unaided)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def layout(self) -> Layout:
        """Plain, and without a list of the options, where their text is scored: measured in docs/results.md."""
        return PLAIN if self.scoring in TEXT_SCORINGS else Layout()

    @property
    def context_window(self) -> int:
        with self._lock:
            return self._model.context_window

    def count_tokens(self, text: str) -> int:
        with self._lock:
            return len(self._model.tokens(text, "part")) if text else 0

    def answer(self, prompt: Prompt) -> StudentReply:
        """Answer one prompt. Raises ContextOverflow, MalformedReply, and what the model raises."""
        with self._lock:
            if not prompt.options:
                return self._write(prompt)
            return self._named(prompt) if self.scoring == "reply" else self._likeliest(prompt)

    def _likeliest(self, prompt: Prompt) -> StudentReply:
        text, form = self._rendered(prompt)
        gap = "" if form == "chat" else " "
        labels = LABELS[: len(prompt.options)]
        said = list(prompt.options) if self.scoring in TEXT_SCORINGS else list(labels)
        sums = log_likelihoods(self._model, text, [f"{gap}{one.strip()}" for one in said], form)
        trigger = prompt.text.rsplit("\n", 1)[-1]
        unaided = self._sums_unaided(trigger, tuple(said)) if self.scoring == "option-text-mutual-info" else ()
        probabilities = softmax(option_scores(self.scoring, said, sums, unaided))
        best = int(np.argmax(probabilities))
        return StudentReply(prompt.options[best], labels[best], float(probabilities[best]), tuple(map(float, probabilities)))

    def _log_likelihoods_unaided(self, trigger: str, said: tuple[str, ...]) -> list[float]:
        """All options at once: where they begin to differ from the mere trigger depends on all of them.

        No chat template is around the trigger, and a space before the option: there is none before a reply to a chat, so that
        its tokens may be others. It is a prior of plain text then (docs/students.md); the published figures are with it.
        """
        return log_likelihoods(self._model, trigger, [f" {one.strip()}" for one in said], "text")

    def _named(self, prompt: Prompt) -> StudentReply:
        text, form = self._rendered(prompt)
        said, _ = self._model.write(self._with_room(text, form), self._max_new_tokens)
        label = parse_label(said, prompt.options)
        if label is None:
            return StudentReply(without_reasoning(said).strip(), None, 0.0)
        return StudentReply(prompt.options[LABELS.index(label)], label, UNMEASURED)

    def _write(self, prompt: Prompt) -> StudentReply:
        text, form = self._rendered(prompt)
        written, log_probabilities = self._model.write(self._with_room(text, form), self._max_new_tokens)
        answer = without_reasoning(written).strip()
        thoughts = written.rstrip().removesuffix(answer).rstrip(" ")  # a word's token has the space before it
        said = answer.split(_NEXT_SECTION)[0].strip()
        if form == "text":  # a model that only continues texts goes on with a question of its own
            said = said.partition("\n")[0].strip()
        if not said:
            raise MalformedReply(f"the student {self.name!r} answered nothing")
        first = len(self._model.tokens(thoughts, "part")) if thoughts else 0
        counted = log_probabilities[first:][
            : len(self._model.tokens(said, "part"))
        ]  # of what is answered, not of what came after
        confidence = float(np.clip(np.exp(np.mean(counted)), 0.0, 1.0)) if counted else UNMEASURED
        return StudentReply(said, None, confidence)

    def _rendered(self, prompt: Prompt) -> tuple[str, Form]:
        """Return the text that the model gets."""
        return (self._model.chat(prompt), "chat") if self._model.follows_instructions else (prompt.text, "text")

    def _with_room(self, text: str, form: Form) -> list[int]:
        ids = self._model.tokens(text, form)
        check_room(self._model, len(ids) + 1)
        return ids


def log_likelihoods(model: CausalModel, text: str, continuations: Sequence[str], form: Form) -> list[float]:
    """Return the log-probability of each continuation of a text. Raises ContextOverflow.

    Text and continuation are read as one text: where a word's tokens are others after a space, these are the ones counted.
    """
    whole = [model.tokens(text + one, form) for one in continuations]
    alone = model.tokens(text, form)
    shared = min(len(alone), *(len(_common(alone, ids)) for ids in whole), *(len(ids) - 1 for ids in whole))
    check_room(model, max(len(ids) for ids in whole))
    return [sum(found) for found in model.log_probabilities(whole[0][:shared], [ids[shared:] for ids in whole])]


def check_room(model: CausalModel, tokens: int) -> None:
    """Raise ContextOverflow where a model cannot read so many tokens."""
    if tokens > model.context_window:
        message = f"the prompt takes {tokens} tokens, the student {model.name!r} has room for {model.context_window}"
        raise ContextOverflow(message, hint="Lower the token budget, or choose a student with a longer context.")


def _common(ones: Sequence[int], others: Sequence[int]) -> Sequence[int]:
    """Return what both begin with."""
    length = next((place for place, pair in enumerate(zip(ones, others, strict=False)) if pair[0] != pair[1]), None)
    return ones[: length if length is not None else min(len(ones), len(others))]
