"""Flags that several commands share. The flag of a setting has the type, the default and the description of the setting."""

import inspect
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_origin

import typer

from drag_graph import log
from drag_graph.errors import ConfigurationError, StoreLocked
from drag_graph.settings import Settings, load_settings

from .output import AS_JSON, Force, Output, output_option, stdout_to

if TYPE_CHECKING:
    from drag_graph.app.application import DragGraph

    from .service_client import ServiceClient

PANELS = {
    "Store": ("store", "namespace", "embedder"),
    "Privacy": ("privacy", "rewriter", "rewriter_base_url"),
    "Teacher": (
        *("teacher", "teacher_base_url", "plan", "number_of_evidence", "blind", "drop_leaks", "seed", "extractor", "workers"),
        *("engine", "ray_address", "ray_processes", "budget_usd", "ledger"),
    ),
    "Graph": ("top_k", "ranking", "alpha", "rank_relations", "statements", "strategy", "merge", "threshold", "domain"),
    "Documents": ("document_extractor", "chunk_size"),
    "Communities": ("summariser", "summariser_base_url", "community_resolution", "community_min_size"),
    "Student": (
        *("student", "student_base_url", "scoring", "mode", "line_format", "max_lines", "shared_lines", "line_order"),
        *("brief", "abstain", "max_answer_tokens", "system_prompt", "checker", "checker_base_url"),
        *("token_budget", "relevance", "reranker", "reranker_base_url"),
    ),
    "Site": ("cloud", "cloud_ca", "edge_name", "insecure", "release", "candidates", "agreement", "gate"),
    "Cloud": ("asked_summaries", "asked_edges", "asked_seconds"),
}
"""The settings that have a flag, by panel of the help."""
NAMES = {
    "number_of_evidence": ("--number-of-evidence", "-n"),
    "ray_address": ("--address",),
    "ray_processes": ("--processes",),
    "document_extractor": ("--extractor",),
    "top_k": ("--top-k", "-k"),
    "abstain": ("--abstain/--no-abstain",),
    "checker": ("--check",),
    "checker_base_url": ("--check-base-url",),
    "edge_name": ("--name",),
    "asked_summaries": ("--summaries",),
    "asked_edges": ("--edges",),
    "asked_seconds": ("--deadline",),
    "community_resolution": ("--resolution",),
    "community_min_size": ("--min-size",),
    "leave": ("--no-wait",),
    "rank_relations": ("--rank-relations/--no-rank-relations",),
}
"""Flags whose names differ from those of their settings or arguments."""
STORE = ("store", "namespace")
DISTILLING = (*PANELS["Teacher"], *PANELS["Privacy"], *PANELS["Graph"], *PANELS["Store"])
INGESTING = (
    *("document_extractor", "chunk_size", "teacher_base_url", "workers", "budget_usd", "ledger", "privacy"),
    *("strategy", "merge", "threshold"),
    *PANELS["Store"],
)
Graph: TypeAlias = "DragGraph"
"""The application, as a command receives it."""
Command = Callable[..., int | None]
"""A command returns its exit code, or None for 0."""
RAY = {"ray_address": "--address", "ray_processes": "--processes"}
INJECTED = ("flags", "graph")
"""Parameters of a command that `with_settings` provides."""

_search = partial(typer.Option, rich_help_panel="Search")
_teacher = partial(typer.Option, rich_help_panel="Teacher")

Json = Annotated[bool, output_option("--json", help="Print one JSON document on stdout.")]
Debug = Annotated[bool, output_option("--debug", help="Show the traceback of an error.")]
Verbose = Annotated[bool, output_option("--verbose", "-v", help="Log each call of a model and each finished item.")]
LogJson = Annotated[bool | None, output_option("--log-json", help="Log JSON lines to stderr.")]
Sources = Annotated[
    list[str] | None,
    _search("--source", help="Search only this source: an id, a name, or a pattern such as '*.md'. Repeatable."),
]
SINCE = "Search only sources dated on or after this date: YYYY-MM-DD, YYYY-MM or YYYY."
Since = Annotated[str, _search("--since", help=SINCE, show_default=False)]
UNTIL = "Search only sources dated on or before this date."
Until = Annotated[str, _search("--until", help=UNTIL, show_default=False)]
Tags = Annotated[
    list[str] | None,
    _search("--tag", help="Search only documents with at least one of these tags (`ingest --tag`). Repeatable."),
]
QueryId = Annotated[
    str | None, typer.Option("--query-id", help="A stored query: its id, the beginning of its id, or the id in its input.")
]
DryRun = Annotated[bool, _teacher("--dry-run", help="Print the expected calls, tokens and price, and stop.")]
TlsCert = Annotated[Path | None, typer.Option("--tls-cert", help="Certificate (PEM).", show_default=False)]
TlsKey = Annotated[Path | None, typer.Option("--tls-key", help="Key of the certificate (PEM).", show_default=False)]
AllowHost = Annotated[
    list[str] | None, typer.Option("--allow-host", help="A host name under which clients reach the service. Repeatable.")
]
NO_SERVICE = "Open the store directly, even if `drag-graph serve` is running."
NoService = Annotated[bool, typer.Option("--no-service", help=NO_SERVICE, rich_help_panel="Store")]
RetryQuarantined = Annotated[bool, _teacher("--retry-quarantined", help="Ask quarantined queries again.")]


def with_settings(
    *names: str, has_json: bool = True, to_file: bool = False, through_service: bool = False
) -> Callable[[Command], Command]:
    """Add a flag for each of these settings (a panel stands for all of its settings), --json, and the flags of the log.

    The command receives `graph` (the application under these settings, closed at the end) and can have the parameter `flags`
    (the values on the command line, None if not given). With `has_json`, `AS_JSON` is set if --json is given. With `to_file`,
    `-o` redirects the output to a file. With `through_service`, `graph` is a `ServiceClient` while a service holds the store,
    unless `--no-service` is given.
    """
    chosen = [name for given in names for name in PANELS.get(given, (given,))]
    added: dict[str, Any] = {"json": Json} if has_json else {}
    added |= {name: _flag(name) for name in chosen} | ({"output": Output, "force": Force} if to_file else {})
    added |= {"no_service": NoService} if through_service else {}
    added |= {"verbose": Verbose, "log_json": LogJson, "debug": Debug}

    def adapted(command: Command) -> Command:
        own = inspect.signature(command).parameters
        parameters = [item for item in own.values() if item.name not in INJECTED]
        for name, annotation in added.items():
            default = None if NoneType in get_args(get_args(annotation)[0]) else False
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))

        @wraps(command)
        def run(**values: Any) -> int | None:
            own_flags = {name: values.pop(name) for name in added}
            AS_JSON.set(own_flags.get("json", False))
            flags = {name: own_flags[name] for name in (*chosen, "log_json")}
            settings = settings_of(flags, verbose=own_flags["verbose"])
            with ExitStack() as stack:
                stack.enter_context(_naming_the_service(settings))
                given = {**flags, "verbose": own_flags["verbose"] or None}
                service = _service(settings, given) if own_flags.get("no_service") is False else None
                graph = service or stack.enter_context(_application(settings))
                stack.enter_context(stdout_to(own_flags.get("output"), settings, force=own_flags.get("force", False)))
                return command(graph=graph, **values, **({"flags": flags} if "flags" in own else {}))

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {item.name: item.annotation for item in parameters}
        return run

    return adapted


def _application(settings: Settings) -> "DragGraph":
    from drag_graph.app.application import DragGraph

    return DragGraph(settings=settings)


def _service(settings: Settings, flags: Mapping[str, Any]) -> "ServiceClient | None":
    from drag_graph.service.discovery import running_service

    from .service_client import ServiceClient

    service = running_service(settings.service_path)
    return ServiceClient(service, settings, flags) if service else None


@contextmanager
def _naming_the_service(settings: Settings) -> Iterator[None]:
    """Name the running service in the hint of StoreLocked if it holds the embedded store."""
    try:
        yield
    except StoreLocked as error:
        from drag_graph.service.discovery import running_service

        service = None if settings.uses_neo4j else running_service(settings.service_path)
        if service:
            error.hint = f"`drag-graph serve` holds the store. Stop it, or submit a job at {service.address}."
        raise


def repeated(flags: Mapping[str, Any], *names: str) -> str:
    """Return the flags among `names` that were given, as text to append to a later command."""
    repeated_flags = [(flag_of(name), flags[name]) for name in names if flags.get(name) is not None]
    return "".join(f" {flag} {shlex.quote(str(value))}" for flag, value in repeated_flags)


def flag_of(name: str) -> str:
    """Return the flag of a setting or an argument."""
    return NAMES.get(name, (f"--{name.replace('_', '-')}",))[0]


def settings_of(flags: Mapping[str, Any], *, verbose: bool = False) -> Settings:
    """Return the settings with these flags applied (None: not given), and configure the log."""
    settings = load_settings(flags)
    log.configure("info" if verbose else settings.log_level, as_json=settings.log_json)
    for name, flag in RAY.items():
        if flags.get(name) is not None and settings.engine != "ray":
            raise ConfigurationError(f"{flag} requires --engine ray.", hint=f"Add --engine ray, or leave {flag} out.")
    return settings


def _flag(name: str) -> Any:
    """Return the annotation of a setting's flag. pydantic checks the value itself."""
    field = Settings.model_fields[name]
    kind: Any = field.annotation
    if NoneType in get_args(kind):
        (kind,) = [arm for arm in get_args(kind) if arm is not NoneType]
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    panel = next(panel for panel, inside in PANELS.items() if name in inside)
    declared = NAMES.get(name, (f"--{name.replace('_', '-')}",))
    default = f" Default: {field.default}." if field.default and field.default is not True else ""
    help_ = f"{field.description}{default}"
    return Annotated[kind | None, typer.Option(*declared, help=help_, show_default=False, rich_help_panel=panel)]
