"""`drag-graph config`: every setting, its value and where it came from."""

from typing import TYPE_CHECKING

from . import options, render

if TYPE_CHECKING:
    from drag_graph.app.application import DragGraph


@options.with_settings("plan", *options.STORE)
def config(graph: "DragGraph", json: options.Json = False) -> None:
    """Print every setting, its value and where it came from.

    A flag overrides a DRAG_GRAPH_* or NEO4J_* variable, a variable overrides drag-graph.toml, and the file overrides the
    defaults of the plan and all others. A setting without a value depends on the question or the embedder. Secrets are masked.
    `name_model` is the model with which the privacy gate finds names.

    Example: DRAG_GRAPH_TEACHER=ollama/llama3.2 drag-graph config
    """
    configuration = graph.config()
    if json:
        render.document(configuration.to_dict())
        return
    rows = ((name, "" if value is None else value, configuration.origins[name]) for name, value in configuration.values.items())
    render.table(("setting", "value", "from"), rows, wrapped="value")
