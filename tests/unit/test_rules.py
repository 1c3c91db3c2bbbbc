"""The house rules that a machine can hold (style guide): layering, Cypher in files, one reader of the environment."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PRODUCT = sorted([*(ROOT / "drag_graph").rglob("*.py"), *(ROOT / "cli").rglob("*.py")])
CYPHER = re.compile(r"\b(MATCH|MERGE|UNWIND)\s*[(\$]", re.ASCII)
HOSTILE = {Path("drag_graph/testing/builders.py")}  # names that try to be Cypher, for the injection tests


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def passes_on(handler):
    """Whether an except clause ends by raising what it caught, or an error with it as its cause."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and (
        last.exc is None or (last.cause is not None and ast.unparse(last.cause) == handler.name)
    )


def test_the_product_is_found():
    assert len(PRODUCT) > 30


@pytest.fixture(scope="module")
def trees():
    """The parsed modules of the product, by path."""
    return {path: parsed(path) for path in PRODUCT}


def test_house_rules(trees):
    for path, tree in trees.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        relative = path.relative_to(ROOT)
        names = {name.split(".")[0] for name in imported(tree)}
        assert relative.parts[0] == "cli" or "cli" not in names, f"{relative}: drag_graph never imports cli"
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}:
                readers = {"settings.py", "process_environment.py"}
                assert relative.name in readers, f"{relative}:{node.lineno}: only {sorted(readers)} read the environment"
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                is_allowed = relative in HOSTILE or not CYPHER.search(node.value)
                assert is_allowed, f"{relative}:{node.lineno}: Cypher belongs in cypher/"
            if isinstance(node, ast.ExceptHandler) and not passes_on(node):
                caught = {name.id for name in ast.walk(node.type or ast.Name(id="BaseException")) if isinstance(name, ast.Name)}
                excused = "noqa: BLE001 - " in lines[node.lineno - 1]
                assert excused or not caught & {"Exception", "BaseException"}, f"{relative}:{node.lineno}: it swallows faults"


def test_no_two_classes_share_a_name(trees):
    names = Counter(
        node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"
    )
    assert {name for name, number in names.items() if number > 1} == set()


PURE = ("graph", "distill", "ask", "link", "communities", "ports", "extractors")
"""Packages that leave all I/O to what the composition root gives them."""


@pytest.mark.parametrize("package", PURE)
def test_the_steps_do_no_io(package):
    forbidden = {"neo4j", "ladybug", "litellm", "httpx", "requests", "socket", "subprocess", "torch", "sentence_transformers"}
    for path in (ROOT / "drag_graph" / package).rglob("*.py"):
        assert not {name.split(".")[0] for name in imported(parsed(path))} & forbidden, path


def test_imports_run_one_way():
    done = subprocess.run([BIN / "lint-imports", "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_there_is_no_cycle():
    """No module reaches itself by imports, those for types alone included."""
    graph = grimp.build_graph("drag_graph", exclude_type_checking_imports=False, cache_dir=None)
    waiting = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    while free := {module for module, imports in waiting.items() if not imports & waiting.keys()}:
        waiting = {module: imports for module, imports in waiting.items() if module not in free}
    assert sorted(waiting) == []


def test_public_functions_of_the_product_are_documented(trees):
    missing = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert missing == []


def too_long(node):
    """A typer command's signature is the documentation of its flags, so only a function's statements count."""
    function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return function and node.body[-1].end_lineno - node.body[0].lineno >= 60


def test_modules_and_functions_stay_short(trees):
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in PRODUCT}
    long = [f"{path.relative_to(ROOT)}: {length} lines" for path, length in lengths.items() if length > 400]
    long += [f"{path}:{node.lineno} {node.name}" for path, tree in trees.items() for node in ast.walk(tree) if too_long(node)]
    assert long == []


LINT = [["ruff", "check", "."], ["ruff", "format", "--check", "."]]
TYPES = pytest.param(["mypy"], marks=pytest.mark.long)  # `make check` runs it, too


@pytest.mark.parametrize("command", [*LINT, TYPES], ids=" ".join)
def test_lint_and_types(command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
