"""`graph.cloud`: this store as a cloud."""

from drag_graph.app.resource_user import ResourceUser


class CloudGroup(ResourceUser):
    """Serve this store as a cloud, and manage its sites."""
