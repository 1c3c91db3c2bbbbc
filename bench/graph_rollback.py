"""Why the embedded store abandons a database after a COPY that did not commit: what rolling one back does to ladybug.

python bench/graph_rollback.py

A table with rows that no checkpoint has seen, a COPY into it that is rolled back, and COPYs after it that commit: ladybug
0.22 ends the process in `malloc`. Prints what came through; an exit code of 0 means that the engine has been mended. The store
does not get there: it leaves such a database as it is and opens the file anew (`Engine.copying`, docs/graph-performance.md).
"""

import tempfile
from pathlib import Path
from typing import Any


def copy(connection: Any, prefix: str, end: str) -> None:
    """Copy 300 nodes and 299 relationships, and end the transaction so."""
    import pyarrow as pa

    ids = [f"{prefix}{number}" for number in range(300)]
    connection.execute("BEGIN TRANSACTION")
    connection.execute("COPY N FROM $rows", {"rows": pa.table({"id": ids})})
    connection.execute("COPY R FROM $rows", {"rows": pa.table({"a": ids[:-1], "b": ids[1:], "id": ids[1:]})})
    connection.execute(end)


def main() -> None:
    """Run it."""
    import ladybug

    with tempfile.TemporaryDirectory() as folder:
        connection = ladybug.Connection(ladybug.Database(str(Path(folder) / "graph.lbug")), num_threads=1)
        connection.execute("CREATE NODE TABLE N (id STRING PRIMARY KEY)")
        connection.execute("CREATE REL TABLE R (FROM N TO N, id STRING)")
        for number in range(5):
            connection.execute("CREATE (:N {id: $id})", {"id": f"row-{number}"})
        copy(connection, "a", "ROLLBACK")
        print("rolled back", flush=True)
        for turn in range(4):
            copy(connection, f"b{turn}-", "COMMIT")
            print("committed", flush=True)


if __name__ == "__main__":
    main()
