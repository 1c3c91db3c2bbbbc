"""The application: everything that drag-graph can do, for the command line, services and notebooks."""

from drag_graph.app.application import DragGraph
from drag_graph.app.async_application import AsyncDragGraph
from drag_graph.app.run_handle import RunHandle

__all__ = ["AsyncDragGraph", "DragGraph", "RunHandle"]
