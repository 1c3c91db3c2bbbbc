"""`graph.tape`: recorded teacher replies."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drag_graph.app.resource_user import ResourceUser
from drag_graph.compose.store_opening import open_ledger
from drag_graph.ledger import Ledger


@dataclass(frozen=True, slots=True)
class TapeImport:
    """Result of importing a tape: the number of new replies, and the ledger that contains them."""

    new: int
    ledger: Path

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON document."""
        return {"new": self.new, "ledger": str(self.ledger)}


class TapeGroup(ResourceUser):
    """Export and import recorded replies, and list the unusable ones."""

    def export(self) -> Iterator[str]:
        """Yield the recorded replies as JSON lines, without line ends. `teacher="tape:FILE"` replays a file of them offline."""
        with open_ledger(self._resources.settings, read_only=True) as ledger:
            yield from ledger.export_tape()

    def import_(self, file: str | os.PathLike[str]) -> TapeImport:
        """Add the replies of an exported tape; distilling then reuses them at no cost.

        Raises InputError for an unusable line and StoreUnfit for another format; nothing is added then.
        """
        path = self._resources.settings.ledger_path
        with Ledger(path) as ledger:
            return TapeImport(ledger.import_tape(Path(file)), path)

    def quarantined(self, query_id: str = "") -> Iterator[dict[str, str]]:
        """Yield the unusable replies (of one query), oldest first, each with the error and the model's last text."""
        with open_ledger(self._resources.settings, read_only=True) as ledger:
            yield from ledger.tape.quarantined(query_id)
