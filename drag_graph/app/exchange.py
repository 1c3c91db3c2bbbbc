"""Methods that rebuild, export and import the graph: aggregate, export, import_."""

from drag_graph.app.resource_user import ResourceUser


class Exchange(ResourceUser):
    """Rebuild the simple graph; export and import."""
