"""Find the files that a list of paths refers to: the files themselves, and the documents inside folders."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from drag_graph.documents.file_loaders import LoadedFile, is_supported, load, load_text
from drag_graph.errors import DocumentUnusable, InputError


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read.

    `name` is the path within the folder that was given, or the file's own name. Characters that a terminal cannot show (line
    ends, invalid UTF-8) are U+FFFD in it. `problem` says why a folder could not be listed. `text` is the text of a
    document without a file. `address` is the document's address if the file is a copy of it.
    """

    path: Path
    name: str
    problem: str = ""
    text: str | None = None
    address: str = ""

    @property
    def uri(self) -> str:
        """The address of the document."""
        return self.address or (self.path.as_uri() if self.text is None else f"text:{quote(self.name)}")


def load_source(file: SourceFile) -> LoadedFile:
    """Return the content of a file. Raises DocumentUnusable."""
    if file.problem:
        raise DocumentUnusable(file.problem)
    return load(file.path) if file.text is None else load_text(file.text)


def roots_of(paths: Iterable[Path]) -> list[Path]:
    """Return the paths resolved and without repetitions. Raises InputError for a path that does not exist."""
    roots: dict[Path, None] = {}
    for path in paths:
        root = path.expanduser().resolve()
        if not root.exists():
            raise InputError(f"Nothing exists at {path}.", hint="Pass files and folders that exist.")
        roots[root] = None
    return list(roots)


def files_in(roots: Sequence[Path], own: Sequence[Path] = ()) -> Iterator[SourceFile]:
    """Yield each file once: those named directly, and every possible document inside folders, sorted by name.

    Hidden files, links that lead out of a folder, and drag-graph's `own` files are skipped. A folder that cannot be listed is
    yielded itself, with its `problem`.
    """
    paths: set[Path] = {path.resolve() for path in own}
    for root in roots:
        files = _in_folder(root) if root.is_dir() else [SourceFile(root, _printable(root.name))]
        for file in files:
            if file.path not in paths:
                paths.add(file.path)
                yield file


def require_complete(files: Iterable[SourceFile]) -> None:
    """Raise DocumentUnusable if a file's presence is unknown: documents must not be erased on the strength of such a list."""
    for file in files:
        if file.problem:
            raise DocumentUnusable(
                f"{file.path}: {file.problem} Nothing was read or erased.",
                hint="Make the folder readable, or run again without `sync=True`.",
            )


def lies_in(uri: str, roots: Iterable[Path]) -> bool:
    """Whether a document's address is one of these files, or inside one of these folders."""
    return any(uri == root.as_uri() or uri.startswith(f"{root.as_uri().rstrip('/')}/") for root in roots)


def _in_folder(root: Path) -> Iterator[SourceFile]:
    problems: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=problems.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.startswith(".") or (not is_supported(name) and not Path(folder, name).is_symlink()):
                continue
            path = Path(folder, name)
            try:
                real = path.resolve()
                is_document = is_supported(real.name) and real.is_relative_to(root) and real.is_file()
            except OSError as error:  # a folder that can be listed, but not entered
                problems.append(error)
                continue
            if is_document:
                yield SourceFile(real, _printable(path.relative_to(root).as_posix()))
    for problem in problems:
        path = Path(os.fsdecode(problem.filename))
        name = _printable(path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name)
        yield SourceFile(path, name, f"The folder cannot be listed: {problem.strerror or type(problem).__name__}.")


def _printable(name: str) -> str:
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in name)
