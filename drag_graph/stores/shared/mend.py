"""Removing what `verify` names, over statements that have the same names and rows in every dialect."""

from collections.abc import Callable, Sequence
from typing import Any

STATEMENTS = {
    "orphan": ("mend_orphans_entities", "mend_orphans_evidence", "mend_orphans_calls"),
    "dangling-answer": ("mend_answers",),
    "vector": ("mend_vectors_evidence", "mend_vectors_concepts"),
}
"""By check: what removes its things, each statement those of the ids that it knows."""


def mend(run: Callable[..., list[dict[str, Any]]], namespace: str, check: str, ids: Sequence[str]) -> int:
    """Remove what is wrong by a check, in one transaction; return how many things were."""
    return sum(len(run(name, namespace=namespace, ids=list(ids))) for name in STATEMENTS[check])
