# ruff: noqa: INP001 - a script, not a package
"""Pack queries/*.cypher into drag-graph-saved-queries.zip, the form in which Neo4j Browser takes several saved scripts at once.

Run it after a change: `python docs/browser/pack.py`. The same queries give the same bytes.
"""

import io
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = "drag-graph"
"""The folder that the scripts get in Browser's Favorites."""


def packed() -> bytes:
    """Return the archive: uncompressed, in order of name, without times of its own, so that it can be compared."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted((HERE / "queries").glob("*.cypher")):
            archive.writestr(zipfile.ZipInfo(f"{FOLDER}/{path.name}"), path.read_bytes())
    return out.getvalue()


if __name__ == "__main__":
    (HERE / "drag-graph-saved-queries.zip").write_bytes(packed())
