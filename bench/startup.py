"""How long the command line takes to start and to answer, measured as whole processes.

    python bench/startup.py [--runs 15] [--embedders lexical minilm]

Compares `drag-graph --help` with the help of a bare typer application that has as many commands. Then times `drag-graph ask` on
a store of the examples with each embedder, `drag-graph serve` until it prints its address, and `ask` through that service.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from service import SETTINGS, service

from drag_graph import DragGraph
from drag_graph.__main__ import load_cli

EXAMPLES = Path(__file__).parent.parent / "examples"
OURS = [sys.executable, "-m", "drag_graph"]
QUESTION = ["ask", "What causes the tides?", "--option", "The wind", "--option", "The gravity of the Moon"]
BARE = """
import sys, typer
app = typer.Typer(rich_markup_mode="rich")
for name in sys.argv.pop(1).split(","):
    def command(json: bool = False): pass
    app.command(name, help=f"Do what {name} does.")(command)
app()
"""


def measure(command: list[str]) -> float:
    """Return the elapsed seconds of one run of `command`."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def measure_answers(embedder: str, runs: int) -> list[float]:
    """Return the elapsed seconds of `ask` with this embedder on a store of the examples."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--store", f"{folder}/graph.lbug", "--embedder", embedder]
        teacher = ["--teacher", f"curated:{EXAMPLES / 'curated.jsonl'}"]
        measure([*OURS, "distill", str(EXAMPLES / "questions.jsonl"), *teacher, *flags])
        return [measure([*OURS, *QUESTION, *flags]) for _ in range(runs + 1)][1:]


def measure_service(runs: int) -> tuple[list[float], list[float]]:
    """Return the elapsed seconds from the start of `serve` on a small store to its address, and of `ask` through it."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "graph.lbug"
        with DragGraph(store, **SETTINGS) as graph:
            graph.ingest(text="Steam drives the turbine.", name="steam").result()
        for _ in range(runs + 1):
            start = time.perf_counter()
            with service(store):
                times.append(time.perf_counter() - start)
        ask = [*OURS, "ask", "What drives the turbine?", "--store", str(store)]
        with service(store):
            return times[1:], [measure(ask) for _ in range(runs + 1)][1:]


def command_names() -> list[str]:
    """Return the names of all commands, those in groups included."""
    table = load_cli().command_table
    names = []
    for name in table.SUMMARIES:
        command = table.load_command(name)
        names += [f"{name}-{inner}" for inner in getattr(command, "commands", ())] or [name]
    return names


def main() -> None:
    """Print the medians, the median of the ratios, and the fastest and slowest answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--embedders", nargs="*", default=["lexical", "minilm"])
    options = parser.parse_args()
    names = command_names()
    ours, bare = [*OURS, "--help"], [sys.executable, "-c", BARE, ",".join(names), "--help"]
    pairs = [(measure(ours), measure(bare)) for _ in range(options.runs + 1)][1:]
    our_time, bare_time = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(first / second for first, second in pairs)
    bare_name = f"typer with {len(names)} commands"
    print(f"drag-graph --help {our_time * 1000:.0f} ms, {bare_name} {bare_time * 1000:.0f} ms, ratio {ratio:.2f}")
    measured = {f"ask with {embedder}": measure_answers(embedder, options.runs) for embedder in options.embedders}
    measured["serve until ready"], measured["ask through serve"] = measure_service(options.runs)
    for name, times in measured.items():
        print(f"{name}: {statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f})")


if __name__ == "__main__":
    main()
