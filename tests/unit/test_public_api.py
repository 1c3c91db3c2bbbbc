"""The public API: its signatures are those of the snapshot, and every command of the shell is a method.

After a deliberate change, write the snapshot again: python -m tests.unit.test_public_api
"""

import inspect
import re
from functools import cached_property
from pathlib import Path

import drag_graph
from cli.command_table import SUMMARIES, load_command
from drag_graph.app.resources import ResourceUser

SNAPSHOT = Path(__file__).with_name("public_api.txt")
GROUPS = {"db": "store", "edge": "sites", "eval": "evaluation"}
"""Command groups whose group of methods has another name."""
METHODS = {
    ("import",): "import_",
    ("tape", "import"): "tape.import_",
    ("runs",): "runs.list",
    ("runs", "give-up"): "runs.give_up",
    ("cloud", "edges"): "cloud.sites",
    ("cloud", "edges", "add"): "cloud.add",
    ("cloud", "edges", "remove"): "cloud.remove",
    ("eval",): "evaluation.run",
    ("query",): "store.query",
    ("keys", "add"): "service.add_key",
    ("keys", "list"): "service.keys",
    ("keys", "revoke"): "service.revoke",
}
"""Commands whose method is not called like them."""
SHELLS = {("serve",), ("mcp",), ("cloud", "serve")}
"""Commands that run another shell over the application."""


MODULE = re.compile(r"\b(?:\w+\.)+(?=[A-Za-z])")


def short(text):
    """Return a signature or annotation without the module names in it."""
    return MODULE.sub("", re.sub(r"<function .*? at 0x\w+>", "...", str(text)))


def members(kind, prefix=""):
    """Yield a line for each public member of a class, and of the groups of methods on it."""
    for name, member in inspect.getmembers_static(kind):
        if name.startswith("_"):
            continue
        if isinstance(member, cached_property) and issubclass(group := member.func.__annotations__["return"], ResourceUser):
            yield f"{prefix}{name}: {group.__name__}"
            yield from members(group, f"{prefix}{name}.")
        elif isinstance(member, property | cached_property):
            function = member.fget if isinstance(member, property) else member.func
            yield f"{prefix}{name}: {short(inspect.formatannotation(inspect.signature(function).return_annotation))}"
        elif inspect.isfunction(member):
            yield f"{prefix}{name}{short(inspect.signature(member))}"


def api():
    """Return the text of the snapshot."""
    lines = []
    for name in drag_graph.__all__:
        value = getattr(drag_graph, name)
        lines.append(name)
        if not inspect.isclass(value):
            continue
        if fields := getattr(value, "model_fields", None):
            lines += [f"    {field}: {short(inspect.formatannotation(info.annotation))}" for field, info in fields.items()]
        elif name != "AsyncDragGraph":  # derived from DragGraph
            lines += [f"    {line}" for line in members(value)]
    return "\n".join(lines) + "\n"


def commands(name, command):
    """Yield the path of each command that does something."""
    subcommands = getattr(command, "commands", {})
    if not subcommands or getattr(command, "invoke_without_command", False):
        yield (name,)
    for inner, subcommand in subcommands.items():
        yield from ((name, *path) for path in commands(inner, subcommand))


def method_of(path):
    if path in METHODS:
        return METHODS[path]
    return ".".join((GROUPS.get(path[0], path[0]), *path[1:])) if len(path) > 1 else path[0]


def test_the_public_api_is_that_of_the_snapshot():
    assert api() == SNAPSHOT.read_text(encoding="utf-8")


def test_every_command_is_a_method_of_the_application():
    graph = drag_graph.DragGraph()
    paths = [path for name in SUMMARIES for path in commands(name, load_command(name))]
    assert len(paths) > 40
    for path in set(paths) - SHELLS:
        value = graph
        for part in method_of(path).split("."):
            value = getattr(value, part, None)
        assert callable(value), f"drag-graph {' '.join(path)} has no method {method_of(path)}"


def test_public_names_are_documented_and_others_do_not_exist():
    for name in drag_graph.__all__:
        value = getattr(drag_graph, name)
        assert not inspect.isclass(value) or value.__doc__
    assert not hasattr(drag_graph, "Resources")


if __name__ == "__main__":
    SNAPSHOT.write_text(api(), encoding="utf-8")
