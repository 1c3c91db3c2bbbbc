"""Erasing sources, and putting less of one in its place, over statements with the same names and rows in every dialect."""

from collections.abc import Callable, Collection, Mapping, Sequence

from drag_graph.graph.paging import pages
from drag_graph.model import Subgraph
from drag_graph.ports.graph_store import Erased
from drag_graph.stores.shared.shared_communities import open_communities, remove_empty_communities
from drag_graph.stores.shared.shared_concepts import abandoned_concepts, remove_orphan_concepts, touched_concepts
from drag_graph.stores.shared.transaction import Run

VECTORS_AT_ONCE = 100


def erase_sources(run: Run, namespace: str, source_ids: Sequence[str], parts: Callable[[], Mapping[str, int]]) -> Erased:
    """Erase sources with all that hangs on them, the answers that rest on them, and concepts that are left without an entity.

    Communities lose the summaries that rested on them; they are counted, and go where they are left without an entity.
    `parts` erases the nodes and relationships of the sources, and returns how many, by label and type.
    """
    answers = _erase_answers(run, namespace, list(_resting(run, namespace, source_ids)))
    touched = touched_concepts(run, namespace, source_ids)
    opened = {row["community"] for row in open_communities(run, namespace, source_ids)}
    counts = dict(parts())
    remove_empty_communities(run, namespace, opened)
    return Erased({**counts, "Concept": _remove_concepts(run, namespace, touched), "Community": len(opened)}, answers)


def reduce_source(run: Run, before: Subgraph, after: Subgraph, gone: Collection[str], write: Callable[[], None]) -> Erased:
    """Put `after` in the place of `before`, which `write` does; return what went.

    Answers that name any of the ids `gone` are erased. What stays keeps its vectors and concepts.
    """
    namespace = before.source.namespace
    source_ids = [before.source_id]
    resting = _resting(run, namespace, source_ids)
    shown = [id_ for id_, texts in resting.items() if any(part in text for text in texts for part in gone)]
    answers = _erase_answers(run, namespace, shown)
    touched = touched_concepts(run, namespace, source_ids)
    linked = run("concepts_of_sources", namespace=namespace, source_ids=source_ids)
    vectors = run("evidence_vectors", namespace=namespace, ids=[item.id for item in after.evidence])
    opened = {row["community"] for row in open_communities(run, namespace, source_ids)}
    write()
    left = {item.id for item in after.entities}
    links = [{"entity": row["entity"], "concept": row["id"]} for row in linked if row["entity"] in left]
    if links:
        run("link_entities", namespace=namespace, rows=links)
    for some in pages(vectors, VECTORS_AT_ONCE):
        run("save_evidence_vectors", namespace=namespace, rows=some)
    return Erased({"Concept": _remove_concepts(run, namespace, touched), "Community": len(opened)}, answers)


def _remove_concepts(run: Run, namespace: str, touched: Sequence[str]) -> int:
    """Remove those of the touched concepts that have no entity left, and those that lost theirs to a replaced edition."""
    return remove_orphan_concepts(run, namespace, [*touched, *abandoned_concepts(run, namespace)])


def _resting(run: Run, namespace: str, source_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return what the answers that rest on sources say, by id: those that name them, so that a lost link hides none."""
    found = run("answers_naming", namespace=namespace, source_ids=list(source_ids))
    return {row["id"]: (row["line_json"], row["snapshot"]) for row in found}


def _erase_answers(run: Run, namespace: str, ids: Sequence[str]) -> frozenset[str]:
    if ids:
        run("erase_answers", namespace=namespace, answer_ids=list(ids))
    return frozenset(ids)
