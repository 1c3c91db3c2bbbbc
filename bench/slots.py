"""Measure whether several prompts at once are faster than one at a time: slots of llama.cpp, and batches of transformers.

    python bench/slots.py gemma.gguf [--prompts 8] [--rounds 2]

Prompts of 300 tokens begin with the same 80; 32 tokens are generated greedily. Processor time is measured with one
thread, so that other work on the machine hardly matters. In the first round, slots have not read the shared tokens yet.
"""

import argparse
import itertools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from drag_graph.models import gguf_runtime

SHARED, TOTAL, WRITTEN = 80, 300, 32
Write = Callable[[Sequence[Sequence[int]], int], list[Any]]


def llama(path: Path, slots: int, **parameters: Any) -> Write:
    """Load the model with this number of slots. Return a function that continues prompts."""
    library = gguf_runtime._library()  # noqa: SLF001 - loaded as by a student
    settings = gguf_runtime._parameters(library, path, 8192, "key")  # noqa: SLF001
    settings.n_parallel = slots
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    for name, value in parameters.items():
        setattr(settings, name, value)
    server = library.Server(settings)
    client = httpx.Client(base_url=str(server.listening_address), headers={"Authorization": "Bearer key"}, timeout=600)

    def write(prompts: Sequence[Sequence[int]], tokens: int) -> list[Any]:
        def one(prompt: Sequence[int]) -> Any:
            assert server  # it ends with the last reference
            document = {"prompt": list(prompt), "n_predict": tokens, "ignore_eos": True, "temperature": 0}
            return client.post("/completion", json=document | {"cache_prompt": True}).json()["content"]

        with ThreadPoolExecutor(slots) as pool:
            return list(pool.map(one, prompts))

    return write


def transformers(path: Path, batch: int) -> Write:
    """Load the same weights in 32 bits. Return a function that continues prompts in batches of this size."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=torch.float32).eval()

    def write(prompts: Sequence[Sequence[int]], tokens: int) -> list[Any]:
        written = []
        for first in range(0, len(prompts), batch):
            ids = torch.tensor([list(prompt) for prompt in prompts[first : first + batch]])
            limits = {"min_new_tokens": tokens, "max_new_tokens": tokens, "pad_token_id": 0}
            output = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, **limits)
            written += output[:, ids.shape[1] :].tolist()
        return written

    return write


def main() -> None:
    """Print the processor time of a question, and how many texts are the same as one at a time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    text = " ".join((Path(__file__).parent.parent / "docs" / "tutorial.md").read_text(encoding="utf-8").split())
    ids = gguf_runtime.GgufModel(str(given.model)).tokens(text, "text")
    gguf_runtime.LlamaServer.unload()
    pairs: dict[str, tuple[Write, Write]] = {
        "slots": (llama(given.model, 1), llama(given.model, 8)),
        "unified cache": (llama(given.model, 1), llama(given.model, 8, kv_unified=True, n_ubatch=2048)),
        "transformers": (transformers(given.model, 1), transformers(given.model, 8)),
    }
    starts = itertools.count(0, 97)
    for number in range(given.rounds):
        for tokens in (WRITTEN, 1):
            places = [next(starts) % (len(ids) - TOTAL) for _ in range(given.prompts)]
            prompts = [ids[:SHARED] + ids[place : place + TOTAL - SHARED] for place in places]
            for name, both in pairs.items():
                spent, texts = [], []
                for write in both:
                    began = time.process_time()
                    texts.append(write(prompts, tokens))
                    spent.append(round((time.process_time() - began) / given.prompts * 1000))
                same = sum(one == other for one, other in zip(*texts, strict=True))
                print(
                    f"{number} {name}, {tokens} tokens: {spent[0]} ms, at once {spent[1]} ms, {same} texts the same", flush=True
                )


if __name__ == "__main__":
    main()
