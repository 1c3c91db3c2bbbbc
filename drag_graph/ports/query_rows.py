"""The result of a statement that a person wrote."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class QueryRows:
    """Rows of a statement as JSON values; `truncated` if there are more.

    Nodes, relationships and paths are objects with a `type`. Times, decimals and numbers that JSON lacks are texts, and bytes
    are base64.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the `query --json` document."""
        return {"columns": list(self.columns), "rows": [list(row) for row in self.rows], "truncated": self.truncated}
