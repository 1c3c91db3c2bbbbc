"""Going through many things a few at a time."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def pages(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of at most `size`, in their order; streams."""
    stream = iter(items)
    while page := list(islice(stream, size)):
        yield page
