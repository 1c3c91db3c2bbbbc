"""EleutherAI's lm-evaluation-harness with our in-process models (docs/evaluation.md).

    python -m drag_graph.evaluation.harness --model drag-graph --model_args student=gguf:FILE.gguf --tasks arc_challenge

runs the harness's own command with one more model. `drag-graph eval harness` writes the prompts of our students as tasks.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import lm_eval.models  # noqa: F401 - the harness only registers its own models if there are none yet
from lm_eval.__main__ import cli_evaluate
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

from drag_graph.models.causal_model import Form, check_room, log_likelihoods
from drag_graph.models.model_choice import causal_model
from drag_graph.ports.model_roles import SECTION_GAP, SYSTEM_HEADER, Prompt
from drag_graph.settings import load_settings

MAX_NEW_TOKENS = 256
"""Length of a reply if the task sets none, as in the harness's own models."""


@register_model("drag-graph")
class HarnessModel(LM):  # type: ignore[misc]
    """An in-process student as a model of the harness: `student=gguf:FILE` or `transformers:NAME`."""

    def __init__(self, student: str, **_ignored: Any) -> None:
        """Open the student. The harness's other arguments (batch size, device) are ignored."""
        super().__init__()
        self._model = causal_model(student, load_settings({"student": student}))
        self._form: Form = "text"

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        """Return the log-probability of each continuation, and whether greedy text would begin with it."""
        results = []
        for context, group in groupby((request.args for request in requests), key=lambda pair: pair[0]):
            texts = [continuation for _, continuation in group]
            written = self._write(context, max(len(self._model.tokens(text, "part")) for text in texts))
            likely = log_likelihoods(self._model, context, texts, self._form)
            results += [(sum_, written.lstrip().startswith(text.lstrip())) for sum_, text in zip(likely, texts, strict=True)]
        return results

    def loglikelihood_rolling(self, requests: Sequence[Any]) -> list[float]:
        raise NotImplementedError("The students of drag-graph answer questions and do not support perplexity tasks.")

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """Return the model's greedy text up to the first stop text."""
        replies = []
        for context, arguments in (request.args for request in requests):
            if arguments.get("do_sample") or arguments.get("temperature"):
                raise NotImplementedError("The students of drag-graph decode greedily and do not support sampling.")
            until = arguments.get("until") or []
            text = self._write(context, arguments.get("max_gen_toks", MAX_NEW_TOKENS))
            for end in [until] if isinstance(until, str) else until:
                text = text.partition(end)[0] if end else text
            replies.append(text)
        return replies

    def apply_chat_template(self, chat_history: Sequence[Mapping[str, str]], add_generation_prompt: bool = True) -> str:
        """Return one question in the model's chat template (`--apply_chat_template`)."""
        roles = [message["role"] for message in chat_history]
        if roles not in (["user"], ["system", "user"]) or not add_generation_prompt:
            raise NotImplementedError("The students of drag-graph take one question at a time, without few-shot examples.")
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
