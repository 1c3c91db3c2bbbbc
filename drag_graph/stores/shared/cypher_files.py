"""Named Cypher files (docs/design.md, section 4): the only way to a statement is to load it by name.

Each statement is a file of its own under `cypher/`: in `common/` where one text serves both engines, else in `neo4j/` and in
`ladybug/`. The folders below these are topics, for readers: a name is unique in its dialect, and a statement is loaded by its
name alone. It begins with a header that says what it does, its parameters (or `none`) and what it returns:

    // what: one sentence
    // parameters: namespace, id (what it is, where that helps)
    // returns: one sentence

A header line may be continued on the next `//` line. The parameters named there, but for what stands in brackets, must be
exactly those of the text.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from drag_graph.errors import ConfigurationError

Dialect = Literal["neo4j", "ladybug"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
COMMON = "common"

executed: set[tuple[str, str]] = set()
"""(dialect, name) of every statement that was bound in this process: a test holds that each is executed on each engine."""

_LOADER = object()
_HEADER_KEYS = ("what", "parameters", "returns")
_HEADER_LINE = re.compile(r"//\s*(?:(what|parameters|returns)\s*:)?(.*)\Z")
_NOTE = re.compile(r"\([^()]*\)")
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
    """One Cypher statement of one dialect. Only `load` makes one, so no loose string ever reaches an engine."""

    name: str
    dialect: Dialect
    text: str
    parameters: frozenset[str]
    path: Path
    _made_by: object = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self._made_by is not _LOADER:
            raise TypeError("a Statement is made by drag_graph.stores.shared.cypher_files.load only")

    def bind(self, **parameters: Any) -> tuple[str, dict[str, Any]]:
        """Return the text and the parameters for the engine.

        Raises ConfigurationError, naming the file, unless exactly the declared parameters are given.
        """
        values = frozenset(parameters)
        if values != self.parameters:
            raise ConfigurationError(f"{self.path}: {_difference(self.parameters, values, 'not given', 'not declared')}.")
        executed.add((self.dialect, self.name))
        return self.text, parameters


@cache
def load(name: str, dialect: Dialect) -> Statement:
    """Return the statement `name` of `dialect`: from the dialect's folder, else from `common`.

    Raises ConfigurationError where there is no such file, or where its header is incomplete or names other parameters
    than the text has.
    """
    return load_from(folder_beside_or_inside("cypher"), name, dialect)


def load_from(root: Path, name: str, dialect: Dialect) -> Statement:
    """Load a statement from a folder of the same layout as `cypher/`; errors as in `load`."""
    path = _files(root, dialect).get(name) or _files(root, COMMON).get(name)
    if path is None:
        raise ConfigurationError(f"There is no statement {name!r} for {dialect} in {root / dialect} and {root / COMMON}.")
    header, body = _split(path)
    declared = frozenset(re.findall(r"\w+", _NOTE.sub(" ", header["parameters"]))) - {"none"}
    used = frozenset(_PARAMETER.findall(_NO_CODE.sub(" ", body)))
    if declared != used:
        raise ConfigurationError(f"{path}: {_difference(declared, used, 'declared but not used', 'used but not declared')}.")
    return Statement(name, dialect, body, used, path, _LOADER)


def names(dialect: Dialect, root: Path | None = None) -> list[str]:
    """Return the names of all statements of `dialect`, the common ones included, sorted."""
    folder = root or folder_beside_or_inside("cypher")
    return sorted(_files(folder, dialect).keys() | _files(folder, COMMON).keys())


@cache
def _files(root: Path, part: str) -> dict[str, Path]:
    """Return the statement files of a dialect (or of `common`) by name. Raises ConfigurationError for a name in two topics."""
    paths: dict[str, Path] = {}
    for path in sorted((root / part).rglob("*.cypher")):
        if paths.setdefault(path.stem, path) != path:
            raise ConfigurationError(f"There are two statements {path.stem!r}: {paths[path.stem]} and {path}.")
    return paths


def _split(path: Path) -> tuple[dict[str, str], str]:
    """Return the header by key, and the statement under it without its closing semicolon."""
    lines = path.read_text(encoding="utf-8").splitlines()
    header: dict[str, str] = {}
    key = ""
    length = 0
    for line in lines:
        match = _HEADER_LINE.match(line.strip())
        if match is None:
            break
        length += 1
        key = match[1] or key
        if key:
            header[key] = f"{header.get(key, '')} {match[2].strip()}".strip()
    missing = [name for name in _HEADER_KEYS if not header.get(name)]
    if missing:
        raise ConfigurationError(f"{path}: the header lacks {', '.join(missing)} (write `none` if empty).")
    body = "\n".join(lines[length:]).strip().removesuffix(";").rstrip()
    if not body:
        raise ConfigurationError(f"{path}: there is no statement under the header.")
    return header, body


def _difference(expected: frozenset[str], given: frozenset[str], too_few: str, too_many: str) -> str:
    parts = [(sorted(expected - given), too_few), (sorted(given - expected), too_many)]
    return "; ".join(f"parameter {', '.join(listed)} {what}" for listed, what in parts if listed)
