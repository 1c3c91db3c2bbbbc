"""Methods that connect sources: link, communities."""

from drag_graph.app.resource_user import ResourceUser


class Linking(ResourceUser):
    """Join the concepts of all sources, and find communities."""
