"""What every part of the application stands on."""

from drag_graph.app.resources import Resources


class ResourceUser:
    """A group of methods that work on the same resources."""

    _resources: Resources

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
