"""Start the command line: `drag-graph` and `python -m drag_graph`."""

import os
import signal
from importlib import import_module
from importlib.util import find_spec


def main() -> None:
    """Run the command line; an installed wheel carries it as `drag_graph.cli`, a checkout beside the package."""
    plain = signal.getsignal(signal.SIGINT)
    if plain is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    name = "drag_graph.cli" if find_spec("drag_graph.cli") else "cli"
    run = import_module(name).main
    signal.signal(signal.SIGINT, plain)
    run()


def _end(_number: int, _frame: object) -> None:
    """End at Ctrl-C while modules are loaded: nothing has begun, and an exception may be swallowed within an import."""
    os.write(2, b"Interrupted. Nothing was begun.\n")
    os._exit(130)


if __name__ == "__main__":
    main()
