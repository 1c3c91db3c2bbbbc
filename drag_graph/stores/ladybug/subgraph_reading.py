"""Reading whole subgraphs from the embedded engine, in a transaction that the caller has open."""

from collections.abc import Iterable

from drag_graph.model import Subgraph
from drag_graph.stores.ladybug.ladybug_transaction import LadybugTransaction
from drag_graph.stores.shared.shared_rows import subgraph_of
from drag_graph.stores.shared.transaction import Row

PARTS = ("evidence", "entities", "triples", "edges")


def read_subgraphs(session: LadybugTransaction, namespace: str, source_ids: Iterable[str]) -> list[Subgraph]:
    """Return the stored subgraphs in the given order; ids that are not stored are left out."""
    ids = list(source_ids)
    heads = session.run("read_subgraphs", namespace=namespace, source_ids=list(dict.fromkeys(ids)))
    subgraphs = {head["id"]: _subgraph(session, namespace, head) for head in heads}
    return [subgraphs[id_] for id_ in ids if id_ in subgraphs]


def _subgraph(session: LadybugTransaction, namespace: str, head: Row) -> Subgraph:
    source = {"namespace": namespace, "source_id": head["id"]}
    parts = {part: session.run(f"read_subgraphs_{part}", **source) for part in PARTS}
    calls: dict[str, list[str]] = {}
    for row in session.run("read_subgraphs_evidence_calls", **source):
        calls.setdefault(row["id"], []).append(row["call_id"])
    for row in parts["evidence"]:
        row["call_ids"] = calls.get(row["id"], ())
    parts["calls"] = session.run("read_subgraphs_calls", ids=head["call_ids"]) if head["call_ids"] else []
    if head["kind"] == "document":
        parts["chunks"] = session.run("read_subgraphs_chunks", **source)
    return subgraph_of(namespace, head, parts)
