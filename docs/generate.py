"""Write the generated parts of the reference from the code: `python docs/generate.py`.

The part of a page above `MARK` is written by hand. tests/unit/test_reference.py fails if the part below it is out of date.
"""

import ast
import inspect
import re
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel

import drag_graph
from cli import command_table, options
from drag_graph import errors
from drag_graph.app.resources import ResourceUser
from drag_graph.ask.student_prompt import render
from drag_graph.model import Line
from drag_graph.ports.model_roles import Layout
from drag_graph.ports.setting_types import PREFIX
from drag_graph.service import mcp_tools
from drag_graph.service.errors import STATUSES
from drag_graph.service.keys import KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.service_app import service_app
from drag_graph.settings import Settings

REFERENCE = Path(__file__).with_name("reference")
MARK = "<!-- Written by docs/generate.py from here on. -->\n"
Row = Iterable[str]
PROMPTS = (
    "distill.evidence_step distill.evidence_ranking distill.triple_extraction documents.document_prompts "
    "distill.merged_statements models.teachers.served_teacher communities.summaries privacy.model_rewriter "
    "ask.student_prompt models.students.served_student models.students.open_answers ask.answer_checks ask.follow_up "
    "models.rerankers.likelihood_reranker evaluation.judge"
).split()
"""The modules that build prompts."""
VERSION = re.compile(r"(?:PROMPT|RUBRIC)_VERSION")


def table(header: str, rows: Iterable[Row]) -> str:
    """Return a table. The names of the columns are separated by commas; pipes in cells stay text."""
    head = header.split(", ")
    cells = [[re.sub(r"\s+", " ", cell).replace("|", "&#124;").strip() for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *cells))


def prose(text: str | None) -> str:
    """Return a text in which angle brackets outside of code stay text."""
    return re.sub(r"(`[^`]*`)|<", lambda match: match[1] or "&lt;", text or "")


def block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text}\n```"


def type_of(schema: Mapping[str, Any]) -> str:
    """Return the type of a value as a phrase, from its JSON schema."""
    if variants := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(filter(None, map(type_of, variants))))
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if choices := schema.get("enum") or [schema[key] for key in ("const",) if key in schema]:
        return ", ".join(f"`{choice}`" for choice in choices)
    if schema.get("type") == "array":
        return f"list of {type_of(schema['items'])}" if schema.get("items") else "list"
    names = {"string": "text", "boolean": "true or false", "null": ""}
    limits = (("≥", "minimum"), (">", "exclusiveMinimum"), ("≤", "maximum"))
    bounds = ", ".join(f"{sign} {schema[key]:,}".removesuffix(".0") for sign, key in limits if key in schema)
    return f"{names.get(kind := schema.get('type', 'any value'), kind)} {bounds}".strip()


def commands() -> Iterator[str]:
    names = [name for panel in command_table.PANELS.values() for name in panel]
    paths = [pair for name in names for pair in subcommands(name, command_table.load_command(name))]
    links = [(f"[`{path}`](#{path.replace(' ', '-')})", command.help.split("\n\n")[0]) for path, command in paths]
    yield table("command, what it does", links)
    shared = {item.opts[0]: record(item) for _, command in paths for item in command.params if is_output(item)}
    yield f"## Flags of the output\n\nMany commands share these flags.\n\n{table('flag, what it does', shared.values())}"
    for path, command in paths:
        yield from (f"## {path}", *command_parts(f"drag-graph {path}", command))


def subcommands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for inner, subcommand in getattr(command, "commands", {}).items():
        yield from subcommands(f"{name} {inner}", subcommand)


def command_parts(path: str, command: Any) -> Iterator[str]:
    """Yield help, usage, examples, own flags, and the settings that a command has flags for."""
    described, _, examples = command.help.replace("\b\n", "").partition("\n\nExample")
    yield prose(described)
    yield block(" ".join([path, *command.collect_usage_pieces(typer.Context(command))]))
    if examples:
        yield block(textwrap.dedent(re.sub(r"^s?: *\n?", "", examples)).strip(), "sh")
    items = [item for item in command.params if item.get_help_record(typer.Context(command)) and not is_output(item)]
    if rows := [record(item) for item in items if item.name not in Settings.model_fields]:
        yield table("argument or flag, what it does", rows)
    chosen = [item for item in items if item.name in Settings.model_fields]
    for panel in dict.fromkeys(item.rich_help_panel for item in chosen):
        inside = [item for item in chosen if item.rich_help_panel == panel]
        flags = (f"[`{item.opts[0]}`](settings.md#{PREFIX}{item.name.upper()})" for item in inside)
        yield f"{panel}: {', '.join(flags)}."


def is_output(item: Any) -> bool:
    return getattr(item, "rich_help_panel", "") == "Output"


def record(item: Any) -> tuple[str, str]:
    """Return the name and the help of a parameter. A list of choices moves to the help."""
    name, text = item.get_help_record(typer.Context(typer.main.get_command(typer.Typer(callback=print))))
    name, _, choices = name.partition(" <") if re.search(r"<.*\|", name) else (name, "", "")
    return f"`{name}`", prose(text) + (f" Choices: {choices.rstrip('>').replace('|', ', ')}." if choices else "")


def settings() -> Iterator[str]:
    schemas = Settings.model_json_schema()["properties"]
    flagged = {name: panel for panel, names in options.PANELS.items() for name in names}
    for panel in (*options.PANELS, "Without a flag"):
        rows = (setting(name, schemas[name]) for name in schemas if flagged.get(name, "Without a flag") == panel)
        yield f"## {panel}\n\n{table('setting, variable, type, default, meaning', rows)}"


def setting(name: str, schema: Mapping[str, Any]) -> Row:
    default, variable = schema["default"], f"{PREFIX}{name.upper()}"
    shown = "" if default in (None, "", []) else f"`{str(default).lower() if isinstance(default, bool) else default}`"
    kind = "secret" if schema.get("format") == "password" else type_of(schema)
    return f"`{name}`", f'<a id="{variable}"></a>`{variable}`', kind, shown, prose(schema.get("description"))


def python() -> Iterator[str]:
    for name in sorted(set(drag_graph.__all__) - {"__version__"}, key=lambda name: (name != "DragGraph", name)):
        kind = getattr(drag_graph, name)
        if not issubclass(kind, errors.DragGraphError):
            yield f"## {name}\n\n{prose(inspect.getdoc(kind))}"
            if issubclass(kind, BaseModel) and kind is not Settings:
                yield fields(kind.model_json_schema(mode="serialization"))
            elif kind not in {Settings, drag_graph.AsyncDragGraph}:
                yield from members(kind, name)


def fields(schema: Mapping[str, Any]) -> str:
    rows = [(f"`{name}`", type_of(value), prose(value.get("description"))) for name, value in schema["properties"].items()]
    width = 3 if any(row[2] for row in rows) else 2
    return table(", ".join(("field", "type", "meaning")[:width]), (row[:width] for row in rows))


def members(kind: type, path: str) -> Iterator[str]:
    """Yield the signature and the docstring of each public method and property, group by group."""
    for name, member in inspect.getmembers_static(kind):
        function = getattr(member, "fget", None) or getattr(member, "func", None) or member
        group = getattr(function, "__annotations__", {}).get("return")
        if name.startswith("_") or not inspect.isfunction(function) or name in {"count", "index"}:
            continue
        if isinstance(member, cached_property) and isinstance(group, type) and issubclass(group, ResourceUser):
            yield from (f"### {path}.{name}", prose(inspect.getdoc(group)), *members(group, f"{path}.{name}"))
        else:
            yield f"{'#' * (3 + path.count('.'))} {path}.{name}\n\n{prose(inspect.getdoc(function))}".strip()
            yield block(signature(function), "python")


def signature(function: Callable[..., Any]) -> str:
    """Return a signature as it is written in the source, so that it does not depend on the version of Python."""
    source = textwrap.dedent(inspect.getsource(function))
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return "\n".join(source.splitlines()[node.lineno - 1 : node.body[0].lineno - 1]).removesuffix(":")


def http() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder, drag_graph.DragGraph(f"{folder}/graph.lbug") as graph:
        ring = KeyRing(Path(folder, "keys"))
        app = service_app(graph, Limits(), ring)
        ring.close()
    schema = app.openapi()
    routes = [(path, method, operation) for path, methods in schema["paths"].items() for method, operation in methods.items()]
    roles = {
        (route.path, method): next((one.call.role for one in dependencies if hasattr(one.call, "role")), "none")
        for route in iter_route_contexts(app.routes)
        for dependencies in [getattr(getattr(route.original_route, "dependant", None), "dependencies", ())]
        for method in route.methods
    }
    for start, title in (groups := {"/api/v1": "JSON", "/v1": "OpenAI", "": "Monitoring"}).items():
        inside = [route for route in routes if next(filter(route[0].startswith, groups)) == start]
        rows = ((f"`{one.upper()} {path}`", roles[path, one.upper()], prose(it["description"])) for path, one, it in inside)
        yield f"## {title}\n\n{table('route, role, what it does', rows)}"
    yield "## MCP\n\nThe tools of `POST /mcp` and of `drag-graph mcp`. Only `drag-graph mcp --allow-files` has `ingest_files`."
    for tool in (*mcp_tools.TOOLS, mcp_tools.IngestFilesTool):
        yield f"### {tool.name}\n\nRole: {tool.role}. {prose(inspect.getdoc(tool))}\n\n{fields(tool.model_json_schema())}"
    yield "## Bodies of requests"
    for name, body in schema["components"]["schemas"].items():
        if "Error" not in name:
            yield f"### {name}\n\n{prose(body.get('description'))}\n\n{fields(body)}"


def prompts() -> Iterator[str]:
    """Yield the texts of all prompts: the constants of the modules that build them, and two whole prompts of a student."""
    for module in PROMPTS:
        constants = {name: value for name, value in vars(import_module(f"drag_graph.{module}")).items() if name.isupper()}
        versions = re.findall(r"'([\w-]+/\d+)'", str([constants[name] for name in constants if VERSION.search(name)]))
        named = f"Version {', '.join(versions)}, module" if versions else "Module"
        yield f"## {module.rpartition('.')[2].replace('_', ' ').capitalize()}\n\n{named} `drag_graph.{module}`."
        for name, text in constants.items():
            if isinstance(text, str) and re.search(r"^(?!.*\(\?)(\S+\s+){3}.*[.:?\"}]$", text.strip(), re.DOTALL):
                lines = (textwrap.fill(line, 110) for line in text.replace("{{", "{").replace("}}", "}").splitlines())
                yield f"{name.strip('_').replace('_', ' ').capitalize()}:\n\n" + block("\n".join(lines))
    shown = [Line(n=1, kind="evidence", text="Air scatters blue light.", ref="1", source_id="1")]
    shown += [Line(n=2, kind="edge", text="air scatters blue light", ref="2", source_id="1")]
    for title, chosen, layout in (("with", ("Scattering", "Reflection"), Layout()), ("without", (), Layout(quoted=True))):
        yield f"## A whole prompt {title} options\n\n{block(render('Why is the sky blue?', chosen, shown, layout))}"


def exit_codes() -> Iterator[str]:
    yield table("class, exit code, HTTP status, retry, meaning", tree(errors.DragGraphError))


def tree(kind: type[errors.DragGraphError], depth: int = 0) -> Iterator[Row]:
    """Yield the row of a class of errors, and those of its subclasses."""
    status = next(STATUSES[one] for one in kind.__mro__ if one in STATUSES)
    name = f"{'&emsp;' * depth}`{kind.__name__}`"
    yield name, str(kind.exit_code), str(status), "yes" if kind.retryable else "", prose(inspect.getdoc(kind)).split("\n\n")[0]
    for subclass in kind.__subclasses__():
        if subclass.__module__ == errors.__name__:
            yield from tree(subclass, depth + 1)


PAGES = {one.__name__.replace("_", "-"): one for one in (commands, settings, python, http, prompts, exit_codes)}
"""What generates the part below `MARK` of each page."""


def page(name: str) -> str:
    """Return a page with its generated part up to date."""
    head, mark, _ = (REFERENCE / f"{name}.md").read_text(encoding="utf-8").partition(MARK)
    assert mark, f"{name}.md has no line {MARK}"
    return "\n\n".join([f"{head}{MARK}", *PAGES[name]()]).replace("\n\n\n", "\n\n") + "\n"


if __name__ == "__main__":
    for name in PAGES:
        (REFERENCE / f"{name}.md").write_text(page(name), encoding="utf-8")
