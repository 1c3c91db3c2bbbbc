"""`drag-graph config | query`."""

import csv
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options, render
from .output import AS_JSON, document, refuse

if TYPE_CHECKING:
    from drag_graph.app.application import Configuration


@options.with_settings("plan", *options.STORE)
def config(graph: "options.Graph") -> None:
    """Print every setting, its value and where it came from.

    A flag overrides a DRAG_GRAPH_* or NEO4J_* variable, a variable overrides drag-graph.toml, and the file overrides the
    defaults of the plan and all others. A setting without a value depends on the question or the embedder. Secrets are masked.
    `name_model` is the model with which the privacy gate finds names.

    Example: DRAG_GRAPH_TEACHER=ollama/llama3.2 drag-graph config
    """
    render.result(graph.config(), _print_settings)


def _print_settings(configuration: "Configuration") -> None:
    rows = ((name, "" if value is None else value, configuration.origins[name]) for name, value in configuration.values.items())
    render.table(("setting", "value", "from"), rows, wrapped="value")


@options.with_settings(*options.STORE, to_file=True)
def query(
    graph: "options.Graph",
    statement: Annotated[str, typer.Argument(help="A read-only Cypher statement.", show_default=False)],
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of rows.")] = 100,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds after which the statement is stopped.")] = 10.0,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
) -> None:
    """Execute a read-only Cypher statement on the whole store.

    The store refuses writes, files and procedures. The statement sees all namespaces of the store. The dialect depends
    on the store: Neo4j's, or ladybug's for an embedded store.

    Examples:
      drag-graph query "MATCH p=(e:Entity)-[t:TRIPLE]->(o) RETURN p" --limit 5 --json
      drag-graph query "MATCH path=(s:Source)-->() RETURN s.name, count(*)" --csv -o names.csv
    """
    as_json = AS_JSON.get()
    refuse("query", {"Pass only one of --json and --csv.": as_json and as_csv})
    found = graph.store.query(statement, limit=limit, timeout=timeout)
    if as_json:
        document(found.to_dict())
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([found.columns, *(map(_cell, row) for row in found.rows)])
    else:
        render.table(found.columns, (list(map(_cell, row)) for row in found.rows))
    if found.truncated and not as_json:
        typer.echo(f"Only the first {limit} rows are shown. Change this with --limit.", err=True)


def _cell(value: Any) -> str:
    """Return a value as the text of a cell."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
