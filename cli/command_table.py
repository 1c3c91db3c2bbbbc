"""The commands that `drag-graph --help` lists. The module of a command is imported when the command is used."""

from collections.abc import Iterator
from importlib import import_module
from inspect import cleandoc
from keyword import iskeyword
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

PANELS = {
    "Build": {
        "distill": "Ask the teacher about questions and store its evidence as graphs.",
        "ingest": "Read documents and store each as a graph.",
        "link": "Find the same things in different sources, so that questions share evidence.",
    },
    "Ask": {
        "ask": "Answer a question from what is stored, and keep the answer for `audit`.",
        "answers": "List stored answers, newest first.",
        "audit": "Trace an answer back: context line, edge, triples, evidence, teacher call.",
    },
    "Check": {
        "show": "Show the subgraph of a query or document; without an id, list what is stored.",
        "runs": "List the last runs, or show one: complete, pending, quarantined.",
        "eval": "Measure what the evidence does for a student.",
        "config": "Print every setting, its value and where it came from.",
    },
    "More": {
        "refresh": "Distill stored questions again if they have expired or led to wrong answers.",
        "aggregate": "Rebuild the simple graph from the stored triples under other settings.",
        "communities": "Group what is connected and summarise each group.",
        "graph": "The whole graph: sizes, weak edges, contradictions, shared concepts, components.",
        "export": "Export the whole graph as JSON lines.",
        "import": "Store the subgraphs of a file: evidence, entities, triples, teacher calls and vectors.",
        "privacy": "Check what the privacy gate would send.",
        "edge": "Run this machine as a site of a cloud (an edge in DGRAG): answer locally, and ask the cloud when not sure.",
        "cloud": "Run the cloud that connects several sites.",
        "tape": "Export and import recorded replies; list unusable ones.",
        "db": "The store: start and stop Neo4j, inspect, migrate, check, repair, erase.",
    },
}
"""By panel: each command with its summary, the first paragraph of its help."""
MODULES = {"ask": "answers", "audit": "answers", "show": "answers", "eval": "evaluate", "import": "importing"}
"""Modules that are not named after their command."""
OLD_FLAGS = {"--distil-missing": "--distill-missing", "--level": "--privacy"}
"""Flags that were renamed, with their new names. The old names work until the next release."""
SUMMARIES = {name: summary for commands in PANELS.values() for name, summary in commands.items()}


class CommandTable(TyperGroup):
    """The root command. It lists commands without importing them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the panels."""
        del ctx
        return list(SUMMARIES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a stand-in with the command's summary and panel, or None for an unknown name."""
        del ctx
        panel = next((panel for panel, commands in PANELS.items() if cmd_name in commands), None)
        return panel and TyperCommand(cmd_name, help=SUMMARIES[cmd_name], rich_help_panel=panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the real command and the remaining arguments."""
        name, _, remaining = super().resolve_command(ctx, args)
        command = name and load_command(name)
        flags = set(_flags(command)) if command else set()
        return name, command, [_renamed(argument, flags) for argument in remaining]


def load_command(name: str) -> Any:
    """Import the module of a command and return the command, or the group of commands."""
    module = import_module(f".{MODULES.get(name, name)}", __package__)
    outer = typer.Typer(add_completion=False)
    if hasattr(module, "app"):
        outer.add_typer(module.app, name=name)
    else:
        outer.command(name)(getattr(module, f"{name}_" if iskeyword(name) else name))
    command = typer.main.get_group(outer).commands[name]
    _unwrap_help(command)
    return command


def _flags(command: Any) -> Iterator[str]:
    """Yield the flags of a command and its subcommands."""
    for parameter in command.params:
        yield from parameter.opts
    for subcommand in getattr(command, "commands", {}).values():
        yield from _flags(subcommand)


def _renamed(argument: str, flags: set[str]) -> str:
    """Return an argument with the new name of a flag that the command does not have under its old name."""
    flag, equals, value = argument.partition("=")
    return argument if flag in flags else f"{OLD_FLAGS.get(flag, flag)}{equals}{value}"


def _unwrap_help(command: Any) -> None:
    """Join the lines of each paragraph of the help, so that the terminal wraps them. Examples keep their lines."""
    paragraphs = cleandoc(command.help or "").split("\n\n")
    joined = [text if text.startswith("Example") else " ".join(text.split()) for text in paragraphs]
    if joined[1:] and joined[1].startswith("Example"):
        joined[1] = f"\n{joined[1]}"  # else typer removes the indentation
    command.help = "\n\n".join(joined)
    for subcommand in getattr(command, "commands", {}).values():
        _unwrap_help(subcommand)
