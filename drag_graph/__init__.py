"""drag-graph: distilled, audited knowledge graphs for small local models.

The public names are loaded on first use, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Answer": "drag_graph.model",
    "DragGraphError": "drag_graph.errors",
    "Evidence": "drag_graph.model",
    "Query": "drag_graph.model",
    "Settings": "drag_graph.settings",
    "SimpleEdge": "drag_graph.model",
    "Subgraph": "drag_graph.model",
    "TeacherCall": "drag_graph.model",
    "Triple": "drag_graph.model",
    "open_session": "drag_graph.compose.session",
}

__all__ = ["__version__", *sorted(_PUBLIC)]  # noqa: PLE0604 - the names are strings, built from one table


def __getattr__(name: str) -> Any:
    """Load a public name on first use. Raises AttributeError for any other name."""
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'drag_graph' has no attribute {name!r}")
