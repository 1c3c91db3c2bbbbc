"""Flags that several commands share, and how they become settings."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from drag_graph.settings import Settings

STORE_PANEL = "Store"
OUTPUT_PANEL = "Output"

Store = Annotated[
    str | None,
    typer.Option("--store", help="A path (embedded), or bolt://… or neo4j://… (Neo4j).", rich_help_panel=STORE_PANEL),
]
Namespace = Annotated[
    str | None,
    typer.Option("--namespace", help="Projects that share a store cannot see each other.", rich_help_panel=STORE_PANEL),
]
Embedder = Annotated[
    str | None,
    typer.Option("--embedder", help="auto, lexical, minilm, a folder, or a LiteLLM name.", rich_help_panel=STORE_PANEL),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.", rich_help_panel=OUTPUT_PANEL)]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=OUTPUT_PANEL)]
LogJson = Annotated[bool | None, typer.Option("--log-json", help="Logs as JSON lines on stderr.", rich_help_panel=OUTPUT_PANEL)]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log every stage.", rich_help_panel=OUTPUT_PANEL)]


class Plan(StrEnum):
    """How a teacher is asked."""

    lean = "lean"
    paper = "paper"


class Extractor(StrEnum):
    """Who reads triples out of evidence."""

    auto = "auto"
    teacher = "teacher"
    patterns = "patterns"


class Mode(StrEnum):
    """What a student is shown."""

    none = "none"
    evidence = "evidence"
    graph = "graph"
    combined = "combined"


class Domain(StrEnum):
    """The domain of questions that do not name one."""

    general = "general"
    medical = "medical"
    technical = "technical"
    privacy = "privacy"


class Strategy(StrEnum):
    """How parallel edges are grouped."""

    pair = "pair"
    predicate = "predicate"


class Merge(StrEnum):
    """How confidences are merged."""

    max = "max"
    mean = "mean"
    noisy_or = "noisy-or"


class LineFormat(StrEnum):
    """How an edge is written for the student."""

    arrow = "arrow"
    sentence = "sentence"


def settings_of(flags: Mapping[str, Any], *, verbose: bool = False) -> "Settings":
    """Return the settings under these flags (None: not given) and set up the logs accordingly."""
    from drag_graph import log
    from drag_graph.settings import load_settings

    plain = {name: value.value if isinstance(value, StrEnum) else value for name, value in flags.items()}
    settings = load_settings(plain)
    log.configure("info" if verbose else settings.log_level, as_json=settings.log_json)
    return settings
