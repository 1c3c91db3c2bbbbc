"""Named Cypher files (docs/decisions/0001-stores.md): the only way to a statement is to load it by name.

Each statement is a file of its own under `cypher/`: in `common/` where one text serves both engines, else in `neo4j/` and in
`ladybug/`. The folders below these are topics, for readers: a name is unique in its dialect, and a statement is loaded by its
name alone. It begins with a header that says what it does, its parameters (or `none`) and what it returns:

    // what: one sentence
    // parameters: namespace, id (what it is, where that helps)
    // returns: one sentence

A header line may be continued on the next `//` line. The parameters named there, but for what stands in brackets, must be
exactly those of the text, which tests/unit/test_queries.py checks.
"""

import re
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile
from pathlib import Path
from typing import Any, Literal, get_args

from drag_graph.errors import ConfigurationError

Dialect = Literal["neo4j", "ladybug"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

executed: set[tuple[str, str]] = set()
"""(dialect, name) of every statement that was bound in this process: a test holds that each is executed on each engine."""

_PARAMETER = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
# Literals and comments are matched first, so that a `$` inside one is never taken for a parameter.
_NO_CODE = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`|//[^\n]*|/\*.*?\*/", re.DOTALL)


def folder_beside_or_inside(name: str) -> Path:
    """Return the folder `name` inside the installed package, or next to it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    packaged = package / name
    return packaged if packaged.is_dir() else package.parent / name


@dataclass(frozen=True, slots=True)
class Statement:
    """One Cypher statement of one dialect, made by `load`."""

    name: str
    dialect: Dialect
    text: str
    parameters: frozenset[str]
    path: Path

    def bind(self, **parameters: Any) -> tuple[str, dict[str, Any]]:
        """Return the text and the parameters for the engine.

        Raises ConfigurationError, naming the file, unless exactly the parameters of the text are given.
        """
        if parameters.keys() != self.parameters:
            wrong = ", ".join(sorted(parameters.keys() ^ self.parameters))
            raise ConfigurationError(f"{self.path}: the parameters differ from those of the statement: {wrong}.")
        executed.add((self.dialect, self.name))
        return self.text, parameters


@cache
def load(name: str, dialect: Dialect) -> Statement:
    """Return the statement `name` of `dialect`: from the dialect's folder, else from `common`.

    Raises ConfigurationError if there is no such file.
    """
    return load_from(folder_beside_or_inside("cypher"), name, dialect)


def load_from(root: Path, name: str, dialect: Dialect) -> Statement:
    """Load a statement from a folder of the same layout as `cypher/`; errors as in `load`."""
    path = statement_files(root, dialect).get(name)
    if path is None:
        raise ConfigurationError(f"There is no statement {name!r} for {dialect} in {root}.")
    lines = dropwhile(lambda line: line.startswith("//"), path.read_text(encoding="utf-8").splitlines())
    text = "\n".join(lines).strip().removesuffix(";").rstrip()
    return Statement(name, dialect, text, frozenset(_PARAMETER.findall(_NO_CODE.sub(" ", text))), path)


@cache
def statement_files(root: Path, dialect: Dialect) -> dict[str, Path]:
    """Return the files of all statements of a dialect by name, the common ones included."""
    return {path.stem: path for part in ("common", dialect) for path in sorted((root / part).rglob("*.cypher"))}
