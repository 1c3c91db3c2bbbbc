"""A causal language model in this process, and the likelihood of texts under it. Runtimes: transformers and llama.cpp."""

from collections.abc import Sequence
from typing import Literal, Protocol

from drag_graph.errors import ContextOverflow
from drag_graph.ports.model_roles import OnToken, Prompt

Form = Literal["part", "text", "chat"]
"""The kind of a text: part of a longer one, complete, or written by a chat template (its marks are special tokens)."""


class CausalModel(Protocol):
    """A language model in this process. It may be unsafe for threads."""

    @property
    def name(self) -> str:
        """The name in the records of answers."""

    @property
    def context_window(self) -> int:
        """Maximum number of tokens of a prompt and its continuation."""

    @property
    def follows_instructions(self) -> bool:
        """Whether it has a chat template."""

    def chat(self, prompt: Prompt) -> str:
        """Return the prompt in the model's chat template, up to the model's turn."""

    def tokens(self, text: str, form: Form) -> list[int]:
        """Return the token ids of `text`."""

    def log_probabilities(self, prompt: Sequence[int], continuations: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the natural log-probability of each token, for each continuation of `prompt`."""

    def write(self, prompt: Sequence[int], limit: int, on_token: OnToken | None = None) -> tuple[str, list[float]]:
        """Continue `prompt` greedily by up to `limit` tokens. Return the text and its tokens' log-probabilities.

        `on_token` is called with each further part of the text.
        """


def log_likelihoods(model: CausalModel, text: str, continuations: Sequence[str], form: Form) -> list[float]:
    """Return the log-probability of each continuation of a text. Raises ContextOverflow.

    Text and continuation are tokenized together, because the tokens of a word may differ after a space.
    """
    joined = [model.tokens(text + one, form) for one in continuations]
    alone = model.tokens(text, form)
    shared = min(*(_common_length(alone, ids) for ids in joined), *(len(ids) - 1 for ids in joined))
    check_room(model, max(len(ids) for ids in joined))
    return [sum(values) for values in model.log_probabilities(joined[0][:shared], [ids[shared:] for ids in joined])]


def check_room(model: CausalModel, tokens: int) -> None:
    """Raise ContextOverflow if a model cannot read this number of tokens."""
    if tokens > model.context_window:
        message = f"The prompt has {tokens} tokens, but the student {model.name!r} can read only {model.context_window}."
        raise ContextOverflow(message, hint="Lower `token_budget=TOKENS`, or choose a student with a longer context.")


def _common_length(ids: Sequence[int], others: Sequence[int]) -> int:
    """Return the number of ids that both begin with."""
    shorter = min(len(ids), len(others))
    return next((place for place in range(shorter) if ids[place] != others[place]), shorter)
