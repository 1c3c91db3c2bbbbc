"""A causal language model in this process as the student (docs/explanation/pipeline.md)."""

import threading
from functools import lru_cache

import numpy as np

from drag_graph.errors import MalformedReply
from drag_graph.model import LABELS, Scoring
from drag_graph.models.causal_model import CausalModel, Form, check_room, log_likelihoods
from drag_graph.models.reasoning import without_reasoning
from drag_graph.models.students.choice_parsing import parse_label
from drag_graph.models.students.open_answers import answer_openly
from drag_graph.models.students.option_scoring import TEXT_SCORINGS, UNMEASURED, option_scores, softmax
from drag_graph.ports.model_roles import PLAIN, Layout, OnToken, Prompt, StudentReply

MAX_CHOICE_TOKENS = 64
REMEMBERED_OPTIONS = 4_096
_NEXT_SECTION = "\n["


class CausalStudent:
    """A `CausalModel` as a student. Thread-safe: one question at a time.

    `scoring` decides multiple choice (`option_scoring`): the likelihood of an option's letter or text after the prompt, or the
    letter that the reply names. `auto` is `option-text-mutual-info`. Open questions are answered
    greedily.

    Confidence, in [0, 1]: the probability of the chosen option, normalised over the options; for an open question the geometric
    mean of the probabilities of the tokens; for a choice by `reply` 0.5 (not measured). It is not calibrated: small models are
    overconfident.
    """

    def __init__(self, model: CausalModel, *, scoring: Scoring = "auto") -> None:
        self.name = model.name
        self._model = model
        self.scoring: Scoring = "option-text-mutual-info" if scoring == "auto" else scoring
        self._lock = threading.RLock()
        # An evaluation repeats a question in every mode.
        self._sums_unaided = lru_cache(maxsize=REMEMBERED_OPTIONS)(self._log_likelihoods_unaided)

    def layout(self, *, is_open: bool) -> Layout:
        """Plain and without a list of options if their text is scored (measured in docs/measurements/students.md).

        For an open question, plain if the model has no chat template.
        """
        if is_open:
            with self._lock:
                return Layout() if self._model.follows_instructions else PLAIN
        return PLAIN if self.scoring in TEXT_SCORINGS else Layout()

    @property
    def context_window(self) -> int:
        with self._lock:
            return self._model.context_window

    def count_tokens(self, text: str) -> int:
        with self._lock:
            return len(self._model.tokens(text, "part")) if text else 0

    def answer(self, prompt: Prompt, on_token: OnToken | None = None) -> StudentReply:
        """Answer one prompt. Raises ContextOverflow, MalformedReply, and what the model raises."""
        with self._lock:
            if not prompt.options:
                return answer_openly(prompt, lambda one: self._write(one, on_token))
            return self._named(prompt) if self.scoring == "reply" else self._likeliest(prompt)

    def _likeliest(self, prompt: Prompt) -> StudentReply:
        text, form = self._rendered(prompt)
        gap = "" if form == "chat" else " "
        labels = LABELS[: len(prompt.options)]
        answers = list(prompt.options) if self.scoring in TEXT_SCORINGS else list(labels)
        sums = log_likelihoods(self._model, text, [f"{gap}{one.strip()}" for one in answers], form)
        trigger = prompt.text.rsplit("\n", 1)[-1]
        unaided = self._sums_unaided(trigger, tuple(answers)) if self.scoring == "option-text-mutual-info" else ()
        probabilities = softmax(option_scores(self.scoring, answers, sums, unaided))
        best = int(np.argmax(probabilities))
        return StudentReply(prompt.options[best], labels[best], float(probabilities[best]), tuple(map(float, probabilities)))

    def _log_likelihoods_unaided(self, trigger: str, answers: tuple[str, ...]) -> list[float]:
        """Return the log-likelihood of each answer after the trigger alone.

        There is no chat template, and a space precedes the answer: a prior of plain text, as in the published figures.
        All answers are scored together, because where they differ from the trigger depends on all.
        """
        return log_likelihoods(self._model, trigger, [f" {one.strip()}" for one in answers], "text")

    def _named(self, prompt: Prompt) -> StudentReply:
        text, form = self._rendered(prompt)
        reply, _ = self._model.write(self._with_room(text, form), MAX_CHOICE_TOKENS)
        label = parse_label(reply, prompt.options)
        if label is None:
            return StudentReply(without_reasoning(reply).strip(), None, 0.0)
        return StudentReply(prompt.options[LABELS.index(label)], label, UNMEASURED)

    def _write(self, prompt: Prompt, on_token: OnToken | None) -> StudentReply:
        text, form = self._rendered(prompt)
        reply, log_probabilities = self._model.write(self._with_room(text, form), prompt.answer_tokens, on_token)
        final = without_reasoning(reply).strip()
        thoughts = reply.rstrip().removesuffix(final).rstrip(" ")  # a word's token includes the space before it
        answer = final.split(_NEXT_SECTION)[0].strip()
        if form == "text":  # a model without a chat template continues with a question of its own
            answer = answer.partition("\n")[0].strip()
        if not answer:
            raise MalformedReply(f"The student {self.name!r} returned an empty answer.")
        first = len(self._model.tokens(thoughts, "part")) if thoughts else 0
        counted = log_probabilities[first:][: len(self._model.tokens(answer, "part"))]
        confidence = float(np.clip(np.exp(np.mean(counted)), 0.0, 1.0)) if counted else UNMEASURED
        is_truncated = len(log_probabilities) >= prompt.answer_tokens and reply.rstrip().endswith(answer)
        return StudentReply(answer, None, confidence, truncated=is_truncated)

    def _rendered(self, prompt: Prompt) -> tuple[str, Form]:
        """Return the text for the model."""
        return (self._model.chat(prompt), "chat") if self._model.follows_instructions else (prompt.text, "text")

    def _with_room(self, text: str, form: Form) -> list[int]:
        ids = self._model.tokens(text, form)
        check_room(self._model, len(ids) + 1)
        return ids
