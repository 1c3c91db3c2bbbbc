"""Flags that several commands share, and how they become settings."""

from collections.abc import Mapping
from enum import StrEnum
from functools import partial
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

_store_option = partial(typer.Option, rich_help_panel=STORE_PANEL)
_output_option = partial(typer.Option, rich_help_panel=OUTPUT_PANEL)
_teacher_option = partial(typer.Option, rich_help_panel=TEACHER_PANEL)
_graph_option = partial(typer.Option, rich_help_panel=GRAPH_PANEL)
_student_option = partial(typer.Option, rich_help_panel=STUDENT_PANEL)

Store = Annotated[
    str | None,
    _store_option(
        "--store", show_default=".drag-graph/graph.lbug", help="A path (embedded), or bolt://… or neo4j://… (Neo4j)."
    ),
]
Namespace = Annotated[
    str | None,
    _store_option("--namespace", show_default="default", help="Projects that share a store cannot see each other."),
]
Embedder = Annotated[
    str | None,
    _store_option("--embedder", show_default="auto", help="auto, lexical, minilm, a folder, or a LiteLLM name."),
]
Json = Annotated[bool, _output_option("--json", help="Print one JSON document on stdout.")]
Debug = Annotated[bool, _output_option("--debug", help="Show the traceback of an error.")]
LogJson = Annotated[bool | None, _output_option("--log-json", help="Logs as JSON lines on stderr.")]
Verbose = Annotated[bool, _output_option("--verbose", "-v", help="Log every stage.")]


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
QuestionsFile = Annotated[Path | None, typer.Argument(help="Questions: a JSON object a line, or CSV.", show_default=False)]
QuestionText = Annotated[str | None, typer.Option("--query", "-q", help="One question instead of a file.")]
Choices = Annotated[list[str] | None, typer.Option("--option", help="An option of that question; repeat it.")]
Teacher = Annotated[
    str | None,
    _teacher_option("--teacher", show_default="none", help="A LiteLLM model, curated:FILE or tape:FILE."),
]
TeacherBaseUrl = Annotated[
    str | None,
    _teacher_option("--teacher-base-url", help="An OpenAI-compatible server."),
]
PlanFlag = Annotated[
    Plan | None,
    _teacher_option("--plan", show_default="lean", help="lean: 3 calls a query; paper: step by step (docs/plans.md)."),
]
NumberOfEvidence = Annotated[
    int | None,
    _teacher_option("--number-of-evidence", "-n", min=1, show_default="by plan", help="Evidence asked for; else 15 or 1.25 K."),
]
Blind = Annotated[bool | None, _teacher_option("--blind", help="Do not show the options to the teacher.")]
ExtractorFlag = Annotated[
    Extractor | None,
    _teacher_option("--extractor", show_default="auto", help="Who reads the triples."),
]
Workers = Annotated[int | None, _teacher_option("--workers", min=1, show_default="4", help="Queries at once.")]
EngineFlag = Annotated[
    Engine | None,
    _teacher_option("--engine", show_default="local", help="local, or ray: on a Ray cluster."),
]
Address = Annotated[
    str | None,
    _teacher_option("--address", help="The Ray cluster: auto or HOST:PORT; else one of this machine."),
]
Processes = Annotated[int | None, _teacher_option("--processes", min=1, help="Worker processes on the cluster.")]
BudgetUsd = Annotated[float | None, _teacher_option("--budget-usd", min=0, help="Never spend more.")]
DryRun = Annotated[bool, _teacher_option("--dry-run", help="Print calls, tokens and price; ask nobody.")]
Batch = Annotated[
    bool,
    _teacher_option("--batch", help="By the provider's batch API: half the price, within hours."),
]
NoWait = Annotated[
    bool,
    _teacher_option("--no-wait", help="With --batch: submit and leave; come back later."),
]
ReplaceStored = Annotated[bool, _teacher_option("--replace", help="Write anew what is stored under these very settings, too.")]
RetryQuarantined = Annotated[bool, _teacher_option("--retry-quarantined", help="Ask again what was quarantined.")]
Ledger = Annotated[
    str | None,
    _teacher_option("--ledger", show_default="beside the store", help="The file of replies and runs."),
]
TopK = Annotated[
    int | None,
    _graph_option("--top-k", "-k", min=1, show_default="by plan", help="Evidence (at least 3) and edges kept."),
]
RankingFlag = Annotated[
    Ranking | None,
    _graph_option("--ranking", show_default="by plan", help="How the teacher's judgement and cosine combine."),
]
Alpha = Annotated[
    float | None,
    _graph_option("--alpha", min=0, max=1, show_default="by plan", help="Weight of the teacher's judgement."),
]
RankRelations = Annotated[
    bool | None,
    _graph_option("--rank-relations/--no-rank-relations", show_default="by plan", help="Ask for the order of relations, too."),
]
StatementsFlag = Annotated[
    Statements | None,
    _graph_option("--statements", show_default="by plan", help="Who words an edge of several triples."),
]
DomainFlag = Annotated[
    Domain | None,
    _graph_option("--domain", show_default="general", help="For lines that name none."),
]
StrategyFlag = Annotated[
    Strategy | None,
    _graph_option("--strategy", show_default="pair", help="What parallel edges merge by."),
]
MergeFlag = Annotated[Merge | None, _graph_option("--merge", show_default="max", help="How confidences merge.")]
Threshold = Annotated[
    float | None,
    _graph_option("--threshold", min=0, max=1, show_default="by plan", help="Prune edges below it."),
]

# The flags of `ask`
AskedText = Annotated[str | None, typer.Argument(help="The question.", show_default=False)]
AskedChoices = Annotated[list[str] | None, typer.Option("--option", help="An answer option; repeat it.")]
AskedFile = Annotated[Path | None, typer.Option("--file", help="Questions, one JSON object a line.")]
QueryIdFlag = Annotated[str | None, typer.Option("--query-id", help="Ask a stored query: its id, or the input's.")]
Student = Annotated[
    str | None,
    _student_option("--student", show_default="nearest", help="nearest, transformers:NAME, or a LiteLLM model."),
]
StudentBaseUrl = Annotated[str | None, _student_option("--student-base-url", help="An OpenAI-compatible server.")]
ModeFlag = Annotated[
    Mode | None,
    _student_option("--mode", show_default="combined", help="What the student is shown."),
]
LineFormatFlag = Annotated[
    LineFormat | None,
    _student_option("--line-format", show_default="sentence", help="How edges are written."),
]
TokenBudget = Annotated[
    int | None,
    _student_option("--token-budget", min=1, show_default="1024", help="Tokens of lines."),
]
Relevance = Annotated[
    float | None,
    _student_option(
        "--relevance", min=0, max=1, show_default="by embedder", help="Cosine from which a stored query is relevant."
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


def given(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a command's parameters that are settings; a parameter is named as its setting is."""
    from drag_graph.settings import Settings

    return {name: value for name, value in flags.items() if name in Settings.model_fields}


def check_engine(settings: "Settings", flags: Mapping[str, Any]) -> None:
    """Raise ConfigurationError for a flag of a Ray cluster without one."""
    from drag_graph.errors import ConfigurationError

    for flag, value in (("--address", flags.get("ray_address")), ("--processes", flags.get("ray_processes"))):
        if value is not None and settings.engine != "ray":
            raise ConfigurationError(f"{flag} belongs to --engine ray", hint="Add --engine ray, or leave it out.")
