"""Compaction: the engine keeps deleted text in its file, so live data is copied into a new one.

The engine writes each table to a file next to the store and reads it into a new database. COPY is safe there: if it fails,
that database is discarded, and the store is unchanged.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from drag_graph.stores.shared import migrations as migrate
from drag_graph.stores.shared.cypher_files import load

Execute = Callable[[str], list[dict[str, Any]]]
"""Executes a text and returns its rows."""


def write_tables(execute: Execute, folder: Path) -> list[str]:
    """Write every table of a store to a file in `folder`; return the texts that read them again, nodes first."""
    loads = []
    tables = execute(_text("show_tables"))
    for table in sorted(tables, key=lambda row: (row["type"] != "NODE", row["name"])):
        name = table["name"]
        file = _quoted(folder / f"{name}.parquet")
        write = "compact_nodes" if table["type"] == "NODE" else "compact_relationships"
        execute(_text(write, table=name, file=file))
        loads.append(_text("compact_load", table=name, file=file))
    return loads


def read_tables(execute: Execute, loads: list[str]) -> None:
    """Create the schema in an empty database and read all tables into it, including the history of migrations."""
    for _, statements in migrate.known("ladybug"):
        for text in statements:
            execute(text)
    for text in loads:
        execute(text)


def _text(statement: str, **names: str) -> str:
    """Return a statement with the names of tables and files inserted, which cannot be parameters."""
    text, _ = load(statement, "ladybug").bind()
    for key, value in names.items():
        text = text.replace(f"<{key}>", value)
    return text


def _quoted(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace("'", "\\'")
