"""`graph.privacy`: the privacy gate."""

from drag_graph.app.resource_user import ResourceUser


class PrivacyGroup(ResourceUser):
    """Check what would leave this machine, and reveal what was replaced."""
