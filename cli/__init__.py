"""The command line (docs/reference/json.md): typer commands, one file per command group; `render` is all rich output."""

from .app import main

__all__ = ["main"]
