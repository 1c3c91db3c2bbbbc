"""`graph.tape`: recorded teacher replies."""

from drag_graph.app.resource_user import ResourceUser


class TapeGroup(ResourceUser):
    """Export and import recorded teacher replies."""
