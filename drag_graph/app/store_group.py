"""`graph.store`: the store itself."""

from drag_graph.app.resource_user import ResourceUser


class StoreGroup(ResourceUser):
    """Start, stop, inspect, migrate, check and erase the store."""
