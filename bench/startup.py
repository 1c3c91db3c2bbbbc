"""How long the command line takes to start, and to answer, as whole processes.

    python bench/startup.py [--runs 15] [--embedders lexical minilm]

`drag-graph --help` beside `python -c "import typer, rich"`, in turn; then `drag-graph ask` on a store of the examples with each
embedder: from the start of the process to the answer and its end.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"
OURS = [sys.executable, "-m", "drag_graph"]
QUESTION = ["ask", "What causes the tides?", "--option", "The wind", "--option", "The gravity of the Moon"]


def seconds(command: list[str]) -> float:
    """Return the wall time of one run of `command`."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def answering(embedder: str, runs: int) -> list[float]:
    """Return the times of `ask` with this embedder on a store of the examples."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--store", f"{folder}/graph.lbug", "--embedder", embedder]
        teacher = ["--teacher", f"curated:{EXAMPLES / 'curated.jsonl'}"]
        seconds([*OURS, "distill", str(EXAMPLES / "questions.jsonl"), *teacher, *flags])
        return [seconds([*OURS, *QUESTION, *flags]) for _ in range(runs + 1)][1:]


def main() -> None:
    """Print the medians, the median of the ratios, and the fastest and slowest answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--embedders", nargs="+", default=["lexical", "minilm"])
    options = parser.parse_args()
    ours, base = [*OURS, "--help"], [sys.executable, "-c", "import typer, rich"]
    pairs = [(seconds(ours), seconds(base)) for _ in range(options.runs + 1)][1:]
    help_time, base_time = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(first / second for first, second in pairs)
    print(f"drag-graph --help {help_time * 1000:.0f} ms, import typer, rich {base_time * 1000:.0f} ms, ratio {ratio:.2f}")
    for embedder in options.embedders:
        times = sorted(answering(embedder, options.runs))
        print(f"ask with {embedder}: {statistics.median(times):.2f} s ({times[0]:.2f} to {times[-1]:.2f})")


if __name__ == "__main__":
    main()
