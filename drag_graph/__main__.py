"""Start the command line: `drag-graph` and `python -m drag_graph`."""

from importlib import import_module
from importlib.util import find_spec


def main() -> None:
    """Run the command line; an installed wheel carries it as `drag_graph.cli`, a checkout beside the package."""
    name = "drag_graph.cli" if find_spec("drag_graph.cli") else "cli"
    import_module(name).main()


if __name__ == "__main__":
    main()
