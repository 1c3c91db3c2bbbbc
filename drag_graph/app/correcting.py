"""Methods that mark claims and answers as right or wrong: correct, corrections."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from getpass import getuser
from typing import Any

from drag_graph.app.resources import ResourceUser
from drag_graph.errors import ConfigurationError, NotStored
from drag_graph.manage.short_ids import full_target
from drag_graph.ports.correction_store import Correction, Verdict


@dataclass(frozen=True)
class CorrectionList:
    """Corrections, most recently changed first."""

    corrections: tuple[Correction, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the document that `correct --json` without an id prints."""
        return {"corrections": [item.to_dict() for item in self.corrections]}

    def __iter__(self) -> Iterator[Correction]:
        return iter(self.corrections)

    def __len__(self) -> int:
        return len(self.corrections)


class Correcting(ResourceUser):
    """Mark claims and answers as right or wrong."""

    def correct(self, claim_or_answer_id: str, verdict: Verdict | None, note: str = "", by: str = "") -> Correction:
        """Mark a claim or an answer as right or wrong; None undoes that.

        A claim that is marked wrong is no longer shown to students or found by `search`. `by` is the person who marks it, by
        default the user of this process. The id may be shortened. A new mark replaces the old one.

        Raises NotStored if there is no such claim or answer, or nothing to undo.
        """
        if verdict not in ("right", "wrong", None):
            raise ConfigurationError(f"There is no verdict {verdict!r}.", hint="Use 'right', 'wrong' or None.")
        now, author = datetime.now(UTC).isoformat(timespec="seconds"), by.strip() or _user()
        with self._resources.store(read_only=False) as store:
            correction = full_target(store, claim_or_answer_id)
            if verdict is None:
                if not correction.author or correction.undone_at:
                    raise NotStored(f"{claim_or_answer_id!r} is not marked.", hint="List all marks with `drag-graph correct`.")
                changes = {"undone_at": now, "undone_by": author}
            else:
                made = {"verdict": verdict, "note": note.strip(), "author": author, "created_at": now}
                changes = {**made, "undone_at": "", "undone_by": ""}
            correction = correction.model_copy(update=changes)
            if not store.corrections.write([correction]):
                message = f"The source of {claim_or_answer_id!r} was erased meanwhile."
                raise NotStored(message, hint="List what is stored with `drag-graph show`.")
            return correction

    def corrections(self) -> CorrectionList:
        """List all corrections, including undone ones, most recently changed first."""
        with self._resources.store() as store:
            return CorrectionList(tuple(store.corrections.read()))


def _user() -> str:
    try:
        return getuser()
    except (KeyError, OSError, ImportError):  # a process without a user name, as in some containers
        return "unknown"
