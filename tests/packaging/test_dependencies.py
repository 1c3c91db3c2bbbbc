"""pyproject.toml declares what the code imports, under the names that the documentation promises."""

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
NINE = {"minilm", "local", "gguf", "documents", "privacy", "service", "cluster", "evaluation", "integrations"}
ALIASES = {
    "eval": "evaluation",
    "hub": "evaluation",
    "ingest": "documents",
    "picture": "integrations",
    "ray": "cluster",
    "rivals": "evaluation",
    "serve": "service",
}


def imported_modules():
    for folder in ("drag_graph", "cli"):
        for path in (ROOT / folder).rglob("*.py"):
            if "testing" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    yield from (name.name.partition(".")[0] for name in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    yield node.module.partition(".")[0]


def test_every_imported_package_is_declared():
    declared = {
        canonicalize_name(Requirement(line).name) for lines in (PROJECT["dependencies"], *EXTRAS.values()) for line in lines
    }
    distributions = packages_distributions()
    modules = set(imported_modules()) - set(sys.stdlib_module_names) - {"drag_graph", "cli"}
    names = {module: distributions.get(module) or [module] for module in modules}
    assert not {module for module, those in names.items() if not declared & {canonicalize_name(one) for one in those}}


def test_there_are_nine_extras_and_earlier_names_stand_for_them():
    assert set(EXTRAS) == NINE | {"all"} | set(ALIASES)
    (everything,) = EXTRAS["all"]
    assert Requirement(everything).extras == NINE
    assert {name: set(Requirement(EXTRAS[name][0]).extras) for name in ALIASES} == {old: {new} for old, new in ALIASES.items()}
