"""The concepts of a namespace, over statements that have the same names and rows in every dialect."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from drag_graph.steps.linking import concept_id, concept_key

Row = dict[str, Any]
Run = Callable[..., list[Row]]
"""Runs the statement of a name with its parameters in one transaction, and returns its rows."""
IDS_AT_ONCE = 100


def touched_concepts(run: Run, namespace: str, source_ids: Sequence[str]) -> list[str]:
    """Return the ids of the concepts that these sources' entities refer to, and of those that their other names name.

    To be called before the entities are erased or replaced, in the same transaction: `recount_concepts` and
    `remove_orphan_concepts` come after it.
    """
    rows = [row for some in _chunks(source_ids) for row in run("concepts_of_sources", namespace=namespace, source_ids=some)]
    keys = {concept_key(form) for row in rows for form in row["variants"]}
    return sorted({row["id"] for row in rows} | {concept_id(namespace, key) for key in keys})


def recount_concepts(run: Run, namespace: str, ids: Collection[str]) -> None:
    """Count the entities of these concepts again; `link` judges them again, too. One may be left without any entity."""
    for some in _chunks(sorted(set(ids))):
        run("recount_concepts", namespace=namespace, ids=some)


def remove_orphan_concepts(run: Run, namespace: str, ids: Collection[str]) -> int:
    """Count the entities of these concepts again, and remove those that have none; return how many. Their names go, too."""
    recount_concepts(run, namespace, ids)
    return sum(run("remove_orphan_concepts", namespace=namespace, ids=some)[0]["number"] for some in _chunks(sorted(set(ids))))


def _chunks(ids: Sequence[str]) -> list[list[str]]:
    return [list(ids[start : start + IDS_AT_ONCE]) for start in range(0, len(ids), IDS_AT_ONCE)]
