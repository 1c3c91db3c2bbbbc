"""Read word lists from text files.

A list begins with `[name]`; its words follow, separated by white space. Lines that start with # are comments.
"""

from functools import cache
from pathlib import Path

_GRAPH = Path(__file__).with_name("word_lists.txt")


@cache
def read_lists(file: Path) -> dict[str, list[str]]:
    """Return the words of each list of a file, in their order."""
    lists: dict[str, list[str]] = {}
    current: list[str] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            current = lists.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            current += line.split()
    return lists


def word_list(name: str) -> frozenset[str]:
    """Return the words of a list in word_lists.txt. Raises KeyError for an unknown list."""
    return frozenset(read_lists(_GRAPH)[name])


def word_table(name: str) -> dict[str, str]:
    """Return a list of `word=meaning` entries in word_lists.txt. Raises KeyError for an unknown list."""
    return dict(entry.split("=") for entry in read_lists(_GRAPH)[name])


def word_groups(name: str) -> list[str]:
    """Return the groups of a list in word_lists.txt, separated by `|`. Raises KeyError for an unknown list."""
    return [group.strip() for group in " ".join(read_lists(_GRAPH)[name]).split("|")]
