"""Writing files so that nothing half-written is left behind."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from drag_graph.errors import ConfigurationError


def write_text(path: Path, text: str) -> None:
    """Write a text as `write_lines` does, with one line end at its end."""
    write_lines(path, [text.removesuffix("\n")])


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to `path` as UTF-8 in one step: a temporary file beside it, synced, then renamed onto it.

    Raises ConfigurationError in words when the place cannot be written; then `path` is as it was.
    """
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="\n", dir=path.parent, delete=False) as file:
            temporary = file.name
            file.writelines(line + "\n" for line in lines)
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
