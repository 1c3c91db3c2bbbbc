"""The files that are meant by paths: themselves, and what is in folders."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from drag_graph.documents.file_loaders import MEDIA_TYPES
from drag_graph.errors import InputError


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read in. `name` is what people call it: its path within the folder that was given, or its own name.

    What no terminal shows in a name (an end of line, bytes that are no UTF-8) is U+FFFD there.
    """

    path: Path
    name: str

    @property
    def uri(self) -> str:
        """The address that its document has."""
        return self.path.as_uri()


def roots_of(paths: Iterable[Path]) -> list[Path]:
    """Return the paths as they really are, each once. Raises InputError for one that is not there."""
    found: dict[Path, None] = {}
    for path in paths:
        root = path.expanduser().resolve()
        if not root.exists():
            raise InputError(f"there is nothing at {path}", hint="Give files and folders that are there.")
        found[root] = None
    return list(found)


def files_in(roots: Sequence[Path], own: Sequence[Path] = ()) -> Iterator[SourceFile]:
    """Yield what is to be read, each file once: what is named itself, and in folders all that may be documents.

    In a folder, in the order of the names. What is hidden is left out, links that lead out of it, and our `own` files.
    """
    seen: set[Path] = {path.resolve() for path in own}
    for root in roots:
        found = [SourceFile(root, _readable(root.name))] if not root.is_dir() else _in_folder(root)
        for file in found:
            if file.path not in seen:
                seen.add(file.path)
                yield file


def lies_in(uri: str, roots: Iterable[Path]) -> bool:
    """Return whether a document's address is that of one of these files, or of something in one of these folders."""
    return any(uri == root.as_uri() or uri.startswith(f"{root.as_uri().rstrip('/')}/") for root in roots)


def _in_folder(root: Path) -> Iterator[SourceFile]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            real = path.resolve()
            may_be_read = real.suffix.lower() in MEDIA_TYPES and real.is_relative_to(root) and real.is_file()
            if may_be_read and not name.startswith("."):
                yield SourceFile(real, _readable(path.relative_to(root).as_posix()))


def _readable(name: str) -> str:
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in name)
