"""Keys of the service."""


class KeyRing:
    """The keys that the service knows."""
