"""`drag-graph config`: every setting, its value and where it came from."""

from typing import TYPE_CHECKING, Any

from . import options, render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from drag_graph.settings import Settings


@options.with_settings("plan", *options.STORE)
def config(settings: "Settings", flags: "Mapping[str, Any]", json: options.Json = False) -> None:
    """Print every setting, its value and where it came from.

    Flags win over DRAG_GRAPH_* (and NEO4J_*) variables, these over drag-graph.toml, that over what the plan implies and the
    defaults. What stays empty is decided by the question or the embedder. Secrets are shown as stars.

    Example: DRAG_GRAPH_TEACHER=ollama/llama3.2 drag-graph config
    """
    from drag_graph.distill.plans import chosen
    from drag_graph.settings import origins

    values, found = settings.model_dump(mode="json"), origins(flags)
    for name in values:
        if values[name] is None and (implied := chosen(settings, name)) is not None:
            values[name], found[name] = implied, f"--plan {settings.plan}"
    render.settings(values, found, as_json=json)
