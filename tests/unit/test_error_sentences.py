"""Every error that drag-graph raises is a sentence: it begins with a capital letter or a value, and ends with a full stop.

It names arguments as Python does; the command line writes them as flags.
"""

import ast
import inspect
import re
from pathlib import Path

from cli import output
from drag_graph import errors

ROOT = Path(errors.__file__).parent
CLASSES = {name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, errors.DragGraphError)}
REASONS = {"Withheld"}
"""Errors whose message is a reason after `privacy: `."""


def name_of(call):
    """Return the name of a called function or class, without its module."""
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def message_of(call):
    """Return a call's first argument with `{}` for each value; None if it is not a literal."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    if isinstance(first, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in first.values)
    return None


def test_every_error_is_a_sentence():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        if ROOT / "testing" in path.parents:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = message_of(node) if isinstance(node, ast.Call) and name_of(node) in CLASSES - REASONS else None
            if text is not None and not re.fullmatch(r"[A-Z\d{`-].*([.?]|[.}]:? {})", text, re.DOTALL):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {text}")
    assert not wrong, "\n".join(wrong)


def test_no_message_outside_the_shell_names_a_flag():
    command = re.compile(r"`[^`]*`")
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and name_of(node) in CLASSES and ROOT / "testing" not in path.parents:
                texts = [
                    part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
                ]
                wrong += [f"{path}: {text}" for text in texts if re.search(r"(^| )--[a-z]", command.sub("", text))]
    assert not wrong, "\n".join(wrong)


def test_the_command_line_writes_arguments_as_flags():
    text = "Set `privacy=off`, `document_extractor=patterns` or `batch=True`; see `drag-graph ask --help`."
    expected = "Set `--privacy off`, `--extractor patterns` or `--batch`; see `drag-graph ask --help`."
    assert output.with_flags(text) == expected
