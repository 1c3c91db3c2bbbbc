"""Erasing and reducing sources, over statements with the same names and rows in every dialect."""

from collections.abc import Callable, Mapping, Sequence

from drag_graph.graph.paging import pages
from drag_graph.ports.graph_store import Erased, Reduction
from drag_graph.stores.shared.shared_communities import open_communities, remove_empty_communities
from drag_graph.stores.shared.shared_concepts import abandoned_concepts, remove_orphan_concepts, touched_concepts
from drag_graph.stores.shared.transaction import Run

VECTORS_AT_ONCE = 100


def erase_sources(run: Run, namespace: str, source_ids: Sequence[str], erase_parts: Callable[[], Mapping[str, int]]) -> Erased:
    """Erase sources, the answers that rest on them, and concepts and communities that are left without an entity.

    Communities that lose their summaries are counted. `erase_parts` erases nodes and relationships of the sources and returns
    their numbers by label and type.
    """
    answers = _erase_answers(run, namespace, source_ids)
    touched = touched_concepts(run, namespace, source_ids)
    open_ids = {row["community"] for row in open_communities(run, namespace, source_ids)}
    counts = dict(erase_parts())
    remove_empty_communities(run, namespace, open_ids)
    return Erased({**counts, "Concept": _remove_concepts(run, namespace, touched), "Community": len(open_ids)}, answers)


def reduce_source(run: Run, reduction: Reduction, write: Callable[[], None]) -> Erased:
    """Replace a subgraph by its reduction, which `write` does. What is left keeps its vectors and concepts."""
    before, after = reduction.before, reduction.after
    namespace = before.source.namespace
    source_ids = [before.source_id]
    touched = touched_concepts(run, namespace, source_ids)
    linked = run("concepts_of_sources", namespace=namespace, source_ids=source_ids)
    vectors = run("evidence_vectors", namespace=namespace, ids=[item.id for item in after.evidence])
    open_ids = {row["community"] for row in open_communities(run, namespace, source_ids)}
    write()
    entities = {item.id for item in after.entities}
    links = [{"entity": row["entity"], "concept": row["id"]} for row in linked if row["entity"] in entities]
    if links:
        run("link_entities", namespace=namespace, rows=links)
    for page in pages(vectors, VECTORS_AT_ONCE):
        run("save_evidence_vectors", namespace=namespace, rows=page)
    return Erased({"Concept": _remove_concepts(run, namespace, touched), "Community": len(open_ids)})


def _remove_concepts(run: Run, namespace: str, touched: Sequence[str]) -> int:
    """Remove touched concepts that have no entity left, and those that lost theirs to a replaced edition."""
    return remove_orphan_concepts(run, namespace, [*touched, *abandoned_concepts(run, namespace)])


def _erase_answers(run: Run, namespace: str, source_ids: Sequence[str]) -> frozenset[str]:
    """Erase the answers that name these sources, even if their links are lost, and return their ids."""
    ids = [row["id"] for row in run("answers_naming", namespace=namespace, source_ids=list(source_ids))]
    if ids:
        run("erase_answers", namespace=namespace, answer_ids=ids)
    return frozenset(ids)
