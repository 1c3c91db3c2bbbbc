"""Start the command line: `drag-graph` and `python -m drag_graph`."""

import os
import signal
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def main() -> None:
    """Run the command line."""
    previous = signal.getsignal(signal.SIGINT)
    if previous is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit_while_loading)
    cli = load_cli()
    signal.signal(signal.SIGINT, previous)
    cli.main()


def load_cli() -> Any:
    """Import the command line: `drag_graph.cli` in an installed wheel, `cli` next to the package in a checkout."""
    return import_module("drag_graph.cli" if find_spec("drag_graph.cli") else "cli")


def _exit_while_loading(_number: int, _frame: object) -> None:
    """Exit on Ctrl-C while modules load. Nothing has started, and an import could swallow an exception."""
    os.write(2, b"Interrupted. Nothing was started.\n")
    os._exit(130)


if __name__ == "__main__":
    main()
