"""`graph.runs`: past runs."""

from drag_graph.app.resource_user import ResourceUser


class RunsGroup(ResourceUser):
    """List past runs and show what became of each query."""
