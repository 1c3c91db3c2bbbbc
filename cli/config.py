"""`drag-graph config`: every setting, its value and where it came from."""

import typer

from . import options


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def config(
        store: options.Store = None,
        namespace: options.Namespace = None,
        json: options.Json = False,
        debug: options.Debug = False,
    ) -> None:
        """Print every setting, its value and where it came from.

        Flags win over DRAG_GRAPH_* (and NEO4J_*) variables, these over drag-graph.toml, that over the defaults. Secrets are
        shown as stars.

        Example: DRAG_GRAPH_TEACHER=ollama/llama3.2 drag-graph config
        """
        from drag_graph.settings import origins

        from . import render

        del debug
        flags = {"store": store, "namespace": namespace}
        values = options.settings_of(flags).model_dump(mode="json")
        render.settings(values, origins(flags), as_json=json)
