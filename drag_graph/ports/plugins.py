"""Extensions from other packages, such as models and document loaders, found through entry points.

A package declares what it adds in its pyproject.toml:

    [project.entry-points."drag_graph.students"]
    acme = "acme_students:make"

`--student acme:small` then uses `make("small", settings, check)`. The groups are `drag_graph.teachers`, `drag_graph.students`,
`drag_graph.embedders` and `drag_graph.rerankers`; their functions return a Teacher, Student, Embedder or Reranker
(`drag_graph.ports.model_roles`). A function
that sends anything to another machine must first pass it to `check`, which raises Withheld if it must stay. A function whose
model runs on this machine has the attribute `is_local = True`, so that questions are not generalised for it.

An entry point of `drag_graph.loaders` is named after a file ending without its dot; its function takes the bytes of a file and
returns the text. A line format (`drag_graph.line_formats`) takes a `SimpleEdge` and returns a line. A ranking
(`drag_graph.rankings`) takes the cosines of statements and the teacher's scores for them (0 to 1, or None), and returns
combined scores, 0 to 1.

A detector (`drag_graph.detectors`) takes a text and yields (start, end, type) of each private detail: `start` and `end` are
character offsets, `type` is PERSON or a type in `drag_graph/privacy/data/replacements.txt`. The privacy gate also runs all
installed detectors, at both levels. They must be thread-safe. If one fails, the question is withheld.
"""

from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeAlias

from drag_graph.errors import ConfigurationError

Group = Literal["teachers", "students", "embedders", "rerankers", "loaders", "line_formats", "rankings", "detectors"]
Plugin: TypeAlias = Callable[..., Any]


@lru_cache(maxsize=64)
def find_plugin(group: Group, name: str) -> Plugin | None:
    """Return the function that an installed package registers under this name, or None.

    Raises ConfigurationError if it cannot be imported.
    """
    for entry in entry_points(group=f"drag_graph.{group}", name=name):
        return _load(entry)
    return None


def all_plugins(group: Group) -> dict[str, Plugin]:
    """Return all functions of a group, keyed by name, package and version.

    Raises ConfigurationError if one cannot be imported.
    """
    plugins = {}
    for entry in entry_points(group=f"drag_graph.{group}"):
        package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
        plugins[f"{entry.name} of {package}"] = _load(entry)
    return dict(sorted(plugins.items()))


def _load(entry: EntryPoint) -> Plugin:
    try:
        plugin: Plugin = entry.load()
    except (ImportError, AttributeError) as error:
        package = entry.dist.name if entry.dist else entry.value
        message = f"Cannot load {entry.name!r} of the package {package}: {type(error).__name__}: {error}."
        raise ConfigurationError(message, hint="Update or remove the package.") from error
    return plugin


def model_plugin(group: Group, model: str) -> tuple[Plugin, str] | None:
    """Return the function for a model named `PREFIX:REST`, and REST; None if no package registers the prefix."""
    prefix, colon, rest = model.partition(":")
    plugin = find_plugin(group, prefix) if colon and "/" not in prefix else None
    return None if plugin is None else (plugin, rest)
