"""A student in this process: a causal language model by `transformers` (extra `local`; docs/design.md, section 5).

Nothing of the model's repository is executed (`trust_remote_code` is off). What is downloaded, and whether, is the hub's
business: with HF_HUB_OFFLINE=1 only local files are read.
"""

import inspect
import logging
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from drag_graph.errors import ContextOverflow, MalformedReply, MissingExtra, ModelUnavailable, UnknownModel
from drag_graph.model import LABELS
from drag_graph.ports.models import Prompt, StudentReply
from drag_graph.providers.reasoning import without_reasoning
from drag_graph.settings import prepare_libraries

Quantisation = Literal["auto", "none", "8bit", "4bit"]
Rung = Literal["none", "8bit", "4bit", "cpu"]
Result = TypeVar("Result")

DEFAULT_CONTEXT_WINDOW = 2048
MAX_NEW_TOKENS = 64
HINT = "pip install 'drag-graph[local]' (in a checkout: pip install '.[local]')"
_UNSET_LENGTH = 1_000_000
_NEXT_SECTION = "\n["

_log = logging.getLogger(__name__)


class TransformersStudent:
    """A model by its hub name or folder, loaded on the first answer. Thread-safe: one question at a time.

    `device` is `auto` (CUDA where there is one, else the CPU) or a device of torch. `quantisation` `8bit` and `4bit` need
    CUDA, bitsandbytes and accelerate; without them the model runs at its own precision, and a warning says so. `auto` begins
    without. When memory runs out, on loading or on answering, it goes on with the next smaller setting (8 bit, 4 bit, CPU)
    and says that too.

    Multiple choice: the option whose letter the model finds likeliest after the prompt (its chat template around it, if it
    has one). An open question is answered greedily with at most `max_new_tokens` tokens.

    Confidence, in [0, 1]: the probability of the chosen letter, normalised over the options' letters; for an open question the
    geometric mean of the probabilities of the tokens it wrote. Neither is calibrated: small models are too sure.
    """

    def __init__(
        self,
        name_or_path: str,
        *,
        quantisation: Quantisation = "auto",
        device: str = "auto",
        context_window: int | None = None,
        max_new_tokens: int = MAX_NEW_TOKENS,
    ) -> None:
        """Raise MissingExtra where torch or transformers is not installed; UnknownModel comes with the first use."""
        for package in ("torch", "transformers"):
            if find_spec(package) is None:
                raise MissingExtra(f"the student {name_or_path!r} needs {package}", hint=HINT)
        prepare_libraries()
        self._source = str(Path(name_or_path).expanduser()) if Path(name_or_path).expanduser().is_dir() else name_or_path
        self._name = name_or_path
        self._device = device
        self._rungs = _rungs(quantisation, self._resolved_device())
        self._given_window = context_window
        self._max_new_tokens = max_new_tokens
        self._lock = threading.RLock()
        self._loaded_tokenizer: Any = None
        self._loaded_model: Any = None
        self._window = 0

    @property
    def name(self) -> str:
        return f"transformers:{self._name}"

    @property
    def running_on(self) -> Rung:
        """The setting in use: `none` (its own precision on the device), `8bit`, `4bit` or `cpu`."""
        return self._rungs[0]

    @property
    def context_window(self) -> int:
        """What was given, else what the model's configuration says, else 2048 tokens."""
        with self._lock:
            if not self._window:
                self._window = self._given_window or self._configured_window()
            return self._window

    def count_tokens(self, text: str) -> int:
        with self._lock:
            return len(self._tokenizer().encode(text, add_special_tokens=False))

    def answer(self, prompt: Prompt) -> StudentReply:
        with self._lock:
            text, chat = self._rendered(prompt)
            return self._choose(prompt, text, chat=chat) if prompt.options else self._write(text, chat=chat)

    # -- multiple choice

    def _choose(self, prompt: Prompt, text: str, *, chat: bool) -> StudentReply:
        labels = LABELS[: len(prompt.options)]
        sequences = [self._ids(f"{text}{'' if chat else ' '}{label}", chat=chat) for label in labels]
        self._check_room(max(len(ids) for ids in sequences))
        shared = _shared_prefix(sequences) if len(sequences) > 1 else len(sequences[0]) - 1
        scores = self._with_memory(lambda: self._log_probabilities(sequences, shared))
        weights = np.exp(scores - scores.max())
        probabilities = weights / weights.sum()
        best = int(np.argmax(probabilities))
        return StudentReply(prompt.options[best], labels[best], float(probabilities[best]), tuple(map(float, probabilities)))

    def _log_probabilities(self, sequences: Sequence[Sequence[int]], shared: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the log-probability of what each sequence has after its first `shared` tokens, which all have in common."""
        if all(len(ids) == shared + 1 for ids in sequences):  # as good as always: then one pass over the prompt tells all
            after = _log_softmax(self._last_logits(sequences[0][:shared], 1)[0])
            return np.array([after[ids[-1]] for ids in sequences])
        totals = []
        for ids in sequences:
            rest = ids[shared:]
            places = _log_softmax(self._last_logits(ids[:-1], len(rest)))
            totals.append(sum(places[step, token] for step, token in enumerate(rest)))
        return np.array(totals)

    def _last_logits(self, ids: Sequence[int], keep: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the logits of the last `keep` places."""
        import torch

        model = self._model()
        inputs: dict[str, Any] = {"input_ids": torch.tensor([list(ids)], device=model.device)}
        if (
            "logits_to_keep" in inspect.signature(model.forward).parameters
        ):  # those of a whole prompt can be larger than the model
            inputs["logits_to_keep"] = keep
        with torch.inference_mode():
            logits = model(**inputs).logits
        return np.asarray(logits[0, -keep:].float().cpu().numpy(), dtype=np.float64)

    # -- open questions

    def _write(self, text: str, *, chat: bool) -> StudentReply:
        ids = self._ids(text, chat=chat)
        self._check_room(len(ids) + 1)
        tokens, logits = self._with_memory(lambda: self._generate(ids))
        said = (
            without_reasoning(str(self._tokenizer().decode(tokens, skip_special_tokens=True))).split(_NEXT_SECTION)[0].strip()
        )
        if not said:
            raise MalformedReply(f"the student {self._name!r} answered nothing")
        chosen = [_log_softmax(row)[token] for row, token in zip(logits, tokens, strict=True)]
        return StudentReply(said, None, float(np.clip(np.exp(np.mean(chosen)), 0.0, 1.0)))

    def _generate(self, ids: Sequence[int]) -> tuple[list[int], list[np.ndarray[Any, np.dtype[np.float64]]]]:
        import torch

        model = self._model()
        prompt = torch.tensor([list(ids)], device=model.device)
        with torch.inference_mode():
            output = model.generate(
                input_ids=prompt,
                attention_mask=torch.ones_like(prompt),
                do_sample=False,
                temperature=None,
                top_p=None,
                top_k=None,
                max_new_tokens=min(self._max_new_tokens, self.context_window - len(ids)),
                pad_token_id=self._padding_id(),
                return_dict_in_generate=True,
                output_logits=True,
            )
        logits = [np.asarray(step[0].float().cpu().numpy(), dtype=np.float64) for step in output.logits]
        return output.sequences[0, len(ids) :].tolist(), logits

    # -- prompt and tokenizer

    def _rendered(self, prompt: Prompt) -> tuple[str, bool]:
        """Return the text that the model gets, and whether a chat template made it."""
        tokenizer = self._tokenizer()
        if not getattr(tokenizer, "chat_template", None):
            return prompt.text, False
        from jinja2.exceptions import TemplateError

        settings: dict[str, Any] = {"tokenize": False, "add_generation_prompt": True, "enable_thinking": False}
        messages = list(prompt.messages())
        try:
            return str(tokenizer.apply_chat_template(messages, **settings)), True
        except TemplateError:  # some templates know no system role
            one = {"role": "user", "content": "\n\n".join(message["content"] for message in messages)}
            return str(tokenizer.apply_chat_template([one], **settings)), True

    def _ids(self, text: str, *, chat: bool) -> list[int]:
        """Return the token ids. A chat template has written its special tokens already; an end mark would end the prompt."""
        tokenizer = self._tokenizer()
        ids = list(tokenizer.encode(text, add_special_tokens=not chat))
        ends = tokenizer.eos_token_id is not None and len(ids) > 1 and ids[-1] == tokenizer.eos_token_id
        return ids[:-1] if ends and not chat else ids

    def _check_room(self, tokens: int) -> None:
        if tokens > self.context_window:
            message = f"the prompt takes {tokens} tokens, the student {self._name!r} has room for {self.context_window}"
            raise ContextOverflow(message, hint="Lower the token budget, or choose a student with a longer context.")

    def _padding_id(self) -> int:
        tokenizer = self._tokenizer()
        known = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
        return int(next(value for value in known if value is not None))

    def _configured_window(self) -> int:
        from transformers import AutoConfig

        config = self._from_hub(AutoConfig.from_pretrained)
        text = config.get_text_config() if hasattr(config, "get_text_config") else config
        limits = (getattr(text, "max_position_embeddings", None), self._tokenizer().model_max_length)
        known = [int(limit) for limit in limits if limit and 0 < limit < _UNSET_LENGTH]
        return min(known) if known else DEFAULT_CONTEXT_WINDOW

    # -- loading

    def _tokenizer(self) -> Any:
        if self._loaded_tokenizer is None:
            from transformers import AutoTokenizer

            self._loaded_tokenizer = self._from_hub(AutoTokenizer.from_pretrained)
        return self._loaded_tokenizer

    def _model(self) -> Any:
        if self._loaded_model is None:
            self._loaded_model = self._from_hub(_load, rung=self._rungs[0], device=self._resolved_device())
            self._loaded_model.eval()
        return self._loaded_model

    def _from_hub(self, load: Callable[..., Any], **arguments: Any) -> Any:
        try:
            return load(self._source, trust_remote_code=False, **arguments)
        except (OSError, ValueError, KeyError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
            hint = "Give a hub name or a folder of a causal language model; with HF_HUB_OFFLINE=1 it has to be there already."
            raise UnknownModel(f"the student {self._name!r} cannot be loaded: {reason}", hint=hint) from error

    def _resolved_device(self) -> str:
        if self._device != "auto":
            return self._device
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"

    def _with_memory(self, work: Callable[[], Result]) -> Result:
        """Do `work`; out of memory, again with the next smaller setting, aloud. Raises ModelUnavailable after the last."""
        import torch

        while True:
            try:
                return work()
            except (torch.cuda.OutOfMemoryError, MemoryError):
                self._loaded_model = None
            # Outside of the handler: its traceback holds on to the memory.
            if len(self._rungs) == 1:
                message = f"the student {self._name!r} does not fit into the memory of this machine"
                raise ModelUnavailable(message, hint="Choose a smaller model.")
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            _log.warning("student out of memory at %s: going on with %s", self._rungs[0], self._rungs[1])
            self._rungs = self._rungs[1:]


def _rungs(quantisation: Quantisation, device: str) -> list[Rung]:
    """Return the settings to try, largest first; says aloud when a wish cannot be met."""
    wanted: list[Rung] = {"auto": ["none", "8bit", "4bit"], "none": ["none"], "8bit": ["8bit", "4bit"], "4bit": ["4bit"]}[
        quantisation
    ]  # type: ignore[assignment]
    if device == "cpu":
        if quantisation in {"8bit", "4bit"}:
            _log.warning("%s quantisation needs CUDA: the student runs at full precision on the CPU", quantisation)
        return ["cpu"]
    can_quantise = device.startswith("cuda") and all(find_spec(package) for package in ("bitsandbytes", "accelerate"))
    if not can_quantise:
        if quantisation in {"8bit", "4bit"}:
            _log.warning("%s quantisation needs CUDA, bitsandbytes and accelerate: the student runs without", quantisation)
        wanted = ["none"]
    return [*wanted, "cpu"]


def _load(source: str, *, rung: Rung, device: str, trust_remote_code: bool) -> Any:
    """Load the model's weights as `rung` says."""
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    if rung in {"8bit", "4bit"}:
        how = BitsAndBytesConfig(load_in_8bit=rung == "8bit", load_in_4bit=rung == "4bit")
        return AutoModelForCausalLM.from_pretrained(
            source, trust_remote_code=trust_remote_code, quantization_config=how, device_map={"": device}
        )
    # Half precision is slow or missing on CPUs.
    dtype = torch.float32 if rung == "cpu" else "auto"
    model = AutoModelForCausalLM.from_pretrained(source, trust_remote_code=trust_remote_code, dtype=dtype)
    return model.to("cpu" if rung == "cpu" else device)


def _shared_prefix(sequences: Sequence[Sequence[int]]) -> int:
    """Return how many tokens all sequences begin with in common."""
    shortest = min(len(ids) for ids in sequences)
    return next((place for place in range(shortest) if len({ids[place] for ids in sequences}) > 1), shortest)


def _log_softmax(logits: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))
