"""Writing files so that nothing half-written is left behind."""

import gzip
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from drag_graph.errors import ConfigurationError

_LEVEL = 6
"""Of compression: gzip's own."""


def write_text(path: Path, text: str) -> None:
    """Write a text as `write_lines` does, with one line end at its end."""
    write_lines(path, [text.removesuffix("\n")])


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to `path` as UTF-8 in one step: a temporary file beside it, synced, then renamed onto it.

    They are compressed where the name ends in `.gz`; equal lines give equal bytes then, too.
    Raises ConfigurationError in words when the place cannot be written; then `path` is as it was.
    """
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            temporary = file.name
            if path.suffix == ".gz":
                with gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed:
                    packed.writelines(_encoded(lines))
            else:
                file.writelines(_encoded(lines))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
        temporary = ""
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigurationError(f"{path} cannot be written: {reason}", hint="Give another place with --output.") from error
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


def _encoded(lines: Iterable[str]) -> Iterator[bytes]:
    return ((line + "\n").encode() for line in lines)
