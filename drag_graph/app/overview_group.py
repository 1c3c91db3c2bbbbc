"""`graph.overview`: the whole graph."""

from drag_graph.app.resource_user import ResourceUser


class OverviewGroup(ResourceUser):
    """Measure the whole graph of a namespace."""
