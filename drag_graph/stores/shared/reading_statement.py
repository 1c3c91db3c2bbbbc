"""Check the statements that people write, and convert their values to JSON.

The engines refuse writes, and more than one statement at once. They do not refuse access to files or other
servers, or calls of procedures, so drag-graph checks for these here.
"""

import base64
import math
import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from drag_graph.errors import ConfigurationError

_NOT_CODE = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_BEGINNING = re.compile(r"\s*(?:MATCH|OPTIONAL|RETURN|UNWIND|WITH)\b", re.IGNORECASE)
_OUTSIDE = re.compile(r"(?<![.:$\w])(?:LOAD|CALL)\b", re.IGNORECASE)
_CONTROL = re.compile(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters at which an engine may end a line comment, or a line, elsewhere than `_NOT_CODE`."""
_ESCAPED = re.compile(r"\\u", re.IGNORECASE)
_BRACKET = re.compile(r"[(\[{]|[)\]}]")
_CASE = re.compile(r"\bCASE\b", re.IGNORECASE)
DEEPEST = 30
"""Maximum nesting. ladybug 0.22 needs minutes for a list in 400 lists, and more crash the process."""
HINT = "Write one read-only statement: MATCH, WITH, UNWIND, RETURN."


def check_reads(statement: str) -> None:
    """Raise ConfigurationError for a statement that may read or write files, call procedures, or is not a query.

    Neo4j decodes backslash-u before it parses, so a text with it could end anywhere; it is refused.
    """
    if match := _CONTROL.search(statement):
        raise ConfigurationError(f"The statement contains the control character {match[0]!a}.", hint="Use plain line breaks.")
    code = _NOT_CODE.sub(" ", statement)
    if _ESCAPED.search(statement):
        raise ConfigurationError("The statement contains an escaped character.", hint="Write the character itself.")
    if not _BEGINNING.match(code):
        raise ConfigurationError("The statement is not a query.", hint=HINT)
    if match := _OUTSIDE.search(code):
        raise ConfigurationError(f"{match[0].upper()} is not allowed in a query.", hint=HINT)
    depths = accumulate(1 if bracket in "([{" else -1 for bracket in _BRACKET.findall(code))
    if max(max(depths, default=0), len(_CASE.findall(code))) > DEEPEST:
        raise ConfigurationError(f"The statement is nested more than {DEEPEST} deep.", hint="Write several statements.")


def unusable(message: str) -> ConfigurationError:
    """Return the error for a statement that the engine refuses, with the first line of the engine's message."""
    reason = message.strip().splitlines()[0].rstrip(".") if message.strip() else "no reason is given"
    return ConfigurationError(f"The store refuses the statement: {reason}.", hint=HINT)


def too_slow(seconds: float) -> ConfigurationError:
    """Return the error for a statement that took too long."""
    hint = "Narrow it, or allow more time with `timeout=SECONDS`."
    return ConfigurationError(f"The statement took longer than {seconds:g} seconds.", hint=hint)


def json_value(value: Any) -> Any:
    """Return a value of a row as JSON."""
    if text := getattr(value, "isoformat", None) or getattr(value, "iso_format", None):
        return str(text())  # first: Neo4j's durations are tuples
    match value:
        case None | bool() | int() | float() | str():
            return str(value) if isinstance(value, float) and not math.isfinite(value) else value
        case bytes() | bytearray():
            return base64.b64encode(value).decode("ascii")
        case Mapping():
            return {str(key): json_value(item) for key, item in value.items()}
        case list() | tuple() | set():
            return [json_value(item) for item in value]
    return str(value)
