"""The transformers runtime: a causal language model in this process (extra `local`; docs/explanation/pipeline.md).

Code from a model's repository is never executed (`trust_remote_code` is off). With HF_HUB_OFFLINE=1 nothing is downloaded.
"""

import copy
import inspect
import logging
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeVar

from drag_graph.errors import MissingExtra, ModelUnavailable, UnknownModel
from drag_graph.models.causal_model import Form
from drag_graph.ports.model_roles import OnToken, Prompt
from drag_graph.process_environment import prepare_libraries

Quantisation = Literal["auto", "none", "8bit", "4bit"]
Rung = Literal["none", "8bit", "4bit", "cpu"]
Result = TypeVar("Result")

DEFAULT_CONTEXT_WINDOW = 2048
_UNSET_LENGTH = 1_000_000

_log = logging.getLogger(__name__)


class TransformersModel:
    """A model by its hub name or folder as a `CausalModel`, loaded on first use.

    It runs on CUDA if available, else on the CPU. The quantisations `8bit` and `4bit` need bitsandbytes and accelerate, and
    `8bit` also CUDA; without them, a warning is logged and the model runs at full precision. `auto` starts at full precision.
    When memory runs out, a warning is logged and the next smaller setting is used (8 bit, 4 bit, CPU).
    """

    def __init__(self, name_or_path: str, *, quantisation: Quantisation = "auto", seed: int | None = None) -> None:
        """Raise MissingExtra without torch or transformers. A missing model raises UnknownModel on first use."""
        self._source = model_source("student", name_or_path)
        self._name = name_or_path
        self.name = f"transformers:{name_or_path}"
        self.rungs = _rungs(quantisation, _device())
        """The setting in use (`none`: the model's own precision on the device), and those to try if memory runs out."""
        self._loaded_model: Any = None
        self._seed = seed

    @cached_property
    def context_window(self) -> int:
        """The limit in the model's configuration, else 2048 tokens."""
        from transformers import AutoConfig

        config = self._from_hub(AutoConfig.from_pretrained).get_text_config()
        limits = (getattr(config, "max_position_embeddings", None), self._tokenizer.model_max_length)
        return min([int(limit) for limit in limits if limit and 0 < limit < _UNSET_LENGTH], default=DEFAULT_CONTEXT_WINDOW)

    @property
    def follows_instructions(self) -> bool:
        return bool(getattr(self._tokenizer, "chat_template", None))

    def chat(self, prompt: Prompt) -> str:
        from jinja2.exceptions import TemplateError

        tokenizer = self._tokenizer
        settings: dict[str, Any] = {"tokenize": False, "add_generation_prompt": True, "enable_thinking": False}
        messages = list(prompt.messages())
        try:
            return str(tokenizer.apply_chat_template(messages, **settings))
        except TemplateError:  # some templates have no system role
            one = {"role": "user", "content": "\n\n".join(message["content"] for message in messages)}
            return str(tokenizer.apply_chat_template([one], **settings))

    def tokens(self, text: str, form: Form) -> list[int]:
        """Return the token ids, without a final end mark. A chat template has written its special tokens already."""
        tokenizer = self._tokenizer
        ids = list(tokenizer.encode(text, add_special_tokens=form == "text"))
        ends = tokenizer.eos_token_id is not None and len(ids) > 1 and ids[-1] == tokenizer.eos_token_id
        return ids[:-1] if ends and form == "text" else ids

    def log_probabilities(self, prompt: Sequence[int], continuations: Sequence[Sequence[int]]) -> list[list[float]]:
        return self._with_memory(lambda: self._log_probabilities(prompt, continuations))

    def _log_probabilities(self, prompt: Sequence[int], continuations: Sequence[Sequence[int]]) -> list[list[float]]:
        """Read the prompt once, then each continuation on top of it."""
        import torch

        first, cache = self._read(prompt, keep=1)
        results = []
        for ids in continuations:
            later = self._read(ids[:-1], keep=len(ids) - 1, after=copy.deepcopy(cache))[0] if len(ids) > 1 else first[:0]
            places = torch.cat([first, later])
            results.append([float(places[place, token]) for place, token in enumerate(ids)])
        return results

    def _read(self, ids: Sequence[int], *, keep: int, after: Any = None) -> tuple[Any, Any]:
        """Return the log-probabilities of all tokens at the last `keep` positions, and the model's cache."""
        import torch

        model = self._model()
        inputs: dict[str, Any] = {"input_ids": torch.tensor([list(ids)], device=model.device), "use_cache": True}
        if after is not None:
            inputs["past_key_values"] = after
        # The logits of a whole prompt can be larger than the model.
        if "logits_to_keep" in inspect.signature(model.forward).parameters:
            inputs["logits_to_keep"] = keep
        with torch.inference_mode():
            output = model(**inputs)
        return output.logits[0, -keep:].cpu().double().log_softmax(dim=-1), output.past_key_values

    def write(self, prompt: Sequence[int], limit: int, on_token: OnToken | None = None) -> tuple[str, list[float]]:
        tokens, log_probabilities = self._with_memory(lambda: self._generate(prompt, limit, on_token))
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True)), log_probabilities

    def _generate(self, ids: Sequence[int], limit: int, on_token: OnToken | None) -> tuple[list[int], list[float]]:
        import torch
        from transformers import TextStreamer

        class Streamer(TextStreamer):  # type: ignore[misc]
            def on_finalized_text(self, text: str, stream_end: bool = False) -> None:  # noqa: ARG002
                if text and on_token:
                    on_token(text)

        streamer = Streamer(self._tokenizer, skip_prompt=True, skip_special_tokens=True) if on_token else None
        model = self._model()
        if self._seed is not None:
            torch.manual_seed(self._seed)
        prompt = torch.tensor([list(ids)], device=model.device)
        with torch.inference_mode():
            output = model.generate(
                input_ids=prompt,
                attention_mask=torch.ones_like(prompt),
                do_sample=False,
                temperature=None,
                top_p=None,
                top_k=None,
                max_new_tokens=min(limit, self.context_window - len(ids)),
                pad_token_id=self._tokenizer.eos_token_id or 0,
                return_dict_in_generate=True,
                output_logits=True,
                streamer=streamer,
            )
        tokens = output.sequences[0, len(ids) :].tolist()
        rows = [step[0].cpu().double().log_softmax(dim=-1) for step in output.logits]
        return tokens, [float(row[token]) for row, token in zip(rows, tokens, strict=True)]

    @cached_property
    def _tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        return self._from_hub(AutoTokenizer.from_pretrained)

    def _model(self) -> Any:
        if self._loaded_model is None:
            self._loaded_model = self._from_hub(_load, rung=self.rungs[0], device=_device())
            self._loaded_model.eval()
        return self._loaded_model

    def _from_hub(self, load: Callable[..., Any], **arguments: Any) -> Any:
        try:
            return load(self._source, trust_remote_code=False, **arguments)
        except (OSError, ValueError, KeyError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
            hint = (
                "Use the hub name or the folder of a causal language model. With HF_HUB_OFFLINE=1 it must be on this machine."
            )
            raise UnknownModel(f"Cannot load the student {self._name!r}: {reason}.", hint=hint) from error

    def _with_memory(self, work: Callable[[], Result]) -> Result:
        """Return the result of `work`, with smaller settings if memory runs out. Raises ModelUnavailable after the last one."""
        import torch

        while True:
            try:
                return work()
            except (torch.cuda.OutOfMemoryError, MemoryError):
                self._loaded_model = None
            # Outside of the handler, whose traceback keeps the memory in use.
            if len(self.rungs) == 1:
                message = f"The student {self._name!r} does not fit into memory."
                raise ModelUnavailable(message, hint="Choose a smaller model.")
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            _log.warning("The student is out of memory at %s; trying %s", self.rungs[0], self.rungs[1])
            self.rungs = self.rungs[1:]


def model_source(role: str, name_or_path: str) -> str:
    """Return the folder or hub name of a model. Raises MissingExtra without torch or transformers."""
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise MissingExtra(f"The {role} {name_or_path!r} needs the package {package}.", extra="local")
    prepare_libraries()
    folder = Path(name_or_path).expanduser()
    return str(folder) if folder.is_dir() else name_or_path


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _rungs(quantisation: Quantisation, device: str) -> list[Rung]:
    """Return the settings to try, largest first. Logs a warning if the quantisation is not possible."""
    # On a CPU, bitsandbytes logs a warning for every multiplication in 8 bit.
    has_packages = all(find_spec(package) for package in ("bitsandbytes", "accelerate"))
    can_quantise = has_packages and (device == "cuda" or quantisation == "4bit")
    if quantisation in {"8bit", "4bit"} and not can_quantise:
        needs = "%s quantisation needs bitsandbytes and accelerate (8bit also CUDA); the student runs at full precision"
        _log.warning(needs, quantisation)
    if quantisation == "none" or not can_quantise:
        return ["cpu"] if device == "cpu" else ["none", "cpu"]
    rungs: list[Rung] = ["none", "8bit", "4bit", "cpu"]
    return rungs if quantisation == "auto" else rungs[rungs.index(quantisation) :]


def _load(source: str, *, rung: Rung, device: str, trust_remote_code: bool) -> Any:
    """Load the model's weights at a setting."""
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    load = partial(AutoModelForCausalLM.from_pretrained, source, trust_remote_code=trust_remote_code)
    if rung in {"8bit", "4bit"}:
        how = BitsAndBytesConfig(load_in_8bit=rung == "8bit", load_in_4bit=rung == "4bit")
        return load(quantization_config=how, device_map={"": device})
    # Half precision is slow or missing on CPUs.
    return load(dtype=torch.float32 if rung == "cpu" else "auto").to("cpu" if rung == "cpu" else device)
