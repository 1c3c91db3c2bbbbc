"""The command line (docs/design.md, section 6): typer commands, one file per command group; `render` is all rich output."""

from .app import main

__all__ = ["main"]
