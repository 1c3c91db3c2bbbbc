"""Flags that several commands share, and how they become settings."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from drag_graph.settings import Settings

STORE_PANEL = "Store"
OUTPUT_PANEL = "Output"
TEACHER_PANEL = "Teacher"
GRAPH_PANEL = "Graph"
STUDENT_PANEL = "Student"

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


class Engine(StrEnum):
    """Where queries are worked on."""

    local = "local"
    ray = "ray"


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


class Ranking(StrEnum):
    """How a teacher's judgement and cosine combine."""

    weighted = "weighted"
    rank_sum = "rank-sum"


class Statements(StrEnum):
    """Who words an edge of several triples."""

    joined = "joined"
    teacher = "teacher"


class StatusName(StrEnum):
    """What became of a query in a run."""

    complete = "complete"
    quarantined = "quarantined"
    skipped = "skipped"
    pending = "pending"


class LineFormat(StrEnum):
    """How an edge is written for the student."""

    arrow = "arrow"
    sentence = "sentence"


# The flags of `distill`
QuestionsFile = Annotated[Path | None, typer.Argument(help="Questions, one JSON object a line.", show_default=False)]
QuestionText = Annotated[str | None, typer.Option("--query", "-q", help="One question instead of a file.")]
Choices = Annotated[list[str] | None, typer.Option("--option", help="An option of that question; repeat it.")]
Teacher = Annotated[
    str | None,
    typer.Option("--teacher", help="A LiteLLM model, curated:FILE or tape:FILE.", rich_help_panel=TEACHER_PANEL),
]
TeacherBaseUrl = Annotated[
    str | None,
    typer.Option("--teacher-base-url", help="An OpenAI-compatible server.", rich_help_panel=TEACHER_PANEL),
]
PlanFlag = Annotated[
    Plan | None,
    typer.Option("--plan", help="lean: 3 calls a query; paper: step by step (docs/plans.md).", rich_help_panel=TEACHER_PANEL),
]
NumberOfEvidence = Annotated[
    int | None,
    typer.Option(
        "--number-of-evidence", "-n", min=1, help="Evidence asked for; else 15 or 1.25 K.", rich_help_panel=TEACHER_PANEL
    ),
]
Blind = Annotated[
    bool | None, typer.Option("--blind", help="Do not show the options to the teacher.", rich_help_panel=TEACHER_PANEL)
]
ExtractorFlag = Annotated[
    Extractor | None, typer.Option("--extractor", help="Who reads the triples.", rich_help_panel=TEACHER_PANEL)
]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Queries at once.", rich_help_panel=TEACHER_PANEL)]
EngineFlag = Annotated[
    Engine | None, typer.Option("--engine", help="local, or ray: on a Ray cluster.", rich_help_panel=TEACHER_PANEL)
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address", help="The Ray cluster: auto or HOST:PORT; else one of this machine.", rich_help_panel=TEACHER_PANEL
    ),
]
Processes = Annotated[
    int | None, typer.Option("--processes", min=1, help="Worker processes on the cluster.", rich_help_panel=TEACHER_PANEL)
]
BudgetUsd = Annotated[
    float | None, typer.Option("--budget-usd", min=0, help="Never spend more.", rich_help_panel=TEACHER_PANEL)
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print calls, tokens and price; ask nobody.", rich_help_panel=TEACHER_PANEL)
]
Batch = Annotated[
    bool,
    typer.Option("--batch", help="By the provider's batch API: half the price, within hours.", rich_help_panel=TEACHER_PANEL),
]
NoWait = Annotated[
    bool,
    typer.Option("--no-wait", help="With --batch: submit and leave; come back later.", rich_help_panel=TEACHER_PANEL),
]
RetryQuarantined = Annotated[
    bool, typer.Option("--retry-quarantined", help="Ask again what was quarantined.", rich_help_panel=TEACHER_PANEL)
]
ReplaceStored = Annotated[
    bool,
    typer.Option("--replace", help="Write anew what is stored under these very settings, too.", rich_help_panel=TEACHER_PANEL),
]
Ledger = Annotated[
    str | None,
    typer.Option("--ledger", help="The file of replies and runs.", rich_help_panel=TEACHER_PANEL),
]
TopK = Annotated[
    int | None,
    typer.Option("--top-k", "-k", min=1, help="Evidence (at least 3) and edges kept.", rich_help_panel=GRAPH_PANEL),
]
RankingFlag = Annotated[
    Ranking | None,
    typer.Option("--ranking", help="How the teacher's judgement and cosine combine.", rich_help_panel=GRAPH_PANEL),
]
Alpha = Annotated[
    float | None,
    typer.Option("--alpha", min=0, max=1, help="Weight of the teacher's judgement.", rich_help_panel=GRAPH_PANEL),
]
RankRelations = Annotated[
    bool | None,
    typer.Option(
        "--rank-relations/--no-rank-relations", help="Ask for the order of relations, too.", rich_help_panel=GRAPH_PANEL
    ),
]
StatementsFlag = Annotated[
    Statements | None,
    typer.Option("--statements", help="Who words an edge of several triples.", rich_help_panel=GRAPH_PANEL),
]
DomainFlag = Annotated[Domain | None, typer.Option("--domain", help="For lines that name none.", rich_help_panel=GRAPH_PANEL)]
StrategyFlag = Annotated[
    Strategy | None, typer.Option("--strategy", help="What parallel edges merge by.", rich_help_panel=GRAPH_PANEL)
]
MergeFlag = Annotated[Merge | None, typer.Option("--merge", help="How confidences merge.", rich_help_panel=GRAPH_PANEL)]
Threshold = Annotated[
    float | None, typer.Option("--threshold", min=0, max=1, help="Prune edges below it.", rich_help_panel=GRAPH_PANEL)
]

# The flags of `ask`
AskedText = Annotated[str | None, typer.Argument(help="The question.", show_default=False)]
AskedChoices = Annotated[list[str] | None, typer.Option("--option", help="An answer option; repeat it.")]
AskedFile = Annotated[Path | None, typer.Option("--file", help="Questions, one JSON object a line.")]
QueryIdFlag = Annotated[str | None, typer.Option("--query-id", help="Ask a stored query (its id, or how it begins).")]
Student = Annotated[
    str | None,
    typer.Option("--student", help="nearest, transformers:NAME, or a LiteLLM model.", rich_help_panel=STUDENT_PANEL),
]
StudentBaseUrl = Annotated[
    str | None, typer.Option("--student-base-url", help="An OpenAI-compatible server.", rich_help_panel=STUDENT_PANEL)
]
ModeFlag = Annotated[Mode | None, typer.Option("--mode", help="What the student is shown.", rich_help_panel=STUDENT_PANEL)]
LineFormatFlag = Annotated[
    LineFormat | None, typer.Option("--line-format", help="How edges are written.", rich_help_panel=STUDENT_PANEL)
]
TokenBudget = Annotated[
    int | None, typer.Option("--token-budget", min=1, help="Tokens of lines.", rich_help_panel=STUDENT_PANEL)
]
Relevance = Annotated[
    float | None,
    typer.Option(
        "--relevance", min=0, max=1, help="Cosine from which a stored query is relevant.", rich_help_panel=STUDENT_PANEL
    ),
]
NoKeep = Annotated[
    bool, typer.Option("--no-keep", help="Write nothing, so that the store needs no right to write; -o FILE takes the audit.")
]
Explain = Annotated[bool, typer.Option("--explain", help="Print the prompt's lines and the options' scores.")]


def settings_of(flags: Mapping[str, Any], *, verbose: bool = False) -> "Settings":
    """Return the settings under these flags (None: not given) and set up the logs accordingly."""
    from drag_graph import log
    from drag_graph.settings import load_settings

    plain = {name: value.value if isinstance(value, StrEnum) else value for name, value in flags.items()}
    settings = load_settings(plain)
    log.configure("info" if verbose else settings.log_level, as_json=settings.log_json)
    return settings


def check_engine(settings: "Settings", *, address: str | None, processes: int | None) -> None:
    """Raise ConfigurationError for a flag of a Ray cluster without one."""
    from drag_graph.errors import ConfigurationError

    for flag, value in (("--address", address), ("--processes", processes)):
        if value is not None and settings.engine != "ray":
            raise ConfigurationError(f"{flag} belongs to --engine ray", hint="Add --engine ray, or leave it out.")
