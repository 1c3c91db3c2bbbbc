"""EleutherAI's lm-evaluation-harness with our in-process models (extra `lm-eval`; docs/evaluation.md).

    python -m drag_graph.evaluation.harness --model drag-graph --model_args student=gguf:FILE.gguf --tasks arc_challenge

is its own command, which knows one more model. What our students see is brought to it by `drag-graph eval harness`.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import lm_eval.models  # noqa: F401 - the harness loads its own models only where none is registered yet
from lm_eval.__main__ import cli_evaluate
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

from drag_graph.models.students import causal_model
from drag_graph.models.students.causal_student import Form, check_room, log_likelihoods
from drag_graph.ports.model_roles import SECTION_GAP, SYSTEM_HEADER, Prompt
from drag_graph.settings import load_settings

MAX_NEW_TOKENS = 256
"""Tokens of a reply where a task sets no limit, as the harness's own models have it."""


@register_model("drag-graph")
class HarnessModel(LM):  # type: ignore[misc]
    """A student of this process, asked by the harness (which ships no types): `student=gguf:FILE` or `transformers:NAME`."""

    def __init__(self, student: str, **_ignored: Any) -> None:
        """Take what the harness tells all models (sizes of batches, a device) and need none of it."""
        super().__init__()
        self._model = causal_model(student, load_settings({"student": student}))
        self._form: Form = "text"

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        """Return the log-probability of each continuation, and whether the model would begin with it if it wrote freely."""
        found = []
        for context, group in groupby((request.args for request in requests), key=lambda pair: pair[0]):
            texts = [continuation for _, continuation in group]
            written = self._write(context, max(len(self._model.tokens(text, "part")) for text in texts))
            likely = log_likelihoods(self._model, context, texts, self._form)
            found += [(sum_, written.lstrip().startswith(text.lstrip())) for sum_, text in zip(likely, texts, strict=True)]
        return found

    def loglikelihood_rolling(self, requests: Sequence[Any]) -> list[float]:
        raise NotImplementedError("drag-graph's students answer questions: tasks of perplexity are not for them")

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """Return what the model writes greedily, up to the first of the texts that end it."""
        found = []
        for context, arguments in (request.args for request in requests):
            if arguments.get("do_sample") or arguments.get("temperature"):
                raise NotImplementedError("drag-graph's students write greedily: the task wants samples")
            until = arguments.get("until") or []
            said = self._write(context, arguments.get("max_gen_toks", MAX_NEW_TOKENS))
            for end in [until] if isinstance(until, str) else until:
                said = said.partition(end)[0] if end else said
            found.append(said)
        return found

    def apply_chat_template(self, chat_history: Sequence[Mapping[str, str]], add_generation_prompt: bool = True) -> str:
        """Return one question in the model's template, ready for its turn (`--apply_chat_template`)."""
        roles = [message["role"] for message in chat_history]
        if roles not in (["user"], ["system", "user"]) or not add_generation_prompt:
            raise NotImplementedError("drag-graph's students are asked one question at a time, without examples")
        self._form = "chat"
        texts = [message["content"] for message in chat_history]
        text = SYSTEM_HEADER + SECTION_GAP.join(texts) if len(texts) > 1 else texts[0]
        return self._model.chat(Prompt(question=texts[-1], options=(), lines=(), text=text, tokens=0))

    @property
    def tokenizer_name(self) -> str:
        return self._model.name

    def _write(self, context: str, limit: int) -> str:
        ids = self._model.tokens(context, self._form)
        check_room(self._model, len(ids) + limit)
        return self._model.write(ids, limit)[0]


if __name__ == "__main__":
    cli_evaluate()
