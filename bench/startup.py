"""How long `drag-graph --help` takes beside `python -c "import typer, rich"`, in turn, as whole processes.

python bench/startup.py [--runs 15]
"""

import argparse
import statistics
import subprocess
import sys
import time


def seconds(command: list[str]) -> float:
    """Return the wall time of one run of `command`."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    """Run both in turn and print the medians and the median of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    ours, base = [sys.executable, "-m", "drag_graph", "--help"], [sys.executable, "-c", "import typer, rich"]
    pairs = [(seconds(ours), seconds(base)) for _ in range(runs + 1)][1:]
    help_time, base_time = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(first / second for first, second in pairs)
    print(f"drag-graph --help {help_time * 1000:.0f} ms, import typer, rich {base_time * 1000:.0f} ms, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
