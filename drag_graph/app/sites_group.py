"""`graph.sites`: this machine as a site of a cloud."""

from drag_graph.app.resource_user import ResourceUser


class SitesGroup(ResourceUser):
    """Set up and serve this machine as a site of a cloud."""
