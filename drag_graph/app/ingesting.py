"""The method that reads documents: ingest."""

from drag_graph.app.resource_user import ResourceUser


class Ingesting(ResourceUser):
    """Read documents into the graph."""
