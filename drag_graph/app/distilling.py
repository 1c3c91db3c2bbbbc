"""Methods that ask the teacher: distill, refresh."""

from drag_graph.app.resource_user import ResourceUser


class Distilling(ResourceUser):
    """Distill questions into the graph, and refresh them."""
