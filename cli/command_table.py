"""The commands that `drag-graph --help` lists. The module of a command is imported when the command is used."""

from importlib import import_module
from inspect import cleandoc
from keyword import iskeyword
from types import MethodType
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
        "search": "Search what is stored: sources, spans and edges, best first, without a student.",
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
        "refresh": "Distill stored questions again if they have expired, led to wrong answers or were corrected.",
        "correct": "Mark a claim or an answer as wrong or right; without an id, list what is marked.",
        "aggregate": "Rebuild the simple graph from the stored triples under other settings.",
        "serve": "Answer requests over HTTP until Ctrl-C or SIGTERM. The store and the models stay open.",
        "mcp": "Let a program with a language model use the store, over MCP on stdin and stdout.",
        "communities": "Group what is connected and summarise each group.",
        "export": "Export the whole graph.",
        "import": "Store the subgraphs of a file: evidence, entities, triples, teacher calls and vectors.",
        "privacy": "Check what the privacy gate would send.",
        "edge": "Run this machine as a site: it answers from its own documents, and asks the cloud if it is not sure.",
        "cloud": "Run the cloud that connects several sites.",
        "keys": "Manage who may call the service: add a key, list keys, revoke one.",
        "tape": "Export and import recorded replies; list unusable ones.",
        "query": "Execute a read-only Cypher statement on the whole store.",
        "db": "The store: start and stop Neo4j, inspect, migrate, check, erase.",
    },
}
"""By panel: each command with its summary, the first paragraph of its help."""
MODULES = {
    **dict.fromkeys(("ask", "audit", "show", "search"), "answers"),
    **dict.fromkeys(("link", "aggregate"), "communities"),
    **dict.fromkeys(("import", "export"), "importing"),
    "eval": "evaluate",
    "refresh": "distill",
    "mcp": "serve",
    "query": "config",
}
"""Modules that are not named after their command."""
WIDEST_HELP = 100
"""Maximum width of a help text in columns; it is narrower on a narrow terminal."""
SUMMARIES = {name: summary for commands in PANELS.values() for name, summary in commands.items()}


class CommandTable(TyperGroup):
    """The root command. It lists commands without importing them."""

    def __init__(self, **values: Any) -> None:
        """Add a stand-in for each command, with its summary and panel."""
        super().__init__(**values)
        for panel, summaries in PANELS.items():
            for name, summary in summaries.items():
                self.commands[name] = TyperCommand(name, help=summary, rich_help_panel=panel)
        _use_plain_help(self)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the real command and the remaining arguments."""
        name, _, remaining = super().resolve_command(ctx, args)
        return name, name and load_command(name), remaining


def load_command(name: str) -> Any:
    """Import the module of a command and return the command, or the group of commands."""
    module = import_module(f".{MODULES.get(name, name)}", __package__)
    outer = typer.Typer(add_completion=False)
    if hasattr(module, "app"):
        outer.add_typer(module.app, name=name)
    else:
        outer.command(name)(getattr(module, f"{name}_" if iskeyword(name) else name))
    command = typer.main.get_group(outer).commands[name]
    command.help = command.help or SUMMARIES[name]
    _use_plain_help(command)
    return command


def _use_plain_help(command: Any) -> None:
    """Print the help of a command and its subcommands without boxes, which cut long flags. Examples keep their lines."""
    command.rich_markup_mode = None
    command.format_options = MethodType(_format_options, command)
    command.context_settings = {**command.context_settings, "max_content_width": WIDEST_HELP}
    command.help = cleandoc(command.help or "").replace("\n\nExample", "\n\n\b\nExample")
    for subcommand in getattr(command, "commands", {}).values():
        _use_plain_help(subcommand)


def _format_options(command: Any, context: Any, formatter: Any) -> None:
    """Write arguments, options and subcommands, grouped by panel."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            name, text = record
            if len(name) > formatter.width - 2:  # a long list of choices moves to the text, which wraps
                name, _, choices = name.rpartition(" ")
                text = f"{choices} {text}"
            panels.setdefault(parameter.rich_help_panel or f"{parameter.param_type_name}s".capitalize(), []).append(
                (name, text)
            )
    for name, subcommand in getattr(command, "commands", {}).items():
        summary = " ".join(subcommand.help.split("\n\n")[0].split())
        panels.setdefault(subcommand.rich_help_panel or "Commands", []).append((name, summary))
    for panel, rows in panels.items():
        with formatter.section(panel):
            formatter.write_dl(rows, col_max=formatter.width // 3)
